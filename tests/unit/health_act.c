/* tests/unit/health_act.c - what is done about a verdict, in tables: to one node, to a cluster;
 * whose reason it is, what it says, and what is said in the log
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "prolog/act.h"
#include "prolog/census.h"
#include "prolog/drained.h"
#include "prolog/reason.h"
#include "prolog/said.h"
#include "prolog/scope.h"
#include "prolog/state.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- one node ------------------------------------------------------------------------------ */

static const char *const names[] = {
    [PIPC__ACT_NOTHING] = "nothing", [PIPC__ACT_DRAIN] = "drain", [PIPC__ACT_REASON] = "reason",
    [PIPC__ACT_ASK] = "ask",         [PIPC__ACT_UNASK] = "unask", [PIPC__ACT_UNDRAIN] = "undrain"};

#define SICK .verdict = PIPC__DRAIN, .seen = PIPC__DRAIN
#define HELD .verdict = PIPC__WARN, .seen = PIPC__DRAIN
#define WELL .verdict = PIPC__NOTE, .seen = PIPC__NOTE, .well = 2
#define DARK .verdict = PIPC__SEV_UNKNOWN, .seen = PIPC__SEV_UNKNOWN, .well = 2
#define DRAINED .drained = true, .out = true
#define DOWN .out = true
#define OURS .whose = PIPC__REASON_OURS
#define OTHERS .whose = PIPC__REASON_OTHERS
#define SLURMS .whose = PIPC__REASON_PROLOG

static const struct {
    const char *name, *config; /* letters: r report, j scope job, n undrain never, l limited */
    pipc__scene_t scene;
    const char *act;
} scenes[] = {
    {"well, in service", "", {WELL}, "nothing"},
    {"sick, in service", "", {SICK}, "drain"},
    {"sick, a reason stands there, but in service", "", {SICK, OTHERS}, "drain"},
    {"held, in service", "", {HELD}, "nothing"},
    {"sick, report", "r", {SICK}, "nothing"},
    {"sick, the prolog alone drains", "j", {SICK}, "nothing"},

    {"sick, drained by Slurm for a prolog", "", {SICK, DRAINED, SLURMS}, "reason"},
    {"sick, drained without a reason", "", {SICK, DRAINED}, "reason"},
    {"sick, down without a reason", "", {SICK, DOWN}, "reason"},
    {"sick, drained by us for the same", "", {SICK, DRAINED, OURS, .current = true}, "nothing"},
    {"sick, drained by us for something else", "", {SICK, DRAINED, OURS}, "reason"},
    {"sick, drained by hand", "", {SICK, DRAINED, OTHERS}, "nothing"},
    {"sick, down for another cause", "", {SICK, DOWN, OTHERS}, "nothing"},
    {"sick, drained by Slurm, report", "r", {SICK, DRAINED, SLURMS}, "nothing"},
    {"sick, drained by Slurm, scope is job", "j", {SICK, DRAINED, SLURMS}, "reason"},

    {"repaired, twice well", "", {WELL, DRAINED, OURS}, "undrain"},
    {"repaired, once well", "", {.verdict = PIPC__OK, .well = 1, DRAINED, OURS}, "nothing"},
    {"repaired, under report", "r", {WELL, DRAINED, OURS}, "undrain"},
    {"repaired, undrain is never", "n", {WELL, DRAINED, OURS}, "nothing"},
    {"repaired, the fourth time today", "", {WELL, DRAINED, OURS, .undrains = 3}, "nothing"},
    {"repaired, drained by hand", "", {WELL, DRAINED, OTHERS}, "nothing"},
    {"repaired, set down meanwhile", "", {WELL, DOWN, OURS}, "nothing"},
    {"held is not repaired", "", {HELD, .well = 2, DRAINED, OURS}, "nothing"},
    {"unknown is not repaired", "", {DARK, DRAINED, OURS}, "nothing"},
    {"well, drained by Slurm for another prolog", "", {WELL, DRAINED, SLURMS}, "nothing"},
    {"well again, refused by our prolog", "", {WELL, DRAINED, SLURMS, .refused = true}, "reason"},

    {"sick, max_drain", "l", {SICK}, "ask"},
    {"sick, max_drain, asked", "l", {SICK, .asked = true, .current = true}, "nothing"},
    {"sick, max_drain, asked for something else", "l", {SICK, .asked = true}, "ask"},
    {"sick, max_drain, the field is in use", "l", {SICK, .busy = true}, "nothing"},
    {"sick, max_drain, drained by the census",
     "l",
     {SICK, DRAINED, OURS, .current = true},
     "nothing"},
    {"sick, asked, and report since", "rl", {SICK, .asked = true}, "unask"},
    {"well, asked", "l", {WELL, .asked = true}, "unask"},
};

static void one_node(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(scenes); i++) {
        pipc__config_t config;
        pipc__scene_t s = scenes[i].scene;
        const char *why = NULL;
        pipc__config_default(&config);
        config.mode = strchr(scenes[i].config, 'r') ? PIPC__MODE_REPORT : PIPC__MODE_ENFORCE;
        config.scope = strchr(scenes[i].config, 'j') ? PIPC__SCOPE_JOB : PIPC__SCOPE_NODE;
        config.undrain = strchr(scenes[i].config, 'n') ? PIPC__UNDRAIN_NEVER : PIPC__UNDRAIN_AUTO;
        config.max_drain.n = strchr(scenes[i].config, 'l') ? 5 : 0;
        s.config = &config;
        pipc__act_t act = pipc__act(&s, &why);
        if (strcmp(names[act], scenes[i].act) || !why)
            fail_msg("%s: %s (%s), wanted %s", scenes[i].name, names[act], why, scenes[i].act);
    }
}

/* Whatever the rest is: a drain of somebody else's is never touched. */
static void others_are_left_alone_in_every_case(void **state)
{
    (void)state;
    for (unsigned int bits = 0; bits < 1u << 10; bits++) {
        pipc__config_t config;
        pipc__config_default(&config);
        config.mode = bits & 1 ? PIPC__MODE_ENFORCE : PIPC__MODE_REPORT;
        config.scope = bits & 2 ? PIPC__SCOPE_JOB : PIPC__SCOPE_NODE;
        config.max_drain.n = bits & 4 ? 1 : 0;
        pipc__scene_t s = {.config = &config,
                           .verdict = bits & 8 ? PIPC__DRAIN : PIPC__OK,
                           .seen = bits & 16 ? PIPC__DRAIN : PIPC__OK,
                           DRAINED,
                           OTHERS,
                           .current = bits & 32,
                           .refused = bits & 64,
                           .asked = bits & 128,
                           .busy = bits & 256,
                           .well = bits & 512 ? 2 : 0};
        const char *why;
        pipc__act_t act = pipc__act(&s, &why);
        if (act != PIPC__ACT_NOTHING && act != PIPC__ACT_UNASK)
            fail_msg("case %x: %s", bits, names[act]);
    }
}

/* ---- what Slurm shows ---------------------------------------------------------------------- */

#define LINE(rest) "NodeName=n1 Arch=x86_64 Gres=gpu:1 OS=Linux 6.1 #1 SMP " rest
#define AT " [root@2026-11-30T09:04:24]"

static const struct {
    const char *line;
    bool drained, out;
    const char *reason, *by, *extra;
} lines[] = {
    {LINE("State=IDLE ThreadsPerCore=1"), false, false, "", "", ""},
    {LINE("State=IDLE+DRAIN Weight=1 Reason=pcie-ipc: x" AT), true, true, "pcie-ipc: x",
     "root@2026-11-30T09:04:24", ""},
    {LINE("State=MIXED+DRAIN+NOT_RESPONDING Reason=a [b@c] [d]" AT " Comment=x [y@1] Extra=e f"),
     true, true, "a [b@c] [d]", "root@2026-11-30T09:04:24", "e f"},
    {LINE("State=DOWN* Reason=Not responding [slurm@2026-11-30T09:04:24] Extra=e"), false, true,
     "Not responding", "slurm@2026-11-30T09:04:24", "e"},
    {LINE("State=IDLE+DRAIN Reason=two" AT "        lines"), true, true, "two",
     "root@2026-11-30T09:04:24", ""},
    {LINE("State=ALLOCATED+PLANNED"), false, false, "", "", ""},
    {LINE("State=FAILING"), false, true, "", "", ""},
    {LINE("State=IDLE Reason=no stamp [a@1] Extra=e"), false, false, "no stamp [a@1]", "", "e"},
    {LINE("State=IDLE+DRAIN Reason=copied [root@2026-01-01T00:00:00]" AT), true, true,
     "copied [root@2026-01-01T00:00:00]", "root@2026-11-30T09:04:24", ""},
    {LINE("State=IDLE Reason=" AT), false, false, "", "root@2026-11-30T09:04:24", ""},
};

static void lines_of_scontrol(void **state)
{
    pipc__node_t node;

    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        if (!pipc__slurm_line(lines[i].line, &node) || strcmp(node.name, "n1") ||
            node.drained != lines[i].drained || node.out != lines[i].out ||
            strcmp(node.reason, lines[i].reason) || strcmp(node.by, lines[i].by) ||
            strcmp(node.extra, lines[i].extra))
            fail_msg("%s: drained %d, out %d, reason \"%s\" by \"%s\", extra \"%s\"", lines[i].line,
                     node.drained, node.out, node.reason, node.by, node.extra);
    }
    assert_false(pipc__slurm_line("Node n1 not found", &node));
    assert_false(pipc__slurm_line("NodeName=-n1 State=IDLE", &node));
    assert_false(pipc__slurm_line("", &node));
}

static void a_record_and_whose_reason_it_is(void **state)
{
    pipc__node_t node = {.reason = "pcie-ipc: x", .by = "root@2026-11-30T09:04:24"};
    pipc__drained_t d = {.reason = "pcie-ipc: x"}, back;
    int dir;

    (void)state;
    assert_true(pipc__drained_is_ours(&d, &node)); /* set just now, and not yet looked at */
    strcpy(node.by, "alice@2026-11-30T09:04:24");
    assert_false(pipc__drained_is_ours(&d, &node));
    strcpy(d.by, "root@2026-11-30T09:04:24");
    strcpy(node.by, d.by);
    assert_true(pipc__drained_is_ours(&d, &node));
    strcpy(node.by, "root@2026-11-30T09:04:25"); /* the same words, drained anew */
    assert_false(pipc__drained_is_ours(&d, &node));
    strcpy(node.by, d.by);
    strcpy(node.reason, "pcie-ipc: y");
    assert_false(pipc__drained_is_ours(&d, &node));
    memset(&d, 0, sizeof(d));
    node.reason[0] = '\0';
    assert_false(pipc__drained_is_ours(&d, &node));

    strcpy(d.reason, "pcie-ipc: x");
    d.well = 1;
    d.undrained[0] = 100000;
    d.undrained[1] = 20000;
    assert_int_equal(pipc__drained_undrains(&d, 110000), 1); /* the other is a day ago */
    assert_int_equal(pipc__state_open(tree, geteuid(), &dir, NULL), PIPC_OK);
    assert_int_equal(pipc__drained_write(dir, &d, NULL), PIPC_OK);
    pipc__drained_read(dir, geteuid(), &back);
    assert_memory_equal(&back, &d, sizeof(d));
    pipc__state_write(dir, PIPC__DRAINED_FILE, 0644, "{\"schema\": 1", 12, NULL);
    pipc__drained_read(dir, geteuid(), &back);
    assert_int_equal(back.well, 0);
    close(dir);
}

/* ---- the cluster --------------------------------------------------------------------------- */

/* A node in a letter: . well, o drained by us, x drained by hand, a asks, A asks but is out, s has
 * another text in Extra. Upper case in @picked: it is to be drained. */
static const struct {
    const char *nodes;
    pipc__share_t max_drain;
    const char *picked;
    int drained, asking, limit;
} clusters[] = {
    {"....", {1, false}, "....", 0, 0, 1},
    {"aaaa", {1, false}, "A...", 0, 4, 1},
    {"a.a.", {2, false}, "A.A.", 0, 2, 2},
    {"oaaa", {1, false}, "....", 1, 3, 1},
    {"oaaa", {2, false}, ".A..", 1, 3, 2},
    {"oooa", {2, false}, "....", 3, 1, 2},
    {"xxxa", {1, false}, "...A", 0, 1, 1},
    {"Aasa", {2, false}, ".A.A", 0, 2, 2},
    {"aaaaaaaaaaaaaaaaaaaa", {10, true}, "AA..................", 0, 20, 2},
    {"aaaaaaaaaaaaaaaaaaa", {10, true}, "A..................", 0, 19, 1},
    {"aaa", {1, true}, "A..", 0, 3, 1}, /* one at least */
    {"aaa", {100, true}, "AAA", 0, 3, 3},
};

static void the_census(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(clusters); i++) {
        pipc__node_t list[32] = {{.name = ""}};
        bool pick[32];
        int n = (int)strlen(clusters[i].nodes);
        for (int k = 0; k < n; k++) {
            char c = clusters[i].nodes[k];
            list[k].drained = list[k].out = strchr("oxA", c) != NULL;
            strcpy(list[k].reason, c == 'o' ? "pcie-ipc: x" : c == 'x' ? "fan" : "");
            if (strchr("aA", c))
                pipc__census_mark("pcie-ipc: x", list[k].extra);
            if (c == 's')
                strcpy(list[k].extra, "{\"rack\": 2}");
        }
        pipc__census_result_t got =
            pipc__census_count(&(pipc__nodes_t){list, n}, clusters[i].max_drain, pick);
        for (int k = 0; k < n; k++)
            if (pick[k] != (clusters[i].picked[k] == 'A'))
                fail_msg("%s: node %d is%s picked", clusters[i].nodes, k, pick[k] ? "" : " not");
        if (got.drained != clusters[i].drained || got.asking != clusters[i].asking ||
            got.limit != clusters[i].limit || got.nodes != n)
            fail_msg("%s: drained %d, asking %d, limit %d", clusters[i].nodes, got.drained,
                     got.asking, got.limit);
    }
}

static void marks(void **state)
{
    static const char *const wrong[] = {"",
                                        "pcie-ipc asks {",
                                        "pcie-ipc asks {}",
                                        "pcie-ipc asks {fan}",
                                        "pcie-ipc asks {pcie-ipc: a\tb}",
                                        "pcie-ipc asks pcie-ipc: x",
                                        "{\"pcie-ipc\": 1}"};
    char mark[PIPC__SLURM_TEXT_MAX], reason[PIPC__SLURM_TEXT_MAX], text[256];

    (void)state;
    pipc__census_mark("pcie-ipc: node: x (PCI020) +2", mark);
    pipc__census_reason(mark, reason);
    assert_string_equal(reason, "pcie-ipc: node: x (PCI020) +2");
    for (size_t i = 0; i < COUNT(wrong); i++) {
        pipc__census_reason(wrong[i], reason);
        assert_string_equal(reason, "");
    }
    snprintf(text, sizeof(text), "pcie-ipc asks {pcie-ipc: %0100d}", 1); /* longer than a reason */
    pipc__census_reason(text, reason);
    assert_string_equal(reason, "");
}

/* ---- texts --------------------------------------------------------------------------------- */

static void add(pipc__findings_t *list, pipc__code_t code, pipc__severity_t severity,
                const char *object, const char *seen)
{
    pipc__finding_t f = {.code = code, .severity = severity};

    snprintf(f.object, sizeof(f.object), "%s", object);
    snprintf(f.seen, sizeof(f.seen), "%s", seen);
    assert_int_equal(pipc__findings_add(list, &f, NULL), PIPC_OK);
}

static void reasons(void **state)
{
    pipc__findings_t list = {NULL, 0, 0, PIPC__OK};
    char reason[PIPC__REASON_MAX], seen[160];

    (void)state;
    pipc__reason(&list, reason);
    assert_string_equal(reason, "pcie-ipc: nothing");
    add(&list, PIPC__CODE_ASPM, PIPC__WARN, "0000:00:01.0", "ASPM L1 is on");
    add(&list, PIPC__CODE_WIDTH, PIPC__DRAIN, "0000:41:00.0", "link is x8");
    pipc__reason(&list, reason);
    assert_string_equal(reason, "pcie-ipc: 0000:41:00.0: link is x8 (PCI001)");
    add(&list, PIPC__CODE_LOST, PIPC__DRAIN, "0000:42:00.0", "does not answer");
    pipc__reason(&list, reason);
    assert_string_equal(reason, "pcie-ipc: 0000:41:00.0: link is x8 (PCI001) +1");
    pipc__findings_free(&list);

    snprintf(seen, sizeof(seen), "%0150d", 7);
    memcpy(seen, "\"'`\n\x80[]{}<>", 11);
    add(&list, PIPC__CODE_WIDTH, PIPC__DRAIN, "0000:41:00.0", seen);
    pipc__reason(&list, reason);
    assert_int_equal(strlen(reason), 100);
    assert_non_null(strstr(reason, ": ???????????0"));
    assert_string_equal(reason + 100 - 9, " (PCI001)");
    pipc__findings_free(&list);
}

/* One line a change; a repeat after an hour; the end of it too. */
static void the_log(void **state)
{
    static const struct {
        double now;
        const char *key;
        bool due;
    } steps[] = {{10, "", false},   {19.7, "c", true},  {19.8, "c", false}, {20, "a", true},
                 {30, "a", false},  {3619, "a", false}, {3620, "a", true},  {3700, "a", false},
                 {3710, "b", true}, {3720, "a", true},  {3730, "", true},   {3740, "", false},
                 {9000, "", false}, {9001, "b", true},  {9000, "b", true} /* another boot */};
    pipc__findings_t list = {NULL, 0, 0, PIPC__OK};
    char a[PIPC__SAID_MAX], b[PIPC__SAID_MAX];
    int dir;

    (void)state;
    assert_int_equal(pipc__state_open(tree, geteuid(), &dir, NULL), PIPC_OK);
    for (size_t i = 0; i < COUNT(steps); i++)
        if (pipc__said_due(dir, "said", geteuid(), steps[i].key, steps[i].now) != steps[i].due)
            fail_msg("step %zu: \"%s\" at %.0f", i, steps[i].key, steps[i].now);
    close(dir);
    assert_true(pipc__said_due(-1, "said", geteuid(), "a", 1));
    assert_false(pipc__said_due(-1, "said", geteuid(), "", 1));

    pipc__said_key(&list, a);
    assert_string_equal(a, "");
    add(&list, PIPC__CODE_SPEED, PIPC__NOTE, "1", "idle");
    pipc__said_key(&list, a);
    assert_string_equal(a, "");
    add(&list, PIPC__CODE_COUNTER, PIPC__WARN, "1", "12 errors");
    pipc__said_key(&list, a);
    strcpy(list.list[0].seen, "13 errors"); /* a number that grows is no news */
    pipc__said_key(&list, b);
    assert_string_equal(a, b);
    strcpy(list.list[0].object, "2");
    pipc__said_key(&list, b);
    assert_string_not_equal(a, b);
    pipc__findings_free(&list);
}

/* ---- the job's GPUs ------------------------------------------------------------------------ */

/* A GPU as the driver numbers it. */
static void gpu_of_driver(int number, int minor)
{
    char path[96], text[64];

    snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/0000:%02x:00.0/information", number);
    int n = snprintf(text, sizeof(text), "Model: \t X\nDevice Minor: \t %d\n", minor);
    tree_put(path, text, (size_t)n);
}

static void what_concerns_a_job(void **state)
{
    static const struct {
        const char *gpus, *object;
        bool concerned;
    } cases[] = {{"0", "0000:01:00.0", true},
                 {"1", "0000:01:00.0", false},
                 {"1", "0000:02:00.0", true},
                 {"0,1", "0000:02:00.0", true},
                 {"0", "0000:00:01.0", true},
                 {"1", "0000:00:01.0", false},
                 {"0", "node", true},
                 {"0", "0000:77:00.0", true}, /* above no GPU: everybody's */
                 {"", "0000:01:00.0", true},
                 {"2", "0000:01:00.0", true}, /* what cannot be told counts */
                 {"1,", "0000:01:00.0", true},
                 {"1,1", "0000:01:00.0", true},
                 {"1x", "0000:01:00.0", true},
                 {"-1", "0000:01:00.0", true},
                 {"MIG-1", "0000:01:00.0", true},
                 {"1-1", "0000:01:00.0", true},
                 {NULL, "0000:01:00.0", true}};

    (void)state;
    tree_gpu(1, 16);
    tree_gpu(2, 16);
    gpu_of_driver(1, 0);
    gpu_of_driver(2, 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__findings_t list = {NULL, 0, 0, PIPC__OK};
        add(&list, PIPC__CODE_WIDTH, PIPC__DRAIN, cases[i].object, "link is x8");
        bool got = pipc__scope_verdict(tree, cases[i].gpus, &list) == PIPC__DRAIN;
        if (got != cases[i].concerned)
            fail_msg("GPUs \"%s\", %s: %d", cases[i].gpus ? cases[i].gpus : "(none)",
                     cases[i].object, got);
        pipc__findings_free(&list);
    }
    gpu_of_driver(2, 5); /* not 0 to n-1 */
    pipc__findings_t list = {NULL, 0, 0, PIPC__OK};
    add(&list, PIPC__CODE_WIDTH, PIPC__DRAIN, "0000:01:00.0", "link is x8");
    assert_int_equal(pipc__scope_verdict(tree, "1", &list), PIPC__DRAIN);
    pipc__findings_free(&list);
}

int main(void)
{
#define IN_TREE(test) cmocka_unit_test_setup_teardown(test, tree_make, tree_remove)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node),          cmocka_unit_test(others_are_left_alone_in_every_case),
        cmocka_unit_test(lines_of_scontrol), IN_TREE(a_record_and_whose_reason_it_is),
        cmocka_unit_test(the_census),        cmocka_unit_test(marks),
        cmocka_unit_test(reasons),           IN_TREE(the_log),
        IN_TREE(what_concerns_a_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
