/* tests/unit/health_checklist.c - the list before production: a machine that is ready, and each
 * thing that can be otherwise beside what its line says; the P2P matrix; the list as it is read
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "prolog/checklist_facts.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define NOON 1790000000 /* 2026-09-21 */

/* ---- the judgement --------------------------------------------------------------------------- */

static struct {
    pipc__fact_t dev[4]; /* two root ports with a GPU each */
    pipc__pair_t pair[2];
    pipc__facts_t facts;
    pipc__findings_t findings;
    pipc__finding_t finding;
    pipc__baseline_t baseline;
    pipc__readiness_t r;
} m;

static void device(int i, const char *name, int parent, bool gpu)
{
    pipc__fact_t *f = &m.dev[i];

    *f = (pipc__fact_t){.parent = parent, .gpu = gpu, .vendor = 0x10de, .device = 0x20b5};
    snprintf(f->name, sizeof(f->name), "%s", name);
    f->link = (pipc__express_t){.port = gpu ? PIPC__EXPRESS_ENDPOINT : PIPC__EXPRESS_ROOT,
                                .max_width = 16,
                                .max_mts = 16000,
                                .width = 16,
                                .mts = 2500,
                                .target_mts = 16000,
                                .equalized = -1};
    f->more = pipc__extended_unknown();
    f->more.acs = gpu ? -1 : 0;
    f->iommu = PIPC__IOMMU_IDENTITY;
    f->nvml = (pipc__nvml_t){.told = gpu, .persistence = 1};
}

static void a_ready_machine(void)
{
    static const char *const gpus[] = {"0000:01:00.0", "0000:02:00.0"};
    pipc__error_t err;

    pipc__baseline_free(&m.baseline);
    memset(&m, 0, sizeof(m));
    device(0, "0000:00:01.0", -1, false);
    device(1, "0000:00:02.0", -1, false);
    device(2, gpus[0], 0, true);
    device(3, gpus[1], 1, true);
    m.pair[0] = (pipc__pair_t){2, 3, PIPC__P2P_OK};
    m.pair[1] = (pipc__pair_t){3, 2, PIPC__P2P_OK};
    m.facts = (pipc__facts_t){.dev = m.dev,
                              .n = 4,
                              .pair = m.pair,
                              .pairs = 2,
                              .nvml = PIPC__NVML_ANSWERED,
                              .aspm_policy = "performance"};
    m.findings.list = &m.finding;
    assert_int_equal(pipc__baseline_learn(&m.facts, false, &m.baseline, &err), PIPC_OK);
    m.r = (pipc__readiness_t){.facts = &m.facts,
                              .findings = &m.findings,
                              .baseline = &m.baseline,
                              .baseline_time = NOON,
                              .stressed = true,
                              .stress = {.time = NOON, .seconds = 86400, .gpus = 2},
                              .machine = "BIOS 1.2, driver 570, VBIOS 96",
                              .prolog = PIPC__LINKED_YES,
                              .epilog = PIPC__LINKED_YES,
                              .prolog_dir = "/p",
                              .epilog_dir = "/e",
                              .mode = "enforce",
                              .now = NOON + 86400};
    strcpy(m.r.stress.verdict, "ok");
    strcpy(m.r.stress.machine, m.r.machine);
    m.r.accepted = (pipc__p2p_matrix_t){.there = true, .time = NOON, .n = 2};
    for (int i = 0; i < 2; i++) {
        strcpy(m.r.accepted.gpu[i], gpus[i]);
        strcpy(m.r.accepted.state[i][1 - i], "good");
    }
}

static void a_finding(pipc__code_t code, pipc__severity_t severity)
{
    m.finding = (pipc__finding_t){.code = code, .severity = severity};
    strcpy(m.finding.object, "0000:00:01.0");
    strcpy(m.finding.seen, "something");
    m.findings.n = 1;
    m.findings.verdict = severity;
}

/* What is otherwise, each a machine of its own. */
#define CHANGE(name, what)                                                                         \
    static void name(void)                                                                         \
    {                                                                                              \
        what;                                                                                      \
    }
CHANGE(nothing, (void)0)
CHANGE(a_note, a_finding(PIPC__CODE_SPEED, PIPC__NOTE))
CHANGE(a_warning, a_finding(PIPC__CODE_STATUS, PIPC__WARN))
CHANGE(a_drain, a_finding(PIPC__CODE_WIDTH, PIPC__DRAIN))
CHANGE(an_unknown, a_finding(PIPC__CODE_NO_PORT, PIPC__SEV_UNKNOWN))
CHANGE(acs_redirects, a_finding(PIPC__CODE_ACS, PIPC__WARN))
CHANGE(acs_is_hidden, a_finding(PIPC__CODE_HIDDEN, PIPC__NOTE))
CHANGE(acs_redirects_now, m.dev[0].more.acs = PIPC__ACS_REQUEST)
CHANGE(iommu_is_unknown, m.dev[2].iommu = PIPC__IOMMU_UNKNOWN)
CHANGE(no_baseline, pipc__baseline_free(&m.baseline))
CHANGE(a_gpu_is_gone, m.facts.n = 3)
CHANGE(a_gpu_is_gone_of_an_excerpt, m.facts.n = 3; m.facts.excerpt = true)
CHANGE(a_gpu_is_another, m.dev[3].device = 0x2330)
CHANGE(a_gpu_is_new, m.baseline.n--)
CHANGE(lanes_are_lost, m.dev[3].link.width = m.dev[1].link.width = 8)
CHANGE(lanes_are_not_told, m.dev[3].link.width = m.dev[1].link.width = -1)
CHANGE(a_target_is_lower, m.dev[1].link.target_mts = 8000)
CHANGE(a_target_is_not_told, m.dev[1].link.target_mts = -1)
CHANGE(idle_at_full_width, m.dev[3].link.mts = 2500)
CHANGE(aspm_at_the_port, m.dev[1].link.aspm = 2)
CHANGE(aspm_is_not_told, m.dev[1].link.aspm = -1)
CHANGE(no_matrix, m.r.accepted.there = false)
CHANGE(one_gpu_needs_no_matrix, m.facts.n = 3; m.r.accepted.there = false)
CHANGE(the_matrix_has_others, strcpy(m.r.accepted.gpu[1], "0000:09:00.0"))
CHANGE(a_way_is_closed, m.pair[1].status = PIPC__P2P_CHIPSET)
CHANGE(a_way_was_closed_before, m.pair[1].status = PIPC__P2P_CHIPSET;
       strcpy(m.r.accepted.state[1][0], "refused"))
CHANGE(nvml_does_not_tell, m.pair[1].status = PIPC__P2P_UNKNOWN)
CHANGE(measured_the_same, m.facts.pairs = 0; m.r.measured = m.r.accepted)
CHANGE(measured_wrong, m.r.measured = m.r.accepted; strcpy(m.r.measured.state[0][1], "wrong"))
CHANGE(measured_in_part, m.r.measured = m.r.accepted; m.r.measured.n = 1)
CHANGE(persistence_is_off, m.dev[3].nvml.persistence = 0)
CHANGE(persistence_is_not_told, m.dev[3].nvml.told = false)
CHANGE(other_vendors, m.dev[2].vendor = m.dev[3].vendor = 0x1002)
CHANGE(no_stress, m.r.stressed = false)
CHANGE(another_driver, strcpy(m.r.machine, "BIOS 1.2, driver 580, VBIOS 96"))
CHANGE(an_hour_of_stress, m.r.stress.seconds = 3600)
CHANGE(stress_with_errors, strcpy(m.r.stress.verdict, "fault"))
CHANGE(stress_of_one_gpu, m.r.stress.gpus = 1)
CHANGE(versions_cannot_be_read, strcpy(m.r.machine, "BIOS ?, driver 570, VBIOS 96");
       strcpy(m.r.stress.machine, m.r.machine))
CHANGE(no_prolog, m.r.prolog = PIPC__LINKED_NO)
CHANGE(no_epilog, m.r.epilog = PIPC__LINKED_NO)
CHANGE(switched_off, m.r.off = "/run/pcie-ipc/off")
CHANGE(of_another_machine, m.r.prolog = PIPC__LINKED_UNASKED; m.r.now = 0)

static const pipc__line_t *line_of(const pipc__line_t *lines, const char *item)
{
    for (int i = 0; i < PIPC__CHECKLIST_LINES; i++)
        if (strcmp(lines[i].item, item) == 0)
            return &lines[i];
    fail_msg("there is no line %s", item);
    return NULL;
}

static void each_line_and_what_changes_it(void **state)
{
    static const struct {
        void (*change)(void);
        const char *item;
        pipc__line_state_t state;
        const char *says;
    } cases[] = {
        {nothing, "check", PIPC__LINE_YES, "it finds nothing"},
        {nothing, "gpus", PIPC__LINE_YES, "2 GPUs, as in the baseline of 2026-09-21"},
        {nothing, "links", PIPC__LINE_YES, "2 links, as in"},
        {nothing, "aspm", PIPC__LINE_YES, "off at 4 devices; the kernel's policy is performance"},
        {nothing, "generation", PIPC__LINE_YES, "2 links may train"},
        {nothing, "p2p", PIPC__LINE_YES, "2 ways are open by NVML"},
        {nothing, "persistence", PIPC__LINE_YES, "on at 2 GPUs"},
        {nothing, "stress", PIPC__LINE_YES, "24.0 hours, 2 GPUs, on BIOS 1.2"},
        {nothing, "acs", PIPC__LINE_YES, "identity for 2"},
        {nothing, "gate", PIPC__LINE_YES, "mode is enforce"},
        {a_note, "check", PIPC__LINE_YES, "PCI003"},
        {a_warning, "check", PIPC__LINE_NO, "PCI016"},
        {a_drain, "check", PIPC__LINE_NO, "0000:00:01.0: something (PCI001)"},
        {an_unknown, "check", PIPC__LINE_UNKNOWN, "PCI011"},
        {no_baseline, "gpus", PIPC__LINE_UNKNOWN, "baseline learn"},
        {no_baseline, "links", PIPC__LINE_UNKNOWN, "baseline learn"},
        {a_gpu_is_gone, "gpus", PIPC__LINE_NO, "0000:02:00.0 of the baseline"},
        {a_gpu_is_gone_of_an_excerpt, "gpus", PIPC__LINE_UNKNOWN, "0000:02:00.0"},
        {a_gpu_is_another, "gpus", PIPC__LINE_NO, "another GPU"},
        {a_gpu_is_new, "gpus", PIPC__LINE_NO, "0000:02:00.0 is not in the baseline"},
        {a_gpu_is_gone, "links", PIPC__LINE_UNKNOWN, "0000:02:00.0 cannot be told"},
        {lanes_are_lost, "links", PIPC__LINE_NO, "0000:02:00.0 can do less"},
        {lanes_are_not_told, "links", PIPC__LINE_UNKNOWN, "0000:02:00.0"},
        {a_target_is_lower, "links", PIPC__LINE_NO, "0000:02:00.0"},
        {idle_at_full_width, "links", PIPC__LINE_YES, "2 links"},
        {a_target_is_lower, "generation", PIPC__LINE_NO,
         "the port above 0000:02:00.0 aims at 8 GT/s, both ends can do 16 GT/s"},
        {a_target_is_not_told, "generation", PIPC__LINE_UNKNOWN, "0000:02:00.0"},
        {aspm_at_the_port, "aspm", PIPC__LINE_NO, "0000:00:02.0 has it on"},
        {aspm_is_not_told, "aspm", PIPC__LINE_UNKNOWN, "0000:00:02.0"},
        {no_matrix, "p2p", PIPC__LINE_UNKNOWN, "no matrix was accepted"},
        {one_gpu_needs_no_matrix, "p2p", PIPC__LINE_YES, "one GPU"},
        {the_matrix_has_others, "p2p", PIPC__LINE_NO, "0000:02:00.0 is not in both"},
        {a_way_is_closed, "p2p", PIPC__LINE_NO, "0000:02:00.0 to 0000:01:00.0 is closed by NVML"},
        {a_way_was_closed_before, "p2p", PIPC__LINE_YES, "1 ways"},
        {nvml_does_not_tell, "p2p", PIPC__LINE_UNKNOWN, "1 of the 2 ways"},
        {measured_the_same, "p2p", PIPC__LINE_YES, "2 GPUs measured"},
        {measured_wrong, "p2p", PIPC__LINE_NO, "0000:01:00.0 to 0000:02:00.0 is wrong, was good"},
        {measured_in_part, "p2p", PIPC__LINE_NO, "0000:02:00.0 was not measured"},
        {persistence_is_off, "persistence", PIPC__LINE_NO, "0000:02:00.0 has it off"},
        {persistence_is_not_told, "persistence", PIPC__LINE_UNKNOWN, "0000:02:00.0"},
        {other_vendors, "persistence", PIPC__LINE_YES, "no GPU of NVIDIA's"},
        {no_stress, "stress", PIPC__LINE_NO, "pcie-ipc-stress --time=24h"},
        {another_driver, "stress", PIPC__LINE_NO, "driver 570, VBIOS 96; now it is"},
        {an_hour_of_stress, "stress", PIPC__LINE_NO, "1.0 hours; 24 are wanted"},
        {stress_with_errors, "stress", PIPC__LINE_NO, "fault"},
        {stress_of_one_gpu, "stress", PIPC__LINE_NO, "1 of 2 GPUs"},
        {versions_cannot_be_read, "stress", PIPC__LINE_UNKNOWN, "BIOS ?"},
        {acs_redirects, "acs", PIPC__LINE_NO, "PCI015"},
        {acs_redirects_now, "acs", PIPC__LINE_NO, "0000:00:01.0 redirects otherwise"},
        {acs_is_hidden, "acs", PIPC__LINE_UNKNOWN, "root"},
        {iommu_is_unknown, "acs", PIPC__LINE_UNKNOWN, "of 1 GPUs"},
        {no_prolog, "gate", PIPC__LINE_NO, "/p has no link"},
        {no_epilog, "gate", PIPC__LINE_NO, "/e has no link"},
        {switched_off, "gate", PIPC__LINE_NO, "/run/pcie-ipc/off"},
        {of_another_machine, "gate", PIPC__LINE_UNKNOWN, "on the machine itself"},
    };
    pipc__line_t lines[PIPC__CHECKLIST_LINES];
    pipc__error_t err;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        a_ready_machine();
        cases[i].change();
        assert_int_equal(pipc__checklist(&m.r, lines, &err), PIPC_OK);
        const pipc__line_t *line = line_of(lines, cases[i].item);
        if (line->state != cases[i].state || !strstr(line->evidence, cases[i].says))
            fail_msg("%zu, %s: %s: %s; wanted %s: %s", i, cases[i].item,
                     pipc__line_state_name(line->state), line->evidence,
                     pipc__line_state_name(cases[i].state), cases[i].says);
    }
    pipc__baseline_free(&m.baseline);
}

static void evidence_has_its_date(void **state)
{
    static const struct {
        void (*change)(void);
        const char *item;
        int64_t date;
    } cases[] = {
        {nothing, "links", NOON + 86400}, {nothing, "stress", NOON},
        {no_stress, "stress", 0},         {no_matrix, "p2p", 0},
        {measured_wrong, "p2p", NOON},    {of_another_machine, "aspm", 0},
    };
    pipc__line_t lines[PIPC__CHECKLIST_LINES];
    pipc__error_t err;
    char text[32];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        a_ready_machine();
        cases[i].change();
        assert_int_equal(pipc__checklist(&m.r, lines, &err), PIPC_OK);
        assert_int_equal(line_of(lines, cases[i].item)->date, cases[i].date);
    }
    pipc__baseline_free(&m.baseline);
    assert_string_equal(pipc__date_text(NOON, text), "2026-09-21 14:13 UTC");
    assert_string_equal(pipc__date_text(0, text), "no date");
}

/* ---- the matrix ------------------------------------------------------------------------------ */

#define GPUS                                                                                       \
    "\"gpus\": [{\"gpu\": 0, \"bdf\": \"0000:01:00.0\"}, {\"gpu\": 1, \"bdf\": \"0000:02:00.0\"}]"
#define PAIRS                                                                                      \
    "\"pairs\": [{\"from\": 0, \"to\": 1, \"state\": \"good\"}, {\"from\": 1, \"to\": 0, "         \
    "\"state\": \"good\"}]"
#define MATRIX "{\"finished\": true, " GPUS ", " PAIRS "}"

static void a_matrix_is_whole_or_refused(void **state)
{
    static const struct {
        const char *text;
        bool good;
    } cases[] = {
        {MATRIX, true},
        {"{\"finished\": false, " GPUS ", " PAIRS "}", false},
        {"{\"finished\": true, " GPUS "}", false},
        {"{\"finished\": true, " PAIRS "}", false},
        {"{\"finished\": true, \"gpus\": [], \"pairs\": []}", false},
        {"{\"finished\": true, " GPUS
         ", \"pairs\": [{\"from\": 0, \"to\": 1, \"state\": \"good\"}]}",
         false},
        {"{\"finished\": true, " GPUS
         ", \"pairs\": [{\"from\": 0, \"to\": 7, \"state\": \"good\"}]}",
         false},
        {"{\"finished\": true, " GPUS ", \"pairs\": [{\"from\": 0, \"to\": 1, \"state\": "
         "\"a word that is much too long for a state\"}]}",
         false},
        {"", false},
        {"[]", false},
        {"{\"finished\": tr", false},
    };
    pipc__p2p_matrix_t matrix;
    pipc__error_t err;

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc_status_t st =
            pipc__p2p_matrix_parse("x", cases[i].text, strlen(cases[i].text), &matrix, &err);
        if ((st == PIPC_OK) != cases[i].good || matrix.there != cases[i].good)
            fail_msg("%s: %d", cases[i].text, st);
    }
}

/* ---- the verb -------------------------------------------------------------------------------- */

static void expect(const char *arguments, int status, const char *says)
{
    char command[2048], out[16384];

    snprintf(command, sizeof(command), "cd %s; 2>&1 %s/prolog/gate %s", tree,
             getenv("PIPC_BUILDDIR"), arguments);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    out[fread(out, 1, sizeof(out) - 1, f)] = '\0';
    int is = WEXITSTATUS(pclose(f));
    if (is != status || !strstr(out, says))
        fail_msg("%s: status %d, printed %s; wanted %d and %s", arguments, is, out, status, says);
}

static void what_was_kept_is_read(void **state)
{
    static const char stress[] = "{\"schema\": 1, \"time\": 1790000000, \"seconds\": 90000, "
                                 "\"gpus\": 2, \"verdict\": \"ok\", "
                                 "\"machine\": \"BIOS 1.2, driver 570.1, VBIOS ?\"}";

    (void)state;
    tree_gpu(1, 16);
    tree_gpu(2, 16);
    tree_put("sys/class/dmi/id/bios_version", "1.2\n", 4);
    tree_put("sys/module/nvidia/version", "570.1\n", 6);
    expect("baseline learn --sysroot=. --output=baseline.conf", 0, "written");
    expect("checklist --sysroot=. --baseline=baseline.conf", 1, "yes     gpus: ");
    expect("checklist --sysroot=.", 1, "unknown gpus: ");
    /* It only looks: a folder that is not there is not made. */
    expect("checklist --sysroot=. --state=nowhere", 1, "no matrix was accepted");
    expect("--version; ls -d nowhere 2>&1", 2, "No such file");
    tree_put("kept/stress.json", stress, sizeof(stress) - 1);
    tree_put("kept/p2p.json", MATRIX, sizeof(MATRIX) - 1);
    expect("checklist --sysroot=. --state=kept", 3, "not every version can be read: BIOS 1.2");
    expect("checklist --sysroot=. --state=kept --p2p=kept/p2p.json", 3, "yes     p2p: ");
    expect("checklist --sysroot=. --state=kept --json", 3, "\"item\": \"gate\"");
    expect("checklist --sysroot=. --p2p=/dev/null", 3, "/dev/null: no whole matrix");
    expect("checklist --sysroot=/nonexistent", 3, "/nonexistent");
    expect("checklist more", 64, "more: unexpected argument");
    /* What others can write is not believed, and told. */
    expect("checklist --sysroot=. --state=kept; chmod go+w kept/p2p.json; true", 0, "");
    expect("checklist --sysroot=. --state=kept", 3, "p2p.json: ");
    expect("checklist --sysroot=. --state=kept", 3, "no matrix was accepted");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_and_what_changes_it),
        cmocka_unit_test(evidence_has_its_date),
        cmocka_unit_test(a_matrix_is_whole_or_refused),
        cmocka_unit_test_setup_teardown(what_was_kept_is_read, tree_make, tree_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
