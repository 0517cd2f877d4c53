/* topo/relation.c - see relation.h */
#include "runtime/topo/relation.h"

#include <limits.h>
#include <string.h>

static const struct {
    const char *name, *words;
} texts[PIPC__RELATIONS] = {
    [PIPC__REL_SELF] = {"X", "itself"},
    [PIPC__REL_PIX] = {"PIX", "same switch or same card"},
    [PIPC__REL_PXB] = {"PXB", "across switches, not through a host bridge"},
    [PIPC__REL_PHB] = {"PHB", "same host bridge"},
    [PIPC__REL_NODE] = {"NODE", "same NUMA node, across host bridges"},
    [PIPC__REL_SYS] = {"SYS", "across NUMA nodes (sockets)"},
    [PIPC__REL_UNKNOWN] = {"?", "the source can't tell"},
};

const char *pipc__relation_name(pipc__relation_t relation)
{
    return texts[relation].name;
}

const char *pipc__relation_words(pipc__relation_t relation)
{
    return texts[relation].words;
}

static bool is_endpoint(const pipc__topo_obj_t *o)
{
    return o->kind == PIPC__TOPO_GPU || o->kind == PIPC__TOPO_NIC;
}

/* Is there another device below @top than that of @obj? */
static bool holds_others(const pipc__topo_t *topo, int top, int obj)
{
    int end = pipc__topo_end(topo, top);

    for (int i = top + 1; i < end; i++)
        if (is_endpoint(&topo->objs[i]) && !pipc__topo_same_place(topo, i, obj))
            return true;
    return false;
}

/* Is there a switch on the way from @obj up to @top? One with an address that holds nothing else is
 * a part of the card. One without is there because a matrix says that there is one. */
static bool switch_between(const pipc__topo_t *topo, int obj, int top)
{
    for (int i = topo->objs[obj].parent; i > top; i = topo->objs[i].parent)
        if (topo->objs[i].kind == PIPC__TOPO_SWITCH &&
            (topo->objs[i].addr.domain < 0 || holds_others(topo, i, obj)))
            return true;
    return false;
}

/* The lowest object at or above both. A parent stands before its children, so the later of two
 * different objects is no ancestor of the other: step up from it. */
static int common(const pipc__topo_t *topo, int a, int b)
{
    while (a != b) {
        if (a > b)
            a = topo->objs[a].parent;
        else
            b = topo->objs[b].parent;
    }
    return a;
}

bool pipc__topo_is_flat(const pipc__topo_t *topo, int obj)
{
    int above = topo->objs[obj].parent;

    return above <= 0 || topo->objs[above].kind == PIPC__TOPO_HOST_BRIDGE;
}

static pipc__relation_t by_numa(const pipc__topo_t *topo, int a, int b, pipc__relation_t same)
{
    int x = pipc__topo_numa_of(topo, a), y = pipc__topo_numa_of(topo, b);

    if (x < 0 || y < 0)
        return PIPC__REL_UNKNOWN;
    return x == y ? same : PIPC__REL_SYS;
}

pipc__relation_t pipc__topo_relation(const pipc__topo_t *topo, int a, int b)
{
    int top = common(topo, a, b);

    if (a == b)
        return PIPC__REL_SELF;
    if (pipc__topo_same_place(topo, a, b))
        return PIPC__REL_PIX;
    if (topo->objs[top].kind == PIPC__TOPO_SWITCH || topo->objs[top].kind == PIPC__TOPO_BRIDGE)
        return switch_between(topo, a, top) || switch_between(topo, b, top) ? PIPC__REL_PXB
                                                                            : PIPC__REL_PIX;
    if (pipc__topo_is_flat(topo, a) || pipc__topo_is_flat(topo, b))
        return by_numa(topo, a, b, PIPC__REL_UNKNOWN);
    if (topo->objs[top].kind == PIPC__TOPO_HOST_BRIDGE)
        return PIPC__REL_PHB;
    return by_numa(topo, a, b, PIPC__REL_NODE);
}

void pipc__topo_pair_name(const pipc__topo_t *topo, int a, int b, char out[16])
{
    int links = pipc__topo_nvlinks(topo, a, b);

    if (links > 0)
        snprintf(out, 16, "NV%d", links);
    else
        snprintf(out, 16, "%s", pipc__relation_name(pipc__topo_relation(topo, a, b)));
}

/* Less is nearer; INT_MAX is not near. */
static int nic_distance(const pipc__topo_t *topo, int gpu, int nic)
{
    pipc__relation_t relation = pipc__topo_relation(topo, gpu, nic);

    if (relation <= PIPC__REL_PHB)
        return pipc__topo_distance(topo, gpu, nic);
    return pipc__topo_numa_of(topo, gpu) >= 0 &&
                   pipc__topo_numa_of(topo, gpu) == pipc__topo_numa_of(topo, nic)
               ? INT_MAX - 1
               : INT_MAX;
}

int pipc__topo_nics_near(const pipc__topo_t *topo, int gpu, int *out, int cap)
{
    int found = 0, best = INT_MAX - 1;
    bool rdma = false;

    for (int i = 0; i < topo->nobjs; i++)
        rdma |= topo->objs[i].kind == PIPC__TOPO_NIC && topo->objs[i].rdma;
    for (int i = 0; i < topo->nobjs; i++) {
        if (topo->objs[i].kind != PIPC__TOPO_NIC || topo->objs[i].rdma != rdma)
            continue;
        int d = nic_distance(topo, gpu, i);
        if (d > best)
            continue;
        found = d < best ? 0 : found;
        best = d;
        if (found < cap)
            out[found] = i;
        found++;
    }
    return found;
}

void pipc__topo_short_name(const pipc__topo_t *topo, int obj, char out[PIPC__NAME_MAX])
{
    const pipc__topo_obj_t *o = &topo->objs[obj];

    if (o->addr.domain < 0)
        snprintf(out, PIPC__NAME_MAX, "%s", o->name); /* that is what the file's reader knows */
    else if (o->kind == PIPC__TOPO_GPU && o->minor >= 0)
        snprintf(out, PIPC__NAME_MAX, "gpu%d", o->minor);
    else if (o->kind == PIPC__TOPO_NIC && o->netdev[0])
        snprintf(out, PIPC__NAME_MAX, "%s", o->netdev);
    else
        snprintf(out, PIPC__NAME_MAX, "%s", o->name + (o->addr.domain == 0 ? 5 : 0));
}
