/* tests/unit/health_tool.c - pcie-ipc-health as its users meet it: output, exit status, manual; and
 * what the check does for a prolog: configuration, record, snapshot, cache, links
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "prolog/check.h"
#include "prolog/gate.h"
#include "prolog/links.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- the tool ------------------------------------------------------------------------------ */

/* Run the checker in a shell; its exit status, and what it printed (both streams) in @out. */
static int run(const char *arguments, char *out, size_t cap)
{
    char command[1024];

    snprintf(command, sizeof(command), "TREE=%s; 2>&1 %s/prolog/gate %s", tree,
             getenv("PIPC_BUILDDIR"), arguments);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(out, 1, cap - 1, f);
    out[n] = '\0';
    return WEXITSTATUS(pclose(f));
}

static void exit_status_and_errors(void **state)
{
    static const struct {
        const char *arguments;
        int status;
        const char *says;
    } cases[] = {
        {"check --sysroot=$TREE", 2, "pcie-ipc: 0000:02:00.0: link is x8, expected x16 by"},
        {"check --sysroot=$TREE --json", 2, "\"verdict\": \"drain\""},
        {"check --sysroot=/nonexistent", 3, "(PCI014, unknown)"},
        {"check --dump=/nonexistent", 3, "/nonexistent: cannot be read: No such file"},
        {"check --sysroot=$(printf '%600s' | tr ' ' /)nonexistent", 3, "PCI014"},
        {"--version", 0, "pcie-ipc-health "},
        {"--help", 0, "Usage: pcie-ipc-health"},
        {"check --help", 0, "Usage: pcie-ipc-health"},
        {"", 64,
         "pcie-ipc-health: no verb: use check, baseline, ack, checklist, explain, prolog, epilog, "
         "healthcheck, accept, undrain, census, job, snapshot, watch or install-links; see"},
        {"look", 64, "pcie-ipc-health: look: use check"},
        {"--json check", 64, "--json: a verb comes first"},
        {"check more", 64, "more: unexpected argument"},
        {"check --sysroot", 64, "--sysroot: needs a value"},
        {"check --remove", 64, "--remove: no such option"},
        {"check --json=yes", 64, "no such option, or one that takes no value"},
        {"check --sysroot=/ --dump=x", 64, "one machine at a time"},
        {"check --text=x --dump=y", 64, "one machine at a time"},
        {"check --text=/nonexistent", 3, "/nonexistent: cannot be read: No such file"},
        {"check --sysroot=$TREE --gpus=2", 2, "PCI001"},
        {"check --sysroot=$TREE --gpus=3", 2, "node: GPUs in view: 2, expected 3;"},
        {"check --gpus=none", 64, "--gpus: a number from 1 to 1024"},
        {"check --gpus=0", 64, "--gpus: a number from 1 to 1024"},
        {"check --nvml --sysroot=$TREE", 64, "--nvml: asks this machine's driver"},
        {"check --nvml --text=x", 64, "--nvml: asks this machine's driver"},
        {"explain pci001", 0, "Remedy: reseat"},
        {"explain PCI999", 64, "PCI999: there is no such code"},
        {"explain", 64, "explain: needs one code"},
        {"accept PCI999", 64, "PCI999: there is no such code; --help lists them"},
        {"accept x", 64, "x: there is no such code"},
        {"accept PCI001 PCI002", 64, "PCI002: unexpected argument"},
        {"job", 64, "job: needs the number of a job"},
        {"job 7_1", 64, "7_1: no number of a job"},
        {"job 7 8", 64, "8: unexpected argument"},
        {"job 4000000000", 3, "there is no report of job 4000000000 on this node"},
        {"job-end 7", 64, "job-end: the epilog's own way in"},
        {"snapshot --json", 64, "--json: no such option"},
        {"snapshot now", 64, "now: unexpected argument"},
        {"watch --interval=10ms", 64, "--interval: a time from 100ms to 1d, as 10s"},
        {"watch --interval=10x", 64, "--interval: a time from"},
        {"watch --interval=2d", 64, "--interval: a time from"},
        {"watch --for=500ms", 64, "--for: a time from 1s to 366d, as 24h"},
        {"watch --for=99999999999999999999d", 64, "--for: a time from"},
        {"watch --job=0", 64, "--job: a job's number"},
        {"watch --once --summary", 64, "one of them at a time"},
        {"watch --once --for=1h", 64, "--for: for a watch, or with --summary"},
        {"watch --summary --sysroot=$TREE", 64, "of a captured machine there is no record"},
        {"watch --once --sysroot=/nonexistent", 3, "/nonexistent"},
        {"watch --once --sysroot=$TREE", 0, ""},
        {"watch --interval=100ms --for=1s --sysroot=$TREE", 0,
         "ms of CPU each\nnode: no link changed"},
        {"install-links", 64, "needs --prolog-dir, --epilog-dir or both"},
        {"install-links --prolog-dir=/nonexistent", 1, "/nonexistent: cannot be opened; make it"},
        {"gate", 64, "gate: the prolog's own way in"},
        {"check --sysroot=$TREE >/dev/full", 3, "output: could not be written"},
    };
    char out[65536];

    (void)state;
    tree_gpu(1, 16);
    tree_gpu(2, 8);
    for (size_t i = 0; i < COUNT(cases); i++) {
        int status = run(cases[i].arguments, out, sizeof(out));
        if (status != cases[i].status || !strstr(out, cases[i].says))
            fail_msg("%s: status %d, printed %s", cases[i].arguments, status, out);
    }
}

/* With a look at its end, though the next one is due in a day. */
static void a_watch_ends_when_it_is_told_to(void **state)
{
    char out[4096];

    (void)state;
    tree_gpu(1, 16);
    assert_int_equal(run("--version; timeout 60 \"$PIPC_BUILDDIR\"/prolog/gate watch --interval=1d "
                         "--for=1s --sysroot=$TREE",
                         out, sizeof(out)),
                     0);
    assert_non_null(strstr(out, "\n1 looks in "));
}

static void a_healthy_machine_and_a_warning(void **state)
{
    tree_link_t port = {
        .port = 4, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4, .secondary = 1};
    tree_link_t gpu = {.port = 0, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4};
    char out[65536];

    (void)state;
    tree_add("0000:00:01.0", 0x8086, 0x060400, &port, 256);
    tree_add("0000:00:01.0/0000:01:00.0", 0x10de, 0x030200, &gpu, 256);
    assert_int_equal(run("check --sysroot=$TREE", out, sizeof(out)), 0);
    assert_string_equal(out, "pcie-ipc: node: every link is as it should be (ok)\n");
    port.aspm = 2;
    tree_add("0000:00:01.0", 0x8086, 0x060400, &port, 256);
    assert_int_equal(run("check --sysroot=$TREE", out, sizeof(out)), 1);
    assert_non_null(strstr(out, "pcie-ipc: 0000:00:01.0: ASPM L1 is on, expected off; "));
}

/* Every option and every code, with its severity and its words, that --help prints is in the
 * manual. */
static void the_manual_knows_all(void **state)
{
    char help[32768], path[512], want[256], flat[131072], *page = NULL;
    size_t size = 0, n = 0;

    (void)state;
    assert_int_equal(run("--help", help, sizeof(help)), 0);
    snprintf(path, sizeof(path), "%s/doc/pcie-ipc-health.8", getenv("PIPC_SRCDIR"));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(getdelim(&page, &size, '\0', f) > 0);
    fclose(f);
    for (char *p = page; *p && n < sizeof(flat) - 1; p++)
        flat[n++] = *p == '\n' ? ' ' : *p;
    flat[n] = '\0';
    for (char *p = help; (p = strstr(p, "\n  --")); p++) {
        snprintf(want, sizeof(want), ".It Fl -%.*s", (int)strcspn(p + 5, " ="), p + 5);
        if (!strstr(page, want))
            fail_msg("%s has no \"%s\"", path, want);
    }
    int codes = 0;
    for (char *p = help; (p = strstr(p, "\n  PCI")); p++, codes++) {
        char name[16], severity[16], what[160];
        assert_int_equal(sscanf(p, " %15s %15s %159[^\n]", name, severity, what), 3);
        /* ".It PCI001, drain A link ...": the words begin a sentence there */
        snprintf(want, sizeof(want), ".It %s, %s %c%s.", name, severity,
                 what[0] >= 'a' && what[0] <= 'z' ? what[0] - 'a' + 'A' : what[0], what + 1);
        if (!strstr(flat, want))
            fail_msg("%s has no \"%s\"", path, want);
    }
    assert_int_equal(codes, PIPC__CODES);
    free(page);
}

/* ---- the gate ------------------------------------------------------------------------------ */

static char config[128], folder[128], kept[128];

typedef struct gated {
    int status;
    char said[4096], record[256];
} gated_t;

static void configure(const char *text)
{
    char full[512];

    snprintf(config, sizeof(config), "%s/etc/pcie-ipc.conf", tree);
    snprintf(folder, sizeof(folder), "%s/run", tree);
    snprintf(kept, sizeof(kept), "%s/kept", tree);
    snprintf(full, sizeof(full), "[gate]\nsysroot = %s\n%s", tree, text);
    tree_put("etc/pcie-ipc.conf", full, strlen(full));
}

static void read_back(FILE *f, char *out, size_t cap)
{
    rewind(f);
    size_t n = fread(out, 1, cap - 1, f);
    out[n] = '\0';
    fclose(f);
}

static gated_t run_gate(void)
{
    const pipc__gate_t gate = {.config = config, .run = folder, .state = kept, .owner = geteuid()};
    FILE *say = tmpfile(), *record = tmpfile();
    gated_t g;

    assert_non_null(say);
    assert_non_null(record);
    g.status = pipc__gate_run(&gate, "n0", "", say, record);
    read_back(say, g.said, sizeof(g.said));
    read_back(record, g.record, sizeof(g.record));
    return g;
}

/* A node that was well: what is found from then on had passed, and the breaker lets it through. No
 * prolog finds this check. */
static void begin_well(void)
{
    char path[256];

    configure("cache = 0\n");
    tree_gpu(1, 16);
    assert_string_equal(run_gate().record, "pcie-ipc-verdict 1 n0 pass\n");
    snprintf(path, sizeof(path), "%s/health.json", folder);
    assert_int_equal(unlink(path), 0);
}

#define ASSERT_SAYS(text, what)                                                                    \
    do {                                                                                           \
        if (!strstr(text, what))                                                                   \
            fail_msg("no \"%s\" in \"%s\"", what, text);                                           \
    } while (0)

static void refuses_under_enforce_only(void **state)
{
    (void)state;
    begin_well();
    tree_gpu(1, 8);
    configure("cache = 0\n");
    gated_t g = run_gate();
    assert_int_equal(g.status, 0);
    assert_string_equal(g.record, "pcie-ipc-verdict 1 n0 pass\n");
    ASSERT_SAYS(g.said, "pcie-ipc: 0000:01:00.0: link is x8, expected x16");
    ASSERT_SAYS(g.said, "the job runs all the same: mode is report");
    configure("cache = 0\nmode = enforce\n");
    g = run_gate();
    assert_string_equal(g.record, "pcie-ipc-verdict 1 n0 refuse\n");
    assert_null(strstr(g.said, "the job runs"));
    tree_gpu(1, 16);
    g = run_gate();
    assert_string_equal(g.record, "pcie-ipc-verdict 1 n0 pass\n");
    assert_string_equal(g.said, "pcie-ipc: node: nothing is wrong any more\n");
    assert_string_equal(run_gate().said, ""); /* idle is nothing to log for each job */
}

static void wrong_configuration_only_reports(void **state)
{
    (void)state;
    begin_well();
    tree_gpu(1, 8);
    configure("mode = enforce\n");
    assert_int_equal(chmod(config, 0666), 0);
    gated_t g = run_gate();
    assert_string_equal(g.record, "pcie-ipc-verdict 1 n0 pass\n");
    ASSERT_SAYS(g.said,
                "others can write the file; chmod go-w it; the defaults are used, mode = report");
    assert_int_equal(chmod(config, 0644), 0);
    configure("mode = enforce\ncolor = red\n");
    g = run_gate();
    assert_string_equal(g.record, "pcie-ipc-verdict 1 n0 pass\n");
    ASSERT_SAYS(g.said, "line 4: there is no key \"color\"");
}

static json_t *snapshot(mode_t *mode)
{
    char path[256];
    struct stat st;

    snprintf(path, sizeof(path), "%s/health.json", folder);
    assert_int_equal(stat(path, &st), 0);
    *mode = st.st_mode & 07777;
    tree_is_valid(path, "health");
    json_t *json = json_load_file(path, 0, NULL);
    assert_non_null(json);
    return json;
}

static void one_check_serves_several_prologs(void **state)
{
    mode_t mode;

    (void)state;
    begin_well();
    configure("mode = enforce\ncache = 300\n");
    assert_string_equal(run_gate().record, "pcie-ipc-verdict 1 n0 pass\n");
    json_t *json = snapshot(&mode);
    assert_int_equal(mode, 0644);
    assert_int_equal(json_integer_value(json_object_get(json, "schema")), 1);
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), "note");
    assert_string_equal(json_string_value(json_object_get(json, "mode")), "enforce");
    assert_int_equal(strlen(json_string_value(json_object_get(json, "boot_id"))), 36);
    assert_true(labs((long)(time(NULL) - json_integer_value(json_object_get(json, "time")))) < 600);
    assert_string_equal(json_string_value(json_object_get(json, "reason")), "");
    json_decref(json);

    tree_gpu(1, 8); /* a fault that the cache does not know of */
    assert_string_equal(run_gate().record, "pcie-ipc-verdict 1 n0 pass\n");
    configure("mode = enforce\ncache = 0\n");
    assert_string_equal(run_gate().record, "pcie-ipc-verdict 1 n0 refuse\n");
    json = snapshot(&mode);
    assert_string_equal(json_string_value(json_object_get(json, "reason")),
                        "0000:01:00.0: link is x8 (PCI001)");
    json_decref(json);
    configure("mode = enforce\ncache = 300\n");
    tree_gpu(1, 16); /* and the other way round, with its words */
    gated_t g = run_gate();
    assert_string_equal(g.record, "pcie-ipc-verdict 1 n0 refuse\n");
    ASSERT_SAYS(g.said, "link is x8");
}

/* Every check leaves a byte in a file, whichever process made it. */
pipc_status_t __real_pipc__check(const pipc__machine_t *source, pipc__findings_t *out,
                                 pipc__error_t *err);
pipc_status_t __wrap_pipc__check(const pipc__machine_t *source, pipc__findings_t *out,
                                 pipc__error_t *err);
pipc_status_t __wrap_pipc__check(const pipc__machine_t *source, pipc__findings_t *out,
                                 pipc__error_t *err)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/checks", tree);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputc('.', f);
    fclose(f);
    return __real_pipc__check(source, out, err);
}

static void eight_prologs_at_once_make_one_check(void **state)
{
    char path[256];
    struct stat st;
    pid_t pid[8];
    int status;

    (void)state;
    begin_well();
    tree_gpu(1, 8);
    snprintf(path, sizeof(path), "%s/checks", tree);
    assert_int_equal(unlink(path), 0);
    configure("mode = enforce\ncache = 300\n");
    for (int i = 0; i < 8; i++) {
        pid[i] = fork();
        assert_true(pid[i] >= 0);
        if (pid[i] == 0)
            _exit(strcmp(run_gate().record, "pcie-ipc-verdict 1 n0 refuse\n") != 0);
    }
    for (int i = 0; i < 8; i++) {
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 1);
}

/* A cache of another boot, of another time, of another machine, or that is no snapshot at all. */
static void a_cache_that_is_not_of_now_is_not_used(void **state)
{
    static const struct {
        const char *key, *text;
    } other[] = {{"boot_id", "00000000-0000-0000-0000-000000000000"},
                 {"version", "0"},
                 {"sysroot", "/elsewhere"},
                 {"verdict", "ok"},
                 {"uptime", "0"}};
    char path[256];
    mode_t mode;

    (void)state;
    begin_well();
    configure("mode = enforce\ncache = 300\n");
    snprintf(path, sizeof(path), "%s/health.json", folder);
    for (size_t i = 0; i < COUNT(other); i++) {
        tree_gpu(1, 8);
        unlink(path);
        assert_string_equal(run_gate().record, "pcie-ipc-verdict 1 n0 refuse\n");
        tree_gpu(1, 16);
        json_t *json = snapshot(&mode);
        json_object_set_new(json, other[i].key, json_string(other[i].text));
        assert_int_equal(json_dump_file(json, path, 0), 0);
        json_decref(json);
        if (strcmp(run_gate().record, "pcie-ipc-verdict 1 n0 pass\n") != 0)
            fail_msg("%s: %s was believed", other[i].key, other[i].text);
    }
    tree_gpu(1, 8);
    tree_put("run/health.json", "{\"schema\":1", 11);
    assert_string_equal(run_gate().record, "pcie-ipc-verdict 1 n0 refuse\n");
    tree_gpu(1, 16);
    assert_int_equal(chmod(path, 0666), 0); /* whoever could write it says what he likes */
    assert_string_equal(run_gate().record, "pcie-ipc-verdict 1 n0 pass\n");
}

static void what_stands_in_the_way_is_not_followed(void **state)
{
    char path[256], target[256];
    struct stat st;

    (void)state;
    begin_well();
    tree_gpu(1, 8);
    configure("mode = enforce\n");
    snprintf(target, sizeof(target), "%s/precious", tree);
    tree_put("precious", "precious\n", 9);
    snprintf(path, sizeof(path), "%s/health.json", folder);
    assert_int_equal(symlink(target, path), 0);
    assert_string_equal(run_gate().record, "pcie-ipc-verdict 1 n0 refuse\n");
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_size, 9);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode)); /* replaced, not followed */

    snprintf(path, sizeof(path), "%s/health.lock", folder);
    unlink(path);
    assert_int_equal(symlink(target, path), 0);
    gated_t g = run_gate(); /* without a lock it checks for itself */
    assert_string_equal(g.record, "pcie-ipc-verdict 1 n0 refuse\n");
    ASSERT_SAYS(g.said, "health.lock: cannot be opened");
    assert_int_equal(chmod(folder, 0777), 0);
    g = run_gate();
    ASSERT_SAYS(g.said, "not ours alone to write");
    assert_string_equal(g.record, "pcie-ipc-verdict 1 n0 refuse\n");
}

/* A healthcheck that hangs in a driver has the lock for as long as it is let: a sick node is
 * refused all the same. */
static void nobody_waits_for_a_healthcheck_that_hangs(void **state)
{
    char path[256];

    (void)state;
    begin_well();
    tree_gpu(1, 8);
    configure("mode = enforce\ndeadline = 1\n");
    snprintf(path, sizeof(path), "%s/health.lock", folder);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    gated_t g = run_gate();
    assert_string_equal(g.record, "pcie-ipc-verdict 1 n0 refuse\n");
    ASSERT_SAYS(g.said, "health.lock: another process has it locked");
    snprintf(path, sizeof(path), "%s/health.json", folder);
    assert_int_equal(access(path, F_OK), -1); /* beside another it leaves nothing */
    close(fd);
    g = run_gate();
    assert_null(strstr(g.said, "locked"));
    assert_int_equal(access(path, F_OK), 0);
}

/* ---- links --------------------------------------------------------------------------------- */

/* Make or remove the link, and compare what was said. */
static void link_says(bool remove, pipc_status_t want, const char *what)
{
    FILE *out = tmpfile();
    char said[1024];
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st = remove ? pipc__link_remove(folder, "/opt/prolog", out, &err)
                              : pipc__link_install(folder, "/opt/prolog", out, &err);

    read_back(out, said, sizeof(said));
    assert_int_equal(st, want);
    ASSERT_SAYS(st ? err.text : said, what);
}

static void links(void **state)
{
    char path[256], text[64] = "";

    (void)state;
    snprintf(folder, sizeof(folder), "%s/prolog.d", tree);
    link_says(false, PIPC_ERR_INVALID, "cannot be opened; make it");
    tree_put("prolog.d/10-site", "", 0);
    snprintf(path, sizeof(path), "%s/pcie-ipc", folder);
    link_says(false, PIPC_OK, "pcie-ipc: made, to /opt/prolog\n");
    link_says(false, PIPC_OK, "pcie-ipc: is there already\n");
    assert_int_equal(readlink(path, text, sizeof(text) - 1), 11);
    assert_string_equal(text, "/opt/prolog");
    link_says(true, PIPC_OK, "pcie-ipc: removed\n");
    link_says(true, PIPC_OK, "pcie-ipc: is not there\n");

    assert_int_equal(symlink("/opt/prolog2", path), 0);
    link_says(false, PIPC_ERR_INVALID, "is something else; move it away");
    link_says(true, PIPC_ERR_INVALID, "is something else, and stays");
    unlink(path);
    tree_put("prolog.d/pcie-ipc", "", 0);
    link_says(false, PIPC_ERR_INVALID, "is something else");
    link_says(true, PIPC_ERR_INVALID, "is something else");
    unlink(path);

    link_says(false, PIPC_OK, "made");
    snprintf(path, sizeof(path), "%s/10-site", folder);
    unlink(path);
    link_says(true, PIPC_OK, "is empty now; take its Prolog=");
    assert_int_equal(chmod(folder, 0777), 0);
    link_says(false, PIPC_ERR_INVALID, "others can write it");
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        IN_TREE(exit_status_and_errors),
        IN_TREE(a_watch_ends_when_it_is_told_to),
        IN_TREE(a_healthy_machine_and_a_warning),
        cmocka_unit_test(the_manual_knows_all),
        IN_TREE(refuses_under_enforce_only),
        IN_TREE(wrong_configuration_only_reports),
        IN_TREE(one_check_serves_several_prologs),
        IN_TREE(eight_prologs_at_once_make_one_check),
        IN_TREE(a_cache_that_is_not_of_now_is_not_used),
        IN_TREE(what_stands_in_the_way_is_not_followed),
        IN_TREE(nobody_waits_for_a_healthcheck_that_hangs),
        IN_TREE(links),
    };

    if (!getenv("PIPC_BUILDDIR") || !getenv("PIPC_SRCDIR")) {
        puts("1..0 # SKIP run by make check, which says where the build is");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
