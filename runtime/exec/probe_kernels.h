/* exec/probe_kernels.h - the kernels of kernels/probe.cu as they are linked in, for the executor
 * and for pcie-ipc-p2p, which measures with them. Only in builds with CUDA.
 */
#ifndef PIPC_EXEC_PROBE_KERNELS_H
#define PIPC_EXEC_PROBE_KERNELS_H

#include "kernels/probe.h"
#include "runtime/exec/fatbin.h"

extern const pipc__fatbin_t pipc__probe_code[];

#endif
