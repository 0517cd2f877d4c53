/* comm/build.h - what create.c carries from step to step, and the steps that have files of their
 * own.
 */
#ifndef PIPC_COMM_BUILD_H
#define PIPC_COMM_BUILD_H

#include "runtime/comm/choose.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/request.h"

typedef struct pipc__making {
    pipc__config_t config;
    const pipc__exec_ops_t *exec; /* NULL: the choice failed */
    int kind;                     /* of the plan that is asked for, see pipc__wish_t */
    const pipc__xchg_ops_t *ops;
    pipc__xchg_t *xchg; /* open */
    pipc__group_t group;
    bool by_cards;             /* the group has to be divided into nodes: see rails.h */
    int n, self;               /* of the own node */
    pipc__record_t mine, *all; /* all[n] */
    pipc__rail_address_t address;
    pipc_comm_t *comm;
    bool can_vote; /* all control pages are mapped */
} pipc__making_t;

static inline bool pipc__making_on_gpu(const pipc__making_t *b)
{
    return b->exec && b->exec != &pipc__exec_cpu;
}

static inline pipc__wish_t pipc__making_wish(const pipc__making_t *b)
{
    return (pipc__wish_t){b->kind, pipc__making_on_gpu(b), &b->config.asked, pipc__environment};
}

/* build_own.c: what was asked for. Fills b->exec and b->kind. */
pipc_status_t pipc__making_choose(pipc__making_t *b, pipc__error_t *err);
/* Who this is, and what it wants, into b->mine. */
void pipc__making_introduce(pipc__making_t *b);
/* Over several nodes, before anything is made: see pipc__choose_has_work(). */
bool pipc__making_has_work(const pipc__making_t *b);
/* How it stands with the own rank, into b->mine. */
void pipc__making_note(pipc__making_t *b, pipc_status_t st, const pipc__error_t *err);
/* Everything of the own rank: page, staging, its place, its end of a rail. */
pipc_status_t pipc__making_own(pipc__making_t *b, pipc__error_t *err);

/* build_node.c: the own node, from everybody's records to the vote of its ranks. @own, with its
 * text in @err: what failed before, on this rank alone. All ranks of the node come to PIPC_OK, or
 * all to an error. */
pipc_status_t pipc__making_node(pipc__making_t *b, pipc_status_t own, pipc__error_t *err);
/* Of the ranks of the node: all come to PIPC_OK, or all to an error. */
pipc_status_t pipc__making_vote(pipc__making_t *b, pipc_status_t own, pipc__error_t *err);

/* build_nodes.c: all nodes, from the vote of this one's ranks, @own with its text in @err, to the
 * vote of all; GPUs make NCCL's communicators behind it. Collective. */
pipc_status_t pipc__making_nodes(pipc__making_t *b, pipc_status_t own, pipc__error_t *err);

#endif
