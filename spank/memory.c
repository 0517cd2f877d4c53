/* spank/memory.c - see memory.h */
#include "spank/memory.h"

#include <numa.h>
#include <numaif.h>
#include <stdbool.h>

/* Not numa_set_preferred(): it prints what goes wrong on the task's stderr. */
static pipc_status_t prefer(int node, pipc__error_t *err)
{
    struct bitmask *nodes = numa_allocate_nodemask();
    long rc;

    if (!nodes)
        return pipc__fail(err, PIPC_ERR_NOMEM, "memory policy: out of memory");
    numa_bitmask_setbit(nodes, (unsigned int)node);
    rc = set_mempolicy(MPOL_PREFERRED, nodes->maskp, nodes->size + 1);
    numa_bitmask_free(nodes);
    if (rc) /* a container's filter of system calls */
        return pipc__fail_errno(err, "memory policy: NUMA node %d can't be preferred", node);
    return PIPC_OK;
}

static bool granted(int node)
{
    struct bitmask *allowed = numa_get_mems_allowed();
    bool is = allowed && (unsigned int)node < allowed->size &&
              numa_bitmask_isbitset(allowed, (unsigned int)node);

    if (allowed)
        numa_bitmask_free(allowed);
    return is;
}

pipc_status_t pipc__memory_prefer(int node, pipc__error_t *err)
{
    if (numa_available() < 0)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "memory policy: this kernel has none");
    if (node < 0 || !granted(node))
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "memory policy: NUMA node %d is not granted to this task", node);
    return prefer(node, err);
}
