/* plan/generate.h - makes plans. Each generator's drawing stands at its function: direct.c, ring.c,
 * island.c.
 */
#ifndef PIPC_PLAN_GENERATE_H
#define PIPC_PLAN_GENERATE_H

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/shape.h"

/* The plans that exist; their names are those of `pcie-ipc-bench --plan`. */
typedef enum pipc__plan_kind {
    PIPC__ONE_SHOT,   /* "one-shot": everybody sends everything to everybody */
    PIPC__TWO_SHOT,   /* "two-shot": direct reduce-scatter, then direct all-gather */
    PIPC__RING,       /* "ring": both of them from neighbour to neighbour, in tree order */
    PIPC__ISLAND,     /* "island": inside the groups of the shape first, then across, pipelined */
    PIPC__PERMUTED,   /* "permuted": two-shot in steps, in each of which everybody has one peer */
    PIPC__STREAM,     /* "stream": one-shot that pushes and sums at the same time */
    PIPC__NODES,      /* "nodes": over several nodes, by rails, pipelined */
    PIPC__NODES_ONE,  /* "nodes-one": the same in one chunk, over one rail: for small messages */
    PIPC__NODES_LEAN, /* "nodes-lean": nodes whose rails send least, in more steps: for slow
                         networks */
    PIPC__PLAN_KINDS,
    PIPC__PLAN_KINDS_LOCAL = PIPC__NODES, /* the first ones, for the ranks of one node */
    PIPC__PLAN_KINDS_PLAIN = PIPC__ISLAND /* the first ones, of one stage and without spare waits */
} pipc__plan_kind_t;

/* "one-shot", ...; NULL outside the enumeration. Static. */
const char *pipc__plan_name(pipc__plan_kind_t kind);

/* Make the all-reduce plan @kind for @nranks ranks (1..PIPC__RANKS_MAX), all alike. The caller
 * releases it with pipc__plan_free(). On failure *plan is NULL. */
pipc_status_t pipc__plan_make(pipc__plan_t **plan, pipc__plan_kind_t kind, int nranks,
                              pipc__error_t *err);

/* Make a plan for ranks that stand as @shape says. Pairs that are not within reach of each other
 * meet in host memory. PIPC_ERR_UNSUPPORTED for a kind that has no such collective, and for one
 * that is for several nodes where @shape has no rails, or for one node where it has. */
pipc_status_t pipc__plan_make_for(pipc__plan_t **plan, pipc__plan_kind_t kind,
                                  pipc__collective_t collective, const pipc__shape_t *shape,
                                  pipc__error_t *err);

void pipc__plan_free(pipc__plan_t *plan); /* NULL is allowed; keeps errno */

#endif
