/* exec/cuda_simple.c - simple: a plan's steps as they stand, flags beside the data. See
 * kernels/allreduce.cu for what it does and cuda_exec.h for the other files.
 */
#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/perturb.h"

/* Lanes of a call: no more than have flags, and that staging has room for. */
static int count_lanes(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call)
{
    int most = pipc__most_lanes(pipc__cuda_blocks(x, call), call->plan->nstages);
    size_t room = x->layout.area_bytes / PIPC__SPLIT_BYTES / (size_t)call->plan->nslots;

    if (most > PIPC__LANES_MAX)
        most = PIPC__LANES_MAX;
    if ((size_t)most > room)
        most = (int)room;
    return pipc__lanes(call->count, pipc_dtype_bytes(call->dtype), most);
}

/* Steps of the own rank's longest stage. */
static int longest_stage(const pipc__lane_args_t *a)
{
    int most = 0;

    for (int s = 0; s < a->nstages; s++)
        if (a->to[s] - a->from[s] > most)
            most = a->to[s] - a->from[s];
    return most;
}

void pipc__cuda_take_program(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index)
{
    const pipc__program_t *stage = call->plan->program[x->rank];
    pipc__lane_args_t *a = &x->args;

    a->program = (const pipc__op_t *)x->programs[index].ops;
    a->plan_id = (uint32_t)index;
    a->nstages = call->plan->nstages;
    for (int s = 0, at = 0; s < a->nstages; at += stage[s++].nops) {
        a->stage_at[s] = at;
        a->from[s] = 0;
        a->to[s] = stage[s].nops;
    }
    a->nchunks = call->plan->nchunks;
    a->send = call->send;
    a->recv = call->recv;
    a->count = call->count;
#ifdef PIPC_PERTURB
    a->seed = pipc__perturb.seed;
    a->max_usec = pipc__perturb.max_usec;
    a->drop_stage = pipc__perturb.drop_stage;
    a->drop_step = pipc__perturb.drop_step;
    a->one_area = pipc__perturb.one_area;
#endif
}

CUresult pipc__cuda_launch_lanes(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int lanes)
{
    const pipc__cuda_grid_t grid = {
        x->kernel[call->op][call->dtype],
        (unsigned int)(lanes * call->plan->nstages),
        PIPC__LANE_THREADS,
        (unsigned int)longest_stage(&x->args) * sizeof(pipc__op_t),
    };

    return pipc__cuda_launch(x, call->stream, &grid, &x->args);
}

CUresult pipc__cuda_simple_launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index)
{
    int lanes = count_lanes(x, call);
    pipc__lane_args_t *a = &x->args;

    pipc__cuda_take_program(x, call, index);
    a->slot_bytes = pipc__lane_slot_bytes(x->layout.area_bytes, call->plan->nslots, lanes);
    a->round_elems =
        pipc__round_elems(a->slot_bytes, pipc_dtype_bytes(call->dtype), a->nchunks, lanes);
    return pipc__cuda_launch_lanes(x, call, lanes);
}
