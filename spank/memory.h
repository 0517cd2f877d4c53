/* spank/memory.h - where a task's memory comes from */
#ifndef PIPC_SPANK_MEMORY_H
#define PIPC_SPANK_MEMORY_H

#include "runtime/base/error.h"

/* Prefer memory of NUMA node @node (Linux' number) for this thread and all it starts; it outlives
 * exec. Where the node is full the kernel takes another: no allocation fails by it, as it would
 * with a binding. PIPC_ERR_UNSUPPORTED, and nothing changed, where the node is not among those that
 * were granted (cpuset), or the kernel has no memory policies. */
pipc_status_t pipc__memory_prefer(int node, pipc__error_t *err);

#endif
