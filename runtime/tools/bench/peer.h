/* tools/bench/peer.h - NCCL as the peer of a measurement, opened at run time.
 */
#ifndef PIPC_BENCH_PEER_H
#define PIPC_BENCH_PEER_H

#include <pcie-ipc/types.h>
#include <stddef.h>

#include "runtime/comm/comm.h"

/* Open the library at @path and make an NCCL communicator over the ranks of @comm. Collective. */
pipc_status_t bench_nccl_open(const char *path, pipc_comm_t *comm, pipc__error_t *err);

/* Enqueue one ncclAllReduce (sum). */
pipc_status_t bench_nccl_allreduce(const void *send, void *recv, size_t count, pipc_dtype_t dtype,
                                   void *stream, pipc__error_t *err);

/* "NCCL 2.28.9" */
const char *bench_nccl_version(void);

void bench_nccl_close(void); /* allowed when not open */

#endif
