/* plan/build.h - what all generators are made of: a plan that grows op by op.
 *
 * All plans push: the user's buffer is only ever touched by its own rank, so it needs no
 * registration, may have any alignment and may be the output as well.
 */
#ifndef PIPC_PLAN_BUILD_H
#define PIPC_PLAN_BUILD_H

#include <stdbool.h>

#include "runtime/plan/plan.h"
#include "runtime/plan/shape.h"

/* A plan in the making. After an allocation has failed, ops are dropped and nomem says so: no
 * generator has to look at each step. */
typedef struct pipc__build {
    pipc__plan_t *plan;
    const pipc__shape_t *shape;
    int nboxes[PIPC__RANKS_MAX], nflags[PIPC__RANKS_MAX]; /* handed out so far */
    bool nomem;
    pipc__op_t dropped;
} pipc__build_t;

/* Whose program the next op goes to: one stage of one rank. */
typedef struct pipc__pen {
    pipc__build_t *build;
    int rank, stage;
} pipc__pen_t;

static inline pipc__ref_t pipc__input(int rank)
{
    return (pipc__ref_t){PIPC__INPUT, (uint8_t)rank, 0};
}

static inline pipc__ref_t pipc__output(int rank)
{
    return (pipc__ref_t){PIPC__OUTPUT, (uint8_t)rank, 0};
}

static inline pipc__ref_t pipc__slot(int rank, int slot)
{
    return (pipc__ref_t){PIPC__SLOT, (uint8_t)rank, (uint16_t)slot};
}

/* The next box of @rank: a slot and the flag of the same number, which tells that it is full. */
int pipc__new_box(pipc__build_t *b, int rank);

/* The next flag between stages of @rank, from PIPC__SLOTS_MAX on: no plan has a box of that number.
 * A flag that peers set in one call and the own stages in the next could lose a signal: a rank that
 * has begun the next call knows that a peer has begun, not that all stages of it have. */
int pipc__new_flag(pipc__build_t *b, int rank);

void pipc__add_copy(pipc__pen_t pen, int chunk, pipc__ref_t src, pipc__ref_t dst);

/* A REDUCE without sources; each is added by pipc__add_source(), @raw: as its rank gave it. */
pipc__op_t *pipc__add_reduce(pipc__pen_t pen, int chunk, pipc__ref_t dst);
void pipc__add_source(pipc__op_t *op, pipc__ref_t src, bool raw);

void pipc__add_signal(pipc__pen_t pen, int peer, int flag);
void pipc__add_wait(pipc__pen_t pen, int peer, int flag);

/* Begin to sum @at over the nodes; @flag is set when that is done, and whoever waits for it has the
 * complete chunk. */
void pipc__add_rail(pipc__pen_t pen, int chunk, pipc__ref_t at, int flag);

/* Copy @src into @box of @peer, then tell it. */
void pipc__add_push(pipc__pen_t pen, int chunk, pipc__ref_t src, int peer, int box);

/* No stage of @rank begins the next round before all of them have ended this one. */
void pipc__add_join(pipc__build_t *b, int rank);

/* direct.c, ring.c, island.c, stream.c, nodes.c: fill b->plan, whose nranks (2 or more) and
 * collective are set. */
void pipc__build_one_shot(pipc__build_t *b);
void pipc__build_two_shot(pipc__build_t *b);
void pipc__build_permuted(pipc__build_t *b);
void pipc__build_ring(pipc__build_t *b);
void pipc__build_island(pipc__build_t *b);
void pipc__build_stream(pipc__build_t *b);
void pipc__build_nodes(pipc__build_t *b);
void pipc__build_nodes_one(pipc__build_t *b);
void pipc__build_nodes_lean(pipc__build_t *b);

/* island.c, for nodes.c: reduce-scatter to the owners of b->plan's rails, the sums over the nodes,
 * and the way back, of b->plan->nchunks chunks. */
void pipc__build_island_over_rails(pipc__build_t *b);

#endif
