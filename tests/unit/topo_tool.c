/* tests/unit/topo_tool.c - pcie-ipc-topo as its users meet it: output, errors, exit status, manual
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <jansson.h>

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
        {"--sysroot /nonexistent", 1,
         "pcie-ipc-topo: /nonexistent/sys/bus/pci/devices: No such file or directory; the root is"},
        {"--synthetic '[sw:4gpu'", 64, "pcie-ipc-topo: synthetic topology \"[sw:4gpu\": character"},
        {"--synthetic", 64, "pcie-ipc-topo: --synthetic: needs a value; see"},
        {"--nonsense", 64, "pcie-ipc-topo: --nonsense: no such option"},
        {"--json=yes", 64, "pcie-ipc-topo: --json=yes: no such option, or one that takes no value"},
        {"more", 64, "pcie-ipc-topo: more: unexpected argument; see"},
        {"--sysroot / --synthetic '[gpu]'", 64, "one machine at a time"},
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
        cmocka_unit_test(the_manual_knows_every_option),
    };

    if (!getenv("PIPC_BUILDDIR") || !getenv("PIPC_SRCDIR")) {
        puts("1..0 # SKIP run by make check, which says where the build is");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
