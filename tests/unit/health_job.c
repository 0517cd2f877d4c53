/* tests/unit/health_job.c - what looks back: looks that are kept, what a check says of them, and
 * the report of a job
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "prolog/ack.h"
#include "prolog/check_time.h"
#include "prolog/gpus.h"
#include "prolog/job.h"
#include "prolog/job_id.h"
#include "prolog/looks.h"
#include "prolog/state.h"
#include "prolog/watch.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PORT "0000:00:01.0"
#define GPU "0000:01:00.0"

/* ---- looks --------------------------------------------------------------------------------- */

static pipc__counters_t take(void)
{
    pipc__counters_t c;
    pipc__facts_t facts;

    assert_int_equal(pipc__facts_sysfs(&facts, tree, PIPC__LOOK_LINKS, NULL), PIPC_OK);
    assert_int_equal(pipc__counters_take(&facts, tree, &c, NULL), PIPC_OK);
    pipc__facts_free(&facts);
    return c;
}

/* Two are kept, an hour apart at least: what is compared with is never too young. */
static void looks_roll(void **state)
{
    static const struct {
        double now;
        int n;
        double first;
    } steps[] = {{10, 1, 10},     {3000, 1, 10},   {3700, 2, 10},   {7000, 2, 10},
                 {7400, 2, 3700}, {7500, 2, 3700}, {90000, 2, 7400}};
    pipc__looks_t looks = {.n = 0};

    (void)state;
    tree_gpu(1, 16);
    pipc__counters_t now = take();
    for (size_t i = 0; i < COUNT(steps); i++) {
        now.uptime = steps[i].now;
        pipc__looks_roll(&looks, &now);
        if (looks.n != steps[i].n || looks.look[0].uptime != steps[i].first)
            fail_msg("at %g s: %d looks, the first of %g s", now.uptime, looks.n,
                     looks.look[0].uptime);
    }
    pipc__looks_free(&looks);
    pipc__counters_free(&now);
}

static void looks_of_another_boot_or_machine_are_none(void **state)
{
    static const char empty[] = "{\"schema\": 1, \"sysroot\": \"/\", \"looks\": []}";
    uid_t me = geteuid();
    pipc__looks_t looks;
    int dir;

    (void)state;
    tree_gpu(1, 16);
    pipc__counters_t now = take();
    assert_int_equal(pipc__state_open(tree, me, &dir, NULL), PIPC_OK);
    assert_false(pipc__looks_read(dir, "a.json", me, tree, &looks));
    assert_int_equal(pipc__look_keep(dir, "a.json", 0644, tree, &now, NULL), PIPC_OK);
    assert_true(pipc__looks_read(dir, "a.json", me, tree, &looks));
    assert_int_equal(looks.look[0].n, 2);
    pipc__looks_free(&looks);
    assert_false(pipc__looks_read(dir, "a.json", me, "/another", &looks));
    strcpy(now.boot_id, "another");
    assert_int_equal(pipc__look_keep(dir, "a.json", 0644, tree, &now, NULL), PIPC_OK);
    assert_false(pipc__looks_read(dir, "a.json", me, tree, &looks));
    tree_put("b.json", empty, sizeof(empty) - 1);
    assert_false(pipc__looks_read(dir, "b.json", me, "/", &looks));
    close(dir);
    pipc__counters_free(&now);
}

/* ---- the judgement ------------------------------------------------------------------------- */

static const struct {
    const char *name;
    double seconds;
    int64_t count[PIPC__COUNTS];
    int width[2];
    const char *code; /* NULL: nothing is found */
    pipc__severity_t severity;
    const char *seen;
} cases[] = {
    {"nothing", 3600, {0, 0, 0, 0, 0, 0, 0, 0}, {16, 16}, NULL, PIPC__OK, ""},
    {"nothing is known", 0, {-1, -1, -1, -1, -1, -1, -1, -1}, {-1, -1}, NULL, PIPC__OK, ""},
    {"as many as are no matter", 3600, {0, 480, 0, 0, 0, 0, 0, 0}, {16, 16}, NULL, PIPC__OK, ""},
    {"one more",
     3600,
     {0, 400, 0, 0, 81, 0, 0, 0},
     {16, 16},
     "PCI030",
     PIPC__WARN,
     "in 60 min 0000:00:01.0 and 0000:01:00.0 counted 400 bad TLP, 81 replay timeout"},
    {"as many in ten hours", 36000, {0, 481, 0, 0, 0, 0, 0, 0}, {16, 16}, NULL, PIPC__OK, ""},
    {"many in ten hours",
     36000,
     {7, 4801, 0, 0, 0, 0, 0, 0},
     {16, 16},
     "PCI030",
     PIPC__WARN,
     "in 10 h 0000:00:01.0 and 0000:01:00.0 counted 7 receiver error, 4801 bad TLP"},
    {"some within a second", 1, {0, 100, 0, 0, 0, 0, 0, 0}, {16, 16}, NULL, PIPC__OK, ""},
    {"too many within a second",
     1,
     {0, 500, 0, 0, 0, 0, 0, 0},
     {16, 16},
     "PCI030",
     PIPC__WARN,
     "in 1 s"},
    {"receiver errors alone",
     3600,
     {9000, 0, 0, 0, 0, 0, 0, 0},
     {16, 16},
     "PCI030",
     PIPC__NOTE,
     "9000 receiver error"},
    {"receiver errors and few others",
     3600,
     {9000, 1, 0, 0, 0, 0, 0, 0},
     {16, 16},
     NULL,
     PIPC__OK,
     ""},
    {"unsupported requests", 3600, {0, 0, 0, 0, 0, 5000, 0, 0}, {16, 16}, NULL, PIPC__OK, ""},
    {"one fatal error",
     3600,
     {0, 0, 0, 0, 0, 0, 0, 1},
     {16, 16},
     "PCI034",
     PIPC__WARN,
     "counted 1 fatal error"},
    {"one that is not fatal",
     3600,
     {0, 0, 0, 0, 0, 3, 1, 0},
     {16, 16},
     "PCI034",
     PIPC__WARN,
     "counted 1 nonfatal error"},
    {"lanes lost",
     600,
     {0, 0, 0, 0, 0, 0, 0, 0},
     {16, 8},
     "PCI031",
     PIPC__WARN,
     "link went to x8 in the last 10 min"},
    {"lanes found again", 600, {0, 0, 0, 0, 0, 0, 0, 0}, {8, 16}, NULL, PIPC__OK, ""},
    {"a width that is not known", 600, {0, 0, 0, 0, 0, 0, 0, 0}, {16, -1}, NULL, PIPC__OK, ""},
    {"lanes of another boot", 0, {-1, -1, -1, -1, -1, -1, -1, -1}, {16, 8}, NULL, PIPC__OK, ""},
};

static void judges_deltas(void **state)
{
    pipc__fact_t gpu = {.name = GPU, .gpu = true, .parent = -1};
    const pipc__facts_t facts = {.dev = &gpu, .n = 1};
    pipc__limits_t limits = pipc__limits_default();

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__delta_t d = {.lower = GPU, .upper = PORT, .gpu = true};
        const pipc__deltas_t deltas = {&d, 1, cases[i].seconds};
        pipc__findings_t out = {NULL, 0, 0, PIPC__OK};
        memcpy(d.count, cases[i].count, sizeof(d.count));
        memcpy(d.width, cases[i].width, sizeof(d.width));
        assert_int_equal(pipc__judge_deltas(&facts, &limits, &deltas, &out, NULL), PIPC_OK);
        bool right = out.n == (cases[i].code != NULL) && out.verdict == cases[i].severity;
        if (right && out.n)
            right = strcmp(pipc__codes[out.list[0].code].name, cases[i].code) == 0 &&
                    strstr(out.list[0].seen, cases[i].seen) && strcmp(out.list[0].object, GPU) == 0;
        if (!right)
            fail_msg("%s: %d findings, %s", cases[i].name, out.n, out.n ? out.list[0].seen : "");
        pipc__findings_free(&out);
    }
    limits.severity[PIPC__CODE_UNCORRECTED] = PIPC__DRAIN; /* as a site may have it */
    pipc__delta_t d = {.lower = GPU, .count = {0, 0, 0, 0, 0, 0, 0, 1}, .width = {16, 16}};
    const pipc__deltas_t deltas = {&d, 1, 60};
    pipc__findings_t out = {NULL, 0, 0, PIPC__OK};
    assert_int_equal(pipc__judge_deltas(&facts, &limits, &deltas, &out, NULL), PIPC_OK);
    assert_int_equal(out.verdict, PIPC__DRAIN);
    pipc__findings_free(&out);
}

/* ---- a check that looks back --------------------------------------------------------------- */

static char run[96], var[96];

static int make(void **state)
{
    int rc = tree_make(state);

    snprintf(run, sizeof(run), "%s/run", tree);
    snprintf(var, sizeof(var), "%s/var", tree);
    return rc ? rc : mkdir(run, 0755) || mkdir(var, 0755);
}

static void check(bool keep, const char *says)
{
    const pipc__machine_t m = {
        .sysroot = tree,
        .all = true,
        .past = {.run = run, .state = var, .owner = geteuid(), .keep = keep}};
    pipc__findings_t out;
    char all[4096] = "";

    assert_int_equal(pipc__check(&m, &out, NULL), PIPC_OK);
    for (int i = 0; i < out.n; i++)
        if (out.list[i].severity >= PIPC__WARN)
            snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s %s\n",
                     pipc__codes[out.list[i].code].name, out.list[i].seen);
    pipc__findings_free(&out);
    if (says ? !strstr(all, says) : all[0] != '\0')
        fail_msg("the check says: %s", all);
}

static void a_check_looks_back(void **state)
{
    pipc__change_t c = {
        .kind = PIPC__CHANGE_WIDTH, .lower = GPU, .upper = PORT, .from = 16, .to = 4};
    pipc__diary_t record;

    (void)state;
    tree_gpu(1, 16);
    tree_put("sys/bus/pci_express/drivers/aer/" PORT ":pcie002", "", 0);
    tree_fact(PORT, "aer_dev_correctable", "BadTLP 10\n");
    check(false, NULL);
    tree_fact(PORT, "aer_dev_correctable", "BadTLP 1000\n");
    check(true, NULL); /* the first look that is kept */
    check(false, NULL);
    tree_fact(PORT, "aer_dev_correctable", "BadTLP 1900\n");
    check(true, "PCI030 in ");
    check(true, "counted 900 bad TLP"); /* and it stays: the first look is what is compared with */
    tree_fact(PORT, "aer_dev_correctable", "BadTLP 3\n");
    check(true, NULL); /* another device, or a reset */
    assert_int_equal(pipc__diary_open(&record, var, geteuid(), NULL), PIPC_OK);
    c.ms = pipc__now_ms() - 1000;
    assert_int_equal(pipc__diary_add(&record, &c, NULL), PIPC_OK);
    pipc__diary_close(&record);
    check(true, "PCI031 lost lanes, the last time at 20");
}

static void dips(pipc__findings_t *out, const int64_t *at_ms, int n)
{
    pipc__fact_t gpu = {.name = GPU, .gpu = true, .parent = -1};
    const pipc__facts_t facts = {.dev = &gpu, .n = 1};
    const pipc__limits_t limits = pipc__limits_default();
    pipc__changes_t changes = {.n = 0};
    pipc__dips_list_t list;

    for (int i = 0; i < n; i++) {
        pipc__change_t c = {
            .ms = at_ms[i], .kind = PIPC__CHANGE_WIDTH, .lower = GPU, .from = 16, .to = 8};
        assert_true(pipc__changes_add(&changes, &c));
    }
    memset(out, 0, sizeof(*out));
    assert_true(pipc__dips(&changes, &list));
    assert_int_equal(pipc__judge_dips(&facts, &limits, &list, out, NULL), PIPC_OK);
    assert_int_equal(out->n, 1);
    pipc__dips_free(&list);
    pipc__changes_free(&changes);
}

/* A loss that is known is a note until the next one, also when an older one is forgotten. */
static void lost_lanes_can_be_acknowledged(void **state)
{
    static const int64_t first[] = {1790000000000, 1790000100000},
                         next[] = {1790000100000, 1790000200000};
    pipc__findings_t out;
    pipc__acks_t acks = {.n = 0};

    (void)state;
    dips(&out, first, 2);
    assert_string_equal(out.list[0].expected, "no change (2 in the last day, down to x8)");
    assert_true(pipc__acks_add(&acks, &out.list[0], "the riser was moved"));
    assert_int_equal(pipc__acks_apply(&acks, &out, NULL), PIPC_OK);
    assert_int_equal(out.verdict, PIPC__NOTE);
    pipc__findings_free(&out);
    dips(&out, first + 1, 1); /* the first is of the day before yesterday */
    assert_int_equal(pipc__acks_apply(&acks, &out, NULL), PIPC_OK);
    assert_int_equal(out.verdict, PIPC__NOTE);
    pipc__findings_free(&out);
    dips(&out, next, 2);
    assert_int_equal(pipc__acks_apply(&acks, &out, NULL), PIPC_OK);
    assert_int_equal(out.verdict, PIPC__WARN);
    pipc__findings_free(&out);
    pipc__acks_free(&acks);
}

/* ---- GPUs in the snapshot ------------------------------------------------------------------ */

static void finding(pipc__findings_t *out, const char *object, pipc__severity_t severity)
{
    pipc__finding_t f = {.code = PIPC__CODE_ACS, .severity = severity};

    snprintf(f.object, sizeof(f.object), "%s", object);
    assert_int_equal(pipc__findings_add(out, &f, NULL), PIPC_OK);
}

/* A fault of a port is one of the GPUs below it, and of no other. */
static void each_gpu_has_a_verdict(void **state)
{
    pipc__findings_t out = {NULL, 0, 0, PIPC__OK};
    char want[512];
    json_t *json;
    int dir;

    (void)state;
    tree_gpu(1, 16);
    tree_gpu(2, 8);
    finding(&out, "0000:00:02.0", PIPC__DRAIN);
    finding(&out, "0000:03:00.0", PIPC__DRAIN); /* nobody's */
    finding(&out, "0000:01:00.0", PIPC__NOTE);
    assert_int_equal(pipc__state_open(run, geteuid(), &dir, NULL), PIPC_OK);
    json = pipc__gpus_of_machine(dir, geteuid(), tree, &out);
    assert_true(json_is_null(json)); /* no check has left its devices */
    json_decref(json);
    check(true, "PCI001");
    json = pipc__gpus_of_machine(dir, geteuid(), tree, &out);
    char *text = json_dumps(json, JSON_COMPACT);
    snprintf(want, sizeof(want), "[%s,%s]",
             "{\"address\":\"0000:01:00.0\",\"verdict\":\"note\",\"width\":16,\"mts\":2500}",
             "{\"address\":\"0000:02:00.0\",\"verdict\":\"drain\",\"width\":8,\"mts\":2500}");
    assert_string_equal(text, want);
    free(text);
    json_decref(json);
    finding(&out, "node", PIPC__WARN);
    json = pipc__gpus_of_machine(dir, geteuid(), tree, &out);
    assert_string_equal(json_string_value(json_object_get(json_array_get(json, 0), "verdict")),
                        "warn");
    json_decref(json);
    pipc__findings_free(&out);
    close(dir);
}

/* ---- jobs ---------------------------------------------------------------------------------- */

static void numbers_of_jobs(void **state)
{
    static const char *const wrong[] = {NULL, "",    "0",          "-7",
                                        "+7", " 7",  "7 ",         "7x",
                                        "07", "7_1", "4294967295", "99999999999999999999"};
    uint32_t n;

    (void)state;
    assert_true(pipc__job_id("4294967294", &n));
    assert_int_equal(n, 4294967294u);
    assert_true(pipc__user_id("0", &n));
    assert_int_equal(n, 0);
    for (size_t i = 0; i < COUNT(wrong); i++)
        if (pipc__job_id(wrong[i], &n))
            fail_msg("%s is a job", wrong[i] ? wrong[i] : "nothing");
    assert_false(pipc__user_id("00", &n));
    assert_false(pipc__user_id(NULL, &n));
}

static pipc__job_place_t place(void)
{
    return (pipc__job_place_t){run, var, geteuid(), tree};
}

/* The text of a job's report. */
static char *report(uint32_t job)
{
    json_t *json;
    char *text;
    size_t size;

    assert_int_equal(pipc__job_read(var, job, &json, NULL), PIPC_OK);
    FILE *f = open_memstream(&text, &size);
    pipc__job_print(json, f);
    fclose(f);
    json_decref(json);
    return text;
}

static void says(uint32_t job, const char *what)
{
    char *text = report(job);

    if (!strstr(text, what))
        fail_msg("the report does not say \"%s\": %s", what, text);
    free(text);
}

static void note(void *arg, const pipc__change_t *c)
{
    assert_int_equal(pipc__diary_add(arg, c, NULL), PIPC_OK);
}

/* Two jobs at once, the second of which began after the link had come back: each has its own. */
static void reports_of_two_jobs(void **state)
{
    const pipc__job_place_t here = place();
    pipc__window_t window;
    pipc__diary_t record;
    pipc__watch_t watch;
    struct stat st;
    char path[200];

    (void)state;
    tree_gpu(1, 16);
    tree_put("sys/bus/pci_express/drivers/aer/" PORT ":pcie002", "", 0);
    tree_fact(PORT, "aer_dev_correctable", "BadTLP 10\n");
    tree_fact(PORT "/" GPU, "aer_dev_correctable", "Timeout 1\n");
    assert_int_equal(pipc__diary_open(&record, var, geteuid(), NULL), PIPC_OK);
    assert_int_equal(pipc__watch_begin(&watch, tree, NULL, note, &record, NULL), PIPC_OK);
    assert_int_equal(pipc__job_begin(&here, 7, NULL), PIPC_OK);
    tree_gpu(1, 8);
    tree_fact(PORT, "aer_dev_correctable", "BadTLP 12\n");
    assert_int_equal(pipc__watch_look(&watch, NULL), PIPC_OK);
    tree_gpu(1, 16);
    assert_int_equal(pipc__watch_look(&watch, NULL), PIPC_OK);
    usleep(2000); /* times are in milliseconds */
    assert_int_equal(pipc__job_begin(&here, 8, NULL), PIPC_OK);
    tree_fact(PORT "/" GPU, "aer_dev_correctable", "Timeout 4\n");
    assert_int_equal(pipc__job_end(&here, 8, geteuid(), NULL), PIPC_OK);
    assert_int_equal(pipc__job_window(&here, 7, &window, NULL), PIPC_OK); /* it runs */
    assert_int_equal(pipc__job_end(&here, 7, geteuid(), NULL), PIPC_OK);
    says(7, "0000:01:00.0 (port 0000:00:01.0): link x16; 2 bad TLP, 3 replay timeout\n");
    says(7, "Z 0000:01:00.0 (port 0000:00:01.0): link x16 -> x8\n");
    says(7, "Z 0000:01:00.0 (port 0000:00:01.0): link x8 -> x16\n");
    says(7, "Z 0000:01:00.0 (port 0000:00:01.0): 2 bad TLP\n");
    says(8, "0000:01:00.0 (port 0000:00:01.0): link x16; 3 replay timeout\n");
    char *text = report(8);
    assert_null(strstr(text, "x8"));
    free(text);
    assert_int_equal(pipc__job_window(&here, 7, &window, NULL), PIPC_OK); /* it ran */
    assert_true(window.to_ms > window.from_ms);
    snprintf(path, sizeof(path), "%s/jobs/7.json", var);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0400);
    tree_is_valid(path, "job");
    snprintf(path, sizeof(path), "%s/jobs", var);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0711);
    snprintf(path, sizeof(path), "%s/jobs/7.json", run); /* the look before went with it */
    assert_int_equal(stat(path, &st), -1);
    pipc__watch_end(&watch);
    pipc__counters_free(&watch.last);
    pipc__diary_close(&record);
}

static void a_job_without_a_prolog_or_changes(void **state)
{
    const pipc__job_place_t here = place();
    pipc__window_t window;
    json_t *json;

    (void)state;
    tree_gpu(1, 16);
    assert_int_equal(pipc__job_read(var, 9, &json, NULL), PIPC_ERR_NOT_FOUND);
    assert_int_equal(pipc__job_end(&here, 9, geteuid(), NULL), PIPC_OK);
    says(9, "job 9: beginning not known (no prolog kept it), to ");
    says(9, "not watched: what came back in it is not known\n");
    says(9, "the kernel counts no PCIe errors here");
    assert_int_equal(pipc__job_window(&here, 9, &window, NULL), PIPC_ERR_NOT_FOUND);
    assert_int_equal(pipc__job_begin(&here, 10, NULL), PIPC_OK);
    assert_int_equal(pipc__job_end(&here, 10, geteuid(), NULL), PIPC_OK);
    says(10, "no link changed, and no error was counted\n");
    tree_gpu(1, 4);
    assert_int_equal(pipc__job_begin(&here, 10, NULL), PIPC_OK); /* requeued: the last run's */
    tree_gpu(1, 2);
    assert_int_equal(pipc__job_end(&here, 10, geteuid(), NULL), PIPC_OK);
    says(10, "link x4 before, x2 after; errors are not counted\n");
}

/* Its owner can write what he wants into it. */
static void a_report_that_its_owner_wrote(void **state)
{
    static const char *const texts[] = {
        "{\"schema\": 1}",
        "{\"schema\": 1, \"job\": -1, \"start\": 1e300, \"end\": \"x\", \"links\": 7, \"changes\": "
        "{}}",
        "{\"schema\": 1, \"links\": [1, null, {}, {\"lower\": \"\\u001b[2J\", \"width\": [99, -7], "
        "\"errors\": {\"bad TLP\": -1}}], \"changes\": [{\"time\": -1, \"width\": 3}], \"more\": "
        "1.5}",
    };
    json_t *json;

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        tree_put("var/jobs/7.json", texts[i], strlen(texts[i]));
        char *text = report(7);
        assert_null(strchr(text, '\033'));
        free(text);
    }
    tree_put("var/jobs/7.json", "{\"schema\": 2}", 13);
    assert_int_equal(pipc__job_read(var, 7, &json, NULL), PIPC_ERR_INVALID);
    tree_put("var/jobs/7.json", "{", 1);
    assert_int_equal(pipc__job_read(var, 7, &json, NULL), PIPC_ERR_INVALID);
    char *large = calloc(1, PIPC__JOB_BYTES + 1);
    memset(large, ' ', PIPC__JOB_BYTES + 1);
    tree_put("var/jobs/7.json", large, PIPC__JOB_BYTES + 1);
    assert_int_equal(pipc__job_read(var, 7, &json, NULL), PIPC_ERR_INVALID);
    free(large);
}

static int count(int dir, int last)
{
    char name[32];
    int n = 0;

    for (int i = 1; i <= last; i++) {
        snprintf(name, sizeof(name), "%d.json", i);
        n += faccessat(dir, name, F_OK, 0) == 0;
    }
    return n;
}

static void reports_are_bounded(void **state)
{
    char name[128];
    int dir;

    (void)state;
    for (int i = 1; i <= 20; i++) {
        snprintf(name, sizeof(name), "var/jobs/%d.json", i);
        tree_put(name, "{}", 2);
    }
    tree_put("var/jobs/note", "ours", 4);
    snprintf(name, sizeof(name), "%s/jobs", var);
    dir = open(name, O_RDONLY | O_DIRECTORY);
    assert_true(dir >= 0);
    pipc__job_prune(dir, 20, 0);
    assert_int_equal(count(dir, 20), 20);
    pipc__job_prune(dir, 15, 0);
    assert_int_equal(count(dir, 20), 15);
    /* Another user's one report stays, whatever the first has. */
    if (geteuid() == 0) {
        assert_int_equal(fchownat(dir, "20.json", 4321, (gid_t)-1, 0), 0);
        pipc__job_prune(dir, 3, 0);
        assert_int_equal(count(dir, 20), 3);
        assert_int_equal(faccessat(dir, "20.json", F_OK, 0), 0);
    }
    pipc__job_prune(dir, 15, time(NULL) - 60);
    assert_true(count(dir, 20) >= 3);
    pipc__job_prune(dir, 15, time(NULL) + 60);
    assert_int_equal(count(dir, 20), 0);
    assert_int_equal(faccessat(dir, "note", F_OK, 0), 0);
    close(dir);
}

/* A machine with more changes than a report takes. */
static void a_report_is_bounded(void **state)
{
    pipc__job_facts_t facts = {.job = 7, .start_ms = 0, .end_ms = 1};
    pipc__change_t c = {.kind = PIPC__CHANGE_ERRORS};

    (void)state;
    memset(c.lower, 'x', sizeof(c.lower) - 1);
    memset(c.upper, 'x', sizeof(c.upper) - 1);
    for (int k = 0; k < PIPC__COUNTS; k++)
        c.count[k] = 999999;
    for (int i = 0; i < 1000; i++)
        assert_true(pipc__changes_add(&facts.changes, &c));
    json_t *json = pipc__job_to_json(&facts);
    char *text = json_dumps(json, JSON_INDENT(1));
    assert_true(strlen(text) < PIPC__JOB_BYTES);
    assert_int_equal(json_integer_value(json_object_get(json, "more")), 900);
    free(text);
    json_decref(json);
    pipc__changes_free(&facts.changes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(looks_roll, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(looks_of_another_boot_or_machine_are_none, tree_make,
                                        tree_remove),
        cmocka_unit_test(judges_deltas),
        cmocka_unit_test_setup_teardown(a_check_looks_back, make, tree_remove),
        cmocka_unit_test(lost_lanes_can_be_acknowledged),
        cmocka_unit_test_setup_teardown(each_gpu_has_a_verdict, make, tree_remove),
        cmocka_unit_test(numbers_of_jobs),
        cmocka_unit_test_setup_teardown(reports_of_two_jobs, make, tree_remove),
        cmocka_unit_test_setup_teardown(a_job_without_a_prolog_or_changes, make, tree_remove),
        cmocka_unit_test_setup_teardown(a_report_that_its_owner_wrote, make, tree_remove),
        cmocka_unit_test_setup_teardown(reports_are_bounded, make, tree_remove),
        cmocka_unit_test_setup_teardown(a_report_is_bounded, make, tree_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
