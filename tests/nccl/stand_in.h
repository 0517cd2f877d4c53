/* tests/nccl/stand_in.h - NCCL's declarations as a program has them, for the programs of these
 * tests.
 */
#ifndef TESTS_NCCL_STAND_IN_H
#define TESTS_NCCL_STAND_IN_H

#include "runtime/nccl/abi.h"

/* What the tests need of a configuration; NCCL's goes on. */
struct ncclConfig {
    size_t size;
    unsigned int magic, version;
    int blocking;
};

#define DECLARE(name, args) ncclResult_t nccl##name args;
PIPC__NCCL_FUNCTIONS(DECLARE)
#undef DECLARE
ncclResult_t ncclGetVersion(int *version);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclBroadcast(const void *, void *, size_t, int, int, ncclComm_t, ncclStream_t);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window);
const char *ncclGetErrorString(ncclResult_t rc);
ncclResult_t pncclAllReduce(const void *, void *, size_t, int, int, ncclComm_t, ncclStream_t);

/* Set to N the process's N-th call on a communicator takes its time, and sets the other. */
extern _Atomic int stand_in_pause_at, stand_in_paused;

#endif
