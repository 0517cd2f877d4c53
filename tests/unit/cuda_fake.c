/* tests/unit/cuda_fake.c - a library with the CUDA driver's names and no GPU behind it: for what
 * the driver may say before anything runs. FAKE_CUDA says what it is, "12040 sm_90": CUDA 12.4, and
 * one GPU of that architecture; "12040 sm_90 MIG": and it is a part of one.
 *
 * Memory is the process's own and streams and events are empty, since nothing that is enqueued
 * takes time. Machine code and PTX are taken and refused as the real driver does; a kernel can be
 * loaded but not launched, a peer's memory not reached, and there are no graphs (cuda_fake_not.c).
 * FAKE_CUDA_LOG names a file that gets a line a module that was taken: the release of CUDA that
 * made it, as far as it shows. With FAKE_CUDA_LAUNCHES a launch does nothing, and that file gets a
 * line. With FAKE_CUDA_CAPTURES some thread captures a stream, "globally": to all threads that are
 * not relaxed the driver then refuses what may wait or frees. FAKE_CUDA_BUSY is how often the
 * driver says of an event that it has not come to it.
 */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/exec/fatbin.h"

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wunused-parameter"

static struct {
    int driver, arch;
    char part[4]; /* "MIG" */
} fake;

static int dummy; /* what handles point to */
static _Thread_local CUstreamCaptureMode mode;
int fake_cuda_live; /* pieces of memory that are not freed; dlsym() gives it to a test */

/* What of this thread's is not allowed beside a capture. */
static CUresult unsafe(void)
{
    return getenv("FAKE_CUDA_CAPTURES") && mode != CU_STREAM_CAPTURE_MODE_RELAXED
               ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
               : CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *other)
{
    CUstreamCaptureMode was = mode;

    mode = *other;
    *other = was;
    return CUDA_SUCCESS;
}

/* --- driver and device ------------------------------------------------------------------------ */

CUresult cuInit(unsigned int flags)
{
    const char *text = getenv("FAKE_CUDA");

    return text && sscanf(text, "%d sm_%d %3s", &fake.driver, &fake.arch, fake.part) >= 2
               ? CUDA_SUCCESS
               : CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version)
{
    *version = fake.driver;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult rc, const char **name)
{
    *name = rc == CUDA_ERROR_NO_BINARY_FOR_GPU         ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
            : rc == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
                                                       : "CUDA_ERROR_NOT_SUPPORTED";
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult rc, const char **words)
{
    *words = "the fake driver refuses";
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    *count = 1;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int i)
{
    *device = 0;
    return i ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice device)
{
    snprintf(name, (size_t)len, "NVIDIA Fake%s", *fake.part ? " MIG 1g.10gb" : "");
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute what, CUdevice device)
{
    *value = what == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? fake.arch / 10
             : what == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? fake.arch % 10
             : what == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? 100
                                                                    : 0;
    return CUDA_SUCCESS;
}

/* Each process has a GPU of its own. */
CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice device)
{
    snprintf(id, (size_t)len, "0000:%02X:00.0", (unsigned int)getpid() % 256);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *id)
{
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    int pid = getpid();

    memset(uuid, 0, sizeof(*uuid));
    memcpy(uuid, &pid, sizeof(pid));
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b)
{
    *can = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute what, CUdevice a, CUdevice b)
{
    *value = 0;
    return CUDA_SUCCESS;
}

/* --- context: one, always current ------------------------------------------------------------- */

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    *context = (CUcontext)(void *)&dummy;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
    *context = (CUcontext)(void *)&dummy;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    return cuCtxGetCurrent(context);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    return CUDA_SUCCESS;
}

/* --- memory ----------------------------------------------------------------------------------- */

CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t bytes)
{
    void *memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);

    *p = (CUdeviceptr)memory;
    fake_cuda_live += memory != NULL;
    return memory ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFree_v2(CUdeviceptr p)
{
    if (unsafe())
        return unsafe();
    free((void *)p);
    fake_cuda_live--;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr p)
{
    *base = p;
    *bytes = 0;
    return CUDA_SUCCESS;
}

CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags)
{
    return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *p)
{
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *there, void *p, unsigned int flags)
{
    *there = (CUdeviceptr)p;
    return CUDA_SUCCESS;
}

CUresult cuMemsetD8Async(CUdeviceptr p, unsigned char value, size_t bytes, CUstream stream)
{
    memset((void *)p, value, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    memcpy((void *)to, from, bytes);
    return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr p)
{
    memset(handle, 0, sizeof(*handle));
    return CUDA_SUCCESS;
}

/* Between parts of one GPU: that it opens says nothing. */
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *p, CUipcMemHandle handle, unsigned int flags)
{
    *p = (CUdeviceptr)&dummy;
    return *fake.part ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr p)
{
    return CUDA_SUCCESS;
}

/* --- streams and events ----------------------------------------------------------------------- */

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    *stream = (CUstream)(void *)&dummy;
    return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
    return cuStreamCreate(stream, flags);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    *event = (CUevent)(void *)&dummy;
    return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event)
{
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event)
{
    const char *busy = getenv("FAKE_CUDA_BUSY");
    static int asked;

    if (!busy)
        asked = 0;
    else if (asked++ < atoi(busy))
        return CUDA_ERROR_NOT_READY;
    return unsafe();
}

CUresult cuEventSynchronize(CUevent event)
{
    return unsafe();
}

/* --- modules: what a driver of that version takes for that GPU ----------------------------------
 */

/* The release of the nvcc that made a fat binary is not in it. But machine code names its ABI, 7 by
 * CUDA 12 and 8 by CUDA 13, and PTX its version, 8.x and 9.x: the low half of the word at 24 of the
 * first piece's head, or the high half. */
static int made_by(const unsigned char *fatbin)
{
    const unsigned char *code = fatbin + 16;

    return (code[0] == 1 ? code[26] >= 9 : code[24] >= 8) ? 13 : 12;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    pipc__fatbin_code_t code[PIPC__FATBIN_CODES];
    const char *path = getenv("FAKE_CUDA_LOG");
    int n = pipc__fatbin_read(image, (size_t)1 << 30, code, NULL), maker = made_by(image);
    FILE *log;

    *module = (CUmodule)(void *)&dummy;
    if (maker > fake.driver / 1000)
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    for (int i = 0; i < n; i++)
        if (code[i].arch <= fake.arch && (code[i].ptx || code[i].arch / 10 == fake.arch / 10)) {
            log = path ? fopen(path, "a") : NULL;
            if (log) {
                fprintf(log, "%d\n", maker);
                fclose(log);
            }
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult cuModuleUnload(CUmodule module)
{
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
    *f = (CUfunction)(void *)&dummy;
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned int x, unsigned int y, unsigned int z,
                        unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                        CUstream stream, void **params, void **extra)
{
    const char *path = getenv("FAKE_CUDA_LAUNCHES");
    FILE *log = path ? fopen(path, "a") : NULL;

    if (!log)
        return CUDA_ERROR_NOT_SUPPORTED;
    fprintf(log, "launch\n");
    fclose(log);
    return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute what, CUfunction f)
{
    *value = 32;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads,
                                                     size_t shared)
{
    *blocks = 1;
    return CUDA_SUCCESS;
}
