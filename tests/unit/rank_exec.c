/* tests/unit/rank_exec.c - see rank_exec.h */
#include "tests/unit/rank_exec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(pipc_status_t st, const pipc__error_t *err)
{
    if (!st)
        return;
    fprintf(stderr, "# %s: %s\n", pipc_status_string(st), err->text);
    _exit(100);
}

/* --- plans ----------------------------------------------------------------------------------- */

/* The groups of rank @r, outer and inner, as numbers of switches. */
static void find_groups(rank_shape_t shape, int n, int r, int *outer, int *inner)
{
    *inner = -1;
    switch (shape) {
    case SHAPE_ONE_OFF:
        *outer = r == n - 1;
        break;
    case SHAPE_TURNS:
        *outer = r % 2;
        break;
    case SHAPE_NESTED:
        *outer = r * 2 / n;
        *inner = r * 4 / n;
        break;
    default:
        *outer = r >= (n + 1) / 2;
    }
}

static bool reaches(rank_shape_t shape, int n, int from, int to)
{
    bool same_half = (from >= (n + 1) / 2) == (to >= (n + 1) / 2);

    return from == to || (shape != SHAPE_HOST && (shape != SHAPE_ONE_WAY || from < to) &&
                          (shape != SHAPE_SPLIT || same_half));
}

static void make_shape(pipc__shape_t *s, rank_shape_t shape, int n)
{
    char ways[PIPC__RANKS_MAX][PIPC__WAY_TEXT];
    const char *list[PIPC__RANKS_MAX];
    pipc__error_t err;

    for (int r = 0; r < n; r++) {
        int outer, inner, used;
        find_groups(shape, n, r, &outer, &inner);
        used = snprintf(ways[r], sizeof(ways[r]), "numa0/0000:00/0000:%02x:00.0", 1 + outer);
        if (inner >= 0)
            snprintf(ways[r] + used, sizeof(ways[r]) - (size_t)used, "/0000:%02x:00.0", 16 + inner);
        list[r] = ways[r];
    }
    if (shape == SHAPE_FLAT || shape == SHAPE_HOST || shape == SHAPE_ONE_WAY)
        pipc__shape_flat(s, n);
    else
        must(pipc__shape_from_ways(s, list, n, &err), &err);
    for (int r = 0; r < n; r++)
        for (int q = 0; q < n; q++)
            if (!reaches(shape, n, r, q))
                s->reach[r] = (uint16_t)(s->reach[r] & ~(1u << q));
}

int rank_plans_count(rank_plans_t list)
{
    return list.wanted ? list.n : PIPC__PLAN_KINDS_PLAIN;
}

pipc__plan_t *rank_plan_make(rank_plans_t list, int i, int nranks)
{
    const rank_plan_t plain = {(pipc__plan_kind_t)i, PIPC__ALLREDUCE, SHAPE_FLAT};
    const rank_plan_t *w = list.wanted ? &list.wanted[i] : &plain;
    pipc__shape_t shape;
    pipc__plan_t *p;
    pipc__error_t err;

    make_shape(&shape, w->shape, nranks);
    must(pipc__plan_make_for(&p, w->kind, w->collective, &shape, &err), &err);
    return p;
}

/* --- executors ------------------------------------------------------------------------------ */

typedef struct card {
    pipc__segment_handle_t control;
    uint8_t memory[PIPC__HANDLE_MAX];
    pipc__nvlinks_t nvlinks;
    int pid;
} card_t;

void rank_exec_open(rank_exec_t *re, const pipc__exec_ops_t *ops, size_t staging_bytes,
                    rank_plans_t list, ranks_t *all, int rank)
{
    card_t mine = {.pid = getpid()}, cards[PIPC__RANKS_MAX];
    pipc__segment_handle_t handles[PIPC__RANKS_MAX];
    uint8_t memory[PIPC__RANKS_MAX][PIPC__HANDLE_MAX];
    pipc__peer_name_t names[PIPC__RANKS_MAX];
    const pipc__nvlinks_t *links[PIPC__RANKS_MAX];
    pipc__exec_place_t place;
    pipc__error_t err;
    int n = ranks_size(all);

    memset(re, 0, sizeof(*re));
    must(pipc__control_create(&re->ctl, &mine.control, &err), &err);
    must(ops->create(&re->exec, re->ctl, staging_bytes, mine.memory, &place, &err), &err);
    mine.nvlinks = place.nvlinks;
    ranks_gather(all, rank, &mine, sizeof(mine), cards);
    for (int r = 0; r < n; r++) {
        handles[r] = cards[r].control;
        memcpy(memory[r], cards[r].memory, sizeof(memory[r]));
        names[r] = (pipc__peer_name_t){r, cards[r].pid, "here"};
        links[r] = &cards[r].nvlinks;
    }
    re->exec->nvlink = pipc__nvlinks_join(links, n);
    must(pipc__control_connect(re->ctl, rank, n, handles, names, &err), &err);
    must(ops->connect(re->exec, rank, n, (const uint8_t(*)[PIPC__HANDLE_MAX])memory, &err), &err);
    re->nplans = rank_plans_count(list);
    for (int k = 0; k < re->nplans; k++) {
        re->plans[k] = rank_plan_make(list, k, n);
        must(ops->prepare(re->exec, re->plans[k], &err), &err);
    }
    must(pipc__control_gather(re->ctl, NULL, 0, NULL, &err), &err);
}

void rank_exec_close(rank_exec_t *re)
{
    pipc__error_t err;

    must(re->exec->ops->drain(re->exec, &err), &err);
    re->exec->ops->disconnect(re->exec);
    pipc__control_leave(re->ctl);
    must(pipc__control_gather(re->ctl, NULL, 0, NULL, &err), &err);
    re->exec->ops->destroy(re->exec);
    pipc__control_destroy(re->ctl);
    for (int k = 0; k < re->nplans; k++)
        pipc__plan_free(re->plans[k]);
}
