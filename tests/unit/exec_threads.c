/* tests/unit/exec_threads.c - the CPU executor with threads as ranks.
 *
 * They share the owner's mapping, so ThreadSanitizer sees every access that ranks make to each
 * other's memory, and its model of release and acquire stands beside the plan checker's: a signal
 * or a wait with too weak an order is a report there, though this machine would never show it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/plan/generate.h"
#include "tests/unit/exec_calls.h"

static const size_t counts[] = {0, 1, 7, 33, 1000, 4097, 20001};

static void threads_sum_right(void **state)
{
    (void)state;
    for (int n = 2; n <= 4; n++)
        for (int plan = -1; plan < PIPC__PLAN_KINDS_PLAIN; plan++) {
            exec_job_t job = {.ops = &pipc__exec_cpu, .memory = &exec_memory_host,
                              .staging_bytes = 64 << 10, .counts = counts,
                              .ncounts = sizeof(counts) / sizeof(counts[0]), .plan = plan,
                              .calls = 42, .batch = 1, .drop_step = -1};
            if (ranks_run_threads(n, exec_job_body, &job))
                fail_msg("%d threads, plan %d", n, plan);
        }
}

/* Stages order themselves by flags of their own rank, and some pairs meet in the host's half. */
static void threads_in_groups_sum_right(void **state)
{
    static const rank_plan_t plans[] = {{PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_HALVES},
                                        {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_SPLIT},
                                        {PIPC__PERMUTED, PIPC__ALLREDUCE, SHAPE_ONE_WAY},
                                        {PIPC__ISLAND, PIPC__REDUCE_SCATTER, SHAPE_HALVES},
                                        {PIPC__ISLAND, PIPC__ALLGATHER, SHAPE_HOST}};

    (void)state;
    for (int n = 2; n <= 4; n++)
        for (int plan = -1; plan < 5; plan++) {
            exec_job_t job = {.ops = &pipc__exec_cpu, .memory = &exec_memory_host,
                              .staging_bytes = 64 << 10, .counts = counts,
                              .ncounts = sizeof(counts) / sizeof(counts[0]), .plans = {plans, 5},
                              .plan = plan, .calls = 28, .batch = 1, .drop_step = -1};
            if (ranks_run_threads(n, exec_job_body, &job))
                fail_msg("%d threads, plan %d", n, plan);
        }
}

static int open_segment(ranks_t *all, int rank, void *arg)
{
    pipc__segment_handle_t h, handles[4];
    pipc__segment_t own, peer;
    pipc__error_t err;

    (void)arg;
    if (pipc__segment_create(&own, 100, &h, &err))
        return 1;
    ranks_gather(all, rank, &h, sizeof(h), handles);
    if (pipc__segment_open(&peer, &handles[1 - rank], &err))
        return 2;
    own.base[PIPC__SEGMENT_HEAD] = (char)('a' + rank);
    ranks_gather(all, rank, &h, sizeof(h), handles);
    if (rank == 0)
        pipc__segment_close(&own); /* the owner goes first: its memory stays for who still uses it */
    ranks_gather(all, rank, &h, sizeof(h), handles);
    int rc = peer.base[PIPC__SEGMENT_HEAD] == 'a' + (1 - rank) ? 0 : 3;
    pipc__segment_close(&peer);
    pipc__segment_close(&own);
    return rc;
}

static void a_shared_mapping_goes_with_its_last_user(void **state)
{
    (void)state;
    assert_int_equal(ranks_run_threads(2, open_segment, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_sum_right),
        cmocka_unit_test(threads_in_groups_sum_right),
        cmocka_unit_test(a_shared_mapping_goes_with_its_last_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
