/* plan/traffic.h - what a plan sends, by ranks and by groups, and how often it waits in a row. */
#ifndef PIPC_PLAN_TRAFFIC_H
#define PIPC_PLAN_TRAFFIC_H

#include "runtime/plan/plan.h"
#include "runtime/plan/shape.h"

/* All in bytes. A link of a rank carries sent[] one way and received[] the other; the link above a
 * group carries out[] and in[], each byte counted once a boundary that it crosses. */
typedef struct pipc__traffic {
    double sent[PIPC__RANKS_MAX], received[PIPC__RANKS_MAX];
    double out[PIPC__LEVELS_MAX][PIPC__RANKS_MAX]; /* [level][group], as in shape->group */
    double in[PIPC__LEVELS_MAX][PIPC__RANKS_MAX];
} pipc__traffic_t;

/* The traffic of @plan, a right one, for a message of @bytes, of reduce-scatter and all-gather the
 * blocks of all ranks together, cut into equal chunks. Slots in host memory count as the rank's.
 * Pure. */
void pipc__plan_traffic(pipc__traffic_t *t, const pipc__plan_t *plan, const pipc__shape_t *shape,
                        double bytes);

/* The longest chain of signals between ranks in one round: so many latencies a small message takes.
 * -1 for a plan in which somebody waits for ever. Pure. */
int pipc__plan_latencies(const pipc__plan_t *plan);

#endif
