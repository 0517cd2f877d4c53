/* rail/rail.h - what carries sums between nodes, where no rank reaches another's memory.
 *
 * Each node adds up what its ranks have; then each of a few ranks a node, its owners, has a part of
 * the message that the same owner of every other node has, too. These make a rail:
 *
 *     node 0   rank 0   rank 1  ...      owner l of each node
 *                 |        |
 *              rail 0   rail 1           an all-reduce each, in place, over the nodes
 *                 |        |
 *     node 1   rank 2   rank 3  ...
 *
 * A rank is on one rail or on none. Jobs of a rail are started in the same order on every node. The
 * sum has the same bits on every node: an engine adds in an order that nodes do not see
 * differently.
 */
#ifndef PIPC_RAIL_RAIL_H
#define PIPC_RAIL_RAIL_H

#include <pcie-ipc/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

#define PIPC__RAIL_ADDRESS_MAX                                                                     \
    1024 /* bytes of an engine's address, which travels in a rank's record */
#define PIPC__RAIL_NODES_MAX 1024
#define PIPC__RAIL_JOBS_MAX 64 /* that are on their way at a time */

typedef struct pipc__rail pipc__rail_t;

typedef struct pipc__rail_address {
    uint32_t bytes; /* 0: this rank has none */
    uint8_t data[PIPC__RAIL_ADDRESS_MAX];
} pipc__rail_address_t;

/* How an engine adds: to[i] = to[i] op from[i], rounded to @dtype. Of an average the sum. Given by
 * the caller, since sums are the executor's. */
typedef void pipc__rail_sum_t(void *to, const void *from, size_t count, pipc_dtype_t dtype,
                              pipc_redop_t op);

/* One piece of a message, reduced in place over the nodes. */
typedef struct pipc__rail_job {
    void *data; /* count elements, the engine's until the job is done */
    size_t count;
    pipc_dtype_t dtype;
    pipc_redop_t op;
    size_t message; /* bytes of all pieces that the rail gets of it; 0: this one alone; SIZE_MAX:
                       so many that nothing but bytes counts */
} pipc__rail_job_t;

typedef struct pipc__rail_ops {
    const char *name; /* "ucx", "nccl" */
    /* Make the own end and its address. @self: the number of the own node. @sum: of engines that
     * add here; else it is not read. */
    pipc_status_t (*open)(pipc__rail_t **rail, pipc__rail_address_t *address, int self,
                          pipc__rail_sum_t *sum, pipc__error_t *err);
    /* The own rail: address and name ("rank 12 on n3") of its rank on each of @nodes nodes, the own
     * at @self. Names are copied. May connect lazily; not collective. */
    pipc_status_t (*connect)(pipc__rail_t *rail, int self, int nodes,
                             const pipc__rail_address_t *const *peers, const char *const *names,
                             pipc__error_t *err);

    /* --- engines of the CPU's memory; NULL in others --- */

    /* Begin a job; *id (0 to PIPC__RAIL_JOBS_MAX - 1) is its number until it is done. Does not
     * wait. PIPC_ERR_INVALID when as many are on their way. */
    pipc_status_t (*start)(pipc__rail_t *rail, const pipc__rail_job_t *job, int *id,
                           pipc__error_t *err);
    /* Go on with all jobs, without waiting; has job @id ended? Then its number is free. After an
     * error the data of all jobs is the engine's until close(). A node that is lost, and will not
     * come back, is PIPC_ERR_PEER_LOST with its name in @err, then and for every later call. */
    pipc_status_t (*poll)(pipc__rail_t *rail, int id, bool *done, pipc__error_t *err);
    /* This node gives up: the jobs of all nodes end with @status and @text ("rank 5 on n2 has
     * ended"), as far as they wait for this one, or for another that does. An engine does so itself
     * when it loses a node. The first reason counts. */
    void (*tell)(pipc__rail_t *rail, pipc_status_t status, const char *text);
    /* Sleep until there may be something to go on with, @usec at most: a thread that waits for a
     * slow node must not burn. */
    void (*rest)(pipc__rail_t *rail, int usec);

    /* --- engines of GPUs, whose jobs are enqueued on a stream; NULL in others --- */

    /* Once connected, and known that every node has come so far: make ready for jobs. All ranks of
     * the rail do so, with the GPU's context current, and wait for each other. */
    pipc_status_t (*join)(pipc__rail_t *rail, pipc__error_t *err);
    /* Enqueue jobs[n], n > 0, on @stream (a CUstream); all nodes the same ones. Waits for no job. */
    pipc_status_t (*enqueue)(pipc__rail_t *rail, const pipc__rail_job_t *jobs, int n, void *stream,
                             pipc__error_t *err);
    /* From any thread: end all jobs, and let what waits in join() and enqueue() go. What is enqueued
     * behind a job runs then, with nonsense. */
    void (*stop)(pipc__rail_t *rail);
    /* All jobs have ended, on all nodes: send what is still on its way to others. Ends by stop(),
     * too. Without it close() stops all. */
    void (*finish)(pipc__rail_t *rail);

    /* --- both --- */

    /* What has come: PIPC_OK, or why this rail has failed. With no job on its way "ucx" sees that a
     * node gave up, and not that one is lost. "nccl", from any thread, sees that one is lost or gave
     * up when NCCL does, and names all other ends, since it can't tell which it is. NULL: the engine
     * hears nothing between jobs. */
    pipc_status_t (*look)(pipc__rail_t *rail, pipc__error_t *err);
    /* Waits for nobody, but a second at most for the own last messages to be on their way. Nodes
     * that need nothing more from this one go on. NULL is allowed. */
    void (*close)(pipc__rail_t *rail);
} pipc__rail_ops_t;

extern const pipc__rail_ops_t pipc__rail_ucx; /* only in builds with UCX */
extern const pipc__rail_ops_t pipc__rail_nccl;

#endif
