/* tests/unit/explore.h - runs tiny plans on real numbers in every interleaving, or in many random
 * ones
 *
 * It shares nothing with the checker but the plan's header, and so is its control: what the checker
 * passes must come out right here, whatever order the actors take.
 *
 * An actor is a stage of a rank (one lane). A value is two words, and a copy or reduction moves one
 * word at a time, so that torn values show. Each word is a sum of contributions and a hash of the
 * order in which they were added.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/plan/plan.h"

typedef struct explore {
    const pipc__plan_t *const *plans; /* [ncalls], each passes pipc__plan_validate(); same ranks */
    int ncalls;
    int rounds;    /* of each call */
    int buffers;   /* staging areas */
    int flag_sets; /* sets of flags; round g uses set g mod this */
    bool in_place;
} explore_t;

typedef enum explored { EXPLORED_RIGHT, EXPLORED_WRONG, EXPLORED_DEADLOCK } explored_t;

/* All interleavings. Ends at the first wrong one, or after @max_states states; *states (may be
 * NULL) gets how many were seen. Leaves out orders that can't matter: in a call, a signal or a wait
 * that can go on goes first, since a flag has one signaller and only grows. Needs flag_sets ==
 * buffers or one call, where that is so. */
explored_t explore_all(const explore_t *e, size_t max_states, size_t *states);

/* @schedules random interleavings, the same ones for the same @seed. */
explored_t explore_random(const explore_t *e, int schedules, uint32_t seed);

#endif
