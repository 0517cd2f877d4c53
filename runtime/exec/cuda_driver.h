/* exec/cuda_driver.h - the CUDA driver, opened at run time: no object of ours links libcuda or the
 * CUDA runtime, so everything also starts where there is no driver.
 */
#ifndef PIPC_EXEC_CUDA_DRIVER_H
#define PIPC_EXEC_CUDA_DRIVER_H

#include <cuda.h>

#include "runtime/base/error.h"

/* Every function that is used, by the exact symbol whose type this build knows. cuda.h's macros
 * must not choose it: they follow the toolkit of the build, and would bind a new symbol that an
 * older driver does not have. A member is called as cu->MemAlloc(...).
 *
 * F(member, symbol): must be there. */
#define PIPC__CUDA_FUNCTIONS(F)                                                                    \
    F(Init, cuInit)                                                                                \
    F(DriverGetVersion, cuDriverGetVersion)                                                        \
    F(GetErrorName, cuGetErrorName)                                                                \
    F(GetErrorString, cuGetErrorString)                                                            \
    F(DeviceGetCount, cuDeviceGetCount)                                                            \
    F(DeviceGet, cuDeviceGet)                                                                      \
    F(DeviceGetName, cuDeviceGetName)                                                              \
    F(DeviceGetAttribute, cuDeviceGetAttribute)                                                    \
    F(DeviceGetPCIBusId, cuDeviceGetPCIBusId)                                                      \
    F(DeviceGetByPCIBusId, cuDeviceGetByPCIBusId)                                                  \
    F(DeviceGetUuid, cuDeviceGetUuid_v2)                                                           \
    F(DeviceCanAccessPeer, cuDeviceCanAccessPeer)                                                  \
    F(DeviceGetP2PAttribute, cuDeviceGetP2PAttribute)                                              \
    F(DevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                            \
    F(DevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)                                       \
    F(CtxGetCurrent, cuCtxGetCurrent)                                                              \
    F(CtxSetCurrent, cuCtxSetCurrent)                                                              \
    F(CtxPushCurrent, cuCtxPushCurrent_v2)                                                         \
    F(CtxPopCurrent, cuCtxPopCurrent_v2)                                                           \
    F(CtxGetDevice, cuCtxGetDevice)                                                                \
    F(CtxEnablePeerAccess, cuCtxEnablePeerAccess)                                                  \
    F(MemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)                                                       \
    F(CtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange)                                      \
    F(MemAlloc, cuMemAlloc_v2)                                                                     \
    F(MemFree, cuMemFree_v2)                                                                       \
    F(MemGetAddressRange, cuMemGetAddressRange_v2)                                                 \
    F(MemGetInfo, cuMemGetInfo_v2)                                                                 \
    F(MemHostRegister, cuMemHostRegister_v2)                                                       \
    F(MemHostUnregister, cuMemHostUnregister)                                                      \
    F(MemHostGetDevicePointer, cuMemHostGetDevicePointer_v2)                                       \
    F(MemsetD8Async, cuMemsetD8Async)                                                              \
    F(MemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)                                                       \
    F(MemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)                                                       \
    F(IpcGetMemHandle, cuIpcGetMemHandle)                                                          \
    F(IpcOpenMemHandle, cuIpcOpenMemHandle_v2)                                                     \
    F(IpcCloseMemHandle, cuIpcCloseMemHandle)                                                      \
    F(StreamCreate, cuStreamCreate)                                                                \
    F(StreamCreateWithPriority, cuStreamCreateWithPriority)                                        \
    F(StreamDestroy, cuStreamDestroy_v2)                                                           \
    F(StreamSynchronize, cuStreamSynchronize)                                                      \
    F(StreamWaitEvent, cuStreamWaitEvent)                                                          \
    F(StreamIsCapturing, cuStreamIsCapturing)                                                      \
    F(ThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode)                          \
    F(StreamBeginCapture, cuStreamBeginCapture_v2)                                                 \
    F(StreamEndCapture, cuStreamEndCapture)                                                        \
    F(GraphInstantiate, cuGraphInstantiateWithFlags)                                               \
    F(GraphLaunch, cuGraphLaunch)                                                                  \
    F(GraphExecDestroy, cuGraphExecDestroy)                                                        \
    F(GraphDestroy, cuGraphDestroy)                                                                \
    F(EventCreate, cuEventCreate)                                                                  \
    F(EventDestroy, cuEventDestroy_v2)                                                             \
    F(EventRecord, cuEventRecord)                                                                  \
    F(EventRecordWithFlags, cuEventRecordWithFlags)                                                \
    F(EventQuery, cuEventQuery)                                                                    \
    F(EventSynchronize, cuEventSynchronize)                                                        \
    F(EventElapsedTime, cuEventElapsedTime)                                                        \
    F(ModuleLoadData, cuModuleLoadData)                                                            \
    F(ModuleUnload, cuModuleUnload)                                                                \
    F(ModuleGetFunction, cuModuleGetFunction)                                                      \
    F(FuncGetAttribute, cuFuncGetAttribute)                                                        \
    F(FuncSetAttribute, cuFuncSetAttribute)                                                        \
    F(OccupancyMaxActiveBlocks, cuOccupancyMaxActiveBlocksPerMultiprocessor)                       \
    F(LaunchKernel, cuLaunchKernel)

/* Newer functions, with the types of cuda.h of the driver that brought them; NULL without. */
typedef CUresult (*pipc__cuStreamGetId_t)(CUstream stream, unsigned long long *id); /* 12.0 */
typedef CUresult (*pipc__cuFuncLoad_t)(CUfunction function);                        /* 12.4 */
typedef CUresult (*pipc__cuLaunchKernelEx_t)(const CUlaunchConfig *config, CUfunction function,
                                             void **params, void **extra); /* 11.8 */
typedef CUresult (*pipc__cuStreamValue64_t)(CUstream stream, CUdeviceptr at, uint64_t value,
                                            unsigned int flags); /* 11.7 */
typedef CUresult (*pipc__cuStreamBatchMemOp_t)(CUstream stream, unsigned int count,
                                               CUstreamBatchMemOpParams *ops,
                                               unsigned int flags); /* 11.7 */
typedef CUresult (*pipc__cuStreamGetCaptureInfo_t)(CUstream stream, CUstreamCaptureStatus *status,
                                                   uint64_t *id, CUgraph *graph,
                                                   const CUgraphNode **ahead,
                                                   size_t *nahead); /* 11.3, as are those below */
typedef CUresult (*pipc__cuStreamUpdateCaptureDependencies_t)(CUstream stream, CUgraphNode *nodes,
                                                              size_t n, unsigned int flags);
typedef CUresult (*pipc__cuGraphAddEventRecordNode_t)(CUgraphNode *node, CUgraph graph,
                                                      const CUgraphNode *from, size_t nfrom,
                                                      CUevent event);
typedef CUresult (*pipc__cuGraphDependencies_t)(CUgraph graph, const CUgraphNode *from,
                                                const CUgraphNode *to, size_t n);

typedef struct pipc__cuda {
#define PIPC__CUDA_MEMBER(member, symbol) __typeof__(&symbol) member;
    PIPC__CUDA_FUNCTIONS(PIPC__CUDA_MEMBER)
#undef PIPC__CUDA_MEMBER
    pipc__cuStreamGetId_t StreamGetId;
    pipc__cuFuncLoad_t FuncLoad;
    pipc__cuLaunchKernelEx_t LaunchKernelEx;
    pipc__cuStreamValue64_t StreamWaitValue64, StreamWriteValue64;
    pipc__cuStreamBatchMemOp_t StreamBatchMemOp;
    pipc__cuStreamGetCaptureInfo_t StreamGetCaptureInfo;
    pipc__cuStreamUpdateCaptureDependencies_t StreamUpdateCaptureDependencies;
    pipc__cuGraphAddEventRecordNode_t GraphAddEventRecordNode;
    pipc__cuGraphDependencies_t GraphAddDependencies, GraphRemoveDependencies;
} pipc__cuda_t;

/* The driver, opened and initialised (cuInit) by the first call, from any thread; stays open. A
 * process that forks afterwards has no CUDA in its children: that is CUDA's rule.
 * PIPC_ERR_NOT_FOUND where there is no driver, PIPC_ERR_CUDA where it has no usable GPU. */
pipc_status_t pipc__cuda_open(const pipc__cuda_t **cu, pipc__error_t *err);

/* "cuMemAlloc of 4194304 bytes: out of memory (CUDA_ERROR_OUT_OF_MEMORY)": what was tried, as in
 * printf, and the driver's words for @rc. Returns PIPC_ERR_CUDA, or PIPC_ERR_NOMEM for that one. */
pipc_status_t pipc__cuda_fail(const pipc__cuda_t *cu, CUresult rc, pipc__error_t *err,
                              const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* PIPC_OK, or @call's failure by its name: PIPC__CUDA_TRY(cu, err, MemFree, ptr) */
#define PIPC__CUDA_TRY(cu, err, member, ...)                                                       \
    pipc__cuda_check((cu), (cu)->member(__VA_ARGS__), (err), "cu" #member)

static inline pipc_status_t pipc__cuda_check(const pipc__cuda_t *cu, CUresult rc,
                                             pipc__error_t *err, const char *call)
{
    return rc == CUDA_SUCCESS ? PIPC_OK : pipc__cuda_fail(cu, rc, err, "%s", call);
}

#endif
