/* tests/unit/health_round.c - rounds of the healthcheck, with a captured machine and a script in
 * the place of scontrol, which keeps one node as Slurm does
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "prolog/examine.h"
#include "prolog/gate.h"
#include "prolog/healthcheck.h"
#include "tests/unit/health_tree.h"

static char config[128], run_folder[128], kept[128], scontrol[128], text[8192];

/* "asked" counts questions, "updates" has each change; the time beside a reason is when it was set,
 * in updates. */
static const char script[] =
    "#!/bin/sh\n"
    "cd \"${0%/*}\" || exit\n"
    "case $1 in\n"
    "-o) echo x >>asked; cat node ;;\n"
    "update)\n"
    "    echo \"$*\" >>updates; . ./fields; n=$(wc -l <updates)\n"
    "    for a; do case $a in\n"
    "        state=undrain) state=IDLE reason= ;; state=drain) state=IDLE+DRAIN ;;\n"
    "        reason=*) reason=\"${a#*=} [root@2026-11-30T09:00:0$n]\" ;;\n"
    "        extra=*) extra=${a#*=} ;;\n"
    "    esac; done\n"
    "    echo \"state='$state' reason='$reason' extra='$extra'\" >fields\n"
    "    echo \"NodeName=n1 State=$state ${reason:+Reason=$reason} ${extra:+Extra=$extra}\" >node "
    ";;\n"
    "esac\n";

static const char *slurp(const char *name)
{
    char path[256];
    FILE *f;

    snprintf(path, sizeof(path), "%s/%s", tree, name);
    f = fopen(path, "r");
    text[f ? fread(text, 1, sizeof(text) - 1, f) : 0] = '\0';
    if (f)
        fclose(f);
    return text;
}

/* The node as somebody else leaves it. */
static void node_is(const char *state, const char *reason)
{
    char line[512];
    int n = snprintf(line, sizeof(line), "state='%s' reason='%s' extra=''\n", state, reason);

    tree_put("fields", line, (size_t)n);
    n = snprintf(line, sizeof(line), "NodeName=n1 State=%s %s%s\n", state, *reason ? "Reason=" : "",
                 reason);
    tree_put("node", line, (size_t)n);
}

static void configure(const char *gate, const char *slurm)
{
    char full[1024];
    int n = snprintf(full, sizeof(full),
                     "[gate]\nsysroot = %s\ncache = 0\n%s[slurm]\nscontrol = %s\n%s", tree, gate,
                     scontrol, slurm);

    tree_put("etc/pcie-ipc.conf", full, (size_t)n);
}

static pipc__healthcheck_t here(void)
{
    return (pipc__healthcheck_t){
        {.config = config, .run = run_folder, .state = kept, .owner = geteuid()}, "n1", false};
}

/* A sick machine is looked at again after a moment: how often, how long altogether, and what it is
 * from a moment on. */
static int moments, waited_ms, change_at, change_to;

int __wrap_nanosleep(const struct timespec *want, struct timespec *left);
int __wrap_nanosleep(const struct timespec *want, struct timespec *left)
{
    (void)left;
    if (want->tv_nsec >= 100000000) { /* no wait for a lock */
        waited_ms += (int)(want->tv_nsec / 1000000);
        if (++moments == change_at)
            tree_gpu(1, change_to);
    }
    return 0;
}

static char said[8192];

static void round_of(const pipc__healthcheck_t *hc)
{
    FILE *say = tmpfile();

    assert_non_null(say);
    pipc__healthcheck(hc, say);
    rewind(say);
    said[fread(said, 1, sizeof(said) - 1, say)] = '\0';
    fclose(say);
}

static void rounds(int n)
{
    const pipc__healthcheck_t hc = here();

    while (n-- > 0)
        round_of(&hc);
}

/* A node that was well in a check of each kind, in service, under enforce. */
static int set_up(void **state)
{
    if (tree_make(state))
        return -1;
    snprintf(config, sizeof(config), "%s/etc/pcie-ipc.conf", tree);
    snprintf(run_folder, sizeof(run_folder), "%s/run", tree);
    snprintf(kept, sizeof(kept), "%s/kept", tree);
    snprintf(scontrol, sizeof(scontrol), "%s/scontrol", tree);
    tree_put("scontrol", script, sizeof(script) - 1);
    chmod(scontrol, 0755);
    node_is("IDLE", "");
    configure("mode = enforce\n", "");
    tree_gpu(1, 16);
    rounds(1);
    return 0;
}

#define LOST "pcie-ipc: 0000:01:00.0: link is x8 (PCI001)"
#define ASSERT_HAS(where, what)                                                                    \
    do {                                                                                           \
        if (!strstr(where, what))                                                                  \
            fail_msg("no \"%s\" in \"%s\"", what, where);                                          \
    } while (0)

static void a_healthy_node_asks_nothing(void **state)
{
    (void)state;
    rounds(2);
    assert_string_equal(slurp("asked"), "");
    assert_string_equal(said, "");
}

static void drained_and_put_back(void **state)
{
    char looks[256];

    (void)state;
    snprintf(looks, sizeof(looks), "%s/counters.json", run_folder);
    assert_int_equal(unlink(looks),
                     0); /* else the loss of lanes is told too, once a second is over */
    tree_gpu(1, 8);
    rounds(1);
    assert_string_equal(slurp("updates"), "update nodename=n1 state=drain reason=" LOST "\n");
    ASSERT_HAS(said, "healthcheck: n1: drained: " LOST " (the node is sick)");
    ASSERT_HAS(said, "link is x8, expected x16");
    ASSERT_HAS(slurp("kept/drain.json"), "\"by\": \"root@2026-11-30T09:00:01\"");
    rounds(1);
    assert_string_equal(said, ""); /* nothing is new */
    tree_gpu(1, 16);
    rounds(1);
    ASSERT_HAS(slurp("node"), "State=IDLE+DRAIN"); /* one look is no repair */
    tree_gpu(1, 8);
    rounds(1);
    tree_gpu(1, 16);
    rounds(1);
    ASSERT_HAS(slurp("node"), "State=IDLE+DRAIN"); /* nor are two with a fault between */
    rounds(1);
    ASSERT_HAS(slurp("node"), "State=IDLE ");
    ASSERT_HAS(said, "healthcheck: n1: undrained: " LOST " (the node is repaired)");
    rounds(2);
    assert_string_equal(said, "");
}

static void goes_away(void)
{
    unsigned char ones[256];

    memset(ones, 0xff, sizeof(ones));
    tree_put("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/config", ones, sizeof(ones));
    moments = waited_ms = 0;
}

/* Another job's epilog resets the GPU: it is away for a second, and then in training. */
static void a_device_in_reset_is_no_fault(void **state)
{
    static const struct {
        int at, width;
        bool drained;
    } cases[] = {{1, 16, false}, {5, 16, false}, {4, 8, false}, {0, 0, true}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tree_gpu(1, 16);
        goes_away();
        change_at = cases[i].at;
        change_to = cases[i].width;
        rounds(1);
        if ((strstr(slurp("node"), "DRAIN") != NULL) != cases[i].drained)
            fail_msg("back after %d moments: %s", cases[i].at, slurp("node"));
    }
    assert_true(waited_ms >= 1200 && waited_ms < 1500); /* of a deadline of 3 s */
    change_at = 0;
    tree_gpu(1, 16);
    moments = 0;
    rounds(1);
    assert_int_equal(moments, 0); /* a node that is well waits for nothing */
}

/* A shorter deadline of a prolog leaves less time. */
static void looks_again_within_the_deadline(void **state)
{
    (void)state;
    for (int deadline = 1; deadline <= 4; deadline++) {
        pipc__config_t c;
        pipc__exam_t exam = {.fresh = true};
        const pipc__healthcheck_t hc = here();
        FILE *say = tmpfile();
        assert_non_null(say);
        pipc__config_default(&c);
        snprintf(c.sysroot, sizeof(c.sysroot), "%s", tree);
        c.deadline = deadline;
        goes_away();
        assert_int_equal(pipc__examine(&hc.gate, &c, &exam, say), PIPC_OK);
        assert_int_equal(exam.seen, PIPC__DRAIN);
        assert_true(waited_ms <= deadline * 840 && (deadline == 1 || waited_ms >= 1200));
        pipc__findings_free(&exam.findings);
        fclose(say);
    }
}

/* Its slot may be wired with few lanes. */
static void a_gpu_that_is_added_later_has_a_first_look(void **state)
{
    (void)state;
    tree_gpu(2, 8);
    rounds(1);
    ASSERT_HAS(said, "0000:02:00.0: link is x8");
    ASSERT_HAS(slurp("run/health.json"), "held by the breaker");
    assert_string_equal(slurp("updates"), "");
    tree_gpu(2, 16);
    rounds(1);
    tree_gpu(2, 8);
    rounds(1);
    ASSERT_HAS(slurp("updates"), "state=drain reason=pcie-ipc: 0000:02:00.0: link is x8");
}

static void what_comes_and_goes_stays_out(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        tree_gpu(1, 8);
        rounds(1);
        tree_gpu(1, 16);
        rounds(2);
        ASSERT_HAS(slurp("node"), "State=IDLE ");
    }
    tree_gpu(1, 8);
    rounds(1);
    tree_gpu(1, 16);
    rounds(4);
    ASSERT_HAS(slurp("node"), "State=IDLE+DRAIN");
}

/* The prolog of a job refused the node, and the link came back before the healthcheck looked. */
static void a_refusal_that_is_over_gets_its_reason_too(void **state)
{
    char reason[64], mark[128];
    time_t now = time(NULL);
    struct tm tm;

    (void)state;
    int n = snprintf(mark, sizeof(mark), "%lld " LOST, (long long)now);
    tree_put("run/" PIPC__REFUSED_FILE, mark, (size_t)n);
    strftime(reason, sizeof(reason), "Prolog error [slurm@%Y-%m-%dT%H:%M:%S]", gmtime_r(&now, &tm));
    node_is("IDLE+DRAIN", reason);
    rounds(1);
    assert_string_equal(slurp("updates"), "update nodename=n1 reason=" LOST "\n");
    rounds(3);
    ASSERT_HAS(slurp("node"), "State=IDLE ");
    assert_string_equal(slurp("run/" PIPC__REFUSED_FILE), "");
}

static void a_prolog_of_somebody_else_does_not(void **state)
{
    (void)state;
    tree_put("run/" PIPC__REFUSED_FILE, "1000 " LOST, 5 + strlen(LOST));
    node_is("IDLE+DRAIN", "Prolog error [slurm@2026-11-30T09:00:00]");
    rounds(3);
    assert_string_equal(slurp("updates"), "");
}

/* It was killed after the drain, before it saw what Slurm has beside the reason. */
static void a_drain_is_known_by_its_text_after_a_crash(void **state)
{
    static const char record[] = "{\"schema\": 1, \"reason\": \"" LOST "\", \"by\": \"\"}";

    (void)state;
    tree_put("kept/drain.json", record, sizeof(record) - 1);
    node_is("IDLE+DRAIN", LOST " [root@2026-11-30T09:00:00]");
    rounds(3);
    ASSERT_HAS(slurp("node"), "State=IDLE ");
}

static void a_drain_without_a_record_is_nobody_s(void **state)
{
    (void)state;
    node_is("IDLE+DRAIN", LOST " [root@2026-11-30T09:00:00]");
    rounds(3);
    tree_gpu(1, 8);
    rounds(3);
    assert_string_equal(slurp("updates"), "");
}

static void a_trial_changes_nothing(void **state)
{
    pipc__healthcheck_t hc = here();

    (void)state;
    hc.dry_run = true;
    tree_gpu(1, 8);
    round_of(&hc);
    ASSERT_HAS(said, "healthcheck: n1: would be drained: " LOST);
    assert_string_equal(slurp("updates"), "");
    assert_string_equal(slurp("kept/drain.json"), "");
}

/* Whatever scontrol is or does: nothing is changed, and it is told. */
static void scontrol_that_does_not_work(void **state)
{
    static const struct {
        const char *script;
        mode_t mode;
        const char *says;
    } cases[] = {
        {script, 0775, "not a program that root alone can write; it is not run"},
        {script, 0644, "ended with status 127"},
        {"#!/bin/sh\necho no controller >&2; exit 1\n", 0755, "ended with status 1: no controller"},
        {"#!/bin/sh\nkill -SEGV $$\n", 0755, "was killed by signal 11"},
        {"#!/bin/sh\necho garbage\n", 0755, "shows no node in a known form"},
        {"#!/bin/sh\necho NodeName=n2 State=IDLE\n", 0755, "shows n2 for n1"},
        {"#!/bin/sh\ni=0; while [ $i -lt 9000 ]; do i=$((i+1)); echo NodeName=n1; done\n", 0755,
         "more than 65536 bytes"},
    };

    (void)state;
    tree_gpu(1, 8);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tree_put("scontrol", cases[i].script, strlen(cases[i].script));
        assert_int_equal(chmod(scontrol, cases[i].mode), 0);
        rounds(1);
        ASSERT_HAS(said, cases[i].says);
        ASSERT_HAS(said, "; nothing is changed");
        assert_string_equal(slurp("updates"), "");
    }
}

/* What cannot be left is told once, and keeps nothing from being done. */
static void metrics_are_left(void **state)
{
    char gate[256];

    (void)state;
    snprintf(gate, sizeof(gate), "mode = enforce\nprometheus = %s/prom/gate.prom\n", tree);
    configure(gate, "");
    rounds(1);
    ASSERT_HAS(said, "healthcheck: n1: prometheus: ");
    ASSERT_HAS(said, "prom: cannot be opened: No such file");
    rounds(1);
    assert_string_equal(said, "");
    tree_put("prom/of another", "", 0);
    tree_gpu(1, 8);
    rounds(1);
    ASSERT_HAS(slurp("prom/gate.prom"), "pcie_ipc_health_verdict{verdict=\"drain\"} 1\n");
    ASSERT_HAS(slurp("updates"), "state=drain");
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, set_up, tree_remove)
    const struct CMUnitTest tests[] = {
        IN_TREE(metrics_are_left),
        IN_TREE(a_healthy_node_asks_nothing),
        IN_TREE(drained_and_put_back),
        IN_TREE(a_device_in_reset_is_no_fault),
        IN_TREE(looks_again_within_the_deadline),
        IN_TREE(a_gpu_that_is_added_later_has_a_first_look),
        IN_TREE(what_comes_and_goes_stays_out),
        IN_TREE(a_refusal_that_is_over_gets_its_reason_too),
        IN_TREE(a_prolog_of_somebody_else_does_not),
        IN_TREE(a_drain_is_known_by_its_text_after_a_crash),
        IN_TREE(a_drain_without_a_record_is_nobody_s),
        IN_TREE(a_trial_changes_nothing),
        IN_TREE(scontrol_that_does_not_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
