/* tests/gpu/exec_cuda.c - the CUDA executor: right sums for every plan, in stages and by host
 * memory too, type, size, alignment, in and out of place, on two streams, in replayed graphs; peers
 * that die, abort or come late. A GPU a rank, or one that MPS shares out (gpu.h): else two ranks
 * that wait for each other on one GPU need not make progress.
 *
 * Built twice: as it ships, and with delays (PIPC_PERTURB), where each wait is also taken out once
 * and the result must then be wrong. Skipped where there is no GPU.
 *
 *     exec_cuda [--only PATTERN]                    the tests, or those whose names match
 *     exec_cuda --bytes N|all [--calls K]           K verified calls of N bytes (compute-sanitizer)
 *               [--rank R --of N --meet FILE]       this process is one rank alone
 *     exec_cuda --time                              microseconds a call
 *     exec_cuda --time-ce                           the same by copy engines, with two ranks
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/allreduce.h"
#include "runtime/exec/cuda_exec.h"
#include "runtime/plan/generate.h"
#include "tests/gpu/ce.h"
#include "tests/gpu/early.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/graphs.h"
#include "tests/gpu/ll.h"
#include "tests/gpu/push.h"
#include "tests/gpu/timing.h"
#include "tests/unit/values.h"

#define MB ((size_t)1 << 20)
#define SMALL (2 * MB) /* the least staging: 4 MB take ten rounds */
#define ROUND 81920    /* 4-byte elements of a full round of both plans there, with all lanes */

/* clang-format off */
static const size_t counts[] = {
    0, 1, 2, 7, 31, 33, 257, 1000, 2047, 2048, 2049, 4097, 16385, 50021, 65535,
    ROUND - 1, ROUND, ROUND + 1, 2 * ROUND, 2 * ROUND + 3, 4 * ROUND - 5, 1048571, 1048576,
};
/* clang-format on */
#define COUNTS (int)(sizeof(counts) / sizeof(counts[0]))

static int ngpus;

static exec_job_t make_job(size_t staging_bytes, int plan, int calls)
{
    return gpu_job(counts, COUNTS, staging_bytes, plan, calls);
}

static void every_plan_type_operation_size_and_alignment_is_right(void **state)
{
    (void)state;
    for (int n = 1; n <= gpu_ranks(); n++)
        for (int plan = -1; plan < PIPC__PLAN_KINDS_PLAIN; plan++)
            for (int big = 0; big < 2; big++) {
                exec_job_t job = make_job(big ? 8 * MB : SMALL, plan, 3 * COUNTS);
                job.max_usec = 200;
                if (ranks_run(n, exec_job_body, &job, 120))
                    fail_msg("%d ranks, plan %d, %s staging", n, plan, big ? "big" : "small");
            }
}

/* --- plans in stages and by host memory ------------------------------------------------------ */

static const rank_plan_t staged[] = {
    {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_FLAT},   {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_HALVES},
    {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_NESTED}, {PIPC__PERMUTED, PIPC__ALLREDUCE, SHAPE_FLAT},
    {PIPC__RING, PIPC__ALLREDUCE, SHAPE_TURNS},    {PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT},
    {PIPC__STREAM, PIPC__ALLREDUCE, SHAPE_FLAT},
};

/* With a plan among them that uses no host memory: neither may disturb the other. */
static const rank_plan_t by_host[] = {
    {PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_HOST}, {PIPC__TWO_SHOT, PIPC__ALLREDUCE, SHAPE_ONE_WAY},
    {PIPC__RING, PIPC__ALLREDUCE, SHAPE_HOST},     {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_ONE_WAY},
    {PIPC__TWO_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT}, {PIPC__PERMUTED, PIPC__ALLREDUCE, SHAPE_HOST},
    {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_HOST},   {PIPC__STREAM, PIPC__ALLREDUCE, SHAPE_ONE_WAY},
};

#define LIST(plans) ((rank_plans_t){plans, (int)(sizeof(plans) / sizeof((plans)[0]))})

static void run_list(rank_plans_t list, int n)
{
    for (int plan = -1; plan < list.n; plan++)
        for (int big = 0; big < 2; big++) {
            exec_job_t job = make_job(big ? 8 * MB : SMALL, plan, 2 * COUNTS);
            job.plans = list;
            job.max_usec = 200;
            if (ranks_run(n, exec_job_body, &job, 120))
                fail_msg("%d ranks, plan %d of the list, %s staging", n, plan,
                         big ? "big" : "small");
        }
}

static void plans_in_stages_are_right(void **state)
{
    (void)state;
    for (int n = 1; n <= gpu_ranks(); n++)
        run_list(LIST(staged), n);
}

static void plans_over_host_memory_are_right(void **state)
{
    (void)state;
    for (int n = 2; n <= gpu_ranks(); n += n < 4 ? 2 : 4)
        run_list(LIST(by_host), n);
}

#ifndef PIPC_PERTURB

/* --- peers that die, abort, come late -------------------------------------------------------- */

static exec_loss_t make_loss(void)
{
    return (exec_loss_t){.job = make_job(SMALL, -1, 0), .victim = 1};
}

static void a_dead_peer_is_named_at_once(void **state)
{
    exec_loss_t loss = make_loss();
    int exits[PIPC__RANKS_MAX];

    (void)state;
    assert_int_equal(ranks_run_each(gpu_ranks(), exec_loss_body, &loss, 60, exits), 0);
    for (int r = 0; r < gpu_ranks(); r++)
        assert_int_equal(exits[r], r == loss.victim ? 9 : 0);
}

static void a_dead_peer_is_named_in_stages_too(void **state)
{
    (void)state;
    for (int plan = 0; plan < LIST(by_host).n; plan++) {
        exec_loss_t loss = make_loss();
        rank_plan_t one = by_host[plan];
        int exits[PIPC__RANKS_MAX];
        loss.job.plans = (rank_plans_t){&one, 1};
        assert_int_equal(ranks_run_each(gpu_ranks(), exec_loss_body, &loss, 60, exits), 0);
        for (int r = 0; r < gpu_ranks(); r++)
            assert_int_equal(exits[r], r == loss.victim ? 9 : 0);
    }
}

static void an_abort_reaches_every_rank(void **state)
{
    exec_loss_t loss = make_loss();

    (void)state;
    loss.aborts = true;
    assert_int_equal(ranks_run(gpu_ranks(), exec_loss_body, &loss, 60), 0);
}

static void a_late_peer_is_waited_for(void **state)
{
    exec_loss_t loss = make_loss();

    (void)state;
    loss.late_msec = 2000;
    assert_int_equal(ranks_run(gpu_ranks(), exec_loss_body, &loss, 60), 0);
}

/* Rank 1 is killed while kernels of all push into each other's staging. */
static int killed_in_mid_call(ranks_t *all, int rank, void *arg)
{
    const exec_job_t *job = arg;
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st = PIPC_OK;
    rank_exec_t re;

    job->memory->begin(rank);
    rank_exec_open(&re, job->ops, job->staging_bytes, job->plans, all, rank);
    char *x = job->memory->alloc(4 * MB), *y = job->memory->alloc(4 * MB);
    ranks_gather(all, rank, NULL, 0, NULL);
    double start = timing_now();
    for (unsigned int call = 0; !st && call < 2000; call++) {
        pipc__exec_call_t k = {.plan = re.plans[call % 2],
                               .send = x,
                               .recv = y,
                               .count = MB,
                               .dtype = PIPC_F32,
                               .op = PIPC_SUM,
                               .stream = gpu_streams[0],
                               .number = call + 1};
        st = re.exec->ops->run(re.exec, &k, &err);
        if (rank == 1 && call == 500)
            raise(SIGKILL);
    }
    if (!st)
        st = re.exec->ops->drain(re.exec, &err);
    double took = timing_now() - start;
    exec_free_after_loss(&re);
    MUST(MemsetD8Async, (CUdeviceptr)(uintptr_t)x, 1, 4 * MB, gpu_streams[1]); /* the GPU is well */
    MUST(StreamSynchronize, gpu_streams[1]);
    fprintf(stderr, "# rank %d after %.3f s: %s\n", rank, took, err.text);
    return st != PIPC_ERR_PEER_LOST || took > 5 || strncmp(err.text, "rank 1 (process ", 16);
}

static void a_peer_killed_in_mid_call_is_named(void **state)
{
    exec_job_t job = make_job(8 * MB, -1, 0);
    int exits[PIPC__RANKS_MAX];

    (void)state;
    assert_int_equal(ranks_run_each(gpu_ranks(), killed_in_mid_call, &job, 60, exits), 0);
    for (int r = 0; r < gpu_ranks(); r++)
        assert_int_equal(exits[r], r == 1 ? 128 + SIGKILL : 0);
}

/* --- graphs, streams, communicators ------------------------------------------------------------
 */

static void captured_graphs_replay_among_eager_calls(void **state)
{
    static const rank_shape_t pushed[] = {SHAPE_FLAT, SHAPE_ONE_WAY};

    (void)state;
    for (int i = 0; i < 2; i++) {
        rank_shape_t shape = pushed[i];
        assert_int_equal(ranks_run(gpu_ranks(), graphs_body, &shape, 120), 0);
    }
}

static void communicators_take_turns_on_one_stream_and_on_two(void **state)
{
    int streams;

    (void)state;
    for (streams = 1; streams <= 2; streams++)
        assert_int_equal(ranks_run(gpu_ranks(), communicators_body, &streams, 120), 0);
}

/* --- threads, life --------------------------------------------------------------------------- */

/* A thread that no context is current in, as a framework's may be. */
typedef struct caller {
    rank_exec_t *re;
    const pipc__exec_call_t *call;
    pipc_status_t st;
} caller_t;

static void *call_from_thread(void *arg)
{
    caller_t *c = arg;
    pipc__exec_t *x = c->re->exec;
    CUcontext now = NULL;

    c->st = x->ops->run(x, c->call, NULL);
    if (!c->st)
        c->st = x->ops->drain(x, NULL);
    if (!c->st)
        c->st = x->ops->poll(x, NULL);
    if (gpu->CtxGetCurrent(&now) || now) /* and none afterwards */
        c->st = PIPC_ERR_INTERNAL;
    return NULL;
}

static int call_without_context(ranks_t *all, int rank, void *arg)
{
    const exec_job_t *job = arg;
    float host[100];
    rank_exec_t re;
    pthread_t thread;

    job->memory->begin(rank);
    rank_exec_open(&re, job->ops, job->staging_bytes, job->plans, all, rank);
    char *x = job->memory->alloc(sizeof(host)), *y = job->memory->alloc(sizeof(host));
    test_fill(host, 100, PIPC_F32, PIPC_SUM, rank, 1);
    job->memory->put(x, host, sizeof(host));
    pipc__exec_call_t k = {.plan = re.plans[1],
                           .send = x,
                           .recv = y,
                           .count = 100,
                           .dtype = PIPC_F32,
                           .op = PIPC_SUM,
                           .stream = gpu_streams[0],
                           .number = 1};
    caller_t caller = {&re, &k, PIPC_OK};
    if (pthread_create(&thread, NULL, call_from_thread, &caller) || pthread_join(thread, NULL))
        return 2;
    job->memory->get(host, y, sizeof(host));
    size_t wrong = test_wrong(host, 0, 100, PIPC_F32, PIPC_SUM, ranks_size(all), 1, TEST_DIRECT);
    rank_exec_close(&re);
    return caller.st || wrong < 100;
}

static void any_thread_can_call(void **state)
{
    exec_job_t job = make_job(SMALL, -1, 0);

    (void)state;
    assert_int_equal(ranks_run(gpu_ranks(), call_without_context, &job, 60), 0);
}

static int open_and_close(ranks_t *all, int rank, void *arg)
{
    const exec_job_t *job = arg;
    size_t left[2] = {0, 0}, total;
    rank_exec_t re;

    job->memory->begin(rank);
    for (int i = 0; i < 12; i++) {
        rank_exec_open(&re, job->ops, job->staging_bytes, job->plans, all, rank);
        int bad = exec_calls(&re, job, rank, ranks_size(all), (unsigned int)i, 1);
        rank_exec_close(&re);
        if (bad)
            return bad;
        ranks_gather(all, rank, NULL, 0, NULL);
        if (i % 9 == 2)
            MUST(MemGetInfo, &left[i / 9], &total);
    }
    if (left[0] != left[1])
        fprintf(stderr, "# rank %d: %zu bytes were free, %zu are now\n", rank, left[0], left[1]);
    return left[0] != left[1];
}

static void all_memory_is_given_back(void **state)
{
    exec_job_t job = make_job(SMALL, -1, 0);

    (void)state;
    assert_int_equal(ranks_run(gpu_ranks(), open_and_close, &job, 60), 0);
}

/* --- errors ---------------------------------------------------------------------------------- */

static int create_without_context(ranks_t *all, int rank, void *arg)
{
    uint8_t handle[PIPC__HANDLE_MAX];
    pipc__exec_place_t place;
    pipc__segment_handle_t h;
    pipc__control_t *ctl;
    pipc__error_t err;
    pipc__exec_t *x;

    (void)all;
    (void)rank;
    (void)arg;
    if (pipc__control_create(&ctl, &h, &err))
        return 2;
    pipc_status_t st = pipc__exec_cuda.create(&x, ctl, SMALL, handle, &place, &err);
    pipc__control_destroy(ctl);
    return st != PIPC_ERR_INVALID || x || !strstr(err.text, "no current CUDA context");
}

/* Connect rank 0 to a rank 1 with the handle of an executor that has @bytes of staging. */
static pipc_status_t connect_to(pipc__control_t *ctl, size_t bytes, bool spoil, pipc__error_t *err)
{
    uint8_t handles[2][PIPC__HANDLE_MAX];
    pipc__exec_place_t place;
    pipc__control_t *other;
    pipc__segment_handle_t h;
    pipc__exec_t *x, *y;

    if (pipc__control_create(&other, &h, err) ||
        pipc__exec_cuda.create(&x, ctl, SMALL, handles[0], &place, err) ||
        pipc__exec_cuda.create(&y, other, bytes, handles[1], &place, err))
        return PIPC_ERR_INTERNAL;
    for (size_t i = 0; spoil && i < sizeof(CUipcMemHandle); i++)
        handles[1][offsetof(pipc__cuda_handle_t, ipc) + i] ^= 0x5a;
    if (spoil) /* or it would be a rank of this process, whose memory needs no handle */
        handles[1][offsetof(pipc__cuda_handle_t, host.nonce)] ^= 1;
    pipc__plan_t *plan = rank_plan_make((rank_plans_t){NULL, 0}, PIPC__TWO_SHOT, 2);
    pipc_status_t st =
        pipc__exec_cuda.connect(x, 0, 2, (const uint8_t(*)[PIPC__HANDLE_MAX])handles, err);
    if (!st) /* memory is mapped for a plan that needs it */
        st = pipc__exec_cuda.prepare(x, plan, err);
    pipc__plan_free(plan);
    pipc__exec_cuda.disconnect(x);
    pipc__exec_cuda.destroy(x);
    pipc__exec_cuda.destroy(y);
    pipc__control_destroy(other);
    return st;
}

static int connect_badly(ranks_t *all, int rank, void *arg)
{
    pipc__segment_handle_t h;
    pipc__control_t *ctl;
    pipc__error_t err;

    (void)all;
    (void)arg;
    exec_memory_gpu.begin(rank);
    if (pipc__control_create(&ctl, &h, &err))
        return 1;
    pipc_status_t st = connect_to(ctl, 16 * MB, false, &err);
    fprintf(stderr, "# %s\n", err.text);
    if (st != PIPC_ERR_MISMATCH)
        return 2;
    st = connect_to(ctl, SMALL, true, &err);
    fprintf(stderr, "# %s\n", err.text);
    if (st != PIPC_ERR_UNREACHABLE)
        return 3;
    pipc__control_destroy(ctl);
    return 0;
}

static void a_peer_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(1, connect_badly, NULL, 60), 0);
}

static void a_thread_without_context_is_told(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(1, create_without_context, NULL, 60), 0);
}

#else /* PIPC_PERTURB: negative controls */

static const size_t small_counts[] = {1, 31, 33, 257, 1000, 4097, 16385};

static exec_job_t make_control(int plan)
{
    exec_job_t job = make_job(SMALL, plan, 63);

    job.counts = small_counts;
    job.ncounts = (int)(sizeof(small_counts) / sizeof(small_counts[0]));
    job.max_usec = 1000;
    return job;
}

static void each_wait_is_needed(void **state)
{
    (void)state;
    assert_int_equal(exec_drop_each_wait(make_control(-1), 2, 120), 1 + 2 + 2);
}

/* Of two ranks, who have no groups: of all stages of the pipelined two-shot, of flags on the device
 * and on the host. What ends a round shows in the next but one: the longest calls have several. */
static void each_wait_of_stages_is_needed(void **state)
{
    static const size_t sizes[] = {1, 33, 4097, 200003, 257, 250001, 1000};
    static const rank_plan_t list[] = {{PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_ONE_WAY},
                                       {PIPC__PERMUTED, PIPC__ALLREDUCE, SHAPE_HOST}};
    exec_job_t job = make_control(-1);

    (void)state;
    job.plans = LIST(list);
    job.counts = sizes;
    job.ncounts = (int)(sizeof(sizes) / sizeof(sizes[0]));
    job.calls = 42;
    assert_true(exec_drop_each_wait(job, 2, 120) > 0);
}

static void the_second_staging_area_is_needed(void **state)
{
    exec_job_t job = make_control(PIPC__ONE_SHOT);

    (void)state;
    job.one_area = 1;
    assert_int_equal(ranks_run(2, exec_job_body, &job, 120), EXEC_WRONG);
}

#endif

/* --- main ------------------------------------------------------------------------------------ */

static int all_tests(void)
{
    const struct CMUnitTest alone[] = {
#ifndef PIPC_PERTURB
        cmocka_unit_test(a_thread_without_context_is_told),
        cmocka_unit_test(a_peer_that_does_not_fit_is_refused),
#endif
        cmocka_unit_test(every_plan_type_operation_size_and_alignment_is_right),
    };
    const struct CMUnitTest together[] = {
        cmocka_unit_test(every_plan_type_operation_size_and_alignment_is_right),
        cmocka_unit_test(plans_in_stages_are_right),
        cmocka_unit_test(plans_over_host_memory_are_right),
        cmocka_unit_test(ll_is_right_alone_and_among_other_calls),
        cmocka_unit_test(ll128_is_right_alone_and_among_other_calls),
        cmocka_unit_test(ce_is_right_alone_and_among_other_calls),
        cmocka_unit_test(ce_leaves_the_input_alone_before_the_call_and_behind_it),
        cmocka_unit_test(ce_is_right_where_streams_share_queues),
        cmocka_unit_test(push_is_right_alone_and_among_other_calls),
        cmocka_unit_test(calls_wait_for_what_comes_before),
#ifdef PIPC_PERTURB
        cmocka_unit_test(ce_needs_each_of_its_waits),
        cmocka_unit_test(push_needs_each_of_its_waits),
        cmocka_unit_test(each_check_of_ll_is_needed),
        cmocka_unit_test(the_wait_for_what_comes_before_is_needed),
        cmocka_unit_test(old_packets_are_overwritten_in_time),
        cmocka_unit_test(each_wait_is_needed),
        cmocka_unit_test(each_wait_of_stages_is_needed),
        cmocka_unit_test(the_second_staging_area_is_needed),
#else
        cmocka_unit_test(ce_ends_when_a_peer_dies_or_aborts),
        cmocka_unit_test(ce_waits_for_a_late_peer),
        cmocka_unit_test(ce_is_not_captured),
        cmocka_unit_test(push_ends_when_a_peer_dies_or_aborts),
        cmocka_unit_test(push_waits_for_a_late_peer),
        cmocka_unit_test(push_takes_one_shots_alone),
        cmocka_unit_test(a_thread_without_context_is_told),
        cmocka_unit_test(a_dead_peer_is_named_at_once),
        cmocka_unit_test(a_dead_peer_is_named_in_stages_too),
        cmocka_unit_test(a_dead_or_late_peer_of_ll_is_noticed),
        cmocka_unit_test(a_dead_late_or_aborting_peer_of_ll128_is_noticed),
        cmocka_unit_test(an_abort_reaches_every_rank),
        cmocka_unit_test(a_late_peer_is_waited_for),
        cmocka_unit_test(a_peer_killed_in_mid_call_is_named),
        cmocka_unit_test(captured_graphs_replay_among_eager_calls),
        cmocka_unit_test(communicators_take_turns_on_one_stream_and_on_two),
        cmocka_unit_test(any_thread_can_call),
        cmocka_unit_test(all_memory_is_given_back),
        cmocka_unit_test(a_peer_that_does_not_fit_is_refused),
#endif
    };

    if (ngpus == 1)
        return cmocka_run_group_tests(alone, NULL, NULL);
    return cmocka_run_group_tests(together, NULL, NULL);
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return otherwise;
}

static int run_one_size(int argc, char **argv)
{
    const char *bytes = option(argc, argv, "--bytes", "0");
    size_t count = strtoull(bytes, NULL, 10) / 4;
    exec_job_t job = make_job(SMALL, -1, atoi(option(argc, argv, "--calls", "12")));
    const char *meet = option(argc, argv, "--meet", NULL);
    int bad;

    if (strcmp(bytes, "all")) {
        job.counts = &count;
        job.ncounts = 1;
    }
    if (meet)
        bad = ranks_join(meet, atoi(option(argc, argv, "--rank", "0")),
                         atoi(option(argc, argv, "--of", "1")), exec_job_body, &job);
    else
        bad = ranks_run(gpu_ranks(), exec_job_body, &job, 300);
    printf("# %d calls of %s bytes: %s\n", job.calls, bytes, bad ? "not right" : "right");
    return bad;
}

int main(int argc, char **argv)
{
    char why[PIPC__ERROR_MAX];

    /* One rank of many must not ask in a child: the tools that need this mode follow children. */
    if (option(argc, argv, "--meet", NULL))
        return run_one_size(argc, argv);
    ngpus = gpu_count(why);
    if (!ngpus) {
        printf("1..0 # SKIP %s\n", why);
        return 0;
    }
    if (argc > 2 && !strcmp(argv[1], "--only")) {
        cmocka_set_test_filter(argv[2]);
        return all_tests();
    }
    if (argc > 1 && !strcmp(argv[1], "--time"))
        return ranks_run(gpu_ranks(), timing_body, NULL, 300);
    if (argc > 1 && !strcmp(argv[1], "--time-ce"))
        return ranks_run(2, ce_timing_body, NULL, 500);
    return argc > 1 ? run_one_size(argc, argv) : all_tests();
}
