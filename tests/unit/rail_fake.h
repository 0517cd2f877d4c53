/* tests/unit/rail_fake.h - an engine of rails in memory that processes share: nodes are groups of
 * them
 *
 * A node posts its piece where all can see it; who sees all pieces of a job sums them in the order
 * of nodes. Made before the fork, as ranks_run()'s exchange is.
 */
#ifndef RAIL_FAKE_H
#define RAIL_FAKE_H

#include "runtime/rail/rail.h"

#define RAIL_FAKE_NODES 4
#define RAIL_FAKE_RAILS 4

typedef struct rail_fake rail_fake_t;

/* Shared memory for all rails; jobs of at most @bytes. Ends the process where there is none. */
rail_fake_t *rail_fake_new(int nodes, size_t bytes);
void rail_fake_free(rail_fake_t *net);

/* The own end: rail @l, of node @node. A job that could have ended says so at one poll in @slow
 * alone, 1: at once. Closed by pipc__rail_fake.close(), which the other nodes see as the loss of
 * this one. */
pipc__rail_t *rail_fake_open(rail_fake_t *net, int l, int node, int slow);

/* The longest rest that this process was asked for, in usec. */
int rail_fake_longest_rest(void);

extern const pipc__rail_ops_t pipc__rail_fake;

#endif
