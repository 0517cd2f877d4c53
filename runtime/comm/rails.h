/* comm/rails.h - a communicator over several nodes: who is on which node and rail, and how all
 * nodes come to the same end of its creation.
 *
 *     cards of everybody --> nodes, owners, rails            the same on every rank
 *     records of the own node --> its machinery, its vote    as for a node alone
 *     addresses of the own rail --> connected
 *     ballots of each node's first rank --> all or none
 *
 * What fails on a rank fails its node in the node's vote; what fails a node travels in its first
 * rank's ballot. So every rank takes part in every pick, whatever has failed before.
 */
#ifndef PIPC_COMM_RAILS_H
#define PIPC_COMM_RAILS_H

#include "runtime/plan/shape.h"
#include "runtime/rail/rail.h"
#include "runtime/xchg/nodes.h"
#include "runtime/xchg/xchg.h"

/* The end of a rail, for people. */
typedef struct pipc__rail_end {
    int rank; /* in the communicator */
    char host[64];
    char nic[PIPC__CARD_NIC]; /* "": whichever the engine takes */
} pipc__rail_end_t;

typedef struct pipc__rails {
    pipc__nodes_t nodes; /* n <= 1: one node, and nothing of the rest */
    uint32_t split;      /* nodes are so many ranks each, by PCIE_IPC_NODES; 0: hosts */
    const pipc__rail_ops_t *ops;
    pipc__rail_t *rail;    /* the own end, until the executor has it; NULL: on none */
    pipc__rail_end_t *end; /* [node * nodes.nrails + rail] */
    bool whole; /* this node has no other way than NCCL for all; from the vote on, some node */
} pipc__rails_t;

/* For a group that is known to be on one node, and that this rank wants split: exchange @mine, the
 * own record without its memory, as ranks do that want no such thing, so that those and this one
 * find each other's wish and not each other's garbage. Collective; PIPC_ERR_MISMATCH. */
pipc_status_t pipc__rails_compare(const pipc__xchg_ops_t *ops, pipc__xchg_t *x, int n,
                                  const pipc__record_t *mine, pipc__error_t *err);

/* A group of which it is not known that it is on one node, or that is split: exchange @mine, judge
 * everybody's, find the nodes. Collective; all get the same status:
 *   PIPC_ERR_MISMATCH     what pipc__cards_judge() says
 *   PIPC_ERR_UNSUPPORTED  more ranks on a node than a plan has, or more nodes than a rail
 * Released by pipc__rails_free(). */
pipc_status_t pipc__rails_find(pipc__rails_t *rails, const pipc__xchg_ops_t *ops, pipc__xchg_t *x,
                               const pipc__group_t *group, const pipc__card_t *mine,
                               pipc__error_t *err);

/* Are there several nodes? */
bool pipc__rails_needed(const pipc__rails_t *rails);

/* Choose what joins them, for @backend (pipc_backend_t). PIPC_ERR_UNSUPPORTED, on every rank: CPUs,
 * and a build without UCX. */
pipc_status_t pipc__rails_engine(pipc__rails_t *rails, uint32_t backend, pipc__error_t *err);

/* Does any of the @n ranks say *yes? Collective over the group. */
pipc_status_t pipc__rails_any(const pipc__xchg_ops_t *ops, pipc__xchg_t *x, int n, bool *yes,
                              pipc__error_t *err);

/* Make the own end, where the own rank is on a rail. */
pipc_status_t pipc__rails_open(pipc__rails_t *rails, pipc__rail_sum_t *sum,
                               pipc__rail_address_t *address, pipc__error_t *err);

/* Exchange addresses and connect. Collective, also for a rank on which something failed before:
 * @own, with its text in @err; then that is returned, after taking part. */
pipc_status_t pipc__rails_connect(pipc__rails_t *rails, const pipc__xchg_ops_t *ops,
                                  pipc__xchg_t *x, const pipc__rail_address_t *address,
                                  pipc_status_t own, pipc__error_t *err);

/* What a plan over nodes has to know. */
void pipc__rails_shape(const pipc__rails_t *rails, pipc__shape_t *shape);

/* How the own node's vote went, @own with its text in @err, and how the others'. @digest: of what
 * decides the plans, @from: the table's file or where else it is from; they don't matter where a
 * node has rails->whole, which all have then. Collective. */
pipc_status_t pipc__rails_vote(pipc__rails_t *rails, const pipc__xchg_ops_t *ops, pipc__xchg_t *x,
                               uint64_t digest, const char *from, pipc_status_t own,
                               pipc__error_t *err);

/* Pure: what the ballots of @n nodes come to for node @self; *whole: whether a node says so. */
typedef struct pipc__ballot {
    int32_t status;           /* pipc_status_t */
    int32_t rank;             /* of the node's first rank */
    uint32_t whole, reserved; /* see pipc__rails_t; 0 */
    uint64_t digest;
    char package[16]; /* PACKAGE_VERSION */
    char host[64];
    char from[128];
    char reason[240];
} pipc__ballot_t;
pipc_status_t pipc__ballots_judge(const pipc__ballot_t *all, int n, int self, bool *whole,
                                  pipc__error_t *err);

void pipc__rails_free(pipc__rails_t *rails); /* all zero is allowed; the own end is closed */

/* The nodes that other ranks than the own one are on, as far as there is room: "n2", "n1, n2, n3",
 * "n1, n2, ...". In a buffer of the caller's; returns it. */
const char *pipc__rails_others(const pipc__rails_t *rails, char *buf, size_t cap);

/* "2 nodes of 4 ranks, 4 rails", "3 nodes of 2 to 4 ranks, 2 rails", in a buffer of the caller's;
 * returns it. */
const char *pipc__rails_describe(const pipc__rails_t *rails, char *buf, size_t cap);

#endif
