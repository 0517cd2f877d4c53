/* topo/numa.c - NUMA nodes, CPUs and cores from the files below a root */
#include "runtime/topo/build.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/topo/cpuset.h"
#include "runtime/topo/dir.h"

#define NODES_MAX 4096

#define CPUS "sys/devices/system/cpu"
#define NODES "sys/devices/system/node"

static pipc_status_t no_memory(const char *root, pipc__error_t *err)
{
    return pipc__fail(err, PIPC_ERR_NOMEM, "%s/" NODES ": out of memory", root);
}

/* The numbers of files "<prefix>N" in a folder, ascending; -1 when it can't be read. */
static int list_numbers(const char *root, const char *folder, const char *prefix, int *out, int cap)
{
    DIR *dir = pipc__dir_open(root, "%s", folder);
    size_t len = strlen(prefix);
    const char *name;
    int n = 0;

    if (!dir)
        return -1;
    while (n < cap && (name = pipc__dir_next(dir))) {
        char *end;
        if (strncmp(name, prefix, len) || name[len] < '0' || name[len] > '9')
            continue;
        long v = strtol(name + len, &end, 10);
        if (*end || v >= PIPC__CPU_MAX)
            continue;
        int i = n++;
        for (; i > 0 && out[i - 1] > v; i--)
            out[i] = out[i - 1];
        out[i] = (int)v;
    }
    pipc__dir_close(dir);
    return n;
}

/* Read a set from a list file, else from a mask file; false, and empty, when neither can be read.
 */
static bool read_set(const char *root, const char *folder, const char *list, const char *mask,
                     hwloc_bitmap_t set)
{
    char text[PIPC__CPUSET_TEXT_MAX];

    if (pipc__file_line(root, text, sizeof(text), "%s/%s", folder, list) &&
        pipc__cpuset_from_list(text, set))
        return true;
    if (pipc__file_line(root, text, sizeof(text), "%s/%s", folder, mask) &&
        pipc__cpuset_from_mask(text, set))
        return true;
    hwloc_bitmap_zero(set);
    return false;
}

/* The CPUs of a node that are online, which is all that kernels list; a reduced capture may list
 * more. False without memory. */
static bool fill_node(pipc__topo_numa_t *node, const char *root, hwloc_const_bitmap_t online)
{
    char folder[64];

    snprintf(folder, sizeof(folder), NODES "/node%d", node->os_index);
    if (!read_set(root, folder, "cpulist", "cpumap", node->cpus))
        return true;
    if (!hwloc_bitmap_iszero(online) && hwloc_bitmap_and(node->cpus, node->cpus, online))
        return false;
    node->memory_only = hwloc_bitmap_iszero(node->cpus);
    return true;
}

static pipc_status_t add_nodes(pipc__topo_t *topo, const char *root, pipc__error_t *err)
{
    int nodes[NODES_MAX], n = list_numbers(root, NODES, "node", nodes, NODES_MAX);
    hwloc_bitmap_t online = hwloc_bitmap_alloc();
    bool ok = online != NULL;

    if (ok)
        read_set(root, CPUS, "online", "online", online);
    for (int i = 0; i < n && ok; i++)
        ok = pipc__topo_add_numa(topo, nodes[i]) &&
             fill_node(&topo->numas[topo->nnumas - 1], root, online);
    hwloc_bitmap_free(online);
    return ok ? PIPC_OK : no_memory(root, err);
}

/* A kernel without NUMA has no nodes: the machine is one. */
static pipc_status_t add_only_node(pipc__topo_t *topo, const char *root, pipc__error_t *err)
{
    char text[PIPC__CPUSET_TEXT_MAX];
    hwloc_bitmap_t cpus;

    if (!pipc__file_line(root, text, sizeof(text), CPUS "/online"))
        return PIPC_OK;
    cpus = pipc__topo_add_numa(topo, 0);
    if (!cpus)
        return no_memory(root, err);
    if (!pipc__cpuset_from_list(text, cpus))
        hwloc_bitmap_zero(cpus);
    return PIPC_OK;
}

/* Cores of the CPUs of all nodes. One file names all CPUs of a core, so each core is read once. */
static pipc_status_t add_cores(pipc__topo_t *topo, const char *root, pipc__error_t *err)
{
    hwloc_bitmap_t left = hwloc_bitmap_alloc(), core = NULL;
    bool ok = left != NULL;

    for (int i = 0; ok && i < topo->nnumas; i++)
        ok = !hwloc_bitmap_or(left, left, topo->numas[i].cpus);
    while (ok && !hwloc_bitmap_iszero(left)) {
        char folder[64];
        int cpu = hwloc_bitmap_first(left);
        snprintf(folder, sizeof(folder), CPUS "/cpu%d/topology", cpu);
        ok = (core = pipc__topo_add_core(topo)) != NULL;
        if (!ok)
            break;
        read_set(root, folder, "thread_siblings_list", "thread_siblings", core);
        /* Only what is left: garbage in a file must not put a CPU into two cores. */
        ok = !hwloc_bitmap_and(core, core, left) && !hwloc_bitmap_set(core, (unsigned int)cpu) &&
             !hwloc_bitmap_andnot(left, left, core);
    }
    hwloc_bitmap_free(left);
    return ok ? PIPC_OK : no_memory(root, err);
}

pipc_status_t pipc__topo_add_cpus(pipc__topo_t *topo, const char *root, pipc__error_t *err)
{
    pipc_status_t st = add_nodes(topo, root, err);

    if (!st && topo->nnumas == 0)
        st = add_only_node(topo, root, err);
    return st ? st : add_cores(topo, root, err);
}
