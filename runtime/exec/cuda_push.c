/* exec/cuda_push.c - push: larger messages, copied and summed at the same time. See kernels/push.h
 * for what it does and cuda_exec.h for the other files.
 *
 * Any plan that is a one-shot can be run so, as by LL: the plan says through which memory each pair
 * goes. All of them share the rings, since all number their slots alike; so a second one whose
 * pairs go through other memory than the first one's is not run so: it would wait for
 * acknowledgements where none come. (The plans of a communicator never differ in that.)
 */
#include <string.h>

#include "kernels/push.h"
#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/ll.h"
#include "runtime/exec/perturb.h"

/* Kernels of sm_90 and newer have bulk copies; a driver may have made them of older PTX for a newer
 * GPU, so the kernel is asked what it was made for, and not the GPU. Shared memory of more than 48
 * KB has to be asked for; 1 KB of what a block can have is the driver's, and the kernel has some of
 * its own. */
pipc_status_t pipc__cuda_push_kernels(pipc__cuda_exec_t *x, pipc__error_t *err)
{
    int version = 0, shared = 0;
    pipc_status_t st =
        PIPC__CUDA_TRY(x->cu, err, FuncGetAttribute, &version, CU_FUNC_ATTRIBUTE_PTX_VERSION,
                       x->push_kernel[PIPC_SUM][PIPC_F32]);

    if (!st && version >= 90)
        st = PIPC__CUDA_TRY(x->cu, err, DeviceGetAttribute, &shared,
                            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, x->device);
    shared = shared > 2048 ? shared - 2048 : 0;
    if (shared > (int)pipc__push_window(1))
        shared = (int)pipc__push_window(1);
    x->push_shared = (size_t)shared;
    for (pipc_redop_t op = 0; op < PIPC_REDOP_COUNT; op++)
        for (pipc_dtype_t t = 0; !st && shared && t < PIPC_DTYPE_COUNT; t++)
            st = PIPC__CUDA_TRY(x->cu, err, FuncSetAttribute, x->push_kernel[op][t],
                                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);
    return st;
}

/* What of rank @owner's region is for rank @other: the ring that it writes, or flags. */
static char *region_of(const pipc__cuda_exec_t *x, int owner, int place)
{
    char *staging = place == PIPC__HOST ? x->args.host[owner] : x->args.staging[owner];

    return staging + x->layout.push_at;
}

static uint64_t *flags(char *region, size_t at)
{
    return (uint64_t *)(void *)(region + at);
}

/* Pair by pair. What @rank's chunks go through, their acknowledgements come back by what the
 * receiver writes to @rank, and the other way round. */
static void wire(const pipc__cuda_exec_t *x, pipc__push_args_t *a, const pipc__ll_wiring_t *w)
{
    int n = x->size, me = x->rank;

    for (int i = 1; i < n; i++) {
        int peer = (me + i) % n;
        int here = pipc__push_index(me, peer), there = pipc__push_index(peer, me);
        char *peers = region_of(x, peer, w->to[peer]), *own = region_of(x, me, w->from[peer]);
        a->to[i - 1] = peers + pipc__push_ring(a->nslots, a->slot_bytes, n, there);
        a->arrival_to[i - 1] = flags(peers, pipc__push_arrivals(a->nslots, there));
        a->ack_from[i - 1] = flags(own, pipc__push_acks(a->nslots, n, here));
        a->from[peer] = own + pipc__push_ring(a->nslots, a->slot_bytes, n, here);
        a->arrival_from[peer] = flags(own, pipc__push_arrivals(a->nslots, here));
        a->ack_to[peer] = flags(peers, pipc__push_acks(a->nslots, n, there));
    }
}

/* Does any pair of the plan go through host memory? Every rank comes to the same. */
static bool any_host(const pipc__plan_t *plan)
{
    pipc__ll_wiring_t w;

    for (int r = 0; r < plan->nranks; r++) {
        pipc__ll_wire(&w, plan, r);
        for (int q = 0; q < plan->nranks; q++)
            if (w.to[q] == PIPC__HOST)
                return true;
    }
    return false;
}

/* Do all programs of before that push go through the same memory? Every rank comes to the same. */
static bool shares_rings(const pipc__cuda_exec_t *x, int index)
{
    const pipc__plan_t *plan = x->programs[index].plan;
    bool same = true;

    for (int i = 0; i < index; i++)
        for (int r = 0; x->programs[i].push.nranks && r < plan->nranks; r++) {
            pipc__ll_wiring_t a, b;
            pipc__ll_wire(&a, x->programs[i].plan, r);
            pipc__ll_wire(&b, plan, r);
            same = same && !memcmp(a.to, b.to, sizeof(a.to));
        }
    return same;
}

void pipc__cuda_push_prepare(pipc__cuda_exec_t *x, int index)
{
    pipc__cuda_program_t *p = &x->programs[index];
    pipc__push_args_t *a = &p->push;
    pipc__ll_wiring_t w;

    memset(a, 0, sizeof(*a));
    p->push_host = any_host(p->plan);
    a->slot_bytes = pipc__push_slot_bytes(p->push_host);
    a->nslots = pipc__push_slots(x->layout.push_bytes, x->size, a->slot_bytes);
    if (!a->nslots || !pipc__ll_wire(&w, p->plan, x->rank) || !shares_rings(x, index))
        return;
    a->rank = (uint32_t)x->rank;
    a->nranks = (uint32_t)x->size;
    a->nth = x->args.nth;
    a->reciprocal = x->args.reciprocal;
    wire(x, a, &w);
    a->plan_id = (uint32_t)index;
    memcpy(a->wait_step, w.wait_step, sizeof(a->wait_step));
    a->state = x->args.state;
    a->abort = x->args.abort;
    a->stalled_round = x->args.stalled_round;
    a->stalled_step = x->args.stalled_step;
}

bool pipc__cuda_push_can(const pipc__cuda_exec_t *x, int index, size_t bytes, bool in_graph)
{
    (void)in_graph;
    return x->programs[index].push.nranks && bytes / PIPC__PUSH_CHUNK_LEAST < INT32_MAX;
}

pipc_status_t pipc__cuda_push_check(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call,
                                    int index, pipc__error_t *err)
{
    size_t bytes = call->count * pipc_dtype_bytes(call->dtype);

    if (pipc__cuda_push_can(x, index, bytes, false))
        return PIPC_OK;
    if (x->programs[index].push.nranks)
        return pipc__fail(err, PIPC_ERR_INVALID, "protocol push can't take %zu bytes", bytes);
    return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                      "plan %s of %d ranks can't be run with protocol push: one-shot alone, of two "
                      "ranks or more, with enough staging, and by the same memory as other plans",
                      call->plan->name, x->size);
}

CUresult pipc__cuda_push_launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index)
{
    const pipc__cuda_program_t *p = &x->programs[index];
    int blocks = pipc__cuda_blocks(x, call);
    pipc__push_args_t *a = &x->programs[index].push;

    a->send = call->send;
    a->recv = call->recv;
    a->in_place = call->send == call->recv;
    a->bytes = call->count * pipc_dtype_bytes(call->dtype);
    a->chunk_bytes = pipc__push_chunk(a->bytes, p->push_host, blocks);
    a->nchunks = (uint32_t)((a->bytes + a->chunk_bytes - 1) / a->chunk_bytes);
    a->span = pipc__push_span(a->chunk_bytes, a->slot_bytes);
    a->moves = pipc__push_moves(a->nchunks, a->span);
    a->streams = p->push_host ? 0 : pipc__push_streams(a->chunk_bytes, blocks, x->push_shared);
    memcpy(a->scrub, x->args.scrub, sizeof(a->scrub));
#ifdef PIPC_PERTURB
    a->seed = pipc__perturb.seed;
    a->max_usec = pipc__perturb.max_usec;
    a->drop_stage = pipc__perturb.drop_stage;
    a->drop_step = pipc__perturb.drop_step;
    a->trace = pipc__perturb.trace;
#endif
    const pipc__cuda_grid_t grid = {
        x->push_kernel[call->op][call->dtype],
        (uint32_t)blocks < a->nchunks ? (uint32_t)blocks : a->nchunks,
        PIPC__PUSH_THREADS,
        a->streams * a->chunk_bytes,
    };
    return pipc__cuda_launch(x, call->stream, &grid, a);
}
