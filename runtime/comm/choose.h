/* comm/choose.h - the table of a communicator: what was asked for, else a file's, else the shipped
 * one; and NCCL, where that table needs it or nothing else can be done. Ranks agree on each step.
 */
#ifndef PIPC_COMM_CHOOSE_H
#define PIPC_COMM_CHOOSE_H

#include "runtime/comm/comm.h"
#include "runtime/comm/request.h"

typedef struct pipc__wish {
    int kind; /* the one algorithm that was asked for, a pipc__plan_kind_t or PIPC__ALGO_NCCL; -1:
                 by size */
    bool on_gpu;
    const pipc_comm_config_t *config;
    pipc__getenv_t lookup;
} pipc__wish_t;

/* Fill comm->table from @wish, the records recs[comm->local_size] and comm->shape, and make comm->nccl
 * where it names NCCL. Collective, also for a rank on which something failed before: @own, with its
 * text in @err; then every rank fails with it. Files that differ between ranks, are malformed or
 * were measured elsewhere, rows with plans of another shape, and NCCL that is not there on some rank, are no errors: all ranks take
 * the shipped table in their place and rank 0 says why in one line of the log. Fails when a peer is
 * lost, and when NCCL was asked for and can't be had. */
pipc_status_t pipc__choose_table(pipc_comm_t *comm, const pipc__wish_t *wish,
                                 const pipc__record_t *recs, pipc_status_t own, pipc__error_t *err);

/* Over several nodes, which comm->rails knows, with nothing made yet: might the table give any size
 * to us? @mine: the own record, whose GPU may be unknown. What it says is not the same on every
 * rank. */
bool pipc__choose_has_work(const pipc_comm_t *comm, const pipc__wish_t *wish,
                           const pipc__record_t *mine);

/* Does the table give all sizes to NCCL, eager and in graphs? Ranks have the same table. */
bool pipc__choose_leaves_all(const pipc_comm_t *comm);

/* What the executor of some rank can't do is push (LL128 alone) or simple in its place: in rows of
 * comm->table, whose plans are made and prepared. Collective, with @own and @err as above; a rank
 * that failed is passed over. */
pipc_status_t pipc__choose_fit(pipc_comm_t *comm, pipc_status_t own, pipc__error_t *err);

/* @own, with @err: how setting up the table's plans went on this rank. Where it failed on some rank
 * since memory is out of reach or its GPU or driver has no kernels of ours, and neither a plan nor
 * path p2p was asked for, NCCL does it all if it can be had: PIPC_OK then. Over nodes that is for
 * their vote to say. Collective. Else @own. */
pipc_status_t pipc__choose_fallback(pipc_comm_t *comm, const pipc__wish_t *wish, pipc_status_t own,
                                    pipc__error_t *err);

#endif
