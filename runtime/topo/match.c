/* topo/match.c - see match.h */
#include "runtime/topo/match.h"

#include <stdlib.h>
#include <string.h>

typedef struct match {
    const pipc__topo_t *a, *b;
    int *to, *from; /* A -> B, B -> A */
} match_t;

static void pair(match_t *m, int x, int y)
{
    m->to[x] = y;
    m->from[y] = x;
}

static bool is_endpoint(const pipc__topo_obj_t *o)
{
    return o->kind == PIPC__TOPO_GPU || o->kind == PIPC__TOPO_NIC;
}

/* Equal, or not known in one of them. */
static bool may_equal(int x, int y)
{
    return x < 0 || y < 0 || x == y;
}

static bool same_model(const pipc__topo_obj_t *o, const pipc__topo_obj_t *p)
{
    return o->kind == p->kind && may_equal(o->vendor, p->vendor) && may_equal(o->device, p->device);
}

static bool by_uuid(const pipc__topo_obj_t *o, const pipc__topo_obj_t *p)
{
    return o->kind == p->kind && o->uuid[0] && !strcmp(o->uuid, p->uuid);
}

/* Two UUIDs that differ are two cards, wherever they are. */
static bool by_place(const pipc__topo_obj_t *o, const pipc__topo_obj_t *p)
{
    return same_model(o, p) && !strcmp(o->name, p->name) && (!o->uuid[0] || !p->uuid[0]);
}

static void match_endpoints(match_t *m,
                            bool (*same)(const pipc__topo_obj_t *, const pipc__topo_obj_t *))
{
    for (int x = 1; x < m->a->nobjs; x++)
        for (int y = 1; y < m->b->nobjs && m->to[x] < 0; y++)
            if (is_endpoint(&m->a->objs[x]) && m->from[y] < 0 &&
                same(&m->a->objs[x], &m->b->objs[y]))
                pair(m, x, y);
}

/* Could one be the other at another place? Both are known to be of one model, or one is known by a
 * name of its source's alone. */
static bool alike(const pipc__topo_obj_t *o, const pipc__topo_obj_t *p)
{
    if (o->addr.domain < 0 || p->addr.domain < 0)
        return o->kind == p->kind;
    return o->vendor >= 0 && p->vendor >= 0 && same_model(o, p);
}

/* The next one after @from that is free and like @model. */
static int next_free(const pipc__topo_t *topo, const int *matched, const pipc__topo_obj_t *model,
                     int from)
{
    for (int i = from + 1; i < topo->nobjs; i++)
        if (matched[i] < 0 && is_endpoint(&topo->objs[i]) && alike(&topo->objs[i], model))
            return i;
    return PIPC__UNKNOWN;
}

static int count_free(const pipc__topo_t *topo, const int *matched, const pipc__topo_obj_t *model)
{
    int n = 0;

    for (int i = 0; (i = next_free(topo, matched, model, i)) > 0;)
        n++;
    return n;
}

/* Are there two among the free ones of a model whose UUIDs both trees tell? Then they are other
 * cards. */
static bool uuids_told(const match_t *m, const pipc__topo_obj_t *model)
{
    bool a = false, b = false;

    for (int i = 0; (i = next_free(m->a, m->to, model, i)) > 0;)
        a |= m->a->objs[i].uuid[0] != '\0';
    for (int i = 0; (i = next_free(m->b, m->from, model, i)) > 0;)
        b |= m->b->objs[i].uuid[0] != '\0';
    return a && b;
}

/* Renumbered buses: as many are left on both sides, in the same order. With one less nobody could
 * say which one is gone, so then all are. */
static void match_leftovers(match_t *m)
{
    for (int x = 1; x < m->a->nobjs; x++) {
        const pipc__topo_obj_t *o = &m->a->objs[x];
        int y = next_free(m->b, m->from, o, 0);
        if (m->to[x] < 0 && is_endpoint(o) && y > 0 && !uuids_told(m, o) &&
            count_free(m->a, m->to, o) == count_free(m->b, m->from, o))
            pair(m, x, y);
    }
}

/* ---- what is above ------------------------------------------------------------------------- */

/* Two groups, how much they have in common, and how much beside that. */
typedef struct candidate {
    int x, y, both, other;
} candidate_t;

static int devices_below(const pipc__topo_t *topo, int top)
{
    return pipc__topo_list_below(topo, top, PIPC__TOPO_GPU, NULL, 0) +
           pipc__topo_list_below(topo, top, PIPC__TOPO_NIC, NULL, 0);
}

/* For each group of B, how many devices below group @x of A are below it. */
static void count_common(const match_t *m, int x, int *common)
{
    int end = pipc__topo_end(m->a, x);

    memset(common, 0, sizeof(*common) * (size_t)m->b->nobjs);
    for (int i = x + 1; i < end; i++)
        for (int y = is_endpoint(&m->a->objs[i]) ? m->to[i] : 0; y > 0; y = m->b->objs[y].parent)
            common[y]++;
}

static int compare_candidates(const void *p, const void *q)
{
    const candidate_t *a = p, *b = q;

    if (a->both != b->both)
        return b->both - a->both;
    if (a->other != b->other)
        return a->other - b->other;
    return a->x != b->x ? a->x - b->x : a->y - b->y;
}

/* All candidates into an array to free; NULL without memory. A group of A has something in common
 * with at most so many of B as its devices have switches above them, so this stays small. */
static candidate_t *find_candidates(const match_t *m, int *common, int *n)
{
    candidate_t *list = malloc(sizeof(*list));

    *n = 0;
    for (int x = 1; x < m->a->nobjs && list; x++) {
        if (!pipc__topo_is_group(m->a, x))
            continue;
        count_common(m, x, common);
        for (int y = 1; y < m->b->nobjs && list; y++) {
            if (common[y] == 0 || !pipc__topo_is_group(m->b, y))
                continue;
            int other = devices_below(m->a, x) + devices_below(m->b, y) - 2 * common[y];
            list[(*n)++] = (candidate_t){x, y, common[y], other};
            void *more = realloc(list, sizeof(*list) * (size_t)(*n + 1));
            if (!more)
                free(list);
            list = more;
        }
    }
    return list;
}

/* Groups that have most in common, and least beside that, belong together: the largest first, so
 * that one device that moved does not carry its group's name away. */
static bool match_groups(match_t *m)
{
    int *common = malloc(sizeof(*common) * (size_t)m->b->nobjs), n = 0;
    candidate_t *list = common ? find_candidates(m, common, &n) : NULL;

    free(common);
    if (!list)
        return false;
    qsort(list, (size_t)n, sizeof(*list), compare_candidates);
    for (int i = 0; i < n; i++)
        if (m->to[list[i].x] < 0 && m->from[list[i].y] < 0)
            pair(m, list[i].x, list[i].y);
    free(list);
    return true;
}

static int above_of_kind(const pipc__topo_t *topo, int obj, pipc__topo_kind_t kind)
{
    do
        obj = topo->objs[obj].parent;
    while (obj > 0 && topo->objs[obj].kind != kind);
    return obj;
}

static int count_above(const pipc__topo_t *topo, int obj, pipc__topo_kind_t kind)
{
    int n = 0;

    while ((obj = above_of_kind(topo, obj, kind)) > 0)
        n++;
    return n;
}

/* Step up from two that are the same, while the ways have the same length. */
static void match_above(match_t *m, int x, int y, pipc__topo_kind_t kind)
{
    if (count_above(m->a, x, kind) != count_above(m->b, y, kind))
        return;
    while ((x = above_of_kind(m->a, x, kind)) > 0) {
        y = above_of_kind(m->b, y, kind);
        if (m->to[x] < 0 && m->from[y] < 0)
            pair(m, x, y);
    }
}

bool pipc__topo_match(const pipc__topo_t *a, const pipc__topo_t *b, int *to)
{
    match_t m = {a, b, to, malloc(sizeof(int) * (size_t)b->nobjs)};

    if (!m.from)
        return false;
    for (int i = 0; i < a->nobjs; i++)
        to[i] = PIPC__UNKNOWN;
    for (int i = 0; i < b->nobjs; i++)
        m.from[i] = PIPC__UNKNOWN;
    match_endpoints(&m, by_uuid);
    match_endpoints(&m, by_place);
    match_leftovers(&m);
    bool ok = match_groups(&m);
    for (int i = 1; i < a->nobjs && ok; i++) {
        if (to[i] < 0 || !is_endpoint(&a->objs[i]))
            continue;
        match_above(&m, i, to[i], PIPC__TOPO_SWITCH);
        match_above(&m, i, to[i], PIPC__TOPO_BRIDGE);
    }
    free(m.from);
    return ok;
}
