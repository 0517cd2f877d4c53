/* bind/way.c - the way of a GPU through the tree of places, from the top down
 *
 *     all - NUMA node - host bridge - switch group - nested switch group - GPU
 *
 * Both orders of GPUs are walks on this tree: choose.c fills one place before the next, spread.c
 * takes places in turn.
 */
#include "runtime/bind/parts.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

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

int pipc__way_parts(const pipc__way_t *a, const pipc__way_t *b)
{
    int level = 0;

    while (level < a->len - 1 && level < b->len - 1 && a->key[level] == b->key[level])
        level++;
    return level;
}

/* The way has NUMA node, host bridge, then switches, so a pair parts below the machine at level 0,
 * below a NUMA node at level 1. */
int pipc__way_weight(int level)
{
    static const int above_switches[] = {PIPC__PART_MACHINE, PIPC__PART_NUMA,
                                         PIPC__PART_HOST_BRIDGE};

    return level < 3 ? above_switches[level] : PIPC__PART_SWITCH - (level - 3);
}

static int by_numa_then_tree(const void *a, const void *b)
{
    const pipc__way_t *x = a, *y = b;

    if (x->cpu != y->cpu)
        return x->cpu < y->cpu ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->key[x->len - 1] < y->key[y->len - 1] ? -1 : 1;
}

/* Not the order of the GPUs' addresses: boards exist whose first GPUs are at the last cores. */
static int first_cpu(const pipc__topo_t *topo, int numa)
{
    int cpu = numa >= 0 ? hwloc_bitmap_first(topo->numas[numa].cpus) : -1;

    return cpu >= 0 ? cpu : INT_MAX;
}

void pipc__bind_ways(const pipc__topo_t *topo, pipc__bind_mode_t mode, pipc__way_t *ways,
                     const int *gpus, int n)
{
    for (int i = 0; i < n; i++) {
        (mode == PIPC__BIND_NUMA ? find_flat_way : find_way)(topo, gpus[i], &ways[i]);
        ways[i].cpu = first_cpu(topo, ways[i].key[0]);
    }
    for (int i = 0; i < n; i++) {
        ways[i].first = gpus[i];
        for (int j = 0; j < n; j++)
            if (ways[j].key[0] == ways[i].key[0] && gpus[j] < ways[i].first)
                ways[i].first = gpus[j];
    }
    qsort(ways, (size_t)n, sizeof(*ways), by_numa_then_tree);
}

/* Append one level, or "?" where @name is ""; false, and nothing of it, when it does not fit. */
static bool add_level(char *out, size_t cap, size_t *used, const char *name)
{
    size_t len = *name ? strlen(name) : 1, slash = *used > 0;

    if (*used + slash + len >= cap)
        return false;
    if (slash)
        out[(*used)++] = '/';
    if (!*name)
        out[(*used)++] = '?';
    for (; *name; name++)
        out[(*used)++] = isalnum((unsigned char)*name) || strchr("._:-", *name) ? *name : '_';
    out[*used] = '\0';
    return true;
}

bool pipc__bind_way_text(const pipc__topo_t *topo, int gpu, char *out, size_t cap)
{
    pipc__way_t w;
    char numa[32] = "numa?";
    size_t used;
    bool whole = true;

    if (cap > 0)
        out[0] = '\0';
    find_way(topo, gpu, &w);
    if (w.key[0] >= 0)
        snprintf(numa, sizeof(numa), "numa%d", topo->numas[w.key[0]].os_index);
    if (strlen(numa) >= cap)
        return false;
    used = strlen(strcpy(out, numa));
    for (int level = 1; whole && level < w.len - 1; level++)
        whole = add_level(out, cap, &used, w.key[level] >= 0 ? topo->objs[w.key[level]].name : "");
    return whole;
}
