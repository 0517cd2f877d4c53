/* tests/unit/comm_nodes_tables.c - which rows of a table hold for which ranks, and what is left to
 * NCCL over several nodes
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "runtime/comm/choose.h"
#include "tests/unit/split.h"

#define HEAD "table 1\ntopology 0\ngpu cpu\nbuild 0\n"

/* A row that names what these ranks can't have is passed over, and what is shipped for them does
 * its sizes; the others hold. Calls of 4, 4000 and 200004 bytes. */
static const struct misfit {
    const char *text, *nodes;
    const char *plan[3]; /* of each call */
} misfits[] = {
    {HEAD "up-to max eager nodes graph nodes\n", NULL, {"one-shot", "one-shot", "two-shot"}},
    {HEAD "up-to 1000 eager two-shot graph two-shot\n"
          "up-to max eager nodes-one graph nodes-one\n",
     NULL,
     {"two-shot", "one-shot", "two-shot"}},
    {HEAD "up-to 1000 eager nodes graph two-shot\n"
          "up-to max eager ring graph nodes\n",
     NULL,
     {"one-shot", "ring", "ring"}},
    {HEAD "up-to max eager ring graph ring\n", "split", {"nodes-one", "nodes-one", "nodes"}},
    {HEAD "up-to 1000 eager nodes graph nodes\n"
          "up-to max eager two-shot graph ring\n",
     "split",
     {"nodes", "nodes-one", "nodes"}},
};

/* PCIE_IPC_TABLE is a file of this rank's own with @text; @path gets its name. */
static int give_table(char path[80], int rank, const char *text)
{
    snprintf(path, 80, "%s/%d.table", split_dir, rank);
    FILE *f = fopen(path, "w");
    MUST(f && fputs(text, f) >= 0 && !fclose(f));
    split_set("PCIE_IPC_TABLE", path);
    return 0;
}

static int uses_a_table(ranks_t *all, int rank, void *arg)
{
    static const size_t counts[] = {1, 1000, 50001};
    static int32_t x[50001];
    const struct misfit *t = arg;
    split_t m = {all, rank, 0, -1};
    char path[80];
    pipc_comm_t *comm;

    split_alone();
    MUST(!give_table(path, rank, t->text));
    pipc_status_t st = split_create(&m, t->nodes, false, &comm);
    unlink(path);
    MUST(!st);
    for (int i = 0; i < 3; i++) {
        int kind = 0;
        while (strcmp(pipc__algo_name(kind), t->plan[i]))
            kind++;
        uint64_t before = split_calls(comm, kind, kind + 1);
        MUST(!pipc_allreduce(comm, x, x, counts[i], PIPC_I32, PIPC_SUM, NULL));
        MUST(split_calls(comm, kind, kind + 1) == before + 1);
    }
    MUST(!pipc_comm_destroy(comm));
    return 0;
}

static void rows_of_another_shape_are_passed_over(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++)
        if (ranks_run(2, uses_a_table, (void *)(uintptr_t)&misfits[i], 20))
            fail_msg("table %zu", i);
}

/* --- what is left to NCCL -----------------------------------------------------------------------
 */

#define ALL_NCCL HEAD "up-to max eager nccl graph nccl\n"
#define SMALL_NCCL                                                                                 \
    HEAD "up-to 1000 eager nccl graph nccl\n"                                                      \
         "up-to max eager nodes graph nodes\n"

static const struct leaving {
    const char *text[2], *plan;       /* a rank's table, NULL: none; PCIE_IPC_PLAN */
    pipc_status_t created, called[2]; /* calls of 4 and of 200004 bytes */
} leavings[] = {
    {{NULL, NULL}, NULL, PIPC_OK, {PIPC_OK, PIPC_OK}}, /* on CPUs rails are measured */
    {{ALL_NCCL, ALL_NCCL}, NULL, PIPC_LEFT, {0, 0}},
    {{NULL, NULL}, "nccl", PIPC_LEFT, {0, 0}},
    {{ALL_NCCL, ALL_NCCL}, "nodes", PIPC_OK, {PIPC_OK, PIPC_OK}},
    {{SMALL_NCCL, SMALL_NCCL}, NULL, PIPC_OK, {PIPC_LEFT, PIPC_OK}},
    {{SMALL_NCCL, ALL_NCCL}, NULL, PIPC_ERR_MISMATCH, {0, 0}},
    {{ALL_NCCL, NULL}, NULL, PIPC_ERR_MISMATCH, {0, 0}},
};

static int leaves(ranks_t *all, int rank, void *arg)
{
    static int32_t x[50001];
    const struct leaving *l = arg;
    split_t m = {all, rank, 0, -1};
    char path[80] = "";
    pipc_comm_t *comm;

    split_alone();
    split_set("PCIE_IPC_PLAN", l->plan);
    if (l->text[rank])
        MUST(!give_table(path, rank, l->text[rank]));
    pipc_status_t st = split_create(&m, "split", true, &comm);
    unlink(path);
    MUST(st == l->created && !comm == !!st);
    if (st == PIPC_LEFT) /* nothing was made: head, cards, and whether there is anything to do */
        MUST(m.calls == 3 && strstr(pipc_last_error(), "every size is NCCL's"));
    if (st)
        return 0;
    MUST(pipc_allreduce(comm, x, x, 1, PIPC_I32, PIPC_SUM, NULL) == l->called[0]);
    MUST(pipc_allreduce(comm, x, x, 50001, PIPC_I32, PIPC_SUM, NULL) == l->called[1]);
    MUST(!pipc_comm_destroy(comm));
    return 0;
}

static void all_ranks_leave_the_same_or_fail(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(leavings) / sizeof(leavings[0]); i++)
        if (ranks_run(2, leaves, (void *)(uintptr_t)&leavings[i], 20))
            fail_msg("case %zu", i);
}

/* On a node, too, whose shape asks for proofs: there are no plans to prove. */
static int leaves_all_on_a_node(ranks_t *all, int rank, void *arg)
{
    split_t m = {all, rank, 0, -1};
    char path[80];
    pipc_comm_t *comm;

    (void)arg;
    split_alone();
    split_set("PCIE_IPC_PATH", "host");
    MUST(!give_table(path, rank, ALL_NCCL));
    pipc_status_t st = split_create(&m, NULL, true, &comm);
    unlink(path);
    MUST(st == PIPC_LEFT && !comm);
    return 0;
}

static void a_node_leaves_all_as_well(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(2, leaves_all_on_a_node, NULL, 20), 0);
}

/* --- GPUs, of which there is none here ----------------------------------------------------------
 */

static const char *named; /* PCIE_IPC_TABLE */

static const char *lookup(const char *name)
{
    return !strcmp(name, "PCIE_IPC_TABLE") ? named : NULL;
}

static void on_gpus_nccl_is_shipped(void **state)
{
    pipc__shape_t shape;

    (void)state;
    pipc__shape_flat(&shape, 4);
    shape.nrails = shape.most = 4;
    for (int on_gpu = 0; on_gpu < 2; on_gpu++) {
        pipc__table_t t = pipc__table_default(&shape, on_gpu, 32);
        for (int k = 0; k < PIPC__ALGOS; k++) {
            bool wanted = on_gpu ? k == PIPC__ALGO_NCCL : k == PIPC__NODES || k == PIPC__NODES_ONE;
            if (pipc__table_names(&t, k) != wanted)
                fail_msg("GPU %d: %s", on_gpu, pipc__algo_name(k));
        }
    }
    shape.nrails = shape.most = 0; /* on a node nothing is left */
    pipc__table_t t = pipc__table_default(&shape, true, 32);
    assert_false(pipc__table_names(&t, PIPC__ALGO_NCCL));
}

/* Rails are made where an option or a table asks for them, and not else. */
static void on_gpus_rails_need_a_reason(void **state)
{
    static const struct {
        int kind;
        const char *text; /* of the table; NULL: none */
        bool work;
    } cases[] = {
        {-1, NULL, false},
        {PIPC__NODES, NULL, true},
        {PIPC__ALGO_NCCL, NULL, false},
        {-1, ALL_NCCL, false},
        {-1, SMALL_NCCL, true},
        {-1, HEAD "up-to max eager ring graph ring\n", false}, /* of a node: passed over */
        {-1, "no table", false},
    };
    pipc_comm_t c = {.leaves = true};
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;
    pipc__record_t mine = {.staging_bytes = 1 << 20};
    char path[80];

    (void)state;
    c.rails.nodes = (pipc__nodes_t){.n = 2, .local_size = 2, .least = 2, .most = 2, .nrails = 2};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__wish_t wish = {cases[i].kind, true, &config, lookup};
        named = cases[i].text ? path : NULL;
        if (named)
            assert_int_equal(give_table(path, 0, cases[i].text), 0);
        if (pipc__choose_has_work(&c, &wish, &mine) != cases[i].work)
            fail_msg("case %zu", i);
        if (named)
            unlink(path);
    }
    unsetenv("PCIE_IPC_TABLE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_gpus_nccl_is_shipped),
        cmocka_unit_test_setup_teardown(on_gpus_rails_need_a_reason, split_make_dir,
                                        split_remove_dir),
#ifdef HAVE_UCX
        cmocka_unit_test_setup_teardown(rows_of_another_shape_are_passed_over, split_make_dir,
                                        split_remove_dir),
        cmocka_unit_test_setup_teardown(a_node_leaves_all_as_well, split_make_dir,
                                        split_remove_dir),
        cmocka_unit_test_setup_teardown(all_ranks_leave_the_same_or_fail, split_make_dir,
                                        split_remove_dir),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
