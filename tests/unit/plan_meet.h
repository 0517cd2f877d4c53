/* tests/unit/plan_meet.h - two nodes and what goes between them as one plan, for the explorer */
#ifndef PLAN_MEET_H
#define PLAN_MEET_H

#include "runtime/plan/plan.h"

/* Plans of two nodes, with the same rails and chunks, as one all-reduce of all their ranks, those
 * of @a first. A rail is one more stage of its owner in @a: for each chunk, in @a's order, it waits
 * for both nodes, adds up in @a's memory, copies to @b's, and signals both. Only the explorer can
 * run it: the rail reads another rank's memory. Released by pipc__plan_free(). */
pipc__plan_t *plan_meet(const pipc__plan_t *a, const pipc__plan_t *b);

#endif
