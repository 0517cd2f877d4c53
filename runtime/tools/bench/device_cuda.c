/* tools/bench/device_cuda.c - buffers on a GPU, time by events. See device.h */
#include "runtime/tools/bench/device.h"

#include <stdint.h>
#include <string.h>

#include "runtime/exec/cuda_driver.h"

static struct {
    const pipc__cuda_t *cu;
    CUdevice device;
    CUcontext context;
    CUstream stream;
    CUevent first, last;
} gpu;

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
    pipc_status_t st = bytes ? CALL(err, MemcpyHtoDAsync, address(dst), host, bytes, gpu.stream) : PIPC_OK;

    return st ? st : CALL(err, StreamSynchronize, gpu.stream);
}

static pipc_status_t gpu_read(void *host, const void *src, size_t bytes, pipc__error_t *err)
{
    pipc_status_t st = bytes ? CALL(err, MemcpyDtoHAsync, host, address(src), bytes, gpu.stream) : PIPC_OK;

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

/* Thread-local: what other threads of the program do meanwhile (NCCL has some) is their business. */
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

static void gpu_close(void)
{
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
        return pipc__fail(err, PIPC_ERR_NOT_FOUND, "no GPU is visible; ask Slurm for one "
                          "(--gpus-per-node=N) or use --backend cpu");
    if (!st)
        st = CALL(err, DeviceGet, &gpu.device, index % count);
    if (!st)
        st = CALL(err, DevicePrimaryCtxRetain, &gpu.context, gpu.device);
    return st ? st : CALL(err, CtxSetCurrent, gpu.context);
}

pipc_status_t bench_cuda_open(bench_device_t *dev, int index, pipc__error_t *err)
{
    pipc_status_t st = pipc__cuda_open(&gpu.cu, err);

    if (!st)
        st = open_context(index, err);
    if (!st)
        st = CALL(err, StreamCreate, &gpu.stream, CU_STREAM_NON_BLOCKING);
    if (!st)
        st = CALL(err, EventCreate, &gpu.first, CU_EVENT_DEFAULT);
    if (!st)
        st = CALL(err, EventCreate, &gpu.last, CU_EVENT_DEFAULT);
    if (st)
        return st;
    *dev = (bench_device_t){"cuda", gpu.stream, gpu_alloc, gpu_release, gpu_write, gpu_read,
                            gpu_begin, gpu_end, gpu_capture, gpu_captured, gpu_replay,
                            gpu_free_graph, gpu_close};
    return PIPC_OK;
}
