/* tests/unit/rights.c - a program with more rights than its caller loads no code that the caller
 * names
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"
#include "runtime/exec/exec.h"

#define NAMED "/nowhere/of-the-caller.so"

static bool privileged;

/* libc's own, for the libraries in this program: it finds nothing where the program was given
 * rights (setuid), which a test can't have. */
char *secure_getenv(const char *name)
{
    return privileged ? NULL : getenv(name);
}

static bool loads(const pipc__rail_ops_t *ops)
{
    pipc__rail_t *rail;
    pipc__rail_address_t address;
    pipc__error_t err = {PIPC_OK, ""};

    if (!ops->open(&rail, &address, 1, pipc__exec_rail_sum, &err))
        ops->close(rail);
    return strstr(err.text, NAMED);
}

static void code_is_loaded_from_where_the_user_says_only_without_rights(void **state)
{
    static const struct {
        const char *variable;
        const pipc__rail_ops_t *ops;
    } engines[] = {
        {"PCIE_IPC_NCCL", &pipc__rail_nccl},
#ifdef HAVE_UCX
        {"PCIE_IPC_UCX", &pipc__rail_ucx},
#endif
    };

    (void)state;
    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
        setenv(engines[i].variable, NAMED, 1);
        privileged = false;
        if (!loads(engines[i].ops))
            fail_msg("%s is not heeded", engines[i].variable);
        privileged = true;
        if (loads(engines[i].ops))
            fail_msg("%s names code for a program with rights", engines[i].variable);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_is_loaded_from_where_the_user_says_only_without_rights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
