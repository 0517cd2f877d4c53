/* tests/gpu/ll.c - see ll.h */
#include "tests/gpu/ll.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "kernels/ll.h"
#include "runtime/exec/perturb.h"
#include "tests/gpu/gpu.h"
#include "tests/unit/exec_calls.h"

#define MB ((size_t)1 << 20)
#define SMALL (2 * MB) /* the least staging */

static const size_t counts[] = {0,    1,    2,     7,     31,    33,    257,    1000,   2047,
                                2048, 4097, 16385, 50021, 65535, 81919, 163843, 262143, 1048576};
#define COUNTS (int)(sizeof(counts) / sizeof(counts[0]))

/* With plans among them that use no host memory: neither may disturb the other. */
static const rank_plan_t by_host[] = {{PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_HOST},
                                      {PIPC__TWO_SHOT, PIPC__ALLREDUCE, SHAPE_ONE_WAY},
                                      {PIPC__RING, PIPC__ALLREDUCE, SHAPE_HOST},
                                      {PIPC__TWO_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT}};
#define LIST(plans) ((rank_plans_t){plans, (int)(sizeof(plans) / sizeof((plans)[0]))})

static exec_job_t make_job(size_t staging_bytes, int plan, int calls)
{
    return gpu_job(counts, COUNTS, staging_bytes, plan, calls);
}

/* Every protocol beside the others, on all numbers of blocks that a call may ask for. */
void ll_is_right_alone_and_among_other_calls(void **state)
{
    (void)state;
    for (int n = 1; n <= gpu_ranks(); n++)
        for (int ll = 1; ll <= 2; ll++) {
            exec_job_t job = make_job(SMALL, ll == 1 ? PIPC__ONE_SHOT : -1, 8 * COUNTS);
            job.ll = ll;
            job.blocks = true;
            job.max_usec = 100;
            if (ranks_run(n, exec_job_body, &job, 120))
                fail_msg("%d ranks, %s", n, ll == 1 ? "ll alone" : "ll among others");
            job.plans = LIST(by_host);
            job.plan = ll == 1 ? 0 : -1;
            if (ranks_run(n, exec_job_body, &job, 120))
                fail_msg("%d ranks, host memory, %s", n, ll == 1 ? "ll alone" : "ll among others");
        }
}

/* --- LL128, where NVLink joins the GPUs ------------------------------------------------------- */

#define LL128_STAGING (64 * MB) /* less leaves it no room */

static int lacks_ll128(ranks_t *all, int rank, void *arg)
{
    static const rank_plan_t one = {PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT};
    rank_exec_t re;

    (void)arg;
    exec_memory_gpu.begin(rank);
    rank_exec_open(&re, &pipc__exec_cuda, LL128_STAGING, (rank_plans_t){&one, 1}, all, rank);
    bool can = re.exec->ops->can(re.exec, re.plans[0], PIPC__PROTO_LL128, 1, false);
    rank_exec_close(&re);
    return can ? 0 : 1;
}

void ll128_is_right_alone_and_among_other_calls(void **state)
{
    (void)state;
    if (ranks_run(2, lacks_ll128, NULL, 60))
        skip();
    for (int n = 2; n <= gpu_ranks(); n++)
        for (int turns = 0; turns < 2; turns++) {
            exec_job_t job = make_job(LL128_STAGING, turns ? -1 : PIPC__ONE_SHOT, 8 * COUNTS);
            job.ll128 = 1 + turns;
            job.ll = job.push = 2 * turns;
            job.blocks = true;
            job.max_usec = 100;
            if (ranks_run(n, exec_job_body, &job, 120))
                fail_msg("%d ranks, %s", n, turns ? "ll128 among others" : "ll128 alone");
        }
}

#ifndef PIPC_PERTURB

/* --- peers that die, come late or abort ------------------------------------------------------- */

void a_dead_or_late_peer_of_ll_is_noticed(void **state)
{
    (void)state;
    for (int host = 0; host < 2; host++)
        for (unsigned int late = 0; late < 2; late++) {
            exec_loss_t loss = (exec_loss_t){.job = make_job(SMALL, -1, 0), .victim = 1};
            int exits[PIPC__RANKS_MAX];
            loss.job.ll = 1;
            loss.job.plan = 0;
            loss.job.plans = host ? LIST(by_host) : (rank_plans_t){NULL, 0};
            loss.late_msec = late * 1000;
            assert_int_equal(ranks_run_each(gpu_ranks(), exec_loss_body, &loss, 60, exits), 0);
            for (int r = 0; r < gpu_ranks(); r++)
                assert_int_equal(exits[r], r == loss.victim && !late ? 9 : 0);
        }
}

void a_dead_late_or_aborting_peer_of_ll128_is_noticed(void **state)
{
    (void)state;
    if (ranks_run(2, lacks_ll128, NULL, 60))
        skip();
    for (unsigned int way = 0; way < 3; way++) {
        exec_loss_t loss = (exec_loss_t){.job = make_job(SMALL, -1, 0), .victim = 1};
        int exits[PIPC__RANKS_MAX];
        loss.job.ll128 = 1;
        loss.job.plan = 0;
        loss.job.staging_bytes = LL128_STAGING;
        loss.late_msec = way == 1 ? 1000 : 0;
        loss.aborts = way == 2;
        assert_int_equal(ranks_run_each(gpu_ranks(), exec_loss_body, &loss, 60, exits), 0);
        for (int r = 0; r < gpu_ranks(); r++)
            assert_int_equal(exits[r], r == loss.victim && !way ? 9 : 0);
    }
}

#else /* PIPC_PERTURB */

/* --- negative controls ----------------------------------------------------------------------- */

static exec_job_t make_control(void)
{
    static const size_t small[] = {1, 31, 33, 257, 1000, 4097, 16385};
    exec_job_t job = make_job(SMALL, 0, 63);

    job.counts = small;
    job.ncounts = (int)(sizeof(small) / sizeof(small[0]));
    job.max_usec = 1000;
    return job;
}

/* Waits and areas of LL; the checks of one-shot's waits are those of the flags in the packets. */
void each_check_of_ll_is_needed(void **state)
{
    exec_job_t job = make_control();
    static const rank_plan_t list[] = {{PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT}};

    (void)state;
    job.plans = LIST(list);
    job.ll = 1;
    assert_int_equal(exec_drop_each_wait(job, 2, 120), 1);
    job.plan = 0;
    job.drop_step = -1;
    job.one_area = 1;
    assert_int_equal(ranks_run(2, exec_job_body, &job, 120), EXEC_WRONG);
}

/* The numbers of calls, cut to 32 bits, come round to 0, which is what untouched packets hold. */
static int cross_the_wrap(ranks_t *all, int rank, void *arg)
{
    const exec_job_t *job = arg;
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st = PIPC_OK;
    rank_exec_t re;

    pipc__perturb = (pipc__perturb_t){.drop_step = -1, .no_scrub = job->no_scrub, .seed = 42};
    pipc__perturb.calls = ((uint64_t)1 << 32) - 1 - PIPC__LL_SCRUB_CALLS;
    job->memory->begin(rank);
    rank_exec_open(&re, job->ops, job->staging_bytes, job->plans, all, rank);
    char *x = job->memory->alloc(8);
    pipc__exec_call_t k = {.plan = re.plans[0],
                           .send = x,
                           .recv = x + 4,
                           .count = 1,
                           .dtype = PIPC_F32,
                           .op = PIPC_SUM,
                           .stream = gpu_streams[0],
                           .number = 1,
                           .proto = PIPC__PROTO_LL};
    for (size_t i = 0; !st && i < PIPC__LL_SCRUB_CALLS; i++)
        st = re.exec->ops->run(re.exec, &k, &err);
    if (!st)
        st = re.exec->ops->drain(re.exec, &err);
    if (st)
        fprintf(stderr, "# %s\n", err.text);
    pipc__perturb.max_usec = job->max_usec;
    int bad = st ? EXEC_FAILED : exec_calls(&re, job, rank, ranks_size(all), 0, 24);
    job->memory->free(x);
    if (!(bad & EXEC_FAILED))
        rank_exec_close(&re);
    return bad;
}

void old_packets_are_overwritten_in_time(void **state)
{
    static const size_t large[] = {40000, 30001, 20000};
    exec_job_t job = make_control();

    (void)state;
    job.counts = large;
    job.ncounts = 3;
    job.ll = 1;
    assert_int_equal(ranks_run(2, cross_the_wrap, &job, 120), 0);
    job.no_scrub = 1;
    assert_int_equal(ranks_run(2, cross_the_wrap, &job, 120), EXEC_WRONG);
}

#endif
