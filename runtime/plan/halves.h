/* plan/halves.h - a plan over nodes cut in two: all that is done before the jobs of its rails have
 * ended, and what comes of them. For executors that run it so, one half after the other:
 *
 *     stage 0   push 0 | push 1 | tell last || wait |
 *     stage 1          | sum 0, rail 0 | sum 1, rail 1 | tell last || wait |
 *     stage 2                                                      || wait for rail 0 | spread 0
 *     stage 3                                                      || wait | copy 0
 *                                                      jobs of the rails
 *
 * The cut adds order and takes none away, so a plan that is right stays right. It could make ranks
 * wait in a circle, if something of the first half waited for something of a second one: so what
 * waits for a second half, on any rank of the node, is of the second half, too.
 */
#ifndef PIPC_PLAN_HALVES_H
#define PIPC_PLAN_HALVES_H

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

typedef struct pipc__halves {
    int first[PIPC__RANKS_MAX][PIPC__STAGES_MAX]; /* steps of each stage's first half */
} pipc__halves_t;

/* Cut @plan, which has rails. PIPC_ERR_UNSUPPORTED for one that can't be cut so: which begins a job
 * behind what waits for another one. Pure. */
pipc_status_t pipc__plan_halve(pipc__halves_t *halves, const pipc__plan_t *plan,
                               pipc__error_t *err);

/* The RAIL op whose end @wait, a WAIT of @rank's, waits for; NULL: it waits for something else. */
const pipc__op_t *pipc__plan_rail_of(const pipc__plan_t *plan, int rank, const pipc__op_t *wait);

#endif
