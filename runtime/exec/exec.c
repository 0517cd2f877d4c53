/* exec/exec.c - what executors share. See exec.h */
#include "runtime/exec/exec.h"

#include <stdio.h>

pipc_status_t pipc__exec_stalled(pipc__control_t *ctl, const pipc__plan_t *plan, int rank,
                                 uint64_t call, uint64_t round, int stage, int step,
                                 pipc__error_t *err)
{
    char name[128], waited[64], where[64];
    int who = rank;
    pipc_status_t st = pipc__control_state(ctl, &who);
    const pipc__op_t *op = &plan->program[rank][stage].ops[step];

    if (op->kind == PIPC__WAIT && op->peer == rank)
        snprintf(waited, sizeof(waited), "waiting for another stage of its own");
    else if (op->kind == PIPC__WAIT)
        snprintf(waited, sizeof(waited), "waiting for rank %d", op->peer);
    else
        snprintf(waited, sizeof(waited), "working");
    if (plan->nstages > 1)
        snprintf(where, sizeof(where), "stage %d, step %d", stage, step);
    else
        snprintf(where, sizeof(where), "step %d", step);
    return pipc__fail(err, st, "%s %s; this rank %d was %s in call %llu (plan %s, round %llu, %s)",
                      pipc__control_name(ctl, who, name, sizeof(name)),
                      st == PIPC_ERR_PEER_LOST ? "has ended" : "aborted the communicator", rank,
                      waited, (unsigned long long)call, plan->name, (unsigned long long)round,
                      where);
}
