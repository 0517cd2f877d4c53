/* tests/unit/nodes.c - which ranks are on which node and rail; what cards and votes of several
 * nodes come to. All in tables: the same goes over real exchanges in
 * tests/cluster/52-nodes-tables.t */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/comm/rails.h"

/* A letter a rank: the node that it is on. */
static void deal(pipc__card_t *cards, const char *hosts)
{
    for (int r = 0; hosts[r]; r++) {
        pipc__record_t rec = {.rank = r, .size = (int)strlen(hosts)};
        pipc__record_fill(&rec, r, (int)strlen(hosts));
        snprintf(rec.host, sizeof(rec.host), "n%c", hosts[r]);
        pipc__card_from(&cards[r], &rec, "eth0");
    }
}

static const struct {
    const char *hosts;
    uint32_t split;
    int self;
    int n, node, local_rank, local_size, least, most, rail;
    const char *owners; /* of each node, by rail */
} places[] = {
    {"a", 0, 0, 1, 0, 0, 1, 1, 1, 0, "0"},
    {"aa", 0, 1, 1, 0, 1, 2, 2, 2, 1, "01"},
    {"ab", 0, 1, 2, 1, 0, 1, 1, 1, 0, "0 1"}, /* the rail alone */
    {"aabb", 0, 3, 2, 1, 1, 2, 2, 2, 1, "01 23"},
    {"abab", 0, 2, 2, 0, 1, 2, 2, 2, 1, "02 13"},      /* srun -m cyclic */
    {"baab", 0, 1, 2, 1, 0, 2, 2, 2, 0, "03 12"},      /* nodes by their lowest rank, not by name */
    {"aaaabbb", 0, 1, 2, 0, 1, 4, 3, 4, 1, "012 456"}, /* rank 3 of the larger node is on none */
    {"aaaabbb", 0, 3, 2, 0, 3, 4, 3, 4, -1, "012 456"},
    {"aaaab", 0, 3, 2, 0, 3, 4, 1, 4, -1, "0 4"},
    {"aaaabbc", 0, 2, 3, 0, 2, 4, 1, 4, -1, "0 4 6"},
    {"aaaabb", 0, 2, 2, 0, 2, 4, 2, 4, 1, "02 45"}, /* owner l * n / rails */
    {"abcdabcd", 0, 6, 4, 2, 1, 2, 2, 2, 1, "04 15 26 37"},
    {"aa", 1, 1, 2, 1, 0, 1, 1, 1, 0, "0 1"}, /* each rank by itself */
    {"abab", 1, 2, 4, 2, 0, 1, 1, 1, 0, "0 1 2 3"},
    {"aaaaa", 2, 4, 3, 2, 0, 1, 1, 2, 0, "0 2 4"},          /* in twos, and one is left */
    {"abababab", 2, 5, 4, 3, 0, 2, 2, 2, 0, "02 13 46 57"}, /* of each host */
    {"abab", 2, 2, 2, 0, 1, 2, 2, 2, 1, "02 13"},
    {"aabb", 16, 3, 2, 1, 1, 2, 2, 2, 1, "01 23"},
};

static void list_owners(const pipc__nodes_t *nodes, char *text)
{
    for (int node = 0; node < nodes->n; node++) {
        *text = ' ';
        text += node > 0;
        for (int l = 0; l < nodes->nrails; l++)
            text += sprintf(text, "%d", pipc__nodes_owner(nodes, node, l));
    }
    *text = '\0';
}

static void ranks_find_their_nodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        pipc__card_t cards[16];
        pipc__nodes_t n;
        pipc__error_t err;
        char owners[64];
        deal(cards, places[i].hosts);
        for (size_t r = 0; r < strlen(places[i].hosts); r++)
            cards[r].split = places[i].split;
        assert_int_equal(
            pipc__nodes_find(&n, cards, (int)strlen(places[i].hosts), places[i].self, &err), 0);
        list_owners(&n, owners);
        if (n.n != places[i].n || n.self != places[i].node ||
            n.local_rank != places[i].local_rank || n.local_size != places[i].local_size ||
            n.least != places[i].least || n.most != places[i].most || n.rail != places[i].rail ||
            strcmp(owners, places[i].owners))
            fail_msg("%s, rank %d: %d nodes, node %d, local %d of %d, %d to %d, rail %d, owners %s",
                     places[i].hosts, places[i].self, n.n, n.self, n.local_rank, n.local_size,
                     n.least, n.most, n.rail, owners);
        pipc__nodes_free(&n);
    }
}

/* One host name, two boots: not one node. One boot, two host names: test clusters, containers. */
static void a_node_is_a_boot_and_a_name(void **state)
{
    pipc__card_t cards[3];
    pipc__nodes_t n;
    pipc__error_t err;

    (void)state;
    deal(cards, "aaa");
    cards[1].boot_id[0] ^= 1;
    assert_int_equal(pipc__nodes_find(&n, cards, 3, 2, &err), PIPC_OK);
    assert_int_equal(n.n, 2);
    assert_int_equal(n.local_rank, 1);
    pipc__nodes_free(&n);
}

/* 1024 nodes of 8 ranks, dealt in turns: found in no time, and the owners are right. */
static void many_nodes(void **state)
{
    enum { NODES = 1024, EACH = 8 };
    pipc__card_t *cards = calloc(NODES * EACH, sizeof(*cards));
    pipc__nodes_t n;
    pipc__error_t err;

    (void)state;
    for (int r = 0; r < NODES * EACH; r++)
        snprintf(cards[r].host, sizeof(cards[r].host), "n%d", r % NODES);
    assert_int_equal(pipc__nodes_find(&n, cards, NODES * EACH, 5000, &err), PIPC_OK);
    assert_int_equal(n.n, NODES);
    assert_int_equal(n.self, 5000 % NODES);
    for (int node = 0; node < NODES; node++)
        for (int l = 0; l < EACH; l++)
            assert_int_equal(pipc__nodes_owner(&n, node, l), node + NODES * l);
    pipc__nodes_free(&n);
    free(cards);
}

/* --- cards ------------------------------------------------------------------------------------ */

static void no_fault(pipc__card_t *c)
{
    (void)c;
}
static void garbage(pipc__card_t *c)
{
    memset(c, 0x20, sizeof(*c));
}
static void newer(pipc__card_t *c)
{
    c->version++;
}
static void longer(pipc__card_t *c)
{
    c->bytes += 8;
}
static void endless(pipc__card_t *c)
{
    c->status = PIPC_ERR_INVALID;
    memset(c->reason, 'x', sizeof(c->reason)); /* not ended: must not be read beyond */
}
static void other_plan(pipc__card_t *c)
{
    c->digest ^= 1;
}
static void other_backend(pipc__card_t *c)
{
    c->backend ^= 1;
}
static void other_split(pipc__card_t *c)
{
    c->split = 2;
}
static void other_staging(pipc__card_t *c)
{
    c->staging_bytes ^= 1;
}

static const struct {
    void (*inject)(pipc__card_t *c);
    pipc_status_t status;
    const char *words;
} faults[] = {
    {no_fault, PIPC_OK, NULL},
    {garbage, PIPC_ERR_MISMATCH, "rank 2 sent something that is no pcie-ipc record"},
    {newer, PIPC_ERR_MISMATCH, "rank 2 speaks record version"},
    {longer, PIPC_ERR_MISMATCH, "install the same pcie-ipc"},
    {endless, PIPC_ERR_INVALID, "rank 2 on nb: xxx"},
    {other_plan, PIPC_ERR_MISMATCH, "ranks 0 (on na) and 2 (on nb) have different plans"},
    {other_backend, PIPC_ERR_MISMATCH, "different backends"},
    {other_staging, PIPC_ERR_MISMATCH, "different staging sizes"},
    {other_split, PIPC_ERR_MISMATCH, "different wishes of what a node is (PCIE_IPC_NODES)"},
};

static void cards_are_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        pipc__card_t cards[3];
        pipc__error_t err = {PIPC_OK, ""};
        deal(cards, "aab");
        faults[i].inject(&cards[2]);
        pipc_status_t st = pipc__cards_judge(cards, 3, &err);
        if (st != faults[i].status || (st && !strstr(err.text, faults[i].words)))
            fail_msg("fault %zu: %d, \"%s\"", i, st, err.text);
    }
}

/* --- votes ------------------------------------------------------------------------------------ */

static void votes_are_judged(void **state)
{
    pipc__ballot_t all[3] = {{.rank = 0, .host = "n1", .from = "shipped", .digest = 7},
                             {.rank = 4, .host = "n2", .from = "shipped", .digest = 7},
                             {.rank = 8, .host = "n3", .from = "shipped", .digest = 7}};
    pipc__error_t err;
    bool whole = true;

    (void)state;
    for (int i = 0; i < 3; i++)
        memset(all[i].package, '1', sizeof(all[i].package)); /* from another process: no end */
    assert_int_equal(pipc__ballots_judge(all, 3, 1, &whole, &err), PIPC_OK);
    assert_false(whole);
    all[2].digest = 8;
    snprintf(all[2].from, sizeof(all[2].from), "/etc/x.table");
    assert_int_equal(pipc__ballots_judge(all, 3, 1, &whole, &err), PIPC_ERR_MISMATCH);
    assert_non_null(
        strstr(err.text, "rank 8 on n3 has another table (/etc/x.table) than rank 4 on n2"));
    all[2].whole = 1; /* one node that has no table to go by: it is NCCL on all of them */
    assert_int_equal(pipc__ballots_judge(all, 3, 1, &whole, &err), PIPC_OK);
    assert_true(whole);
    snprintf(all[0].package, sizeof(all[0].package), "0.2.0"); /* says more than a table does */
    assert_int_equal(pipc__ballots_judge(all, 3, 1, &whole, &err), PIPC_ERR_MISMATCH);
    assert_non_null(strstr(
        err.text,
        "rank 0 on n1 has another pcie-ipc (0.2.0) than rank 4 on n2 (111111111111111); install"));
    all[1].status = PIPC_ERR_EXCHANGE; /* over what another one has failed by */
    all[2].status = PIPC_ERR_CUDA;
    assert_int_equal(pipc__ballots_judge(all, 3, 1, &whole, &err), PIPC_ERR_CUDA);
    all[1].status = all[2].status = PIPC_OK;
    all[0].status = PIPC_ERR_NOMEM; /* says more than either */
    memset(all[0].reason, 'x', sizeof(all[0].reason));
    assert_int_equal(pipc__ballots_judge(all, 3, 1, &whole, &err), PIPC_ERR_NOMEM);
    assert_non_null(strstr(err.text, "node n1: xxx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_find_their_nodes),
        cmocka_unit_test(a_node_is_a_boot_and_a_name),
        cmocka_unit_test(many_nodes),
        cmocka_unit_test(cards_are_judged),
        cmocka_unit_test(votes_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
