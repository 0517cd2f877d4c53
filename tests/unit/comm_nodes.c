/* tests/unit/comm_nodes.c - communicators over several nodes on one host, by PCIE_IPC_NODES: over
 * the program's own allgather and over the socket, with the real rail. tests/cluster/50-nodes.t has
 * several hosts, over PMIx.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "tests/unit/split.h"

/* Each rank's part of a step, as the plugin would say it. */
static pipc_status_t create_by_socket(int rank, int n, const char *dir, const char *nodes,
                                      pipc_comm_t **comm)
{
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    char text[2][16];

    snprintf(text[0], sizeof(text[0]), "%d", rank);
    snprintf(text[1], sizeof(text[1]), "%d", n);
    split_set("PCIE_IPC_LOCAL_RANK", text[0]);
    split_set("PCIE_IPC_LOCAL_SIZE", text[1]);
    split_set("PCIE_IPC_DIR", dir);
    split_set("PCIE_IPC_NODES", nodes);
    c.exchange = PIPC_EXCHANGE_SOCKET;
    c.backend = PIPC_BACKEND_CPU;
    return pipc_comm_create(comm, &c);
}

/* --- what they do -------------------------------------------------------------------------------
 */

/* 1, 2, ... of all ranks; in place and not, below and above where the plan changes. */
static int calls_are_right(pipc_comm_t *comm, int rank, int n)
{
    static const int counts[] = {1, 1000, 50001};
    static int32_t x[50001], y[50001];

    for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
        for (int in_place = 0; in_place < 2; in_place++) {
            size_t count = (size_t)counts[k];
            for (size_t i = 0; i < count; i++)
                x[i] = (int32_t)i * 3 + rank;
            MUST(!pipc_allreduce(comm, x, in_place ? x : y, count, PIPC_I32, PIPC_SUM, NULL));
            for (size_t i = 0; i < count; i++)
                MUST((in_place ? x : y)[i] == (int32_t)i * 3 * n + n * (n - 1) / 2);
        }
    return 0;
}

/* Memory files of this library that the process has mapped, its own included. */
static int mapped_files(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    unsigned long seen[64], inode;
    char line[512];
    int n = 0;

    while (f && fgets(line, sizeof(line), f)) {
        int i = 0;
        if (!strstr(line, "/memfd:pcie-ipc") || sscanf(line, "%*s %*s %*s %*s %lu", &inode) != 1)
            continue;
        while (i < n && seen[i] != inode)
            i++;
        if (i == n && n < 64)
            seen[n++] = inode;
    }
    if (f)
        fclose(f);
    return n;
}

/* --- PCIE_IPC_NODES -----------------------------------------------------------------------------
 */

static const struct shape {
    const char *nodes;
    int ranks, n, least, most; /* of n nodes */
} shapes[] = {{"split", 2, 2, 1, 1},   {"split:1", 3, 3, 1, 1}, {"split:2", 4, 2, 2, 2},
              {"split:2", 3, 2, 1, 2}, {"auto", 4, 1, 4, 4},    {NULL, 2, 1, 2, 2},
              {"split:4", 4, 1, 4, 4}, {"split:16", 1, 1, 1, 1}};

static int divided(ranks_t *all, int rank, void *arg)
{
    const struct shape *s = arg;
    split_t m = {all, rank, 0, -1};
    pipc_comm_t *comm;

    split_alone();
    int before = mapped_files();
    MUST(!split_create(&m, s->nodes, false, &comm));
    const pipc__nodes_t *nodes = &comm->rails.nodes;
    int created = m.calls, local = comm->local_size;
    MUST(pipc_comm_rank(comm) == rank && pipc_comm_size(comm) == s->ranks);
    if (s->n > 1)
        MUST(nodes->n == s->n && nodes->least == s->least && nodes->most == s->most);
    MUST(local >= s->least && local <= s->most);
    MUST(!calls_are_right(comm, rank, s->ranks));
    /* Two files a rank, page and staging: of the own node's ranks alone. */
    MUST(before == 0 && mapped_files() == 2 * local);
    MUST(split_calls(comm, PIPC__PLAN_KINDS_LOCAL, PIPC__PLAN_KINDS) == (s->n > 1 ? 6 : 0));
    MUST(split_calls(comm, 0, PIPC__PLAN_KINDS) == 6);
    MUST(!pipc_comm_destroy(comm) && m.calls == created);
    MUST(mapped_files() == 0);
    return 0;
}

static void ranks_of_a_host_are_taken_as_nodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        if (ranks_run(shapes[i].ranks, divided, (void *)(uintptr_t)&shapes[i], 20))
            fail_msg("%s, %d ranks", shapes[i].nodes, shapes[i].ranks);
}

/* Which allgather it is that fails, all ranks hear of it, and a later communicator is well. */
static int failing(ranks_t *all, int rank, void *arg)
{
    split_t m = {all, rank, 0, -1};
    pipc_comm_t *comm;

    (void)arg;
    split_alone();
    MUST(!split_create(&m, "split", false, &comm) && !pipc_comm_destroy(comm));
    int calls = m.calls;
    MUST(calls >= 5); /* head, cards, records, addresses, ballots */
    for (m.fail_at = 0; m.fail_at < calls; m.fail_at++) {
        m.calls = 0;
        MUST(split_create(&m, "split", false, &comm) == PIPC_ERR_EXCHANGE && !comm);
        MUST(strstr(pipc_last_error(), "returned 42"));
    }
    m.calls = 0;
    MUST(!split_create(&m, "split", false, &comm));
    MUST(!calls_are_right(comm, rank, 2) && !pipc_comm_destroy(comm));
    return 0;
}

static void ranks_hear_of_a_callback_that_fails(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(2, failing, NULL, 20), 0);
}

static int by_socket(ranks_t *all, int rank, void *arg)
{
    pipc_comm_t *comm;

    (void)all, (void)arg;
    split_alone();
    for (int i = 0; i < 2; i++) {
        MUST(!create_by_socket(rank, 3, split_dir, i ? "split:2" : "split", &comm));
        MUST(comm->rails.nodes.n == (i ? 2 : 3) && mapped_files() == 2 * comm->local_size);
        MUST(!calls_are_right(comm, rank, 3) && !pipc_comm_destroy(comm));
    }
    return 0;
}

static void a_socket_does_it_too(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(3, by_socket, NULL, 20), 0);
}

/* The last rank has another wish; then none has one. */
static const struct wishes {
    const char *nodes, *last;
} others[] = {{"split", NULL}, {NULL, "split"}, {"split:2", "split"}};

static int disagreeing(ranks_t *all, int rank, void *arg)
{
    const struct wishes *w = arg;
    const char *nodes = rank == ranks_size(all) - 1 ? w->last : w->nodes;
    split_t m = {all, rank, 0, -1};
    pipc_comm_t *comm;

    split_alone();
    MUST(split_create(&m, nodes, false, &comm) == PIPC_ERR_MISMATCH && !comm);
    MUST(strstr(pipc_last_error(), "different wishes of what a node is (PCIE_IPC_NODES)"));
    MUST(create_by_socket(rank, ranks_size(all), split_dir, nodes, &comm) == PIPC_ERR_MISMATCH);
    MUST(strstr(pipc_last_error(), "different wishes of what a node is (PCIE_IPC_NODES)"));
    MUST(!create_by_socket(rank, ranks_size(all), split_dir, NULL, &comm));
    MUST(!calls_are_right(comm, rank, ranks_size(all)) && !pipc_comm_destroy(comm));
    return 0;
}

static void ranks_that_disagree_are_told_so(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (ranks_run(3, disagreeing, (void *)(uintptr_t)&others[i], 20))
            fail_msg("%s, %s", others[i].nodes, others[i].last);
}

/* --- who gives up -------------------------------------------------------------------------------
 */

/* A rank aborts and then does nothing until all others have heard of it, at their next call or by
 * asking. Whether it is on a rail, or another rank of its node must say it. */
static const struct abort {
    const char *nodes;
    int ranks, who;
    bool asks; /* the others ask, and make no call */
} aborts[] = {
    {"split", 2, 0, false}, /* the other's close takes its second, as this one says nothing more */
    {"split:2", 3, 1, false}, /* nodes {0 1} and {2}: it is on no rail */
    {"split:2", 4, 2, true},
};

static int hears_of_abort(ranks_t *all, int rank, void *arg)
{
    const struct abort *a = arg;
    split_t m = {all, rank, 0, -1};
    pipc_status_t async = PIPC_OK;
    pipc_comm_t *comm;
    char words[32];
    int32_t x = 1;

    split_alone();
    MUST(!split_create(&m, a->nodes, false, &comm));
    MUST(!calls_are_right(comm, rank, a->ranks));
    ranks_gather(all, rank, NULL, 0, NULL);
    if (rank == a->who)
        MUST(!pipc_comm_abort(comm));
    ranks_gather(all, rank, NULL, 0, NULL);
    if (rank != a->who && !a->asks)
        MUST(pipc_allreduce(comm, &x, &x, 1, PIPC_I32, PIPC_SUM, NULL) == PIPC_ERR_ABORTED);
    while (rank != a->who && !async)
        MUST(!pipc_comm_async_error(comm, &async));
    snprintf(words, sizeof(words), "rank %d (process", a->who);
    if (rank != a->who)
        MUST(async == PIPC_ERR_ABORTED && strstr(pipc_last_error(), words) &&
             strstr(pipc_last_error(), "aborted the communicator"));
    ranks_gather(all, rank, NULL, 0, NULL);
    MUST(pipc_allreduce(comm, &x, &x, 1, PIPC_I32, PIPC_SUM, NULL) == PIPC_ERR_ABORTED);
    MUST(pipc_comm_destroy(comm) == PIPC_ERR_ABORTED);
    return 0;
}

static void an_idle_abort_is_heard_on_other_nodes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(aborts) / sizeof(aborts[0]); i++)
        if (ranks_run(aborts[i].ranks, hears_of_abort, (void *)(uintptr_t)&aborts[i], 10))
            fail_msg("case %zu", i);
}

/* A child that was forked holds the connections of its parent's rail open, so over the rail nobody
 * sees that the parent has died. The ranks beside it do, and name it to the other nodes. */
static void hold_until_end_of(int pid)
{
    while (!kill(pid, 0))
        usleep(20000);
    _exit(0);
}

static int dies_before_its_child(ranks_t *all, int rank, void *arg)
{
    split_t m = {all, rank, 0, -1};
    pipc_comm_t *comm;
    int32_t x = 1;

    (void)arg;
    split_alone();
    MUST(!split_create(&m, "split:2", false, &comm) && !calls_are_right(comm, rank, 4));
    if (rank == 1 && !fork())
        hold_until_end_of(ranks_pid(all, 0));
    if (rank == 1)
        raise(SIGKILL);
    MUST(pipc_allreduce(comm, &x, &x, 1, PIPC_I32, PIPC_SUM, NULL) == PIPC_ERR_PEER_LOST);
    MUST(strstr(pipc_last_error(), "rank 1 (process") && strstr(pipc_last_error(), "has ended"));
    MUST(pipc_comm_destroy(comm) == PIPC_ERR_PEER_LOST);
    return 0;
}

static void who_sees_a_death_names_it_to_the_other_nodes(void **state)
{
    int exits[4];

    (void)state;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* the child's end is ours to take */
    assert_int_equal(ranks_run_each(4, dies_before_its_child, NULL, 10, exits), 0);
    while (wait(NULL) > 0)
        ;
    for (int r = 0; r < 4; r++)
        assert_int_equal(exits[r], r == 1 ? 128 + SIGKILL : 0);
}

int main(void)
{
#ifndef HAVE_UCX
    printf("1..0 # SKIP built without UCX\n");
    return 0;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_a_host_are_taken_as_nodes),
        cmocka_unit_test(ranks_hear_of_a_callback_that_fails),
        cmocka_unit_test(an_idle_abort_is_heard_on_other_nodes),
        cmocka_unit_test(who_sees_a_death_names_it_to_the_other_nodes),
        cmocka_unit_test_setup_teardown(a_socket_does_it_too, split_make_dir, split_remove_dir),
        cmocka_unit_test_setup_teardown(ranks_that_disagree_are_told_so, split_make_dir,
                                        split_remove_dir),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
