/* exec/cuda_program.c - the own rank's programs of a plan, on the device. See cuda_exec.h for the
 * other files.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/plan/halves.h"

static pipc_status_t judge_program(const pipc__cuda_exec_t *x, const pipc__plan_t *plan,
                                   pipc__error_t *err)
{
    if (plan->collective != PIPC__ALLREDUCE)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "plan %s: on GPUs all-reduce alone runs",
                          plan->name);
    if (x->nprograms == PIPC__PROGRAMS_MAX)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "plan %s: an executor takes %d plans",
                          plan->name, PIPC__PROGRAMS_MAX);
    for (int s = 0; s < plan->nstages; s++)
        if (plan->program[x->rank][s].nops > PIPC__PROGRAM_MAX)
            return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                              "plan %s: stage %d of rank %d has %d steps, "
                              "an executor takes %d",
                              plan->name, s, x->rank, plan->program[x->rank][s].nops,
                              PIPC__PROGRAM_MAX);
    return PIPC_OK;
}

/* A wait for a job of a rail is over when the stream comes to the second half; what is left is the
 * post-op of what the job brings. */
static void finish_job(pipc__op_t *op, const pipc__op_t *rail)
{
    if (!rail)
        return;
    memset(op, 0, sizeof(*op));
    op->kind = PIPC__REDUCE;
    op->nsrc = 1;
    op->chunk = rail->chunk;
    op->dst = op->src[0] = rail->dst;
    op->post = rail->post;
}

/* The own stages as the device runs them, one behind the other, for the caller to free; NULL: no
 * memory. */
static pipc__op_t *translate(const pipc__cuda_exec_t *x, const pipc__plan_t *plan, size_t *nops)
{
    const pipc__program_t *stage = plan->program[x->rank];

    *nops = 0;
    for (int s = 0; s < plan->nstages; s++)
        *nops += (size_t)stage[s].nops;
    pipc__op_t *ops = calloc(*nops + 1, sizeof(*ops)), *to = ops;
    for (int s = 0; ops && s < plan->nstages; s++)
        for (int i = 0; i < stage[s].nops; i++, to++) {
            *to = stage[s].ops[i];
            if (plan->nrails)
                finish_job(to, pipc__plan_rail_of(plan, x->rank, &stage[s].ops[i]));
        }
    return ops;
}

static pipc_status_t put_on_device(pipc__cuda_exec_t *x, const pipc__op_t *ops, size_t bytes,
                                   CUdeviceptr *there, pipc__error_t *err)
{
    pipc_status_t st = PIPC__CUDA_TRY(x->cu, err, MemAlloc, there, bytes ? bytes : 4);

    if (!st && bytes)
        st = PIPC__CUDA_TRY(x->cu, err, MemcpyHtoDAsync, *there, ops, bytes, x->stream);
    if (!st)
        st = PIPC__CUDA_TRY(x->cu, err, StreamSynchronize, x->stream);
    if (st && *there)
        x->cu->MemFree(*there);
    return st;
}

pipc_status_t pipc__cuda_load_program(pipc__cuda_exec_t *x, const pipc__plan_t *plan,
                                      pipc__error_t *err)
{
    pipc__cuda_program_t program = {.plan = plan};
    size_t nops = 0;
    pipc_status_t st = judge_program(x, plan, err);
    pipc__op_t *ops = st ? NULL : translate(x, plan, &nops);

    if (!st && !ops)
        st = pipc__fail(err, PIPC_ERR_NOMEM, "plan %s: no memory for %zu steps", plan->name, nops);
    if (!st)
        st = put_on_device(x, ops, nops * sizeof(*ops), &program.ops, err);
    free(ops);
    if (!st)
        x->programs[x->nprograms++] = program;
    return st;
}
