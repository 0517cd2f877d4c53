/* nccl/hook.c - the functions of NCCL's that we stand in front of. Each is the real one, called
 * with the same arguments, and what we have to know or to do beside it.
 *
 * Which function it is forwarded to is decided by who called, or by the communicator: real.h.
 * Not here: other collectives, which need nothing of us (doc/architecture.md has why), and
 * ncclCommRegister() and ncclCommWindowDeregister(), which are local: what is chosen from a
 * pointer, or from when a rank comes to them, may differ between ranks.
 */
#include "runtime/nccl/device.h"
#include "runtime/nccl/ours.h"
#include "runtime/nccl/real.h"
#include "runtime/nccl/report.h"
#include "runtime/nccl/retire.h"
#include "runtime/nccl/setup.h"
#include "runtime/nccl/side.h"

#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

/* Call @name of the caller's NCCL, whose pipc__real_t is @real (NULL: there is none). */
#define FORWARD(real, name, ...)                                                                   \
    ((real) && (real)->name ? (real)->name(__VA_ARGS__)                                            \
     : (real)               ? ncclInvalidUsage                                                     \
                            : ncclSystemError)

/* Where NCCL itself calls @name, that is all. */
#define FORWARD_OWN(name, ...)                                                                     \
    do {                                                                                           \
        const pipc__real_t *own = pipc__real_around(CALLER);                                       \
        if (own)                                                                                   \
            return FORWARD(own, name, __VA_ARGS__);                                                \
    } while (0)

#define DECLARE(name, args) EXPORT ncclResult_t nccl##name args;
DECLARE(AllReduce, (const void *, void *, size_t, int, int, ncclComm_t, ncclStream_t))
DECLARE(GroupStart, (void))
DECLARE(GroupEnd, (void))
DECLARE(GroupSimulateEnd, (ncclSimInfo_t *))
DECLARE(CommInitRank, (ncclComm_t *, int, ncclUniqueId, int))
DECLARE(CommInitRankConfig, (ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *))
DECLARE(CommInitRankScalable, (ncclComm_t *, int, int, int, ncclUniqueId *, ncclConfig_t *))
DECLARE(CommInitAll, (ncclComm_t *, int, const int *))
DECLARE(CommSplit, (ncclComm_t, int, int, ncclComm_t *, ncclConfig_t *))
DECLARE(CommShrink, (ncclComm_t, int *, int, ncclComm_t *, ncclConfig_t *, int))
DECLARE(CommGrow, (ncclComm_t, int, const ncclUniqueId *, int, ncclComm_t *, ncclConfig_t *))
DECLARE(CommFinalize, (ncclComm_t))
DECLARE(CommDestroy, (ncclComm_t))
DECLARE(CommAbort, (ncclComm_t))
DECLARE(CommRevoke, (ncclComm_t, int))
DECLARE(CommSuspend, (ncclComm_t, int))
DECLARE(CommResume, (ncclComm_t))
DECLARE(CommGetAsyncError, (ncclComm_t, ncclResult_t *))
DECLARE(CommWindowRegister, (ncclComm_t, void *, size_t, ncclWindow_t *, int))
#undef DECLARE

/* --- groups ---------------------------------------------------------------------------------- */

/* NCCL does the calls of a group at its end, all at once; a group is a thread's. */
static _Thread_local int depth;

ncclResult_t ncclGroupStart(void)
{
    FORWARD_OWN(GroupStart);
    const pipc__real_t *real = pipc__real_of(CALLER);
    ncclResult_t rc = FORWARD(real, GroupStart);

    depth += !rc;
    return rc;
}

ncclResult_t ncclGroupEnd(void)
{
    FORWARD_OWN(GroupEnd);
    const pipc__real_t *real = pipc__real_of(CALLER);

    depth -= depth > 0;
    return FORWARD(real, GroupEnd);
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
    FORWARD_OWN(GroupSimulateEnd, info);
    const pipc__real_t *real = pipc__real_of(CALLER);

    depth -= depth > 0;
    return FORWARD(real, GroupSimulateEnd, info);
}

/* --- AllReduce ------------------------------------------------------------------------------- */

/* Of types and operations that are NCCL's alone (fp8, ncclRedOpCreatePreMulSum()): false. */
static bool translate(int type, int op, pipc_dtype_t *dtype, pipc_redop_t *redop)
{
    static const pipc_dtype_t types[] = {
        [ncclInt8] = PIPC_I8,      [ncclUint8] = PIPC_U8,    [ncclInt32] = PIPC_I32,
        [ncclUint32] = PIPC_U32,   [ncclInt64] = PIPC_I64,   [ncclUint64] = PIPC_U64,
        [ncclFloat16] = PIPC_F16,  [ncclFloat32] = PIPC_F32, [ncclFloat64] = PIPC_F64,
        [ncclBfloat16] = PIPC_BF16};
    static const pipc_redop_t ops[] = {[ncclSum] = PIPC_SUM,
                                       [ncclProd] = PIPC_PROD,
                                       [ncclMax] = PIPC_MAX,
                                       [ncclMin] = PIPC_MIN,
                                       [ncclAvg] = PIPC_AVG};

    if (type < 0 || type > ncclBfloat16 || op < 0 || op > ncclAvg)
        return false;
    *dtype = types[type];
    *redop = ops[op];
    return true;
}

static ncclResult_t in_nccls_words(pipc_status_t st)
{
    switch (st) {
    case PIPC_OK:
        return ncclSuccess;
    case PIPC_ERR_PEER_LOST:
    case PIPC_ERR_ABORTED:
        return ncclRemoteError;
    case PIPC_ERR_INVALID:
        return ncclInvalidArgument;
    case PIPC_ERR_CUDA:
        return ncclUnhandledCudaError;
    case PIPC_ERR_INTERNAL:
        return ncclInternalError;
    default:
        return ncclSystemError;
    }
}

/* Is this the call at which @s is set up? Only calls that NCCL took count, and none that is
 * captured: all ranks capture the same calls, as the table, too, wants it. */
static bool comes_to_setup(pipc__side_t *s, void *stream)
{
    int before = PIPC__SIDE_NEW;

    return !pipc__device_captures(stream) && s->calls + 1 >= PIPC__SETUP_CALL &&
           atomic_compare_exchange_strong(&s->state, &before, PIPC__SIDE_SETTING_UP);
}

/* What a call is: arguments that are handed on as they came. */
typedef struct call {
    const void *send;
    void *recv;
    size_t count;
    int type, op;
    void *stream;
} call_t;

static ncclResult_t forward(const pipc__side_t *s, const call_t *k)
{
    return FORWARD(s->real, AllReduce, k->send, k->recv, k->count, k->type, k->op, s->comm,
                   k->stream);
}

static ncclResult_t forward_for(pipc__side_t *s, const call_t *k, const char *why)
{
    ncclResult_t rc = forward(s, k);

    pipc__report_forwarded(s, why, k->count, k->type);
    return rc;
}

/* Before the set-up. */
static ncclResult_t forward_new(pipc__side_t *s, const call_t *k)
{
    bool captured = pipc__device_captures(k->stream);
    ncclResult_t rc =
        forward_for(s, k, captured ? "captured before the set-up" : "before the set-up");

    if (!captured && (!rc || rc == ncclInProgress))
        s->calls++;
    return rc;
}

static const char *why_forwarded(const pipc__side_t *s)
{
    return s->why ? s->why : "no communicator of ours";
}

/* NULL: it may be ours. The same on every rank, so nothing of pointers. */
static const char *why_not_ours(const pipc__side_t *s, const call_t *k, pipc_dtype_t *dtype,
                                pipc_redop_t *op)
{
    if (s->state == PIPC__SIDE_FORWARDED)
        return why_forwarded(s);
    if (depth)
        return "in a group";
    if (s->windows)
        return "a window was registered";
    if (s->suspended)
        return "suspended";
    return translate(k->type, k->op, dtype, op) ? NULL : "type or operation";
}

static ncclResult_t all_reduce(pipc__side_t *s, const call_t *k)
{
    pipc_dtype_t dtype;
    pipc_redop_t op;
    const char *why = why_not_ours(s, k, &dtype, &op);

    if (why)
        return forward_for(s, k, why);
    if (s->state == PIPC__SIDE_NEW && comes_to_setup(s, k->stream) && !pipc__setup(s))
        return ncclInternalError;
    if (s->state == PIPC__SIDE_NEW)
        return forward_new(s, k);
    if (s->state != PIPC__SIDE_SERVED)
        return forward_for(s, k, why_forwarded(s));
    pipc_status_t st =
        pipc__ours(NULL)->allreduce(s->ours, k->send, k->recv, k->count, dtype, op, k->stream);
    return st == PIPC_LEFT ? forward(s, k) : in_nccls_words(st);
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, int type, int op,
                           ncclComm_t comm, ncclStream_t stream)
{
    FORWARD_OWN(AllReduce, send, recv, count, type, op, comm, stream);
    pipc__side_t *s = pipc__side_take(comm);

    if (!s) {
        const pipc__real_t *real = pipc__real_of(CALLER);
        s = real && comm ? pipc__side_make(comm, real) : NULL;
        if (!s)
            return FORWARD(real, AllReduce, send, recv, count, type, op, comm, stream);
    }
    ncclResult_t rc = all_reduce(s, &(call_t){send, recv, count, type, op, stream});
    pipc__side_drop(s);
    return rc;
}

/* --- communicators come ---------------------------------------------------------------------- */

/* A new communicator may have the address of one whose end we have not seen: what we know of that
 * one is not true of it. In a group, or of a non-blocking call, the pointer may come later: then
 * the first call makes the entry. */
static ncclResult_t came(ncclResult_t rc, const pipc__real_t *real, ncclComm_t *comms, int n)
{
    if ((rc && rc != ncclInProgress) || !comms)
        return rc;
    for (int i = 0; i < n; i++) {
        pipc__side_t *old = comms[i] ? pipc__side_remove(comms[i]) : NULL;
        if (old)
            pipc__retire_behind(old, true);
        pipc__side_t *s = comms[i] ? pipc__side_make(comms[i], real) : NULL;
        if (s)
            pipc__side_drop(s);
    }
    return rc;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int n, ncclUniqueId id, int rank)
{
    FORWARD_OWN(CommInitRank, comm, n, id, rank);
    const pipc__real_t *real = pipc__real_of(CALLER);

    return came(FORWARD(real, CommInitRank, comm, n, id, rank), real, comm, 1);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    FORWARD_OWN(CommInitRankConfig, comm, n, id, rank, config);
    const pipc__real_t *real = pipc__real_of(CALLER);

    return came(FORWARD(real, CommInitRankConfig, comm, n, id, rank, config), real, comm, 1);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int n, int rank, int nids,
                                      ncclUniqueId *ids, ncclConfig_t *config)
{
    FORWARD_OWN(CommInitRankScalable, comm, n, rank, nids, ids, config);
    const pipc__real_t *real = pipc__real_of(CALLER);

    return came(FORWARD(real, CommInitRankScalable, comm, n, rank, nids, ids, config), real, comm,
                1);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices)
{
    FORWARD_OWN(CommInitAll, comms, n, devices);
    const pipc__real_t *real = pipc__real_of(CALLER);

    return came(FORWARD(real, CommInitAll, comms, n, devices), real, comms, n);
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child,
                           ncclConfig_t *config)
{
    FORWARD_OWN(CommSplit, comm, color, key, child, config);
    const pipc__real_t *real = pipc__real_of(CALLER);

    return came(FORWARD(real, CommSplit, comm, color, key, child, config), real, child, 1);
}

/* Stop what is ours of @comm, which NCCL's own calls then stop as well; the entry stays, and its
 * calls are NCCL's to refuse. */
static void give_up(ncclComm_t comm)
{
    pipc__side_t *s = pipc__side_take(comm);

    if (!s)
        return;
    pthread_mutex_lock(&s->gate);
    s->stop = true;
    if (s->state == PIPC__SIDE_SERVED || s->finalizing)
        pipc__retire_abort(s);
    atomic_store(&s->state, PIPC__SIDE_FORWARDED);
    pthread_mutex_unlock(&s->gate);
    pipc__side_clear(s);
    pipc__side_drop(s);
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int *without, int nwithout, ncclComm_t *child,
                            ncclConfig_t *config, int flags)
{
    FORWARD_OWN(CommShrink, comm, without, nwithout, child, config, flags);
    const pipc__real_t *real = pipc__real_of(CALLER);

    if (flags & NCCL_SHRINK_ABORT)
        give_up(comm);
    return came(FORWARD(real, CommShrink, comm, without, nwithout, child, config, flags), real,
                child, 1);
}

ncclResult_t ncclCommGrow(ncclComm_t comm, int n, const ncclUniqueId *id, int rank,
                          ncclComm_t *grown, ncclConfig_t *config)
{
    FORWARD_OWN(CommGrow, comm, n, id, rank, grown, config);
    const pipc__real_t *real = pipc__real_of(CALLER);

    return came(FORWARD(real, CommGrow, comm, n, id, rank, grown, config), real, grown, 1);
}

/* --- and go ---------------------------------------------------------------------------------- */

/* Only the first of a communicator that is served has something to do. */
static bool begins_to_finalize(pipc__side_t *s)
{
    pthread_mutex_lock(&s->gate); /* who asked for errors is through */
    bool begins = s->state == PIPC__SIDE_SERVED;
    if (begins) {
        s->finalizing = true;
        atomic_store(&s->state, PIPC__SIDE_FORWARDED);
    }
    pthread_mutex_unlock(&s->gate);
    return begins;
}

/* Collective in NCCL, too, so ours meets its ranks here; but a non-blocking one waits for nobody,
 * and tells by ncclCommGetAsyncError() when it is through. Ranks are met by a thread in any case:
 * one that waits for a rank that never comes can't be called back, and ncclCommAbort() has to end
 * this call. */
ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    FORWARD_OWN(CommFinalize, comm);
    const pipc__real_t *real = pipc__real_of(CALLER);
    ncclResult_t rc = FORWARD(real, CommFinalize, comm);
    pipc__side_t *s = pipc__side_take(comm);

    if (!s)
        return rc;
    if ((!rc || rc == ncclInProgress) && begins_to_finalize(s)) {
        bool waits = pipc__retire_may_wait(s) && !rc && !pipc__retire_is_dead(s);
        pipc__retire_behind(s, false);
        if (waits && !pipc__retire_wait(s))
            rc = ncclInternalError;
    }
    pipc__side_drop(s);
    return rc;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    FORWARD_OWN(CommDestroy, comm);
    const pipc__real_t *real = pipc__real_of(CALLER);
    pipc__side_t *s = pipc__side_remove(comm);

    if (!s)
        return FORWARD(real, CommDestroy, comm);
    bool with_others =
        !s->finalizing && pipc__retire_may_wait(s) && !s->stop && !pipc__retire_is_dead(s);
    if (with_others)
        pipc__retire_together(s);
    ncclResult_t rc = FORWARD(real, CommDestroy, comm);
    if (with_others || s->released)
        pipc__side_free(s);
    else if (!s->finalizing) /* else the thread that has it still needs it */
        pipc__retire_behind(s, true);
    return rc;
}

/* Ours first told, then NCCL's ended, then ours released: a kernel of ours may stand behind one of
 * NCCL's that only the abort ends. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    FORWARD_OWN(CommAbort, comm);
    const pipc__real_t *real = pipc__real_of(CALLER);

    give_up(comm);
    pipc__side_t *s = pipc__side_remove(comm);
    ncclResult_t rc = FORWARD(real, CommAbort, comm);
    if (s && s->released)
        pipc__side_free(s);
    else if (s && !s->finalizing)
        pipc__retire_behind(s, true);
    return rc;
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags)
{
    FORWARD_OWN(CommRevoke, comm, flags);
    const pipc__real_t *real = pipc__real_of(CALLER);

    give_up(comm);
    return FORWARD(real, CommRevoke, comm, flags);
}

/* --- what else tells of them ----------------------------------------------------------------- */

/* Ours, where NCCL has nothing to say. A communicator that the program itself gave up has no errors
 * of ours any more. */
static ncclResult_t async_of_ours(pipc__side_t *s)
{
    pipc_status_t async = PIPC_OK;

    if (s->finalizing)
        return s->released ? ncclSuccess : ncclInProgress;
    pthread_mutex_lock(&s->gate); /* it stays while we ask */
    if (s->state == PIPC__SIDE_SERVED)
        pipc__ours(NULL)->comm_async_error(s->ours, &async);
    pthread_mutex_unlock(&s->gate);
    return in_nccls_words(async);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *async)
{
    FORWARD_OWN(CommGetAsyncError, comm, async);
    pipc__side_t *s = pipc__side_take(comm);
    const pipc__real_t *real = s ? s->real : pipc__real_of(CALLER);
    ncclResult_t rc = FORWARD(real, CommGetAsyncError, comm, async);

    if (s && !rc && async && !*async)
        *async = async_of_ours(s);
    if (s)
        pipc__side_drop(s);
    return rc;
}

ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags)
{
    FORWARD_OWN(CommSuspend, comm, flags);
    const pipc__real_t *real = pipc__real_of(CALLER);
    ncclResult_t rc = FORWARD(real, CommSuspend, comm, flags);
    pipc__side_t *s = rc && rc != ncclInProgress ? NULL : pipc__side_take(comm);

    if (s) {
        s->suspended = true; /* a call now is an error, which NCCL tells */
        pipc__side_drop(s);
    }
    return rc;
}

ncclResult_t ncclCommResume(ncclComm_t comm)
{
    FORWARD_OWN(CommResume, comm);
    const pipc__real_t *real = pipc__real_of(CALLER);
    ncclResult_t rc = FORWARD(real, CommResume, comm);
    pipc__side_t *s = rc && rc != ncclInProgress ? NULL : pipc__side_take(comm);

    if (s) {
        s->suspended = false;
        pipc__side_drop(s);
    }
    return rc;
}

/* Windows are for NCCL's symmetric kernels, and registering one is collective: all ranks know of
 * it, also of an attempt that gave none. Whether a call's buffers lie in one each rank would have
 * to tell by its own pointers, and they might disagree. Nor is it known until when there is one:
 * ncclCommWindowDeregister() is local, a rank may come to it before a call and another after it. So
 * from here on all calls are NCCL's. */
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t bytes,
                                    ncclWindow_t *window, int flags)
{
    FORWARD_OWN(CommWindowRegister, comm, buffer, bytes, window, flags);
    const pipc__real_t *real = pipc__real_of(CALLER);
    pipc__side_t *s = real && comm ? pipc__side_make(comm, real) : NULL;

    if (s) {
        s->windows = true;
        pipc__side_drop(s);
    }
    return FORWARD(real, CommWindowRegister, comm, buffer, bytes, window, flags);
}
