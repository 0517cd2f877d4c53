/* tools/bench/device.h - where the benchmark's buffers live and how its samples are timed.
 */
#ifndef PIPC_BENCH_DEVICE_H
#define PIPC_BENCH_DEVICE_H

#include <pcie-ipc/comm.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/error.h"

typedef struct bench_device {
    const char *name;                                 /* "cpu", "cuda" */
    void *stream;                                     /* CUDA: the stream that the calls go to */
    void *(*alloc)(size_t bytes, pipc__error_t *err); /* NULL on failure */
    void (*release)(void *p);
    pipc_status_t (*write)(void *dst, const void *host, size_t bytes, pipc__error_t *err);
    pipc_status_t (*read)(void *host, const void *src, size_t bytes, pipc__error_t *err);
    /* Calls are issued between begin and end; end waits for them and gives their time together. */
    pipc_status_t (*begin)(pipc__error_t *err);
    pipc_status_t (*end)(double *usec, pipc__error_t *err);
    /* Graphs; NULL where there are none. Calls between capture and captured are recorded, not run;
     * replay enqueues them all. */
    pipc_status_t (*capture)(pipc__error_t *err);
    pipc_status_t (*captured)(void **graph, pipc__error_t *err);
    pipc_status_t (*replay)(void *graph, pipc__error_t *err);
    void (*free_graph)(void *graph); /* NULL is allowed */
    /* Arithmetic beside the calls, in a stream of its own: compute enqueues @waves times as many
     * blocks as the GPU holds at once (compute.cu), computed waits for them and gives their time.
     * NULL unless it was asked for. */
    pipc_status_t (*compute)(int waves, pipc__error_t *err);
    pipc_status_t (*computed)(double *usec, pipc__error_t *err);
    int wave_blocks, wave_threads; /* of a wave, and of each of its blocks */
    void (*close)(void);
} bench_device_t;

extern const bench_device_t bench_cpu;

/* The device of this rank: the GPU of its local number where @backend says CUDA, or auto and there is
 * one, else the CPU. @computes: as for bench_cuda_open(). The caller calls dev->close(). */
pipc_status_t bench_open_device(bench_device_t *dev, pipc_backend_t backend, bool computes,
                                pipc__error_t *err);

/* Open GPU @index (modulo the number of GPUs that are visible) and make its primary context
 * current.
 * @computes: with compute(), whose stream yields to that of the calls. Only in builds with CUDA. */
pipc_status_t bench_cuda_open(bench_device_t *dev, int index, bool computes, pipc__error_t *err);
/* Are there a driver and a GPU? */
bool bench_cuda_present(void);

#endif
