/* comm/rails.c - see rails.h */
#include "runtime/comm/rails.h"

#include <pcie-ipc/comm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "runtime/base/log.h"

bool pipc__rails_needed(const pipc__rails_t *r)
{
    return r->nodes.n > 1;
}

/* --- who is where ----------------------------------------------------------------------------- */

static pipc_status_t judge_size(const pipc__nodes_t *n, pipc__error_t *err)
{
    if (n->most > PIPC__RANKS_MAX)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "a communicator has at most %d ranks on a node, and there are %d on one; "
                          "start fewer a node (--ntasks-per-node)",
                          PIPC__RANKS_MAX, n->most);
    if (n->n > PIPC__RAIL_NODES_MAX)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "a communicator has at most %d nodes, the job has %d; make one a node "
                          "(scope node, or --per-node)",
                          PIPC__RAIL_NODES_MAX, n->n);
    return PIPC_OK;
}

/* The engine for several nodes; NULL, with the reason, where there is none. */
static const pipc__rail_ops_t *engine(uint32_t backend, const char **why)
{
    *why = "";
    if (backend != PIPC_BACKEND_CPU)
        return &pipc__rail_nccl;
#ifdef HAVE_UCX
    return &pipc__rail_ucx;
#else
    *why = "this pcie-ipc was built without UCX; configure it with --with-ucx, or make a "
           "communicator a node (scope node, or --per-node)";
    return NULL;
#endif
}

pipc_status_t pipc__rails_engine(pipc__rails_t *r, uint32_t backend, pipc__error_t *err)
{
    const pipc__rail_end_t *a = r->end, *b = a + r->nodes.nrails; /* first ranks of two nodes */
    const char *why = NULL;

    r->ops = engine(backend, &why);
    if (r->ops)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                      "ranks %d and %d are on different nodes (%s, %s): %s", a->rank, b->rank,
                      a->host, b->host, why);
}

static pipc_status_t note_ends(pipc__rails_t *r, const pipc__card_t *cards, pipc__error_t *err)
{
    const pipc__nodes_t *n = &r->nodes;

    r->end = calloc((size_t)n->n * (size_t)n->nrails, sizeof(*r->end));
    if (!r->end)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the rails of %d nodes", n->n);
    for (int node = 0; node < n->n; node++)
        for (int l = 0; l < n->nrails; l++) {
            pipc__rail_end_t *e = &r->end[node * n->nrails + l];
            const pipc__card_t *c = &cards[pipc__nodes_owner(n, node, l)];
            e->rank = pipc__nodes_owner(n, node, l);
            snprintf(e->host, sizeof(e->host), "%.*s", (int)sizeof(e->host) - 1, c->host);
            snprintf(e->nic, sizeof(e->nic), "%.*s", (int)sizeof(e->nic) - 1, c->nic);
        }
    return PIPC_OK;
}

static pipc_status_t judge(pipc__rails_t *r, const pipc__card_t *cards, int n, int self,
                           pipc__error_t *err)
{
    pipc_status_t st = pipc__cards_judge(cards, n, err);

    if (!st)
        st = pipc__nodes_find(&r->nodes, cards, n, self, err);
    if (!st)
        st = judge_size(&r->nodes, err);
    if (st || !pipc__rails_needed(r))
        return st;
    return note_ends(r, cards, err);
}

pipc_status_t pipc__rails_compare(const pipc__xchg_ops_t *ops, pipc__xchg_t *x, int n,
                                  const pipc__record_t *mine, pipc__error_t *err)
{
    pipc__record_t *recs = calloc((size_t)n, sizeof(*recs));
    pipc__card_t *cards = calloc((size_t)n, sizeof(*cards));
    pipc_status_t st;

    if (recs && cards)
        st = ops->exchange(x, mine, sizeof(*mine), recs, err);
    else
        st = pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d ranks", n);
    for (int r = 0; !st && r < n; r++)
        pipc__card_from(&cards[r], &recs[r], NULL);
    if (!st)
        st = pipc__cards_judge(cards, n, err); /* not the records: places don't matter any more */
    free(recs);
    free(cards);
    return st;
}

/* A pick of everybody's, in rank order. */
static pipc_status_t pick_all(const pipc__xchg_ops_t *ops, pipc__xchg_t *x, int n, const void *mine,
                              size_t bytes, void *all, pipc__error_t *err)
{
    int *whom = calloc((size_t)n, sizeof(*whom));

    for (int r = 0; whom && r < n; r++)
        whom[r] = r;
    pipc_status_t st = ops->pick(x, mine, bytes, bytes, whom, whom ? n : 0, false, all, err);
    if (!st && !whom)
        st = pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d ranks", n);
    free(whom);
    return st;
}

pipc_status_t pipc__rails_any(const pipc__xchg_ops_t *ops, pipc__xchg_t *x, int n, bool *yes,
                              pipc__error_t *err)
{
    uint32_t mine = *yes, *all = calloc((size_t)n, sizeof(*all));
    pipc_status_t st = all ? pick_all(ops, x, n, &mine, sizeof(mine), all, err)
                           : pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d ranks", n);

    for (int r = 0; !st && r < n; r++)
        *yes |= all[r];
    free(all);
    return st;
}

pipc_status_t pipc__rails_find(pipc__rails_t *r, const pipc__xchg_ops_t *ops, pipc__xchg_t *x,
                               const pipc__group_t *group, const pipc__card_t *mine,
                               pipc__error_t *err)
{
    pipc__card_t *cards = calloc((size_t)group->size, sizeof(*cards));

    memset(r, 0, sizeof(*r));
    if (!cards)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d ranks", group->size);
    /* The first exchange of an opened one is not a pick. */
    pipc_status_t st = group->one_node
                           ? pick_all(ops, x, group->size, mine, sizeof(*mine), cards, err)
                           : ops->exchange(x, mine, sizeof(*mine), cards, err);
    r->split = mine->split;
    if (!st)
        st = judge(r, cards, group->size, group->self, err);
    free(cards);
    return st;
}

const char *pipc__rails_describe(const pipc__rails_t *r, char *buf, size_t cap)
{
    const pipc__nodes_t *n = &r->nodes;
    char ranks[32];

    if (n->least == n->most)
        snprintf(ranks, sizeof(ranks), "%d", n->most);
    else
        snprintf(ranks, sizeof(ranks), "%d to %d", n->least, n->most);
    snprintf(buf, cap, "%d nodes of %s rank%s, %d rail%s%s", n->n, ranks, n->most == 1 ? "" : "s",
             n->nrails, n->nrails == 1 ? "" : "s", r->split ? " (PCIE_IPC_NODES=split)" : "");
    return buf;
}

const char *pipc__rails_others(const pipc__rails_t *r, char *buf, size_t cap)
{
    size_t used = 0;

    buf[0] = '\0';
    for (int node = 0; node < r->nodes.n && used < cap; node++)
        if (node != r->nodes.self || r->nodes.local_size > 1)
            used += (size_t)snprintf(buf + used, cap - used, "%s%s", used ? ", " : "",
                                     r->end[node * r->nodes.nrails].host);
    if (used >= cap)
        snprintf(buf + cap - 6, 6, ", ...");
    return buf;
}

void pipc__rails_shape(const pipc__rails_t *r, pipc__shape_t *shape)
{
    shape->nrails = pipc__rails_needed(r) ? r->nodes.nrails : 0;
    shape->most = pipc__rails_needed(r) ? r->nodes.most : 0;
}

/* --- connecting ------------------------------------------------------------------------------- */

pipc_status_t pipc__rails_open(pipc__rails_t *r, pipc__rail_sum_t *sum,
                               pipc__rail_address_t *address, pipc__error_t *err)
{
    if (!pipc__rails_needed(r) || r->nodes.rail < 0)
        return PIPC_OK;
    return r->ops->open(&r->rail, address, r->nodes.self, sum, err);
}

/* The ranks of the own rail, by node; returns how many there are. */
static int own_rail(const pipc__rails_t *r, int *rank)
{
    const pipc__nodes_t *n = &r->nodes;
    int count = n->rail < 0 ? 0 : n->n;

    for (int node = 0; node < count; node++)
        rank[node] = pipc__nodes_owner(n, node, n->rail);
    return count;
}

#define NAME_BYTES 96 /* "rank 12 on n3" */

static pipc_status_t connect_to(pipc__rails_t *r, const pipc__rail_address_t *all,
                                pipc__error_t *err)
{
    int n = r->nodes.n;
    const pipc__rail_address_t **peer = calloc((size_t)n, sizeof(*peer));
    const char **name = calloc((size_t)n, sizeof(*name));
    char(*text)[NAME_BYTES] = calloc((size_t)n, sizeof(*text));
    pipc_status_t st = PIPC_OK;

    for (int node = 0; peer && name && text && node < n; node++) {
        const pipc__rail_end_t *e = &r->end[node * r->nodes.nrails + r->nodes.rail];
        snprintf(text[node], sizeof(*text), "rank %d on %s", e->rank, e->host);
        name[node] = text[node];
        peer[node] = &all[node];
        if (!st && (!all[node].bytes || all[node].bytes > PIPC__RAIL_ADDRESS_MAX))
            st = pipc__fail(err, PIPC_ERR_EXCHANGE, "%s has no address for its rail", text[node]);
    }
    if (!peer || !name || !text)
        st = pipc__fail(err, PIPC_ERR_NOMEM, "no memory for a rail of %d nodes", n);
    if (!st)
        st = r->ops->connect(r->rail, r->nodes.self, n, peer, name, err);
    free(peer);
    free(name);
    free(text);
    return st;
}

pipc_status_t pipc__rails_connect(pipc__rails_t *r, const pipc__xchg_ops_t *ops, pipc__xchg_t *x,
                                  const pipc__rail_address_t *address, pipc_status_t own,
                                  pipc__error_t *err)
{
    int *whom = calloc((size_t)r->nodes.n, sizeof(*whom));
    pipc__rail_address_t *all = calloc((size_t)r->nodes.n, sizeof(*all));
    pipc__error_t met = {PIPC_OK, ""};

    size_t bytes = offsetof(pipc__rail_address_t, data) + address->bytes;
    int n = whom && all ? own_rail(r, whom) : 0;
    ops->pick(x, address, bytes, sizeof(*address), whom, n, false, all, &met);
    if (!whom || !all)
        pipc__fail(&met, PIPC_ERR_NOMEM, "no memory for a rail of %d nodes", r->nodes.n);
    pipc_status_t st = own;
    if (!st && met.status)
        st = pipc__fail(err, met.status, "%s", met.text);
    if (!st && r->rail)
        st = connect_to(r, all, err);
    free(whom);
    free(all);
    return st;
}

/* --- the vote --------------------------------------------------------------------------------- */

#define TEXT(field) (int)sizeof(field) - 1, field /* from another process: bound them */

/* The node to name; -1: none has failed. Who has failed leaves others without an address, and they
 * fail over that: its own words say more. */
static int first_reason(const pipc__ballot_t *all, int n)
{
    int bad = -1;

    for (int k = 0; k < n; k++)
        if (all[k].status && (bad < 0 || (all[bad].status == PIPC_ERR_EXCHANGE &&
                                          all[k].status != PIPC_ERR_EXCHANGE)))
            bad = k;
    return bad;
}

pipc_status_t pipc__ballots_judge(const pipc__ballot_t *all, int n, int self, bool *whole,
                                  pipc__error_t *err)
{
    const pipc__ballot_t *mine = &all[self];

    *whole = false;
    for (int k = 0; k < n; k++)
        *whole |= all[k].whole != 0;
    int bad = first_reason(all, n);
    if (bad >= 0)
        return pipc__fail(err, (pipc_status_t)all[bad].status, "node %.*s: %.*s",
                          TEXT(all[bad].host), TEXT(all[bad].reason));
    for (int k = 0; k < n; k++)
        if (strncmp(all[k].package, mine->package, sizeof(mine->package)))
            return pipc__fail(
                err, PIPC_ERR_MISMATCH,
                "rank %d on %.*s has another pcie-ipc (%.*s) than rank %d on %.*s (%.*s); "
                "install the same on every node",
                all[k].rank, TEXT(all[k].host), TEXT(all[k].package), mine->rank, TEXT(mine->host),
                TEXT(mine->package));
    for (int k = 0; k < n && !*whole; k++)
        if (all[k].digest != mine->digest)
            return pipc__fail(
                err, PIPC_ERR_MISMATCH,
                "rank %d on %.*s has another table (%.*s) than rank %d on %.*s (%.*s); "
                "give every node the same pcie-ipc and the same file, or set "
                "PCIE_IPC_TABLE=none",
                all[k].rank, TEXT(all[k].host), TEXT(all[k].from), mine->rank, TEXT(mine->host),
                TEXT(mine->from));
    return PIPC_OK;
}

/* The first ranks of the nodes are those of rail 0. */
static void fill_ballot(const pipc__rails_t *r, pipc__ballot_t *b, uint64_t digest,
                        const char *from, pipc_status_t own, const pipc__error_t *err)
{
    const pipc__rail_end_t *first = &r->end[r->nodes.self * r->nodes.nrails];

    memset(b, 0, sizeof(*b)); /* all bytes travel */
    b->status = (int32_t)own;
    b->rank = first->rank;
    b->whole = r->whole;
    b->digest = digest;
    memcpy(b->package, pipc__package, sizeof(b->package));
    snprintf(b->host, sizeof(b->host), "%s", first->host);
    snprintf(b->from, sizeof(b->from), "%.*s", (int)sizeof(b->from) - 1, from);
    if (own)
        snprintf(b->reason, sizeof(b->reason), "%.*s", (int)sizeof(b->reason) - 1, err->text);
}

pipc_status_t pipc__rails_vote(pipc__rails_t *r, const pipc__xchg_ops_t *ops, pipc__xchg_t *x,
                               uint64_t digest, const char *from, pipc_status_t own,
                               pipc__error_t *err)
{
    int n = r->nodes.n, *whom = calloc((size_t)n, sizeof(*whom));
    pipc__ballot_t mine, *all = calloc((size_t)n, sizeof(*all));
    pipc__error_t met = {PIPC_OK, ""};

    fill_ballot(r, &mine, digest, from, own, err);
    for (int node = 0; whom && node < n; node++)
        whom[node] = r->end[node * r->nodes.nrails].rank;
    ops->pick(x, &mine, sizeof(mine), sizeof(mine), whom, whom && all ? n : 0, false, all, &met);
    if (!whom || !all)
        pipc__fail(&met, PIPC_ERR_NOMEM, "no memory for the votes of %d nodes", n);
    pipc_status_t st = own;
    if (!st && met.status)
        st = pipc__fail(err, met.status, "%s", met.text);
    if (!st || (st == PIPC_ERR_EXCHANGE && !met.status))
        st = pipc__ballots_judge(all, n, r->nodes.self, &r->whole, err);
    free(whom);
    free(all);
    return st;
}

void pipc__rails_free(pipc__rails_t *r)
{
    if (r->rail)
        r->ops->close(r->rail);
    r->rail = NULL;
    pipc__nodes_free(&r->nodes);
    free(r->end);
    r->end = NULL;
}
