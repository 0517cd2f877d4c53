/* tests/unit/topo_tool.c - pcie-ipc-topo as its users meet it: output, errors, exit status, manual
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "spank/options.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Run the tool in a shell; its exit status, and what it printed (both streams) in @out. */
static int run(const char *arguments, char *out, size_t cap)
{
    char command[512];

    snprintf(command, sizeof(command), "%s/pcie-ipc-topo 2>&1 %s", getenv("PIPC_BUILDDIR"),
             arguments);
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
        {"", 0, "machine (live)"},
        {"--sysroot=/", 0, "machine (sysroot)"},
        {"--synthetic '2x[sw:4gpu+1nic]'", 0, "group 0000:01:00.0: gpus 0000:03:00.0"},
        {"--version", 0, "pcie-ipc-topo "},
        {"--help", 0, "Usage: pcie-ipc-topo"},
        {"--sysroot /nonexistent", 2,
         "pcie-ipc-topo: /nonexistent/sys/bus/pci/devices: No such file or directory; the root is"},
        {"--synthetic '[sw:4gpu'", 64, "pcie-ipc-topo: synthetic topology \"[sw:4gpu\": character"},
        {"--synthetic", 64, "pcie-ipc-topo: --synthetic: needs a value; see"},
        {"--nonsense", 64, "pcie-ipc-topo: --nonsense: no such option"},
        {"--json=yes", 64, "pcie-ipc-topo: --json=yes: no such option, or one that takes no value"},
        {"more", 64, "pcie-ipc-topo: more: unexpected argument; see"},
        {"--sysroot / --synthetic '[gpu]'", 64, "one machine at a time"},
        {"--topo-json /nonexistent", 2, "pcie-ipc-topo: /nonexistent: "},
        {"--topo-json /dev/null", 2, "pcie-ipc-topo: /dev/null: it is empty"},
        {"--svg", 64, "pcie-ipc-topo: --svg: needs a value"},
        {"--svg=/nonexistent/a.svg", 1, "pcie-ipc-topo: --svg=/nonexistent/a.svg: No such file"},
        {"--svg=/dev/full --synthetic '[gpu]'", 1, "pcie-ipc-topo: "},
        {"--svg=- --json", 64, "pcie-ipc-topo: --svg=-: the picture is all"},
        {"--xml --json", 64, "pcie-ipc-topo: --xml: goes with --svg=FILE only"},
        {"--xml --ranks=2", 64, "pcie-ipc-topo: --xml: goes with"},
        {"--ranks=0", 64, "pcie-ipc-topo: --ranks: needs a number from 1 to 64"},
        {"--ranks=65", 64, "pcie-ipc-topo: --ranks: needs a number from 1 to 64"},
        {"--ranks=2x", 64, "pcie-ipc-topo: --ranks: needs a number from 1 to 64"},
        {"--ranks=", 64, "pcie-ipc-topo: --ranks: needs a number from 1 to 64"},
        {"--bind=numa", 64, "pcie-ipc-topo: --bind: needs --ranks=N"},
        {"--ranks=2 --bind=best", 64, "unknown value \"best\"; use one of: switch, spread, numa"},
        {"--ranks=2 --bind=map:x", 64, "pcie-ipc-topo: --bind: bind:map: \"x\" is no number"},
        {"--ranks=2 --bind=map:7 --synthetic '[2gpu]'", 64, "pcie-ipc-topo: "},
        {"--ranks=2 --synthetic '[70gpu]'", 2, "pcie-ipc-topo: --ranks: the machine has 70 GPUs"},
        {"--compare", 64, "pcie-ipc-topo: --compare: needs a value"},
        {"--compare=synthetic:[gpu] synthetic:[gpu] more", 64, "more: unexpected argument"},
        {"--compare=synthetic:[gpu] synthetic:[gpu] --sysroot=/", 64, "--compare=A takes B or"},
        {"--compare=synthetic:[gpu] synthetic:[gpu] --xml", 64, "--compare: goes with --json only"},
        {"--compare=synthetic:[gpu] synthetic:[gpu]", 0, "no change"},
        {"--compare=synthetic:[gpu] --synthetic=[gpu]", 0, "no change"},
        {"--compare=synthetic:[2gpu] synthetic:[gpu]", 1, "0000:02:00.0: is gone"},
        {"--synthetic=[gpu] --json | $PIPC_BUILDDIR/pcie-ipc-topo --compare=/dev/stdin "
         "synthetic:[gpu] 2>&1",
         2,
         "/dev/stdin: no regular file, so that it is not looked into; name its kind, as in topo"},
        {"--synthetic=[gpu] --json | $PIPC_BUILDDIR/pcie-ipc-topo --compare=topo-json:/dev/stdin "
         "synthetic:[gpu]",
         0, "no change"},
        {"--compare=/nonexistent synthetic:[gpu]", 2, "pcie-ipc-topo: /nonexistent: "},
        {"--compare=synthetic:[gpu synthetic:[gpu]", 2, "synthetic topology \"[gpu\": character"},
        {"--compare=synthetic:[gpu] synthetic:[gpu] >/dev/full", 2, "pcie-ipc-topo: output"},
        {"--help >/dev/full", 1, "pcie-ipc-topo: output: could not be written"},
        {"--synthetic '[gpu]' --json >/dev/full", 1, "pcie-ipc-topo: output: "},
    };
    char out[65536];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(run(cases[i].arguments, out, sizeof(out)), cases[i].status);
        if (!strstr(out, cases[i].says))
            fail_msg("%s: printed %s", cases[i].arguments, out);
    }
}

static void json_can_be_read_back(void **state)
{
    char out[65536];
    json_error_t why;

    (void)state;
    assert_int_equal(run("--json --synthetic '2x[sw:4gpu+1nic]'", out, sizeof(out)), 0);
    json_t *all = json_loads(out, 0, &why);
    assert_non_null(all);
    assert_int_equal(json_array_size(json_object_get(all, "groups")), 2);
    json_decref(all);
}

/* The rows of "rank gpu minor NUMA nic group CPUs". */
static void the_binding_of_ranks(void **state)
{
    char out[65536];
    json_error_t why;

    (void)state;
    assert_int_equal(
        run("--ranks=3 --bind=map:3,0 --synthetic '2x[sw:2gpu+1nic]'", out, sizeof(out)), 0);
    assert_string_equal(
        out,
        "rank  gpu           index  minor  NUMA  nic           group         CPUs\n"
        "   0  0000:0c:00.0      3      3     1  0000:0d:00.0  0000:09:00.0  8-11 (GPU shared)\n"
        "   1  0000:03:00.0      0      0     0  0000:05:00.0  0000:01:00.0  0-7\n"
        "   2  0000:0c:00.0      3      3     1  0000:0d:00.0  0000:09:00.0  12-15 (GPU shared)\n");
    assert_int_equal(run("--ranks=2 --bind=none --synthetic '[2gpu]'", out, sizeof(out)), 0);
    assert_non_null(
        strstr(out, "   1  -                 -      -     -  -             -             -"));
    assert_int_equal(run("--json --ranks=2 --synthetic '[sw:2gpu]'", out, sizeof(out)), 0);
    json_t *all = json_loads(out, 0, &why), *binding = json_object_get(all, "binding");
    assert_int_equal(json_array_size(binding), 2);
    json_t *last = json_array_get(binding, 1);
    assert_string_equal(json_string_value(json_object_get(last, "gpu")), "0000:04:00.0");
    assert_string_equal(json_string_value(json_object_get(last, "cpus")), "4-7");
    assert_true(json_is_true(json_object_get(last, "near")));
    assert_true(json_is_null(json_object_get(last, "nic")));
    json_decref(all);
}

/* --bind takes what srun --pcie-ipc=bind:... takes, and names nothing else. */
static void modes_are_those_of_the_plugin(void **state)
{
    const pipc__option_t *bind = pipc__spank_table;
    char out[65536], line[128], list[256] = "one of: ";

    (void)state;
    while (bind->key && strcmp(bind->key, "bind"))
        bind++;
    assert_non_null(bind->key);
    for (const char *const *v = bind->values; *v; v++) {
        bool map = bind->list && !strcmp(bind->list, *v);
        snprintf(line, sizeof(line), "--ranks=1 --synthetic '[gpu]' --bind=%s%s", *v,
                 map ? ":0" : "");
        assert_int_equal(run(line, out, sizeof(out)), 0);
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s%s",
                 v == bind->values ? "" : ", ", *v, map ? ":N,..." : "");
    }
    assert_int_equal(run("--ranks=1 --bind=?", out, sizeof(out)), 64);
    assert_non_null(strstr(out, list));
}

static void a_snapshot_is_the_same_machine(void **state)
{
    char out[65536], line[256], path[] = "/tmp/pipc-topo-XXXXXX";
    json_error_t why;

    (void)state;
    close(mkstemp(path));
    snprintf(line, sizeof(line), "--json --synthetic '2x[sw:2gpu+1nic]' >%s", path);
    assert_int_equal(run(line, out, sizeof(out)), 0);
    snprintf(line, sizeof(line), "--topo-json=%s --xml", path);
    assert_int_equal(run(line, out, sizeof(out)), 0);
    assert_int_equal(strncmp(out, "<system version=\"1\">\n", 21), 0);
    snprintf(line, sizeof(line), "--compare=%s --synthetic '2x[sw:2gpu+1nic]'", path);
    assert_int_equal(run(line, out, sizeof(out)), 0);
    snprintf(line, sizeof(line), "--compare=%s --synthetic '[sw:2gpu+1nic]' --json", path);
    assert_int_equal(run(line, out, sizeof(out)), 1);
    json_t *all = json_loads(out, 0, &why), *changes = json_object_get(all, "changes");
    assert_true(json_is_false(json_object_get(all, "same")));
    assert_int_equal(json_array_size(changes), 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(changes, 0), "change")),
                        "gone");
    json_decref(all);
    unlink(path);
}

/* Every option that --help prints stands in the manual page. */
static void the_manual_knows_every_option(void **state)
{
    char help[8192], path[512], want[64], *page = NULL;
    size_t size = 0;

    (void)state;
    assert_int_equal(run("--help", help, sizeof(help)), 0);
    snprintf(path, sizeof(path), "%s/doc/pcie-ipc-topo.1", getenv("PIPC_SRCDIR"));
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_true(getdelim(&page, &size, '\0', f) > 0);
    fclose(f);
    for (char *p = help; (p = strstr(p, "\n  --")); p++) {
        snprintf(want, sizeof(want), ".It Fl -%.*s", (int)strcspn(p + 5, " ="), p + 5);
        if (!strstr(page, want))
            fail_msg("%s has no \"%s\"", path, want);
    }
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_status_and_errors),
        cmocka_unit_test(json_can_be_read_back),
        cmocka_unit_test(the_binding_of_ranks),
        cmocka_unit_test(modes_are_those_of_the_plugin),
        cmocka_unit_test(a_snapshot_is_the_same_machine),
        cmocka_unit_test(the_manual_knows_every_option),
    };

    if (!getenv("PIPC_BUILDDIR") || !getenv("PIPC_SRCDIR")) {
        puts("1..0 # SKIP run by make check, which says where the build is");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
