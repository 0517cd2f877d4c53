/* tests/unit/exec_cpu.c - the CPU executor: right sums for every plan, rank count, type, size,
 * alignment, in and out of place; peers that die, abort or come late.
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

#include "runtime/exec/perturb.h"
#include "runtime/plan/generate.h"
#include "tests/unit/ranks.h"

#define STAGING (64 << 10) /* small, so that middling messages take several rounds */
#define POISON 0xa5

typedef struct job {
    int plan; /* -1: alternate */
    size_t max_count;
    int calls;
    int drop_step; /* perturbed builds: the wait to take out, or -1 */
    uint32_t max_usec;
    int one_area;
} job_t;

/* Sizes around every edge: empty, one, not a multiple of anything, several rounds. */
static const size_t counts[] = {0, 1, 2, 7, 31, 33, 257, 1000, 4097, 16385, 50021};

static int one_call(rank_exec_t *re, const job_t *job, int rank, int n, unsigned int call)
{
    size_t count = counts[call % (sizeof(counts) / sizeof(counts[0]))] % (job->max_count + 1);
    pipc_dtype_t dtype = (pipc_dtype_t)(call % PIPC_DTYPE_COUNT);
    size_t bytes = count * pipc_dtype_bytes(dtype), skew = call / 3 % 4 * 4 % 13 + call % 2;
    int plan = job->plan < 0 ? (int)(call / 2 % (unsigned int)re->nplans) : job->plan;
    bool in_place = call / 5 % 2;
    char *send = malloc(bytes + 64), *recv = malloc(bytes + 64), *want = malloc(bytes + 1);
    pipc__error_t err;
    int bad = 0;

    memset(recv, POISON, bytes + 64);
    char *in = (in_place ? recv : send) + skew, *out = recv + skew;
    test_fill(in, count, dtype, rank, call);
    test_expect(want, count, dtype, n, call);
    pipc__exec_call_t k = {re->plans[plan], in, out, count, dtype, PIPC_SUM, NULL, call + 1};
    if (re->exec->ops->run(re->exec, &k, &err)) {
        fprintf(stderr, "# rank %d: %s\n", rank, err.text);
        bad = 2;
    } else if (memcmp(out, want, bytes)) {
        bad = 1;
    }
    for (size_t i = 0; i < 64 - skew; i++) /* nothing behind the output was touched */
        bad |= out[bytes + i] != (char)POISON ? 4 : 0;
    free(send);
    free(recv);
    free(want);
    return bad;
}

static int run_calls(ranks_t *all, int rank, void *arg)
{
    const job_t *job = arg;
    rank_exec_t re;
    int bad = 0;

#ifdef PIPC_PERTURB
    pipc__perturb = (pipc__perturb_t){job->max_usec, job->drop_step, job->one_area, 42};
#endif
    rank_exec_open(&re, &pipc__exec_cpu, STAGING, all, rank);
    for (unsigned int call = 0; call < (unsigned int)job->calls; call++)
        bad |= one_call(&re, job, rank, ranks_size(all), call);
    rank_exec_close(&re);
    return bad;
}

static void every_plan_type_size_and_alignment_sums_right(void **state)
{
    (void)state;
    for (int n = 1; n <= PIPC__RANKS_MAX; n = n < 5 ? n + 1 : n * 2 - 2)
        for (int plan = -1; plan < PIPC__PLAN_KINDS; plan++) {
            job_t job = {plan, 50021, n > 5 ? 22 : 66, -1, n > 5 ? 100 : 500, 0};
            if (ranks_run(n, run_calls, &job, 60))
                fail_msg("%d ranks, plan %d", n, plan);
        }
}

#ifndef PIPC_PERTURB

/* --- peers that die, abort, come late --------------------------------------------------------- */

typedef struct loss {
    int victim; /* this rank dies or aborts before its 3rd call */
    bool aborts, late;
} loss_t;

static int run_until_lost(ranks_t *all, int rank, void *arg)
{
    const loss_t *loss = arg;
    job_t job = {-1, 4097, 0, -1, 0, 0};
    rank_exec_t re;
    pipc__error_t err = {PIPC_OK, ""};
    char who[32];
    float x[100] = {0}, y[100];

    rank_exec_open(&re, &pipc__exec_cpu, STAGING, all, rank);
    if (one_call(&re, &job, rank, ranks_size(all), 6) | one_call(&re, &job, rank, ranks_size(all), 7))
        return 1;
    ranks_gather(all, rank, NULL, 0, NULL); /* nobody is still in call 2 */
    if (rank == loss->victim && loss->late)
        usleep(700 * 1000);
    if (rank == loss->victim && loss->aborts) {
        pipc__control_abort(re.ctl, PIPC_ERR_ABORTED, rank);
        return 0;
    }
    if (rank == loss->victim && !loss->late)
        _exit(9);
    pipc__exec_call_t k = {re.plans[0], x, y, 100, PIPC_F32, PIPC_SUM, NULL, 3};
    pipc_status_t st = re.exec->ops->run(re.exec, &k, &err);
    if (loss->late) {
        rank_exec_close(&re);
        return st != PIPC_OK;
    }
    if (st != (loss->aborts ? PIPC_ERR_ABORTED : PIPC_ERR_PEER_LOST))
        return 2;
    snprintf(who, sizeof(who), "rank %d (process ", loss->victim);
    if (strncmp(err.text, who, strlen(who)) || !strstr(err.text, "call 3") ||
        !strstr(err.text, "step ")) {
        fprintf(stderr, "# %s\n", err.text);
        return 3;
    }
    return 0;
}

static void a_dead_peer_is_named_at_once(void **state)
{
    (void)state;
    for (int n = 2; n <= 5; n++) {
        loss_t loss = {n / 2, false, false};
        int exits[PIPC__RANKS_MAX];
        assert_int_equal(ranks_run_each(n, run_until_lost, &loss, 5, exits), 0);
        for (int r = 0; r < n; r++)
            assert_int_equal(exits[r], r == loss.victim ? 9 : 0);
    }
}

static void an_abort_reaches_every_rank(void **state)
{
    loss_t loss = {1, true, false};

    (void)state;
    assert_int_equal(ranks_run(4, run_until_lost, &loss, 5), 0);
}

static void a_late_peer_is_waited_for(void **state)
{
    loss_t loss = {1, false, true};

    (void)state;
    assert_int_equal(ranks_run(3, run_until_lost, &loss, 20), 0);
}

static int open_and_close(ranks_t *all, int rank, void *arg)
{
    rank_exec_t re;

    (void)arg;
    for (int i = 0; i < 20; i++) {
        rank_exec_open(&re, &pipc__exec_cpu, STAGING, all, rank);
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
    assert_int_equal(pipc__exec_cpu.create(&x, ctl, 4096, handle, &place, &err), PIPC_OK);
    assert_int_equal(pipc__plan_make(&plan, PIPC__TWO_SHOT, 16, &err), PIPC_OK);
    assert_int_equal(pipc__exec_cpu.prepare(x, plan, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "staging of"));
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
    assert_int_equal(pipc__segment_create(&own, 100, &h, &err), PIPC_OK);
    wrong = h;
    wrong.nonce[3] ^= 1; /* the number was taken over by another process */
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
}

#else /* PIPC_PERTURB: negative controls */

static void each_wait_is_needed(void **state)
{
    pipc__error_t err;
    int tried = 0;

    (void)state;
    for (int kind = 0; kind < PIPC__PLAN_KINDS; kind++) {
        pipc__plan_t *p;
        assert_int_equal(pipc__plan_make(&p, (pipc__plan_kind_t)kind, 3, &err), PIPC_OK);
        for (int i = 0; i < p->nops[0]; i++) {
            if (p->ops[0][i].kind != PIPC__WAIT)
                continue;
            job_t job = {kind, 4097, 66, i, 2000, 0};
            if (ranks_run(3, run_calls, &job, 60) != 1)
                fail_msg("%s is right without the wait of step %d", p->name, i);
            tried++;
        }
        pipc__plan_free(p);
    }
    assert_int_equal(tried, 2 + 4);
}

/* One-shot has no wait that says "you may write here again": its second staging area says it. */
static void the_second_staging_area_is_needed(void **state)
{
    job_t job = {PIPC__ONE_SHOT, 50021, 66, -1, 2000, 1};

    (void)state;
    assert_int_equal(ranks_run(3, run_calls, &job, 60), 1);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef PIPC_PERTURB
        cmocka_unit_test(each_wait_is_needed),
        cmocka_unit_test(the_second_staging_area_is_needed),
#else
        cmocka_unit_test(a_dead_peer_is_named_at_once),
        cmocka_unit_test(an_abort_reaches_every_rank),
        cmocka_unit_test(a_late_peer_is_waited_for),
        cmocka_unit_test(leaving_is_no_loss),
        cmocka_unit_test(staging_that_is_too_small_is_refused),
        cmocka_unit_test(a_foreign_or_dead_process_is_not_mapped),
#endif
        cmocka_unit_test(every_plan_type_size_and_alignment_sums_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
