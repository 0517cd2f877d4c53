/* rail/nccl_comm.h - an NCCL communicator of which no use holds a thread up for good: NCCL is
 * opened at run time, its communicator is non-blocking, and any thread may abort it.
 *
 * GPU work is enqueued and waits for peers on the GPU; what waits here on the host (a communicator
 * being made, connections of a first call) ends when gone(arg) says so or the communicator is
 * aborted.
 */
#ifndef PIPC_RAIL_NCCL_COMM_H
#define PIPC_RAIL_NCCL_COMM_H

#include <pcie-ipc/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/error.h"

#define PIPC__NCCL_VERSION_TEXT 16 /* bytes of "2.28.9", its end included */

typedef struct pipc__nccl_comm pipc__nccl_comm_t;

/* ncclUniqueId. */
typedef struct pipc__nccl_id {
    char internal[128]; /* NCCL_UNIQUE_ID_BYTES */
} pipc__nccl_id_t;

/* Has the caller no more use for what a function waits for? From the thread that waits. */
typedef bool pipc__nccl_gone_t(void *arg);

/* An all-reduce; in place where recv == send. */
typedef struct pipc__nccl_sum {
    const void *send;
    void *recv;
    size_t count;
    pipc_dtype_t dtype;
    pipc_redop_t op;
} pipc__nccl_sum_t;

/* Open the library at @path; NULL: libnccl.so.2, the one that the program has loaded if it has. The
 * library stays open for good. @given (NULL: none) is an ncclComm_t of the program's, which is
 * neither aborted nor destroyed here. PIPC_ERR_NOT_FOUND, UNSUPPORTED, NOMEM, CUDA. */
pipc_status_t pipc__nccl_comm_open(pipc__nccl_comm_t **comm, const char *path, void *given,
                                   pipc__error_t *err);

/* "2.28.9"; static while @comm lives. */
const char *pipc__nccl_comm_version(const pipc__nccl_comm_t *comm);

/* A new id, for one rank to hand to the others. NCCL keeps a thread for it. */
pipc_status_t pipc__nccl_comm_id(const pipc__nccl_comm_t *comm, pipc__nccl_id_t *id,
                                 pipc__error_t *err);

/* Make the communicator of @size ranks on the GPU of the current context; all of them do so. Takes
 * a minute at most: all are in the same step, so who takes longer has failed elsewhere.
 * PIPC_ERR_ABORTED: gone(arg), or aborted. */
pipc_status_t pipc__nccl_comm_init(pipc__nccl_comm_t *comm, const pipc__nccl_id_t *id, int rank,
                                   int size, pipc__nccl_gone_t *gone, void *arg,
                                   pipc__error_t *err);

/* Enqueue sum[n] on @stream (a CUstream or cudaStream_t), all ranks the same ones: by one launch of
 * NCCL's where it has groups. PIPC_ERR_UNSUPPORTED for a type or operation that NCCL has not. */
pipc_status_t pipc__nccl_comm_sum(pipc__nccl_comm_t *comm, const pipc__nccl_sum_t *sum, int n,
                                  void *stream, pipc__nccl_gone_t *gone, void *arg,
                                  pipc__error_t *err);

/* What went wrong since, without waiting: ncclCommGetAsyncError(). PIPC_OK where it goes on with
 * something; PIPC_ERR_PEER_LOST for ncclRemoteError, PIPC_ERR_ABORTED, PIPC_ERR_CUDA. */
pipc_status_t pipc__nccl_comm_poll(pipc__nccl_comm_t *comm, pipc__error_t *err);

/* End it: kernels of it that wait for peers end, with whatever they have. From any thread. */
void pipc__nccl_comm_abort(pipc__nccl_comm_t *comm);

/* Nothing of it runs any more, on any rank, and all do the same: send what is still on its way to
 * others, and release NCCL's communicator. Without limit of time but that of gone(arg), of an abort
 * and of NCCL's own errors. */
void pipc__nccl_comm_finish(pipc__nccl_comm_t *comm, pipc__nccl_gone_t *gone, void *arg);

/* Aborts what is not finished; NULL is allowed. */
void pipc__nccl_comm_close(pipc__nccl_comm_t *comm);

#endif
