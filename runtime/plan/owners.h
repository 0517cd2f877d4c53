/* plan/owners.h - which way each chunk goes through the groups of a shape.
 *
 * Each group has an owner for each chunk, and the owner of a group is the owner of one of the
 * groups in it. Who gathers a group's contributions so hands them to the owner of the group around
 * it:
 *
 *     groups     {{0 1} {2 3}} {{4 5} {6 7}}        owners of a chunk: 0 2 4 6, then 0 4, then 0
 *
 *     tree             0
 *                  / /   \
 *                 1 2     4                         edges: 1-0 and 3-2 inside a pair, 2-0 and 6-4
 *                   |    / \                        inside a four, 4-0 across
 *                   3   5   6
 *                           |
 *                           7
 *
 * Contributions go up this tree of ranks, results down: that is all an island plan has to know.
 * With two groups at the top the chunk has two roots, twins, that exchange what they have.
 */
#ifndef PIPC_PLAN_OWNERS_H
#define PIPC_PLAN_OWNERS_H

#include "runtime/plan/plan.h"
#include "runtime/plan/shape.h"

#define PIPC__PARTS_MAX (2 * PIPC__RANKS_MAX) /* ranks, and groups of more than one part */
#define PIPC__NOBODY 0xff

/* The tree of a shape: parts 0 .. nranks-1 are the ranks, the others groups of two or more parts.
 */
typedef struct pipc__part {
    int nparts, part[PIPC__RANKS_MAX]; /* in tree order; none in a rank */
    int nranks;
    uint16_t ranks; /* bit r: rank r is in it */
} pipc__part_t;

typedef struct pipc__parts {
    int n, root;
    pipc__part_t part[PIPC__PARTS_MAX];
} pipc__parts_t;

void pipc__parts_make(pipc__parts_t *parts, const pipc__shape_t *shape);

/* Groups at the top, if their number is even, go in pairs, pairs of pairs, until there are two or
 * an odd number. */
void pipc__parts_pair(pipc__parts_t *parts);

/* The ways of all chunks, in the order in which the pipeline takes them: @breadth turns at a time,
 * whose roots are different ranks, or in different groups, make a piece. */
typedef struct pipc__owners {
    int nturns, breadth;
    uint8_t above[PIPC__CHUNKS_MAX][PIPC__RANKS_MAX]; /* [turn][rank], PIPC__NOBODY: a root */
    uint8_t twin[PIPC__CHUNKS_MAX][PIPC__RANKS_MAX];  /* the other root, else PIPC__NOBODY */
    uint8_t edges[PIPC__CHUNKS_MAX]
                 [PIPC__RANKS_MAX]; /* neighbours in the tree, the twin included */
} pipc__owners_t;

/* Choose owners, and how many turns there are. Owners of a group take turns; the number is the one
 * in range with which the busiest rank and the busiest group send the least. For reduce-scatter and
 * all-gather turn t is for a chunk of rank t mod nranks, which is its root. */
void pipc__owners_make(pipc__owners_t *owners, const pipc__shape_t *shape,
                       pipc__collective_t collective);

/* The same where sums go over rails: chunk c has the owner of its rail as its root, of @nchunks.
 * Where the ways through the groups would need more slots than there are, all hand to the root
 * itself. */
void pipc__owners_make_rails(pipc__owners_t *owners, const pipc__shape_t *shape, int nrails,
                             int nchunks);

#endif
