/* exec/cuda.c - the CUDA executor: ranks of one node, a GPU each, over each other's memory.
 *
 * A call is one launch of one kernel, which finds all it needs on the device; see
 * kernels/allreduce.cu for what it does and cuda_exec.h for the other files.
 *
 * The calls of a communicator must not run at the same time, since they use the same staging:
 * cuda_order.c sees to that.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/exec/cuda_exec.h"

#define STALL_MSEC 50 /* kernels look at the abort word about once a millisecond */

static const pipc__cuda_proto_t protos[PIPC__PROTOS] = {
    [PIPC__PROTO_SIMPLE] = {NULL, NULL, NULL, pipc__cuda_simple_launch},
    [PIPC__PROTO_LL] = {pipc__cuda_ll_prepare, pipc__cuda_ll_can, pipc__cuda_ll_check,
                        pipc__cuda_ll_launch},
    [PIPC__PROTO_PUSH] = {pipc__cuda_push_prepare, pipc__cuda_push_can, pipc__cuda_push_check,
                          pipc__cuda_push_launch},
    [PIPC__PROTO_CE] = {pipc__cuda_ce_prepare, pipc__cuda_ce_can, pipc__cuda_ce_check,
                        pipc__cuda_ce_launch},
    [PIPC__PROTO_LL128] = {pipc__cuda_ll128_prepare, pipc__cuda_ll128_can, pipc__cuda_ll128_check,
                           pipc__cuda_ll128_launch},
};

static pipc__cuda_exec_t *self(pipc__exec_t *exec)
{
    return (pipc__cuda_exec_t *)(void *)exec;
}

/* --- context --------------------------------------------------------------------------------- */

typedef struct visit {
    bool pushed, relaxed;
    CUstreamCaptureMode mode; /* of the thread, before */
} visit_t;

/* Make the executor's context current; in most programs it is anyway. @relaxed: also let this
 * thread do what the driver forbids while a stream is captured, by this thread or, in a "global"
 * capture, by any other one: to query an event or to free memory, as NCCL has it for its own. The
 * capture is spoilt else, and errors are asked for at any time. Calls themselves do nothing of the
 * kind and go without, two driver calls less. */
static CUresult enter(const pipc__cuda_exec_t *x, bool relaxed, visit_t *v)
{
    CUcontext now = NULL;
    CUresult rc = x->cu->CtxGetCurrent(&now);

    *v = (visit_t){.mode = CU_STREAM_CAPTURE_MODE_RELAXED};
    if (!rc && now != x->context) {
        rc = x->cu->CtxPushCurrent(x->context);
        v->pushed = rc == CUDA_SUCCESS;
    }
    if (!rc && relaxed)
        v->relaxed = !x->cu->ThreadExchangeStreamCaptureMode(&v->mode);
    return rc;
}

static void leave(const pipc__cuda_exec_t *x, visit_t *v)
{
    CUcontext ours;

    if (v->relaxed)
        x->cu->ThreadExchangeStreamCaptureMode(&v->mode);
    if (v->pushed)
        x->cu->CtxPopCurrent(&ours);
}

static pipc_status_t enter_or_fail(const pipc__cuda_exec_t *x, bool relaxed, visit_t *v,
                                   pipc__error_t *err)
{
    CUresult rc = enter(x, relaxed, v);

    return rc ? pipc__cuda_fail(x->cu, rc, err, "the CUDA context of this communicator") : PIPC_OK;
}

/* --- create, connect, prepare ---------------------------------------------------------------- */

static pipc_status_t take_context(pipc__cuda_exec_t *x, pipc__error_t *err)
{
    int sms = 0;
    pipc_status_t st = pipc__cuda_open(&x->cu, err);

    if (!st)
        st = PIPC__CUDA_TRY(x->cu, err, CtxGetCurrent, &x->context);
    if (!st && !x->context)
        st = pipc__fail(err, PIPC_ERR_INVALID,
                        "this thread has no current CUDA context; call "
                        "cudaSetDevice() and one more CUDA function, or cuCtxSetCurrent(), first");
    if (!st)
        st = PIPC__CUDA_TRY(x->cu, err, CtxGetDevice, &x->device);
    if (!st)
        st = PIPC__CUDA_TRY(x->cu, err, DeviceGetAttribute, &sms,
                            CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, x->device);
    x->capacity = sms < 1 ? 1 : sms;
    x->most_blocks = sms / 4; /* training computes meanwhile */
    if (x->most_blocks < 1)
        x->most_blocks = 1;
    return st;
}

static pipc_status_t copy_error(pipc__error_t *to, const pipc__error_t *from)
{
    if (to)
        *to = *from;
    return from->status;
}

/* Without kernels for this GPU the ranks still meet: all hear of it when this one connects, and
 * NCCL may do it all. To fail here would keep that from them. */
static pipc_status_t load_kernels(pipc__cuda_exec_t *x, pipc__error_t *err)
{
    pipc_status_t st = pipc__cuda_load_kernels(x, &x->unfit);

    return st && st != PIPC_ERR_UNSUPPORTED ? copy_error(err, &x->unfit) : PIPC_OK;
}

static void destroy(pipc__exec_t *exec);

static pipc_status_t create(pipc__exec_t **exec, pipc__control_t *ctl, size_t staging_bytes,
                            uint8_t handle[PIPC__HANDLE_MAX], pipc__exec_place_t *place,
                            pipc__error_t *err)
{
    pipc__cuda_exec_t *x = calloc(1, sizeof(*x));

    *exec = NULL;
    memset(place, 0, sizeof(*place));
    if (!x)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the CUDA executor");
    x->base.ops = &pipc__exec_cuda;
    x->base.ctl = ctl;
    pipc_status_t st = take_context(x, err);
    /* Non-blocking: work on the legacy stream, a peer's kernel among it, must not hold up set-up.
     */
    if (!st)
        st = PIPC__CUDA_TRY(x->cu, err, StreamCreate, &x->stream, CU_STREAM_NON_BLOCKING);
    if (!st)
        st = pipc__cuda_order_init(x, err);
    if (!st)
        st = load_kernels(x, err);
    if (!st)
        st = pipc__cuda_alloc(x, staging_bytes, err);
    if (!st)
        st = pipc__cuda_describe(x, handle, place, err);
    if (st)
        destroy(&x->base);
    else
        *exec = &x->base;
    return st;
}

static pipc_status_t connect_peers(pipc__exec_t *exec, int rank, int size,
                                   const uint8_t (*handles)[PIPC__HANDLE_MAX], pipc__error_t *err)
{
    pipc__cuda_exec_t *x = self(exec);

    x->rank = rank;
    x->size = size;
    pipc_status_t st = pipc__cuda_take_handles(x, handles, err);
    return st ? st : copy_error(err, &x->unfit);
}

static pipc_status_t prepare(pipc__exec_t *exec, const pipc__plan_t *plan, pipc__error_t *err)
{
    pipc__cuda_exec_t *x = self(exec);
    int lanes = pipc__most_lanes(x->most_blocks, plan->nstages);
    visit_t v;

    if (x->unfit.status)
        return copy_error(err, &x->unfit);
    pipc_status_t st = pipc__cuda_rail_judge(x, plan, err);
    if (st)
        return st;
    if (!plan->nrails && !pipc__lane_slot_bytes(x->layout.area_bytes, plan->nslots, lanes))
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "staging of %zu bytes is too small for plan %s with "
                          "%d ranks; give %zu or more",
                          x->layout.bytes, plan->name, plan->nranks, 2 * x->layout.bytes);
    st = enter_or_fail(x, true, &v, err);
    if (st)
        return st;
    st = pipc__cuda_reach(x, plan, err);
    if (!st)
        st = pipc__cuda_load_program(x, plan, err);
    if (!st && plan->nrails)
        st = pipc__cuda_rail_prepare(x, x->nprograms - 1, err);
    for (int p = 0; !st && !plan->nrails && p < PIPC__PROTOS; p++)
        if (protos[p].prepare)
            protos[p].prepare(x, x->nprograms - 1);
    leave(x, &v);
    return st;
}

static pipc_status_t join_rail(pipc__exec_t *exec, pipc__error_t *err)
{
    pipc__cuda_exec_t *x = self(exec);
    visit_t v;
    pipc_status_t st = enter_or_fail(x, true, &v, err);

    if (st)
        return st;
    st = pipc__cuda_join_rail(x, err);
    leave(x, &v);
    return st;
}

/* --- what went wrong ------------------------------------------------------------------------- */

/* A failure of the device is for ever (CUDA's are sticky), and the peers would wait for ever for
 * what this rank can't send any more. */
static pipc_status_t latch_failure(pipc__cuda_exec_t *x, CUresult rc, const char *call,
                                   pipc__error_t *err)
{
    pipc__cuda_fail(x->cu, rc, &x->broken,
                    "the GPU failed at or before call %llu, this program's "
                    "own kernels included: %s",
                    (unsigned long long)x->last_call, call);
    if (x->size)
        pipc__control_abort(x->base.ctl, PIPC_ERR_ABORTED, x->rank);
    return copy_error(err, &x->broken);
}

/* The communicator is dead: wait a moment for the kernel to say where it gave up. */
static uint64_t wait_for_stall(pipc__cuda_exec_t *x)
{
    const pipc__page_t *page = pipc__control_page(x->base.ctl);
    const struct timespec msec = {0, 1000000};
    uint64_t stall = 0;

    pipc__cuda_order_settle(x);
    for (int i = 0; i < STALL_MSEC; i++) {
        bool over = x->cu->EventQuery(x->order.last) != CUDA_ERROR_NOT_READY;
        stall = __atomic_load_n(&page->stalled_step, __ATOMIC_ACQUIRE);
        if (stall || over)
            break;
        nanosleep(&msec, NULL);
    }
    return stall;
}

/* The abort word is set. The kernel does not know the number of its call, since a graph may have
 * launched it; the last one that was enqueued stands for it. */
static pipc_status_t latch_abort(pipc__cuda_exec_t *x, pipc__error_t *err)
{
    const pipc__page_t *page = pipc__control_page(x->base.ctl);
    uint64_t stall = wait_for_stall(x);
    char cause[PIPC__CAUSE_MAX];

    if (stall && PIPC__STALL_PLAN(stall) < (uint32_t)x->nprograms) {
        pipc__exec_stalled(x->base.ctl, x->programs[PIPC__STALL_PLAN(stall)].plan, x->rank,
                           x->last_call, page->stalled_round, PIPC__STALL_STAGE(stall),
                           PIPC__STALL_STEP(stall), &x->broken);
        return copy_error(err, &x->broken);
    }
    return pipc__fail(err, pipc__control_state(x->base.ctl, NULL),
                      "%s; no kernel of this rank %d was waiting for a peer (last call %llu)",
                      pipc__control_cause(x->base.ctl, cause, sizeof(cause)),
                      pipc__control_number(x->base.ctl, x->rank), (unsigned long long)x->last_call);
}

static pipc_status_t poll_entered(pipc__cuda_exec_t *x, pipc__error_t *err)
{
    if (x->broken.status)
        return copy_error(err, &x->broken);
    if (pipc__control_state(x->base.ctl, NULL))
        return latch_abort(x, err);
    /* Not settled before: what counts is the driver's word for a GPU that failed, which any call
     * gives, and every wait on memory costs the GPU's front end. */
    CUresult rc = x->cu->EventQuery(x->order.last);
    if (rc == CUDA_SUCCESS || rc == CUDA_ERROR_NOT_READY)
        return PIPC_OK;
    return latch_failure(x, rc, "cuEventQuery", err);
}

static pipc_status_t poll_last(pipc__exec_t *exec, pipc__error_t *err)
{
    pipc__cuda_exec_t *x = self(exec);
    visit_t v;
    pipc_status_t st = enter_or_fail(x, true, &v, err);

    if (st)
        return st;
    st = poll_entered(x, err);
    leave(x, &v);
    return st;
}

/* The GPU needs some microseconds for what settle() has just enqueued, idle or not. */
static CUresult query_last(const pipc__cuda_exec_t *x)
{
    const struct timespec pause = {0, 20000};
    CUresult rc = x->cu->EventQuery(x->order.last);

    for (int i = 0; i < 50 && rc == CUDA_ERROR_NOT_READY; i++) {
        nanosleep(&pause, NULL);
        rc = x->cu->EventQuery(x->order.last);
    }
    return rc;
}

/* An answer that is worth a wait on memory: the event stands behind all launches so far. */
static pipc_status_t pending(pipc__exec_t *exec, bool *yes, pipc__error_t *err)
{
    pipc__cuda_exec_t *x = self(exec);
    visit_t v;
    pipc_status_t st = enter_or_fail(x, true, &v, err);

    if (st)
        return st;
    CUresult rc = pipc__cuda_order_settle(x);
    if (!rc)
        rc = query_last(x);
    *yes = rc == CUDA_ERROR_NOT_READY;
    if (rc && !*yes)
        st = latch_failure(x, rc, "cuEventQuery", err);
    leave(x, &v);
    return st;
}

static pipc_status_t drain(pipc__exec_t *exec, pipc__error_t *err)
{
    pipc__cuda_exec_t *x = self(exec);
    visit_t v;
    pipc_status_t st = enter_or_fail(x, true, &v, err);

    if (st)
        return st;
    CUresult rc = pipc__cuda_order_settle(x);
    if (!rc)
        rc = x->cu->EventSynchronize(x->order.last);
    if (!rc)
        rc = pipc__cuda_ce_drain(x);
    if (rc && !x->broken.status)
        st = latch_failure(x, rc, "cuEventSynchronize", err);
    else
        st = poll_entered(x, err);
    leave(x, &v);
    return st;
}

/* --- run ------------------------------------------------------------------------------------- */

static int find_program(const pipc__cuda_exec_t *x, const pipc__plan_t *plan)
{
    int i = 0;

    while (i < x->nprograms && x->programs[i].plan != plan)
        i++;
    return i < x->nprograms ? i : -1;
}

static pipc_status_t check_call(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call,
                                pipc__error_t *err)
{
    int index = find_program(x, call->plan);

    if ((unsigned int)call->dtype >= PIPC_DTYPE_COUNT || (unsigned int)call->op >= PIPC_REDOP_COUNT)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "the CUDA executor has no kernel for %s of %s",
                          pipc_redop_string(call->op), pipc_dtype_string(call->dtype));
    if (index < 0)
        return pipc__fail(err, PIPC_ERR_INTERNAL, "plan %s was not prepared", call->plan->name);
    if ((unsigned int)call->proto >= PIPC__PROTOS)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "the CUDA executor has no protocol %d",
                          (int)call->proto);
    if (call->plan->nrails && call->proto != PIPC__PROTO_SIMPLE)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "plan %s goes over nodes, by protocol simple "
                          "alone",
                          call->plan->name);
    const pipc__cuda_proto_t *p = &protos[call->proto];
    return p->check ? p->check(x, call, index, err) : PIPC_OK;
}

static bool can(const pipc__exec_t *exec, const pipc__plan_t *plan, pipc__proto_t proto,
                size_t bytes, bool in_graph)
{
    const pipc__cuda_exec_t *x = (const pipc__cuda_exec_t *)(const void *)exec;
    int index = find_program(x, plan);

    if (index < 0 || (unsigned int)proto >= PIPC__PROTOS)
        return false;
    if (plan->nrails)
        return proto == PIPC__PROTO_SIMPLE;
    const pipc__cuda_proto_t *p = &protos[proto];
    return !p->can || p->can(x, index, bytes, in_graph);
}

int pipc__cuda_blocks(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call)
{
    if (call->blocks <= 0)
        return x->most_blocks;
    return call->blocks < x->capacity ? call->blocks : x->capacity;
}

static pipc_status_t captures(pipc__exec_t *exec, void *stream, bool *yes, pipc__error_t *err)
{
    const pipc__cuda_exec_t *x = self(exec);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    visit_t v;
    pipc_status_t st = enter_or_fail(x, false, &v, err);

    if (st)
        return st;
    st = PIPC__CUDA_TRY(x->cu, err, StreamIsCapturing, stream, &status);
    *yes = status != CU_STREAM_CAPTURE_STATUS_NONE;
    leave(x, &v);
    return st;
}

/* Something else has spoilt the capture; none of it will ever run, so no peer waits for it. */
static pipc_status_t refuse_spoilt(CUresult *rc, pipc__error_t *err)
{
    *rc = CUDA_SUCCESS;
    return pipc__fail(err, PIPC_ERR_INVALID,
                      "the capture that the stream is in has failed before this call, which is not "
                      "part of it; end the capture, and look for what is not allowed in one");
}

/* The status is of what is no call of the driver; *rc is the driver's, of *what. */
static pipc_status_t launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, CUresult *rc,
                            const char **what, pipc__error_t *err)
{
    int index = find_program(x, call->plan);
    pipc_status_t st = PIPC_OK;
    bool capturing;

    *what = "waiting for the call before";
    *rc = pipc__cuda_order_before(x, call->stream, &capturing);
    if (*rc == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
        return refuse_spoilt(rc, err);
    if (*rc)
        return PIPC_OK;
    *what = "cuLaunchKernel";
    if (call->plan->nrails)
        st = pipc__cuda_rail_launch(x, call, index, capturing, rc, err);
    else
        *rc = protos[call->proto].launch(x, call, index);
    if (*rc || st)
        return st;
    *what = "recording the call's end";
    *rc = pipc__cuda_order_after(x, call->stream, capturing);
    return PIPC_OK;
}

static pipc_status_t run(pipc__exec_t *exec, const pipc__exec_call_t *call, pipc__error_t *err)
{
    pipc__cuda_exec_t *x = self(exec);
    const char *what;
    visit_t v;
    pipc_status_t st = enter_or_fail(x, false, &v, err);

    if (st)
        return st;
    st = check_call(x, call, err);
    if (!st && (x->broken.status || pipc__control_state(x->base.ctl, NULL))) {
        st = poll_entered(x, err);
    } else if (!st && call->count) {
        CUresult rc;
        x->last_call = call->number;
        st = launch(x, call, &rc, &what, err);
        if (st && st != PIPC_ERR_INVALID) /* the abort word is set: say what it comes from */
            st = poll_entered(x, err);
        else if (rc)
            st = latch_failure(x, rc, what, err);
    }
    leave(x, &v);
    return st;
}

static int blocks(const pipc__exec_t *exec, bool most)
{
    const pipc__cuda_exec_t *x = (const pipc__cuda_exec_t *)(const void *)exec;

    return most ? x->capacity : x->most_blocks;
}

/* Between the calls, as one of them: what @enqueue puts on the stream waits for the call before,
 * and the next one for it. Its kernels and ours could otherwise wait for each other's blocks. */
static pipc_status_t other(pipc__exec_t *exec, const pipc__exec_call_t *call,
                           pipc__enqueue_t *enqueue, void *arg, pipc__error_t *err)
{
    pipc__cuda_exec_t *x = self(exec);
    bool capturing;
    visit_t v;

    if (x->broken.status || pipc__control_state(x->base.ctl, NULL))
        return poll_last(exec, err);
    pipc_status_t st = enter_or_fail(x, false, &v, err);
    if (st)
        return st;
    x->last_call = call->number;
    CUresult rc = pipc__cuda_order_before(x, call->stream, &capturing);
    if (rc == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
        st = refuse_spoilt(&rc, err);
    else if (!rc)
        st = enqueue(arg, call, err);
    if (!rc && !st)
        rc = pipc__cuda_order_other(x, call->stream, capturing);
    if (rc)
        st = latch_failure(x, rc, "ordering NCCL's call", err);
    leave(x, &v);
    return st;
}

/* --- end ------------------------------------------------------------------------------------- */

static void disconnect(pipc__exec_t *exec)
{
    pipc__cuda_exec_t *x = self(exec);
    visit_t v;

    bool alive = !x->broken.status && !pipc__control_state(x->base.ctl, NULL);

    pipc__cuda_rail_end(x, alive); /* its thread must end whatever the context's state */
    if (x->stuck || enter(x, true, &v))
        return;
    pipc__cuda_unmap_peers(x);
    leave(x, &v);
}

/* After a failure, or when the program has torn its context down already, the driver refuses these
 * calls; what they would free is gone then, or goes with the process. */
static void destroy(pipc__exec_t *exec)
{
    pipc__cuda_exec_t *x = exec ? self(exec) : NULL;
    visit_t v;

    if (x)
        pipc__cuda_rail_end(x, false);
    if (x && !x->stuck && x->cu && x->context && !enter(x, true, &v)) {
        if (x->order.last && !pipc__cuda_order_settle(x)) /* a kernel may still look at the page */
            x->cu->EventSynchronize(x->order.last);
        pipc__cuda_unmap_peers(x);
        pipc__cuda_free(x);
        pipc__cuda_unload_kernels(x);
        pipc__cuda_order_end(x);
        if (x->stream)
            x->cu->StreamDestroy(x->stream);
        leave(x, &v);
    }
    if (x)
        pipc__cuda_ce_release(x);
    free(x);
}

const pipc__exec_ops_t pipc__exec_cuda = {
    .name = "cuda",
    .create = create,
    .connect = connect_peers,
    .set_rail = pipc__cuda_set_rail,
    .join_rail = join_rail,
    .probe = pipc__cuda_probe,
    .prepare = prepare,
    .can = can,
    .run = run,
    .captures = captures,
    .blocks = blocks,
    .other = other,
    .poll = poll_last,
    .pending = pending,
    .drain = drain,
    .disconnect = disconnect,
    .destroy = destroy,
};
