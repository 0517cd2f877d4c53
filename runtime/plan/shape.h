/* plan/shape.h - what a plan has to know of the machine: which ranks stand together, at how many
 * levels, and who reaches whose memory. Plans see no more of the topology than this.
 *
 *     machine                         level 0   {0 1 2 3 4 5}        not stored: all ranks
 *     +- NUMA node or switch          level 1   {0 1 2 3} {4 5}      group[0]
 *     |  +- nested switch             level 2   {0 1} {2 3} {4 5}    group[1]
 */
#ifndef PIPC_PLAN_SHAPE_H
#define PIPC_PLAN_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

#define PIPC__LEVELS_MAX 4 /* levels of groups inside the machine; deeper ones count as one */
#define PIPC__WAY_TEXT 128 /* bytes of a way, its end included */

typedef struct pipc__shape {
    int nranks;
    int nlevels; /* 0: flat, no rank is nearer to one than to another */
    /* group[l][r]: the group of rank r, numbered from 0 on in tree order; groups of level l + 1 lie
     * inside those of level l. No level repeats another one, and none has all ranks in one group or
     * every rank in a group of its own: such say nothing. */
    uint8_t group[PIPC__LEVELS_MAX][PIPC__RANKS_MAX];
    uint8_t order[PIPC__RANKS_MAX]; /* the ranks in tree order: members of a group stand together */
    uint16_t reach[PIPC__RANKS_MAX]; /* bit q of reach[r]: r can write q's device memory. Else the
                                        pair meets in host memory */
    bool nvlink; /* NVLink joins the GPUs of all: a line that is stored at once arrives at once */
    /* Several nodes: on how many rails their sums go, 1 to the ranks of the smallest node, and how
     * many ranks the largest one has: both the same on every node. 0: these ranks are all there
     * are. */
    int nrails, most;
} pipc__shape_t;

/* All alike, all within reach. nranks is 1..PIPC__RANKS_MAX. */
void pipc__shape_flat(pipc__shape_t *shape, int nranks);

/* The shape of ranks whose ways through the machine are ways[nranks]:
 *
 *     "numa0/0000:00/0000:01:00.0/0000:03:00.0"
 *      NUMA node, host bridge, then the switches that the GPU shares, from the outermost in
 *
 * "numa?" when the node is not known, "" when nothing is: a rank of which nothing is known stands
 * alone; other names that are not known are "?". Levels are made from NUMA nodes and switches; host
 * bridges set nothing apart that their NUMA node and switches do not. Two ranks stand together
 * below a NUMA node or a switch when their ways are the same up to it. All are within reach. Pure.
 * PIPC_ERR_INVALID names the rank whose way is no way. */
pipc_status_t pipc__shape_from_ways(pipc__shape_t *shape, const char *const ways[], int nranks,
                                    pipc__error_t *err);

/* How many groups group[level] has, 0 the outermost level; 1 where there is no such level. */
int pipc__shape_groups(const pipc__shape_t *shape, int level);

#endif
