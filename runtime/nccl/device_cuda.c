/* nccl/device_cuda.c - see device.h. The driver is the one that NCCL has loaded, and its functions
 * are looked up in it; the few declarations stand here, so that the hook is built without CUDA.
 */
#include "runtime/nccl/device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "runtime/nccl/old_glibc.h"

#define STREAM_NON_BLOCKING 1 /* the default stream does not wait for it */
#define CAPTURE_RELAXED 2
#define HOST_PORTABLE 1
#define HOST_DEVICEMAP 2
#define ERROR_NOT_READY 600

const pipc_backend_t pipc__device_backend = PIPC_BACKEND_CUDA;

#define CUDA_FUNCTIONS(F)                                                                          \
    F(DeviceGet, cuDeviceGet, (int *, int))                                                        \
    F(PrimaryCtxRetain, cuDevicePrimaryCtxRetain, (void **, int))                                  \
    F(PrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (int))                                      \
    F(CtxPush, cuCtxPushCurrent_v2, (void *))                                                      \
    F(CtxPop, cuCtxPopCurrent_v2, (void **))                                                       \
    F(MemHostAlloc, cuMemHostAlloc, (void **, size_t, unsigned int))                               \
    F(MemFreeHost, cuMemFreeHost, (void *))                                                        \
    F(StreamCreate, cuStreamCreate, (void **, unsigned int))                                       \
    F(StreamDestroy, cuStreamDestroy_v2, (void *))                                                 \
    F(StreamQuery, cuStreamQuery, (void *))                                                        \
    F(StreamIsCapturing, cuStreamIsCapturing, (void *, int *))                                     \
    F(ExchangeMode, cuThreadExchangeStreamCaptureMode, (unsigned int *))

static struct {
#define MEMBER(name, symbol, args) int(*name) args;
    CUDA_FUNCTIONS(MEMBER)
#undef MEMBER
} cu;
static _Atomic int state; /* 0: not looked for, 1: there, -1: not */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool load(void)
{
    void *handle = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY), *f;

    if (!handle)
        return false;
#define FILL(name, symbol, args)                                                                   \
    f = dlsym(handle, #symbol);                                                                    \
    if (!f)                                                                                        \
        return false;                                                                              \
    memcpy(&cu.name, &f, sizeof(f));
    CUDA_FUNCTIONS(FILL)
#undef FILL
    return true;
}

static bool have_driver(void)
{
    if (!atomic_load_explicit(&state, memory_order_acquire)) {
        pthread_mutex_lock(&lock);
        if (!state)
            atomic_store_explicit(&state, load() ? 1 : -1, memory_order_release);
        pthread_mutex_unlock(&lock);
    }
    return state > 0;
}

bool pipc__device_captures(void *stream)
{
    int status = 0;

    return !have_driver() || cu.StreamIsCapturing(stream, &status) || status;
}

static const char *enter(pipc__visit_t *v, int ordinal)
{
    if (!have_driver())
        return "there is no CUDA driver of release 11 or newer";
    if (cu.DeviceGet(&v->device, ordinal) || cu.PrimaryCtxRetain(&v->context, v->device))
        return "the GPU's context cannot be had";
    v->mode = CAPTURE_RELAXED;
    if (cu.CtxPush(v->context)) {
        cu.PrimaryCtxRelease(v->device);
        return "the GPU's context cannot be made current";
    }
    if (cu.ExchangeMode(&v->mode) || cu.StreamCreate(&v->stream, STREAM_NON_BLOCKING)) {
        pipc__device_leave(v);
        return "a stream cannot be made";
    }
    return NULL;
}

bool pipc__device_enter(pipc__visit_t *visit, int ordinal, const char **why)
{
    memset(visit, 0, sizeof(*visit));
    *why = enter(visit, ordinal);
    return !*why;
}

void pipc__device_leave(pipc__visit_t *v)
{
    void *context;

    if (v->stream)
        cu.StreamDestroy(v->stream);
    cu.ExchangeMode(&v->mode);
    cu.CtxPop(&context);
    cu.PrimaryCtxRelease(v->device);
}

void *pipc__device_host_alloc(size_t bytes)
{
    void *memory = NULL;

    return cu.MemHostAlloc(&memory, bytes, HOST_PORTABLE | HOST_DEVICEMAP) ? NULL : memory;
}

void pipc__device_host_free(void *memory)
{
    if (memory)
        cu.MemFreeHost(memory);
}

int pipc__device_query(const pipc__visit_t *visit)
{
    int rc = cu.StreamQuery(visit->stream);

    return rc == ERROR_NOT_READY ? 1 : rc ? -1 : 0;
}
