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
    size_t message; /* bytes of all pieces that the rail gets of it; 0: this one alone */
} pipc__rail_job_t;

typedef struct pipc__rail_ops {
    const char *name; /* "ucx" */
    /* Make the own end and its address. */
    pipc_status_t (*open)(pipc__rail_t **rail, pipc__rail_address_t *address, pipc__rail_sum_t *sum,
                          pipc__error_t *err);
    /* The own rail: address and name ("rank 12 on n3") of its rank on each of @nodes nodes, the own
     * at
     * @self. Names are copied. May connect lazily; not collective. */
    pipc_status_t (*connect)(pipc__rail_t *rail, int self, int nodes,
                             const pipc__rail_address_t *const *peers, const char *const *names,
                             pipc__error_t *err);
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
    /* What has come, with no job on its way: PIPC_OK, or why this rail has failed, as poll() says it.
     * That a node is lost nobody sees before a job waits for it; that one gave up is seen. NULL: the
     * engine hears nothing between jobs. */
    pipc_status_t (*look)(pipc__rail_t *rail, pipc__error_t *err);
    /* Sleep until there may be something to go on with, @usec at most: a thread that waits for a
     * slow node must not burn. */
    void (*rest)(pipc__rail_t *rail, int usec);
    /* Waits for nobody, but a second at most for the own last messages to be on their way. Nodes
     * that need nothing more from this one go on. NULL is allowed. */
    void (*close)(pipc__rail_t *rail);
} pipc__rail_ops_t;

extern const pipc__rail_ops_t pipc__rail_ucx; /* only in builds with UCX */

#endif
