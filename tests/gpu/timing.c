/* tests/gpu/timing.c - see timing.h */
#include "tests/gpu/timing.h"

#include <stdio.h>
#include <time.h>

#include "tests/gpu/gpu.h"

#define MB ((size_t)1 << 20)

double timing_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

typedef struct times {
    double usec, host_usec; /* a call: on the GPU; to enqueue it */
} times_t;

static times_t measure(rank_exec_t *re, pipc__exec_call_t *k, int calls)
{
    CUevent first, last;
    pipc__error_t err;
    float msec = 0;

    MUST(EventCreate, &first, CU_EVENT_DEFAULT);
    MUST(EventCreate, &last, CU_EVENT_DEFAULT);
    MUST(EventRecord, first, gpu_streams[0]);
    double start = timing_now();
    for (int i = 0; i < calls; i++, k->number++)
        if (re->exec->ops->run(re->exec, k, &err))
            fprintf(stderr, "# %s\n", err.text);
    double host = timing_now() - start;
    MUST(EventRecord, last, gpu_streams[0]);
    MUST(EventSynchronize, last);
    MUST(EventElapsedTime, &msec, first, last);
    MUST(EventDestroy, first);
    MUST(EventDestroy, last);
    return (times_t){msec * 1e3 / calls, host * 1e6 / calls};
}

static void one_row(ranks_t *all, int rank, rank_exec_t *re, const pipc__plan_t *plan, size_t bytes,
                    void *x, void *y)
{
    pipc__exec_call_t k = {.plan = plan, .send = x, .recv = y, .count = bytes / 4,
                           .dtype = PIPC_F32, .op = PIPC_SUM, .stream = gpu_streams[0], .number = 1};
    int calls = bytes > 32 * MB ? 20 : 200, n = ranks_size(all);
    times_t each[PIPC__RANKS_MAX], slowest = {0, 0};

    measure(re, &k, 5);
    ranks_gather(all, rank, NULL, 0, NULL);
    times_t own = measure(re, &k, calls);
    ranks_gather(all, rank, &own, sizeof(own), each);
    for (int r = 0; r < n; r++) {
        slowest.usec = each[r].usec > slowest.usec ? each[r].usec : slowest.usec;
        slowest.host_usec =
            each[r].host_usec > slowest.host_usec ? each[r].host_usec : slowest.host_usec;
    }
    if (rank == 0)
        printf("%12zu  %-10s %10.2f us  %8.2f GB/s busbw  %6.2f us to enqueue\n", bytes, plan->name,
               slowest.usec, (double)bytes / slowest.usec / 1e3 * 2 * (n - 1) / n,
               slowest.host_usec);
}

/* What the driver's calls of one launch cost the host, but for the launch itself. */
static void host_rows(void)
{
    CUstreamCaptureStatus status;
    unsigned long long id;
    CUcontext context;
    CUevent event;
    double t[5];

    MUST(EventCreate, &event, CU_EVENT_DISABLE_TIMING);
    t[0] = timing_now();
    for (int i = 0; i < 1000; i++)
        MUST(CtxGetCurrent, &context);
    t[1] = timing_now();
    for (int i = 0; i < 1000; i++)
        MUST(StreamIsCapturing, gpu_streams[0], &status);
    t[2] = timing_now();
    for (int i = 0; gpu->StreamGetId && i < 1000; i++)
        MUST(StreamGetId, gpu_streams[0], &id);
    t[3] = timing_now();
    for (int i = 0; i < 1000; i++)
        MUST(EventRecordWithFlags, event, gpu_streams[0], 0);
    t[4] = timing_now();
    MUST(StreamSynchronize, gpu_streams[0]);
    MUST(EventDestroy, event);
    printf("host, us: context %.3f, capturing? %.3f, stream's id %.3f, event %.3f\n",
           (t[1] - t[0]) * 1e3, (t[2] - t[1]) * 1e3, (t[3] - t[2]) * 1e3, (t[4] - t[3]) * 1e3);
}

int timing_body(ranks_t *all, int rank, void *arg)
{
    static const size_t sizes[] = {1 << 10, 64 << 10, 1 << 20, 16 << 20, 256 << 20};
    rank_exec_t re;

    (void)arg;
    exec_memory_gpu.begin(rank);
    ranks_gather(all, rank, NULL, 0, NULL);
    double start = timing_now();
    rank_exec_open(&re, &pipc__exec_cuda, 64 * MB, (rank_plans_t){NULL, 0}, all, rank);
    if (rank == 0)
        printf("a communicator is made in %.1f ms\n", (timing_now() - start) * 1e3);
    char *x = exec_memory_gpu.alloc(256 * MB), *y = exec_memory_gpu.alloc(256 * MB);
    MUST(MemsetD8Async, (CUdeviceptr)(uintptr_t)x, 0, 256 * MB, gpu_streams[0]);
    MUST(StreamSynchronize, gpu_streams[0]);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int p = 0; p < re.nplans; p++)
            one_row(all, rank, &re, re.plans[p], sizes[i], x, y);
    if (rank == 0)
        host_rows();
    fflush(stdout);
    rank_exec_close(&re);
    return 0;
}
