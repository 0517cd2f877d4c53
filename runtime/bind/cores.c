/* bind/cores.c - the cores of each rank */
#include "runtime/bind/bind.h"

static pipc_status_t no_memory(pipc__error_t *err)
{
    return pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory for a CPU set");
}

/* Move the first core of @left into @core: all CPUs of it that are in @left, wherever their numbers
 * are (Linux numbers SMT siblings far apart). *any is false when @left is empty. */
static bool next_core(const pipc__topo_t *topo, hwloc_bitmap_t left, hwloc_bitmap_t core, bool *any)
{
    int cpu = hwloc_bitmap_first(left);

    *any = cpu >= 0;
    if (!*any)
        return true;
    if (hwloc_bitmap_only(core, (unsigned int)cpu))
        return false;
    for (int i = 0; i < topo->ncores; i++)
        if (hwloc_bitmap_isset(topo->cores[i], (unsigned int)cpu))
            return !hwloc_bitmap_and(core, topo->cores[i], left) &&
                   !hwloc_bitmap_andnot(left, left, core);
    return !hwloc_bitmap_andnot(left, left, core);
}

/* Put the cores number from..to-1 of @near into @out (from == to: none) and count all of them;
 * -1 without memory. */
static int pick(const pipc__topo_t *topo, hwloc_const_bitmap_t near, int from, int to,
                hwloc_bitmap_t out)
{
    hwloc_bitmap_t left = hwloc_bitmap_dup(near), core = hwloc_bitmap_alloc();
    bool any = true, ok = left && core;
    int n = 0;

    if (ok)
        hwloc_bitmap_zero(out);
    while (ok && (ok = next_core(topo, left, core, &any)) && any) {
        if (n >= from && n < to)
            ok = !hwloc_bitmap_or(out, out, core);
        n++;
    }
    hwloc_bitmap_free(core);
    hwloc_bitmap_free(left);
    return ok ? n : -1;
}

/* Share @near out among the ranks of NUMA node @numa; @rank's part into @out. */
static bool share(const pipc__topo_t *topo, const pipc__binding_t *b, int rank, int numa,
                  hwloc_const_bitmap_t near, hwloc_bitmap_t out)
{
    int ranks = 0, mine = 0, cores;

    for (int r = 0; r < b->nranks; r++) {
        if (b->rank[r].numa != numa)
            continue;
        mine += r < rank;
        ranks++;
    }
    cores = pick(topo, near, 0, 0, out);
    if (cores < 0)
        return false;
    if (cores < ranks) /* pinning two ranks on one core would stop the kernel from balancing them */
        return !hwloc_bitmap_copy(out, near);
    return pick(topo, near, mine * cores / ranks, (mine + 1) * cores / ranks, out) >= 0;
}

static pipc_status_t cores(const pipc__topo_t *topo, const pipc__binding_t *b, int rank,
                           hwloc_const_bitmap_t granted, bool shared, hwloc_bitmap_t out,
                           bool *near, pipc__error_t *err)
{
    int numa;

    *near = false;
    if (rank < 0 || rank >= b->nranks)
        return pipc__fail(err, PIPC_ERR_INVALID, "binding: rank %d of %d ranks", rank, b->nranks);
    numa = b->rank[rank].numa;
    if (numa >= 0) {
        if (hwloc_bitmap_and(out, granted, topo->numas[numa].cpus))
            return no_memory(err);
        *near = !hwloc_bitmap_iszero(out);
    }
    if (!*near || (b->nranks == 1 && b->norder > 1))
        return hwloc_bitmap_copy(out, granted) ? no_memory(err) : PIPC_OK;
    if (!shared)
        return PIPC_OK;
    hwloc_bitmap_t all = hwloc_bitmap_dup(out);
    bool ok = all && share(topo, b, rank, numa, all, out);
    hwloc_bitmap_free(all);
    return ok ? PIPC_OK : no_memory(err);
}

pipc_status_t pipc__bind_cores(const pipc__topo_t *topo, const pipc__binding_t *binding, int rank,
                               hwloc_const_bitmap_t granted, hwloc_bitmap_t out, bool *near,
                               pipc__error_t *err)
{
    return cores(topo, binding, rank, granted, true, out, near, err);
}

pipc_status_t pipc__bind_own_cores(const pipc__topo_t *topo, const pipc__binding_t *binding,
                                   int rank, hwloc_const_bitmap_t own, hwloc_bitmap_t out,
                                   bool *near, pipc__error_t *err)
{
    return cores(topo, binding, rank, own, false, out, near, err);
}

pipc_status_t pipc__bind_cores_around(const pipc__topo_t *topo, const int *gpus, int n,
                                      hwloc_const_bitmap_t granted, hwloc_bitmap_t out, bool *near,
                                      pipc__error_t *err)
{
    *near = false;
    hwloc_bitmap_zero(out);
    for (int i = 0; i < n; i++) {
        int numa = pipc__topo_numa_of(topo, gpus[i]);
        if (numa >= 0 && hwloc_bitmap_or(out, out, topo->numas[numa].cpus))
            return no_memory(err);
    }
    if (hwloc_bitmap_and(out, out, granted))
        return no_memory(err);
    *near = !hwloc_bitmap_iszero(out);
    return !*near && hwloc_bitmap_copy(out, granted) ? no_memory(err) : PIPC_OK;
}
