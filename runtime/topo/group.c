/* topo/group.c - switch groups: which GPUs and NICs share which switch
 *
 *        root port                 root port
 *            |                         |
 *        switch S                  switch T
 *         |    |                    |    |
 *  switch A    switch B        switch C  nic       C is a part of the card of g5: nothing
 *    |  |        |  |              |               else is below it, so it is not shared
 *   g1  g2      g3  g4            g5
 *
 * Groups: S {g1..g4} with the children A {g1,g2} and B {g3,g4}; T {g5,nic}.
 *
 * Only switches count. A root port is none, and neither is a host bridge: the GPUs of a virtual
 * machine that all sit on bus 00 would otherwise look as if they shared one.
 */
#include "runtime/topo/topo.h"

bool pipc__topo_same_place(const pipc__topo_t *topo, int a, int b)
{
    const pipc__topo_obj_t *x = &topo->objs[a], *y = &topo->objs[b];

    return a == b || (x->addr.domain >= 0 && x->addr.device >= 0 && x->parent == y->parent &&
                      x->addr.domain == y->addr.domain && x->addr.bus == y->addr.bus &&
                      x->addr.device == y->addr.device);
}

static bool is_endpoint(const pipc__topo_obj_t *o)
{
    return o->kind == PIPC__TOPO_GPU || o->kind == PIPC__TOPO_NIC;
}

/* Places (devices, whatever their number of functions) below @top, and how many have a GPU. The
 * functions of a device are siblings next to each other, so comparing with the last is enough. */
static int count_places(const pipc__topo_t *topo, int top, int *gpus)
{
    int n = 0, last = PIPC__UNKNOWN, end = pipc__topo_end(topo, top);

    *gpus = 0;
    for (int i = top + 1; i < end; i++) {
        if (!is_endpoint(&topo->objs[i]))
            continue;
        *gpus += topo->objs[i].kind == PIPC__TOPO_GPU;
        n += last < 0 || !pipc__topo_same_place(topo, last, i);
        last = i;
    }
    return n;
}

/* Is there a switch below @top that holds all @places of it? If so it is above the first of them.
 */
static bool one_switch_holds_all(const pipc__topo_t *topo, int top, int places)
{
    int gpus, first = top + 1;

    while (!is_endpoint(&topo->objs[first]))
        first++;
    for (int i = topo->objs[first].parent; i != top; i = topo->objs[i].parent)
        if (topo->objs[i].kind == PIPC__TOPO_SWITCH && count_places(topo, i, &gpus) == places)
            return true;
    return false;
}

bool pipc__topo_is_group(const pipc__topo_t *topo, int obj)
{
    int gpus, places;

    if (obj < 0 || topo->objs[obj].kind != PIPC__TOPO_SWITCH)
        return false;
    places = count_places(topo, obj, &gpus);
    return gpus > 0 && places > 1 && !one_switch_holds_all(topo, obj, places);
}

int pipc__topo_group_above(const pipc__topo_t *topo, int obj)
{
    do
        obj = topo->objs[obj].parent;
    while (obj >= 0 && !pipc__topo_is_group(topo, obj));
    return obj;
}

int pipc__topo_switch_of(const pipc__topo_t *topo, int obj)
{
    int gpus;

    /* What is found is a group when @obj is a GPU: a switch below it that held all its places would
     * hold @obj and another, so it would be shared, and deeper. */
    do
        obj = topo->objs[obj].parent;
    while (obj >= 0 && (topo->objs[obj].kind != PIPC__TOPO_SWITCH ||
                        count_places(topo, obj, &gpus) < 2 || gpus == 0));
    return obj;
}
