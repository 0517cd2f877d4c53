/* tools/bench/peer.h - whom a measurement is compared with. Libraries of peers are opened at run
 * time.
 *
 * A peer has variants: ways in which it can do the same, each timed beside the others. They are
 * numbered alike on all ranks and nodes; one that can't be had here is not usable, and why is
 * noted.
 */
#ifndef PIPC_BENCH_PEER_H
#define PIPC_BENCH_PEER_H

#include <pcie-ipc/types.h>
#include <stdbool.h>
#include <stddef.h>

#include "runtime/comm/comm.h"
#include "runtime/tools/bench/device.h"

typedef struct bench_peer {
    const char *name; /* for --peer, and the table's column */
    bool on_gpu;      /* its buffers are on the GPU, and its calls can be captured */
    /* Take what follows "NAME:" in --peer, borrowed for good; NULL without. False when it is wrong.
     */
    bool (*parse)(const char *spec);
    const char *wants; /* what parse() takes, for the message */
    /* Open the library, before there is a communicator. What fails is kept for open(). */
    void (*start)(void);
    /* Make the peer's communicators over the ranks of @comm, for messages of up to @bytes.
     * Collective; fails when no variant that was asked for can be had. */
    pipc_status_t (*open)(pipc_comm_t *comm, const bench_device_t *device, size_t bytes,
                          pipc__error_t *err);
    int (*variants)(void);         /* 1 to BENCH_VARIANTS_MAX */
    const char *(*variant)(int v); /* its name: "ring-ll" */
    bool (*usable)(int v);         /* after open(): it was asked for, and is there */
    const char *(*why_not)(int v); /* after open(): it was asked for, and is not there; else NULL */
    /* One all-reduce; on a GPU it is enqueued. PIPC_ERR_UNSUPPORTED for what the peer has not. */
    pipc_status_t (*allreduce)(int v, const void *send, void *recv, size_t count,
                               pipc_dtype_t dtype, pipc_redop_t op, void *stream,
                               pipc__error_t *err);
    /* Replace the buffers by the variant's own, if it has some. NULL: none has. */
    void (*buffers)(int v, void **send, void **recv);
    const char *(*version)(void); /* "NCCL 2.28.9" */
    void (*close)(void);          /* allowed when not open */
} bench_peer_t;

extern const bench_peer_t bench_peer_nccl, bench_peer_mpi;

/* How many variants were asked for and are there. */
int bench_peer_usable(const bench_peer_t *peer);

/* Did @own (may be PIPC_OK) hold on every rank of @comm? Collective: all go on, or none. */
pipc_status_t bench_peer_agree(pipc_comm_t *comm, const char *name, const pipc__error_t *own,
                               pipc__error_t *err);

#endif
