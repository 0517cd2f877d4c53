/* exec/cuda_pin.h - host memory that the GPUs of this process reach.
 *
 * The driver pins a range once in a process and refuses it a second time. Ranks that are threads of
 * one process have the same mappings (segment.h), so a range is pinned for the first of them, for
 * all GPUs, and goes with the last.
 */
#ifndef PIPC_EXEC_CUDA_PIN_H
#define PIPC_EXEC_CUDA_PIN_H

#include "runtime/exec/cuda_driver.h"

/* @bytes at @base, for kernels at *there. A range that is pinned here already must be as long. What
 * the driver answers; after an error nothing has to be given back. */
CUresult pipc__cuda_pin(const pipc__cuda_t *cu, void *base, size_t bytes, CUdeviceptr *there);

/* NULL is allowed. */
void pipc__cuda_unpin(const pipc__cuda_t *cu, void *base);

#endif
