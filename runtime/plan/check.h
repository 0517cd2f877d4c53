/* plan/check.h - proves a sequence of plans right, or names the place where it is wrong.
 */
#ifndef PIPC_PLAN_CHECK_H
#define PIPC_PLAN_CHECK_H

#include <stdbool.h>

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

/* One call of a communicator. */
typedef struct pipc__check_call {
    const pipc__plan_t *plan;
    int rounds;    /* pieces that the message is cut into, 1..PIPC__CHECK_ROUNDS_MAX */
    int lanes;     /* 1..PIPC__CHECK_LANES_MAX */
    bool in_place; /* input and output are the same memory */
} pipc__check_call_t;

#define PIPC__CHECK_ROUNDS_MAX 8
#define PIPC__CHECK_LANES_MAX 2 /* lanes are alike, so two show every conflict between lanes */

/* Structure alone: every rank, stage, slot, chunk and flag is in range; every wait has exactly one
 * signal, from the peer that it names, in the memory in which it looks, and of another stage than
 * its own; no flag has two; every chunk goes once over its rail, in ascending order, begun by the
 * rail's owner in one stage, and somebody waits for its end; user buffers are touched by their own
 * rank only, and those chunks only that the collective gives it. PIPC_ERR_INVALID names rank, stage
 * and step. */
pipc_status_t pipc__plan_validate(const pipc__plan_t *plan, pipc__error_t *err);

/* Run the calls one after the other, symbolically, with @buffers staging areas and as many sets of
 * flags (the executors have PIPC__BUFFERS; round g uses number g mod @buffers), and prove that
 *   - every output element holds every contribution that the collective asks for, exactly once,
 *     of this call and this round, and as the same expression on every rank (bit-identical);
 *   - of a plan with rails, every output element is the sum over the nodes, exactly once, of all
 * that the node has, nothing touches a chunk while a rail has it, and no job of a rail waits for
 * one of a later chunk: so nodes whose plans have the same rails and chunks, and pass, never wait
 * for each other for ever;
 *   - every contribution gets the pre-op exactly once, every result the post-op exactly once, when
 *     all contributions are in;
 *   - every wait is reached by its signal (no deadlock);
 *   - any two accesses to the same place, one of them a write, are ordered by the program order of
 *     one stage of one lane, the join of a rank's stages and lanes between two calls, and
 *     signal-to-wait edges alone; likewise any two signals to the same flag.
 * Where two calls cut staging differently, every slot of the one is taken to overlap every slot of
 * the other. Stages and lanes of a rank may run apart as far as the plan itself lets them. All
 * plans must have the same number of ranks.
 *
 * Fails with PIPC_ERR_INVALID and a text that names plan, call, round, rank, stage (where there are
 * several) and step, that step in words, and whom it conflicts with. PIPC_ERR_NOMEM. */
pipc_status_t pipc__plan_check(const pipc__check_call_t *calls, int ncalls, int buffers,
                               pipc__error_t *err);

#endif
