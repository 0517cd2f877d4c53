/* exec/cuda_ce.c - CE: copy engines move the bytes, a kernel sums them. See kernels/ce.h for rings
 * and flags, and cuda_exec.h for the other files.
 *
 *     caller's stream   --begun-->  | kernel: sums each chunk when it has come            | -->
 *     streams for each peer         | wait free, copy, write came | wait free, copy, ...  |
 *
 * A chunk is a copy between two stream memory operations. The write behind the copy is ordered
 * behind it for who reads at the other end: it "will provide a memory fence before the write, which
 * has similar semantics to __threadfence_system()" (cuda.h,
 * CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER, which is never given here).
 *
 * The kernel ends when all has come and the own input has been read for every peer, so the caller's
 * stream waits for no other one. It is launched behind the first chunk and not behind the last:
 * chunks wait for peers' kernels as these do for this one, and a long message has more of them than
 * the driver queues before it lets the host wait.
 *
 * A wait costs a look across the bus, and most need none. When a rank begins call c, each peer has
 * begun call c - 1, of whatever protocol, and so has ended call c - 2: rings are free up to where
 * the last call of CE but one ended. Calls of up to half a ring wait for no room at all.
 *
 * Values are fixed when an operation is captured, so there is no CE in graphs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/cuda_pin.h"
#include "runtime/exec/ll.h"
#include "runtime/exec/perturb.h"

#define PAGE 4096
#define ODD_MOST ((size_t)512 << 10)

#ifdef PIPC_PERTURB
#define DROPPED_CE(wait) (pipc__perturb.drop_ce == (wait))
#else
#define DROPPED_CE(wait) false
#endif

/* --- where things lie ------------------------------------------------------------------------ */

static CUdeviceptr front_flag(const pipc__cuda_ce_t *ce, int rank, pipc__front_t kind, int peer)
{
    const size_t each = sizeof(((pipc__page_t *)NULL)->front[0][0]);

    return ce->front[rank] + ((size_t)kind * PIPC__RANKS_MAX + (size_t)peer) * each;
}

static CUdeviceptr device_at(const pipc__cuda_exec_t *x, int rank, size_t at)
{
    return (CUdeviceptr)(uintptr_t)(x->args.staging[rank] + x->layout.ce_at + at);
}

/* As this process sees it: copies take the host's address. */
static char *host_at(const pipc__cuda_exec_t *x, int rank, size_t at)
{
    const pipc__segment_t *seg = rank == x->rank ? &x->own_host : &x->peer_host[rank];

    return seg->base + PIPC__SEGMENT_HEAD + x->layout.ce_at + at;
}

/* The ring of @sender in what @receiver has for CE, on the device and on the host. */
static size_t ring_at(const pipc__cuda_exec_t *x, int receiver, int sender)
{
    return PIPC__CE_HEAD + (size_t)pipc__ll_slot(receiver, sender) *
                               pipc__ce_ring_bytes(x->layout.ce_bytes, x->size);
}

static int next_peer(const pipc__cuda_exec_t *x, int i)
{
    return (x->rank + i) % x->size;
}

/* --- set-up ---------------------------------------------------------------------------------- */

/* Why streams here can't do it; NULL: they can. */
static const char *judge_streams(const pipc__cuda_exec_t *x)
{
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");

    if (!x->order.counts || !x->cu->StreamBatchMemOp)
        return "streams of this driver can't wait for 64 bits of memory or write them";
    if (blocking && atoi(blocking))
        return "CUDA_LAUNCH_BLOCKING is set, and a launch would wait for what is enqueued behind "
               "it";
    return NULL;
}

static pipc_status_t open_front(pipc__cuda_exec_t *x, int r, pipc__error_t *err)
{
    pipc__page_t *page = pipc__control_page_of(x->base.ctl, r);
    size_t bytes = (sizeof(*page) + PAGE - 1) / PAGE * PAGE;
    CUdeviceptr there = 0;
    CUresult rc = pipc__cuda_pin(x->cu, page, bytes, &there);

    if (rc)
        return pipc__cuda_fail(x->cu, rc, err, "control page of rank %d: cuMemHostRegister", r);
    x->ce.front[r] = there + offsetof(pipc__page_t, front);
    return PIPC_OK;
}

/* Of the highest priority, of which copies know nothing: it keeps these streams apart from most of
 * the program's, as a wait holds up whatever else shares its queue on the GPU. */
static pipc_status_t open_stream(pipc__cuda_exec_t *x, CUstream *stream, pipc__error_t *err)
{
    int least = 0, most = 0;
    pipc_status_t st = PIPC__CUDA_TRY(x->cu, err, CtxGetStreamPriorityRange, &least, &most);

    return st ? st
              : PIPC__CUDA_TRY(x->cu, err, StreamCreateWithPriority, stream, CU_STREAM_NON_BLOCKING,
                               most);
}

static pipc_status_t open_all(pipc__cuda_exec_t *x, pipc__error_t *err)
{
    pipc__cuda_ce_t *ce = &x->ce;
    pipc_status_t st = PIPC__CUDA_TRY(x->cu, err, EventCreate, &ce->begun, CU_EVENT_DISABLE_TIMING);

    for (int r = 0; !st && r < x->size; r++) {
        st = open_front(x, r, err);
        for (int lane = 0; !st && r != x->rank && lane < ce->lanes; lane++)
            st = open_stream(x, &ce->push[r][lane], err);
        if (!st && ce->from_host >> r & 1)
            st = open_stream(x, &ce->pull[r], err);
    }
    return st ? st : pipc__release_start(&ce->release, x->base.ctl, x->rank, err);
}

/* Through which memory each pair goes: own ones by rank, of the others whether any goes by host. */
static void take_wiring(pipc__cuda_exec_t *x, const pipc__plan_t *plan,
                        const pipc__ll_wiring_t *own)
{
    pipc__ll_wiring_t w;

    for (int r = 0; r < x->size; r++) {
        x->ce.to_host |= (uint32_t)(own->to[r] == PIPC__HOST) << r;
        x->ce.from_host |= (uint32_t)(own->from[r] == PIPC__HOST) << r;
        pipc__ll_wire(&w, plan, r);
        for (int q = 0; q < x->size; q++)
            x->ce.any_host |= w.to[q] == PIPC__HOST;
    }
    /* More streams than one a peer gain nothing there: the bus is what takes long. */
    x->ce.lanes = x->ce.any_host ? 1 : PIPC__CE_LANES;
}

/* What does not change from call to call. */
static void set_up_args(pipc__cuda_exec_t *x, const pipc__ll_wiring_t *w)
{
    pipc__ce_args_t *a = &x->ce.args;

    a->rank = (uint32_t)x->rank;
    a->nranks = (uint32_t)x->size;
    a->nth = x->args.nth;
    a->reciprocal = x->args.reciprocal;
    a->ring_bytes = pipc__ce_ring_bytes(x->layout.ce_bytes, x->size);
    a->head = (char *)device_at(x, x->rank, 0);
    for (int q = 0; q < x->size; q++) {
        if (q == x->rank)
            continue;
        a->ring[q] = (const char *)device_at(x, x->rank, ring_at(x, x->rank, q));
        a->room[q] = (uint64_t *)front_flag(&x->ce, q, PIPC__FRONT_FREE, x->rank);
    }
    a->plan_id = (uint32_t)x->ce.program;
    memcpy(a->wait_step, w->wait_step, sizeof(a->wait_step));
    a->state = x->args.state;
    a->abort = x->args.abort;
    a->stalled_round = x->args.stalled_round;
    a->stalled_step = x->args.stalled_step;
}

void pipc__cuda_ce_prepare(pipc__cuda_exec_t *x, int index)
{
    pipc__ll_wiring_t w;
    pipc__error_t err;

    if (x->ce.opened || !pipc__ll_wire(&w, x->programs[index].plan, x->rank))
        return;
    x->ce.opened = true;
    x->ce.program = index;
    const char *why = judge_streams(x);
    if (!why) {
        take_wiring(x, x->programs[index].plan, &w);
        why = open_all(x, &err) ? err.text : NULL;
    }
    if (why) {
        pipc__cuda_ce_end(x);
        snprintf(x->ce.missing, sizeof(x->ce.missing), "%s", why);
    } else {
        set_up_args(x, &w);
    }
}

/* --- end ------------------------------------------------------------------------------------- */

CUresult pipc__cuda_ce_drain(const pipc__cuda_exec_t *x)
{
    CUresult rc = CUDA_SUCCESS;

    for (int r = 0; r < x->size; r++) {
        for (int lane = 0; lane < PIPC__CE_LANES; lane++)
            if (!rc && x->ce.push[r][lane])
                rc = x->cu->StreamSynchronize(x->ce.push[r][lane]);
        if (!rc && x->ce.pull[r])
            rc = x->cu->StreamSynchronize(x->ce.pull[r]);
    }
    return rc;
}

static void close_rank(pipc__cuda_exec_t *x, int r)
{
    pipc__cuda_ce_t *ce = &x->ce;

    for (int lane = 0; lane < PIPC__CE_LANES; lane++) {
        if (ce->push[r][lane])
            x->cu->StreamDestroy(ce->push[r][lane]);
        ce->push[r][lane] = NULL;
    }
    if (ce->pull[r])
        x->cu->StreamDestroy(ce->pull[r]);
    if (ce->front[r])
        pipc__cuda_unpin(x->cu, pipc__control_page_of(x->base.ctl, r));
    ce->pull[r] = NULL;
    ce->front[r] = 0;
}

/* The thread that lets streams go is stopped behind them. */
void pipc__cuda_ce_end(pipc__cuda_exec_t *x)
{
    pipc__cuda_ce_drain(x);
    for (int r = 0; r < x->size; r++)
        close_rank(x, r);
    if (x->ce.begun)
        x->cu->EventDestroy(x->ce.begun);
    x->ce.begun = NULL;
    pipc__cuda_ce_release(x);
}

void pipc__cuda_ce_release(pipc__cuda_exec_t *x)
{
    pipc__release_stop(x->ce.release);
    x->ce.release = NULL;
}

/* --- a call ---------------------------------------------------------------------------------- */

bool pipc__cuda_ce_can(const pipc__cuda_exec_t *x, int index, size_t bytes, bool in_graph)
{
    (void)bytes;
    return x->ce.opened && x->ce.program == index && !*x->ce.missing && !in_graph;
}

pipc_status_t pipc__cuda_ce_check(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call,
                                  int index, pipc__error_t *err)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;

    if (!x->ce.opened || x->ce.program != index)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "plan %s of %d ranks can't be run with protocol ce: one-shot alone, of "
                          "two ranks or more, and one of that kind a communicator",
                          call->plan->name, x->size);
    if (*x->ce.missing)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "protocol ce can't be used here: %s",
                          x->ce.missing);
    x->cu->StreamIsCapturing(call->stream, &capture);
    if (capture != CU_STREAM_CAPTURE_STATUS_NONE)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "protocol ce can't be captured into a graph, since what copy engines "
                          "wait for and write changes with every call; let the table name another "
                          "one for graphs");
    return PIPC_OK;
}

/* A chunk: its place in the message and in the rings. */
typedef struct chunk {
    size_t at, bytes, in_ring;
    int lane;
    uint64_t end;
    uint64_t gone; /* what to tell the kernel when it has been read; 0: nothing */
} chunk_t;

/* What has come already, the host can see for nothing. */
static CUresult wait_front(pipc__cuda_exec_t *x, CUstream stream, pipc__front_t kind, int peer,
                           uint64_t value)
{
    const pipc__page_t *page = pipc__control_page(x->base.ctl);

    if (__atomic_load_n(&page->front[kind][peer].value, __ATOMIC_ACQUIRE) >= value)
        return CUDA_SUCCESS;
    return x->cu->StreamWaitValue64(stream, front_flag(&x->ce, x->rank, kind, peer), value,
                                    CU_STREAM_WAIT_VALUE_GEQ);
}

/* A turn of the ring before @k its bytes must have been summed: then the ring is free on the device
 * and, for what went through it, on the host. */
static CUresult wait_room(pipc__cuda_exec_t *x, CUstream stream, int peer, const chunk_t *k)
{
    if (k->end <= x->ce.safe + x->ce.args.ring_bytes)
        return CUDA_SUCCESS;
    return wait_front(x, stream, PIPC__FRONT_FREE, peer, k->end - x->ce.args.ring_bytes);
}

static CUresult write_flag(pipc__cuda_exec_t *x, CUstream stream, CUdeviceptr flag, uint64_t value)
{
    return x->cu->StreamWriteValue64(stream, flag, value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

/* To the peer, and to the own kernel when it is to know. Both at once: to change from copies to
 * flags and back takes 5 to 10 us, whatever their number. */
static CUresult tell_pushed(pipc__cuda_exec_t *x, CUstream stream, int peer, const chunk_t *k)
{
    const CUdeviceptr come = x->ce.to_host >> peer & 1
                                 ? front_flag(&x->ce, peer, PIPC__FRONT_LANDED, x->rank)
                                 : device_at(x, peer, PIPC__CE_CAME(x->rank, k->lane));
    const CUdeviceptr gone = device_at(x, x->rank, PIPC__CE_GONE(peer, k->lane));
    CUstreamBatchMemOpParams both[] = {
        {.writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_64, come, .value64 = k->end}},
        {.writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_64, gone, .value64 = k->gone}}};

    return k->gone ? x->cu->StreamBatchMemOp(stream, 2, both, 0)
                   : write_flag(x, stream, come, k->end);
}

/* Within a GPU, as between ranks that share one under MPS, a copy of 1 MB or more from an address
 * that 4 does not divide never ended where kernels waited for it (seen: 580 on H200): the driver
 * takes it, as it seems, to where kernels are queued. So it was with rows (cuMemcpy2DAsync) of such
 * addresses. Shorter copies it leaves to the copy engines. Between GPUs none was seen to hang, but
 * nothing promises that.
 */
static CUresult copy_to_peer(pipc__cuda_exec_t *x, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                             CUstream stream)
{
    const size_t most = from % 4 ? ODD_MOST : bytes;
    CUresult rc = CUDA_SUCCESS;

    for (size_t at = 0; !rc && at < bytes; at += most)
        rc = x->cu->MemcpyDtoDAsync(to + at, from + at, bytes - at < most ? bytes - at : most,
                                    stream);
    return rc;
}

static CUresult push(pipc__cuda_exec_t *x, const char *send, int peer, const chunk_t *k)
{
    const size_t to = ring_at(x, peer, x->rank) + k->in_ring;
    const CUdeviceptr from = (CUdeviceptr)(uintptr_t)(send + k->at);
    const bool host = x->ce.to_host >> peer & 1;
    CUstream stream = x->ce.push[peer][k->lane];
    CUresult rc = CUDA_SUCCESS;

    if (!DROPPED_CE(PIPC__CE_WAIT_FREE))
        rc = wait_room(x, stream, peer, k);
    if (!rc)
        rc = host ? x->cu->MemcpyDtoHAsync(host_at(x, peer, to), from, k->bytes, stream)
                  : copy_to_peer(x, device_at(x, peer, to), from, k->bytes, stream);
    if (!rc)
        rc = tell_pushed(x, stream, peer, k);
    return rc;
}

/* The other half of the way by host memory. It waits for nothing of the caller's: what the peer has
 * sent may come while the caller's stream is still on its way to the call. Nor for room on the
 * device: the peer has waited for that. */
static CUresult pull(pipc__cuda_exec_t *x, int peer, const chunk_t *k)
{
    const size_t at = ring_at(x, x->rank, peer) + k->in_ring;
    CUstream stream = x->ce.pull[peer];
    CUresult rc = CUDA_SUCCESS;

    if (!DROPPED_CE(PIPC__CE_WAIT_LANDED))
        rc = wait_front(x, stream, PIPC__FRONT_LANDED, peer, k->end);
    if (!rc)
        rc = x->cu->MemcpyHtoDAsync(device_at(x, x->rank, at), host_at(x, x->rank, at), k->bytes,
                                    stream);
    if (!rc)
        rc = write_flag(x, stream, device_at(x, x->rank, PIPC__CE_CAME(peer, k->lane)), k->end);
    return rc;
}

/* Every rank enqueues chunk after chunk for all peers, not peer after peer: then what the earliest
 * unfinished chunk of all ranks waits for has been enqueued, however short the queues are. */
static CUresult move_chunk(pipc__cuda_exec_t *x, const char *send, const chunk_t *k)
{
    CUresult rc = CUDA_SUCCESS;

    PIPC__DELAY();
    for (int i = 1; !rc && i < x->size; i++) {
        int to = next_peer(x, i), from = next_peer(x, x->size - i);
        rc = push(x, send, to, k);
        if (!rc && x->ce.pull[from])
            rc = pull(x, from, k);
    }
    return rc;
}

static void set_args(pipc__cuda_exec_t *x, const pipc__exec_call_t *call)
{
    pipc__ce_args_t *a = &x->ce.args;

    a->send = call->send;
    a->recv = call->recv;
    a->bytes = call->count * pipc_dtype_bytes(call->dtype);
    a->at = x->ce.at;
    pipc__ce_cut_t cut =
        x->ce.cut.most ? x->ce.cut : pipc__ce_cut(a->bytes, a->ring_bytes, x->ce.any_host);
    a->most = cut.most;
    a->least = cut.least;
    a->lanes = (uint32_t)x->ce.lanes;
    a->in_place = call->send == call->recv;
    /* A call within one turn of the rings waits for no room that it makes itself. */
    a->frees = a->bytes + a->most + PIPC__CE_UNIT > a->ring_bytes;
    memcpy(a->scrub, x->args.scrub, sizeof(a->scrub));
#ifdef PIPC_PERTURB
    a->seed = pipc__perturb.seed;
    a->max_usec = pipc__perturb.max_usec;
    a->drop_ce = pipc__perturb.drop_ce;
#endif
}

static CUresult begin(pipc__cuda_exec_t *x, CUstream stream)
{
    CUresult rc = x->cu->EventRecord(x->ce.begun, stream);

    for (int i = 1; i < x->size && !DROPPED_CE(PIPC__CE_WAIT_BEGIN); i++)
        for (int lane = 0; !rc && lane < x->ce.lanes; lane++)
            rc = x->cu->StreamWaitEvent(x->ce.push[next_peer(x, i)][lane], x->ce.begun, 0);
    return rc;
}

static CUresult launch_kernel(pipc__cuda_exec_t *x, const pipc__exec_call_t *call)
{
    unsigned int blocks = pipc__ce_blocks(x->ce.args.bytes, pipc__cuda_blocks(x, call));
    void *params[] = {&x->ce.args};

    return x->cu->LaunchKernel(x->ce.kernel[call->op][call->dtype], blocks, 1, 1, PIPC__CE_THREADS,
                               1, 1, 0, call->stream, params, NULL);
}

/* Chunk @n, which follows @before, if there is one, in the message and in the rings. */
static chunk_t next_chunk(const pipc__ce_args_t *a, const chunk_t *before, int n)
{
    size_t done = n ? before->at + before->bytes : 0;
    chunk_t k = {.at = done, .bytes = pipc__ce_chunk(a->bytes - done, a->most, a->least)};
    uint64_t begin = pipc__ce_begin(n ? before->end : a->at, k.bytes, a->ring_bytes);

    k.lane = n % (int)a->lanes;
    k.in_ring = (size_t)(begin % a->ring_bytes);
    k.end = pipc__ce_end(begin, k.bytes);
    k.gone = a->in_place ? k.end : 0;
    return k;
}

/* How many chunks there are; *end: of the last one. */
static int count_chunks(const pipc__ce_args_t *a, uint64_t *end)
{
    chunk_t k = {.bytes = 0};
    int n = 0;

    while (k.at + k.bytes < a->bytes) {
        k = next_chunk(a, &k, n);
        n++;
    }
    *end = k.end;
    return n;
}

CUresult pipc__cuda_ce_launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index)
{
    const pipc__ce_args_t *a = &x->ce.args;
    chunk_t k = {.bytes = 0};
    uint64_t end;

    (void)index;
    set_args(x, call);
    int chunks = count_chunks(a, &end);
    CUresult rc = begin(x, call->stream);
    for (int n = 0; !rc && n < chunks; n++) {
        k = next_chunk(a, &k, n);
        if (n + x->ce.lanes >= chunks) /* the lane's last one */
            k.gone = end;
        rc = move_chunk(x, call->send, &k);
        if (!rc && n == 0)
            rc = launch_kernel(x, call);
    }
    x->ce.safe = x->ce.at;
    x->ce.at = end;
    return rc;
}
