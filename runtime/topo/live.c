/* topo/live.c - the machine this runs on
 *
 * hwloc finds CPUs, cores and NUMA nodes on every kernel; its I/O discovery is left out, because it
 * costs hundreds of milliseconds and its plugins open CUDA, NVML and X11. Sysfs gives the PCI part.
 */
#include "runtime/topo/build.h"

#include "runtime/base/file.h"
#include "runtime/topo/cpuset.h"

/* The x86 component binds the calling thread to every CPU in turn; Linux tells all that we need. */
static const char *const not_needed[] = {"x86",  "pci",  "opencl",    "cuda",
                                         "nvml", "rsmi", "levelzero", "gl"};

static bool load(hwloc_topology_t hw)
{
    for (size_t i = 0; i < sizeof(not_needed) / sizeof(not_needed[0]); i++)
        hwloc_topology_set_components(hw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, not_needed[i]);
    /* The whole machine, not what this task's cgroup leaves: every rank has to see the same tree,
     * or the ranks would not agree on the binding. */
    return !hwloc_topology_set_flags(hw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) &&
           !hwloc_topology_set_all_types_filter(hw, HWLOC_TYPE_FILTER_KEEP_NONE) &&
           !hwloc_topology_set_io_types_filter(hw, HWLOC_TYPE_FILTER_KEEP_NONE) &&
           !hwloc_topology_set_type_filter(hw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL) &&
           !hwloc_topology_load(hw) && hwloc_topology_is_thissystem(hw);
}

/* Has the kernel a list of CPUs for this node, and is it empty? hwloc gives a node without CPUs
 * those of the package it is attached to, which says where the memory is near, not what it has. */
static bool memory_only(unsigned int os_index)
{
    char text[64];

    return pipc__file_line("", text, sizeof(text), "sys/devices/system/node/node%u/cpulist",
                           os_index) &&
           text[0] == '\0';
}

static bool add_from_hwloc(pipc__topo_t *topo, hwloc_topology_t hw)
{
    unsigned int node;

    hwloc_bitmap_foreach_begin(node, hwloc_topology_get_complete_nodeset(hw))
    {
        hwloc_obj_t o = hwloc_get_numanode_obj_by_os_index(hw, node);
        hwloc_bitmap_t cpus = o ? pipc__topo_add_numa(topo, (int)node) : NULL;
        if (!o)
            continue;
        if (!cpus)
            return false;
        topo->numas[topo->nnumas - 1].memory_only = memory_only(node);
        if (!memory_only(node) && hwloc_bitmap_copy(cpus, o->cpuset))
            return false;
    }
    hwloc_bitmap_foreach_end();
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(hw, HWLOC_OBJ_CORE, o));) {
        hwloc_bitmap_t core = pipc__topo_add_core(topo);
        if (!core || hwloc_bitmap_copy(core, o->cpuset))
            return false;
    }
    return true;
}

/* Where hwloc can't, or was told by the environment to show another machine, sysfs has to do. */
static pipc_status_t add_cpus(pipc__topo_t *topo, pipc__error_t *err)
{
    hwloc_topology_t hw = NULL;
    pipc_status_t st = PIPC_OK;

    if (hwloc_topology_init(&hw))
        return pipc__topo_add_cpus(topo, "", err);
    if (!load(hw))
        st = pipc__topo_add_cpus(topo, "", err);
    else if (!add_from_hwloc(topo, hw))
        st = pipc__fail(err, PIPC_ERR_NOMEM, "topology (live): out of memory");
    hwloc_topology_destroy(hw);
    return st;
}

pipc_status_t pipc__topo_live(pipc__topo_t **topo, pipc__error_t *err)
{
    pipc_status_t st = pipc__topo_new(topo, "live", err);

    if (!st)
        st = add_cpus(*topo, err);
    if (!st)
        st = pipc__topo_add_pci(*topo, "", err);
    if (st == PIPC_ERR_NOT_FOUND) /* no PCI bus, or no sysfs in this container: CPUs only */
        st = PIPC_OK;
    if (st) {
        pipc__topo_free(*topo);
        *topo = NULL;
    }
    return st;
}
