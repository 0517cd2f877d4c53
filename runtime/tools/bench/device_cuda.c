/* tools/bench/device_cuda.c - buffers on a GPU, time by events. See device.h */
#include "runtime/tools/bench/device.h"

#include <stdint.h>
#include <string.h>

#include "runtime/exec/cuda_module.h"

static struct {
    const pipc__cuda_t *cu;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUevent first, last;
    struct { /* the arithmetic beside the calls; module NULL: none */
        CUmodule module;
        CUfunction kernel;
        CUstream stream;
        CUevent first, last;
        int wave_blocks;
    } compute;
} gpu;

#define COMPUTE_THREADS 256 /* BLOCK of compute.cu */

/* compute.cu, made by kernels/local.mk. */
extern const pipc__fatbin_t pipc__compute_code[];

#define CALL(err, member, ...) PIPC__CUDA_TRY(gpu.cu, err, member, __VA_ARGS__)

static CUdeviceptr address(const void *p)
{
    return (CUdeviceptr)(uintptr_t)p;
}

static void *gpu_alloc(size_t bytes, pipc__error_t *err)
{
    CUdeviceptr p = 0;

    if (CALL(err, MemAlloc, &p, bytes ? bytes : 1))
        return NULL;
    return (void *)(uintptr_t)p;
}

static void gpu_release(void *p)
{
    gpu.cu->MemFree(address(p));
}

static pipc_status_t gpu_write(void *dst, const void *host, size_t bytes, pipc__error_t *err)
{
    pipc_status_t st =
        bytes ? CALL(err, MemcpyHtoDAsync, address(dst), host, bytes, gpu.stream) : PIPC_OK;

    return st ? st : CALL(err, StreamSynchronize, gpu.stream);
}

static pipc_status_t gpu_read(void *host, const void *src, size_t bytes, pipc__error_t *err)
{
    pipc_status_t st =
        bytes ? CALL(err, MemcpyDtoHAsync, host, address(src), bytes, gpu.stream) : PIPC_OK;

    return st ? st : CALL(err, StreamSynchronize, gpu.stream);
}

static pipc_status_t gpu_begin(pipc__error_t *err)
{
    return CALL(err, EventRecord, gpu.first, gpu.stream);
}

static pipc_status_t gpu_end(double *usec, pipc__error_t *err)
{
    float ms = 0;
    pipc_status_t st = CALL(err, EventRecord, gpu.last, gpu.stream);

    if (!st)
        st = CALL(err, EventSynchronize, gpu.last);
    if (!st)
        st = CALL(err, EventElapsedTime, &ms, gpu.first, gpu.last);
    *usec = ms * 1e3;
    return st;
}

/* Thread-local: what other threads of the program do meanwhile (NCCL has some) is their business.
 */
static pipc_status_t gpu_capture(pipc__error_t *err)
{
    return CALL(err, StreamBeginCapture, gpu.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

static pipc_status_t gpu_captured(void **out, pipc__error_t *err)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    pipc_status_t st = CALL(err, StreamEndCapture, gpu.stream, &graph);

    if (!st)
        st = CALL(err, GraphInstantiate, &exec, graph, 0);
    if (graph)
        gpu.cu->GraphDestroy(graph);
    *out = exec;
    return st;
}

static pipc_status_t gpu_replay(void *graph, pipc__error_t *err)
{
    return CALL(err, GraphLaunch, graph, gpu.stream);
}

static void gpu_free_graph(void *graph)
{
    if (graph)
        gpu.cu->GraphExecDestroy(graph);
}

/* --- arithmetic beside the calls ----------------------------------------------------------------
 */

static pipc_status_t gpu_compute(int waves, pipc__error_t *err)
{
    CUdeviceptr never = 0;
    float a = 0.5f;
    void *args[] = {&never, &a};
    pipc_status_t st = CALL(err, EventRecord, gpu.compute.first, gpu.compute.stream);

    if (!st)
        st = CALL(err, LaunchKernel, gpu.compute.kernel,
                  (unsigned int)waves * (unsigned int)gpu.compute.wave_blocks, 1, 1,
                  COMPUTE_THREADS, 1, 1, 0, gpu.compute.stream, args, NULL);
    return st ? st : CALL(err, EventRecord, gpu.compute.last, gpu.compute.stream);
}

static pipc_status_t gpu_computed(double *usec, pipc__error_t *err)
{
    float ms = 0;
    pipc_status_t st = CALL(err, EventSynchronize, gpu.compute.last);

    if (!st)
        st = CALL(err, EventElapsedTime, &ms, gpu.compute.first, gpu.compute.last);
    *usec = ms * 1e3;
    return st;
}

/* The kernel is loaded and run here: under lazy loading the first launch synchronises, perhaps with
 * a call that waits for a peer. */
static pipc_status_t load_compute(pipc__error_t *err)
{
    int each = 0, sms = 0;
    double unused;
    pipc_status_t st = pipc__cuda_load_module(gpu.cu, &gpu.compute.module, pipc__compute_code, err);

    if (!st)
        st = CALL(err, ModuleGetFunction, &gpu.compute.kernel, gpu.compute.module,
                  "pipc__bench_compute");
    if (!st)
        st = CALL(err, OccupancyMaxActiveBlocks, &each, gpu.compute.kernel, COMPUTE_THREADS, 0);
    if (!st)
        st = CALL(err, DeviceGetAttribute, &sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                  gpu.device);
    gpu.compute.wave_blocks = each * sms;
    if (!st)
        st = gpu_compute(1, err);
    return st ? st : gpu_computed(&unused, err);
}

static pipc_status_t open_compute(bench_device_t *dev, pipc__error_t *err)
{
    pipc_status_t st = CALL(err, StreamCreate, &gpu.compute.stream, CU_STREAM_NON_BLOCKING);

    if (!st)
        st = CALL(err, EventCreate, &gpu.compute.first, CU_EVENT_DEFAULT);
    if (!st)
        st = CALL(err, EventCreate, &gpu.compute.last, CU_EVENT_DEFAULT);
    if (!st)
        st = load_compute(err);
    dev->compute = gpu_compute;
    dev->computed = gpu_computed;
    dev->wave_blocks = gpu.compute.wave_blocks;
    dev->wave_threads = COMPUTE_THREADS;
    return st;
}

static void close_compute(void)
{
    if (gpu.compute.module)
        gpu.cu->ModuleUnload(gpu.compute.module);
    if (gpu.compute.last)
        gpu.cu->EventDestroy(gpu.compute.last);
    if (gpu.compute.first)
        gpu.cu->EventDestroy(gpu.compute.first);
    if (gpu.compute.stream)
        gpu.cu->StreamDestroy(gpu.compute.stream);
}

/* --- open and close -----------------------------------------------------------------------------
 */

static void gpu_close(void)
{
    close_compute();
    if (gpu.last)
        gpu.cu->EventDestroy(gpu.last);
    if (gpu.first)
        gpu.cu->EventDestroy(gpu.first);
    if (gpu.stream)
        gpu.cu->StreamDestroy(gpu.stream);
    if (gpu.context)
        gpu.cu->DevicePrimaryCtxRelease(gpu.device);
    memset(&gpu, 0, sizeof(gpu));
}

bool bench_cuda_present(void)
{
    const pipc__cuda_t *cu;
    pipc__error_t err;
    int count = 0;

    return !pipc__cuda_open(&cu, &err) && cu->DeviceGetCount(&count) == CUDA_SUCCESS && count > 0;
}

static pipc_status_t open_context(int index, pipc__error_t *err)
{
    int count = 0;
    pipc_status_t st = CALL(err, DeviceGetCount, &count);

    if (!st && count < 1)
        return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                          "no GPU is visible; ask Slurm for one "
                          "(--gpus-per-node=N) or use --backend cpu");
    if (!st)
        st = CALL(err, DeviceGet, &gpu.device, index % count);
    if (!st)
        st = CALL(err, DevicePrimaryCtxRetain, &gpu.context, gpu.device);
    return st ? st : CALL(err, CtxSetCurrent, gpu.context);
}

/* The calls' stream: before others where there is arithmetic beside it, as a framework that
 * overlaps both would make it. A stream made without a priority has the least. */
static pipc_status_t open_stream(bool computes, pipc__error_t *err)
{
    int least = 0, greatest = 0;
    pipc_status_t st = PIPC_OK;

    if (!computes)
        return CALL(err, StreamCreate, &gpu.stream, CU_STREAM_NON_BLOCKING);
    st = CALL(err, CtxGetStreamPriorityRange, &least, &greatest);
    return st ? st
              : CALL(err, StreamCreateWithPriority, &gpu.stream, CU_STREAM_NON_BLOCKING, greatest);
}

pipc_status_t bench_cuda_open(bench_device_t *dev, int index, bool computes, pipc__error_t *err)
{
    pipc_status_t st = pipc__cuda_open(&gpu.cu, err);

    if (!st)
        st = open_context(index, err);
    if (!st)
        st = open_stream(computes, err);
    if (!st)
        st = CALL(err, EventCreate, &gpu.first, CU_EVENT_DEFAULT);
    if (!st)
        st = CALL(err, EventCreate, &gpu.last, CU_EVENT_DEFAULT);
    if (st)
        return st;
    *dev = (bench_device_t){
        .name = "cuda",
        .stream = gpu.stream,
        .alloc = gpu_alloc,
        .release = gpu_release,
        .write = gpu_write,
        .read = gpu_read,
        .begin = gpu_begin,
        .end = gpu_end,
        .capture = gpu_capture,
        .captured = gpu_captured,
        .replay = gpu_replay,
        .free_graph = gpu_free_graph,
        .close = gpu_close,
    };
    return computes ? open_compute(dev, err) : PIPC_OK;
}
