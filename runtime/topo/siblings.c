/* topo/siblings.c - cores, where a source tells the CPUs of NUMA nodes alone
 *
 *     0-15,32-47  ->  0 and 32, 1 and 33, ... 15 and 47
 *
 * Linux numbers the first threads of all cores before the second ones (on x86, with two threads),
 * so the CPUs of a node are two ranges of one length. Without this, ranks that share a node would
 * be given the threads of each other's cores. It is a guess: where it is wrong, two cores stay
 * together.
 */
#include "runtime/topo/build.h"

/* The two ranges of @cpus: where they begin, and how long both are; 0 when it is not made of such.
 */
static int two_ranges(hwloc_const_bitmap_t cpus, int *first, int *second)
{
    int all = hwloc_bitmap_weight(cpus), n = all / 2;

    *first = hwloc_bitmap_first(cpus);
    if (all < 2 || all % 2)
        return 0;
    for (int i = 1; i < n; i++)
        if (!hwloc_bitmap_isset(cpus, (unsigned int)(*first + i)))
            return 0;
    *second = hwloc_bitmap_next(cpus, *first + n - 1);
    if (*second == *first + n || hwloc_bitmap_last(cpus) != *second + n - 1)
        return 0;
    return n;
}

/* Some files of clouds give two nodes the same CPUs. */
static bool has_core(const pipc__topo_t *topo, int cpu)
{
    for (int i = 0; i < topo->ncores; i++)
        if (hwloc_bitmap_isset(topo->cores[i], (unsigned int)cpu))
            return true;
    return false;
}

bool pipc__topo_guess_cores(pipc__topo_t *topo)
{
    for (int i = 0; i < topo->nnumas; i++) {
        int first, second = 0, n = two_ranges(topo->numas[i].cpus, &first, &second);
        for (int k = 0; k < n; k++) {
            if (has_core(topo, first + k) || has_core(topo, second + k))
                continue;
            hwloc_bitmap_t core = pipc__topo_add_core(topo);
            if (!core || hwloc_bitmap_set(core, (unsigned int)(first + k)) ||
                hwloc_bitmap_set(core, (unsigned int)(second + k)))
                return false;
        }
    }
    return true;
}
