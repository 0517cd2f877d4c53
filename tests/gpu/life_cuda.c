/* tests/gpu/life_cuda.c - communicators on GPUs that are created and destroyed leave nothing, on
 * the GPUs neither; each has no more memory there than the manual says. Prints what creating one
 * takes, and what CUDA took to start. Skipped with fewer than two GPUs.
 *
 *     life_cuda [--cycles 100]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/gpu/gpu.h"
#include "tests/unit/life.h"

#define MB (1L << 20)
#define COUNT 5000
#define STAGING (64 * MB) /* the default */
/* Beside staging: programs, state and the kernels, in blocks of 2 MiB each. */
#define BESIDE (16 * MB)

static char *x, *y;

static double msec(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void open_gpu(int rank)
{
    double start = msec();

    exec_memory_gpu.begin(rank);
    if (!rank)
        printf("# CUDA starts in %.0f ms\n", msec() - start);
    fflush(stdout);
    x = exec_memory_gpu.alloc(COUNT * sizeof(float));
    y = exec_memory_gpu.alloc(COUNT * sizeof(float));
}

/* Sums of small whole numbers are exact. */
static int call(pipc_comm_t *comm)
{
    float host[COUNT];
    int n = pipc_comm_size(comm), rank = pipc_comm_rank(comm);

    for (int i = 0; i < COUNT; i++)
        host[i] = (float)(i + rank);
    exec_memory_gpu.put(x, host, sizeof(host));
    for (size_t count = 1; count <= COUNT; count += COUNT - 1) {
        if (pipc_allreduce(comm, x, y, count, PIPC_F32, PIPC_SUM, gpu_streams[0]))
            return 2;
        MUST(StreamSynchronize, gpu_streams[0]);
        exec_memory_gpu.get(host, y, count * sizeof(float));
        for (size_t i = 0; i < count; i++)
            if (host[i] != (float)(n * (int)i + n * (n - 1) / 2))
                return 2;
    }
    return 0;
}

static long device_bytes(void)
{
    size_t left, all;

    MUST(MemGetInfo, &left, &all);
    return (long)(all - left);
}

static void leak_device(void)
{
    exec_memory_gpu.alloc(2 * MB);
}

int main(int argc, char **argv)
{
    life_job_t job = {.backend = PIPC_BACKEND_CUDA,
                      .cycles = argc == 3 && !strcmp(argv[1], "--cycles") ? atoi(argv[2]) : 100,
                      .open = open_gpu,
                      .call = call,
                      .device_bytes = device_bytes,
                      .leak_device = leak_device,
                      .most_device_bytes = STAGING + BESIDE,
                      .heap_slack = 64 << 10, /* the driver's */
                      .resident_slack_kb = 8 << 10};
    char why[PIPC__ERROR_MAX];
    int n = gpu_count(why);

    if (n < 2) {
        printf("1..0 # SKIP %s\n", n ? "one GPU" : why);
        return 0;
    }
    n = n < 8 ? n : 8;
    job.most_device_bytes *= gpu_sharers;
    printf("1..2\n%sok 1 - created and destroyed, they leave nothing\n",
           life_run(&job, n) ? "not " : "");
    job.cycles = 20;
    job.leaks = LEAK_DEVICE;
    printf("%sok 2 - a leak on the GPU is seen\n", life_run(&job, n) == 1 ? "" : "not ");
    return 0;
}
