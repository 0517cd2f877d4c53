/* tests/unit/topo_nvml.c - NVLinks from NVML, with a library that answers as NVML does */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/tools/topo/nvml.h"
#include "tests/unit/topo_text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char fake[512];

static void links(void **state)
{
    static const struct {
        const char *machine;
        int msec;
        bool answers;
        int of01, of02, of03;
    } cases[] = {
        {"pair", 60000, true, 2, 0, 0},
        {"switch", 60000, true, 6, 6, 4},
        {"pcie", 60000, true, -1, -1, -1},
        {"no-driver", 60000, false, -1, -1, -1},
        {"crash", 60000, false, -1, -1, -1},
        {"hang", 100, false, -1, -1, -1}, /* whatever it waits for: it ends, and the tool goes on */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic("2x[sw:2gpu]");
        int g[4];
        pipc__topo_list(t, PIPC__TOPO_GPU, g, 4);
        setenv("FAKE_NVML", cases[i].machine, 1);
        assert_false(topo_nvml_read(t, fake, cases[i].msec)); /* no NVIDIA GPU: not asked */
        for (int k = 0; k < 4; k++)
            t->objs[g[k]].vendor = 0x10de;
        assert_int_equal(topo_nvml_read(t, fake, cases[i].msec), cases[i].answers);
        assert_int_equal(pipc__topo_nvlinks(t, g[0], g[1]), cases[i].of01);
        assert_int_equal(pipc__topo_nvlinks(t, g[0], g[2]), cases[i].of02);
        assert_int_equal(pipc__topo_nvlinks(t, g[3], g[0]), cases[i].of03);
        pipc__topo_free(t);
    }
}

static void no_library_is_no_error(void **state)
{
    pipc__topo_t *t = synthetic("[sw:2gpu]");

    (void)state;
    for (int i = 0; i < t->nobjs; i++)
        t->objs[i].vendor = 0x10de;
    assert_false(topo_nvml_read(t, "libpipc-no-such-library.so.1", 60000));
    assert_null(t->nvlinks);
    pipc__topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links),
        cmocka_unit_test(no_library_is_no_error),
    };

    if (!getenv("PIPC_BUILDDIR")) {
        puts("1..0 # SKIP run by make check, which says where the build is");
        return 0;
    }
    snprintf(fake, sizeof(fake), "%s/tests/unit/.libs/topo_nvml_fake.so", getenv("PIPC_BUILDDIR"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
