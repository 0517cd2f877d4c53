/* plan/generate.c - see generate.h */
#include "runtime/plan/generate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/plan/build.h"
#include "runtime/plan/host.h"

typedef void builder_t(pipc__build_t *b);

static const struct kind {
    const char *name;
    builder_t *build;
    bool halves; /* reduce-scatter and all-gather, too */
    bool rails;  /* for the ranks of one of several nodes */
} kinds[PIPC__PLAN_KINDS] = {
    [PIPC__ONE_SHOT] = {"one-shot", pipc__build_one_shot, false},
    [PIPC__TWO_SHOT] = {"two-shot", pipc__build_two_shot, true},
    [PIPC__RING] = {"ring", pipc__build_ring, true},
    [PIPC__ISLAND] = {"island", pipc__build_island, true},
    [PIPC__PERMUTED] = {"permuted", pipc__build_permuted, true},
    [PIPC__STREAM] = {"stream", pipc__build_stream, false},
    [PIPC__NODES] = {"nodes", pipc__build_nodes, false, true},
    [PIPC__NODES_ONE] = {"nodes-one", pipc__build_nodes_one, false, true},
    [PIPC__NODES_LEAN] = {"nodes-lean", pipc__build_nodes_lean, false, true},
};

static const char *const collectives[] = {"all-reduce", "reduce-scatter", "all-gather"};

const char *pipc__plan_name(pipc__plan_kind_t kind)
{
    return (unsigned int)kind < PIPC__PLAN_KINDS ? kinds[kind].name : NULL;
}

/* One rank: what any plan comes to. */
static void build_alone(pipc__build_t *b)
{
    pipc__pen_t pen = {b, 0, 0};

    b->plan->nchunks = 1;
    if (b->plan->collective == PIPC__ALLGATHER) {
        pipc__add_copy(pen, 0, pipc__input(0), pipc__output(0));
        return;
    }
    pipc__op_t *op = pipc__add_reduce(pen, 0, pipc__output(0));
    pipc__add_source(op, pipc__input(0), true);
    op->post = 1;
}

/* The most slots and flags that any rank has; staging is divided by the first, so at least 1. */
static void count_slots_and_flags(pipc__plan_t *p)
{
    p->nslots = p->nflags = 1;
    for (int r = 0; r < p->nranks; r++)
        for (int s = 0; s < p->nstages; s++)
            for (int i = 0; i < p->program[r][s].nops; i++) {
                const pipc__op_t *op = &p->program[r][s].ops[i];
                if ((op->kind == PIPC__SIGNAL || op->kind == PIPC__RAIL) && op->flag >= p->nflags)
                    p->nflags = op->flag + 1;
                if (op->kind != PIPC__SIGNAL && op->dst.slot >= p->nslots)
                    p->nslots = op->dst.slot + 1;
            }
}

static const char *judge_shape(const pipc__shape_t *shape)
{
    unsigned int seen = 0;

    for (int i = 0; i < shape->nranks; i++)
        seen |= shape->order[i] < shape->nranks ? 1u << shape->order[i] : 0;
    if (seen != (1u << shape->nranks) - 1)
        return "its order does not have every rank once";
    if (shape->nlevels < 0 || shape->nlevels > PIPC__LEVELS_MAX)
        return "number of levels out of range";
    if (shape->nrails < 0 || shape->nrails > shape->nranks)
        return "a rail for which there is no rank";
    if (shape->nrails && (shape->most < shape->nranks || shape->most > PIPC__RANKS_MAX))
        return "a largest node that is none";
    return NULL;
}

static pipc_status_t judge_request(pipc__plan_kind_t kind, pipc__collective_t collective,
                                   const pipc__shape_t *shape, pipc__error_t *err)
{
    if (shape->nranks < 1 || shape->nranks > PIPC__RANKS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "a plan for %d ranks: 1 to %d are possible",
                          shape->nranks, PIPC__RANKS_MAX);
    if (!pipc__plan_name(kind))
        return pipc__fail(err, PIPC_ERR_INVALID, "no plan has the number %d", (int)kind);
    if ((unsigned int)collective > PIPC__ALLGATHER)
        return pipc__fail(err, PIPC_ERR_INVALID, "no collective has the number %d",
                          (int)collective);
    if (judge_shape(shape))
        return pipc__fail(err, PIPC_ERR_INVALID, "the shape of a plan: %s", judge_shape(shape));
    if (collective != PIPC__ALLREDUCE && !kinds[kind].halves)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "plan %s is for all-reduce only, not for %s",
                          kinds[kind].name, collectives[collective]);
    if (kinds[kind].rails != (shape->nrails > 0))
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "plan %s is for ranks of %s", kinds[kind].name,
                          kinds[kind].rails ? "several nodes" : "one node");
    return PIPC_OK;
}

pipc_status_t pipc__plan_make_for(pipc__plan_t **plan, pipc__plan_kind_t kind,
                                  pipc__collective_t collective, const pipc__shape_t *shape,
                                  pipc__error_t *err)
{
    pipc_status_t st = judge_request(kind, collective, shape, err);
    pipc__build_t b = {.shape = shape};

    *plan = NULL;
    if (st)
        return st;
    b.plan = calloc(1, sizeof(*b.plan));
    if (b.plan) {
        b.plan->collective = collective;
        b.plan->nranks = shape->nranks;
        b.plan->nstages = 1;
        snprintf(b.plan->name, sizeof(b.plan->name), "%s", kinds[kind].name);
        (shape->nranks == 1 && !shape->nrails ? build_alone : kinds[kind].build)(&b);
    }
    if (!b.plan || b.nomem) {
        pipc__plan_free(b.plan);
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for a plan of %d ranks", shape->nranks);
    }
    count_slots_and_flags(b.plan);
    pipc__plan_via_host(b.plan, shape->reach);
    *plan = b.plan;
    return PIPC_OK;
}

pipc_status_t pipc__plan_make(pipc__plan_t **plan, pipc__plan_kind_t kind, int nranks,
                              pipc__error_t *err)
{
    pipc__shape_t flat = {.nranks = nranks};

    if (nranks >= 1 && nranks <= PIPC__RANKS_MAX)
        pipc__shape_flat(&flat, nranks);
    return pipc__plan_make_for(plan, kind, PIPC__ALLREDUCE, &flat, err);
}

void pipc__plan_free(pipc__plan_t *plan)
{
    int saved = errno;

    if (!plan)
        return;
    for (int r = 0; r < PIPC__RANKS_MAX; r++)
        for (int s = 0; s < PIPC__STAGES_MAX; s++)
            free(plan->program[r][s].ops);
    free(plan);
    errno = saved;
}
