/* tests/unit/comm_api.c - the rest of the API: structures of old programs, environment, callbacks,
 * statistics, version, log, the plugin's mark
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
#include "runtime/comm/comm.h"
#include "runtime/comm/request.h"
#include "tests/unit/ranks.h"

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "# line %d: %s [%s]\n", __LINE__, #cond, pipc_last_error());           \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* --- requests: old programs, the environment ----------------------------------------------------- */

static const char *env_plan, *env_exchange, *env_path, *env_sms, *env_nodes, *env_early;

static const char *lookup(const char *name)
{
    return !strcmp(name, "PCIE_IPC_PLAN") ? env_plan
           : !strcmp(name, "PCIE_IPC_EXCHANGE") ? env_exchange
           : !strcmp(name, "PCIE_IPC_PATH")     ? env_path
           : !strcmp(name, "PCIE_IPC_SMS")      ? env_sms
           : !strcmp(name, "PCIE_IPC_NODES")    ? env_nodes
           : !strcmp(name, "PCIE_IPC_EARLY")    ? env_early
                                                : NULL;
}

static int no_gather(void *ctx, const void *mine, size_t bytes, void *all)
{
    (void)ctx, (void)mine, (void)bytes, (void)all;
    return 77;
}

static void the_environment_refines_and_the_program_wins(void **state)
{
    static const pipc_callbacks_t calls = {sizeof(calls), 0, 1, no_gather, NULL};
    static const struct {
        const char *env_plan, *env_exchange, *plan;
        pipc_exchange_t exchange;
        const pipc_callbacks_t *calls;
        pipc_status_t status;
        const char *got_plan;
        pipc_exchange_t got_exchange;
    } cases[] = {
        {NULL, NULL, NULL, PIPC_EXCHANGE_AUTO, NULL, PIPC_OK, NULL, PIPC_EXCHANGE_AUTO},
        {"", "", NULL, PIPC_EXCHANGE_AUTO, NULL, PIPC_OK, NULL, PIPC_EXCHANGE_AUTO},
        {"ring", "socket", NULL, PIPC_EXCHANGE_AUTO, NULL, PIPC_OK, "ring", PIPC_EXCHANGE_SOCKET},
        {"ring", "auto", "auto", PIPC_EXCHANGE_AUTO, NULL, PIPC_OK, "auto", PIPC_EXCHANGE_AUTO},
        {"ring", "pmix", "one-shot", PIPC_EXCHANGE_SOCKET, NULL, PIPC_OK, "one-shot", PIPC_EXCHANGE_SOCKET},
        {NULL, "socket", NULL, PIPC_EXCHANGE_AUTO, &calls, PIPC_OK, NULL, PIPC_EXCHANGE_AUTO},
        {NULL, "moon", NULL, PIPC_EXCHANGE_PMIX, NULL, PIPC_OK, NULL, PIPC_EXCHANGE_PMIX},
        {NULL, "moon", NULL, PIPC_EXCHANGE_AUTO, NULL, PIPC_ERR_INVALID, NULL, PIPC_EXCHANGE_AUTO},
        {NULL, "callbacks", NULL, PIPC_EXCHANGE_AUTO, NULL, PIPC_ERR_INVALID, NULL, PIPC_EXCHANGE_AUTO},
        {NULL, NULL, NULL, (pipc_exchange_t)4, NULL, PIPC_ERR_INVALID, NULL, PIPC_EXCHANGE_AUTO},
        {NULL, NULL, NULL, PIPC_EXCHANGE_PMIX, &calls, PIPC_ERR_INVALID, NULL, PIPC_EXCHANGE_AUTO},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc_comm_config_t asked = PIPC_COMM_CONFIG_INIT;
        pipc__config_t got;
        pipc__error_t err = {PIPC_OK, ""};
        asked.plan = cases[i].plan;
        asked.exchange = cases[i].exchange;
        asked.callbacks = cases[i].calls;
        env_plan = cases[i].env_plan;
        env_exchange = cases[i].env_exchange;
        pipc_status_t st = pipc__config_take(&got, &asked, lookup, &err);
        if (st != cases[i].status)
            fail_msg("case %zu: %d %s", i, st, err.text);
        if (st)
            continue;
        if (got.asked.exchange != cases[i].got_exchange ||
            (int)got.want.kind != (int)cases[i].got_exchange)
            fail_msg("case %zu: exchange %d", i, (int)got.asked.exchange);
        if (!got.asked.plan != !cases[i].got_plan ||
            (got.asked.plan && strcmp(got.asked.plan, cases[i].got_plan)))
            fail_msg("case %zu: plan %s", i, got.asked.plan);
    }
    env_plan = env_exchange = NULL;
}

static void the_path_is_taken_from_program_or_environment(void **state)
{
    static const struct {
        const char *env;
        pipc_path_t path;
        pipc_status_t status;
        pipc_path_t got;
    } cases[] = {
        {NULL, PIPC_PATH_AUTO, PIPC_OK, PIPC_PATH_AUTO},
        {"", PIPC_PATH_AUTO, PIPC_OK, PIPC_PATH_AUTO},
        {"auto", PIPC_PATH_AUTO, PIPC_OK, PIPC_PATH_AUTO},
        {"p2p", PIPC_PATH_AUTO, PIPC_OK, PIPC_PATH_P2P},
        {"host", PIPC_PATH_AUTO, PIPC_OK, PIPC_PATH_HOST},
        {"host", PIPC_PATH_P2P, PIPC_OK, PIPC_PATH_P2P},
        {"moon", PIPC_PATH_HOST, PIPC_OK, PIPC_PATH_HOST},
        {"moon", PIPC_PATH_AUTO, PIPC_ERR_INVALID, PIPC_PATH_AUTO},
        {NULL, (pipc_path_t)3, PIPC_ERR_INVALID, PIPC_PATH_AUTO},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc_comm_config_t asked = PIPC_COMM_CONFIG_INIT;
        pipc__config_t got;
        pipc__error_t err = {PIPC_OK, ""};
        asked.path = cases[i].path;
        env_path = cases[i].env;
        pipc_status_t st = pipc__config_take(&got, &asked, lookup, &err);
        if (st != cases[i].status || (!st && got.asked.path != cases[i].got))
            fail_msg("case %zu: %d %s", i, st, err.text);
    }
    env_path = NULL;
}

static void what_a_node_is_the_environment_says(void **state)
{
    static const struct {
        const char *env;
        pipc_status_t status;
        unsigned int split;
    } cases[] = {
        {NULL, PIPC_OK, 0},         {"", PIPC_OK, 0},
        {"auto", PIPC_OK, 0},       {"split", PIPC_OK, 1},
        {"split:1", PIPC_OK, 1},    {"split:16", PIPC_OK, 16},
        {"split:17", PIPC_ERR_INVALID, 0}, {"split:0", PIPC_ERR_INVALID, 0},
        {"split:", PIPC_ERR_INVALID, 0},   {"split:2x", PIPC_ERR_INVALID, 0},
        {"split:2,2", PIPC_ERR_INVALID, 0}, {"split:-1", PIPC_ERR_INVALID, 0},
        {"split:99999999999999999999", PIPC_ERR_INVALID, 0},
        {"splits", PIPC_ERR_INVALID, 0},   {"2", PIPC_ERR_INVALID, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__config_t got;
        pipc__error_t err = {PIPC_OK, ""};
        env_nodes = cases[i].env;
        pipc_status_t st = pipc__config_take(&got, NULL, lookup, &err);
        if (st != cases[i].status || (!st && got.split != cases[i].split) ||
            (st && !strstr(err.text, "PCIE_IPC_NODES")))
            fail_msg("case %zu: %d %s", i, st, err.text);
    }
    env_nodes = NULL;
}

static void early_launches_are_the_environments(void **state)
{
    static const struct {
        const char *env;
        pipc_status_t status;
        bool plain;
    } cases[] = {{NULL, PIPC_OK, false},  {"", PIPC_OK, false},          {"auto", PIPC_OK, false},
                 {"off", PIPC_OK, true}, {"no", PIPC_ERR_INVALID, false}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__config_t got;
        pipc__error_t err = {PIPC_OK, ""};
        env_early = cases[i].env;
        if (pipc__config_take(&got, NULL, lookup, &err) != cases[i].status ||
            got.plain != cases[i].plain || (err.status && !strstr(err.text, "PCIE_IPC_EARLY=no")))
            fail_msg("case %zu: %d %s", i, (int)got.plain, err.text);
    }
    env_early = NULL;
}

static void the_sm_budget_is_taken_from_program_or_environment(void **state)
{
    static const struct {
        const char *env;
        int sms;
        pipc_status_t status;
        int got;
    } cases[] = {
        {NULL, 0, PIPC_OK, 0},
        {"", 0, PIPC_OK, 0},
        {"16", 0, PIPC_OK, 16},
        {"max", 0, PIPC_OK, PIPC_SMS_MAX},
        {"max", 4, PIPC_OK, 4},
        {"moon", PIPC_SMS_MAX, PIPC_OK, PIPC_SMS_MAX},
        {"0", 0, PIPC_ERR_INVALID, 0},
        {"-1", 0, PIPC_ERR_INVALID, 0},
        {" 4", 0, PIPC_ERR_INVALID, 0},
        {"4x", 0, PIPC_ERR_INVALID, 0},
        {"99999999999999999999", 0, PIPC_ERR_INVALID, 0},
        {NULL, -2, PIPC_ERR_INVALID, 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc_comm_config_t asked = PIPC_COMM_CONFIG_INIT;
        pipc__config_t got;
        pipc__error_t err = {PIPC_OK, ""};
        asked.sms = cases[i].sms;
        env_sms = cases[i].env;
        pipc_status_t st = pipc__config_take(&got, &asked, lookup, &err);
        if (st != cases[i].status || (!st && got.asked.sms != cases[i].got))
            fail_msg("case %zu: %d %s", i, st, err.text);
    }
    env_sms = NULL;
}

/* The configuration of 0.1.0's first programs: what follows it in memory is not theirs to set. */
typedef struct first_config {
    size_t struct_bytes;
    pipc_backend_t backend;
    pipc_scope_t scope;
    const char *plan;
    size_t staging_bytes;
} first_config_t;

static void structures_of_old_programs_are_taken(void **state)
{
    struct {
        first_config_t config;
        unsigned char beyond[64];
    } old;
    pipc__config_t got;

    (void)state;
    assert_int_equal(sizeof(first_config_t), offsetof(pipc_comm_config_t, exchange));
    memset(&old, 0xff, sizeof(old));
    old.config = (first_config_t){sizeof(old.config), PIPC_BACKEND_CPU, PIPC_SCOPE_NODE, "ring", 4096};
    assert_int_equal(pipc__config_take(&got, (const pipc_comm_config_t *)(const void *)&old, lookup, NULL),
                     PIPC_OK);
    assert_int_equal(got.asked.exchange, PIPC_EXCHANGE_AUTO);
    assert_int_equal(got.asked.tag, 0);
    assert_null(got.asked.callbacks);
    assert_int_equal(got.asked.path, PIPC_PATH_AUTO);
    assert_int_equal(got.want.scope, PIPC__SCOPE_NODE);
    assert_string_equal(got.asked.plan, "ring");
    assert_int_equal(got.asked.staging_bytes, 4096);
}

static void structures_of_no_known_size_are_refused(void **state)
{
    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, sizeof(pipc_comm_config_t) + 1, SIZE_MAX};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc_callbacks_t calls = {sizeof(calls) + 8, 0, 1, no_gather, NULL};
    pipc__config_t got;
    pipc__error_t err;

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        c.struct_bytes = sizes[i];
        assert_int_equal(pipc__config_take(&got, &c, lookup, &err), PIPC_ERR_INVALID);
        assert_non_null(strstr(err.text, "PIPC_COMM_CONFIG_INIT"));
    }
    c = (pipc_comm_config_t)PIPC_COMM_CONFIG_INIT;
    c.callbacks = &calls;
    assert_int_equal(pipc__config_take(&got, &c, lookup, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "PIPC_CALLBACKS_INIT"));
}

/* --- a lone rank; statistics --------------------------------------------------------------------- */

/* No launcher: nothing of it may be left in the environment that the tests run in. */
static void leave_the_launcher(void)
{
    static const char *const names[] = {"PMIX_NAMESPACE", "PCIE_IPC_DIR", "SLURM_STEP_ID", "PMI_SIZE",
                                        "OMPI_COMM_WORLD_SIZE", "PCIE_IPC_LOCAL_SIZE",
                                        "PCIE_IPC_LOCAL_RANK", "PCIE_IPC_PLAN", "PCIE_IPC_EXCHANGE"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unsetenv(names[i]);
}

static int statistics(ranks_t *all, int rank, void *arg)
{
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc_comm_stats_t s = PIPC_COMM_STATS_INIT;
    pipc_comm_t *comm;
    float x[300] = {0};

    (void)all, (void)rank, (void)arg;
    leave_the_launcher();
    c.plan = "two-shot";
    MUST(!pipc_comm_create(&comm, &c));
    MUST(pipc_comm_size(comm) == 1);
    MUST(!pipc_allreduce(comm, x, x, 300, PIPC_F32, PIPC_SUM, NULL));
    MUST(!pipc_allreduce(comm, x, x, 10, PIPC_F16, PIPC_SUM, NULL));
    MUST(!pipc_allreduce(comm, x, x, 0, PIPC_F32, PIPC_SUM, NULL));
    MUST(pipc_allreduce(comm, NULL, x, 9, PIPC_F32, PIPC_SUM, NULL)); /* refused: no call */
    MUST(!pipc_comm_stats(comm, &s));
    MUST(s.struct_bytes == sizeof(s) && s.calls == 3 && s.bytes == 1220);
    MUST(s.plans > PIPC__TWO_SHOT && !strcmp(s.plan[PIPC__TWO_SHOT].name, "two-shot"));
    for (int i = 0; i < PIPC_STATS_PLANS; i++)
        MUST(!s.plan[i].name == (i >= s.plans));
    MUST(s.plan[PIPC__TWO_SHOT].calls == 2 && s.plan[PIPC__TWO_SHOT].bytes == 1220);
    MUST(s.plan[PIPC__ONE_SHOT].calls == 0 && !s.plan[PIPC_STATS_PLANS - 1].name);

    pipc_comm_stats_t old;
    memset(&old, 0x55, sizeof(old));
    old.struct_bytes = offsetof(pipc_comm_stats_t, plans); /* of a program that knows the sums only */
    MUST(!pipc_comm_stats(comm, &old) && old.calls == 3 && old.bytes == 1220);
    MUST(old.plans == 0x55555555 && old.struct_bytes == offsetof(pipc_comm_stats_t, plans));
    old.struct_bytes = sizeof(old) + 1;
    MUST(pipc_comm_stats(comm, &old) == PIPC_ERR_INVALID);
    old.struct_bytes = 0;
    MUST(pipc_comm_stats(comm, &old) == PIPC_ERR_INVALID && strstr(pipc_last_error(), "struct_bytes"));
    MUST(pipc_comm_stats(NULL, &s) == PIPC_ERR_INVALID && pipc_comm_stats(comm, NULL) == PIPC_ERR_INVALID);
    MUST(!pipc_comm_destroy(comm));
    return 0;
}

static pipc_status_t outcome; /* of an executor that does nothing */

static pipc_status_t run_nothing(pipc__exec_t *exec, const pipc__exec_call_t *call,
                                 pipc__error_t *err)
{
    (void)exec, (void)call;
    return outcome ? pipc__fail(err, outcome, "made up") : PIPC_OK;
}

/* What an executor refuses without having done anything, a call in a capture that something else has
 * spoilt, is no failure of the communicator; any other error is its end. */
static int refused_call(ranks_t *all, int rank, void *arg)
{
    pipc_status_t async = PIPC_OK;
    pipc_comm_t *comm;
    float x[4] = {0};

    (void)all, (void)rank, (void)arg;
    leave_the_launcher();
    MUST(!pipc_comm_create(&comm, NULL));
    const pipc__exec_ops_t *real = comm->exec->ops;
    pipc__exec_ops_t ops = *real;
    ops.run = run_nothing;
    comm->exec->ops = &ops;
    outcome = PIPC_ERR_INVALID;
    MUST(pipc_allreduce(comm, x, x, 4, PIPC_F32, PIPC_SUM, NULL) == PIPC_ERR_INVALID);
    MUST(!strcmp(pipc_last_error(), "made up"));
    MUST(!pipc_comm_async_error(comm, &async) && !async);
    outcome = PIPC_OK;
    MUST(!pipc_allreduce(comm, x, x, 4, PIPC_F32, PIPC_SUM, NULL));
    outcome = PIPC_ERR_CUDA;
    MUST(pipc_allreduce(comm, x, x, 4, PIPC_F32, PIPC_SUM, NULL) == PIPC_ERR_CUDA);
    MUST(!pipc_comm_async_error(comm, &async) && async == PIPC_ERR_CUDA);
    comm->exec->ops = real;
    pipc_comm_destroy(comm);
    return 0;
}

static void a_refused_call_ends_no_communicator(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(1, refused_call, NULL, 10), 0);
}

static void calls_and_bytes_are_counted_by_plan(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(1, statistics, NULL, 10), 0);
}

static int plan_of_environment(ranks_t *all, int rank, void *arg)
{
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm;

    (void)all, (void)rank, (void)arg;
    leave_the_launcher();
    setenv("PCIE_IPC_PLAN", "moon", 1);
    MUST(pipc_comm_create(&comm, NULL) == PIPC_ERR_INVALID && !comm);
    MUST(strstr(pipc_last_error(), "moon") && strstr(pipc_last_error(), "one-shot"));
    c.plan = "auto";
    MUST(!pipc_comm_create(&comm, &c));
    MUST(!pipc_comm_destroy(comm));
    return 0;
}

static void a_wrong_plan_of_the_environment_is_refused(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(1, plan_of_environment, NULL, 10), 0);
}

/* --- callbacks ------------------------------------------------------------------------------------ */

struct meeting {
    ranks_t *all;
    int rank, calls, fail_at; /* which allgather fails; -1: none */
};

static int gather(void *ctx, const void *mine, size_t bytes, void *all)
{
    struct meeting *m = ctx;

    ranks_gather(m->all, m->rank, mine, bytes, all);
    return m->calls++ == m->fail_at ? 42 : 0;
}

static pipc_status_t create_with(struct meeting *m, pipc_comm_t **comm)
{
    pipc_callbacks_t calls = {sizeof(calls), m->rank, ranks_size(m->all), gather, m};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;

    c.callbacks = &calls;
    return pipc_comm_create(comm, &c);
}

static int by_callbacks(ranks_t *all, int rank, void *arg)
{
    struct meeting m = {all, rank, 0, -1};
    pipc_comm_t *comm;
    float x = (float)(rank + 1);

    (void)arg;
    MUST(!create_with(&m, &comm));
    int calls = m.calls;
    MUST(calls > 0 && pipc_comm_rank(comm) == rank && pipc_comm_size(comm) == 3);
    MUST(!pipc_allreduce(comm, &x, &x, 1, PIPC_F32, PIPC_SUM, NULL) && x == 6);
    MUST(!pipc_comm_destroy(comm));
    MUST(m.calls == calls); /* never after create */
    for (m.fail_at = 0; m.fail_at < calls; m.fail_at++) {
        m.calls = 0;
        MUST(create_with(&m, &comm) == PIPC_ERR_EXCHANGE && !comm);
        MUST(strstr(pipc_last_error(), "returned 42"));
    }
    return 0;
}

static void ranks_meet_by_callbacks_and_hear_of_their_failure(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(3, by_callbacks, NULL, 10), 0);
}

static int without_callbacks(ranks_t *all, int rank, void *arg)
{
    pipc_callbacks_t calls = PIPC_CALLBACKS_INIT;
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm;

    (void)all, (void)rank, (void)arg;
    c.exchange = PIPC_EXCHANGE_CALLBACKS;
    MUST(pipc_comm_create(&comm, &c) == PIPC_ERR_INVALID && strstr(pipc_last_error(), "config.callbacks"));
    c.callbacks = &calls;
    MUST(pipc_comm_create(&comm, &c) == PIPC_ERR_INVALID && strstr(pipc_last_error(), "allgather"));
    calls.allgather = no_gather;
    MUST(pipc_comm_create(&comm, &c) == PIPC_ERR_INVALID && strstr(pipc_last_error(), "rank 0 of 0"));
    calls.size = 2;
    calls.rank = 2;
    MUST(pipc_comm_create(&comm, &c) == PIPC_ERR_INVALID && strstr(pipc_last_error(), "rank 2 of 2"));
    calls.rank = 1;
    MUST(pipc_comm_create(&comm, &c) == PIPC_ERR_EXCHANGE && strstr(pipc_last_error(), "returned 77"));
    return 0;
}

static void callbacks_are_judged(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(1, without_callbacks, NULL, 10), 0);
}

/* --- version, log, mark ---------------------------------------------------------------------------- */

static void the_version_is_the_package(void **state)
{
    (void)state;
    assert_string_equal(PIPC_VERSION_STRING, PACKAGE_VERSION);
    char text[32];
    snprintf(text, sizeof(text), "%d.%d.%d", PIPC_VERSION_MAJOR, PIPC_VERSION_MINOR, PIPC_VERSION_PATCH);
    assert_string_equal(text, PACKAGE_VERSION);
    assert_int_equal(pipc_version(), PIPC_VERSION_NUMBER);
}

static char logged[2048];
static int nlogged;

static void keep_line(void *arg, pipc_log_level_t level, const char *line)
{
    nlogged++;
    snprintf(logged, sizeof(logged), "%s%d %s", (const char *)arg, (int)level, line);
}

static const struct mark {
    const char *wanted, *task, *words; /* NULL: no line */
} marks[] = {
    {NULL, NULL, NULL},
    {NULL, "7.0:0.0.1", NULL},
    {PACKAGE_VERSION, "7.0:" PACKAGE_VERSION, NULL},
    {PACKAGE_VERSION, NULL, "this node's Slurm has not bound the task"},
    {PACKAGE_VERSION, "7.0:0.0.1", "version 0.0.1 of the Slurm plugin"},
    {PACKAGE_VERSION, "nonsense", "has not bound"},
};

static int mark_is_judged(ranks_t *all, int rank, void *arg)
{
    const struct mark *k = arg;
    pipc_comm_t *comm;

    (void)all, (void)rank;
    leave_the_launcher();
    unsetenv("PCIE_IPC_WANTED");
    unsetenv("PCIE_IPC_TASK");
    unsetenv("SLURM_JOB_ID");
    if (k->wanted)
        setenv("PCIE_IPC_WANTED", k->wanted, 1);
    if (k->task)
        setenv("PCIE_IPC_TASK", k->task, 1);
    char prefix[] = "x";
    pipc_set_log(keep_line, prefix);
    for (int i = 0; i < 2; i++) { /* said once */
        MUST(!pipc_comm_create(&comm, NULL));
        MUST(!pipc_comm_destroy(comm));
    }
    MUST(nlogged == (k->words ? 1 : 0));
    MUST(!k->words || (strstr(logged, k->words) && !strncmp(logged, "x1 ", 3) && !strchr(logged, '\n')));
    pipc_set_log(NULL, NULL);
    return 0;
}

static void a_missing_plugin_gets_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        struct mark k = marks[i];
        if (ranks_run(1, mark_is_judged, &k, 10))
            fail_msg("case %zu", i);
    }
}

/* --- srun --pcie-ipc=verbose ------------------------------------------------------------------------ */

typedef struct loud {
    const char *verbose;  /* PCIE_IPC_VERBOSE; NULL: not set */
    bool takes_log;       /* the program calls pipc_set_log() */
    const char *path;     /* of the environment; NULL: not set */
    const char *words;    /* on rank 0's standard error; NULL: it stays empty, as rank 1's does */
} loud_t;

static int to_a_file(ranks_t *all, int rank, void *arg)
{
    const loud_t *l = arg;
    struct meeting m = {all, rank, 0, -1};
    char text[512] = "", prefix[] = "";
    FILE *file = tmpfile();
    pipc_comm_t *comm;

    MUST(file);
    l->verbose ? setenv("PCIE_IPC_VERBOSE", l->verbose, 1) : unsetenv("PCIE_IPC_VERBOSE");
    l->path ? setenv("PCIE_IPC_PATH", l->path, 1) : unsetenv("PCIE_IPC_PATH");
    if (l->takes_log)
        pipc_set_log(keep_line, prefix);
    int kept = dup(2);
    MUST(dup2(fileno(file), 2) == 2);
    pipc_status_t st = create_with(&m, &comm);
    MUST(dup2(kept, 2) == 2);
    MUST(!st && !pipc_comm_destroy(comm));
    rewind(file);
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[n] = '\0';
    if (rank || !l->words)
        MUST(!n);
    else
        MUST(strstr(text, l->words) && text[n - 1] == '\n');
    return 0;
}

static void verbose_shows_the_paths(void **state)
{
    static const loud_t cases[] = {
        {NULL, false, NULL, NULL},
        {"1", false, NULL, "pcie-ipc: paths: p2p 2 pairs, host 0\n"},
        {"1", false, "host", "pcie-ipc: paths: p2p 0 pairs, host 2\n"},
        {"1", true, NULL, NULL},
        {"yes", false, NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        loud_t l = cases[i];
        if (ranks_run(2, to_a_file, &l, 10))
            fail_msg("case %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_refines_and_the_program_wins),
        cmocka_unit_test(the_path_is_taken_from_program_or_environment),
        cmocka_unit_test(what_a_node_is_the_environment_says),
        cmocka_unit_test(early_launches_are_the_environments),
        cmocka_unit_test(the_sm_budget_is_taken_from_program_or_environment),
        cmocka_unit_test(structures_of_old_programs_are_taken),
        cmocka_unit_test(structures_of_no_known_size_are_refused),
        cmocka_unit_test(calls_and_bytes_are_counted_by_plan),
        cmocka_unit_test(a_refused_call_ends_no_communicator),
        cmocka_unit_test(a_wrong_plan_of_the_environment_is_refused),
        cmocka_unit_test(ranks_meet_by_callbacks_and_hear_of_their_failure),
        cmocka_unit_test(callbacks_are_judged),
        cmocka_unit_test(the_version_is_the_package),
        cmocka_unit_test(a_missing_plugin_gets_one_line),
        cmocka_unit_test(verbose_shows_the_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
