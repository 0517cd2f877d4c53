/* exec/cuda_ll.c - LL: small messages with flags in the data. See kernels/ll.h for what it does and
 * cuda_exec.h for the other files.
 *
 * Its areas lie behind staging in the same allocation, on the device and on the host, and any plan
 * that is a one-shot (ll.h) can be run so: the plan says through which memory each pair goes. All
 * of them share the areas, since all number their calls alike.
 */
#include <string.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/ll.h"
#include "runtime/exec/perturb.h"

static char *area_of(const pipc__cuda_exec_t *x, int rank, int place)
{
    char *staging = place == PIPC__HOST ? x->args.host[rank] : x->args.staging[rank];

    return staging + x->layout.ll_at;
}

static char *slot_of(const pipc__cuda_exec_t *x, int receiver, int sender, int place)
{
    return area_of(x, receiver, place) +
           pipc__ll_slot(receiver, sender) * pipc__ll_slot_bytes(x->size);
}

void pipc__cuda_ll_prepare(pipc__cuda_exec_t *x, int index)
{
    pipc__ll_args_t *a = &x->programs[index].ll;
    pipc__ll_wiring_t w;

    memset(a, 0, sizeof(*a));
    if (!pipc__ll_wire(&w, x->programs[index].plan, x->rank))
        return;
    a->rank = (uint32_t)x->rank;
    a->nranks = (uint32_t)x->size;
    a->nth = x->args.nth;
    a->reciprocal = x->args.reciprocal;
    for (int i = 1; i < x->size; i++) {
        int to = (x->rank + i) % x->size;
        a->to[i - 1] = slot_of(x, to, x->rank, w.to[to]);
        a->from[to] = slot_of(x, x->rank, to, w.from[to]);
    }
    a->slot_bytes = (uint32_t)pipc__ll_slot_bytes(x->size);
    a->plan_id = (uint32_t)index;
    memcpy(a->wait_step, w.wait_step, sizeof(a->wait_step));
    a->state = x->args.state;
    a->abort = x->args.abort;
    a->stalled_round = x->args.stalled_round;
    a->stalled_step = x->args.stalled_step;
}

bool pipc__cuda_ll_can(const pipc__cuda_exec_t *x, int index, size_t bytes, bool in_graph)
{
    (void)in_graph;
    return x->programs[index].ll.nranks && bytes <= pipc__ll_bytes_max(x->size);
}

pipc_status_t pipc__cuda_ll_check(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call,
                                  int index, pipc__error_t *err)
{
    size_t bytes = call->count * pipc_dtype_bytes(call->dtype);

    if (!x->programs[index].ll.nranks)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "plan %s of %d ranks can't be run with protocol ll: one-shot alone, of "
                          "two ranks or more",
                          call->plan->name, x->size);
    if (bytes > pipc__ll_bytes_max(x->size))
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "protocol ll takes messages of %zu bytes at most among %d ranks, not %zu",
                          pipc__ll_bytes_max(x->size), x->size, bytes);
    return PIPC_OK;
}

CUresult pipc__cuda_ll_launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index)
{
    pipc__ll_args_t *a = &x->programs[index].ll;

    a->send = call->send;
    a->recv = call->recv;
    a->bytes = call->count * pipc_dtype_bytes(call->dtype);
    memcpy(a->scrub, x->args.scrub, sizeof(a->scrub));
#ifdef PIPC_PERTURB
    a->seed = pipc__perturb.seed;
    a->max_usec = pipc__perturb.max_usec;
    a->drop_stage = pipc__perturb.drop_stage;
    a->drop_step = pipc__perturb.drop_step;
    a->one_area = pipc__perturb.one_area;
    a->no_scrub = pipc__perturb.no_scrub;
    a->trace = pipc__perturb.trace;
#endif
    pipc__ll_grid_t g = pipc__ll_grid(a->bytes, pipc__cuda_blocks(x, call));
    const pipc__cuda_grid_t grid = {x->ll_kernel[call->op][call->dtype], g.blocks, g.threads, 0};
    return pipc__cuda_launch(x, call->stream, &grid, a);
}
