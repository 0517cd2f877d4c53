/* nccl/abi.h - the few declarations of NCCL's that the hook needs, so that nothing builds against
 * its header; names and values are those of nccl.h. tests/nccl/abi.t compares with the real one.
 */
#ifndef PIPC_NCCL_ABI_H
#define PIPC_NCCL_ABI_H

#include <stddef.h>

typedef int ncclResult_t;
typedef void *ncclComm_t;
typedef void *ncclWindow_t;
typedef void *ncclStream_t; /* cudaStream_t */
typedef struct ncclConfig ncclConfig_t;
typedef struct ncclSimInfo ncclSimInfo_t;
typedef struct ncclUniqueId {
    char internal[128];
} ncclUniqueId;

enum {
    ncclSuccess = 0,
    ncclUnhandledCudaError = 1,
    ncclSystemError = 2,
    ncclInternalError = 3,
    ncclInvalidArgument = 4,
    ncclInvalidUsage = 5,
    ncclRemoteError = 6,
    ncclInProgress = 7
};

enum { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4 };

enum {
    ncclInt8 = 0,
    ncclUint8 = 1,
    ncclInt32 = 2,
    ncclUint32 = 3,
    ncclInt64 = 4,
    ncclUint64 = 5,
    ncclFloat16 = 6,
    ncclFloat32 = 7,
    ncclFloat64 = 8,
    ncclBfloat16 = 9
};

#define NCCL_SHRINK_ABORT 1

/* Every function of NCCL's that is called or stood in front of: NAME, arguments. */
#define PIPC__NCCL_FUNCTIONS(F)                                                                    \
    F(AllReduce, (const void *, void *, size_t, int, int, ncclComm_t, ncclStream_t))               \
    F(AllGather, (const void *, void *, size_t, int, ncclComm_t, ncclStream_t))                    \
    F(GroupStart, (void))                                                                          \
    F(GroupEnd, (void))                                                                            \
    F(GroupSimulateEnd, (ncclSimInfo_t *))                                                         \
    F(CommInitRank, (ncclComm_t *, int, ncclUniqueId, int))                                        \
    F(CommInitRankConfig, (ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *))                  \
    F(CommInitRankScalable, (ncclComm_t *, int, int, int, ncclUniqueId *, ncclConfig_t *))         \
    F(CommInitAll, (ncclComm_t *, int, const int *))                                               \
    F(CommSplit, (ncclComm_t, int, int, ncclComm_t *, ncclConfig_t *))                             \
    F(CommShrink, (ncclComm_t, int *, int, ncclComm_t *, ncclConfig_t *, int))                     \
    F(CommGrow, (ncclComm_t, int, const ncclUniqueId *, int, ncclComm_t *, ncclConfig_t *))        \
    F(CommFinalize, (ncclComm_t))                                                                  \
    F(CommDestroy, (ncclComm_t))                                                                   \
    F(CommAbort, (ncclComm_t))                                                                     \
    F(CommRevoke, (ncclComm_t, int))                                                               \
    F(CommSuspend, (ncclComm_t, int))                                                              \
    F(CommResume, (ncclComm_t))                                                                    \
    F(CommGetAsyncError, (ncclComm_t, ncclResult_t *))                                             \
    F(CommWindowRegister, (ncclComm_t, void *, size_t, ncclWindow_t *, int))                       \
    F(CommCount, (ncclComm_t, int *))                                                              \
    F(CommCuDevice, (ncclComm_t, int *))                                                           \
    F(CommUserRank, (ncclComm_t, int *))

#endif
