/* pcie-ipc/comm.h - communicators and AllReduce.
 *
 * A communicator joins 1 to 16 processes ("ranks") of one node, or of each of up to 1024 nodes where
 * they are on CPUs and UCX is there. Calls on it are collective and must come in the same order with
 * the same arguments on every rank, except where a function says otherwise. A live peer that is late is waited for without limit; a peer whose process ends is
 * noticed at once and every rank gets an error that names it. A whole program: doc/example.c.
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
#include <stdint.h>

#include <pcie-ipc/status.h>
#include <pcie-ipc/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers. 0.1.0 is 100. */
#define PIPC_VERSION_MAJOR 0
#define PIPC_VERSION_MINOR 1
#define PIPC_VERSION_PATCH 0
#define PIPC_VERSION_STRING "0.1.0"
#define PIPC_VERSION_NUMBER                                                                        \
    (PIPC_VERSION_MAJOR * 10000 + PIPC_VERSION_MINOR * 100 + PIPC_VERSION_PATCH)

/* The PIPC_VERSION_NUMBER of the library that the program runs with. */
PIPC_EXPORT int pipc_version(void);

/* --- the log ---------------------------------------------------------------------------------- */

typedef enum pipc_log_level {
    PIPC_LOG_ERROR = 0,
    PIPC_LOG_WARN = 1,
    PIPC_LOG_INFO = 2,
    PIPC_LOG_DEBUG = 3
} pipc_log_level_t;

/* Called with one complete line: no newline, no prefix. From any thread, also from two at once;
 * must not call pcie-ipc. @line is borrowed for the call. */
typedef void (*pipc_log_fn_t)(void *arg, pipc_log_level_t level, const char *line);

/* The library gives lines to @fn (NULL: to nobody) and prints none itself. For the whole process; set
 * it before the first communicator exists. Where this is never called, nobody gets them, but with
 * PCIE_IPC_VERBOSE=1, which srun --pcie-ipc=verbose sets, they go to standard error. */
PIPC_EXPORT void pipc_set_log(pipc_log_fn_t fn, void *arg);

/* --- communicators ---------------------------------------------------------------------------- */

typedef struct pipc_comm pipc_comm_t;

typedef enum pipc_backend {
    PIPC_BACKEND_AUTO = 0, /* CUDA where the calling thread has a current CUDA context, else CPU */
    PIPC_BACKEND_CPU = 1,  /* buffers in host memory; calls return when the result is there */
    PIPC_BACKEND_CUDA = 2  /* buffers on the current context's GPU; calls enqueue on a stream */
} pipc_backend_t;

typedef enum pipc_scope {
    PIPC_SCOPE_JOB = 0, /* all ranks of the job step, on whatever nodes; on several those on CPUs alone */
    PIPC_SCOPE_NODE = 1 /* the ranks of the step on this node: one communicator a node */
} pipc_scope_t;

/* How the ranks find each other. */
typedef enum pipc_exchange {
    PIPC_EXCHANGE_AUTO = 0,     /* the callbacks where given; else PMIx where it answers; else the
                                   socket where PCIE_IPC_DIR is set; else a lone rank is a group of
                                   one, and more than one get an error */
    PIPC_EXCHANGE_PMIX = 1,     /* srun --mpi=pmix, or another launcher with PMIx */
    PIPC_EXCHANGE_SOCKET = 2,   /* a socket in PCIE_IPC_DIR, which the plugin of srun --pcie-ipc makes
                                   and exports: the ranks of a step on one node */
    PIPC_EXCHANGE_CALLBACKS = 3 /* a collective of the program's own: MPI, ... */
} pipc_exchange_t;

/* By which memory the ranks reach each other. */
typedef enum pipc_path {
    PIPC_PATH_AUTO = 0, /* the environment's PCIE_IPC_PATH (auto, p2p, host), else each pair by P2P
                           where a probe finds that every byte comes, and by host memory elsewhere */
    PIPC_PATH_P2P = 1,  /* each other's device memory; an error where the probe finds a pair that can't */
    PIPC_PATH_HOST = 2  /* host memory between all of them, which every GPU reaches; slower */
} pipc_path_t;

/* A collective of the program's, by which ranks exchange small records while a communicator is
 * made. The ranks 0 .. size - 1 that it joins are the ranks of the communicator. With GPUs they must
 * be on one node: with MPI, those of MPI_Comm_split_type(MPI_COMM_TYPE_SHARED). See
 * doc/example-mpi.c. */
typedef struct pipc_callbacks {
    size_t struct_bytes; /* sizeof(pipc_callbacks_t) */
    int rank, size;
    /* Give the @bytes at @mine, get everybody's in rank order: all[size * bytes]. Collective and
     * blocking; called a few times with up to some kilobytes, the same number on every rank, on the
     * thread that calls pipc_comm_create() and never after that has returned. @mine and @all belong
     * to pcie-ipc. Returns 0, or another value that the error text repeats; then it must fail on
     * every rank, for the others would wait. */
    int (*allgather)(void *ctx, const void *mine, size_t bytes, void *all);
    void *ctx; /* handed to allgather(); the program's */
} pipc_callbacks_t;

#define PIPC_CALLBACKS_INIT {sizeof(pipc_callbacks_t), 0, 0, NULL, NULL}

/* Initialise with PIPC_COMM_CONFIG_INIT, then set fields: later versions append fields, and
 * struct_bytes tells which ones the program was built with. */
typedef struct pipc_comm_config {
    size_t struct_bytes;    /* sizeof(pipc_comm_config_t) */
    pipc_backend_t backend;
    pipc_scope_t scope;     /* not read with callbacks */
    const char *plan;       /* "auto": by size, as the table says; or "one-shot", "island", ...; with
                               CUDA "nccl"; NULL: the environment's PCIE_IPC_PLAN, else "auto".
                               Borrowed */
    size_t staging_bytes;   /* staging memory of this rank, bytes; 0: 64 MiB on a GPU, 8 MiB on a CPU.
                               On a GPU it holds 4 MiB for small messages; of the rest
                               two ranks have a half for push, more ranks for plans step by step;
                               the other half is for the other one and copy engines. 8 MiB at
                               least there, rounded up to whole 2 MiB. The same on every rank */
    pipc_exchange_t exchange; /* AUTO without callbacks: the environment's PCIE_IPC_EXCHANGE (auto,
                                 pmix, socket), else AUTO */
    unsigned int tag;       /* socket only: threads that create communicators at the same time give
                               each its own, the same on every rank. In one tag, and with PMIx
                               altogether, ranks create communicators in the same order */
    const pipc_callbacks_t *callbacks; /* NULL: none. Borrowed until pipc_comm_create() returns */
    pipc_path_t path;       /* the same on every rank */
    void *nccl_comm;        /* an ncclComm_t of the program's over the same ranks in the same order,
                               for the sizes that NCCL does, or NULL: the library makes its own where
                               it needs one. On every rank or on none; of the libnccl.so.2 that the
                               process has loaded. Borrowed until pipc_comm_destroy() returns; a loss
                               of a rank does not abort it: that is the program's */
    int sms;                /* CUDA: multiprocessors that a call may use, PIPC_SMS_MAX for all; 0: the
                               environment's PCIE_IPC_SMS (a number, or max), else a quarter of the
                               GPU's. The same on every rank */
    int leave_nccl;         /* 1: what the table gives to NCCL is the program's to do by itself: no NCCL
                               is opened, and pipc_allreduce() does nothing and returns PIPC_LEFT
                               there. 0 or 1; the same on every rank; not together with nccl_comm */
} pipc_comm_config_t;

#define PIPC_SMS_MAX (-1)

#define PIPC_COMM_CONFIG_INIT                                                                      \
    {sizeof(pipc_comm_config_t), PIPC_BACKEND_AUTO, PIPC_SCOPE_JOB, NULL, 0, PIPC_EXCHANGE_AUTO, 0, \
     NULL, PIPC_PATH_AUTO, NULL, 0, 0}

/* Create a communicator over the ranks that @config's scope, or the callbacks, name. PMIx is
 * finalised again before this returns.
 *
 * Collective over the ranks of the communicator; with PMIx over all ranks of the job step, also with
 * PIPC_SCOPE_NODE. A rank that has not come yet is waited for without limit. Either every rank of the
 * communicator gets PIPC_OK or every one gets an error (those of a rank that ended excepted).
 * On success *comm is the caller's, who releases it with pipc_comm_destroy(); on failure *comm is
 * NULL and pipc_last_error() says why. @config NULL means the defaults.
 *
 * CUDA: needs a current context on the calling thread; all memory, streams and events are made and
 * all kernels loaded here.
 *
 * Any thread. Where PCIE_IPC_WANTED says that srun was asked for --pcie-ipc and the plugin left no
 * mark of its own version on this task, a line in the log says so.
 *
 * PIPC_LEFT: with leave_nccl, the table gives every size to NCCL, so there is no communicator.
 * Over several nodes: ranks of one node, by boot id and host name, meet in memory as ever; over that
 * some of each node are joined with those of the others by UCX, GPUs by NCCL (opened at run time), which take
 * what UCX_NET_DEVICES and NCCL_IB_HCA say. Every node has the same table, or none gets a communicator. GPUs
 * leave all to NCCL unless a table of the machine's or PCIE_IPC_PLAN names a plan over nodes.
 *
 * PIPC_ERR_INVALID, NOMEM, SYSTEM, UNSUPPORTED (several nodes and no UCX, more than 16 ranks on a
 * node, backend not built in), EXCHANGE (nothing to meet by, or it failed), MISMATCH (ranks disagree), UNREACHABLE (a
 * peer's memory can't be mapped), PEER_LOST, CUDA. */
PIPC_EXPORT pipc_status_t pipc_comm_create(pipc_comm_t **comm, const pipc_comm_config_t *config);

/* recv[i] = @op over ranks of send[i], for i < count; bit-identical on every rank and in every run.
 *
 * @send, @recv  arrays of @count elements of @dtype, any alignment (where NCCL does the call, that of
 *               an element); the same pointer for in place, no other overlap. Host memory (CPU) or memory of the communicator's GPU (CUDA).
 * @count        elements, 0 allowed; the same on every rank, as are @dtype and @op.
 * @stream       CUDA: a CUstream or cudaStream_t of the communicator's context, NULL is the default
 *               stream. The buffers belong to the call until the stream reaches its end. CPU: NULL.
 *
 * What each type and operation means is in <pcie-ipc/types.h>.
 *
 * CPU: returns when recv is complete, or PIPC_ERR_PEER_LOST / ABORTED (then recv is undefined).
 * CUDA: returns once enqueued; never allocates, loads or synchronises. What goes wrong later shows
 * in pipc_comm_async_error() and in later calls.
 * PIPC_ERR_INVALID: an argument is wrong, or the stream is in a capture that has failed before; nothing
 * was done, and the communicator is as it was.
 * PIPC_LEFT: with leave_nccl, see there; on every rank alike.
 * After the first other error the communicator is dead: every later call returns it again. */
PIPC_EXPORT pipc_status_t pipc_allreduce(pipc_comm_t *comm, const void *send, void *recv, size_t count,
                             pipc_dtype_t dtype, pipc_redop_t op, void *stream);

/* Has the communicator failed since? *async gets PIPC_OK or the error; pipc_last_error() has its
 * text. Not collective, does not wait, any thread. Returns PIPC_ERR_INVALID for NULL arguments. */
PIPC_EXPORT pipc_status_t pipc_comm_async_error(pipc_comm_t *comm, pipc_status_t *async);

/* Has anything that was enqueued not come to its end yet? *pending gets 1 or 0; 1 also while another
 * thread is in a call. Not collective, does not wait, any thread. PIPC_ERR_INVALID for NULL arguments,
 * or what went wrong. */
PIPC_EXPORT pipc_status_t pipc_comm_pending(pipc_comm_t *comm, int *pending);

/* Kill the communicator on every rank: pending and later calls end with PIPC_ERR_ABORTED; ranks of
 * other nodes hear of it at their next call, or when they ask pipc_comm_async_error(). Not
 * collective, does not wait, any thread. The communicator must still be destroyed. */
PIPC_EXPORT pipc_status_t pipc_comm_abort(pipc_comm_t *comm);

/* Release @comm (NULL is allowed). Collective as long as the communicator is alive: waits for what
 * was enqueued and for all ranks; on a dead one it waits for nobody. Graphs that hold its calls have
 * to be destroyed before: NCCL, where it did some of them, waits for that. Always releases; the
 * status says whether everything had gone well. */
PIPC_EXPORT pipc_status_t pipc_comm_destroy(pipc_comm_t *comm);

/* This rank's index in the communicator, and the number of ranks, over all nodes. -1 for NULL. */
PIPC_EXPORT int pipc_comm_rank(const pipc_comm_t *comm);
PIPC_EXPORT int pipc_comm_size(const pipc_comm_t *comm);

#define PIPC_STATS_PLANS 16

/* What was asked of a communicator. Set struct_bytes; later versions append fields. */
typedef struct pipc_comm_stats {
    size_t struct_bytes;   /* sizeof(pipc_comm_stats_t) */
    uint64_t calls, bytes; /* of pipc_allreduce() that returned PIPC_OK, and their buffers' bytes */
    int plans;             /* entries of plan[] that are filled */
    struct {
        const char *name; /* "one-shot", ...: static */
        uint64_t calls, bytes;
    } plan[PIPC_STATS_PLANS];
    int pairs_p2p, pairs_host; /* pairs of this node's ranks, each direction one, that meet in device memory (CPU:
                                  in each other's segments) and in host memory */
} pipc_comm_stats_t;

#define PIPC_COMM_STATS_INIT {sizeof(pipc_comm_stats_t), 0, 0, 0, {{NULL, 0, 0}}, 0, 0}

/* Fill the first struct_bytes bytes of @stats. A call with count 0 counts, but under no plan; one
 * that was captured in a graph counts once, when it was captured. Not collective, does not wait, any
 * thread. PIPC_ERR_INVALID for NULL, or a struct_bytes that is 0 or larger than this library knows. */
PIPC_EXPORT pipc_status_t pipc_comm_stats(const pipc_comm_t *comm, pipc_comm_stats_t *stats);

/* Count an AllReduce of @bytes that the program gave to NCCL by itself, and @why (static text, as "in a
 * group"), in the report that the environment's PCIE_IPC_REPORT asks for. For one rank of a communicator,
 * the one that its report is to come from. Does nothing where none is asked for. Any thread. */
PIPC_EXPORT void pipc_report_nccl(const char *why, size_t bytes);

/* The text of the last error that a pcie-ipc call returned on this thread: object, cause, remedy.
 * "" when there was none. Valid until the thread's next failing call. */
PIPC_EXPORT const char *pipc_last_error(void);

#ifdef __cplusplus
}
#endif
#endif
