/* tests/gpu/nccl.h - NCCL itself, opened at run time, for comparison.
 */
#ifndef TESTS_GPU_NCCL_H
#define TESTS_GPU_NCCL_H

#include "tests/gpu/gpu.h"

/* NULL when @path can be opened and has what is needed, else why not. Loads nothing of CUDA, so it
 * may be asked before ranks are forked. */
const char *nccl_open(const char *path);

/* "NCCL 2.28.3" */
const char *nccl_version(void);

/* Collective: a communicator of all ranks. The functions below end the process with a message on
 * failure. */
void nccl_connect(ranks_t *all, int rank);
void nccl_allreduce(const char *send, char *recv, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                    CUstream stream);
void nccl_close(void);

#endif
