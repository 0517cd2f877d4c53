/* tests/unit/comm_tables.c - the table file of this machine: found, believed, the same on all ranks
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "config.h"
#include "runtime/comm/choose.h"
#include "runtime/comm/comm.h"
#include "runtime/comm/tables.h"
#include "tests/unit/rank_exec.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static char fake[4096]; /* a library with NCCL's names: nccl_fake.c */
static char root[] = "/tmp/pipc-tables-XXXXXX";

/* --- files ----------------------------------------------------------------------------------- */

static const char *in_root(const char *name)
{
    static char path[4][256];
    static int turn;

    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", root, name);
    return path[turn];
}

static void put(const char *name, const char *text)
{
    char command[512];

    snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\"", in_root(name));
    assert_int_equal(system(command), 0);
    FILE *f = fopen(in_root(name), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(in_root(name), 0644), 0);
}

static const char *env_table, *env_config, *env_home;

static const char *lookup(const char *name)
{
    return !strcmp(name, "PCIE_IPC_TABLE")    ? env_table
           : !strcmp(name, "XDG_CONFIG_HOME") ? env_config
           : !strcmp(name, "HOME")            ? env_home
                                              : NULL;
}

static const pipc__table_key_t key = {0xabc, "H200", "580.1", "", "0.1.0", ""};

#define KEY "topology 0000000000000abc\ngpu H200\ndriver 580.1\nbuild 0.1.0\n"
#define RING "up-to max eager ring graph ring\n"
#define NAME "0000000000000abc.table"

static void a_table_is_found_where_it_belongs(void **state)
{
    static const struct {
        const char *table, *config, *home; /* of the environment; names below the root */
        bool found;
        const char *from, *why;
    } cases[] = {
        {NULL, NULL, NULL, false, NULL, ""},
        {NULL, "config", NULL, true, "config/pcie-ipc/tables/" NAME, ""},
        {NULL, NULL, "home", true, "home/.config/pcie-ipc/tables/" NAME, ""},
        {NULL, "nowhere", "home", false, NULL, ""},
        {NULL, "other", NULL, false, NULL,
         "was measured elsewhere (driver 570.1 there, 580.1 here)"},
        {NULL, "broken", NULL, false, NULL, NAME ":3: no such choice"},
        {"mine", "broken", NULL, true, "mine", ""},
        {"other/pcie-ipc/tables/" NAME, NULL, NULL, true, "other/pcie-ipc/tables/" NAME,
         "elsewhere"},
        {"nothing", "config", NULL, false, NULL, "nothing: no such file"},
        {"broken/pcie-ipc/tables/" NAME, "config", NULL, false, NULL, ":3: no such choice"},
        {"config", NULL, NULL, false, NULL, "is no regular file"},
        {"fifo", NULL, NULL, false, NULL, "is no regular file"},
        {"huge", NULL, NULL, false, NULL, "is larger than any table"},
    };

    (void)state;
    put("config/pcie-ipc/tables/" NAME, "table 1\n" KEY RING);
    put("home/.config/pcie-ipc/tables/" NAME, "table 1\n" KEY RING);
    put("other/pcie-ipc/tables/" NAME,
        "table 1\ntopology abc\ngpu H200\ndriver 570.1\nbuild 0.1.0\n" RING);
    put("broken/pcie-ipc/tables/" NAME, "table 1\n\nup-to max eager moon graph ring\n");
    put("mine", "table 1\n" KEY RING);
    put("huge", "table 1\n");
    assert_int_equal(truncate(in_root("huge"), (off_t)PIPC__TABLE_BYTES_MAX + 1), 0);
    assert_int_equal(mkfifo(in_root("fifo"), 0600), 0);
    for (size_t i = 0; i < LEN(cases); i++) {
        pipc__table_file_t f = {.table = pipc__table_fixed(PIPC__ONE_SHOT)};
        char from[PIPC__TABLE_PATH] = "", why[320];
        env_table = cases[i].table ? in_root(cases[i].table) : NULL;
        env_config = cases[i].config ? in_root(cases[i].config) : NULL;
        env_home = cases[i].home ? in_root(cases[i].home) : NULL;
        bool found = pipc__tables_find(&f, &key, lookup, from, why, sizeof(why));
        if (found != cases[i].found || (found && strcmp(from, in_root(cases[i].from))) ||
            !strstr(why, cases[i].why) || (!*cases[i].why && *why))
            fail_msg("case %zu: %d %s (%s)", i, found, from, why);
        assert_int_equal(f.table.row[0].eager.algo, found ? PIPC__RING : PIPC__ONE_SHOT);
    }
    env_table = "none";
    env_config = in_root("config");
    pipc__table_file_t f;
    char from[PIPC__TABLE_PATH], why[320];
    assert_false(pipc__tables_find(&f, &key, lookup, from, why, sizeof(why)) || *why);
}

/* Root trusts no file that somebody else can write. */
static void root_takes_its_own_files_only(void **state)
{
    pipc__table_file_t f;
    pipc__error_t err;

    (void)state;
    if (geteuid())
        skip();
    put("root", "table 1\n" KEY RING);
    assert_int_equal(pipc__tables_read(&f, in_root("root"), true, &err), PIPC_OK);
    assert_int_equal(chmod(in_root("root"), 0664), 0);
    assert_int_equal(pipc__tables_read(&f, in_root("root"), true, &err), PIPC_ERR_INVALID);
    assert_int_equal(chmod(in_root("root"), 0644), 0);
    assert_int_equal(chown(in_root("root"), 65534, 0), 0);
    assert_int_equal(pipc__tables_read(&f, in_root("root"), true, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "root takes a table that is root's"));
}

/* --- the key --------------------------------------------------------------------------------- */

static void the_machine_is_read(void **state)
{
    static const struct {
        const char *version, *driver;
    } cases[] = {
        {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.161.03  Wed Oct 19 00:46:04 UTC "
         "2022\n",
         "470.161.03"},
        {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n",
         "580.159.04"},
        {"something else\n", ""},
    };
    char name[PIPC__RECORD_GPU], driver[PIPC__RECORD_DRIVER];

    (void)state;
    put("proc/cpuinfo",
        "processor\t: 0\nmodel name\t: AMD EPYC 7B13 \nflags\t\t: fpu\nmodel name: 2\n");
    for (size_t i = 0; i < LEN(cases); i++) {
        put("proc/driver/nvidia/version", cases[i].version);
        pipc__tables_machine(name, driver, "NVIDIA H200", root);
        assert_string_equal(name, "NVIDIA H200");
        assert_string_equal(driver, cases[i].driver);
    }
    pipc__tables_machine(name, driver, "", root);
    assert_string_equal(name, "cpu AMD EPYC 7B13");
    assert_string_equal(driver, "");
    put("sys/bus/pci/devices/0000:01:00.0/current_link_width", "16\n");
    assert_int_equal(pipc__tables_width("0000:01:00.0", root), 16);
    assert_int_equal(pipc__tables_width("0000:02:00.0", root), 0);
    put("sys/bus/pci/devices/0000:01:00.0/current_link_width", "-1\n");
    assert_int_equal(pipc__tables_width("0000:01:00.0", root), 0);
}

static void what_changes_times_changes_the_key(void **state)
{
    pipc__record_t recs[4];
    pipc__shape_t shape, host;
    pipc__table_key_t a, b;

    (void)state;
    memset(recs, 0, sizeof(recs));
    for (int r = 0; r < 4; r++)
        snprintf(recs[r].gpu, sizeof(recs[r].gpu), "NVIDIA A100"), recs[r].width = 16;
    pipc__shape_flat(&shape, 4);
    pipc__tables_key(&a, recs, 4, &shape, 1, 0);
    assert_string_equal(a.gpu, "NVIDIA A100");
    host = shape;
    host.reach[2] = 4;
    pipc__tables_key(&b, recs, 4, &host, 1, 0);
    assert_true(a.topology != b.topology);
    pipc__tables_key(&b, recs, 4, &shape, 1, PIPC_SMS_MAX);
    assert_true(a.topology != b.topology);
    recs[3].width = 8;
    pipc__tables_key(&b, recs, 4, &shape, 1, 0);
    assert_true(a.topology != b.topology);
    recs[3].width = 16;
    recs[3].pid = 4711; /* who the ranks are does not matter */
    pipc__tables_key(&b, recs, 4, &shape, 1, 0);
    assert_true(a.topology == b.topology);
    memset(recs[1].gpu, 'x', sizeof(recs[1].gpu)); /* not ended, by a process not to be trusted */
    pipc__tables_key(&b, recs, 4, &shape, 1, 0);
    assert_true(a.topology != b.topology);
}

/* --- communicators --------------------------------------------------------------------------- */

typedef struct life {
    const char *table[2]; /* each rank's PCIE_IPC_TABLE, below the root */
    const char *small;    /* what 1000 bytes get on every rank */
    const char *words;    /* of rank 0's line; NULL: none */
} life_t;

static ranks_t *the_ranks;
static int the_rank, nlines;
static char line[1024];

static int gather(void *ctx, const void *mine, size_t bytes, void *all)
{
    (void)ctx;
    ranks_gather(the_ranks, the_rank, mine, bytes, all);
    return 0;
}

static void keep_line(void *arg, pipc_log_level_t level, const char *text)
{
    (void)arg;
    if (level > PIPC_LOG_WARN)
        return;
    nlines++;
    snprintf(line, sizeof(line), "%s", text);
}

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "# rank %d, line %d: %s [%s] [%s]\n", the_rank, __LINE__, #cond,       \
                    pipc_last_error(), line);                                                      \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int live(ranks_t *all, int rank, void *arg)
{
    const life_t *life = arg;
    pipc_callbacks_t calls = {sizeof(calls), rank, 2, gather, NULL};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc_comm_stats_t s = PIPC_COMM_STATS_INIT;
    float x[250] = {1};
    pipc_comm_t *comm;

    the_ranks = all;
    the_rank = rank;
    c.callbacks = &calls;
    c.backend = PIPC_BACKEND_CPU;
    unsetenv("PCIE_IPC_PLAN");
    setenv("PCIE_IPC_TABLE", life->table[rank] ? in_root(life->table[rank]) : "none", 1);
    pipc_set_log(keep_line, NULL);
    MUST(!pipc_comm_create(&comm, &c));
    MUST(!strcmp(pipc__comm_choice_name(comm, 1000, false), life->small));
    MUST(nlines == (rank == 0 && life->words));
    MUST(!nlines || strstr(line, life->words));
    MUST(!pipc_allreduce(comm, x, x, 250, PIPC_F32, PIPC_SUM, NULL) && x[0] == 2 && x[1] == 0);
    MUST(!pipc_comm_stats(comm, &s) && s.calls == 1);
    for (int i = 0; i < s.plans; i++)
        MUST((s.plan[i].calls == 1) == !strcmp(s.plan[i].name, life->small));
    MUST(!pipc_comm_destroy(comm));
    return 0;
}

static void ranks_take_the_same_table_or_the_shipped_one(void **state)
{
    static const life_t lives[] = {
        {{NULL, NULL}, "one-shot", NULL},
        {{"ring", "ring"}, "ring", "it is used because PCIE_IPC_TABLE names it"},
        {{"ring", "same"}, "ring", "it is used"}, /* another file that says the same */
        {{"ring", "two"}, "one-shot", "rank 1 (process"},
        {{"ring", NULL}, "one-shot", "has another table (none)"},
        {{NULL, "ring"}, "one-shot", "all ranks use the shipped one"},
        {{"ring", "bad"}, "one-shot", "/bad:1: the first line"},
        {{"bad", "bad"}, "one-shot", "/bad:1: the first line"},
        {{"absent", "absent"}, "one-shot", "/absent: no such file"},
        {{"nccl", "nccl"}, "one-shot", "used"}, /* never on a CPU */
        {{"ll", "ll"}, "one-shot", "used"},     /* nor that */
    };

    (void)state;
    put("ring", "table 1\n" RING);
    put("same", "# the same\ntable 1\n" RING);
    put("two", "table 1\nup-to max eager two-shot graph two-shot\n");
    put("nccl", "table 1\nup-to max eager nccl graph nccl\n");
    put("ll", "table 1\nup-to 5000 eager one-shot/ll/8 graph one-shot/ll\n" RING);
    put("bad", "moon\n");
    for (size_t i = 0; i < LEN(lives); i++) {
        life_t life = lives[i];
        if (ranks_run(2, live, &life, 20))
            fail_msg("life %zu", i);
    }
}

static int ask_for_nccl(ranks_t *all, int rank, void *arg)
{
    pipc_callbacks_t calls = {sizeof(calls), rank, 2, gather, NULL};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm;

    (void)arg;
    the_ranks = all;
    the_rank = rank;
    c.callbacks = &calls;
    c.backend = PIPC_BACKEND_CPU;
    c.plan = "nccl";
    MUST(pipc_comm_create(&comm, &c) == PIPC_ERR_UNSUPPORTED &&
         strstr(pipc_last_error(), "needs GPUs"));
    return 0;
}

static void nccl_that_is_asked_for_needs_gpus(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(2, ask_for_nccl, NULL, 20), 0);
}

/* --- NCCL, as on GPUs ------------------------------------------------------------------------ */

typedef struct gpus {
    const char *does, *library; /* FAKE_NCCL; NULL: the fake library */
    int kind;
    const char *table;
    pipc_status_t own[2], status; /* of setting up plans on each rank; of the whole */
    bool nccl;                    /* is there in the end */
    int small, large;             /* algorithms of 1000 bytes and 1 MB */
    const char *words;            /* of the error, or of rank 0's line; NULL: none */
} gpus_t;

static bool early; /* own fails before there is a table */

static const char *wishes(const char *name)
{
    return !strcmp(name, "PCIE_IPC_TABLE")  ? getenv("PCIE_IPC_TABLE")
           : !strcmp(name, "PCIE_IPC_NCCL") ? getenv("PCIE_IPC_NCCL")
                                            : NULL;
}

/* What create.c does, on ranks that believe they have GPUs. */
static int choose(ranks_t *all, int rank, void *arg)
{
    static const rank_plan_t one = {PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT};
    const gpus_t *g = arg;
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;
    pipc__wish_t wish = {g->kind, true, &config, wishes};
    pipc__record_t recs[2];
    pipc__error_t err = {PIPC_OK, ""};
    pipc_comm_t c = {.rank = rank, .size = 2, .local_rank = rank, .local_size = 2};
    rank_exec_t re;

    the_rank = rank;
    memset(recs, 0, sizeof(recs));
    setenv("FAKE_NCCL", g->does, 1);
    setenv("PCIE_IPC_TABLE", g->table ? in_root(g->table) : "none", 1);
    setenv("PCIE_IPC_NCCL", g->library ? g->library : fake, 1);
    pipc_set_log(keep_line, NULL);
    rank_exec_open(&re, &pipc__exec_cpu, 1 << 20, (rank_plans_t){&one, 1}, all, rank);
    c.ctl = re.ctl;
    pipc__shape_flat(&c.shape, 2);
    pipc_status_t st = PIPC_OK;
    if (early && g->own[rank])
        st = pipc__fail(&err, g->own[rank], "the moon is out of reach");
    st = pipc__choose_table(&c, &wish, recs, st, &err);
    if (!early && !st && g->own[rank])
        st = pipc__fail(&err, g->own[rank], "the moon is out of reach");
    st = pipc__choose_fallback(&c, &wish, st, &err);
    MUST(st == g->status || (st == g->own[rank] && g->status)); /* the vote tells the others */
    if (!g->status) {
        MUST(!c.nccl == !g->nccl);
        MUST(pipc__table_choose(&c.table, 1000, false).algo == g->small);
        MUST(pipc__table_choose(&c.table, 1 << 20, true).algo == g->large);
    }
    MUST(!g->words || rank || strstr(st ? err.text : line, g->words));
    MUST(g->words || !nlines);
    pipc__nccl_close(c.nccl, !st);
    rank_exec_close(&re);
    return 0;
}

static void nccl_is_there_on_all_ranks_or_none(void **state)
{
    static const gpus_t cases[] = {
        {"", NULL, -1, NULL, {0, 0}, PIPC_OK, false, PIPC__ONE_SHOT, PIPC__ONE_SHOT, NULL},
        {"", NULL, -1, "large", {0, 0}, PIPC_OK, true, PIPC__RING, PIPC__ALGO_NCCL, "is used"},
        {"",
         NULL,
         -1,
         "old",
         {0, 0},
         PIPC_OK,
         true,
         PIPC__RING,
         PIPC__ALGO_NCCL,
         "was measured with NCCL 2.20.1, this is 2.28.9"},
        {"rank-1:init-fails",
         NULL,
         -1,
         "large",
         {0, 0},
         PIPC_OK,
         false,
         PIPC__RING,
         PIPC__ONE_SHOT,
         "without NCCL, which the table asks for: rank 1"},
        {"",
         "/nowhere.so",
         -1,
         "large",
         {0, 0},
         PIPC_OK,
         false,
         PIPC__RING,
         PIPC__ONE_SHOT,
         "without NCCL"},
        {"",
         NULL,
         PIPC__ALGO_NCCL,
         NULL,
         {0, 0},
         PIPC_OK,
         true,
         PIPC__ALGO_NCCL,
         PIPC__ALGO_NCCL,
         NULL},
        {"",
         "/nowhere.so",
         PIPC__ALGO_NCCL,
         NULL,
         {0, 0},
         PIPC_ERR_NOT_FOUND,
         false,
         0,
         0,
         "/nowhere.so"},
        /* out of reach: NCCL does it all, if it is there and nothing certain was asked for */
        {"",
         NULL,
         -1,
         NULL,
         {PIPC_ERR_UNREACHABLE, 0},
         PIPC_OK,
         true,
         PIPC__ALGO_NCCL,
         PIPC__ALGO_NCCL,
         "NCCL does it all: the moon"},
        {"",
         NULL,
         -1,
         "large",
         {PIPC_ERR_UNREACHABLE, PIPC_ERR_UNREACHABLE},
         PIPC_OK,
         true,
         PIPC__ALGO_NCCL,
         PIPC__ALGO_NCCL,
         "NCCL does it all"},
        {"",
         "/nowhere.so",
         -1,
         NULL,
         {0, PIPC_ERR_UNREACHABLE},
         PIPC_ERR_UNREACHABLE,
         false,
         0,
         0,
         "NCCL can't take over: rank"},
        /* no kernels for a GPU: the same, and also where NCCL was asked for */
        {"",
         NULL,
         -1,
         NULL,
         {0, PIPC_ERR_UNSUPPORTED},
         PIPC_OK,
         true,
         PIPC__ALGO_NCCL,
         PIPC__ALGO_NCCL,
         ""},
        {"",
         NULL,
         PIPC__ALGO_NCCL,
         NULL,
         {PIPC_ERR_UNSUPPORTED, 0},
         PIPC_OK,
         true,
         PIPC__ALGO_NCCL,
         PIPC__ALGO_NCCL,
         "NCCL does it all: the moon"},
        {"",
         "/nowhere.so",
         -1,
         NULL,
         {PIPC_ERR_UNSUPPORTED, 0},
         PIPC_ERR_UNSUPPORTED,
         false,
         0,
         0,
         "the moon is out of reach; and NCCL can't take over: rank"},
        {"", NULL, -1, NULL, {PIPC_ERR_NOMEM, 0}, PIPC_ERR_NOMEM, false, 0, 0, NULL},
        {"",
         NULL,
         PIPC__RING,
         NULL,
         {PIPC_ERR_UNREACHABLE, 0},
         PIPC_ERR_UNREACHABLE,
         false,
         0,
         0,
         "the moon"},
    };

    (void)state;
    put("large", "table 1\nup-to 5000 eager ring graph ring\nup-to max eager nccl graph nccl\n");
    put("old", "table 1\nnccl 2.20.1\nup-to 5000 eager ring graph ring\n"
               "up-to max eager nccl graph nccl\n");
    for (size_t i = 0; i < LEN(cases); i++) {
        gpus_t g = cases[i];
        if (ranks_run(2, choose, &g, 20))
            fail_msg("case %zu", i);
    }
}

/* What fails on one rank before there is a table is heard of by the others, in step. */
static void an_early_failure_keeps_ranks_in_step(void **state)
{
    static const gpus_t cases[] = {
        {"",
         NULL,
         -1,
         NULL,
         {0, PIPC_ERR_UNREACHABLE},
         PIPC_OK,
         true,
         PIPC__ALGO_NCCL,
         PIPC__ALGO_NCCL,
         "NCCL does it all: rank 1"},
        {"", NULL, PIPC__RING, NULL, {0, PIPC_ERR_NOMEM}, PIPC_ERR_NOMEM, false, 0, 0, "the moon"},
    };

    (void)state;
    early = true;
    for (size_t i = 0; i < LEN(cases); i++) {
        gpus_t g = cases[i];
        if (ranks_run(2, choose, &g, 20))
            fail_msg("case %zu", i);
    }
    early = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_found_where_it_belongs),
        cmocka_unit_test(root_takes_its_own_files_only),
        cmocka_unit_test(the_machine_is_read),
        cmocka_unit_test(what_changes_times_changes_the_key),
        cmocka_unit_test(ranks_take_the_same_table_or_the_shipped_one),
        cmocka_unit_test(nccl_that_is_asked_for_needs_gpus),
        cmocka_unit_test(nccl_is_there_on_all_ranks_or_none),
        cmocka_unit_test(an_early_failure_keeps_ranks_in_step),
    };
    const char *folder = getenv("PIPC_BUILDDIR");
    char command[64];

    if (!mkdtemp(root))
        return 1;
    snprintf(fake, sizeof(fake), "%s/tests/unit/.libs/nccl_fake.so", folder ? folder : ".");
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    snprintf(command, sizeof(command), "rm -r '%s'", root);
    return system(command) || failed;
}
