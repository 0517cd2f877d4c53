/* topo/layout.h - where the objects of a tree stand in a picture; svg.c draws them
 *
 *     row 0    |      host bridge         host bridge     one column of NUMA nodes after another
 *     row 1    |   switch     |                |
 *     last row |  gpu  gpu   nic              gpu         leaves evenly spaced, parents centred
 *
 * A tidy tree. Root ports and other bridges are left out: what a reader wants to know of them is
 * the link that goes through. Of a device with several functions the first stands for all.
 */
#ifndef PIPC_TOPO_LAYOUT_H
#define PIPC_TOPO_LAYOUT_H

#include "runtime/topo/topo.h"

/* Pixels. */
enum { PIPC__LEAF_WIDTH = 104, PIPC__LEAF_GAP = 14, PIPC__NUMA_GAP = 52, PIPC__MARGIN = 40 };

typedef struct pipc__layout_node {
    int obj;
    int parent; /* index into nodes, or PIPC__UNKNOWN */
    int children;
    int row;
    int x;           /* of the centre */
    int left, right; /* what it and all below it take */
} pipc__layout_node_t;

typedef struct pipc__layout_numa {
    int numa; /* index into topo->numas, or PIPC__UNKNOWN */
    int left, right;
} pipc__layout_numa_t;

typedef struct pipc__layout {
    pipc__layout_node_t *nodes; /* parents before children */
    int nnodes;
    pipc__layout_numa_t *numas; /* those that have something */
    int nnumas;
    int rows, width;
} pipc__layout_t;

/* Fill @out; the caller frees out->nodes and out->numas. False without memory. */
bool pipc__layout(const pipc__topo_t *topo, pipc__layout_t *out);

#endif
