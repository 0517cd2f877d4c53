/* tests/unit/wake.c - telling a slow link from an idle one, with a library that answers as CUDA and
 * NVML do, and a captured machine whose link changes as that library copies
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "prolog/check.h"
#include "prolog/gate.h"
#include "prolog/prolog.h"
#include "runtime/base/config.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define LNKSTA "114" /* where tree_config() puts the link's speed */

static char fake[512];

/* ---- the judgement ------------------------------------------------------------------------- */

static void what_was_seen_is_judged(void **state)
{
#define LOW PIPC__WAKE_STAYED_LOW
#define FIVE(a)                                                                                    \
    5,                                                                                             \
    {                                                                                              \
        a, a, a, a, a                                                                              \
    }
    static const struct {
        pipc__wake_link_t link;
        bool virtual_machine;
        pipc__wake_verdict_t want;
        const char *why;
    } cases[] = {
        {{"g", "p", 32000, PIPC__WAKE_COPY, LOW, FIVE(2500)},
         false,
         PIPC__WAKE_SLOW,
         "in 5 reads under a copy"},
        {{"g", "p", 32000, PIPC__WAKE_NVML, LOW, FIVE(16000)},
         false,
         PIPC__WAKE_SLOW,
         "in 5 reads in P0"},
        {{"g", "p", 32000, PIPC__WAKE_COPY, PIPC__WAKE_RAISED, 0, {0}},
         false,
         PIPC__WAKE_FAST,
         "under a copy"},
        /* Not enough, not equal, or no speed at all: nothing is known. */
        {{"g", "p", 32000, PIPC__WAKE_COPY, LOW, 4, {2500, 2500, 2500, 2500}},
         false,
         PIPC__WAKE_CANT_TELL,
         "too few reads under a copy"},
        {{"g", "p", 32000, PIPC__WAKE_COPY, LOW, 5, {2500, 2500, 5000, 2500, 2500}},
         false,
         PIPC__WAKE_CANT_TELL,
         "its reads under a copy differ"},
        {{"g", "p", 32000, PIPC__WAKE_COPY, LOW, FIVE(-1)},
         false,
         PIPC__WAKE_CANT_TELL,
         "its reads under a copy differ"},
        {{"g", "p", 32000, PIPC__WAKE_COPY, LOW, FIVE(32000)},
         false,
         PIPC__WAKE_CANT_TELL,
         "contradict"},
        /* What a hypervisor shows of a link is no fault of this node. */
        {{"g", "p", 32000, PIPC__WAKE_COPY, LOW, FIVE(2500)},
         true,
         PIPC__WAKE_CANT_TELL,
         "its port is not in view"},
        {{"g", "", 32000, PIPC__WAKE_COPY, LOW, FIVE(2500)},
         false,
         PIPC__WAKE_CANT_TELL,
         "its port is not in view"},
        {{"g", "p", 32000, PIPC__WAKE_COPY, PIPC__WAKE_BUSY, FIVE(2500)},
         false,
         PIPC__WAKE_CANT_TELL,
         "somebody uses the GPU"},
        {{"g", "p", 32000, PIPC__WAKE_NVML, PIPC__WAKE_ASLEEP, FIVE(2500)},
         false,
         PIPC__WAKE_CANT_TELL,
         "not in P0"},
        {{"g", "p", 32000, PIPC__WAKE_NVML, PIPC__WAKE_NO_ANSWER, 0, {0}},
         false,
         PIPC__WAKE_CANT_TELL,
         "no answer in time"},
    };
    char why[96];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(pipc__wake_judge(&cases[i].link, cases[i].virtual_machine, why),
                         cases[i].want);
        if (!strstr(why, cases[i].why))
            fail_msg("case %zu: \"%s\" does not say \"%s\"", i, why, cases[i].why);
    }
}

/* ---- the whole ----------------------------------------------------------------------------- */

static char link_file[128], touched[128];

/* Two GPUs of which the links idle at Gen1, ports that can do Gen4; the library knows both. */
static int two_idle_gpus(void **state)
{
    if (tree_make(state))
        return -1;
    tree_gpu(1, 16);
    tree_gpu(2, 16);
    tree_put("proc/cpuinfo", "flags : fpu\n", 12);
    snprintf(link_file, sizeof(link_file), "%s/sys/bus/pci/devices/0000:00:01.0/config", tree);
    snprintf(touched, sizeof(touched), "%s/touched", tree);
    setenv("FAKE_GPUS", "0000:01:00.0,0000:02:00.0", 1);
    setenv("FAKE_TOUCHED", touched, 1);
    setenv("FAKE_LINK_AT", LNKSTA, 1);
    unsetenv("FAKE_GPU");
    unsetenv("FAKE_LINK");
    return 0;
}

static const char *touched_gpus(void)
{
    static char text[256];
    FILE *f = fopen(touched, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    text[n] = '\0';
    if (f)
        fclose(f);
    unlink(touched);
    return text;
}

static pipc__findings_t check(pipc__wake_mode_t mode, const char *const *gpus, int deadline_ms)
{
    const pipc__wake_t wake = {mode, tree, gpus, deadline_ms, fake, fake};
    const pipc__machine_t machine = {.sysroot = tree, .wake = &wake};
    pipc__findings_t findings;

    assert_int_equal(pipc__check(&machine, &findings, NULL), PIPC_OK);
    return findings;
}

static const char *const first[] = {"0000:01:00.0", NULL};

static const pipc__finding_t *finding_of(const pipc__findings_t *findings, const char *gpu)
{
    for (int i = 0; i < findings->n; i++)
        if (strcmp(findings->list[i].object, gpu) == 0)
            return &findings->list[i];
    fail_msg("nothing was found of %s", gpu);
    return NULL;
}

/* Check the first GPU alone: is it @code, and does it say @what? */
static void first_says(pipc__wake_mode_t mode, int deadline_ms, pipc__code_t code, const char *what)
{
    pipc__findings_t findings = check(mode, first, deadline_ms);
    const pipc__finding_t *f = finding_of(&findings, first[0]);

    assert_string_equal(pipc__codes[f->code].name, pipc__codes[code].name);
    assert_int_equal(findings.verdict, pipc__codes[code].severity);
    if (!strstr(f->seen, what))
        fail_msg("\"%s\" does not say \"%s\"", f->seen, what);
    pipc__findings_free(&findings);
}

static void a_copy_raises_an_idle_link(void **state)
{
    (void)state;
    setenv("FAKE_LINK", link_file, 1);
    first_says(PIPC__WAKE_COPY, 60000, PIPC__CODE_SPEED,
               "link runs at 2.5 GT/s and reached 16 GT/s under a copy");
}

/* The control of the test above: a link that no copy raises is slow, and only the GPU that was
 * named is touched. */
static void a_link_that_stays_low_is_a_fault(void **state)
{
    (void)state;
    pipc__findings_t findings = check(PIPC__WAKE_COPY, first, 60000);
    const pipc__finding_t *f = finding_of(&findings, first[0]);

    assert_int_equal(findings.verdict, PIPC__DRAIN);
    assert_string_equal(pipc__codes[f->code].name, "PCI032");
    assert_string_equal(f->seen, "link stays at 2.5 GT/s, in 5 reads under a copy");
    assert_string_equal(f->expected, "16 GT/s");
    assert_int_equal(finding_of(&findings, "0000:02:00.0")->code, PIPC__CODE_SPEED);
    assert_string_equal(touched_gpus(), "0000:01:00.0\n");
    pipc__findings_free(&findings);
}

static void a_read_counts_under_a_copy_alone(void **state)
{
    (void)state;
    setenv("FAKE_GPU", "quick", 1);
    first_says(PIPC__WAKE_COPY, 300, PIPC__CODE_SPEED, "no answer in time");
}

static void nvml_says_p0(void **state)
{
    (void)state;
    first_says(PIPC__WAKE_NVML, 60000, PIPC__CODE_STAYS_SLOW,
               "link stays at 2.5 GT/s, in 5 reads in P0");
    setenv("FAKE_GPU", "p8", 1);
    first_says(PIPC__WAKE_NVML, 60000, PIPC__CODE_SPEED, "(the GPU is not in P0)");
    setenv("FAKE_GPU", "tired", 1); /* before the reads it was */
    first_says(PIPC__WAKE_NVML, 60000, PIPC__CODE_SPEED, "(the GPU is not in P0)");
    assert_string_equal(touched_gpus(), "");
}

static void nothing_is_touched_that_is_not_free(void **state)
{
    static const struct {
        const char *gpu, *why;
    } cases[] = {
        {"mig", "not woken: a MIG GPU is not touched"},
        {"busy", "not woken: somebody uses the GPU"},
        {"graphics", "not woken: somebody uses the GPU"},
        {"no-nvml", "the driver's library cannot be opened"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        setenv("FAKE_GPU", cases[i].gpu, 1);
        first_says(PIPC__WAKE_COPY, 60000, PIPC__CODE_SPEED, cases[i].why);
        assert_string_equal(touched_gpus(), "");
    }
    setenv("FAKE_GPU", "fails", 1);
    first_says(PIPC__WAKE_COPY, 60000, PIPC__CODE_SPEED, "(the copy to wake it failed)");
}

static void a_driver_that_hangs_or_crashes_is_left_behind(void **state)
{
    (void)state;
    setenv("FAKE_GPU", "hang", 1);
    first_says(PIPC__WAKE_NVML, 100, PIPC__CODE_SPEED, "(the driver gave no answer in time)");
    setenv("FAKE_GPU", "crash", 1);
    first_says(PIPC__WAKE_NVML, 60000, PIPC__CODE_SPEED, "(the driver gave no answer in time)");
}

static void without_a_wish_no_driver_is_opened(void **state)
{
    (void)state;
    setenv("FAKE_GPU", "crash", 1);
    first_says(PIPC__WAKE_NEVER, 60000, PIPC__CODE_SPEED, "link runs at 2.5 GT/s");
    assert_int_equal(pipc__wake_parse("copy"), PIPC__WAKE_COPY);
    assert_int_equal(pipc__wake_parse("always"), -1);
}

/* ---- the prolog ---------------------------------------------------------------------------- */

static char said[4096];

/* The prolog of a job on GPUs @gpus: does it refuse the node? */
static bool refuses(const char *wake, const char *gpus)
{
    char config[128], run[128], state[128], text[512], record[128] = "";
    const pipc__gate_t gate = {.config = config,
                               .run = run,
                               .state = state,
                               .owner = geteuid(),
                               .nvml = fake,
                               .cuda = fake};
    FILE *say = tmpfile(), *out = tmpfile();

    snprintf(config, sizeof(config), "%s/etc/pcie-ipc.conf", tree);
    snprintf(run, sizeof(run), "%s/run", tree);
    snprintf(state, sizeof(state), "%s/kept", tree);
    snprintf(text, sizeof(text),
             "[gate]\nmode = enforce\nsysroot = %s\ncache = 0\ndeadline = 60\nwake = %s\n", tree,
             wake);
    tree_put("etc/pcie-ipc.conf", text, strlen(text));
    assert_int_equal(pipc__gate_run(&gate, "n0", gpus, say, out), 0);
    rewind(out);
    assert_non_null(fgets(record, sizeof(record), out));
    rewind(say);
    said[fread(said, 1, sizeof(said) - 1, say)] = '\0';
    fclose(out);
    fclose(say);
    return strcmp(record, "pcie-ipc-verdict 1 n0 refuse\n") == 0;
}

static void put_minors(void)
{
    tree_put("proc/driver/nvidia/gpus/0000:01:00.0/information", "Device Minor: 0\n", 16);
    tree_put("proc/driver/nvidia/gpus/0000:02:00.0/information", "Device Minor: 1\n", 16);
}

/* A link that rose once and then does not is a fault of the node; only the job's GPU is touched. */
static void a_prolog_wakes_the_jobs_gpus(void **state)
{
    (void)state;
    put_minors();
    setenv("FAKE_LINK", link_file, 1);
    assert_false(refuses("copy", "0"));
    assert_string_equal(touched_gpus(), "0000:01:00.0\n");
    tree_gpu(1, 16); /* it idles again */
    unsetenv("FAKE_LINK");
    assert_true(refuses("copy", "0"));
    assert_string_equal(touched_gpus(), "0000:01:00.0\n");
    assert_false(refuses("copy", "1")); /* that one never passed: the breaker holds it */
    assert_string_equal(touched_gpus(), "0000:02:00.0\n");
    if (!strstr(said, "0000:02:00.0: link stays at 2.5 GT/s") || !strstr(said, "breaker"))
        fail_msg("\"%s\" does not say that the breaker holds it", said);
}

/* Whose GPUs are not known are asked about, and not touched; without the key nothing is asked. */
static void a_prolog_touches_no_others(void **state)
{
    (void)state;
    put_minors();
    setenv("FAKE_GPU", "p8", 1);
    assert_false(refuses("copy", ""));
    assert_false(refuses("copy", "7"));
    assert_false(refuses("nvml", "0"));
    setenv("FAKE_GPU", "crash", 1);
    assert_false(refuses("never", "0"));
    assert_string_equal(touched_gpus(), "");
}

static void the_key_has_the_names_of_the_option(void **state)
{
    const pipc__config_key_t *k = pipc__config_keys;

    (void)state;
    while (strcmp(k->key, "wake") != 0)
        k++;
    for (int i = 0; k->values[i] || pipc__wake_names[i]; i++)
        assert_string_equal(k->values[i], pipc__wake_names[i]);
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, two_idle_gpus, tree_remove)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_seen_is_judged),
        IN_TREE(a_copy_raises_an_idle_link),
        IN_TREE(a_link_that_stays_low_is_a_fault),
        IN_TREE(a_read_counts_under_a_copy_alone),
        IN_TREE(nvml_says_p0),
        IN_TREE(nothing_is_touched_that_is_not_free),
        IN_TREE(a_driver_that_hangs_or_crashes_is_left_behind),
        IN_TREE(without_a_wish_no_driver_is_opened),
        IN_TREE(a_prolog_wakes_the_jobs_gpus),
        IN_TREE(a_prolog_touches_no_others),
        cmocka_unit_test(the_key_has_the_names_of_the_option),
    };

    if (!getenv("PIPC_BUILDDIR")) {
        puts("1..0 # SKIP run by make check, which says where the build is");
        return 0;
    }
    snprintf(fake, sizeof(fake), "%s/tests/unit/.libs/gpu_fake.so", getenv("PIPC_BUILDDIR"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
