/* xchg/nodes.c - see nodes.h */
#include "runtime/xchg/nodes.h"

#include <stdlib.h>
#include <string.h>

static int compare_places(const pipc__card_t *a, const pipc__card_t *b)
{
    int boot = strncmp(a->boot_id, b->boot_id, sizeof(a->boot_id));

    return boot ? boot : strncmp(a->host, b->host, sizeof(a->host));
}

static int compare(const void *x, const void *y, void *cards)
{
    int a = *(const int *)x, b = *(const int *)y;
    const pipc__card_t *card = cards;
    int c = compare_places(&card[a], &card[b]);

    return c ? c : a - b;
}

/* Is the rank at order[i] on the node of the one before it? *run: how many before it have its place.
 */
static bool follows(const int *order, int i, const pipc__card_t *cards, int *run)
{
    const pipc__card_t *c = &cards[order[i]];
    bool near = i && !compare_places(c, &cards[order[i - 1]]);

    *run = near ? *run + 1 : 0;
    return near && (!c->split || (uint32_t)*run % c->split);
}

/* node[rank] for all; returns how many nodes there are. order[n] is scratch. */
static int number_nodes(int *node, int *order, const pipc__card_t *cards, int n)
{
    int count = 0, run = 0;

    for (int r = 0; r < n; r++)
        order[r] = r;
    qsort_r(order, (size_t)n, sizeof(*order), compare, (void *)(uintptr_t)cards);
    /* First by each node's lowest rank, which comes first among its equals... */
    for (int i = 0; i < n; i++)
        node[order[i]] = follows(order, i, cards, &run) ? node[order[i - 1]] : order[i];
    /* ...then by number, in the order of those. node[lowest] is numbered before anybody asks it. */
    for (int r = 0; r < n; r++)
        node[r] = node[r] == r ? count++ : node[node[r]];
    return count;
}

static void list_members(pipc__nodes_t *nodes, const int *node, int n)
{
    for (int r = 0; r < n; r++)
        nodes->first[node[r] + 1]++;
    for (int k = 0; k < nodes->n; k++)
        nodes->first[k + 1] += nodes->first[k];
    for (int r = n - 1, *end = nodes->first + 1; r >= 0; r--)
        nodes->member[--end[node[r]]] = r;
    /* The ends have become beginnings, one place further on. */
    memmove(nodes->first, nodes->first + 1, (size_t)nodes->n * sizeof(int));
    nodes->first[nodes->n] = n;
}

static void measure(pipc__nodes_t *nodes, const int *node, int self)
{
    nodes->self = node[self];
    nodes->local_size = pipc__nodes_ranks(nodes, nodes->self);
    while (nodes->member[nodes->first[nodes->self] + nodes->local_rank] != self)
        nodes->local_rank++;
    nodes->least = nodes->most = nodes->local_size;
    for (int k = 0; k < nodes->n; k++) {
        int ranks = pipc__nodes_ranks(nodes, k);
        nodes->least = ranks < nodes->least ? ranks : nodes->least;
        nodes->most = ranks > nodes->most ? ranks : nodes->most;
    }
    nodes->nrails = nodes->least;
    nodes->rail = -1;
    for (int l = 0; l < nodes->nrails; l++)
        if (pipc__nodes_owner(nodes, nodes->self, l) == self)
            nodes->rail = l;
}

pipc_status_t pipc__nodes_find(pipc__nodes_t *nodes, const pipc__card_t *cards, int n, int self,
                               pipc__error_t *err)
{
    int *node = calloc((size_t)n, sizeof(*node));

    memset(nodes, 0, sizeof(*nodes));
    nodes->first = calloc((size_t)n + 1, sizeof(*nodes->first));
    nodes->member = calloc((size_t)n, sizeof(*nodes->member));
    bool good = node && nodes->first && nodes->member;
    if (good) {
        nodes->n = number_nodes(node, nodes->member, cards, n);
        list_members(nodes, node, n);
        measure(nodes, node, self);
    }
    free(node);
    if (good)
        return PIPC_OK;
    pipc__nodes_free(nodes);
    return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d ranks", n);
}

void pipc__nodes_free(pipc__nodes_t *nodes)
{
    free(nodes->first);
    free(nodes->member);
    memset(nodes, 0, sizeof(*nodes));
}

int pipc__nodes_owner(const pipc__nodes_t *nodes, int node, int rail)
{
    return nodes
        ->member[nodes->first[node] + rail * pipc__nodes_ranks(nodes, node) / nodes->nrails];
}
