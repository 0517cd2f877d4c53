/* tests/unit/exec_cpu.c - the CPU executor: right sums for every plan, shape, rank count, type, size,
 * alignment, in and out of place, by device and by host slots; scattered and gathered results; peers
 * that die, abort or come late.
 *
 * Built twice: as it ships, and with delays (PIPC_PERTURB), where each wait is also taken out once
 * and the result must then be wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/plan/generate.h"
#include "tests/unit/exec_calls.h"

#define STAGING (64 << 10) /* small, so that middling messages take several rounds */

/* Sizes around every edge: empty, one, not a multiple of anything, several rounds. */
static const size_t counts[] = {0, 1, 2, 7, 31, 33, 257, 1000, 4097, 16385, 50021};
static const size_t small_counts[] = {0, 1, 2, 7, 31, 33, 257, 1000, 4097, 3979, 849};

#define COUNTS (int)(sizeof(counts) / sizeof(counts[0]))

static exec_job_t make_job(const size_t *sizes, int plan, int calls)
{
    return (exec_job_t){
        .ops = &pipc__exec_cpu,
        .memory = &exec_memory_host,
        .staging_bytes = STAGING,
        .counts = sizes,
        .ncounts = COUNTS,
        .plan = plan,
        .calls = calls,
        .batch = 4,
        .drop_step = -1,
    };
}

static void every_plan_type_operation_size_and_alignment_is_right(void **state)
{
    (void)state;
    for (int n = 1; n <= PIPC__RANKS_MAX; n = n < 5 ? n + 1 : n * 2 - 2)
        for (int plan = -1; plan < PIPC__PLAN_KINDS_PLAIN; plan++) {
            exec_job_t job = make_job(counts, plan, n > 5 ? 22 : 66);
            job.max_usec = n > 5 ? 100 : 500;
            if (ranks_run(n, exec_job_body, &job, 60))
                fail_msg("%d ranks, plan %d", n, plan);
        }
}

/* --- plans for shapes, in stages ------------------------------------------------------------- */

static const rank_plan_t staged[] = {
    {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_FLAT},    {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_HALVES},
    {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_ONE_OFF}, {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_TURNS},
    {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_NESTED},  {PIPC__PERMUTED, PIPC__ALLREDUCE, SHAPE_FLAT},
    {PIPC__PERMUTED, PIPC__ALLREDUCE, SHAPE_TURNS}, {PIPC__RING, PIPC__ALLREDUCE, SHAPE_TURNS},
    {PIPC__STREAM, PIPC__ALLREDUCE, SHAPE_FLAT},
};

/* Some plans of a communicator use host memory and some do not: neither may disturb the other. */
static const rank_plan_t by_host[] = {
    {PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_HOST}, {PIPC__TWO_SHOT, PIPC__ALLREDUCE, SHAPE_ONE_WAY},
    {PIPC__RING, PIPC__ALLREDUCE, SHAPE_HOST},     {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_SPLIT},
    {PIPC__TWO_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT}, {PIPC__PERMUTED, PIPC__ALLREDUCE, SHAPE_HOST},
    {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_HOST},   {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_ONE_WAY},
};

static const rank_plan_t scattered[] = {
    {PIPC__TWO_SHOT, PIPC__REDUCE_SCATTER, SHAPE_FLAT},
    {PIPC__TWO_SHOT, PIPC__ALLGATHER, SHAPE_HOST},
    {PIPC__RING, PIPC__REDUCE_SCATTER, SHAPE_FLAT},
    {PIPC__RING, PIPC__ALLGATHER, SHAPE_TURNS},
    {PIPC__ISLAND, PIPC__REDUCE_SCATTER, SHAPE_HALVES},
    {PIPC__ISLAND, PIPC__ALLGATHER, SHAPE_HALVES},
    {PIPC__ISLAND, PIPC__REDUCE_SCATTER, SHAPE_NESTED},
    {PIPC__ISLAND, PIPC__ALLGATHER, SHAPE_ONE_OFF},
    {PIPC__PERMUTED, PIPC__REDUCE_SCATTER, SHAPE_HOST},
    {PIPC__PERMUTED, PIPC__ALLGATHER, SHAPE_FLAT},
    {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_HALVES},
};

#define LIST(plans) ((rank_plans_t){plans, (int)(sizeof(plans) / sizeof((plans)[0]))})

/* One by one, so that each meets every size, type and alignment; then in turns, since what one call
 * leaves in flags and slots is what the next one finds. */
static void run_list(rank_plans_t list, int n)
{
    exec_job_t job = make_job(counts, 0, 0);

    job.plans = list;
    job.max_usec = n > 5 ? 20 : 100;
    for (job.plan = -1; job.plan < list.n; job.plan++) {
        job.calls = job.plan < 0 ? 6 * list.n : n > 5 ? 11 : 22;
        if (ranks_run(n, exec_job_body, &job, 120))
            fail_msg("%d ranks, plan %d of the list", n, job.plan);
    }
}

static void plans_in_stages_are_right(void **state)
{
    (void)state;
    for (int n = 1; n <= PIPC__RANKS_MAX; n += n < 8 ? 1 + (n > 4) : 8)
        run_list(LIST(staged), n);
}

static void plans_over_host_memory_are_right(void **state)
{
    (void)state;
    for (int n = 1; n <= 8; n += n < 5 ? 1 : 3)
        run_list(LIST(by_host), n);
}

static void reduce_scatter_and_allgather_are_right(void **state)
{
    (void)state;
    for (int n = 1; n <= 8; n += n < 5 ? 1 : 3)
        run_list(LIST(scattered), n);
}

#ifndef PIPC_PERTURB

static exec_loss_t make_loss(int victim)
{
    return (exec_loss_t){.job = make_job(small_counts, -1, 0), .victim = victim};
}

/* More than slots have at most, in an area that would hold all of it. */
static void a_large_area_is_used_in_pieces(void **state)
{
    static const size_t large[] = {200000, 32769, 400001, 65536,  3,    300017,
                                   131072, 1,     250000, 99999, 4};

    (void)state;
    for (int n = 2; n <= 4; n++)
        for (int plan = 0; plan < PIPC__PLAN_KINDS_PLAIN; plan++) {
            exec_job_t job = make_job(large, plan, 11);
            job.staging_bytes = 16 << 20;
            if (ranks_run(n, exec_job_body, &job, 60))
                fail_msg("%d ranks, plan %d", n, plan);
        }
}

static void a_dead_peer_is_named_at_once(void **state)
{
    (void)state;
    for (int n = 2; n <= 5; n++) {
        exec_loss_t loss = make_loss(n / 2);
        int exits[PIPC__RANKS_MAX];
        assert_int_equal(ranks_run_each(n, exec_loss_body, &loss, 5, exits), 0);
        for (int r = 0; r < n; r++)
            assert_int_equal(exits[r], r == loss.victim ? 9 : 0);
    }
}

static void a_dead_peer_is_named_in_stages_too(void **state)
{
    (void)state;
    for (int plan = 0; plan < LIST(by_host).n; plan++) {
        exec_loss_t loss = make_loss(1);
        rank_plan_t one = by_host[plan];
        int exits[PIPC__RANKS_MAX];
        loss.job.plans = (rank_plans_t){&one, 1};
        assert_int_equal(ranks_run_each(4, exec_loss_body, &loss, 10, exits), 0);
        for (int r = 0; r < 4; r++)
            assert_int_equal(exits[r], r == loss.victim ? 9 : 0);
    }
}

static void an_abort_reaches_every_rank(void **state)
{
    exec_loss_t loss = make_loss(1);

    (void)state;
    loss.aborts = true;
    assert_int_equal(ranks_run(4, exec_loss_body, &loss, 5), 0);
}

static void a_late_peer_is_waited_for(void **state)
{
    exec_loss_t loss = make_loss(1);

    (void)state;
    loss.late_msec = 700;
    assert_int_equal(ranks_run(3, exec_loss_body, &loss, 20), 0);
}

static int open_and_close(ranks_t *all, int rank, void *arg)
{
    rank_exec_t re;

    (void)arg;
    for (int i = 0; i < 20; i++) {
        rank_exec_open(&re, &pipc__exec_cpu, STAGING, (rank_plans_t){NULL, 0}, all, rank);
        if (i % 2 == rank % 2)
            usleep(2000); /* some leave later: the end of the others must be no loss to them */
        rank_exec_close(&re);
    }
    return 0;
}

static void leaving_is_no_loss(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        assert_int_equal(ranks_run(4, open_and_close, NULL, 20), 0);
}

static void staging_that_is_too_small_is_refused(void **state)
{
    pipc__control_t *ctl;
    pipc__segment_handle_t h;
    pipc__exec_place_t place;
    uint8_t handle[PIPC__HANDLE_MAX];
    pipc__exec_t *x;
    pipc__plan_t *plan;
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__control_create(&ctl, &h, &err), PIPC_OK);
    assert_int_equal(pipc__exec_cpu.create(&x, ctl, 5000, handle, &place, &err), PIPC_OK);
    assert_int_equal(pipc__plan_make(&plan, PIPC__TWO_SHOT, 16, &err), PIPC_OK);
    assert_int_equal(pipc__exec_cpu.prepare(x, plan, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "staging of 5000 bytes")); /* what was given */
    pipc__plan_free(plan);
    pipc__exec_cpu.destroy(x);
    pipc__control_destroy(ctl);
}

static void a_foreign_or_dead_process_is_not_mapped(void **state)
{
    pipc__segment_t own, peer;
    pipc__segment_handle_t h, wrong;
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__segment_create(&own, SIZE_MAX - 100, &h, &err), PIPC_ERR_NOMEM);
    pipc__segment_close(&own);
    assert_int_equal(pipc__segment_create(&own, 100, &h, &err), PIPC_OK);
    assert_true(pipc__segment_is_own(&h));
    wrong = h;
    wrong.nonce[3] ^= 1; /* the number was taken over by another process */
    assert_false(pipc__segment_is_own(&wrong));
    assert_int_equal(pipc__segment_open(&peer, &wrong, &err), PIPC_ERR_UNREACHABLE);
    wrong = h;
    wrong.bytes += 4096; /* would give SIGBUS */
    assert_int_equal(pipc__segment_open(&peer, &wrong, &err), PIPC_ERR_UNREACHABLE);
    wrong = h;
    wrong.pid = 0x7ffffff0;
    assert_int_equal(pipc__segment_open(&peer, &wrong, &err), PIPC_ERR_UNREACHABLE);
    assert_non_null(strstr(err.text, "another PID namespace"));
    pipc__segment_close(&own);
    pipc__segment_close(&own);
    assert_false(pipc__segment_is_own(&h));
}

#else /* PIPC_PERTURB: negative controls */

static void each_wait_is_needed(void **state)
{
    exec_job_t job = make_job(small_counts, -1, 44);

    (void)state;
    job.max_usec = 2000;
    assert_int_equal(exec_drop_each_wait(job, 3, 60), 2 + 4 + 4);
}

/* Of all stages of all programs, for host slots too. Four ranks in two groups are the least that have
 * every stage. */
static void each_wait_of_stages_is_needed(void **state)
{
    static const rank_plan_t island[] = {{PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_SPLIT}};
    static const rank_plan_t others[] = {{PIPC__PERMUTED, PIPC__ALLREDUCE, SHAPE_HOST},
                                         {PIPC__TWO_SHOT, PIPC__ALLREDUCE, SHAPE_ONE_WAY}};
    exec_job_t job = make_job(small_counts, 0, 44);

    /* Stream's waits are the checker's (plan_broken.c): in the slow sanitizer builds its stages, which
     * one thread runs in turns, come too late to meet a missing one. */
    (void)state;
    job.max_usec = 1000;
    job.staging_bytes = 16 << 10; /* several rounds: what ends one matters in the next but one */
    job.plans = LIST(island);
    assert_true(exec_drop_each_wait(job, 4, 60) >= 10); /* how many is the generator's choice */
    job.plans = LIST(others);
    assert_int_equal(exec_drop_each_wait(job, 3, 60), 4 + 4);
}

/* One-shot has no wait that says "you may write here again": its second staging area says it. */
static void the_second_staging_area_is_needed(void **state)
{
    exec_job_t job = make_job(counts, PIPC__ONE_SHOT, 66);

    (void)state;
    job.max_usec = 2000;
    job.one_area = 1;
    assert_int_equal(ranks_run(3, exec_job_body, &job, 60), EXEC_WRONG);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef PIPC_PERTURB
        cmocka_unit_test(each_wait_is_needed),
        cmocka_unit_test(each_wait_of_stages_is_needed),
        cmocka_unit_test(the_second_staging_area_is_needed),
#else
        cmocka_unit_test(a_large_area_is_used_in_pieces),
        cmocka_unit_test(a_dead_peer_is_named_at_once),
        cmocka_unit_test(a_dead_peer_is_named_in_stages_too),
        cmocka_unit_test(an_abort_reaches_every_rank),
        cmocka_unit_test(a_late_peer_is_waited_for),
        cmocka_unit_test(leaving_is_no_loss),
        cmocka_unit_test(staging_that_is_too_small_is_refused),
        cmocka_unit_test(a_foreign_or_dead_process_is_not_mapped),
#endif
        cmocka_unit_test(every_plan_type_operation_size_and_alignment_is_right),
        cmocka_unit_test(plans_in_stages_are_right),
        cmocka_unit_test(plans_over_host_memory_are_right),
        cmocka_unit_test(reduce_scatter_and_allgather_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
