/* bind/cost.c - what a binding costs, written from the definition in bind.h
 *
 * choose.c and assign.c find the least of this cost by adding it up over a tree. This is the other
 * half: it adds up nothing, looks at every pair, and takes any binding, also bad ones. Only the
 * ways of the GPUs and what stands at one GPU alone are common to both.
 */
#include <stdlib.h>

#include "runtime/bind/parts.h"

static int core_far(const pipc__topo_t *topo, const pipc__bind_request_t *req, int gpu)
{
    int numa = pipc__topo_numa_of(topo, gpu);
    hwloc_const_bitmap_t cpus = numa >= 0 ? topo->numas[numa].cpus : NULL;
    bool near = false;

    if (!req->rank_cpus && !req->granted)
        return 0;
    if (!cpus || hwloc_bitmap_iszero(cpus))
        return PIPC__FAR_CORES_UNKNOWN;
    for (int r = 0; req->rank_cpus && r < req->nranks; r++)
        near |= hwloc_bitmap_intersects(req->rank_cpus[r], cpus);
    if (!req->rank_cpus)
        near = hwloc_bitmap_intersects(req->granted, cpus);
    return near ? 0 : PIPC__FAR_CORES;
}

int pipc__bind_far(const pipc__topo_t *topo, const pipc__bind_request_t *req, int gpu)
{
    return core_far(topo, req, gpu) + pipc__bind_nic_far(topo, gpu);
}

int pipc__bind_own(const pipc__topo_t *topo, const pipc__bind_request_t *req, int place, int k,
                   int gpu)
{
    int numa = pipc__topo_numa_of(topo, gpu), own = 0;
    hwloc_const_bitmap_t cpus = numa >= 0 ? topo->numas[numa].cpus : NULL;

    for (int r = place; req->rank_cpus && r < req->nranks; r += k) {
        if (!cpus || hwloc_bitmap_iszero(cpus))
            own += PIPC__OWN_UNKNOWN;
        else if (!hwloc_bitmap_intersects(req->rank_cpus[r], cpus))
            own += PIPC__OWN_FAR;
    }
    return own;
}

/* The way of @gpu among ways[n]. */
static const pipc__way_t *way_of(const pipc__way_t *ways, int n, int gpu)
{
    for (int i = 0; i < n; i++)
        if (ways[i].key[ways[i].len - 1] == gpu)
            return &ways[i];
    return NULL;
}

/* Level 2 holds outermost switches, and GPUs below none. */
static void add_switches(const pipc__way_t *const *chosen, int k, pipc__bind_cost_t *cost)
{
    for (int i = 0; i < k; i++) {
        bool first = true;
        for (int j = 0; j < i; j++)
            first &= pipc__way_parts(chosen[i], chosen[j]) < 3;
        cost->switches += first;
    }
}

/* GPUs that are not chosen, once for each place that they share with any that is. */
static void add_idle(const pipc__way_t *const *chosen, int k, const pipc__way_t *ways, int n,
                     pipc__bind_cost_t *cost)
{
    for (int i = 0; i < n; i++) {
        int common = 0; /* levels with the nearest chosen one */
        bool is_chosen = false;
        for (int j = 0; j < k; j++) {
            int parts = pipc__way_parts(&ways[i], chosen[j]);
            is_chosen |= chosen[j] == &ways[i];
            common = parts > common ? parts : common;
        }
        for (int level = 0; level < common && !is_chosen; level++)
            cost->idle += level < 2 ? PIPC__IDLE_NODE : PIPC__IDLE_SWITCH;
    }
}

static void add_all(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                    const pipc__way_t *ways, const int *gpus, int k, pipc__bind_cost_t *cost)
{
    const pipc__way_t *chosen[PIPC__BIND_MAX];

    for (int i = 0; i < k; i++) {
        chosen[i] = way_of(ways, req->ngpus, gpus[i]);
        for (int j = 0; j < i; j++)
            cost->pairs += pipc__way_weight(pipc__way_parts(chosen[i], chosen[j]));
        if (i > 0)
            cost->neighbours += pipc__way_weight(pipc__way_parts(chosen[i], chosen[i - 1]));
        cost->distance += pipc__bind_far(topo, req, gpus[i]);
        cost->own += pipc__bind_own(topo, req, i, k, gpus[i]);
    }
    add_switches(chosen, k, cost);
    add_idle(chosen, k, ways, req->ngpus, cost);
}

static bool are_different_gpus_of(const pipc__bind_request_t *req, const int *gpus, int k)
{
    for (int i = 0; i < k; i++) {
        int at = 0, same = 0;
        while (at < req->ngpus && req->gpus[at] != gpus[i])
            at++;
        for (int j = 0; j < i; j++)
            same += gpus[j] == gpus[i];
        if (at == req->ngpus || same)
            return false;
    }
    return k >= 1;
}

pipc_status_t pipc__bind_cost(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                              const int *gpus, int k, pipc__bind_cost_t *out, pipc__error_t *err)
{
    pipc__way_t *ways;

    *out = (pipc__bind_cost_t){0};
    if (k > PIPC__BIND_MAX || !are_different_gpus_of(req, gpus, k))
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "cost of a binding: its %d GPUs are not different ones of the %d granted",
                          k, req->ngpus);
    ways = calloc((size_t)req->ngpus, sizeof(*ways));
    if (!ways)
        return pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory");
    pipc__bind_ways(topo, req->mode, ways, req->gpus, req->ngpus);
    add_all(topo, req, ways, gpus, k, out);
    free(ways);
    return PIPC_OK;
}

int pipc__bind_cost_compare(const pipc__bind_cost_t *a, const pipc__bind_cost_t *b)
{
    const int64_t x[] = {a->switches, a->pairs, a->distance, a->idle, a->neighbours, a->own};
    const int64_t y[] = {b->switches, b->pairs, b->distance, b->idle, b->neighbours, b->own};

    for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}
