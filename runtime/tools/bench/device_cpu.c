/* tools/bench/device_cpu.c - buffers in host memory, time by the monotonic clock. See device.h */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/tools/bench/device.h"

static struct timespec started;

static void *cpu_alloc(size_t bytes, pipc__error_t *err)
{
    void *p = NULL;

    if (posix_memalign(&p, 4096, bytes ? bytes : 1)) {
        pipc__fail(err, PIPC_ERR_NOMEM, "no memory for a buffer of %zu bytes; use a smaller -e",
                   bytes);
        return NULL;
    }
    memset(p, 0, bytes); /* fault the pages in before anything is timed */
    return p;
}

static pipc_status_t cpu_copy(void *dst, const void *src, size_t bytes, pipc__error_t *err)
{
    (void)err;
    memcpy(dst, src, bytes);
    return PIPC_OK;
}

static pipc_status_t cpu_begin(pipc__error_t *err)
{
    (void)err;
    clock_gettime(CLOCK_MONOTONIC, &started);
    return PIPC_OK;
}

static pipc_status_t cpu_end(double *usec, pipc__error_t *err)
{
    struct timespec t;

    (void)err;
    clock_gettime(CLOCK_MONOTONIC, &t);
    *usec =
        (double)(t.tv_sec - started.tv_sec) * 1e6 + (double)(t.tv_nsec - started.tv_nsec) * 1e-3;
    return PIPC_OK;
}

static void cpu_close(void)
{
}

const bench_device_t bench_cpu = {
    .name = "cpu",
    .alloc = cpu_alloc,
    .release = free,
    .write = cpu_copy,
    .read = cpu_copy,
    .begin = cpu_begin,
    .end = cpu_end,
    .close = cpu_close,
};
