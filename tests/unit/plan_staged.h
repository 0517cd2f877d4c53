/* tests/unit/plan_staged.h - small staged plans, written by hand, that tests break */
#ifndef PLAN_STAGED_H
#define PLAN_STAGED_H

#include <stdbool.h>

#include "runtime/plan/plan.h"

/* A pipelined two-shot for 2 or 3 ranks with @pieces chunks an owner, or its first half
 * (reduce-scatter), or its second one (all-gather). The slots of the first half are used again
 * within a round: the owner tells by a flag that it has read them.
 *
 *     stage 0 "push"     wait until the owner has read the last piece; push input; signal owner
 *     stage 1 "sum"      wait for all peers; sum; tell them that the slots are read, and stage 2
 *     stage 2 "spread"   wait for stage 1; push the sum to all peers; signal them
 *     stage 3 "receive"  wait for the owner; copy to the output
 *     stages 0 and 3     the join: 0 waits for the end of 3, when nothing else holds it back
 *
 * Reduce-scatter has stages 0 and 1 alone, all-gather 2 and 3 as stages 0 and 1. Every wait is
 * needed. With @host, ranks 0 and 1 meet in host memory. Released by pipc__plan_free(). */
pipc__plan_t *staged_plan(pipc__collective_t collective, int nranks, int pieces, bool host);

/* The stage of that plan with the name's number above; in an all-gather, 2 and 3 become 0 and 1. */
int staged_stage(const pipc__plan_t *p, int stage);

/* The nth op of @kind, from 0 on, in a program; NULL when there is none. */
pipc__op_t *find_op(pipc__plan_t *p, int rank, int stage, pipc__op_kind_t kind, int nth);

void remove_op(pipc__plan_t *p, int rank, int stage, pipc__op_t *op);

/* A copy of its own. */
pipc__plan_t *clone_plan(const pipc__plan_t *p);

#endif
