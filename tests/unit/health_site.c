/* tests/unit/health_site.c - pcie-ipc-health baseline and ack as an administrator meets them, and
 * check with a site's own files
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

#include "prolog/ack.h"
#include "prolog/check.h"
#include "prolog/examine.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Run the checker in a shell, in the folder of the tree: its exit status, and what it printed (both
 * streams) in @out. */
static int run(const char *arguments, char *out, size_t cap)
{
    char command[2048];

    snprintf(command, sizeof(command), "cd %s; 2>&1 %s/prolog/gate %s", tree,
             getenv("PIPC_BUILDDIR"), arguments);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(out, 1, cap - 1, f);
    out[n] = '\0';
    return WEXITSTATUS(pclose(f));
}

/* ... with this status, and these words in what it printed. */
static void expect(const char *arguments, int status, const char *says)
{
    char out[65536];
    int is = run(arguments, out, sizeof(out));

    if (is != status || !strstr(out, says))
        fail_msg("%s: status %d, printed %s; wanted %d and %s", arguments, is, out, status, says);
}

static char *slurp(const char *name, char *out, size_t cap)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", tree, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    out[fread(out, 1, cap - 1, f)] = '\0';
    fclose(f);
    return out;
}

/* A root port and a GPU that can do, and do, @width lanes at Gen4. */
static void slot(int number, int width)
{
    tree_link_t port = {.port = 4,
                        .max_width = width,
                        .max_gen = 4,
                        .width = width,
                        .gen = 4,
                        .target = 4,
                        .secondary = number};
    tree_link_t gpu = {.port = 0, .max_width = width, .max_gen = 4, .width = width, .gen = 4};
    char path[64];

    snprintf(path, sizeof(path), "0000:00:%02x.0", number);
    tree_add(path, 0x8086, 0x060400, &port, 256);
    snprintf(path, sizeof(path), "0000:00:%02x.0/0000:%02x:00.0", number, number);
    tree_add(path, 0x10de, 0x030200, &gpu, 256);
}

static void put(const char *path, const char *text)
{
    tree_put(path, text, strlen(text));
}

/* ---- the baseline -------------------------------------------------------------------------- */

static void learned_and_compared(void **state)
{
    char out[65536];

    (void)state;
    slot(1, 16);
    slot(2, 16);
    expect("baseline learn --sysroot=. --output=b.conf", 0, "b.conf: written, 4 devices\n");
    expect("baseline diff --sysroot=. b.conf", 0, "");
    expect("baseline learn --sysroot=. --output=b.conf", 0, "b.conf: is so already\n");
    expect("check --sysroot=. --baseline=b.conf", 0, "every link is as it should be (ok)");

    slot(2, 8); /* the firmware has split the slot */
    expect("check --sysroot=.", 0, "(ok)");
    expect("check --sysroot=. --baseline=b.conf", 2,
           "pcie-ipc: 0000:02:00.0: link is x8, expected x16 as in the baseline; ");
    expect("check --sysroot=. --baseline=b.conf --json", 2, "\"code\": \"PCI026\"");
    expect("baseline diff --sysroot=. b.conf", 1, "0000:02:00.0: width is 8, was 16\n");
    assert_int_equal(run("baseline diff --sysroot=. --json b.conf", out, sizeof(out)), 1);
    assert_non_null(strstr(out, "\"object\": \"0000:02:00.0\""));
    assert_non_null(strstr(out, "\"what\": \"width is 8, was 16\""));

    put("limits.conf", "[device 0000:02:00.0]\nwidth = 8\n");
    expect("check --sysroot=. --baseline=b.conf --limits=limits.conf", 0, "(ok)");
    expect("baseline learn --sysroot=. --output=b.conf", 0, "0000:02:00.0: width is 8, was 16\n");
    expect("check --sysroot=. --baseline=b.conf", 0, "(ok)");
}

static void what_is_shown(void **state)
{
    char out[65536];

    (void)state;
    slot(1, 16);
    expect("baseline learn --sysroot=. --class --output=- >b.conf", 0, "");
    expect("baseline show b.conf", 0, "a class of machines, BIOS not known: 2 devices\n");
    expect("baseline show b.conf", 0, "0000:01:00.0 gpu  10de:1234 x16 16 GT/s");
    assert_int_equal(run("baseline show --json b.conf", out, sizeof(out)), 0);
    assert_non_null(strstr(out, "\"class\": true"));
    assert_non_null(strstr(out, "\"path\": \"0000:00:01.0/00.0\""));
}

/* A fault must not become the measure of all that comes. */
static void sick_machines_teach_nothing(void **state)
{
    tree_link_t none = {.port = -1};

    (void)state;
    expect("baseline learn --sysroot=. --output=b.conf", 3, "sys/bus/pci/devices");
    tree_add("0000:00:01.0", 0x8086, 0x060400, &none, 256);
    expect("baseline learn --sysroot=. --output=b.conf", 1, "no GPU is here");
    tree_gpu(1, 16);
    tree_gpu(2, 8); /* of 16 that both ends can do */
    expect("baseline learn --sysroot=. --output=b.conf", 1,
           "(PCI001, drain)\npcie-ipc-health: nothing was learned from a machine");
    expect("baseline show b.conf", 3, "b.conf: cannot be opened");
    put("limits.conf", "[device 0000:02:00.0]\nwidth = 8\n"); /* as it is meant */
    expect("baseline learn --sysroot=. --limits=limits.conf --output=a.conf", 0, "4 devices");
    expect("baseline learn --sysroot=. --force --output=b.conf", 0, "b.conf: written, 4 devices");
    tree_gpu(2, 16);
    tree_add("0000:00:03.0", 0x10de, 0x030200, &none, 256); /* a GPU without a link to judge */
    expect("baseline learn --sysroot=. --output=b.conf", 1, "(PCI009, unknown)");
}

static void where_it_is_written(void **state)
{
    char out[1024];

    (void)state;
    slot(1, 16);
    put("other", "not a baseline\n");
    expect("baseline learn --sysroot=. --output=other", 3,
           "other: is there, and no baseline; move");
    assert_string_equal(slurp("other", out, sizeof(out)), "not a baseline\n");
    expect("baseline learn --sysroot=. --output=/nonexistent/b", 3, "/nonexistent/");
    expect("baseline diff --sysroot=. other", 3, "other: line 1: neither");
    expect("baseline diff --sysroot=. /nonexistent/b", 3, "/nonexistent/b: cannot be opened");
    expect("check --sysroot=. --baseline=other", 1, "(PCI033, warn)");
    put("limits.conf", "[severity]\nPCI033 = off\nPCI014 = warn\n");
    expect("check --sysroot=. --baseline=other --limits=limits.conf", 0, "(ok)");
    expect("check --sysroot=/nonexistent --limits=limits.conf", 1, "(PCI014, warn)");
    expect("check --sysroot=. --limits=other", 1, "other: line 1: neither");
    expect("check --sysroot=. --limits=/nonexistent", 1, "/nonexistent: cannot be opened");
}

/* Slot, UUID and BIOS come from the machine's files, and a card that was replaced is no fault. */
static void who_it_is(void **state)
{
    static const char gpu[] = "proc/driver/nvidia/gpus/0000:01:00.0/information";
    char out[8192];

    (void)state;
    slot(1, 16);
    put("sys/class/dmi/id/bios_version", "2.3;x\n");
    put("sys/bus/pci/slots/Slot 3/address", "0000:01:00\n");
    put("sys/bus/pci/slots/4/address", "0000:01:0\n");
    put(gpu, "Model: \t\t NVIDIA H100\nIRQ:   \t\t 17\nGPU UUID: \t GPU-6b1f\nBus Type: \t PCIe\n");
    expect("baseline learn --sysroot=. --output=b.conf", 0, "2 devices");
    slurp("b.conf", out, sizeof(out));
    assert_non_null(strstr(out, "bios = 2.3_x\n"));
    assert_non_null(strstr(out, "slot = Slot 3\n"));
    assert_non_null(strstr(out, "uuid = GPU-6b1f\n"));
    expect("check --sysroot=. --baseline=b.conf", 0, "(ok)");

    slot(1, 8);
    put(gpu, "GPU UUID: \t GPU-0000\n");
    expect("check --sysroot=. --baseline=b.conf", 1,
           "uuid is GPU-0000, was GPU-6b1f; look whether");
    put(gpu, "GPU UUID: \t GPU-????????\n"); /* the driver does not know yet */
    expect("check --sysroot=. --baseline=b.conf", 2, "(PCI026, drain)");
    put("sys/class/dmi/id/bios_version", "2.4\n");
    expect("check --sysroot=. --baseline=b.conf", 1, "node: the BIOS is 2.4, was 2.3_x; ");
}

static void checked(const pipc__machine_t *m, char *out, size_t cap)
{
    pipc__findings_t found = {.n = 0};
    size_t n;

    assert_int_equal(pipc__check(m, &found, NULL), PIPC_OK);
    n = (size_t)snprintf(out, cap, "%s", pipc__severity_name(found.verdict));
    for (int i = 0; i < found.n; i++)
        n += (size_t)snprintf(out + n, cap - n, " %s", pipc__codes[found.list[i].code].name);
    pipc__findings_free(&found);
}

/* A prolog reads the links alone, and files that must be root's. */
static void as_a_prolog_looks(void **state)
{
    char limits[128], baseline[128], out[256];
    pipc__machine_t m = {
        .sysroot = tree, .limits = {limits, geteuid()}, .baseline = {baseline, geteuid()}};

    (void)state;
    snprintf(limits, sizeof(limits), "%s/limits.conf", tree);
    snprintf(baseline, sizeof(baseline), "%s/baseline.conf", tree);
    slot(1, 16);
    slot(2, 16);
    checked(&m, out, sizeof(out));
    assert_string_equal(out, "ok"); /* both files are absent */
    expect("baseline learn --sysroot=. --output=baseline.conf", 0, "4 devices");
    slot(2, 8);
    checked(&m, out, sizeof(out));
    assert_string_equal(out, "drain PCI026");
    put("limits.conf", "[severity]\nPCI026 = note\n");
    assert_int_equal(chmod(limits, 0644), 0);
    checked(&m, out, sizeof(out));
    assert_string_equal(out, "note PCI026");
    m.limits.owner++; /* somebody else's */
    checked(&m, out, sizeof(out));
    assert_string_equal(out, "drain PCI026 PCI033");
    assert_int_equal(chmod(baseline, 0666), 0);
    checked(&m, out, sizeof(out));
    assert_string_equal(out, "warn PCI033 PCI033");
}

/* The gate's own look goes by the files that it is told of. */
static void as_the_gate_looks(void **state)
{
    char run_folder[128], kept[128], limits[128], baseline[128];
    pipc__gate_t gate = {.limits = limits,
                         .baseline = baseline,
                         .run = run_folder,
                         .state = kept,
                         .owner = geteuid()};
    pipc__exam_t exam = {.fresh = true};
    pipc__config_t config;

    (void)state;
    snprintf(run_folder, sizeof(run_folder), "%s/run", tree);
    snprintf(kept, sizeof(kept), "%s/kept", tree);
    snprintf(limits, sizeof(limits), "%s/limits.conf", tree);
    snprintf(baseline, sizeof(baseline), "%s/baseline.conf", tree);
    slot(1, 16);
    put("proc/cpuinfo", "flags : fpu\n");
    put("limits.conf", "[severity]\nPCI003 = off\n");
    assert_int_equal(chmod(limits, 0644), 0);
    expect("baseline learn --sysroot=. --output=baseline.conf", 0, "2 devices");
    pipc__config_default(&config);
    snprintf(config.sysroot, sizeof(config.sysroot), "%s", tree);
    assert_int_equal(pipc__examine(&gate, &config, &exam, stderr), PIPC_OK);
    assert_int_equal(exam.findings.verdict, PIPC__OK); /* which the breaker wants to have seen */
    pipc__findings_free(&exam.findings);
    slot(1, 8);
    assert_int_equal(pipc__examine(&gate, &config, &exam, stderr), PIPC_OK);
    assert_int_equal(exam.findings.verdict, PIPC__DRAIN);
    assert_int_equal(exam.findings.list[0].code, PIPC__CODE_LANES);
    pipc__findings_free(&exam.findings);
}

/* ---- acknowledgements ---------------------------------------------------------------------- */

#define CARD                                                                                       \
    "41:00.0 3D controller: NVIDIA Corporation GV100GL [10de:1db6] (rev a1)\n"                     \
    "\tCapabilities: [78] Express (v2) Endpoint, MSI 00\n"                                         \
    "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"                          \
    "\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+\n"                               \
    "\t\tLnkSta:\tSpeed 16GT/s (ok), Width x16 (ok)\n"

static void records_of_the_past(void **state)
{
    char out[4096];

    (void)state;
    put("t", CARD "\t\tCESta: RxErr- Rollover- Timeout+\n");
    expect("ack --text=t --state=s --reason='riser; replaced' PCI016 0000:41:00.0", 0,
           "PCI016 0000:41:00.0: corrected errors at some time: replay timeout: acknowledged\n");
    expect("ack --text=t --state=s pci016 0000:41:00.0", 0, ": was acknowledged");
    expect("ack --state=s --list", 0,
           "PCI016 0000:41:00.0: corrected errors at some time: replay timeout; riser_ replaced\n");
    slurp("s/ack.conf", out, sizeof(out));
    assert_non_null(strstr(out, "code = PCI016\nobject = 0000:41:00.0\n"));
    expect("ack --state=s --remove PCI016 0000:41:00.0", 0, "");
    expect("ack --state=s --remove PCI016 0000:41:00.0", 1,
           "no PCI016 was acknowledged; see --list");
    assert_int_equal(run("ack --state=s --list", out, sizeof(out)), 0);
    assert_string_equal(out, "");
    expect("ack --text=t --state=s PCI018 0000:41:00.0", 1, "0000:41:00.0: has no PCI018 now");
    expect("ack --text=t --state=s PCI016 0000:42:00.0", 1, "0000:42:00.0: has no PCI016 now");
    put("s/ack.conf", "[x]\nwrong\n");
    expect("ack --state=s --list", 3, "s/ack.conf: line 2: neither");
    expect("ack --text=t --state=s PCI016 0000:41:00.0", 3, "s/ack.conf: line 2: neither");
}

static pipc__finding_t finding(pipc__code_t code, const char *object, const char *seen)
{
    pipc__finding_t f = {.code = code, .severity = PIPC__WARN};

    snprintf(f.object, sizeof(f.object), "%s", object);
    snprintf(f.seen, sizeof(f.seen), "%s", seen);
    return f;
}

/* What was acknowledged is a note until it says anything else; what is there now never is. */
static void a_note_until_it_changes(void **state)
{
    const pipc__finding_t known = finding(PIPC__CODE_STATUS, "a", "one error");
    const struct {
        pipc__finding_t f;
        pipc__severity_t becomes;
    } cases[] = {
        {known, PIPC__NOTE},
        {finding(PIPC__CODE_STATUS, "a", "two errors"), PIPC__WARN},
        {finding(PIPC__CODE_STATUS, "b", "one error"), PIPC__WARN},
        {finding(PIPC__CODE_LOG, "a", "one error"), PIPC__WARN},
        {finding(PIPC__CODE_WIDTH, "a", "one error"), PIPC__WARN},
    };
    const pipc__finding_t now = finding(PIPC__CODE_WIDTH, "a", "one error");
    pipc__acks_t acks = {.n = 0};

    (void)state;
    assert_true(pipc__acks_add(&acks, &known, "the riser"));
    assert_false(pipc__acks_add(&acks, &known, "again"));
    assert_true(pipc__acks_add(&acks, &now, "forced")); /* the verb refuses it; it has no effect */
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__findings_t found = {.n = 0};
        pipc__finding_t worse = finding(PIPC__CODE_ASPM, "c", "on");
        assert_int_equal(pipc__findings_add(&found, &cases[i].f, NULL), PIPC_OK);
        assert_int_equal(pipc__findings_add(&found, &worse, NULL), PIPC_OK);
        assert_int_equal(pipc__acks_apply(&acks, &found, NULL), PIPC_OK);
        assert_int_equal(found.n, 2);
        assert_int_equal(found.verdict, PIPC__WARN);
        for (int k = 0; k < 2; k++)
            if (found.list[k].code != PIPC__CODE_ASPM)
                assert_int_equal(found.list[k].severity, cases[i].becomes);
        if (cases[i].becomes == PIPC__NOTE) /* worst first, still */
            assert_string_equal(found.list[1].remedy, "acknowledged: the riser");
        pipc__findings_free(&found);
    }
    pipc__acks_free(&acks);
}

static void wrong_acks_are_refused_whole(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[0123]\ncode = PCI016\n", "there is no key \"code\" in section \"0123\""},
        {"[0123456789abcdef]\ncolour = red\n", "there is no key \"colour\""},
        {"[0123456789abcdef]\ncode = PCI001\nobject = a\n", "code: wrong value \"PCI001\""},
        {"[0123456789abcdef]\ncode = PCI016\ncode = PCI016\n", "code stands there twice"},
        {"[0123456789abcdef]\ncode = PCI016\n", "has no code or no object"},
        {"[0123456789abcdef]\nobject = 0123456789012345678901234567890123456789012345678\n",
         "object: wrong value"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__acks_t acks;
        pipc__error_t err = {PIPC_OK, ""};
        if (!pipc__acks_parse("f", cases[i].text, &acks, &err) || !strstr(err.text, cases[i].says))
            fail_msg("\"%s\": says \"%s\", wanted \"%s\"", cases[i].text, err.text, cases[i].says);
        assert_int_equal(acks.n, 0);
        pipc__acks_free(&acks);
    }
}

/* ---- wrong usage --------------------------------------------------------------------------- */

/* What is no text, in a file that is refused: the finding is one all the same, in JSON too. */
static void bytes_that_are_no_text(void **state)
{
    (void)state;
    tree_gpu(1, 16);
    put("limits.conf", "[expect]\ngpus = \351\033[2J\n");
    expect("check --sysroot=. --limits=limits.conf | tr -d '[:print:]\n' | wc -c", 0, "0\n");
    expect("check --sysroot=. --limits=limits.conf --json", 1, "??[2J");
}

static void wrong_usage(void **state)
{
    static const struct {
        const char *arguments, *says;
    } cases[] = {
        {"baseline", "baseline: needs learn, diff or show"},
        {"baseline forget", "baseline: needs learn, diff or show"},
        {"baseline learn b.conf", "b.conf: learn writes to --output=FILE"},
        {"baseline learn --json", "--json: for diff and show"},
        {"baseline diff --force", "--output, --class and --force: for learn"},
        {"baseline show --sysroot=/ --dump=x", "one machine at a time"},
        {"baseline diff a b", "b: unexpected argument"},
        {"ack", "ack: needs CODE OBJECT"},
        {"ack PCI016", "ack: needs CODE OBJECT"},
        {"ack --list PCI016", "ack: needs CODE OBJECT"},
        {"ack --state=s PCI999 a", "PCI999: there is no such code"},
        {"ack --state=s PCI001 a", "PCI001: says what is now, not what was; to excuse a device"},
        {"ack --state=s pci002 a", "limits.conf: [device ...] ignore ="},
        {"check --limits", "--limits: needs a value"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        expect(cases[i].arguments, 64, cases[i].says);
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        IN_TREE(learned_and_compared),
        IN_TREE(what_is_shown),
        IN_TREE(sick_machines_teach_nothing),
        IN_TREE(where_it_is_written),
        IN_TREE(who_it_is),
        IN_TREE(as_a_prolog_looks),
        IN_TREE(as_the_gate_looks),
        IN_TREE(records_of_the_past),
        cmocka_unit_test(a_note_until_it_changes),
        cmocka_unit_test(wrong_acks_are_refused_whole),
        IN_TREE(bytes_that_are_no_text),
        IN_TREE(wrong_usage),
    };

    if (!getenv("PIPC_BUILDDIR"))
        return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
