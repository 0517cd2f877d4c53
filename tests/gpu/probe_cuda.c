/* tests/gpu/probe_cuda.c - the probe of paths on GPUs, and communicators on what it found. Built
 * twice: as it ships, where every pair that the driver offers is good, and with faults
 * (PIPC_PERTURB), where a push flips a bit or never signals: the pair is seen to be bad, the reason
 * is the right one, and the communicator gives right sums over host memory all the same.
 *
 * Skipped with fewer than two GPUs, and where the driver offers no peer access.
 *
 *     probe_cuda [--time]      the tests; or what creating a communicator costs, with and without
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/probe.h"
#include "runtime/comm/comm.h"
#include "runtime/exec/perturb.h"
#include "tests/gpu/gpu.h"
#include "tests/unit/ranks.h"

#define SMALL ((size_t)2 << 20) /* the least staging */
#define COUNT 100000

static int ngpus;
static char cache[64]; /* XDG_RUNTIME_DIR of the test */

/* --- a communicator a rank ----------------------------------------------------------------------
 */

typedef struct job {
    pipc_path_t path;
    pipc_status_t want;       /* of creation */
    int times;                /* communicators, one after the other */
    int pairs_host;           /* of the first one */
    int known;                /* pairs that the last one takes from the cache; -1: not looked at */
    pipc__path_state_t state; /* of 0 -> 1 */
    const char *words;        /* in the error; NULL: none */
    bool prints;
} job_t;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct meeting {
    ranks_t *all;
    int rank;
} meeting_t;

static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    const meeting_t *m = ctx;

    ranks_gather(m->all, m->rank, mine, bytes, all);
    return 0;
}

static pipc_status_t create(pipc_comm_t **comm, meeting_t *m, pipc_path_t path, pipc__error_t *err)
{
    pipc_callbacks_t calls = {sizeof(calls), m->rank, ranks_size(m->all), allgather, m};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;

    c.backend = PIPC_BACKEND_CUDA;
    c.staging_bytes = SMALL;
    c.path = path;
    c.callbacks = &calls;
    return pipc__comm_create(comm, &c, &pipc__xchg_auto, err);
}

/* Sums of small whole numbers: exact in any order. Sizes of one round and of several. */
static int sums_are_right(pipc_comm_t *comm, int rank, int n)
{
    static const size_t counts[] = {1, 1000, COUNT, 8 * COUNT};
    float *host = malloc(8 * COUNT * sizeof(float));
    char *x = exec_memory_gpu.alloc(8 * COUNT * sizeof(float));
    char *y = exec_memory_gpu.alloc(8 * COUNT * sizeof(float));
    int wrong = 0;

    for (int k = 0; k < 8; k++) {
        size_t count = counts[k % 4];
        for (size_t i = 0; i < count; i++)
            host[i] = (float)((i + (size_t)k) % 1000 + (size_t)rank);
        exec_memory_gpu.put(x, host, count * sizeof(float));
        if (pipc_allreduce(comm, x, y, count, PIPC_F32, PIPC_SUM, gpu_streams[0]))
            return 50;
        MUST(StreamSynchronize, gpu_streams[0]);
        exec_memory_gpu.get(host, y, count * sizeof(float));
        for (size_t i = 0; i < count; i++)
            wrong +=
                host[i] != (float)((size_t)n * ((i + (size_t)k) % 1000)) + (float)(n * (n - 1) / 2);
    }
    free(host);
    exec_memory_gpu.free(x);
    exec_memory_gpu.free(y);
    return wrong ? 51 : 0;
}

static int judge(const pipc_comm_t *comm, const job_t *job, int turn)
{
    pipc_comm_stats_t stats = PIPC_COMM_STATS_INIT;
    const pipc__paths_t *p = &comm->paths;
    int n = comm->size;

    if (job->prints && comm->rank == 0)
        fprintf(stderr, "# %d: probed in %d us, %d known; p2p %d host %d\n", turn,
                p->probe.took_usec, p->probe.known, p->p2p, p->host);
    pipc_comm_stats(comm, &stats);
    if (stats.pairs_host != job->pairs_host || stats.pairs_p2p != n * (n - 1) - job->pairs_host)
        return 40;
    if (p->probed && p->probe.state[0][1] != job->state)
        return 41;
    if (job->known >= 0 && turn == job->times - 1 && p->probe.known != job->known)
        return 42;
    return 0;
}

static int body(ranks_t *all, int rank, void *arg)
{
    const job_t *job = arg;
    meeting_t m = {all, rank};
    int bad = 0;

    exec_memory_gpu.begin(rank);
    for (int i = 0; !bad && i < job->times; i++) {
        pipc__error_t err = {PIPC_OK, ""};
        pipc_comm_t *comm;
        double start = now();
        pipc_status_t st = create(&comm, &m, job->path, &err);
        if (job->prints)
            fprintf(stderr, "# rank %d, communicator %d: created in %.1f ms\n", rank, i,
                    1e3 * (now() - start));
        if (st != job->want || (job->words && !strstr(err.text, job->words))) {
            fprintf(stderr, "# rank %d: %s [%s]\n", rank, pipc_status_string(st), err.text);
            return 30;
        }
        if (st)
            continue;
        bad = judge(comm, job, i);
        bad = bad ? bad : sums_are_right(comm, rank, ranks_size(all));
        bad = bad ? bad : pipc_comm_destroy(comm) ? 60 : 0;
    }
    return bad;
}

/* All of it anew: no cache from before. */
static int run(job_t job)
{
    char line[128];

    snprintf(line, sizeof(line), "rm -f '%s/pcie-ipc-paths'", cache);
    if (system(line))
        return 99;
    return ranks_run(ngpus < 8 ? ngpus : 8, body, &job, 120);
}

static int pairs(void)
{
    int n = ngpus < 8 ? ngpus : 8;

    return n * (n - 1);
}

#ifndef PIPC_PERTURB

static void every_pair_is_good(void **state)
{
    job_t job = {.times = 1, .state = PIPC__PATH_GOOD};

    (void)state;
    assert_int_equal(run(job), 0);
    job.path = PIPC_PATH_P2P;
    assert_int_equal(run(job), 0);
}

static void the_next_communicator_knows_from_before(void **state)
{
    job_t job = {.times = 3, .state = PIPC__PATH_GOOD, .known = pairs()};

    (void)state;
    if (access("/sys/module/nvidia/version", R_OK)) /* nothing is kept without it */
        job.known = 0;
    assert_int_equal(run(job), 0);
}

static void host_memory_that_is_asked_for_is_not_probed(void **state)
{
    job_t job = {.times = 1, .path = PIPC_PATH_HOST, .pairs_host = pairs(), .known = 0};

    (void)state;
    assert_int_equal(run(job), 0);
}

#else

static job_t faulty(int fault, int from, int to, pipc__path_state_t state, int pairs_host)
{
    pipc__perturb = (pipc__perturb_t){
        .drop_step = -1, .probe_fault = fault, .probe_from = from, .probe_to = to};
    return (job_t){.times = 1, .state = state, .pairs_host = pairs_host, .known = -1};
}

static void without_a_fault_all_is_good(void **state)
{
    (void)state;
    assert_int_equal(run(faulty(PIPC__PROBE_WHOLE, 0, 1, PIPC__PATH_GOOD, 0)), 0);
}

static void one_flipped_bit_is_wrong_data(void **state)
{
    (void)state;
    assert_int_equal(run(faulty(PIPC__PROBE_FLIPS, 0, 1, PIPC__PATH_WRONG, 1)), 0);
}

static void a_signal_that_never_comes_times_out(void **state)
{
    (void)state;
    assert_int_equal(run(faulty(PIPC__PROBE_SILENT, 0, 1, PIPC__PATH_TIMED_OUT, 1)), 0);
}

static void a_box_without_any_good_pair_runs_on_host_memory(void **state)
{
    (void)state;
    assert_int_equal(run(faulty(PIPC__PROBE_FLIPS, -1, -1, PIPC__PATH_WRONG, pairs())), 0);
    assert_int_equal(run(faulty(PIPC__PROBE_SILENT, -1, -1, PIPC__PATH_TIMED_OUT, pairs())), 0);
}

static void p2p_that_is_asked_for_and_not_there_is_an_error(void **state)
{
    job_t job = faulty(PIPC__PROBE_FLIPS, 1, 0, PIPC__PATH_GOOD, 1);

    (void)state;
    job.path = PIPC_PATH_P2P;
    job.want = PIPC_ERR_UNREACHABLE;
    job.words = "rank 1 (GPU ";
    assert_int_equal(run(job), 0);
}

/* Rank 1 comes to each step long after the limit of time: late is not dead, and no broken pair. */
static void a_late_rank_is_no_broken_pair(void **state)
{
    job_t job = faulty(PIPC__PROBE_WHOLE, 0, 1, PIPC__PATH_GOOD, 0);

    (void)state;
    pipc__perturb.probe_late_msec = 3 * PIPC__PROBE_MSEC;
    assert_int_equal(run(job), 0);
}

/* What was good before and is wrong now: the cache makes nobody believe it. */
static void a_good_word_from_before_is_verified(void **state)
{
    job_t good = faulty(PIPC__PROBE_WHOLE, 0, 1, PIPC__PATH_GOOD, 0);

    (void)state;
    assert_int_equal(run(good), 0);
    job_t job = faulty(PIPC__PROBE_FLIPS, 0, 1, PIPC__PATH_WRONG, 1);
    assert_int_equal(ranks_run(ngpus < 8 ? ngpus : 8, body, &job, 120), 0);
}

static void a_bad_word_from_before_is_believed(void **state)
{
    (void)state;
    assert_int_equal(run(faulty(PIPC__PROBE_FLIPS, 0, 1, PIPC__PATH_WRONG, 1)), 0);
    if (access("/sys/module/nvidia/version", R_OK))
        return;
    job_t job = faulty(PIPC__PROBE_WHOLE, 0, 1, PIPC__PATH_WRONG, 1);
    assert_int_equal(ranks_run(ngpus < 8 ? ngpus : 8, body, &job, 120), 0);
}

#endif

/* --- main ------------------------------------------------------------------------------------- */

/* Does the driver offer peer access between GPUs 0 and 1? In a process of its own: see gpu_count().
 */
static int offered(ranks_t *all, int rank, void *arg)
{
    CUdevice a, b;
    int can = 0;

    (void)all;
    (void)arg;
    exec_memory_gpu.begin(rank);
    MUST(DeviceGet, &a, 0);
    MUST(DeviceGet, &b, 1);
    MUST(DeviceCanAccessPeer, &can, a, b);
    return !can;
}

static int skip_all(const char *why)
{
    printf("1..0 # SKIP %s\n", why);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
#ifndef PIPC_PERTURB
        cmocka_unit_test(every_pair_is_good),
        cmocka_unit_test(the_next_communicator_knows_from_before),
        cmocka_unit_test(host_memory_that_is_asked_for_is_not_probed),
#else
        cmocka_unit_test(without_a_fault_all_is_good),
        cmocka_unit_test(one_flipped_bit_is_wrong_data),
        cmocka_unit_test(a_signal_that_never_comes_times_out),
        cmocka_unit_test(a_box_without_any_good_pair_runs_on_host_memory),
        cmocka_unit_test(p2p_that_is_asked_for_and_not_there_is_an_error),
        cmocka_unit_test(a_late_rank_is_no_broken_pair),
        cmocka_unit_test(a_good_word_from_before_is_verified),
        cmocka_unit_test(a_bad_word_from_before_is_believed),
#endif
    };
    char why[512], line[128];

    ngpus = gpu_count(why);
    if (ngpus < 2)
        return skip_all(ngpus ? "one GPU alone" : why);
    if (ranks_run(1, offered, NULL, 60))
        return skip_all("no peer access between GPUs 0 and 1");
    snprintf(cache, sizeof(cache), "/tmp/pipc-probe-XXXXXX");
    if (!mkdtemp(cache) || setenv("XDG_RUNTIME_DIR", cache, 1))
        return 1;
    unsetenv("PCIE_IPC_PATH");
#ifdef PIPC_PERTURB
    pipc__perturb.drop_step = -1;
#endif
    int rc;
    if (argc == 2 && !strcmp(argv[1], "--time")) {
        rc = run((job_t){.times = 5, .state = PIPC__PATH_GOOD, .known = -1, .prints = true});
        rc |= run((job_t){.path = PIPC_PATH_HOST,
                          .times = 3,
                          .pairs_host = pairs(),
                          .known = -1,
                          .prints = true});
    } else {
        rc = cmocka_run_group_tests(tests, NULL, NULL);
    }
    snprintf(line, sizeof(line), "rm -rf '%s'", cache);
    return system(line) ? 1 : rc;
}
