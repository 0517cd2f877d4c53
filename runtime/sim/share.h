/* sim/share.h - max-min fair rates of flows that share resources.
 */
#ifndef PIPC_SIM_SHARE_H
#define PIPC_SIM_SHARE_H

#include "runtime/sim/fabric.h"

#define PIPC__FLOWS_MAX (PIPC__RANKS_MAX * PIPC__STAGES_MAX) /* one an actor at most */

typedef struct pipc__flow {
    const pipc__hop_t *hops; /* [nhops]; each resource once */
    int nhops;
    double most; /* rate that its engine could do, bytes a second */
    double rate; /* gets the result */
} pipc__flow_t;

/* Room that pipc__share() works in, an element a resource. */
typedef struct pipc__share_room {
    double *left, *weight;             /* [nresources] */
    int *flows, *used;                 /* [nresources] */
    double crowd[PIPC__FLOWS_MAX + 1]; /* what so many flows leave of a switch port's rate */
} pipc__share_room_t;

bool pipc__share_room(pipc__share_room_t *room,
                      const pipc__fabric_t *fabric); /* false: no memory */
void pipc__share_release(pipc__share_room_t *room);

/* Set the rate of each of flows[n]. All grow alike; those that meet a full resource, or their own
 * limit, stay. */
void pipc__share(const pipc__fabric_t *fabric, pipc__flow_t *const flows[], int n,
                 pipc__share_room_t *room);

#endif
