/* tests/gpu/gpu.h - GPUs for tests: user buffers, streams and a context a rank.
 */
#ifndef TESTS_GPU_GPU_H
#define TESTS_GPU_GPU_H

#include "runtime/exec/cuda_driver.h"
#include "tests/unit/exec_calls.h"

/* Ranks that can each have a GPU: one a GPU, and two where the only one is shared out by MPS
 * (CUDA_MPS_PIPE_DIRECTORY), which is slower and no less right. With 0 @why (of 512 bytes) says why
 * there is none. Asks in a process of its own, since a process that has used CUDA can't fork ranks
 * that use it. */
int gpu_count(char *why);
extern int gpu_found;   /* what it said last */
extern int gpu_sharers; /* and how many of them have the same GPU: 1 or 2 */
int gpu_ranks(void);    /* that a communicator can have: gpu_found, PIPC__RANKS_MAX at most */

/* Of this rank's process, after exec_memory_gpu.begin(): rank r has GPU r modulo their number. */
extern const exec_memory_t exec_memory_gpu;
extern const pipc__cuda_t *gpu;
extern CUstream gpu_streams[2];

void gpu_must(CUresult rc, const char *what); /* ends the process with a message unless it is OK */

/* MUST(StreamSynchronize, stream); */
#define MUST(member, ...) gpu_must(gpu->member(__VA_ARGS__), "cu" #member)

/* A job of the CUDA executor by one of its plans (-1: by all in turns), in batches, with all waits
 * in place. */
static inline exec_job_t gpu_job(const size_t *counts, int ncounts, size_t staging_bytes, int plan,
                                 int calls)
{
    return (exec_job_t){.ops = &pipc__exec_cuda,
                        .memory = &exec_memory_gpu,
                        .staging_bytes = staging_bytes,
                        .counts = counts,
                        .ncounts = ncounts,
                        .plan = plan,
                        .calls = calls,
                        .batch = 12,
                        .drop_step = -1};
}

#endif
