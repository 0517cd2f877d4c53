/* tests/unit/rank_exec.h - a connected control and executor on every rank of a test, with plans.
 */
#ifndef TESTS_UNIT_RANK_EXEC_H
#define TESTS_UNIT_RANK_EXEC_H

#include "runtime/exec/exec.h"
#include "runtime/plan/generate.h"
#include "tests/unit/ranks.h"

/* How the ranks stand, for any number of them. */
typedef enum rank_shape {
    SHAPE_FLAT,
    SHAPE_HALVES,  /* {0 1 2} {3 4} */
    SHAPE_ONE_OFF, /* {0 1 2 3} {4} */
    SHAPE_TURNS,   /* {0 2 4} {1 3} */
    SHAPE_NESTED,  /* halves, and quarters in them */
    SHAPE_HOST,    /* flat; all pairs meet in host memory */
    SHAPE_ONE_WAY, /* flat; of each pair the lower rank alone writes the other's memory */
    SHAPE_SPLIT,   /* halves that meet in host memory */
    SHAPES
} rank_shape_t;

typedef struct rank_plan {
    pipc__plan_kind_t kind;
    pipc__collective_t collective;
    rank_shape_t shape;
} rank_plan_t;

#define RANK_PLANS_MAX 32

/* What a test asks for; @wanted NULL: the flat all-reduces of PIPC__PLAN_KINDS_PLAIN kinds, by
 * kind.
 */
typedef struct rank_plans {
    const rank_plan_t *wanted;
    int n;
} rank_plans_t;

typedef struct rank_exec {
    pipc__control_t *ctl;
    pipc__exec_t *exec;
    pipc__plan_t *plans[RANK_PLANS_MAX];
    int nplans;
} rank_exec_t;

int rank_plans_count(rank_plans_t list);

/* Make plan @i of @list for @nranks ranks; aborts the process with a message on failure. Free it
 * with pipc__plan_free(). */
pipc__plan_t *rank_plan_make(rank_plans_t list, int i, int nranks);

/* Collective; aborts the process with a message on failure. All plans of @list are prepared. */
void rank_exec_open(rank_exec_t *re, const pipc__exec_ops_t *ops, size_t staging_bytes,
                    rank_plans_t list, ranks_t *all, int rank);
void rank_exec_close(rank_exec_t *re); /* collective */

#endif
