/* tests/unit/comm_plans.c - from the ranks' ways to their plans: the own way as sysfs and the
 * plugin tell it, the shape of all, tables, and communicators that run what comes of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/comm/comm.h"
#include "runtime/comm/plans.h"
#include "runtime/comm/way.h"
#include "tests/unit/ranks.h"

/* --- the own way -------------------------------------------------------------------------------
 */

static const char *env_way, *env_bdf;

static const char *lookup(const char *name)
{
    return !strcmp(name, "PCIE_IPC_WAY") ? env_way : !strcmp(name, "PCIE_IPC_BDF") ? env_bdf : NULL;
}

/* A device whose link in sysfs has this target, and whose node is @numa (NULL: no such file). */
static void make_device(const char *root, const char *bdf, const char *target, const char *numa)
{
    char path[512];

    snprintf(path, sizeof(path), "mkdir -p '%s/sys/bus/pci/devices' '%s/sys/%s'", root, root,
             target);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", root, bdf);
    char up[256];
    snprintf(up, sizeof(up), "../../../%s", target);
    assert_int_equal(symlink(up, path), 0);
    if (!numa)
        return;
    snprintf(path, sizeof(path), "%s/sys/%s/numa_node", root, target);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%s\n", numa);
    fclose(f);
}

#define DEEP                                                                                       \
    "devices/pci0000:c0/0000:c0:01.0/0000:c1:00.0/0000:c2:00.0/0000:c3:00.0/0000:c4:00.0/"         \
    "0000:c5:00.0/0000:c6:00.0/0000:c7:00.0/0000:c8:00.0/0000:c9:00.0/0000:ca:00.0"

static void the_own_way_is_found(void **state)
{
    static const struct {
        const char *bdf, *env_way, *env_bdf, *way;
    } cases[] = {
        {"0000:04:00.0", NULL, NULL, "numa1/0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0"},
        {"0000:05:00.0", NULL, NULL, "numa?/0000:00"}, /* -1 */
        {"0000:06:00.0", NULL, NULL, "numa?/0000:00"}, /* a virtual machine: no such file */
        /* Cut between names, at the inner end. */
        {"0000:ca:00.0", NULL, NULL,
         "numa0/0000:c0/0000:c0:01.0/0000:c1:00.0/0000:c2:00.0/0000:c3:00.0/0000:c4:00.0/"
         "0000:c5:00.0/0000:c6:00.0/0000:c7:00.0"},
        {"0000:99:00.0", NULL, NULL, ""}, /* sysfs is not there, or hides it */
        {"", NULL, NULL, ""},
        {"", "numa0/0000:00", NULL, "numa0/0000:00"}, /* a rank on a CPU that the plugin placed */
        {"", "numa0/0000:00", "0000:04:00.0", "numa0/0000:00"},
        {"0000:05:00.0", "numa7/0000:70", "0000:05:00.0", "numa7/0000:70"},
        {"0000:05:00.0", "numa7/0000:70", NULL, "numa7/0000:70"},
        {"0000:05:00.0", "numa7/0000:70", "0000:04:00.0", "numa?/0000:00"}, /* another GPU's */
        {"0000:05:00.0", "", "0000:05:00.0", "numa?/0000:00"},
    };
    char root[] = "/tmp/pipc-way-XXXXXX", remove[64], way[PIPC__WAY_TEXT];

    (void)state;
    assert_non_null(mkdtemp(root));
    make_device(root, "0000:04:00.0",
                "devices/pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0/0000:04:00.0", "1");
    make_device(root, "0000:05:00.0", "devices/pci0000:00/0000:05:00.0", "-1");
    make_device(root, "0000:06:00.0", "devices/pci0000:00/0000:06:00.0", NULL);
    make_device(root, "0000:ca:00.0", DEEP, "0");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        env_way = cases[i].env_way;
        env_bdf = cases[i].env_bdf;
        pipc__way_find(way, cases[i].bdf, root, lookup);
        if (strcmp(way, cases[i].way))
            fail_msg("case %zu: \"%s\"", i, way);
    }
    snprintf(remove, sizeof(remove), "rm -r '%s'", root);
    assert_int_equal(system(remove), 0);
}

/* --- the shape -----------------------------------------------------------------------------------
 */

#define A "numa0/0000:00/0000:01:00.0"
#define B "numa0/0000:00/0000:02:00.0"
#define A1 A "/0000:11:00.0"
#define A2 A "/0000:12:00.0"
#define B1 B "/0000:13:00.0"

/* NVLink joins the GPUs of the first @n of recs. */
static void join(pipc__record_t *recs, int n)
{
    char bdf[24];

    for (int r = 0; r < n; r++)
        for (int i = 0; i < n; i++) {
            snprintf(bdf, sizeof(bdf), "0000:%02x:00.0", 0x40 + (r + i) % n);
            pipc__nvlinks_add(&recs[r].nvlinks, bdf);
        }
}

static void ways_become_groups(void **state)
{
    static const struct {
        const char *ways[8];
        int nvlinks; /* so many of the first ranks' GPUs are joined */
        const char *text, *why; /* NULL: no complaint */
    } cases[] = {
        {{A, A, B, B}, 0, "2 groups of 2", NULL},
        {{A, B, A}, 0, "groups of 2 and 1", NULL},
        {{A, A, A, B, B}, 4, "groups of 3 and 2", NULL},
        {{A, A, B, B}, 4, "flat", NULL},
        {{A, A, A}, 0, "flat", NULL},
        {{"", "", ""}, 0, "flat", NULL},
        {{"", A, A}, 0, "groups of 1 and 2", NULL},
        {{A1, A1, A2, A2, B1, B1}, 0, "groups of 4 and 2; 3 groups of 2", NULL},
        {{A, "moon", B, B}, 0, "flat", "rank 1"},
        {{A}, 0, "flat", NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__record_t recs[8];
        pipc__shape_t shape;
        pipc__error_t why;
        char text[128];
        int n = 0;
        memset(recs, 0, sizeof(recs));
        for (; n < 8 && cases[i].ways[n]; n++)
            snprintf(recs[n].way, sizeof(recs[n].way), "%s", cases[i].ways[n]);
        join(recs, cases[i].nvlinks);
        pipc__plans_shape(&shape, recs, n, &why);
        pipc__plans_describe(&shape, text, sizeof(text));
        if (strcmp(text, cases[i].text) || shape.nranks != n)
            fail_msg("case %zu: %s", i, text);
        if (!why.status != !cases[i].why || (why.status && !strstr(why.text, cases[i].why)))
            fail_msg("case %zu: %s", i, why.text);
        for (int r = 0; r < n; r++)
            assert_int_equal(shape.reach[r], (1 << n) - 1);
        assert_int_equal(shape.nvlink, cases[i].nvlinks == n);
    }
}

/* A way that is not ended, from a process that is not to be trusted. */
static void a_way_ends_with_its_field(void **state)
{
    pipc__record_t recs[2];
    pipc__shape_t shape;
    pipc__error_t why;

    (void)state;
    memset(recs, 0, sizeof(recs));
    memset(recs[1].way, 'x', sizeof(recs[1].way));
    pipc__plans_shape(&shape, recs, 2, &why);
    assert_int_equal(shape.nlevels, 0);
}

static void the_host_path_reaches_nobody(void **state)
{
    pipc__record_t recs[3];
    pipc__shape_t shape;
    pipc__error_t why;

    (void)state;
    memset(recs, 0, sizeof(recs));
    for (int r = 0; r < 3; r++)
        recs[r].path = PIPC_PATH_HOST;
    pipc__plans_shape(&shape, recs, 3, &why);
    for (int r = 0; r < 3; r++)
        assert_int_equal(shape.reach[r], 1 << r);
}

static void what_decides_plans_is_in_the_digest(void **state)
{
    pipc__shape_t shape, other;
    pipc__table_t table = pipc__table_fixed(PIPC__ISLAND), another = pipc__table_fixed(PIPC__RING);

    (void)state;
    pipc__shape_flat(&shape, 4);
    uint64_t digest = pipc__plans_digest(&table, &shape);
    assert_true(digest == pipc__plans_digest(&table, &shape));
    assert_true(digest != pipc__plans_digest(&another, &shape));
    other = shape;
    other.reach[2] = 4;
    assert_true(digest != pipc__plans_digest(&table, &other));
    other = shape;
    other.order[0] = 1, other.order[1] = 0;
    assert_true(digest != pipc__plans_digest(&table, &other));
}

/* --- plans
 * ---------------------------------------------------------------------------------------- */

static void groups_get_the_island_plan_for_large_messages(void **state)
{
    pipc__record_t recs[8];
    pipc__shape_t shape;
    pipc__error_t why, err;

    (void)state;
    memset(recs, 0, sizeof(recs));
    for (int r = 0; r < 8; r++)
        snprintf(recs[r].way, sizeof(recs[r].way), "%s", r < 4 ? A : B);
    for (int path = PIPC_PATH_P2P; path <= PIPC_PATH_HOST; path++)
        for (int gpu = 0; gpu < 2; gpu++) {
            pipc__plan_t *plan[PIPC__PLAN_KINDS] = {NULL};
            recs[0].path = (uint32_t)path;
            pipc__plans_shape(&shape, recs, 8, &why);
            pipc__table_t table = pipc__table_default(&shape, gpu, 32);
            assert_int_equal(pipc__table_choose(&table, 1000, false).algo, PIPC__ONE_SHOT);
            assert_int_equal(pipc__table_choose(&table, (1 << 20) - 1, false).algo, PIPC__TWO_SHOT);
            assert_int_equal(pipc__table_choose(&table, 1 << 20, true).algo, PIPC__ISLAND);
            assert_int_equal(pipc__plans_make(plan, &table, &shape, &err), PIPC_OK);
            assert_non_null(plan[PIPC__ISLAND]);
            assert_null(plan[PIPC__RING]); /* made for nothing, it would take memory of the GPU */
            for (int k = 0; k < PIPC__PLAN_KINDS; k++)
                pipc__plan_free(plan[k]);
        }
}

static void large_messages_of_uneven_groups_go_round_the_ring(void **state)
{
    static const struct {
        const char *groups; /* a letter a rank */
        int plan;
    } table[] = {
        {"aabb", PIPC__ISLAND},     {"aaab", PIPC__RING},         {"aaaaabbb", PIPC__RING},
        {"aabbcc", PIPC__RING},     {"aabbccdd", PIPC__ISLAND},   {"abab", PIPC__ISLAND},
        {"aabbccd", PIPC__RING},    {"aaaabbbbcccc", PIPC__RING}, {"aaaa", PIPC__TWO_SHOT},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char text[PIPC__RANKS_MAX][32];
        const char *ways[PIPC__RANKS_MAX];
        pipc__shape_t shape;
        pipc__error_t err;
        int n = (int)strlen(table[i].groups);
        for (int r = 0; r < n; r++) {
            snprintf(text[r], sizeof(text[r]), "numa%d/0000:00", table[i].groups[r] - 'a');
            ways[r] = text[r];
        }
        assert_int_equal(pipc__shape_from_ways(&shape, ways, n, &err), PIPC_OK);
        pipc__table_t t = pipc__table_default(&shape, true, 32);
        if (pipc__table_choose(&t, 16 << 20, false).algo != table[i].plan)
            fail_msg("%s: plan %d", table[i].groups, pipc__table_choose(&t, 16 << 20, false).algo);
    }
}

/* --- communicators
 * -------------------------------------------------------------------------------- */

typedef struct life {
    const char *ways[6];
    const char *path, *plan; /* of the environment; NULL: none */
    const char *large;       /* the plan of 2 MB */
} life_t;

static ranks_t *the_ranks;
static int the_rank;

static int gather(void *ctx, const void *mine, size_t bytes, void *all)
{
    (void)ctx;
    ranks_gather(the_ranks, the_rank, mine, bytes, all);
    return 0;
}

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "# rank %d, line %d: %s [%s]\n", the_rank, __LINE__, #cond,            \
                    pipc_last_error());                                                            \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int live(ranks_t *all, int rank, void *arg)
{
    const life_t *life = arg;
    pipc_callbacks_t calls = {sizeof(calls), rank, ranks_size(all), gather, NULL};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    size_t count = (2 << 20) / sizeof(int);
    int *x = malloc(2 << 20);
    pipc_comm_t *comm;

    the_ranks = all;
    the_rank = rank;
    c.callbacks = &calls;
    c.backend = PIPC_BACKEND_CPU;
    setenv("PCIE_IPC_WAY", life->ways[rank], 1);
    unsetenv("PCIE_IPC_PLAN");
    unsetenv("PCIE_IPC_PATH");
    if (life->path)
        setenv("PCIE_IPC_PATH", life->path, 1);
    if (life->plan)
        setenv("PCIE_IPC_PLAN", life->plan, 1);
    MUST(x && !pipc_comm_create(&comm, &c));
    MUST(!strcmp(pipc__comm_choice_name(comm, 2 << 20, false), life->large));
    for (int turn = 0; turn < 3; turn++) {
        for (size_t i = 0; i < count; i++)
            x[i] = (int)i * (turn + 1) + rank;
        MUST(!pipc_allreduce(comm, x, x, count, PIPC_I32, PIPC_SUM, NULL));
        MUST(!pipc_allreduce(comm, x + 1, x + 1, 10, PIPC_I32, PIPC_MAX, NULL)); /* another plan */
        int n = ranks_size(all), base = n * (n - 1) / 2;
        for (size_t i = 0; i < count; i++)
            MUST(x[i] ==
                 (int)((unsigned int)i * (unsigned int)(turn + 1) * (unsigned int)n) + base);
    }
    MUST(!pipc_comm_destroy(comm));
    free(x);
    return 0;
}

static void communicators_run_what_suits_their_shape(void **state)
{
    static const life_t lives[] = {
        {{A, A, B, B}, NULL, NULL, "island"},
        {{A, A, B}, "auto", "auto", "ring"},
        {{A, B, A, B, A}, "host", NULL, "ring"},
        {{A1, A1, A2, A2, B, B}, "p2p", NULL, "ring"},
        {{A, A, A}, NULL, NULL, "two-shot"},
        {{"", "moon"}, NULL, NULL, "two-shot"},
        {{A, A, A}, "host", "permuted", "permuted"},
        {{A, A, B, B}, NULL, "ring", "ring"},
        {{"", ""}, NULL, "island", "island"},
        {{A}, "host", NULL, "two-shot"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lives) / sizeof(lives[0]); i++) {
        life_t life = lives[i];
        int n = 0;
        while (n < 6 && life.ways[n])
            n++;
        if (ranks_run(n, live, &life, 30))
            fail_msg("life %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_own_way_is_found),
        cmocka_unit_test(ways_become_groups),
        cmocka_unit_test(a_way_ends_with_its_field),
        cmocka_unit_test(the_host_path_reaches_nobody),
        cmocka_unit_test(what_decides_plans_is_in_the_digest),
        cmocka_unit_test(groups_get_the_island_plan_for_large_messages),
        cmocka_unit_test(large_messages_of_uneven_groups_go_round_the_ring),
        cmocka_unit_test(communicators_run_what_suits_their_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
