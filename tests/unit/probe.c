/* tests/unit/probe.c - the probe of paths without GPUs: the order of pairs, what answers mean, what
 * ranks agree on, what is kept between communicators, and what a communicator makes of it.
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
#include <unistd.h>

#include <cmocka.h>

#include "runtime/comm/paths.h"
#include "runtime/comm/probe_cache.h"
#include "runtime/exec/path_hint.h"

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

#define U PIPC__PATH_UNTESTED
#define G PIPC__PATH_GOOD
#define H PIPC__PATH_HIDDEN
#define W PIPC__PATH_WRONG
#define T PIPC__PATH_TIMED_OUT

/* --- order ------------------------------------------------------------------------------------ */

static void every_pair_stands_in_one_step_and_no_rank_twice_in_one(void **state)
{
    (void)state;
    assert_int_equal(pipc__probe_steps(1), 0);
    for (int n = 2; n <= PIPC__RANKS_MAX; n++) {
        int times[PIPC__RANKS_MAX][PIPC__RANKS_MAX] = {{0}};
        for (int step = 0; step < pipc__probe_steps(n); step++) {
            int to[PIPC__RANKS_MAX], busy[PIPC__RANKS_MAX] = {0};
            pipc__probe_step(n, step, to);
            for (int r = 0; r < PIPC__RANKS_MAX; r++) {
                if (to[r] < 0)
                    continue;
                assert_true(r < n && to[r] < n && to[r] != r);
                times[r][to[r]]++;
                assert_int_equal(busy[r]++ + busy[to[r]]++, 0);
            }
        }
        for (int r = 0; r < n; r++)
            for (int q = 0; q < n; q++)
                assert_int_equal(times[r][q], r != q);
        assert_int_equal(pipc__probe_steps(n), 2 * (n - 1 + n % 2));
    }
}

/* --- answers ---------------------------------------------------------------------------------- */

static void a_pair_is_good_only_when_all_was_seen(void **state)
{
    static const struct {
        pipc__probe_seen_t seen;
        int want;
    } cases[] = {
        {{true, true, true, 0}, G},   {{true, true, true, 1}, W},    {{true, false, true, 0}, T},
        {{true, false, true, 9}, T}, /* no signal: no data to judge */
        {{true, true, false, 0}, T},  {{true, false, false, 0}, T},  {{false, true, true, 0}, T},
        {{false, false, true, 0}, T}, {{false, false, false, 0}, T}, {{true, true, true, ~0ull}, W},
    };

    (void)state;
    for (int i = 0; i < COUNT(cases); i++)
        if ((int)pipc__probe_judge(&cases[i].seen) != cases[i].want)
            fail_msg("case %d", i);
}

static void words_are_found_again_and_no_number_is_without(void **state)
{
    (void)state;
    for (int s = 0; s < PIPC__PATH_STATES; s++) {
        assert_int_equal(pipc__path_from_word(pipc__path_word((pipc__path_state_t)s)), s);
        assert_true(strlen(pipc__path_meaning((pipc__path_state_t)s)) > 4);
        assert_non_null(pipc__path_remedy((pipc__path_state_t)s));
    }
    assert_int_equal(pipc__path_from_word("moon"), PIPC__PATH_STATES);
    assert_string_equal(pipc__path_word((pipc__path_state_t)200), "?");
    assert_string_equal(pipc__path_remedy((pipc__path_state_t)-1), "");
}

static void answers_of_the_owners_become_one_matrix(void **state)
{
    pipc__path_matrix_t m = {{G, U, G}, {W, G, U}, {U, U, G}};
    /* By owner: 0 heard from 1 and 2, 1 from 0 and 2, 2 from 0. */
    const pipc__path_matrix_t seen = {{U, G, T}, {G, U, 99}, {W, U, U}};
    uint16_t reach[PIPC__RANKS_MAX] = {0};
    int from = -1, to = -1;

    (void)state;
    assert_int_equal(pipc__probe_merge(m, 3, seen), 3);
    assert_int_equal(m[0][1], G);
    assert_int_equal(m[0][2], W); /* was good, and one bad answer is enough */
    assert_int_equal(m[1][0], W); /* was bad, and stays it */
    assert_int_equal(m[1][2], U);
    assert_int_equal(m[2][0], T);
    assert_int_equal(m[2][1], T); /* a word that is no state */
    pipc__probe_reach(m, 3, reach);
    assert_int_equal(reach[0], 3);
    assert_int_equal(reach[1], 2);
    assert_int_equal(reach[2], 4);
    assert_int_equal(pipc__probe_good(m, 3), 1);
    assert_true(pipc__probe_first_bad(m, 3, &from, &to));
    assert_true(from == 0 && to == 2);
    assert_int_equal(pipc__probe_merge(m, 3, seen), 0); /* nothing new */
}

/* --- what is kept ----------------------------------------------------------------------------- */

#define HEAD "pcie-ipc-paths 1\nboot b-1\ndriver 580.1\npackage 0.1\nuid 7\n"

static void a_file_that_is_not_whole_says_nothing(void **state)
{
    static const struct {
        const char *text;
        int pairs; /* -1: refused */
    } cases[] = {
        {HEAD, 0},
        {HEAD "0000:01:00.0/GPU-a 0000:02:00.0/GPU-b good\n", 1},
        {HEAD "a b good\na c wrong\nb a timed-out\n", 3},
        {"", -1},
        {"\n", -1},
        {"pcie-ipc-paths 2\nboot b-1\ndriver 580.1\npackage 0.1\nuid 7\n", -1},
        {"pcie-ipc-paths 1\nboot b-1\ndriver 580.1\npackage 0.1\n", -1},
        {"pcie-ipc-paths 1\nboot b-1\ndriver 580.1\nuid 7\npackage 0.1\n", -1},
        {"pcie-ipc-paths 1\nboot \ndriver 580.1\npackage 0.1\nuid 7\n", -1},
        {"pcie-ipc-paths 1\nboot b-1\ndriver 580.1\npackage 0.1\nuid -7\n", -1},
        {"pcie-ipc-paths 1\nboot b-1\ndriver 580.1\npackage 0.1\nuid 77777777777777777\n", -1},
        {"pcie-ipc-paths 1\nboot bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\ndriver "
         "580.1\npackage 0.1\nuid 7\n",
         -1},
        {HEAD "a b good", -1},        /* cut off */
        {HEAD "a b\n", -1},           /* a word too few */
        {HEAD "a b good good\n", -1}, /* one too many */
        {HEAD "a  b good\n", -1},     /* a blank too many */
        {HEAD "a b hidden\n", -1},    /* what a process sees is nobody else's */
        {HEAD "a b untested\n", -1},
        {HEAD "a b moon\n", -1},
        {HEAD "a\tb c good\n", -1},
        {HEAD "a %s good\n", -1},
        {HEAD "a b\x1b[31m good\n", -1},
        {HEAD "a b good\r\n", -1},
        {HEAD "\n", -1},
        {HEAD "a b good\n\n", -1},
        {HEAD "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
              "b good\n",
         -1},
    };
    pipc__cache_t *c = malloc(sizeof(*c));

    (void)state;
    for (int i = 0; i < COUNT(cases); i++) {
        bool good = pipc__cache_parse(c, cases[i].text, strlen(cases[i].text));
        if (good != (cases[i].pairs >= 0) || c->n != (good ? cases[i].pairs : 0))
            fail_msg("case %d: %d pairs", i, c->n);
    }
    assert_false(pipc__cache_parse(c, HEAD "a b good\n\0", sizeof(HEAD "a b good\n")));
    free(c);
}

/* Bytes at random places of a good file changed at random: never a crash, and never a pair that the
 * file's own words do not name. Run with the address sanitizer. */
static void damaged_files_do_no_harm(void **state)
{
    static const char good[] = HEAD "0000:01:00.0/GPU-a 0000:02:00.0/GPU-b good\nx y timed-out\n";
    pipc__cache_t *c = malloc(sizeof(*c));
    uint32_t x = 12345;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        char text[sizeof(good)];
        memcpy(text, good, sizeof(good));
        for (int k = 0; k < 1 + i % 3; k++) {
            x = x * 1664525 + 1013904223;
            text[(x >> 8) % (sizeof(good) - 1)] = (char)(x >> 24);
        }
        bool taken = pipc__cache_parse(c, text, (x >> 4) % sizeof(good));
        assert_true(taken ? c->n <= 2 : c->n == 0);
    }
    free(c);
}

static void what_is_written_reads_back(void **state)
{
    pipc__cache_t *a = calloc(1, sizeof(*a)), *b = malloc(sizeof(*b));
    char *text = malloc(PIPC__CACHE_BYTES), name[32];

    (void)state;
    snprintf(a->boot, sizeof(a->boot), "b-1");
    snprintf(a->driver, sizeof(a->driver), "580.1");
    snprintf(a->package, sizeof(a->package), "0.1");
    a->uid = 7;
    for (int i = 0; i < PIPC__CACHE_PAIRS; i++) {
        snprintf(name, sizeof(name), "gpu-%d", i);
        pipc__cache_set(a, "gpu", name, i % 2 ? W : G);
    }
    pipc__cache_set(a, "gpu", "gpu-3", T);
    pipc__cache_set(a, "gpu", "two words", G);
    pipc__cache_set(a, "gpu", "gpu-4", H); /* not kept: not the link's own */
    assert_int_equal(a->n, PIPC__CACHE_PAIRS);
    size_t bytes = pipc__cache_format(a, text, PIPC__CACHE_BYTES);
    assert_true(bytes > 0 && pipc__cache_parse(b, text, bytes));
    assert_int_equal(b->n, a->n);
    assert_int_equal(pipc__cache_get(b, "gpu", "gpu-3"), T);
    assert_int_equal(pipc__cache_get(b, "gpu", "gpu-4"), G);
    assert_int_equal(pipc__cache_get(b, "gpu-4", "gpu"), U);
    assert_int_equal(pipc__cache_format(a, text, bytes), 0); /* no room for the end */
    pipc__cache_set(a, "one", "more", G);
    assert_int_equal(a->n, 1);
    free(a);
    free(b);
    free(text);
}

/* --- where it is kept ------------------------------------------------------------------------- */

static char dir[64], xdg[512], step[512];

static const char *lookup(const char *name)
{
    return !strcmp(name, "XDG_RUNTIME_DIR") ? xdg : !strcmp(name, "PCIE_IPC_DIR") ? step : NULL;
}

static void sh(const char *fmt, ...)
{
    char line[2048];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    assert_int_equal(system(line), 0);
}

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/pipc-unit-XXXXXX");
    return !mkdtemp(dir);
}

static int remove_dir(void **state)
{
    (void)state;
    sh("rm -rf '%s'", dir);
    return 0;
}

static bool is_open(void)
{
    int fd = pipc__cache_folder(lookup, dir);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void only_a_folder_of_ones_own_is_used(void **state)
{
    (void)state;
    snprintf(xdg, sizeof(xdg), "%s/x", dir);
    snprintf(step, sizeof(step), "%s/none", dir);
    assert_false(is_open());
    sh("mkdir -m 700 '%s'", xdg);
    assert_true(is_open());
    sh("chmod 750 '%s'", xdg);
    assert_false(is_open());
    sh("chmod 701 '%s'", xdg);
    assert_false(is_open());
    sh("chmod 700 '%s' && mv '%s' '%s.r' && ln -s '%s.r' '%s'", xdg, xdg, xdg, xdg, xdg);
    assert_false(is_open());
    sh("rm '%s' && : >'%s'", xdg, xdg);
    assert_false(is_open());
    snprintf(xdg, sizeof(xdg), "x.r"); /* below whatever folder one stands in */
    assert_false(is_open());
    xdg[0] = '\0';
    sh("mkdir -p -m 700 '%s/run/user/%u'", dir, (unsigned int)geteuid());
    assert_true(is_open());
    sh("rm -r '%s/run' && mkdir -m 700 '%s'", dir, step);
    assert_true(is_open());
    if (!geteuid()) { /* somebody else's */
        sh("chown 12345 '%s'", step);
        assert_false(is_open());
    }
}

static void a_file_of_another_boot_driver_or_user_is_not_believed(void **state)
{
    pipc__cache_t *a = calloc(1, sizeof(*a)), *b = malloc(sizeof(*b));
    static const char *const spoil[] = {
        "s/^boot .*/boot other/",    "s/^driver .*/driver 1/", "s/^package .*/package 9/",
        "s/^uid .*/uid 4000000000/", "s/good/splendid/",
    };

    (void)state;
    sh("cd '%s' && mkdir -p proc/sys/kernel/random sys/module/nvidia && echo boot-1 "
       ">proc/sys/kernel/random/boot_id",
       dir);
    assert_false(pipc__cache_begin(a, dir)); /* no driver: nothing is kept */
    sh("echo 580.1 >'%s/sys/module/nvidia/version'; mkdir -m 700 '%s/own'", dir, dir);
    assert_true(pipc__cache_begin(a, dir));
    snprintf(xdg, sizeof(xdg), "%s/own", dir);
    int fd = pipc__cache_folder(lookup, dir);
    assert_true(fd >= 0);
    pipc__cache_set(a, "a", "b", G);
    assert_true(pipc__cache_save(a, fd));
    pipc__cache_begin(b, dir);
    pipc__cache_load(b, fd);
    assert_int_equal(pipc__cache_get(b, "a", "b"), G);
    for (int i = 0; i < COUNT(spoil); i++) {
        assert_true(pipc__cache_save(a, fd));
        sh("sed -i '%s' '%s/own/pcie-ipc-paths'", spoil[i], dir);
        pipc__cache_begin(b, dir);
        pipc__cache_load(b, fd);
        assert_int_equal(b->n, 0);
        assert_string_equal(b->boot, "boot-1"); /* still of here and now */
    }
    assert_true(pipc__cache_save(a, fd));
    sh("chmod 622 '%s/own/pcie-ipc-paths'", dir);
    pipc__cache_load(b, fd);
    assert_int_equal(b->n, 0);
    sh("cd '%s/own' && mv pcie-ipc-paths there && chmod 600 there && ln -s there pcie-ipc-paths",
       dir);
    pipc__cache_load(b, fd);
    assert_int_equal(b->n, 0);
    sh("cd '%s/own' && rm pcie-ipc-paths && mkfifo pcie-ipc-paths", dir);
    pipc__cache_load(b, fd); /* and does not wait for its writer */
    assert_int_equal(b->n, 0);
    assert_true(pipc__cache_save(a, fd)); /* takes its place */
    pipc__cache_load(b, fd);
    assert_int_equal(b->n, 1);
    close(fd);
    free(a);
    free(b);
}

/* --- what is in the way ----------------------------------------------------------------------- */

/* A config space with ACS at @at (0: none), its control word @control; what comes before points to
 * it, or to itself with @circle. */
static void config_space(unsigned char *c, int at, int control, bool circle)
{
    uint32_t next = (uint32_t)(circle ? 0x100 : at) << 20, head = 0x00010001u | next;

    memset(c, 0, 4096);
    memcpy(c + 0x100, &head, 4); /* AER */
    head = 0x0001000du;
    if (at) {
        memcpy(c + at, &head, 4);
        c[at + 6] = (unsigned char)control;
    }
}

static void acs_is_read_from_config_space(void **state)
{
    static const struct {
        int at, control, circle, bytes, want;
    } cases[] = {
        {0x148, 0x1d, 0, 4096, 1}, {0x148, 0x04, 0, 4096, 1}, {0x148, 0x11, 0, 4096, 0},
        {0x148, 0, 0, 4096, 0},    {0, 0, 0, 4096, 0},        {0x148, 0x1d, 0, 64, -1},
        {0x148, 0x1d, 0, 256, -1}, {0, 0, 1, 4096, -1},       {0x148, 0x1d, 0, 0x148, -1},
        {0xff8, 0x04, 0, 4096, 1},
    };
    unsigned char c[4096];

    (void)state;
    for (int i = 0; i < COUNT(cases); i++) {
        config_space(c, cases[i].at, cases[i].control, cases[i].circle);
        if (pipc__acs_redirects(c, (size_t)cases[i].bytes) != cases[i].want)
            fail_msg("case %d", i);
    }
    memset(c, 0xff, sizeof(c)); /* a device that is gone */
    assert_int_equal(pipc__acs_redirects(c, sizeof(c)), 0);
}

static void put_config(const char *bdf, int control)
{
    unsigned char c[4096];
    char path[256];

    config_space(c, 0x148, control, false);
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/config", dir, bdf);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(c, 1, sizeof(c), f), sizeof(c));
    fclose(f);
}

static void bridges_between_two_gpus_are_looked_at(void **state)
{
    pipc__path_facts_t f;
    char text[128];

    (void)state;
    sh("mkdir -p '%s/sys/bus/pci/devices' && cd '%s/sys/bus/pci/devices' && "
       "r=../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0 && "
       "mkdir -p $r/0000:02:04.0/0000:04:00.0 $r/0000:02:08.0/0000:05:00.0 && "
       "ln -s $r/0000:02:04.0/0000:04:00.0 . && ln -s $r/0000:02:08.0/0000:05:00.0 . && "
       "ln -s $r . && ln -s $r/0000:02:04.0 . && ln -s $r/0000:02:08.0 .",
       dir, dir);
    put_config("0000:01:00.0", 0x1d); /* above both: not between */
    put_config("0000:02:04.0", 0);
    pipc__path_facts(&f, "0000:04:00.0", "0000:05:00.0", dir);
    assert_true(f.known && f.bridges == 2 && f.hidden == 1 && !f.acs[0] && !f.iommu[0]);
    assert_string_equal(pipc__path_hint(&f, text, sizeof(text)),
                        "ACS of 1 bridges can be read by root alone");
    put_config("0000:02:08.0", 0x1d);
    pipc__path_facts(&f, "0000:04:00.0", "0000:05:00.0", dir);
    assert_string_equal(f.acs, "0000:02:08.0");
    sh("cd '%s/sys/bus/pci/devices' && mkdir 0000:05:00.0/iommu_group && echo DMA-FQ "
       ">0000:05:00.0/iommu_group/type",
       dir);
    pipc__path_facts(&f, "0000:04:00.0", "0000:05:00.0", dir);
    assert_string_equal(
        pipc__path_hint(&f, text, sizeof(text)),
        "ACS of 0000:02:08.0 redirects peer traffic, the IOMMU translates (DMA-FQ)");
    sh("echo identity >'%s/sys/bus/pci/devices/0000:05:00.0/iommu_group/type'", dir);
    pipc__path_facts(&f, "0000:04:00.0", "0000:05:00.0", dir);
    assert_false(f.iommu[0]);
    pipc__path_facts(&f, "0000:04:00.0", "0000:04:00.0", dir); /* two ranks of one GPU */
    assert_true(f.known && !f.bridges);
    pipc__path_facts(&f, "0000:04:00.0", "../../etc", dir);
    assert_false(f.known);
    assert_string_equal(pipc__path_hint(&f, text, sizeof(text)), "");
}

/* --- what a communicator makes of it ---------------------------------------------------------- */

static pipc__path_matrix_t found;
static int probes;

static pipc_status_t fake_probe(pipc__exec_t *exec, pipc__probe_t *probe, pipc_status_t own,
                                pipc__error_t *err)
{
    (void)exec;
    (void)err;
    probes++;
    memcpy(probe->state, found, sizeof(found));
    return own;
}

static const char *no_variable(const char *name)
{
    (void)name;
    return NULL;
}

static void pairs_out_of_reach_go_by_host_memory_or_are_an_error(void **state)
{
    static const pipc__exec_ops_t with = {.name = "fake", .probe = fake_probe};
    static const pipc__exec_ops_t without = {.name = "fake"};
    pipc__exec_t exec = {.ops = &with};
    pipc__record_t recs[3] = {{.rank = 0, .bdf = "0000:01:00.0"},
                              {.rank = 1, .bdf = "0000:02:00.0"},
                              {.rank = 2, .bdf = "0000:03:00.0"}};
    const pipc__path_matrix_t some = {{G, G, G}, {G, G, W}, {G, G, G}};
    pipc__shape_t shape;
    pipc__paths_t paths;
    pipc__error_t err = {PIPC_OK, ""};
    char text[64];

    (void)state;
    memcpy(found, some, sizeof(found));
    pipc__shape_flat(&shape, 3);
    assert_int_equal(pipc__paths_find(&paths, &exec, recs, 0, 3, PIPC_OK, no_variable, &err), 0);
    pipc__paths_apply(&paths, &shape);
    assert_int_equal(shape.reach[1], 3);
    assert_int_equal(shape.reach[2], 7);
    assert_string_equal(pipc__paths_describe(&paths, text, sizeof(text)), "p2p 5 pairs, host 1");
    recs[0].path = PIPC_PATH_P2P;
    assert_int_equal(pipc__paths_find(&paths, &exec, recs, 0, 3, PIPC_OK, no_variable, &err),
                     PIPC_ERR_UNREACHABLE);
    assert_non_null(strstr(err.text, "1 of 6 pairs"));
    assert_non_null(strstr(err.text, "rank 1 (GPU 0000:02:00.0) to rank 2 (GPU 0000:03:00.0)"));
    assert_non_null(strstr(err.text, "did not come whole"));
    assert_int_equal(probes, 2);
    /* A rank that failed takes part, and keeps its own error. */
    pipc__fail(&err, PIPC_ERR_NOMEM, "mine");
    assert_int_equal(pipc__paths_find(&paths, &exec, recs, 0, 3, PIPC_ERR_NOMEM, no_variable, &err),
                     PIPC_ERR_NOMEM);
    assert_string_equal(err.text, "mine");
    assert_int_equal(probes, 3);
    recs[0].path = PIPC_PATH_HOST;
    assert_int_equal(pipc__paths_find(&paths, &exec, recs, 0, 3, PIPC_OK, no_variable, &err), 0);
    assert_true(paths.p2p == 0 && paths.host == 6 && probes == 3);
    recs[0].path = PIPC_PATH_AUTO;
    exec.ops = &without;
    assert_int_equal(pipc__paths_find(&paths, &exec, recs, 0, 3, PIPC_OK, no_variable, &err), 0);
    assert_true(paths.p2p == 6 && paths.host == 0 && probes == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_stands_in_one_step_and_no_rank_twice_in_one),
        cmocka_unit_test(a_pair_is_good_only_when_all_was_seen),
        cmocka_unit_test(words_are_found_again_and_no_number_is_without),
        cmocka_unit_test(answers_of_the_owners_become_one_matrix),
        cmocka_unit_test(a_file_that_is_not_whole_says_nothing),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test_setup_teardown(only_a_folder_of_ones_own_is_used, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_file_of_another_boot_driver_or_user_is_not_believed,
                                        make_dir, remove_dir),
        cmocka_unit_test(acs_is_read_from_config_space),
        cmocka_unit_test_setup_teardown(bridges_between_two_gpus_are_looked_at, make_dir,
                                        remove_dir),
        cmocka_unit_test(pairs_out_of_reach_go_by_host_memory_or_are_an_error),
    };

    umask(022);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
