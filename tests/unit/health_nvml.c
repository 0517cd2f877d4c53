/* tests/unit/health_nvml.c - what NVML says of GPUs, with a library that answers as NVML does; and
 * asking in a process of its own
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

#include "prolog/check.h"
#include "runtime/base/ask.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static char fake[512];

/* "VERDICT object:code ..." without idle speeds, and what the first of them says */
static void judged(const char *library, int msec, char *out, size_t cap, char seen[192])
{
    const pipc__machine_t source = {
        .sysroot = tree, .all = true, .nvml = library, .nvml_msec = msec};
    pipc__findings_t f;

    assert_int_equal(pipc__check(&source, &f, NULL), PIPC_OK);
    size_t used = (size_t)snprintf(out, cap, "%s", pipc__severity_name(f.verdict));
    seen[0] = '\0';
    for (int i = 0; i < f.n && used < cap; i++) {
        if (f.list[i].code == PIPC__CODE_SPEED)
            continue;
        used += (size_t)snprintf(out + used, cap - used, " %s:%s", f.list[i].object,
                                 pipc__codes[f.list[i].code].name);
        if (!seen[0])
            snprintf(seen, 192, "%s", f.list[i].seen);
    }
    pipc__findings_free(&f);
}

static void answers(void **state)
{
    static const struct {
        const char *machine;
        int msec;
        const char *want, *seen;
    } cases[] = {
        {"well", 60000, "note", ""},
        {"not-persistent", 60000, "note node:PCI025", "persistence mode is off at 1 of 2 GPUs"},
        {"replays", 60000, "note 0000:01:00.0:PCI025", "NVML: 7 replays since its driver started"},
        {"narrow", 60000, "note", ""}, /* the registers are in view, and say that it is not */
        {"apart", 60000, "note node:PCI025",
         "P2P: 2 of 2 ways between GPUs are closed; 0000:01:00.0 to 0000:02:00.0: the chipset "
         "can't "
         "do it"},
        {"writes", 60000, "note node:PCI025",
         "P2P: 1 of 2 ways between GPUs are closed; 0000:02:00.0 to 0000:01:00.0: switched off"},
        {"mute", 60000, "note", ""}, /* nothing is known, and nothing said */
        {"one", 60000, "note", ""},
        {"no-driver", 60000, "note node:PCI025", "NVML gave no answer"},
        {"crash", 60000, "note node:PCI025", "NVML gave no answer"},
        {"hang", 100, "note node:PCI025", "NVML gave no answer"},
    };
    char out[512], seen[192];

    (void)state;
    tree_gpu(1, 16);
    tree_gpu(2, 16);
    for (size_t i = 0; i < COUNT(cases); i++) {
        setenv("FAKE_NVML", cases[i].machine, 1);
        judged(fake, cases[i].msec, out, sizeof(out), seen);
        if (strcmp(out, cases[i].want) != 0 || strcmp(seen, cases[i].seen) != 0)
            fail_msg("%s: is \"%s\", \"%s\"", cases[i].machine, out, seen);
    }
    judged(NULL, 0, out, sizeof(out), seen);
    assert_string_equal(out, "note"); /* not asked: the machine "hang" would tell */
    judged("libpipc-no-such-library.so.1", 60000, out, sizeof(out), seen);
    assert_string_equal(out, "note node:PCI025");
}

static void facts_as_told(void **state)
{
    pipc__facts_t facts;

    (void)state;
    tree_gpu(1, 16);
    tree_gpu(2, 16);
    setenv("FAKE_NVML", "one", 1); /* it knows one of them */
    assert_int_equal(pipc__facts_sysfs(&facts, tree, PIPC__LOOK_ALL, NULL), PIPC_OK);
    assert_int_equal(pipc__facts_nvml(&facts, fake, 60000, NULL), PIPC_OK);
    assert_int_equal(facts.nvml, PIPC__NVML_ANSWERED);
    const pipc__nvml_t *v = &facts.dev[2].nvml; /* 0000:01:00.0 */
    assert_true(v->told && v->p_state == 8 && v->persistence == 1 && v->generation == 1 &&
                v->max_generation == 4 && v->width == 16 && v->max_width == 16 && v->replays == 0);
    assert_false(facts.dev[3].nvml.told);
    assert_int_equal(facts.pairs, 0);
    pipc__facts_free(&facts);
}

/* In a guest NVML alone knows the width; where no NVIDIA GPU is, nobody asks. */
static void guests_and_others(void **state)
{
    tree_link_t gpu = {.port = 0, .max_width = 16, .max_gen = 4, .width = 16, .gen = 1};
    char out[512], seen[192];

    (void)state;
    tree_put("proc/cpuinfo", "flags\t\t: fpu hypervisor lahf\n", 29);
    tree_add("0000:01:00.0", 0x10de, 0x030200, &gpu, 256);
    setenv("FAKE_NVML", "narrow", 1);
    judged(fake, 60000, out, sizeof(out), seen);
    assert_string_equal(out, "note 0000:01:00.0:PCI011 0000:01:00.0:PCI025");
    setenv("FAKE_NVML", "crash", 1);
    tree_add("0000:01:00.0", 0x1002, 0x030200, &gpu, 256);
    judged(fake, 60000, out, sizeof(out), seen);
    assert_string_equal(out, "note 0000:01:00.0:PCI011");
}

/* ---- asking ---------------------------------------------------------------------------------- */

static bool say_three(void *arg, int fd)
{
    const int *how = arg;

    for (int i = 0; i < 3; i++)
        if (!pipc__ask_put(fd, &i, sizeof(i)))
            return false;
    if (*how == 1)
        abort();
    while (*how == 2)
        pause();
    return *how != 3;
}

static void records(void **state)
{
    int got[3] = {7, 7, 7}, few[2], how = 0;

    (void)state;
    assert_int_equal(pipc__ask(say_three, &how, 60000, got, sizeof(got[0]), 3), 3);
    assert_true(got[0] == 0 && got[1] == 1 && got[2] == 2);
    assert_int_equal(pipc__ask(say_three, &how, 60000, few, sizeof(few[0]), 2), -1); /* too many */
    for (how = 1; how <= 3; how++)
        assert_int_equal(pipc__ask(say_three, &how, how == 2 ? 100 : 60000, got, sizeof(got[0]), 3),
                         -1);
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        IN_TREE(answers),
        IN_TREE(facts_as_told),
        IN_TREE(guests_and_others),
        cmocka_unit_test(records),
    };

    if (!getenv("PIPC_BUILDDIR")) {
        puts("1..0 # SKIP run by make check, which says where the build is");
        return 0;
    }
    snprintf(fake, sizeof(fake), "%s/tests/unit/.libs/health_nvml_fake.so",
             getenv("PIPC_BUILDDIR"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
