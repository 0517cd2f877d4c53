/* tests/gpu/random_calls.c - random calls on GPUs, all verified, on the GPU: a million takes
 * minutes. Size, type, operation, alignment, plan, protocol, blocks, stream, in place or not, alone
 * or in a graph that is replayed; and two controls, a rank that gives something else than the
 * others think, and one that stops. Skipped with fewer than two GPUs.
 *
 *     random_calls                                   a few seconds, and the control
 *     random_calls --calls 1000000 [--seed S]        as random.h says; PCIE_IPC_PATH=host: by host
 * memory random_calls --seed S --first B --batches 1    a batch again
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/cuda_module.h"
#include "tests/gpu/gpu.h"
#include "tests/unit/random.h"

extern const pipc__fatbin_t pipc__random_kernels_code[];

#define MOST ((size_t)4 << 20)
#define ARENA ((size_t)128 << 20)
#define THREADS 256
#define ROW 64 /* blocks a call */

static CUdeviceptr arena[2], buffers, verdict;
static CUfunction fill_kernel, check_kernel;
static CUmodule module;
static CUevent event;
static CUgraphExec graph;

static void open_gpu(int rank, size_t bytes)
{
    exec_memory_gpu.begin(rank);
    for (int i = 0; i < 2; i++)
        MUST(MemAlloc, &arena[i], bytes);
    MUST(MemAlloc, &buffers, RANDOM_BATCH * sizeof(random_buffers_t));
    MUST(MemAlloc, &verdict, sizeof(random_verdict_t));
    pipc__error_t err;
    if (pipc__cuda_load_module(gpu, &module, pipc__random_kernels_code, &err)) {
        fprintf(stderr, "# %s\n", err.text);
        _Exit(1);
    }
    MUST(ModuleGetFunction, &fill_kernel, module, "random_fill");
    MUST(ModuleGetFunction, &check_kernel, module, "random_check");
    MUST(EventCreate, &event, CU_EVENT_DISABLE_TIMING);
}

static char *arena_of(bool output)
{
    return (char *)(uintptr_t)arena[output];
}

static void *stream_of(int which)
{
    return gpu_streams[which];
}

/* Let stream @to go on only when what is on the other one is done. */
static void follow(int to)
{
    MUST(EventRecord, event, gpu_streams[!to]);
    MUST(StreamWaitEvent, gpu_streams[to], event, 0);
}

static void fill(const random_buffers_t *b, int n, int rank)
{
    void *params[] = {&buffers, &rank};

    MUST(MemcpyHtoDAsync, buffers, b, (size_t)n * sizeof(*b), gpu_streams[0]);
    MUST(LaunchKernel, fill_kernel, ROW, (unsigned int)n, 1, THREADS, 1, 1, 0, gpu_streams[0],
         params, NULL);
    follow(1);
}

/* The buffers are uploaded again: the ones that were filled from may have been spoilt. */
static void check(const random_buffers_t *b, int n, int rank, int nranks, random_verdict_t *v)
{
    void *params[] = {&buffers, &rank, &nranks, &verdict};
    CUstream stream = gpu_streams[0];

    follow(0);
    MUST(MemcpyHtoDAsync, verdict, v, sizeof(*v), stream);
    MUST(MemcpyHtoDAsync, buffers, b, (size_t)n * sizeof(*b), stream);
    MUST(LaunchKernel, check_kernel, ROW, (unsigned int)n, 1, THREADS, 1, 1, 0, stream, params,
         NULL);
    MUST(MemcpyDtoHAsync, v, verdict, sizeof(*v), stream);
    MUST(StreamSynchronize, stream);
}

/* --- graphs ---------------------------------------------------------------------------------- */

static void capture(void)
{
    MUST(StreamBeginCapture, gpu_streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    follow(1);
}

static void forget(void)
{
    if (graph)
        MUST(GraphExecDestroy, graph);
    graph = NULL;
}

static void captured(void)
{
    CUgraph calls;

    follow(0);
    MUST(StreamEndCapture, gpu_streams[0], &calls);
    forget();
    MUST(GraphInstantiate, &graph, calls, 0);
    MUST(GraphDestroy, calls);
}

/* What follows on the other stream is ordered behind it by the communicator alone. */
static void replay(void)
{
    MUST(GraphLaunch, graph, gpu_streams[0]);
}

static void close_gpu(void)
{
    MUST(EventDestroy, event);
    MUST(ModuleUnload, module);
    for (int i = 0; i < 2; i++)
        MUST(MemFree, arena[i]);
    MUST(MemFree, buffers);
    MUST(MemFree, verdict);
}

static const random_device_t device = {.backend = PIPC_BACKEND_CUDA,
                                       .most_bytes = MOST,
                                       .arena_bytes = ARENA,
                                       .batches = 400,
                                       .open = open_gpu,
                                       .arena = arena_of,
                                       .stream = stream_of,
                                       .fill = fill,
                                       .check = check,
                                       .capture = capture,
                                       .captured = captured,
                                       .replay = replay,
                                       .forget = forget,
                                       .close = close_gpu};

static void tell(bool good, const char *name)
{
    static int tests;

    printf("%sok %d - %s\n", good ? "" : "not ", ++tests, name);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    random_options_t o = {.device = &device, .seed = 1, .patience = 30, .spoil = -1, .stop = -1};
    char why[PIPC__ERROR_MAX], version[PIPC__NCCL_VERSION_TEXT];
    int ranks = gpu_count(why);
    pipc__error_t err;

    if (ranks < 2) {
        printf("1..0 # SKIP %s\n", ranks ? "one GPU" : why);
        return 0;
    }
    ranks = ranks < 8 ? ranks : 8;
    if (argc > 1)
        return random_parse(&o, &ranks, argc, argv)
                   ? ranks_run(ranks, random_body, &o, RANDOM_LIMIT)
                   : 2;
    random_options_t spoilt = o, stopped = o;
    const char *nccl = getenv("PCIE_IPC_NCCL");
    o.seconds = 5;
    printf("1..4\n");
    tell(!ranks_run(ranks, random_body, &o, 300), "random calls");
    spoilt.spoil = 1;
    spoilt.batches = 20;
    tell(ranks_run(ranks, random_body, &spoilt, 300) == 1, "a wrong input of one rank is seen");
    stopped.stop = 1;
    stopped.patience = 3;
    tell(ranks_run(ranks, random_body, &stopped, 300) == 3, "a rank that stops is seen as a hang");
    o.nccl = nccl && *nccl ? nccl : "libnccl.so.2";
    o.first = device.batches; /* graphs at once */
    if (pipc__nccl_find(o.nccl, version, &err))
        printf("ok 4 - # SKIP no NCCL here\n");
    else
        tell(!ranks_run(ranks, random_body, &o, 300), "random calls, NCCL's among them");
    return 0;
}
