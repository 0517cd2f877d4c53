/* tools/bench/peer.h - whom a measurement is compared with. Libraries of peers are opened at run time.
 */
#ifndef PIPC_BENCH_PEER_H
#define PIPC_BENCH_PEER_H

#include <pcie-ipc/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/comm/comm.h"

typedef struct bench_peer {
    const char *name; /* for --peer, and the table's column */
    bool on_gpu;      /* its buffers are on the GPU, and its calls can be captured */
    /* Open the library at @path (NULL: where it is expected), before there is a communicator. What
     * fails is kept for open(). */
    void (*start)(const char *path);
    /* Make the peer's communicator over the ranks of @comm. Collective. */
    pipc_status_t (*open)(pipc_comm_t *comm, pipc__error_t *err);
    /* One all-reduce; on a GPU it is enqueued. PIPC_ERR_UNSUPPORTED for what the peer has not. */
    pipc_status_t (*allreduce)(const void *send, void *recv, size_t count, pipc_dtype_t dtype,
                               pipc_redop_t op, void *stream, pipc__error_t *err);
    const char *(*version)(void); /* "NCCL 2.28.9" */
    void (*close)(void);          /* allowed when not open */
} bench_peer_t;

extern const bench_peer_t bench_peer_nccl, bench_peer_mpi;

/* Did @own (may be PIPC_OK) hold on every rank of @comm? Collective: all go on, or none. */
pipc_status_t bench_peer_agree(pipc_comm_t *comm, const char *name, const pipc__error_t *own,
                               pipc__error_t *err);

#endif
