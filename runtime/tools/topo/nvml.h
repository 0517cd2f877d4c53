/* tools/topo/nvml.h - NVLinks of the live machine, if NVML is there to ask */
#ifndef PIPC_TOOLS_TOPO_NVML_H
#define PIPC_TOOLS_TOPO_NVML_H

#include "runtime/base/ask.h"
#include "runtime/topo/topo.h"

/* Add to @topo what @library says of its NVIDIA GPUs. A process of its own asks, which is killed
 * after @timeout_msec: a GPU that fell off the bus has been seen to hold NVML for ever. False, and
 * the tree as it was, when there is no such library, it can't answer, or not in time. */
bool topo_nvml_read(pipc__topo_t *topo, const char *library, int timeout_msec);

#endif
