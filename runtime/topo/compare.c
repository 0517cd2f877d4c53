/* topo/compare.c - see compare.h; match.c finds which object of A is which of B */
#include "runtime/topo/compare.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topo/match.h"
#include "runtime/topo/relation.h"

static const struct {
    const char *name, *words;
} texts[PIPC__CHANGE_KINDS] = {
    [PIPC__CHANGE_GONE] = {"gone", "is gone"},
    [PIPC__CHANGE_NEW] = {"new", "is new"},
    [PIPC__CHANGE_MOVED] = {"moved", "has another address"},
    [PIPC__CHANGE_MINOR] = {"minor", "minor number"},
    [PIPC__CHANGE_NETDEV] = {"netdev", "name of the interface"},
    [PIPC__CHANGE_NUMA] = {"numa", "NUMA node"},
    [PIPC__CHANGE_SWITCH] = {"switch", "shares another switch"},
    [PIPC__CHANGE_DEPTH] = {"depth", "number of switches above"},
    [PIPC__CHANGE_WIDTH] = {"width", "lanes now"},
    [PIPC__CHANGE_MAX_WIDTH] = {"max_width", "lanes that it can do"},
    [PIPC__CHANGE_MAX_SPEED] = {"max_speed", "speed that it can do"},
    [PIPC__CHANGE_NVLINKS] = {"nvlinks", "NVLinks"},
    [PIPC__CHANGE_CPUS] = {"cpus", "CPUs"},
};

const char *pipc__change_name(pipc__change_kind_t kind)
{
    return texts[kind].name;
}

const char *pipc__change_words(pipc__change_kind_t kind)
{
    return texts[kind].words;
}

typedef struct comparison {
    const pipc__topo_t *a, *b;
    int *to; /* object of A -> object of B, or PIPC__UNKNOWN */
    pipc__change_t *list;
    int n, cap;
    bool failed; /* no memory */
} comparison_t;

/* A new change to fill; in a scrap place when there is no memory. */
static pipc__change_t *add(comparison_t *c, pipc__change_kind_t kind, const pipc__topo_obj_t *o)
{
    static _Thread_local pipc__change_t scrap;

    if (c->n == c->cap) {
        int cap = c->cap ? 2 * c->cap : 16;
        void *more = realloc(c->list, sizeof(*c->list) * (size_t)cap);
        c->failed |= !more;
        if (!more)
            return &scrap;
        c->list = more;
        c->cap = cap;
    }
    pipc__change_t *change = &c->list[c->n++];
    memset(change, 0, sizeof(*change));
    change->kind = kind;
    if (o) {
        memcpy(change->device, o->name, sizeof(o->name));
        memcpy(change->uuid, o->uuid, sizeof(o->uuid));
    }
    return change;
}

static void number(comparison_t *c, pipc__change_kind_t kind, const pipc__topo_obj_t *o, int was,
                   int now, const char *prefix)
{
    if (was < 0 || now < 0 || was == now)
        return;
    pipc__change_t *change = add(c, kind, o);
    snprintf(change->was, sizeof(change->was), "%s%d", prefix, was);
    snprintf(change->now, sizeof(change->now), "%s%d", prefix, now);
}

static void text(comparison_t *c, pipc__change_kind_t kind, const pipc__topo_obj_t *o,
                 const char *was, const char *now)
{
    pipc__change_t *change;

    if (!strcmp(was, now))
        return;
    change = add(c, kind, o);
    snprintf(change->was, sizeof(change->was), "%s", was);
    snprintf(change->now, sizeof(change->now), "%s", now);
}

static void compare_link(comparison_t *c, const pipc__topo_obj_t *x, const pipc__topo_obj_t *y)
{
    const pipc__link_t *l = &x->link, *m = &y->link;
    pipc__change_t *change;

    number(c, PIPC__CHANGE_WIDTH, x, l->width, m->width, "x");
    number(c, PIPC__CHANGE_MAX_WIDTH, x, l->max_width, m->max_width, "x");
    if (l->max_speed_mts < 0 || m->max_speed_mts < 0 || l->max_speed_mts == m->max_speed_mts)
        return;
    change = add(c, PIPC__CHANGE_MAX_SPEED, x);
    snprintf(change->was, sizeof(change->was), "%g GT/s", l->max_speed_mts / 1000.0);
    snprintf(change->now, sizeof(change->now), "%g GT/s", m->max_speed_mts / 1000.0);
}

static int numa_number(const pipc__topo_t *topo, int obj)
{
    int numa = topo->objs[obj].numa;

    return numa < 0 ? PIPC__UNKNOWN : topo->numas[numa].os_index;
}

static int switches_above(const pipc__topo_t *topo, int obj)
{
    int n = 0;

    for (; obj >= 0; obj = topo->objs[obj].parent)
        n += topo->objs[obj].kind == PIPC__TOPO_SWITCH;
    return n;
}

/* Live and captured machines are read in the same way and see the same bridges. NCCL's XML leaves
 * out the switches of some cards, a matrix has only what is shared. */
static bool same_source(const comparison_t *c)
{
    const char *x = c->a->source, *y = c->b->source;

    x = strcmp(x, "sysroot") ? x : "live";
    y = strcmp(y, "sysroot") ? y : "live";
    return !strcmp(x, y);
}

static const char *group_name(const pipc__topo_t *topo, int group)
{
    return group < 0 ? "none" : topo->objs[group].name;
}

/* The innermost group of @x, of A, has to be what that of @y became. The switch's address does not
 * count: a firmware that renumbers buses moves nobody. True when it is. */
static bool compare_group(comparison_t *c, int x, int y)
{
    int ga = pipc__topo_group_above(c->a, x), gb = pipc__topo_group_above(c->b, y);

    if (pipc__topo_is_flat(c->a, x) || pipc__topo_is_flat(c->b, y))
        return true; /* one of the two does not see what is above */
    if ((ga < 0 && gb < 0) || (ga >= 0 && gb >= 0 && c->to[ga] == gb))
        return true;
    pipc__change_t *change = add(c, PIPC__CHANGE_SWITCH, &c->a->objs[x]);
    snprintf(change->was, sizeof(change->was), "%s", group_name(c->a, ga));
    snprintf(change->now, sizeof(change->now), "%s", group_name(c->b, gb));
    return false;
}

static bool is_endpoint(const pipc__topo_obj_t *o)
{
    return o->kind == PIPC__TOPO_GPU || o->kind == PIPC__TOPO_NIC;
}

static void compare_pair(comparison_t *c, int x, int y)
{
    const pipc__topo_obj_t *o = &c->a->objs[x], *p = &c->b->objs[y];

    if (is_endpoint(o)) {
        if (o->addr.domain >= 0 && p->addr.domain >= 0)
            text(c, PIPC__CHANGE_MOVED, o, o->name, p->name);
        number(c, PIPC__CHANGE_MINOR, o, o->minor, p->minor, "");
        if (o->netdev[0] && p->netdev[0])
            text(c, PIPC__CHANGE_NETDEV, o, o->netdev, p->netdev);
        number(c, PIPC__CHANGE_NUMA, o, numa_number(c->a, x), numa_number(c->b, y), "");
        if (compare_group(c, x, y) && same_source(c))
            number(c, PIPC__CHANGE_DEPTH, o, switches_above(c->a, x), switches_above(c->b, y), "");
    }
    compare_link(c, o, p);
}

static void compare_nvlinks(comparison_t *c)
{
    for (int i = 0; i < c->a->nobjs; i++)
        for (int j = i + 1; j < c->a->nobjs && c->a->nvlinks && c->b->nvlinks; j++) {
            if (c->to[i] < 0 || c->to[j] < 0)
                continue;
            int before = c->n;
            number(c, PIPC__CHANGE_NVLINKS, &c->a->objs[i], pipc__topo_nvlinks(c->a, i, j),
                   pipc__topo_nvlinks(c->b, c->to[i], c->to[j]), "");
            if (c->n > before)
                memcpy(c->list[before].peer, c->a->objs[j].name, sizeof(c->a->objs[j].name));
        }
}

/* NUMA nodes are the same by the kernel's number; one whose CPUs a tree does not tell is equal. */
static void compare_cpus(comparison_t *c)
{
    for (int i = 0; i < c->a->nnumas; i++)
        for (int j = 0; j < c->b->nnumas; j++) {
            const pipc__topo_numa_t *x = &c->a->numas[i], *y = &c->b->numas[j];
            if (x->os_index != y->os_index || hwloc_bitmap_iszero(x->cpus) ||
                hwloc_bitmap_iszero(y->cpus) || hwloc_bitmap_isequal(x->cpus, y->cpus))
                continue;
            pipc__change_t *change = add(c, PIPC__CHANGE_CPUS, NULL);
            snprintf(change->device, sizeof(change->device), "NUMA %d", x->os_index);
            hwloc_bitmap_list_snprintf(change->was, sizeof(change->was), x->cpus);
            hwloc_bitmap_list_snprintf(change->now, sizeof(change->now), y->cpus);
        }
}

static bool is_matched(const comparison_t *c, int y)
{
    for (int i = 0; i < c->a->nobjs; i++)
        if (c->to[i] == y)
            return true;
    return false;
}

static void compare(comparison_t *c)
{
    for (int i = 1; i < c->a->nobjs; i++) {
        if (c->to[i] >= 0)
            compare_pair(c, i, c->to[i]);
        else if (is_endpoint(&c->a->objs[i]))
            snprintf(add(c, PIPC__CHANGE_GONE, &c->a->objs[i])->was, 128, "%s", c->a->objs[i].name);
    }
    compare_nvlinks(c);
    compare_cpus(c);
    for (int i = 1; i < c->b->nobjs; i++)
        if (is_endpoint(&c->b->objs[i]) && !is_matched(c, i))
            snprintf(add(c, PIPC__CHANGE_NEW, &c->b->objs[i])->now, 128, "%s", c->b->objs[i].name);
}

pipc_status_t pipc__topo_compare(const pipc__topo_t *a, const pipc__topo_t *b, pipc__change_t **out,
                                 int *n, pipc__error_t *err)
{
    comparison_t c = {.a = a, .b = b, .to = malloc(sizeof(int) * (size_t)a->nobjs)};

    *out = NULL;
    *n = 0;
    c.failed = !c.to || !pipc__topo_match(a, b, c.to);
    if (!c.failed)
        compare(&c);
    free(c.to);
    if (c.failed) {
        free(c.list);
        return pipc__fail(err, PIPC_ERR_NOMEM, "compare: out of memory");
    }
    *out = c.list;
    *n = c.n;
    return PIPC_OK;
}
