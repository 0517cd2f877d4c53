/* prolog/gpu_driver.h - of the CUDA driver what copies need, opened at run time
 *
 * The gate is built where no CUDA is, and runs where no driver is. So the types stand here, as the
 * driver's interface has had them since CUDA 4; tests/unit/gpu_driver.c compares them with cuda.h
 * where a build has one. (runtime/exec/cuda_driver.h knows more, and needs cuda.h.)
 */
#ifndef PIPC_PROLOG_GPU_DRIVER_H
#define PIPC_PROLOG_GPU_DRIVER_H

#include <stddef.h>

#include "runtime/base/error.h"

#define PIPC__GPU_DRIVER "libcuda.so.1"

enum {
    PIPC__GPU_SUCCESS = 0,
    PIPC__GPU_NO_DEVICE = 100,
    PIPC__GPU_NOT_READY = 600,
    PIPC__GPU_PEER_ENABLED = 704,
    PIPC__GPU_STREAM_NON_BLOCKING = 1,
    PIPC__GPU_EVENT_NO_TIMING = 2,
    PIPC__GPU_HOST_PORTABLE = 1,
    PIPC__GPU_P2P_NATIVE_ATOMICS = 3, /* over NVLink there are such, over PCIe not */
    PIPC__GPU_BDF_MAX = 32
};

typedef unsigned int pipc__gpu_rc_t; /* CUresult */
typedef int pipc__gpu_device_t;
typedef unsigned long long pipc__gpu_ptr_t;
typedef struct CUctx_st *pipc__gpu_context_t;
typedef struct CUstream_st *pipc__gpu_stream_t;
typedef struct CUevent_st *pipc__gpu_event_t;

/* F(member, symbol, arguments): all must be there. */
#define PIPC__GPU_FUNCTIONS(F)                                                                     \
    F(Init, cuInit, (unsigned int flags))                                                          \
    F(DriverGetVersion, cuDriverGetVersion, (int *version))                                        \
    F(GetErrorName, cuGetErrorName, (pipc__gpu_rc_t rc, const char **name))                        \
    F(GetErrorString, cuGetErrorString, (pipc__gpu_rc_t rc, const char **words))                   \
    F(DeviceGetCount, cuDeviceGetCount, (int *n))                                                  \
    F(DeviceGet, cuDeviceGet, (pipc__gpu_device_t * device, int i))                                \
    F(DeviceGetName, cuDeviceGetName, (char *name, int cap, pipc__gpu_device_t device))            \
    F(DeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *bdf, int cap, pipc__gpu_device_t device))     \
    F(DeviceGetByPCIBusId, cuDeviceGetByPCIBusId, (pipc__gpu_device_t * device, const char *bdf))  \
    F(DeviceCanAccessPeer, cuDeviceCanAccessPeer,                                                  \
      (int *can, pipc__gpu_device_t a, pipc__gpu_device_t b))                                      \
    F(DeviceGetP2PAttribute, cuDeviceGetP2PAttribute,                                              \
      (int *value, unsigned int which, pipc__gpu_device_t a, pipc__gpu_device_t b))                \
    F(PrimaryCtxRetain, cuDevicePrimaryCtxRetain,                                                  \
      (pipc__gpu_context_t * context, pipc__gpu_device_t device))                                  \
    F(PrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (pipc__gpu_device_t device))                \
    F(CtxSetCurrent, cuCtxSetCurrent, (pipc__gpu_context_t context))                               \
    F(CtxEnablePeerAccess, cuCtxEnablePeerAccess, (pipc__gpu_context_t peer, unsigned int flags))  \
    F(MemAlloc, cuMemAlloc_v2, (pipc__gpu_ptr_t * p, size_t bytes))                                \
    F(MemFree, cuMemFree_v2, (pipc__gpu_ptr_t p))                                                  \
    F(MemHostRegister, cuMemHostRegister_v2, (void *p, size_t bytes, unsigned int flags))          \
    F(MemHostUnregister, cuMemHostUnregister, (void *p))                                           \
    F(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                       \
      (pipc__gpu_ptr_t to, const void *from, size_t bytes, pipc__gpu_stream_t stream))             \
    F(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                                       \
      (void *to, pipc__gpu_ptr_t from, size_t bytes, pipc__gpu_stream_t stream))                   \
    F(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                                       \
      (pipc__gpu_ptr_t to, pipc__gpu_ptr_t from, size_t bytes, pipc__gpu_stream_t stream))         \
    F(MemsetD8Async, cuMemsetD8Async,                                                              \
      (pipc__gpu_ptr_t p, unsigned char value, size_t bytes, pipc__gpu_stream_t stream))           \
    F(StreamCreate, cuStreamCreate, (pipc__gpu_stream_t * stream, unsigned int flags))             \
    F(StreamDestroy, cuStreamDestroy_v2, (pipc__gpu_stream_t stream))                              \
    F(StreamQuery, cuStreamQuery, (pipc__gpu_stream_t stream))                                     \
    F(StreamSynchronize, cuStreamSynchronize, (pipc__gpu_stream_t stream))                         \
    F(StreamWaitEvent, cuStreamWaitEvent,                                                          \
      (pipc__gpu_stream_t stream, pipc__gpu_event_t event, unsigned int flags))                    \
    F(EventCreate, cuEventCreate, (pipc__gpu_event_t * event, unsigned int flags))                 \
    F(EventDestroy, cuEventDestroy_v2, (pipc__gpu_event_t event))                                  \
    F(EventRecord, cuEventRecord, (pipc__gpu_event_t event, pipc__gpu_stream_t stream))            \
    F(EventQuery, cuEventQuery, (pipc__gpu_event_t event))

typedef struct pipc__gpu_driver {
#define PIPC__GPU_MEMBER(member, symbol, args) pipc__gpu_rc_t(*member) args;
    PIPC__GPU_FUNCTIONS(PIPC__GPU_MEMBER)
#undef PIPC__GPU_MEMBER
} pipc__gpu_driver_t;

/* Open @library and start it (cuInit), once in a process; it stays open, as the driver keeps
 * threads and exit handlers of its own. PIPC_ERR_NOT_FOUND without it, PIPC_ERR_UNSUPPORTED where
 * it is too old, PIPC_ERR_CUDA where it has no usable GPU. */
pipc_status_t pipc__gpu_driver_open(const char *library, pipc__gpu_driver_t *cu,
                                    pipc__error_t *err);

/* PIPC_OK, or "GPU 0000:41:00.0: cuMemAlloc: out of memory (CUDA_ERROR_OUT_OF_MEMORY)" */
pipc_status_t pipc__gpu_check(const pipc__gpu_driver_t *cu, pipc__gpu_rc_t rc, const char *gpu,
                              const char *call, pipc__error_t *err);

/* As in PIPC__GPU_TRY(cu, "0000:41:00.0", err, MemFree, p) */
#define PIPC__GPU_TRY(cu, gpu, err, member, ...)                                                   \
    pipc__gpu_check((cu), (cu)->member(__VA_ARGS__), (gpu), "cu" #member, (err))

#endif
