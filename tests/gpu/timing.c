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

#define IN_GRAPH 20 /* calls a graph */

static double measure_graph(rank_exec_t *re, pipc__exec_call_t *k, int graphs)
{
    CUstream stream = gpu_streams[0];
    CUevent first, last;
    CUgraph graph;
    CUgraphExec exec;
    pipc__error_t err;
    float msec = 0;

    MUST(EventCreate, &first, CU_EVENT_DEFAULT);
    MUST(EventCreate, &last, CU_EVENT_DEFAULT);
    MUST(StreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    for (int i = 0; i < IN_GRAPH; i++, k->number++)
        if (re->exec->ops->run(re->exec, k, &err))
            fprintf(stderr, "# %s\n", err.text);
    MUST(StreamEndCapture, stream, &graph);
    MUST(GraphInstantiate, &exec, graph, 0);
    MUST(GraphLaunch, exec, stream);
    MUST(EventRecord, first, stream);
    for (int i = 0; i < graphs; i++)
        MUST(GraphLaunch, exec, stream);
    MUST(EventRecord, last, stream);
    MUST(EventSynchronize, last);
    MUST(EventElapsedTime, &msec, first, last);
    MUST(GraphExecDestroy, exec);
    MUST(GraphDestroy, graph);
    MUST(EventDestroy, first);
    MUST(EventDestroy, last);
    return msec * 1e3 / graphs / IN_GRAPH;
}

static double slowest(ranks_t *all, int rank, double own)
{
    double each[PIPC__RANKS_MAX], most = 0;

    ranks_gather(all, rank, &own, sizeof(own), each);
    for (int r = 0; r < ranks_size(all); r++)
        most = each[r] > most ? each[r] : most;
    return most;
}

/* The least of five rounds, each by its slowest rank. @graph: graphs too, which slows what is
 * called outside of them. */
static void one_row(ranks_t *all, int rank, rank_exec_t *re, pipc__exec_call_t k, bool graph)
{
    size_t bytes = k.count * pipc_dtype_bytes(k.dtype);
    int calls = bytes > 32 * MB ? 5 : 200;
    double best = 1e9, host = 1e9;

    measure(re, &k, 5);
    for (int i = 0; i < 5; i++) {
        ranks_gather(all, rank, NULL, 0, NULL);
        times_t own = {0, 0};
        if (graph)
            own.usec = measure_graph(re, &k, bytes > 32 * MB ? 1 : 10);
        else
            own = measure(re, &k, calls);
        double usec = slowest(all, rank, own.usec), enqueue = slowest(all, rank, own.host_usec);
        best = usec < best ? usec : best;
        host = enqueue < host ? enqueue : host;
    }
    if (rank == 0)
        printf("%12zu  %-10s %-6s %3d blocks %-5s %10.2f us  %8.2f GB/s  %6.2f us to enqueue\n",
               bytes, k.plan->name, k.proto == PIPC__PROTO_LL ? "ll" : "simple", k.blocks,
               graph ? "graph" : "eager", best, (double)bytes / best / 1e3, host);
    fflush(stdout);
}

static void rows(ranks_t *all, int rank, rank_exec_t *re, pipc__exec_call_t k, bool graph)
{
    static const size_t sizes[] = {8,        1 << 10,   8 << 10,   16 << 10,  32 << 10,
                                   64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20,
                                   4 << 20,  16 << 20,  64 << 20,  256 << 20};
    static const int ll_blocks[] = {0, 16, 64, 128}, blocks[] = {0, 64, 132};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        k.count = sizes[i] / 4;
        k.plan = re->plans[0];
        k.proto = PIPC__PROTO_LL;
        for (size_t b = 0; b < 4 && sizes[i] <= MB; b++) {
            k.blocks = ll_blocks[b];
            if (!b || sizes[i] >= (size_t)k.blocks * 2048)
                one_row(all, rank, re, k, graph);
        }
        k.proto = PIPC__PROTO_SIMPLE;
        for (int p = 0; p < re->nplans; p++)
            for (size_t b = 0; b < 3; b++) {
                k.plan = re->plans[p];
                k.blocks = blocks[b];
                if (!b || sizes[i] >= MB)
                    one_row(all, rank, re, k, graph);
            }
    }
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

static const rank_plan_t plans[] = {{PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT},
                                    {PIPC__STREAM, PIPC__ALLREDUCE, SHAPE_FLAT}};

int timing_body(ranks_t *all, int rank, void *arg)
{
    rank_exec_t re;

    (void)arg;
    exec_memory_gpu.begin(rank);
    ranks_gather(all, rank, NULL, 0, NULL);
    double start = timing_now();
    rank_exec_open(&re, &pipc__exec_cuda, 64 * MB, (rank_plans_t){plans, 2}, all, rank);
    if (rank == 0)
        printf("a communicator is made in %.1f ms\n", (timing_now() - start) * 1e3);
    char *x = exec_memory_gpu.alloc(256 * MB), *y = exec_memory_gpu.alloc(256 * MB);
    MUST(MemsetD8Async, (CUdeviceptr)(uintptr_t)x, 0, 256 * MB, gpu_streams[0]);
    MUST(StreamSynchronize, gpu_streams[0]);
    pipc__exec_call_t k = {.send = x,
                           .recv = y,
                           .dtype = PIPC_F32,
                           .op = PIPC_SUM,
                           .stream = gpu_streams[0],
                           .number = 1};
    rows(all, rank, &re, k, false);
    if (rank == 0)
        host_rows();
    rows(all, rank, &re, k, true);
    fflush(stdout);
    rank_exec_close(&re);
    return 0;
}
