/* exec/nccl.h - NCCL for what it does better, or for what nothing else can do: a library opened at
 * run time and a communicator over the same ranks, its own or one that the program gave.
 */
#ifndef PIPC_EXEC_NCCL_H
#define PIPC_EXEC_NCCL_H

#include "runtime/exec/exec.h"
#include "runtime/rail/nccl_comm.h"

#define PIPC__NCCL_OTHERS 160 /* bytes that name the nodes of other ranks, their end included */

typedef struct pipc__nccl pipc__nccl_t;

/* Make the communicator over the ranks of the connected @ctl, this one being @rank of @size, on the
 * GPU of the current context. Collective: every rank gets it or none, then with a text that names
 * the first rank in the way. @path of the library, NULL: libnccl.so.2, the one that the program has
 * loaded if it has. @given (NULL: none) is an ncclComm_t of the program's over the same ranks in
 * the same order; it is neither aborted nor destroyed here. It is given on every rank or on none.
 * PIPC_ERR_NOT_FOUND, UNSUPPORTED, MISMATCH, NOMEM, CUDA (NCCL failed), PEER_LOST, ABORTED. */
pipc_status_t pipc__nccl_create(pipc__nccl_t **nccl, pipc__control_t *ctl, int rank, int size,
                                const char *path, void *given, pipc__error_t *err);

/* What makes ranks of several nodes one communicator. */
typedef struct pipc__nccl_ticket {
    pipc__nccl_id_t id; /* rank 0's, for all; none is needed beside a given one */
    char version[PIPC__NCCL_VERSION_TEXT]; /* rank 0's library */
    int32_t given;                         /* rank 0 has one of the program's */
    int32_t rank, size;                    /* in the communicator */
    int32_t local_rank;                    /* on the own node, as @ctl has it */
} pipc__nccl_ticket_t;

/* On rank 0: fill id, version and given, from the library at @path. @path, @given and statuses as
 * above. */
pipc_status_t pipc__nccl_ticket(pipc__nccl_ticket_t *ticket, const char *path, void *given,
                                pipc__error_t *err);

/* Be ready to make the communicator over the ranks of all nodes, with rank 0's id and version in
 * @ticket; of this rank alone. @others names the nodes that other ranks are on, for errors: NCCL
 * says that it lost somebody, not whom. PIPC_ERR_MISMATCH: another library than rank 0's. */
pipc_status_t pipc__nccl_open(pipc__nccl_t **nccl, pipc__control_t *ctl, const char *path,
                              void *given, const pipc__nccl_ticket_t *ticket, const char *others,
                              pipc__error_t *err);

/* Make it. All ranks of all nodes do so, once all are ready; how it went on the others this one
 * does not hear. From then on the end of another node, which NCCL alone can see, sets the abort
 * word of the own node's ranks. */
pipc_status_t pipc__nccl_join(pipc__nccl_t *nccl, pipc__error_t *err);

/* Enqueue @call (its plan, proto and blocks are not read). @nccl is a pipc__nccl_t: an executor's
 * other() takes this function. After the abort word of @ctl was set, its status. */
pipc_status_t pipc__nccl_allreduce(void *nccl, const pipc__exec_call_t *call, pipc__error_t *err);

/* What went wrong since, without waiting: ncclCommGetAsyncError(). */
pipc_status_t pipc__nccl_poll(pipc__nccl_t *nccl, pipc__error_t *err);

/* Release. With @alive nothing of it runs any more and all ranks do the same; else it is aborted.
 * NULL is allowed. */
void pipc__nccl_close(pipc__nccl_t *nccl, bool alive);

/* "2.28.9"; static while @nccl lives. */
const char *pipc__nccl_version(const pipc__nccl_t *nccl);

/* The version of the library at @path (NULL as above) without making anything. */
pipc_status_t pipc__nccl_find(const char *path, char version[PIPC__NCCL_VERSION_TEXT],
                              pipc__error_t *err);

#endif
