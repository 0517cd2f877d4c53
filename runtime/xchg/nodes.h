/* xchg/nodes.h - which ranks are together on a node, and which of them are on rails.
 *
 *     ranks     0 1 2 3 4 5 6      node 0 is rank 0's, the next one that of the lowest rank not on it
 *     hosts     a b a b a b a      node 0 {0 2 4 6}, node 1 {1 3 5}
 *     rails     3                  the fewest ranks that a node has
 *     owners    0 2 4 | 1 3 5      rail l of a node with n ranks: its rank number l * n / rails
 *
 * Ranks of a node stand in the order of their own numbers, whatever the job's distribution was.
 */
#ifndef PIPC_XCHG_NODES_H
#define PIPC_XCHG_NODES_H

#include "runtime/xchg/card.h"

typedef struct pipc__nodes {
    int n;                      /* nodes */
    int self;                   /* the own one */
    int local_rank, local_size; /* of the own rank on it */
    int least, most;            /* ranks of a node */
    int nrails;                 /* = least */
    int rail;                   /* the own rank's; -1: none */
    int *first;                 /* [n + 1]: where a node's ranks begin in member[] */
    int *member;                /* [ranks]: indices in the group, node by node */
} pipc__nodes_t;

/* Find the nodes of cards[n], which are judged; @self is the own rank. A node is a boot id and a
 * host name: of two containers on one machine with host names of their own each is one. Where the
 * cards ask for it (split), each so many ranks of such a node that follow each other are one.
 * Released by pipc__nodes_free(). PIPC_ERR_NOMEM. Pure. */
pipc_status_t pipc__nodes_find(pipc__nodes_t *nodes, const pipc__card_t *cards, int n, int self,
                               pipc__error_t *err);
void pipc__nodes_free(pipc__nodes_t *nodes); /* all zero is allowed */

/* The rank, as an index in the group, that is on @rail for @node. */
int pipc__nodes_owner(const pipc__nodes_t *nodes, int node, int rail);

static inline int pipc__nodes_ranks(const pipc__nodes_t *nodes, int node)
{
    return nodes->first[node + 1] - nodes->first[node];
}

#endif
