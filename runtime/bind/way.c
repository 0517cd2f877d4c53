/* bind/way.c - the way of a GPU through the tree of places, from the top down
 *
 *     all - NUMA node - host bridge - switch group - nested switch group - GPU
 *
 * Both orders of GPUs are walks on this tree: choose.c fills one place before the next, spread.c
 * takes places in turn.
 */
#include "runtime/bind/parts.h"

#include <stdlib.h>

/* bind:numa: whatever stands between NUMA node and GPU is left out. */
static void find_flat_way(const pipc__topo_t *topo, int gpu, pipc__way_t *w)
{
    w->key[0] = w->key[1] = pipc__topo_numa_of(topo, gpu);
    w->key[2] = gpu;
    w->len = 3;
}

/* Fill the keys from the GPU up, then turn them around. */
static void find_way(const pipc__topo_t *topo, int gpu, pipc__way_t *w)
{
    int up[PIPC__WAY_MAX], n = 0, bridge = gpu, group = pipc__topo_switch_of(topo, gpu),
                           outermost = gpu;

    up[n++] = gpu;
    for (; group >= 0 && n < PIPC__WAY_MAX - 2; group = pipc__topo_group_above(topo, group))
        up[n++] = outermost = group;
    while (bridge >= 0 && topo->objs[bridge].kind != PIPC__TOPO_HOST_BRIDGE)
        bridge = topo->objs[bridge].parent;
    up[n++] = bridge;
    /* A switch stands at one NUMA node, whatever its GPUs claim: never tear it apart. */
    up[n++] = pipc__topo_numa_of(topo, outermost);
    if (up[n - 1] < 0)
        up[n - 1] = pipc__topo_numa_of(topo, gpu);
    w->len = n;
    for (int i = 0; i < n; i++)
        w->key[i] = up[n - 1 - i];
}

static int by_numa_then_tree(const void *a, const void *b)
{
    const pipc__way_t *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->key[x->len - 1] < y->key[y->len - 1] ? -1 : 1;
}

void pipc__bind_ways(const pipc__topo_t *topo, pipc__bind_mode_t mode, pipc__way_t *ways,
                     const int *gpus, int n)
{
    for (int i = 0; i < n; i++)
        (mode == PIPC__BIND_NUMA ? find_flat_way : find_way)(topo, gpus[i], &ways[i]);
    for (int i = 0; i < n; i++) {
        ways[i].first = gpus[i];
        for (int j = 0; j < n; j++)
            if (ways[j].key[0] == ways[i].key[0] && gpus[j] < ways[i].first)
                ways[i].first = gpus[j];
    }
    qsort(ways, (size_t)n, sizeof(*ways), by_numa_then_tree);
}
