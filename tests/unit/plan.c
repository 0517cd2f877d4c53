/* tests/unit/plan.c - the generators make right plans, the checker refuses wrong ones */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/plan/check.h"
#include "runtime/plan/generate.h"

#define KINDS PIPC__PLAN_KINDS_PLAIN /* the others have tests of their own */

static pipc__plan_t *make(pipc__plan_kind_t kind, int nranks)
{
    pipc__plan_t *p;
    pipc__error_t err;

    if (pipc__plan_make(&p, kind, nranks, &err))
        fail_msg("%s", err.text);
    return p;
}

/* --- how a message is cut ------------------------------------------------------------------- */

static void every_element_is_in_exactly_one_part(void **state)
{
    static const size_t counts[] = {0, 1, 7, 31, 32, 33, 4097, 100003};
    static const size_t elem_bytes[] = {1, 2, 4, 8};

    (void)state;
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++)
        for (int nchunks = 1; nchunks <= 16; nchunks++)
            for (int nlanes = 1; nlanes <= 33; nlanes += 4)
                for (int e = 0; e < 4; e++) {
                    pipc__split_t s = pipc__split(counts[c], elem_bytes[e], nchunks, nlanes);
                    size_t next = 0;
                    for (int chunk = 0; chunk < nchunks; chunk++)
                        for (int lane = 0; lane < nlanes; lane++) {
                            size_t first;
                            size_t n = pipc__split_part(s, counts[c], chunk, lane, &first);
                            if (!n)
                                continue;
                            assert_int_equal(first, next);
                            assert_int_equal(first * elem_bytes[e] % PIPC__SPLIT_BYTES, 0);
                            assert_true(n <= s.lane);
                            next = first + n;
                        }
                    assert_int_equal(next, counts[c]);
                }
}

static void a_round_always_fits_its_slots(void **state)
{
    (void)state;
    for (int nslots = 1; nslots <= PIPC__SLOTS_MAX; nslots++)
        for (int nlanes = 1; nlanes <= 64; nlanes += 3)
            for (size_t elem = 1; elem <= 8; elem *= 2) {
                size_t area = 2 << 20, part = pipc__lane_slot_bytes(area, nslots, nlanes);
                size_t most = pipc__round_elems(part, elem, nslots, nlanes);
                assert_true(part * (size_t)nslots * (size_t)nlanes <= area);
                for (size_t n = most; n > 0; n = n * 2 / 3)
                    assert_true(pipc__split(n, elem, nslots, nlanes).lane * elem <= part);
            }
}

/* --- right plans ---------------------------------------------------------------------------- */

/* Call i is plans[digit i of @which]. */
static void check_triple(pipc__plan_t *const plans[KINDS], int which, int lanes,
                         bool in_place)
{
    pipc__check_call_t calls[3];
    pipc__error_t err;

    /* Three calls, because with two staging areas a slot is used again two rounds later. */
    for (int i = 0; i < 3; i++, which /= KINDS)
        calls[i] = (pipc__check_call_t){plans[which % KINDS],
                                        1 + which % KINDS * 2 % 3,
                                        i == 1 ? lanes : PIPC__CHECK_LANES_MAX, in_place};
    if (pipc__plan_check(calls, 3, PIPC__BUFFERS, &err))
        fail_msg("%s", err.text);
}

static void any_plan_may_follow_any_other(void **state)
{
    (void)state;
    for (int n = 1; n <= PIPC__RANKS_MAX; n++) {
        pipc__plan_t *plans[KINDS];
        for (int k = 0; k < KINDS; k++)
            plans[k] = make((pipc__plan_kind_t)k, n);
        for (int which = 0; which < KINDS * KINDS * KINDS; which++)
            for (int lanes = 1; lanes <= PIPC__CHECK_LANES_MAX; lanes++)
                for (int in_place = 0; in_place < 2; in_place++)
                    check_triple(plans, which, lanes, in_place);
        for (int k = 0; k < KINDS; k++)
            pipc__plan_free(plans[k]);
    }
}

static void a_plan_needs_1_to_16_ranks(void **state)
{
    static const int bad[] = {-1, 0, PIPC__RANKS_MAX + 1};
    pipc__plan_t *p;
    pipc__error_t err;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pipc__plan_make(&p, PIPC__ONE_SHOT, bad[i], &err), PIPC_ERR_INVALID);
        assert_null(p);
    }
    assert_int_equal(pipc__plan_make(&p, PIPC__PLAN_KINDS, 2, &err), PIPC_ERR_INVALID);
    assert_null(pipc__plan_name(PIPC__PLAN_KINDS));
}

/* --- wrong plans: one fault each, and the checker's words for it ------------------------------- */

static pipc__op_t *find(pipc__plan_t *p, int rank, pipc__op_kind_t kind, int nth)
{
    for (int i = 0; i < p->program[rank][0].nops; i++)
        if (p->program[rank][0].ops[i].kind == kind && nth-- == 0)
            return &p->program[rank][0].ops[i];
    fail_msg("the plan has no such op");
    return NULL;
}

static void remove_op(pipc__plan_t *p, int rank, pipc__op_t *op)
{
    size_t after = (size_t)(&p->program[rank][0].ops[p->program[rank][0].nops] - (op + 1));

    memmove(op, op + 1, after * sizeof(*op));
    p->program[rank][0].nops--;
}

static void swap_with_next(pipc__op_t *op)
{
    pipc__op_t t = op[0];

    op[0] = op[1];
    op[1] = t;
}

static void lose_contribution(pipc__plan_t *p)
{
    pipc__op_t *sum = find(p, 1, PIPC__REDUCE, 0);

    sum->nsrc--;
    sum->pre &= (uint16_t)((1u << sum->nsrc) - 1);
}
static void lose_unfinished(pipc__plan_t *p)
{
    lose_contribution(p);
    find(p, 1, PIPC__REDUCE, 0)->post = 0;
}
static void forget_pre(pipc__plan_t *p)
{
    find(p, 1, PIPC__REDUCE, 0)->pre &= (uint16_t)~2u;
}
static void pre_twice(pipc__plan_t *p)
{
    find(p, 1, PIPC__REDUCE, 1)->pre = 3; /* a partial result came in slot 1 */
}
static void forget_post(pipc__plan_t *p)
{
    for (int i = 0; i < p->program[1][0].nops; i++)
        p->program[1][0].ops[i].post = 0;
}
static void post_early(pipc__plan_t *p)
{
    find(p, 1, PIPC__REDUCE, 0)->post = 1;
}
static void pre_for_nothing(pipc__plan_t *p)
{
    find(p, 1, PIPC__REDUCE, 0)->pre |= (uint16_t)(1u << p->nranks);
}
static void copy_with_post(pipc__plan_t *p)
{
    find(p, 1, PIPC__COPY, 0)->post = 1;
}
static void reduce_complete(pipc__plan_t *p)
{
    /* Rank 0 reduces a second time what rank 1 has completed and sent round. */
    pipc__op_t *last = find(p, 0, PIPC__COPY, 3);

    last->kind = PIPC__REDUCE;
    last->nsrc = 2;
    last->src[1] = last->src[0];
}
static void forget_ring_wait(pipc__plan_t *p)
{
    remove_op(p, 2, find(p, 2, PIPC__WAIT, 1));
}
static void ring_turns_back(pipc__plan_t *p)
{
    /* Rank 1 pushes its first chunk to rank 0, who waits for rank 2 on that slot. */
    find(p, 1, PIPC__COPY, 0)->dst.rank = 0;
}
static void double_contribution(pipc__plan_t *p)
{
    pipc__op_t *sum = find(p, 1, PIPC__REDUCE, 0);

    sum->src[2] = sum->src[0];
}
static void other_order(pipc__plan_t *p)
{
    pipc__op_t *sum = find(p, 1, PIPC__REDUCE, 0);
    pipc__ref_t t = sum->src[0];

    sum->src[0] = sum->src[2];
    sum->src[2] = t;
}
static void forget_wait(pipc__plan_t *p)
{
    remove_op(p, 2, find(p, 2, PIPC__WAIT, 0));
}
static void forget_last_wait(pipc__plan_t *p)
{
    pipc__op_t *last = find(p, 2, PIPC__WAIT, 2 * (p->nranks - 1) - 1);

    remove_op(p, 2, last);
}
static void forget_signal(pipc__plan_t *p)
{
    remove_op(p, 0, find(p, 0, PIPC__SIGNAL, 1));
}
static void signal_before_push(pipc__plan_t *p)
{
    swap_with_next(find(p, 0, PIPC__COPY, 0));
}
static void signal_twice(pipc__plan_t *p)
{
    pipc__op_t *second = find(p, 0, PIPC__SIGNAL, 1), *first = find(p, 0, PIPC__SIGNAL, 0);

    second->peer = first->peer;
    second->flag = first->flag;
}
static void wait_first(pipc__plan_t *p)
{
    /* Everybody waits before anybody signals. */
    for (int r = 0; r < p->nranks; r++)
        for (int i = p->program[r][0].nops - 1; i > 0; i--)
            if (p->program[r][0].ops[i].kind == PIPC__WAIT)
                for (int j = i; j > 0 && p->program[r][0].ops[j - 1].kind != PIPC__WAIT; j--)
                    swap_with_next(&p->program[r][0].ops[j - 1]);
}
static void same_slot_for_two(pipc__plan_t *p)
{
    /* Ranks 0 and 1 push to the same slot of rank 2, which then sums it twice. */
    for (int i = 0; i < p->program[0][0].nops; i++)
        if (p->program[0][0].ops[i].kind == PIPC__COPY && p->program[0][0].ops[i].dst.rank == 2)
            p->program[0][0].ops[i].dst.slot = 1;
    find(p, 2, PIPC__REDUCE, 0)->src[0].slot = 1;
}
static void slot_out_of_range(pipc__plan_t *p)
{
    find(p, 0, PIPC__COPY, 0)->dst.slot = (uint16_t)p->nslots;
}
static void foreign_input(pipc__plan_t *p)
{
    find(p, 0, PIPC__COPY, 0)->src[0].rank = 1;
}
static void foreign_output(pipc__plan_t *p)
{
    find(p, 0, PIPC__REDUCE, 0)->dst.rank = 1;
}
static void write_input(pipc__plan_t *p)
{
    find(p, 0, PIPC__REDUCE, 0)->dst.place = PIPC__INPUT;
}
static void wrong_chunk(pipc__plan_t *p)
{
    find(p, 0, PIPC__REDUCE, 0)->chunk ^= 1;
}
static void early_output(pipc__plan_t *p)
{
    /* In place: the sum overwrites the input before the last push has read it. */
    pipc__op_t *sum = find(p, 0, PIPC__REDUCE, 0);
    pipc__op_t moved = *sum;
    pipc__op_t *push = find(p, 0, PIPC__COPY, p->nranks - 2);
    pipc__op_t *next_push_end = push + 2; /* behind its signal */

    for (pipc__op_t *op = sum; op > next_push_end; op--)
        op[0] = op[-1];
    *next_push_end = *push;
    next_push_end->chunk = 0;
    push->kind = PIPC__REDUCE;
    *push = moved;
}

static const struct fault {
    const char *name;
    pipc__plan_kind_t kind;
    int nranks, buffers;
    void (*inject)(pipc__plan_t *p);
    const char *words; /* the start of what follows "step N: " or "chunk N: " */
} faults[] = {
    {"a missing contribution", PIPC__ONE_SHOT, 3, 2, lose_contribution,
     "applies the post-op to a result that lacks a contribution"},
    {"a missing contribution", PIPC__TWO_SHOT, 4, 2, lose_contribution,
     "applies the post-op to a result that lacks a contribution"},
    {"a missing contribution", PIPC__ONE_SHOT, 3, 2, lose_unfinished,
     "output lacks a contribution"},
    {"a double contribution", PIPC__ONE_SHOT, 3, 2, double_contribution,
     "adds a contribution that is in the result already"},
    {"another order of reduction", PIPC__ONE_SHOT, 3, 2, other_order,
     "output is reduced in another order"},
    {"no pre-op", PIPC__ONE_SHOT, 3, 2, forget_pre, "takes in a contribution without pre-op"},
    {"no pre-op", PIPC__RING, 4, 2, forget_pre, "takes in a contribution without pre-op"},
    {"a second pre-op", PIPC__RING, 4, 2, pre_twice, "applies the pre-op a second time"},
    {"no post-op", PIPC__TWO_SHOT, 3, 2, forget_post, "output lacks the post-op"},
    {"no post-op", PIPC__RING, 4, 2, forget_post, "output lacks the post-op"},
    {"a post-op too early", PIPC__RING, 4, 2, post_early, "applies the post-op to a result"},
    {"a pre-op for nothing", PIPC__ONE_SHOT, 3, 2, pre_for_nothing, "has a pre-op for a source"},
    {"a copy that changes values", PIPC__TWO_SHOT, 3, 2, copy_with_post, "is a copy, and has"},
    {"a second reduction", PIPC__RING, 3, 2, reduce_complete, "reduces what has had its post-op"},
    {"the first wait taken out", PIPC__RING, 4, 2, forget_wait, "reads a place"},
    {"the second wait taken out", PIPC__RING, 4, 2, forget_ring_wait, "reads a place"},
    {"the last wait taken out", PIPC__RING, 4, 2, forget_last_wait, "reads a place"},
    {"a signal before its push", PIPC__RING, 3, 2, signal_before_push, "reads a place"},
    {"a push to the wrong neighbour", PIPC__RING, 4, 2, ring_turns_back, "place"},
    {"waits before signals", PIPC__RING, 3, 2, wait_first, "waits for ever"},
    {"a wrong chunk", PIPC__RING, 3, 2, wrong_chunk, "reads"},
    {"a wait taken out", PIPC__ONE_SHOT, 3, 2, forget_wait, "reads a place"},
    {"the first wait taken out", PIPC__TWO_SHOT, 3, 2, forget_wait, "reads a place"},
    {"the last wait taken out", PIPC__TWO_SHOT, 3, 2, forget_last_wait, "reads a place"},
    {"a wait without a signal", PIPC__ONE_SHOT, 3, 2, forget_signal,
     "waits for a flag that nobody signals"},
    {"a signal before its push", PIPC__ONE_SHOT, 3, 2, signal_before_push, "reads a place"},
    {"a signal before its push", PIPC__TWO_SHOT, 3, 2, signal_before_push, "reads a place"},
    {"a flag signalled twice", PIPC__ONE_SHOT, 3, 2, signal_twice, "signals a flag that was"},
    {"waits before signals", PIPC__ONE_SHOT, 3, 2, wait_first, "waits for ever"},
    {"two writers of a slot", PIPC__ONE_SHOT, 3, 2, same_slot_for_two, "writes a place"},
    {"a slot out of range", PIPC__ONE_SHOT, 3, 2, slot_out_of_range, "names a slot"},
    {"a foreign input", PIPC__ONE_SHOT, 3, 2, foreign_input, "touches another rank's user buffer"},
    {"a foreign output", PIPC__TWO_SHOT, 3, 2, foreign_output,
     "touches another rank's user buffer"},
    {"a write to the input", PIPC__ONE_SHOT, 3, 2, write_input, "writes to an input"},
    {"a wrong chunk", PIPC__TWO_SHOT, 3, 2, wrong_chunk, "reads"},
    {"an output written too early", PIPC__TWO_SHOT, 3, 2, early_output, "reads a place"},
    {"one staging area", PIPC__ONE_SHOT, 2, 1, NULL, "may still"},
};

/* The fault shows within a call of three rounds and, where it is one of reuse, between calls. */
static void check_fault(const struct fault *f, int rounds, int ncalls)
{
    pipc__plan_t *p = make(f->kind, f->nranks);
    pipc__check_call_t calls[3];
    pipc__error_t err = {PIPC_OK, ""};

    if (f->inject)
        f->inject(p);
    for (int i = 0; i < 3; i++)
        calls[i] = (pipc__check_call_t){p, rounds, 2, true};
    assert_int_equal(pipc__plan_check(calls, ncalls, f->buffers, &err), PIPC_ERR_INVALID);
    if (!strstr(err.text, f->words))
        fail_msg("%s: said \"%s\"", f->name, err.text);
    if (strncmp(err.text, "plan ", 5) || !strstr(err.text, "rank "))
        fail_msg("%s: no place named in \"%s\"", f->name, err.text);
    pipc__plan_free(p);
}

static void the_checker_refuses_every_fault(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        check_fault(&faults[i], 3, 1);
        check_fault(&faults[i], 1, 3); /* reuse across calls of one round each */
    }
}

static void two_halves_need_a_second_area_only_between_calls(void **state)
{
    /* The second half of two-shot and of the ring tells everybody that the first one was read, and
     * the next first half that the second was; only a call that cuts staging differently can come
     * too early. */
    static const pipc__plan_kind_t kinds[] = {PIPC__TWO_SHOT, PIPC__RING};

    (void)state;
    for (int i = 0; i < 2; i++) {
        pipc__plan_t *p = make(kinds[i], 4);
        pipc__check_call_t calls[2] = {{p, 3, 2, true}, {p, 3, 1, true}};
        pipc__error_t err;
        assert_int_equal(pipc__plan_check(calls, 1, 1, &err), PIPC_OK);
        assert_int_equal(pipc__plan_check(calls, 2, 1, &err), PIPC_ERR_INVALID);
        pipc__plan_free(p);
    }
}

static void two_calls_that_cut_staging_differently_may_not_overlap(void **state)
{
    /* One staging area, one-shot then two-shot: no slot is shared by name, but their bytes are. */
    pipc__plan_t *a = make(PIPC__ONE_SHOT, 3), *b = make(PIPC__TWO_SHOT, 3);
    pipc__check_call_t calls[2] = {{a, 1, 2, false}, {b, 1, 1, false}};
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__plan_check(calls, 2, 1, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "in an earlier call may still use"));
    assert_non_null(strstr(err.text, "call 1"));
    assert_int_equal(pipc__plan_check(calls, 2, 2, &err), PIPC_OK);
    pipc__plan_free(a);
    pipc__plan_free(b);
}

static void calls_of_different_rank_counts_are_refused(void **state)
{
    pipc__plan_t *a = make(PIPC__ONE_SHOT, 2), *b = make(PIPC__ONE_SHOT, 3);
    pipc__check_call_t calls[2] = {{a, 1, 1, false}, {b, 1, 1, false}};
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__plan_check(calls, 2, 2, &err), PIPC_ERR_INVALID);
    calls[0].rounds = 0;
    assert_int_equal(pipc__plan_check(calls, 1, 2, &err), PIPC_ERR_INVALID);
    pipc__plan_free(a);
    pipc__plan_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_element_is_in_exactly_one_part),
        cmocka_unit_test(a_round_always_fits_its_slots),
        cmocka_unit_test(any_plan_may_follow_any_other),
        cmocka_unit_test(a_plan_needs_1_to_16_ranks),
        cmocka_unit_test(the_checker_refuses_every_fault),
        cmocka_unit_test(two_halves_need_a_second_area_only_between_calls),
        cmocka_unit_test(two_calls_that_cut_staging_differently_may_not_overlap),
        cmocka_unit_test(calls_of_different_rank_counts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
