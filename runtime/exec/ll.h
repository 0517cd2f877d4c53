/* exec/ll.h - which plans LL can run in one step, and through whose memory. Pure; see kernels/ll.h.
 */
#ifndef PIPC_EXEC_LL_H
#define PIPC_EXEC_LL_H

#include <stdbool.h>

#include "runtime/plan/plan.h"

/* What of a one-shot plan's program LL needs, for one rank. */
typedef struct pipc__ll_wiring {
    uint8_t to[PIPC__RANKS_MAX];         /* [peer]: PIPC__SLOT or PIPC__HOST, where to write */
    uint8_t from[PIPC__RANKS_MAX];       /* [sender]: the same, where it writes */
    uint16_t wait_step[PIPC__RANKS_MAX]; /* [sender]: the step that waits for it */
} pipc__ll_wiring_t;

/* Fill *w for @rank. False for a plan that is no one-shot all-reduce of two ranks or more: each
 * rank pushes its whole input to every other one and sums all in rank order, in one stage. */
bool pipc__ll_wire(pipc__ll_wiring_t *w, const pipc__plan_t *plan, int rank);

#endif
