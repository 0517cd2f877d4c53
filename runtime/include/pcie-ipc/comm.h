/* pcie-ipc/comm.h - communicators and AllReduce.
 *
 * A communicator joins 1 to 16 processes ("ranks") of one node. Calls on it are collective and must
 * come in the same order with the same arguments on every rank, except where a function says
 * otherwise. A live peer that is late is waited for without limit; a peer whose process ends is
 * noticed at once and every rank gets an error that names it.
 *
 *     pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;
 *     pipc_comm_t *comm;
 *     if (pipc_comm_create(&comm, &config)) { fprintf(stderr, "%s\n", pipc_last_error()); exit(1); }
 *     pipc_allreduce(comm, send, recv, count, PIPC_F32, PIPC_SUM, stream);
 *     pipc_comm_destroy(comm);
 *
 * Copyright (c) 2026, the pcie-ipc authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef PCIE_IPC_COMM_H
#define PCIE_IPC_COMM_H

#include <stddef.h>

#include <pcie-ipc/status.h>
#include <pcie-ipc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pipc_comm pipc_comm_t;

typedef enum pipc_backend {
    PIPC_BACKEND_AUTO = 0, /* CUDA where the calling thread has a current CUDA context, else CPU */
    PIPC_BACKEND_CPU = 1,  /* buffers in host memory; calls return when the result is there */
    PIPC_BACKEND_CUDA = 2  /* buffers on the current context's GPU; calls enqueue on a stream */
} pipc_backend_t;

typedef enum pipc_scope {
    PIPC_SCOPE_JOB = 0, /* all ranks of the job step; refused when they are on several nodes */
    PIPC_SCOPE_NODE = 1 /* the ranks of the step on this node: one communicator a node */
} pipc_scope_t;

/* Initialise with PIPC_COMM_CONFIG_INIT, then set fields: later versions append fields, and
 * struct_bytes tells which ones the program was built with. */
typedef struct pipc_comm_config {
    size_t struct_bytes;    /* sizeof(pipc_comm_config_t) */
    pipc_backend_t backend;
    pipc_scope_t scope;
    const char *plan;       /* NULL or "auto": by size; else "one-shot" or "two-shot". Borrowed */
    size_t staging_bytes;   /* staging memory of this rank, bytes; 0: 64 MiB on a GPU, 8 MiB on a CPU.
                               Rounded to whole 2 MiB on a GPU. The same on every rank */
} pipc_comm_config_t;

#define PIPC_COMM_CONFIG_INIT {sizeof(pipc_comm_config_t), PIPC_BACKEND_AUTO, PIPC_SCOPE_JOB, NULL, 0}

/* Create a communicator over the ranks that @config's scope names. The ranks find each other through
 * PMIx (srun --mpi=pmix), which is finalised again before this returns.
 *
 * Collective over all ranks of the job step, also with PIPC_SCOPE_NODE. Either every rank of the
 * communicator gets PIPC_OK or every one gets an error (those of a rank that ended excepted).
 * On success *comm is the caller's, who releases it with pipc_comm_destroy(); on failure *comm is
 * NULL and pipc_last_error() says why. @config NULL means the defaults.
 *
 * CUDA: needs a current context on the calling thread; all memory, streams and events are made and
 * all kernels loaded here.
 *
 * PIPC_ERR_INVALID, NOMEM, SYSTEM, UNSUPPORTED (several nodes, more than 16 ranks, backend not
 * built in), EXCHANGE (no PMIx), MISMATCH (ranks disagree), UNREACHABLE (a peer's memory can't be
 * mapped), PEER_LOST, CUDA. */
PIPC_EXPORT pipc_status_t pipc_comm_create(pipc_comm_t **comm, const pipc_comm_config_t *config);

/* recv[i] = sum over ranks of send[i], for i < count; bit-identical on every rank and in every run.
 *
 * @send, @recv  arrays of @count elements of @dtype, any alignment; the same pointer for in place,
 *               no other overlap. Host memory (CPU) or memory of the communicator's GPU (CUDA).
 * @count        elements, 0 allowed; the same on every rank, as are @dtype and @op.
 * @stream       CUDA: a CUstream or cudaStream_t of the communicator's context, NULL is the default
 *               stream. The buffers belong to the call until the stream reaches its end. CPU: NULL.
 *
 * f16 accumulates in binary32 in rank order and rounds once; i32 wraps modulo 2^32.
 *
 * CPU: returns when recv is complete, or PIPC_ERR_PEER_LOST / ABORTED (then recv is undefined).
 * CUDA: returns once enqueued; never allocates, loads or synchronises. What goes wrong later shows
 * in pipc_comm_async_error() and in later calls.
 * After the first such error the communicator is dead: every later call returns it again. */
PIPC_EXPORT pipc_status_t pipc_allreduce(pipc_comm_t *comm, const void *send, void *recv, size_t count,
                             pipc_dtype_t dtype, pipc_redop_t op, void *stream);

/* Has the communicator failed since? *async gets PIPC_OK or the error; pipc_last_error() has its
 * text. Not collective, does not wait, any thread. Returns PIPC_ERR_INVALID for NULL arguments. */
PIPC_EXPORT pipc_status_t pipc_comm_async_error(pipc_comm_t *comm, pipc_status_t *async);

/* Kill the communicator on every rank: pending and later calls end with PIPC_ERR_ABORTED. Not
 * collective, does not wait, any thread. The communicator must still be destroyed. */
PIPC_EXPORT pipc_status_t pipc_comm_abort(pipc_comm_t *comm);

/* Release @comm (NULL is allowed). Collective as long as the communicator is alive: waits for what
 * was enqueued and for all ranks; on a dead one it waits for nobody. Always releases; the status
 * says whether everything had gone well. */
PIPC_EXPORT pipc_status_t pipc_comm_destroy(pipc_comm_t *comm);

/* This rank's index in the communicator, and the number of ranks. -1 for NULL. */
PIPC_EXPORT int pipc_comm_rank(const pipc_comm_t *comm);
PIPC_EXPORT int pipc_comm_size(const pipc_comm_t *comm);

/* The text of the last error that a pcie-ipc call returned on this thread: object, cause, remedy.
 * "" when there was none. Valid until the thread's next failing call. */
PIPC_EXPORT const char *pipc_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
