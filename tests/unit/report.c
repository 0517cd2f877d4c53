/* tests/unit/report.c - what is counted, what it saved, and what is written of it when a process
 * ends
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
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <jansson.h>
#include <pcie-ipc/comm.h>
#include <pthread.h>

#include "runtime/comm/report.h"
#include "tests/unit/comma.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void classes_of_sizes(void **state)
{
    static const struct {
        size_t bytes;
        int class;
    } cases[] = {{1, 0},
                 {1024, 0},
                 {1025, 1},
                 {4096, 1},
                 {4097, 2},
                 {1 << 20, 5},
                 {(size_t)256 << 20, 9},
                 {((size_t)256 << 20) + 1, 10},
                 {SIZE_MAX, 10}};

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++)
        assert_int_equal(pipc__report_class(cases[i].bytes), cases[i].class);
    assert_int_equal(pipc__report_bytes(0), 1024);
    assert_int_equal(pipc__report_bytes(PIPC__REPORT_CLASSES - 1), 0);
}

static const char *variables[8];

static const char *lookup(const char *name)
{
    for (size_t i = 0; i + 1 < LEN(variables) && variables[i]; i += 2)
        if (!strcmp(variables[i], name))
            return variables[i + 1];
    return NULL;
}

static void what_is_asked_for(void **state)
{
    static const struct {
        const char *report, *verbose, *task;
        int how;
        const char *file;
    } cases[] = {
        {NULL, NULL, NULL, PIPC__REPORT_NONE, ""},
        {"none", NULL, NULL, PIPC__REPORT_NONE, ""},
        {"moon", NULL, NULL, PIPC__REPORT_NONE, ""},
        {"jsonx", NULL, NULL, PIPC__REPORT_NONE, ""},
        {"summary", NULL, NULL, PIPC__REPORT_SUMMARY, ""},
        {"none", "1", NULL, PIPC__REPORT_SUMMARY, ""},
        {"json", NULL, NULL, PIPC__REPORT_JSON, "pcie-ipc-report.json"},
        {"json:", "1", "17.2:0.1.0", PIPC__REPORT_JSON, "pcie-ipc-report.17.2.json"},
        {"json", NULL, "../x:0.1.0", PIPC__REPORT_JSON, "pcie-ipc-report.json"},
        {"json:/tmp/a:b", NULL, "17.2:0.1.0", PIPC__REPORT_JSON, "/tmp/a:b"},
    };

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        const char *const set[] = {"PCIE_IPC_REPORT", cases[i].report, "PCIE_IPC_VERBOSE",
                                   cases[i].verbose,  "PCIE_IPC_TASK", cases[i].task};
        pipc__report_wish_t wish;
        memcpy(variables, set, sizeof(set));
        pipc__report_parse(&wish, lookup);
        assert_int_equal(wish.how, cases[i].how);
        assert_string_equal(wish.file, cases[i].file);
        bool unknown = cases[i].report &&
                       (!strcmp(cases[i].report, "moon") || !strcmp(cases[i].report, "jsonx"));
        assert_string_equal(wish.unknown, unknown ? cases[i].report : "");
    }
}

/* 10 us by NCCL, 4 by LL (on 8 blocks; 5 on all) and 12 by the ring, at 64 KB. */
static const pipc__table_time_t times[] = {
    {65536, false, {PIPC__ALGO_NCCL, PIPC__PROTO_SIMPLE, 0}, "", 10, 11, 40},
    {65536, false, {PIPC__ALGO_NCCL, PIPC__PROTO_SIMPLE, 0}, "ring-ll", 3, 4, 40},
    {65536, true, {PIPC__ALGO_NCCL, PIPC__PROTO_SIMPLE, 0}, "", 1, 1, 40},
    {65536, false, {PIPC__ONE_SHOT, PIPC__PROTO_LL, 0}, "", 5, 6, 40},
    {65536, false, {PIPC__ONE_SHOT, PIPC__PROTO_LL, 8}, "", 4, 6, 40},
    {65536, false, {PIPC__RING, PIPC__PROTO_SIMPLE, 0}, "", 12, 13, 40},
    {131072, false, {PIPC__RING, PIPC__PROTO_SIMPLE, 0}, "", 24, 25, 40},
};

static void what_was_saved(void **state)
{
    static const struct {
        int algo;
        pipc__proto_t proto;
        uint64_t calls, bytes;
        bool known;
        double usec;
    } cases[] = {
        {PIPC__ONE_SHOT, PIPC__PROTO_LL, 3, 3 * 65536, true, 18},
        {PIPC__ONE_SHOT, PIPC__PROTO_LL, 2, 2 * 1024, true, 12}, /* the size above it */
        {PIPC__RING, PIPC__PROTO_SIMPLE, 2, 2 * 65536, true, -4},
        {PIPC__ONE_SHOT, PIPC__PROTO_SIMPLE, 1, 65536, false, 0}, /* was not measured */
        {PIPC__RING, PIPC__PROTO_SIMPLE, 1, 131072, false, 0},    /* nor NCCL there */
        {PIPC__RING, PIPC__PROTO_SIMPLE, 1, 1 << 20, false, 0},   /* nor anything */
        {PIPC__RING, PIPC__PROTO_SIMPLE, 0, 0, true, 0},
    };

    (void)state;
    for (size_t i = 0; i < LEN(cases); i++) {
        double usec = 0;
        bool known = pipc__report_saved(times, (int)LEN(times), cases[i].algo, cases[i].proto,
                                        cases[i].calls, cases[i].bytes, &usec);
        if (known != cases[i].known || usec != cases[i].usec)
            fail_msg("case %zu: %d, %f", i, known, usec);
    }
}

/* --- texts -------------------------------------------------------------------------------------
 */

static pipc__report_t *sample(void)
{
    static pipc__report_t r;

    memset(&r, 0, sizeof(r));
    for (int i = 0; i < 3; i++)
        pipc__report_own(&r, PIPC__ONE_SHOT, PIPC__PROTO_LL, 65536);
    pipc__report_own(&r, PIPC__RING, PIPC__PROTO_SIMPLE, 1 << 20);
    pipc__report_nccl(&r, "the table says so", (size_t)1 << 30);
    pipc__report_nccl(&r, "in a \"group\"", 512);
    return &r;
}

static char *written(const pipc__report_t *r, bool json, const char *table, int n)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);

    pipc__report_write(r, json, "n\\1", table, times, n, out);
    fclose(out);
    return text;
}

static void lines_for_people(void **state)
{
    char *text = written(sample(), false, "/t.table", (int)LEN(times));

    (void)state;
    assert_string_equal(
        text, "pcie-ipc: AllReduce on n\\1: 6 calls, 1074987520 bytes\n"
              "pcie-ipc:   up to 1 KB: 1 calls, 512 bytes, NCCL: in a \"group\"\n"
              "pcie-ipc:   up to 64 KB: 3 calls, 196608 bytes, one-shot/ll, "
              "about 0.018 ms saved\n"
              "pcie-ipc:   up to 1 MB: 1 calls, 1048576 bytes, ring\n"
              "pcie-ipc:   above 256 MB: 1 calls, 1073741824 bytes, NCCL: the table says so\n"
              "pcie-ipc: time saved, by the times in /t.table: about 0.018 ms\n");
    free(text);
    text = written(sample(), false, NULL, 0);
    assert_non_null(strstr(text, "\npcie-ipc: time saved: unknown; pcie-ipc-tune measures"));
    assert_null(strstr(text, " ms"));
    free(text);
    static const pipc__report_t nothing;
    text = written(&nothing, false, NULL, 0);
    assert_string_equal(text, "");
    free(text);
}

/* What a reader of the JSON may count on: each key, of this type. */
static void expect_rows(const json_t *rows)
{
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        json_t *who = json_object_get(row, "who"), *why = json_object_get(row, "why");
        assert_int_equal(json_object_size(row), 7);
        assert_true(json_is_string(who));
        assert_true(json_is_string(why) == !strcmp(json_string_value(who), "nccl"));
        assert_true(json_is_string(json_object_get(row, "proto")) != json_is_string(why));
        assert_true(json_is_integer(json_object_get(row, "calls")));
        assert_true(json_is_integer(json_object_get(row, "bytes")));
        json_t *up_to = json_object_get(row, "up_to"), *saved = json_object_get(row, "saved_usec");
        assert_true(json_is_integer(up_to) || json_is_null(up_to));
        assert_true(json_is_number(saved) || json_is_null(saved));
    }
}

static void expect_schema(const char *text, size_t nrows)
{
    json_error_t err;
    json_t *j = json_loads(text, 0, &err);

    if (!j)
        fail_msg("%s: %s", err.text, text);
    assert_int_equal(json_object_size(j), 7);
    assert_true(json_is_string(json_object_get(j, "pcie_ipc")));
    assert_true(json_is_string(json_object_get(j, "host")));
    assert_true(json_is_integer(json_object_get(j, "calls")));
    assert_true(json_is_integer(json_object_get(j, "bytes")));
    json_t *saved = json_object_get(j, "saved_usec"), *table = json_object_get(j, "table");
    assert_true(json_is_number(saved) || json_is_null(saved));
    assert_true(json_is_string(table) || json_is_null(table));
    assert_int_equal(json_array_size(json_object_get(j, "rows")), nrows);
    expect_rows(json_object_get(j, "rows"));
    json_decref(j);
}

static void json_has_its_schema(void **state)
{
    char *text = written(sample(), true, "/t.table", (int)LEN(times));

    (void)state;
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* a line */
    expect_schema(text, 4);
    free(text);
    text = written(sample(), true, NULL, 0);
    expect_schema(text, 4);
    free(text);
}

static void both_are_the_same_where_decimals_have_a_comma(void **state)
{
    if (!comma_begin())
        skip();
    lines_for_people(state);
    json_has_its_schema(state);
    comma_end();
}

/* --- counting ----------------------------------------------------------------------------------
 */

#define THREADS 4
#define CALLS 20000

static void *count(void *arg)
{
    static const char *const whys[] = {"a", "b", "c"};

    for (int i = 0; i < CALLS; i++) {
        pipc__report_own(arg, PIPC__ONE_SHOT, PIPC__PROTO_LL, 8);
        pipc__report_nccl(arg, whys[i % 3], 8);
    }
    return NULL;
}

static void threads_lose_no_call(void **state)
{
    static pipc__report_t r;
    pthread_t thread[THREADS];
    uint64_t nccl = 0;

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, count, &r), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(r.own[0][PIPC__ONE_SHOT][PIPC__PROTO_LL].calls, THREADS * CALLS);
    for (int w = 0; w < PIPC__REPORT_WHYS; w++)
        nccl += r.nccl[0][w].calls;
    assert_int_equal(nccl, THREADS * CALLS);
    assert_null(r.why[3]); /* a reason has one place */
}

static void reasons_without_room_are_counted_as_others(void **state)
{
    static pipc__report_t r;
    static char why[40][8];

    (void)state;
    for (int i = 0; i < 40; i++) {
        snprintf(why[i], sizeof(why[i]), "%d", i);
        pipc__report_nccl(&r, why[i], 8);
    }
    assert_int_equal(r.nccl[0][PIPC__REPORT_WHYS - 1].calls, 40 - (PIPC__REPORT_WHYS - 1));
    assert_string_equal(r.why[PIPC__REPORT_WHYS - 1], "other reasons");
}

/* --- a process that ends ------------------------------------------------------------------------
 */

static char dir[] = "/tmp/pipc-unit-XXXXXX";

/* A lone rank of its own, five calls and one that was NCCL's; with a child that ends before it. */
static void live(bool with_child)
{
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm;
    float x[4] = {1, 2, 3, 4};

    config.backend = PIPC_BACKEND_CPU;
    if (pipc_comm_create(&comm, &config))
        _exit(9);
    for (int i = 0; i < 5; i++)
        if (pipc_allreduce(comm, x, x, 4, PIPC_F32, PIPC_SUM, NULL))
            _exit(9);
    pipc_report_nccl("in a group", 4096);
    if (with_child) {
        int status;
        pid_t pid = fork();
        if (!pid)
            exit(0);
        waitpid(pid, &status, 0);
    }
    pipc_comm_destroy(comm);
    exit(0);
}

static void end_of(const char *report, bool with_child, char *err, size_t cap)
{
    int fd[2], status;

    assert_int_equal(pipe(fd), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        if (report)
            setenv("PCIE_IPC_REPORT", report, 1);
        dup2(fd[1], STDERR_FILENO);
        close(fd[0]);
        freopen("/dev/null", "w", stdout); /* what the test has to say the parent does */
        live(with_child);
    }
    close(fd[1]);
    size_t len = 0;
    for (ssize_t n; len < cap - 1 && (n = read(fd[0], err + len, cap - 1 - len)) > 0;)
        len += (size_t)n;
    err[len] = '\0';
    close(fd[0]);
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
}

static int count_of(const char *text, const char *part)
{
    int n = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static void a_process_reports_once_when_it_ends(void **state)
{
    char err[4096];

    (void)state;
    end_of("summary", false, err, sizeof(err));
    assert_int_equal(count_of(err, "6 calls, 4176 bytes"), 1);
    assert_int_equal(count_of(err, "NCCL: in a group"), 1);
    end_of("summary", true, err, sizeof(err));
    assert_int_equal(count_of(err, "6 calls, 4176 bytes"), 1);
    end_of("none", false, err, sizeof(err));
    assert_string_equal(err, "");
    end_of(NULL, false, err, sizeof(err));
    assert_string_equal(err, "");
}

static void json_goes_behind_what_is_in_the_file(void **state)
{
    char path[64], report[80], err[4096], text[8192];

    (void)state;
    snprintf(path, sizeof(path), "%s/a.json", dir);
    snprintf(report, sizeof(report), "json:%s", path);
    end_of(report, false, err, sizeof(err));
    end_of(report, false, err, sizeof(err));
    assert_string_equal(err, "");
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (int i = 0; i < 2; i++) {
        assert_non_null(fgets(text, sizeof(text), f));
        expect_schema(text, 2);
    }
    assert_null(fgets(text, sizeof(text), f));
    fclose(f);
    unlink(path);
    end_of("json:/nowhere/a.json", false, err, sizeof(err));
    assert_non_null(
        strstr(err, "pcie-ipc: report: /nowhere/a.json: No such file or directory; name"));
}

/* A line, and the process ends. */
static void a_report_waits_for_no_reader(void **state)
{
    char path[64], report[80], err[4096];

    (void)state;
    snprintf(path, sizeof(path), "%s/pipe", dir);
    snprintf(report, sizeof(report), "json:%s", path);
    assert_int_equal(mkfifo(path, 0600), 0);
    end_of(report, false, err, sizeof(err)); /* nobody reads it */
    assert_non_null(strstr(err, "pcie-ipc: report: "));
    assert_non_null(strstr(err, path));
    unlink(path);
    snprintf(report, sizeof(report), "json:%s", dir);
    end_of(report, false, err, sizeof(err));
    assert_non_null(strstr(err, "pcie-ipc: report: "));
    end_of("json:/dev/null", false, err, sizeof(err));
    assert_string_equal(err, "");
    end_of("json:/dev/stderr", false, err, sizeof(err)); /* which is a pipe here */
    expect_schema(err, 2);
}

static void what_is_no_report_is_told(void **state)
{
    char err[8192];

    (void)state;
    setenv("PCIE_IPC_VERBOSE", "1", 1);
    end_of("moon", false, err, sizeof(err));
    unsetenv("PCIE_IPC_VERBOSE");
    assert_int_equal(count_of(err, "PCIE_IPC_REPORT=moon"), 1);
}

static int make_dir(void **state)
{
    (void)state;
    return !mkdtemp(dir);
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_of_sizes),
        cmocka_unit_test(what_is_asked_for),
        cmocka_unit_test(what_was_saved),
        cmocka_unit_test(lines_for_people),
        cmocka_unit_test(json_has_its_schema),
        cmocka_unit_test(both_are_the_same_where_decimals_have_a_comma),
        cmocka_unit_test(threads_lose_no_call),
        cmocka_unit_test(reasons_without_room_are_counted_as_others),
        cmocka_unit_test(a_process_reports_once_when_it_ends),
        cmocka_unit_test(json_goes_behind_what_is_in_the_file),
        cmocka_unit_test(a_report_waits_for_no_reader),
        cmocka_unit_test(what_is_no_report_is_told),
    };

    unsetenv("PCIE_IPC_VERBOSE");
    unsetenv("PCIE_IPC_REPORT");
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
