/* comm/build_nodes.c - the nodes of a communicator come to one end. See build.h
 *
 *     every node's vote --> all or none --> on GPUs: rank 0's ticket --> all ready? --> NCCL's
 *     communicators, of rails and of all ranks --> all or none
 *
 * NCCL waits for all its ranks when it makes a communicator. So none begins before all nodes have
 * said that they come, and what can fail on a rank alone (the library, its version) fails before.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/base/log.h"
#include "runtime/comm/build.h"

static uint64_t digest_of_nodes(const pipc_comm_t *c)
{
    uint64_t h = pipc__table_digest(&c->table);

    h = pipc__hash(h, pipc__package, sizeof(pipc__package));
    return pipc__hash(h, &c->shape.most, sizeof(c->shape.most));
}

static pipc_status_t vote_of_nodes(pipc__making_t *b, pipc_status_t own, pipc__error_t *err)
{
    pipc_comm_t *c = b->comm;

    return pipc__rails_vote(&c->rails, b->ops, b->xchg, digest_of_nodes(c), c->table_from, own,
                            err);
}

/* Of the ranks of this node, and then of all nodes. */
static pipc_status_t vote(pipc__making_t *b, pipc_status_t own, pipc__error_t *err)
{
    return vote_of_nodes(b, pipc__making_vote(b, own, err), err);
}

/* --- NCCL ------------------------------------------------------------------------------------- */

/* What rank 0 hands to all. */
typedef struct invitation {
    int32_t status;
    char reason[240];
    pipc__nccl_ticket_t ticket;
} invitation_t;

static void invite(const pipc__making_t *b, const char *path, invitation_t *mine)
{
    pipc__error_t err;

    memset(mine, 0, sizeof(*mine)); /* all bytes travel */
    if (b->group.self)
        return;
    mine->status = pipc__nccl_ticket(&mine->ticket, path, b->config.asked.nccl_comm, &err);
    if (mine->status)
        snprintf(mine->reason, sizeof(mine->reason), "%.*s", (int)sizeof(mine->reason) - 1,
                 err.text);
}

/* Rank 0's ticket, and this rank's library beside it. */
static pipc_status_t prepare_nccl(pipc__making_t *b, pipc__error_t *err)
{
    const char *path = pipc__environment("PCIE_IPC_NCCL");
    char others[PIPC__NCCL_OTHERS];
    invitation_t mine, from;
    const int whom = 0;

    path = path && *path ? path : NULL;
    invite(b, path, &mine);
    pipc_status_t st =
        b->ops->pick(b->xchg, &mine, sizeof(mine), sizeof(mine), &whom, 1, false, &from, err);
    if (!st && from.status)
        st = pipc__fail(err, (pipc_status_t)from.status, "rank 0: %.*s",
                        (int)sizeof(from.reason) - 1, from.reason);
    from.ticket.rank = b->group.self;
    from.ticket.size = b->group.size;
    from.ticket.local_rank = b->self;
    return st ? st
              : pipc__nccl_open(&b->comm->nccl, b->comm->ctl, path, b->config.asked.nccl_comm,
                                &from.ticket,
                                pipc__rails_others(&b->comm->rails, others, sizeof(others)), err);
}

static pipc_status_t join(pipc__making_t *b, bool rails, bool nccl, pipc__error_t *err)
{
    pipc_comm_t *c = b->comm;
    pipc_status_t st = PIPC_OK;

    if (rails)
        st = b->exec->join_rail(c->exec, err);
    if (!st && nccl)
        st = pipc__nccl_join(c->nccl, err);
    return st;
}

/* The table is the same on all ranks, and so is what is done here. */
static pipc_status_t join_gpus(pipc__making_t *b, pipc__error_t *err)
{
    pipc_comm_t *c = b->comm;
    bool nccl = !c->leaves && pipc__table_names(&c->table, PIPC__ALGO_NCCL);
    bool rails = pipc__table_names_rails(&c->table);
    pipc_status_t st = PIPC_OK;

    if (nccl)
        st = vote(b, prepare_nccl(b, err), err);
    if (!st && (rails || nccl))
        st = vote(b, join(b, rails, nccl, err), err);
    return st;
}

/* Some node has no other way. */
static void leave_all_to_nccl(pipc_comm_t *c)
{
    c->table = pipc__table_fixed(PIPC__ALGO_NCCL);
    if (!c->why_nccl)
        c->why_nccl = "memory is out of reach, or there are no kernels for a GPU, on some node";
}

pipc_status_t pipc__making_nodes(pipc__making_t *b, pipc_status_t own, pipc__error_t *err)
{
    pipc_status_t st = vote_of_nodes(b, own, err);

    if (st || !pipc__making_on_gpu(b))
        return st;
    if (b->comm->rails.whole)
        leave_all_to_nccl(b->comm);
    return join_gpus(b, err);
}
