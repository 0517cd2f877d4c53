/* tests/unit/stress.c - pcie-ipc-stress: the pure parts in tables, and the whole against a library
 * that answers as CUDA does
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "prolog/stress/lane.h"
#include "prolog/stress/stress.h"
#include "prolog/stress_record.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- lanes --------------------------------------------------------------------------------- */

/* Run on real buffers, with every copy of a step begun before any ends, until all states that there
 * are have come by: no buffer is read and written in a step, none gets the token that it had, and
 * both tokens cross in each step, one either way. */
static void tokens_cross_and_leave_nothing_behind(void **state)
{
    stress_lane_t lane = stress_lane_start();
    int has[2][STRESS_BUFFERS] = {{0, -1, -1}, {1, -1, -1}};

    (void)state;
    for (int step = 0; step < 1000; step++) {
        stress_move_t m[STRESS_TOKENS];
        stress_lane_next(&lane, m);
        assert_int_not_equal(m[0].to_side, m[1].to_side);
        for (int t = 0; t < STRESS_TOKENS; t++) {
            int other = 1 - t;
            assert_in_range(m[t].to, 0, STRESS_BUFFERS - 1);
            assert_int_equal(has[1 - m[t].to_side][m[t].from], t); /* it is there */
            assert_int_not_equal(m[t].to, m[other].from);          /* which is read on that side */
            assert_int_not_equal(has[m[t].to_side][m[t].to], t);   /* a lost copy would show */
        }
        for (int t = 0; t < STRESS_TOKENS; t++)
            has[m[t].to_side][m[t].to] = t;
    }
}

/* ---- patterns ------------------------------------------------------------------------------ */

static void every_byte_is_compared(void **state)
{
    unsigned char bytes[256];

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        stress_pattern_fill(bytes, 7, 512, sizeof(bytes));
        assert_int_equal(stress_pattern_compare(bytes, 7, 512, sizeof(bytes)).bytes, 0);
        bytes[i] ^= 1;
        stress_wrong_t w = stress_pattern_compare(bytes, 7, 512, sizeof(bytes));
        assert_int_equal(w.bytes, 1);
        assert_int_equal(w.first, 512 + i);
        assert_int_equal(w.seen ^ w.expected, 1);
    }
    stress_pattern_fill(bytes, 7, 512, sizeof(bytes));
    assert_true(stress_pattern_compare(bytes, 8, 512, sizeof(bytes)).bytes >
                200);                                                            /* a token's own */
    assert_true(stress_pattern_compare(bytes, 7, 0, sizeof(bytes)).bytes > 200); /* a place's own */
}

/* ---- rates over time ----------------------------------------------------------------------- */

static void a_day_fits(void **state)
{
    static stress_series_t s;

    (void)state;
    stress_series_start(&s);
    assert_true(stress_series_median(&s) == 0 && stress_series_last(&s) == 0);
    for (int i = 0; i < 86400; i++)
        stress_series_add(&s, i < 60 ? 50 : i == 40000 ? 1 : i >= 86340 ? 30 : 40);
    assert_true(s.n == 86400 && s.min == 1 && s.max == 50);
    assert_true(stress_series_first(&s) == 50);
    assert_true(stress_series_last(&s) == 30);
    assert_true(stress_series_median(&s) == 40);
    stress_series_start(&s);
    for (int i = 1; i <= 4; i++)
        stress_series_add(&s, i);
    assert_true(stress_series_median(&s) == 2.5);
    assert_true(stress_series_first(&s) == 2.5 && stress_series_last(&s) == 2.5);
}

/* ---- the verdict --------------------------------------------------------------------------- */

static stress_run_t run; /* large */
static stress_options_t options;
static stress_link_t links[2];

/* A minute of two GPUs, and a link that is as it should be. */
static void well(void)
{
    memset(&run, 0, sizeof(run));
    options = (stress_options_t){.traffic = {.bytes = 1 << 20}, .seconds = 60, .interval = 1};
    run.options = &options;
    run.traffic.wants = &options.traffic;
    run.traffic.ngpus = 2;
    run.traffic.gpu[1].number = 1;
    run.traffic.lanes = 2;
    run.traffic.lane[0].y = 1;
    run.traffic.lane[1].y = STRESS_HOST;
    run.seconds = 60;
    links[0] = (stress_link_t){.lower = "0000:01:00.0",
                               .upper = "0000:00:01.0",
                               .want_width = 16,
                               .want_mts = 32000,
                               .loaded = true,
                               .width = 16,
                               .least_width = 16,
                               .least_mts = 32000,
                               .most_mts = 32000};
    run.links = (stress_links_t){.link = links, .n = 1, .counting = true};
}

/* The worst and the first reason. */
static void says(pipc__severity_t worst, const char *what)
{
    stress_verdict_t v;

    stress_judge(&run, &v);
    assert_int_equal(v.worst, worst);
    if (what && (v.n == 0 || !strstr(v.reason[0].text, what)))
        fail_msg("\"%s\" does not say \"%s\"", v.n ? v.reason[0].text : "", what);
    if (!what)
        assert_int_equal(v.n, 0);
}

static void faults_warnings_and_notes(void **state)
{
    (void)state;
    well();
    says(PIPC__OK, NULL);

    atomic_store(&run.traffic.lane[0].wrong, 3);
    run.traffic.lane[0].first_wrong = (stress_wrong_t){3, 77, 1, 2};
    says(PIPC__DRAIN, "GPU 0 - GPU 1: 3 wrong bytes, the first at offset 77: 0x01, expected 0x02");

    well();
    links[0].least_width = 8;
    says(PIPC__DRAIN, "link of 0000:01:00.0 to 0000:00:01.0: fell from x16 to x8");
    links[0].width = 8; /* it began so: slow, but it held */
    says(PIPC__WARN, "is x8, both ends can do x16");

    well();
    links[0].gone = true;
    says(PIPC__DRAIN, "stopped to answer");

    well();
    links[0].least_mts = 16000;
    links[0].loaded = false; /* with --pairs of GPUs that NVLink joins */
    says(PIPC__OK, NULL);
    links[0].loaded = true;
    says(PIPC__WARN, "ran at 16 GT/s under load, 32 GT/s is possible");
    links[0].want_mts = -1; /* a port that is not in view */
    says(PIPC__WARN, "fell from 32 GT/s to 16 GT/s under load");

    well();
    links[0].count[PIPC__COUNT_BAD_TLP] = 2;
    says(PIPC__WARN, "errors: 2 bad TLP");
    links[0].count[PIPC__COUNT_FATAL] = 1;
    says(PIPC__DRAIN, "errors: ");

    well();
    run.hung = true;
    says(PIPC__DRAIN, "the copies hang");
    well();
    pipc__fail(&run.traffic.err, PIPC_ERR_CUDA, "GPU x: copy: lost");
    says(PIPC__DRAIN, "the copies ended with an error: GPU x: copy: lost");

    well();
    run.traffic.unreached = 1;
    says(PIPC__NOTE, "only their ways to the host had traffic");
    well();
    run.traffic.lane[0].nvlink = true;
    says(PIPC__NOTE, "GPU 0 - GPU 1: goes over NVLink");
    well();
    run.links.counting = false;
    says(PIPC__NOTE, "the kernel counts no PCIe errors here");
    well();
    run.interrupted = true;
    run.seconds = 5;
    says(PIPC__NOTE, "stopped early, after 5 of 60 s");
}

static void a_rate_that_sinks_is_a_warning(void **state)
{
    (void)state;
    for (int seconds = 100; seconds <= 200; seconds += 100) {
        well();
        stress_series_start(&run.rate[1]);
        for (int i = 0; i < seconds; i++)
            stress_series_add(&run.rate[1], i < 60 ? 50 : 40);
        if (seconds == 100) /* the two minutes overlap */
            says(PIPC__OK, NULL);
        else
            says(PIPC__WARN, "GPU 0 - host: 40.0 GB/s in the last minute, 50.0 in the first");
    }
}

/* More reasons than there is room for: the worst stay. */
static void the_worst_reasons_stay(void **state)
{
    static stress_link_t many[STRESS_REASONS_MAX + 5];
    stress_verdict_t v;

    (void)state;
    well();
    for (size_t i = 0; i < COUNT(many); i++) {
        many[i] = links[0];
        many[i].count[PIPC__COUNT_BAD_TLP] = 1;
    }
    many[COUNT(many) - 1].gone = true;
    run.links.link = many;
    run.links.n = (int)COUNT(many);
    stress_judge(&run, &v);
    assert_int_equal(v.n, STRESS_REASONS_MAX);
    assert_non_null(strstr(v.reason[0].text, "stopped to answer"));
    assert_int_equal(v.reason[STRESS_REASONS_MAX - 1].severity, PIPC__WARN);
}

/* ---- links --------------------------------------------------------------------------------- */

static void put_link(int width, int gen)
{
    tree_link_t port = {4, 16, 4, width, gen, 4, 0, 1}, gpu = {0, 16, 4, width, gen, 0, 0, 0};

    tree_add("0000:00:01.0", 0x8086, 0x060400, &port, 256);
    tree_add("0000:00:01.0/0000:01:00.0", 0x10de, 0x030200, &gpu, 256);
}

/* A link that rises under load, falls, and rises again; and errors at its two ends. */
static void links_are_watched(void **state)
{
    static stress_traffic_t t = {.ngpus = 1, .gpu = {{0, "0000:01:00.0", ""}}, .lanes = 1};
    pipc__facts_t facts;
    stress_links_t l;

    (void)state;
    t.lane[0].y = STRESS_HOST;
    tree_gpu(2, 16); /* a GPU without traffic */
    put_link(16, 1);
    tree_fact("0000:00:01.0", "aer_dev_correctable", "BadTLP 5\n");
    tree_fact("0000:00:01.0/0000:01:00.0", "aer_dev_correctable", "BadTLP 2\n");
    assert_int_equal(pipc__facts_sysfs(&facts, tree, PIPC__LOOK_ALL, NULL), PIPC_OK);
    assert_int_equal(stress_links_open(&l, &facts, tree, NULL), PIPC_OK);
    assert_int_equal(l.n, 2);
    stress_links_keep(&l, &facts, &t);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.link[0].lower, "0000:01:00.0");
    assert_string_equal(l.link[0].upper, "0000:00:01.0");
    assert_true(l.link[0].loaded && l.link[0].want_width == 16 && l.link[0].want_mts == 16000);

    static const int looks[][2] = {{16, 4}, {16, 3}, {8, 3}, {16, 4}};
    for (size_t i = 0; i < COUNT(looks); i++) {
        put_link(looks[i][0], looks[i][1]);
        assert_int_equal(stress_links_look(&l, tree, NULL), PIPC_OK);
    }
    tree_fact("0000:00:01.0", "aer_dev_correctable", "BadTLP 6\n");
    tree_fact("0000:00:01.0/0000:01:00.0", "aer_dev_correctable", "BadTLP 4\n");
    assert_int_equal(stress_links_look(&l, tree, NULL), PIPC_OK);
    assert_int_equal(l.link[0].width, 16);
    assert_int_equal(l.link[0].least_width, 8);
    assert_int_equal(l.link[0].least_mts, 8000);
    assert_int_equal(l.link[0].most_mts, 16000);
    assert_int_equal(l.link[0].drops, 2);
    assert_int_equal(l.link[0].count[PIPC__COUNT_BAD_TLP], 3);
    assert_false(l.link[0].gone);
    stress_links_close(&l);

    /* Two GPUs that NVLink joins, and no traffic with the host: their links idle. */
    t.lane[0] = (stress_done_t){.x = 0, .y = 0, .nvlink = true};
    assert_int_equal(stress_links_open(&l, &facts, tree, NULL), PIPC_OK);
    stress_links_keep(&l, &facts, &t);
    assert_true(l.n == 1 && !l.link[0].loaded);
    stress_links_close(&l);
    pipc__facts_free(&facts);
}

/* ---- the record ---------------------------------------------------------------------------- */

static void a_short_run_does_not_replace_a_long_one(void **state)
{
    char folder[] = "/tmp/pipc-stress-XXXXXX", path[64];
    pipc__stress_record_t day = {100, 86400, 8, "ok", "BIOS 1"}, now = {200, 60, 8, "ok", "BIOS 1"};
    pipc__stress_record_t last;
    pipc__error_t err;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(pipc__stress_last(folder, getuid(), &last, &err), PIPC_ERR_NOT_FOUND);
    assert_int_equal(pipc__stress_keep(folder, getuid(), &day, &err), PIPC_OK);
    assert_int_equal(pipc__stress_keep(folder, getuid(), &now, &err), PIPC_OK);
    assert_int_equal(pipc__stress_last(folder, getuid(), &last, &err), PIPC_OK);
    assert_true(last.time == 100 && last.seconds == 86400 && last.gpus == 8);
    assert_string_equal(last.verdict, "ok");

    strcpy(now.machine, "BIOS 2"); /* the firmware was changed: the day says nothing any more */
    assert_true(pipc__stress_replaces(&day, &now));
    strcpy(now.machine, "BIOS 1");
    strcpy(now.verdict, "fault");
    assert_int_equal(pipc__stress_keep(folder, getuid(), &now, &err), PIPC_OK);
    assert_int_equal(pipc__stress_last(folder, getuid(), &last, &err), PIPC_OK);
    assert_string_equal(last.verdict, "fault");

    snprintf(path, sizeof(path), "%s/" PIPC__STRESS_FILE, folder);
    FILE *f = fopen(path, "w");
    fputs("{}", f);
    fclose(f);
    assert_int_equal(pipc__stress_last(folder, getuid(), &last, &err), PIPC_ERR_INVALID);
    unlink(path);
    snprintf(path, sizeof(path), "%s/stress.lock", folder);
    unlink(path);
    rmdir(folder);
}

/* ---- the program --------------------------------------------------------------------------- */

static char libraries[64], text[16384];
static const char *self; /* this program, which is the tool when it has arguments */
static FILE *all, *apart, *wrong, *lost, *hung, *died,
    *careless; /* they take a second each, so they begin together */

/* Start it where GPUs are as @gpu says; several may run at a time. */
static FILE *start(const char *gpu, const char *arguments)
{
    char command[1024];

    snprintf(command, sizeof(command), "FAKE_GPU='%s' %s --no-record %s 2>&1", gpu, self,
             arguments);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    return f;
}

/* Its status, with all that it printed in @text. */
static int end(FILE *f)
{
    text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
    int status = pclose(f);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int stress(const char *gpu, const char *arguments)
{
    return end(start(gpu, arguments));
}

/* The fake by the driver's name, in a folder of its own. */
static int make_libraries(void **state)
{
    char target[512], name[128];

    (void)state;
    strcpy(libraries, "/tmp/pipc-stress-XXXXXX");
    if (!mkdtemp(libraries))
        return -1;
    snprintf(target, sizeof(target), "%s/tests/unit/.libs/gpu_fake.so", getenv("PIPC_BUILDDIR"));
    snprintf(name, sizeof(name), "%s/libcuda.so.1", libraries);
    setenv("LD_LIBRARY_PATH", libraries, 1);
    setenv("FAKE_GPUS", "0000:f1:00.0,0000:f2:00.0", 1);
    if (symlink(target, name))
        return -1;
    all = start("", "--time=1 --size=64K");
    apart = start("no-peer", "--time=1 --size=64K --gpus=1,0");
    wrong = start("wrong", "--time=1 --size=64K --gpus=0 --json 2>/dev/null");
    lost = start("lost", "--time=1 --size=64K --pairs");
    careless = start("careless", "--time=1 --size=64K --gpus=0");
    died = start("dies", "--time=1h --size=64K");
    setenv("STRESS_HANG", "1", 1);
    hung = start("stops", "--time=1h --size=64K");
    unsetenv("STRESS_HANG");
    return 0;
}

static int remove_libraries(void **state)
{
    char name[128];

    (void)state;
    snprintf(name, sizeof(name), "%s/libcuda.so.1", libraries);
    unlink(name);
    return rmdir(libraries);
}

static void prints(const char *what)
{
    if (!strstr(text, what))
        fail_msg("\"%s\" is not in:\n%s", what, text);
}

static void two_gpus_and_the_host(void **state)
{
    (void)state;
    assert_int_equal(end(all), STRESS_EXIT_OK);
    prints("2 GPUs, 1 s, copies of 65536 bytes, CUDA driver 13.0");
    prints("GPU 1  0000:f2:00.0  NVIDIA Fake");
    prints("GPU 0 - GPU 1");
    prints("GPU 1 - host");
    prints("\n0 wrong bytes; ");
    prints("verdict: ok");
    assert_int_equal(end(apart), STRESS_EXIT_OK);
    prints("1 pairs of GPUs do not reach each other's memory (0000:f2:00.0 and 0000:f1:00.0)");
    assert_int_equal(stress("no-peer", "--time=1 --pairs"), STRESS_EXIT_COULD_NOT);
    prints("--pairs: no two GPUs here reach each other's memory");
}

/* One copy of many changes a byte, or changes nothing at all: both are seen, by the lane. */
static void one_wrong_copy_is_found(void **state)
{
    (void)state;
    assert_int_equal(end(wrong), STRESS_EXIT_FAULT);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), "fault");
    assert_int_equal(json_integer_value(json_object_get(json, "wrong")), 1);
    assert_int_equal(json_array_size(json_object_get(json, "lanes")), 1);
    json_decref(json);
    assert_int_equal(end(lost), STRESS_EXIT_FAULT);
    prints("fault: GPU 0 - GPU 1: ");
    prints(" wrong bytes, the first at offset 0");
    /* The control of what the streams wait for. */
    assert_int_equal(end(careless), STRESS_EXIT_FAULT);
    prints("fault: GPU 0 - host: ");
    assert_int_equal(stress("fails", "--time=5 --size=64K"), STRESS_EXIT_COULD_NOT);
    prints("cuMemcpyHtoDAsync: the fake driver refuses (CUDA_ERROR_LAUNCH_FAILED)");
}

/* With the report so far: a GPU that hangs keeps the thread of the copies, and nobody else. */
static void a_gpu_that_stops_is_a_fault(void **state)
{
    (void)state;
    assert_int_equal(end(died), STRESS_EXIT_FAULT);
    prints("fault: the copies ended with an error: 0000:f");
    assert_int_equal(end(hung), STRESS_EXIT_FAULT);
    prints("fault: the copies hang: look for Xid and AER lines");
    prints("GPU 0 - host");
}

/* SIGTERM does the same; to what runs behind a shell SIGINT does not come. */
static void an_interrupt_gives_the_report_so_far(void **state)
{
    (void)state;
    assert_int_equal(stress("", "--time=1h --size=64K & sleep 0.3; kill $!; wait $!"),
                     STRESS_EXIT_OK);
    prints("note: stopped early, after 0 of 3600 s");
    prints("verdict: ok");
}

static void refuses_and_says_why(void **state)
{
    static const struct {
        const char *arguments, *says;
    } refused[] = {
        {"--time=0", "0: --time is a time as 60s, 10m or 24h, 30d at most"},
        {"--time=31d", "31d: --time"},
        {"--time=1w", "1w: --time"},
        {"--time=-1", "-1: --time"},
        {"--size=100", "100: --size is a multiple of 128"},
        {"--size=2G", "2G: --size"},
        {"--gpus=0,0", "--gpus is a list"},
        {"--gpus=1,", "--gpus is a list"},
        {"--pairs --host", "--pairs and --host: one of them"},
        {"--interval=0", "0: --interval"},
        {"--interval=5s", "5s: --interval"},
        {"word", "word"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        assert_int_equal(stress("", refused[i].arguments), 64);
        prints(refused[i].says);
    }
    assert_int_equal(stress("", "--time=1 --gpus=7"), STRESS_EXIT_COULD_NOT);
    prints("GPU 7: this process sees 2");
    setenv("FAKE_GPUS", "", 1);
    assert_int_equal(stress("", "--time=1"), STRESS_EXIT_COULD_NOT);
    prints("pcie-ipc-stress: no GPU is visible here");
    setenv("FAKE_GPUS", "0000:f1:00.0,0000:f2:00.0", 1);
    setenv("LD_LIBRARY_PATH", "/nonexistent", 1); /* as on a machine of CPUs alone */
    assert_int_equal(stress("", "--time=1"), STRESS_EXIT_COULD_NOT);
    prints("pcie-ipc-stress: libcuda.so.1: cannot open; is the NVIDIA driver installed here?");
    setenv("LD_LIBRARY_PATH", libraries, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_cross_and_leave_nothing_behind),
        cmocka_unit_test(every_byte_is_compared),
        cmocka_unit_test(a_day_fits),
        cmocka_unit_test(faults_warnings_and_notes),
        cmocka_unit_test(a_rate_that_sinks_is_a_warning),
        cmocka_unit_test(the_worst_reasons_stay),
        cmocka_unit_test_setup_teardown(links_are_watched, tree_make, tree_remove),
        cmocka_unit_test(a_short_run_does_not_replace_a_long_one),
        cmocka_unit_test(two_gpus_and_the_host),
        cmocka_unit_test(one_wrong_copy_is_found),
        cmocka_unit_test(a_gpu_that_stops_is_a_fault),
        cmocka_unit_test(an_interrupt_gives_the_report_so_far),
        cmocka_unit_test(refuses_and_says_why),
    };

    self = argv[0];
    if (argc > 1)
        return stress_tool(argc, argv);
    if (!getenv("PIPC_BUILDDIR")) {
        puts("1..0 # SKIP run by make check, which says where the build is");
        return 0;
    }
    return cmocka_run_group_tests(tests, make_libraries, remove_libraries);
}
