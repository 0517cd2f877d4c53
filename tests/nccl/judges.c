/* tests/nccl/judges.c - what is decided from what ranks say, and how memory is shared out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/nccl/hello.h"
#include "runtime/nccl/staging.h"

#define MB ((size_t)1 << 20)

static void offers(void **state)
{
    static const size_t wanted[] = {64, 32, 32, 32, 16, 16, 16, 8, 8, 8, 8, 8, 8, 0};

    (void)state;
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        assert_int_equal(pipc__staging_take(), wanted[i] * MB);
    pipc__staging_return(64 * MB);
    assert_int_equal(pipc__staging_take(), 16 * MB);
    assert_int_equal(pipc__staging_offer(8 * MB - 1), 0);
    assert_int_equal(pipc__staging_offer(8 * MB), 8 * MB);
    assert_int_equal(pipc__staging_offer((size_t)1 << 40), 64 * MB);
}

static void hellos(void **state)
{
    static const struct {
        const char *name;
        int rank; /* the one that differs */
        enum { NOTHING, MAGIC, VERSION, FAILED, BOOT, HOST, LESS, NONE } how;
        uint64_t staging;
        const char *why;
    } cases[] = {
        {"all well", 0, NOTHING, 64, ""},
        {"another program", 2, MAGIC, 0, "rank 2 has another pcie-ipc"},
        {"another version", 0, VERSION, 0, "rank 0 has another pcie-ipc"},
        {"one failed", 1, FAILED, 0, "no library"},
        {"another boot", 2, BOOT, 64, ""},
        {"another host", 1, HOST, 64, ""},
        {"less memory", 1, LESS, 16, ""},
        {"none", 2, NONE, 0, "other communicators have all"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__hello_t all[3];
        uint64_t staging;
        char why[512] = "";

        for (int r = 0; r < 3; r++) {
            bool it = r == cases[i].rank;
            pipc__hello_fill(&all[r],
                             it && cases[i].how == NONE   ? 0
                             : it && cases[i].how == LESS ? 16
                                                          : 64,
                             it && cases[i].how == FAILED ? "no library" : NULL);
            all[r].magic += it && cases[i].how == MAGIC;
            all[r].version += it && cases[i].how == VERSION;
            all[r].boot[0] ^= it && cases[i].how == BOOT;
            all[r].host[0] ^= it && cases[i].how == HOST;
        }
        print_message("%s\n", cases[i].name);
        assert_int_equal(pipc__hello_spans(all, 3),
                         cases[i].how == BOOT || cases[i].how == HOST);
        bool good = pipc__hello_judge(all, 3, &staging, why, sizeof(why));
        assert_int_equal(good, cases[i].staging > 0);
        if (good)
            assert_int_equal(staging, cases[i].staging);
        assert_non_null(strstr(why, cases[i].why));
    }
}

/* Ranks that are threads of one process end in another way than processes do. */
static void who_shares_a_process(void **state)
{
    pipc__hello_t all[3];

    (void)state;
    for (int r = 0; r < 3; r++) {
        pipc__hello_fill(&all[r], 1, NULL);
        all[r].pid = r ? 100 + r : 100;
        assert_false(pipc__hello_shares(all, r + 1, r));
    }
    all[2].pid = 100;
    assert_true(pipc__hello_shares(all, 3, 0));
    assert_false(pipc__hello_shares(all, 3, 1));
    assert_true(pipc__hello_shares(all, 3, 2));
    all[2].boot[0] ^= 1; /* another machine counts its processes from 1, too */
    assert_false(pipc__hello_shares(all, 3, 0));
    assert_false(pipc__hello_shares(all, 3, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(offers), cmocka_unit_test(hellos),
                                       cmocka_unit_test(who_shares_a_process)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
