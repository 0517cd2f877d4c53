/* tests/unit/marker.c - has the Slurm plugin acted on a task? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/marker.h"

static void what_two_variables_say(void **state)
{
    static const struct {
        const char *wanted, *task;
        pipc__marker_t judged;
        const char *text; /* part of it */
    } cases[] = {
        {NULL, NULL, PIPC__MARKER_NOT_WANTED, ""},
        {"", "17.2:0.1.0", PIPC__MARKER_NOT_WANTED, ""},
        {NULL, "17.2:0.1.0", PIPC__MARKER_NOT_WANTED, ""}, /* srun --export=NONE */
        {"0.1.0", "17.2:0.1.0", PIPC__MARKER_GOOD, ""},
        {"0.1.0", "4294967295.0:0.1.0", PIPC__MARKER_GOOD, ""},
        {"0.1.0", NULL, PIPC__MARKER_MISSING, "install the plugin here"},
        {"0.1.0", "", PIPC__MARKER_MISSING, "install the plugin here"},
        {"0.1.0", "17.2:0.2.0", PIPC__MARKER_OTHER,
         "version 0.2.0 of the Slurm plugin and srun had 0.1.0"},
        {"0.1.0", "17.2:0.1.0-rc1", PIPC__MARKER_OTHER, "0.1.0-rc1"},
        {"0.1.0", "17.2:", PIPC__MARKER_MISSING, ""},
        {"0.1.0", "17.2", PIPC__MARKER_MISSING, ""},
        {"0.1.0", "17:0.1.0", PIPC__MARKER_MISSING, ""},
        {"0.1.0", ".2:0.1.0", PIPC__MARKER_MISSING, ""},
        {"0.1.0", "0.1.0", PIPC__MARKER_MISSING, ""},
        {"0.1.0", "forged", PIPC__MARKER_MISSING, ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__error_t err = {PIPC_OK, ""};
        pipc__marker_t got = pipc__marker_judge(cases[i].wanted, cases[i].task, &err);
        assert_int_equal(got, cases[i].judged);
        assert_int_equal(pipc__marker_judge(cases[i].wanted, cases[i].task, NULL), got);
        if (got == PIPC__MARKER_MISSING || got == PIPC__MARKER_OTHER) {
            assert_int_equal(err.status, PIPC_ERR_MISMATCH);
            assert_non_null(strstr(err.text, cases[i].text));
        } else {
            assert_string_equal(err.text, "");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_two_variables_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
