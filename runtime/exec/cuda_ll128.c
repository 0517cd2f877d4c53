/* exec/cuda_ll128.c - LL128: middle sizes, a flag in each line. See kernels/ll128.h for what it
 * does and cuda_exec.h for the other files.
 *
 * As LL it runs any plan that is a one-shot (ll.h), but only where every pair of ranks is joined by
 * NVLink and goes by the device's memory: elsewhere a line may come in parts.
 */
#include <string.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/ll.h"
#include "runtime/exec/perturb.h"

static bool by_device(const pipc__cuda_exec_t *x, const pipc__ll_wiring_t *w)
{
    for (int q = 0; q < x->size; q++)
        if (q != x->rank && (w->to[q] != PIPC__SLOT || w->from[q] != PIPC__SLOT))
            return false;
    return true;
}

static char *slot_of(const pipc__cuda_exec_t *x, int receiver, int sender)
{
    return (char *)x->args.staging[receiver] + x->layout.ll128_at +
           pipc__ll_slot(receiver, sender) * pipc__ll128_slot_bytes(x->size);
}

void pipc__cuda_ll128_prepare(pipc__cuda_exec_t *x, int index)
{
    pipc__ll128_args_t *a = &x->programs[index].ll128;
    pipc__ll_wiring_t w;

    memset(a, 0, sizeof(*a));
    if (!x->layout.ll128_bytes || !x->base.nvlink ||
        !pipc__ll_wire(&w, x->programs[index].plan, x->rank) || !by_device(x, &w))
        return;
    a->rank = (uint32_t)x->rank;
    a->nranks = (uint32_t)x->size;
    a->nth = x->args.nth;
    a->reciprocal = x->args.reciprocal;
    a->area_bytes = pipc__ll128_area_bytes(x->size);
    for (int i = 1; i < x->size; i++) {
        int to = (x->rank + i) % x->size;
        a->to[i - 1] = slot_of(x, to, x->rank);
        a->from[to] = slot_of(x, x->rank, to);
    }
    a->plan_id = (uint32_t)index;
    memcpy(a->wait_step, w.wait_step, sizeof(a->wait_step));
    a->state = x->args.state;
    a->abort = x->args.abort;
    a->stalled_round = x->args.stalled_round;
    a->stalled_step = x->args.stalled_step;
}

bool pipc__cuda_ll128_can(const pipc__cuda_exec_t *x, int index, size_t bytes, bool in_graph)
{
    (void)in_graph;
    return x->programs[index].ll128.nranks && bytes <= pipc__ll128_bytes_max(x->size);
}

pipc_status_t pipc__cuda_ll128_check(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call,
                                     int index, pipc__error_t *err)
{
    size_t bytes = call->count * pipc_dtype_bytes(call->dtype);

    if (!x->programs[index].ll128.nranks)
        return pipc__fail(
            err, PIPC_ERR_UNSUPPORTED,
            "plan %s of %d ranks can't be run with protocol ll128: one-shot alone, by "
            "the memory of GPUs that NVLink joins, with 64 MB of staging",
            call->plan->name, x->size);
    if (bytes > pipc__ll128_bytes_max(x->size))
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "protocol ll128 takes messages of %zu bytes at most among %d ranks, not "
                          "%zu",
                          pipc__ll128_bytes_max(x->size), x->size, bytes);
    return PIPC_OK;
}

CUresult pipc__cuda_ll128_launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index)
{
    pipc__ll128_args_t *a = &x->programs[index].ll128;
    pipc__ll_grid_t g =
        pipc__ll128_grid(call->count * pipc_dtype_bytes(call->dtype), pipc__cuda_blocks(x, call));
    const pipc__cuda_grid_t grid = {x->ll128_kernel[call->op][call->dtype], g.blocks, g.threads, 0};

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
    a->trace = pipc__perturb.trace;
#endif
    return pipc__cuda_launch(x, call->stream, &grid, a);
}
