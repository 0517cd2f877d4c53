/* tests/unit/plan_explore.c - the checker's own control: its verdicts against all interleavings
 *
 * Tiny right plans are changed in every small way. What the checker passes must be right in every
 * interleaving (explore.h); of what it refuses, most must be seen to go wrong in one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/plan/check.h"
#include "runtime/plan/generate.h"
#include "runtime/plan/text.h"
#include "tests/unit/explore.h"
#include "tests/unit/plan_meet.h"
#include "tests/unit/plan_staged.h"

#define STATES 200000

typedef struct tally {
    int structure;               /* refused for what can't be run at all */
    int right;                   /* passed, and right in all interleavings */
    int wrong, deadlock, unseen; /* refused, and what the interleavings show */
} tally_t;

typedef struct trial {
    int rounds, buffers, schedules; /* schedules: 0 for all, else how many random ones */
    bool in_place;
    const pipc__plan_t *other; /* of another node, which the plan meets over rails; NULL: none */
    tally_t tally;
} trial_t;

static explored_t explored(const pipc__plan_t *p, const trial_t *t)
{
    if (t->other) {
        pipc__plan_t *both = plan_meet(p, t->other);
        trial_t alone = *t;
        alone.other = NULL;
        explored_t found = explored(both, &alone);
        pipc__plan_free(both);
        return found;
    }

    const pipc__plan_t *plans[] = {p};
    explore_t e = {plans, 1, t->rounds, t->buffers, t->buffers, t->in_place};
    size_t states;

    if (t->schedules)
        return explore_random(&e, t->schedules, 1);
    explored_t found = explore_all(&e, STATES, &states);
    assert_true(found || states < STATES); /* or it was not all */
    return found;
}

/* The checker's word on @p against the explorer's. */
static void compare(const pipc__plan_t *p, trial_t *t, const char *change, const char *words)
{
    pipc__check_call_t call = {p, t->rounds, 1, t->in_place};
    pipc__error_t err;

    if (pipc__plan_validate(p, NULL)) {
        t->tally.structure++;
        return;
    }
    bool refused = pipc__plan_check(&call, 1, t->buffers, &err);
    explored_t found = explored(p, t);
    if (!refused && found)
        fail_msg("passed, but %s: plan %s of %d ranks, in place %d, %s: %s",
                 found == EXPLORED_WRONG ? "wrong" : "deadlocked", p->name, p->nranks, t->in_place,
                 change, words);
    t->tally.right += !refused;
    t->tally.wrong += refused && found == EXPLORED_WRONG;
    t->tally.deadlock += refused && found == EXPLORED_DEADLOCK;
    t->tally.unseen += refused && !found;
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Each changes one op of a plan; false when the change makes no sense for that op. */
typedef bool change_t(pipc__plan_t *p, int rank, int stage, pipc__op_t *op);

static bool moves(const pipc__op_t *op)
{
    return op->kind == PIPC__COPY || op->kind == PIPC__REDUCE;
}
static bool in_slot(pipc__ref_t ref)
{
    return ref.place == PIPC__SLOT || ref.place == PIPC__HOST;
}

static bool drop(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    remove_op(p, rank, stage, op);
    return true;
}
static bool swap(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    pipc__op_t t = *op;

    if (op + 1 == p->program[rank][stage].ops + p->program[rank][stage].nops)
        return false;
    op[0] = op[1];
    op[1] = t;
    return true;
}
static bool to_front(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    pipc__op_t t = *op, *first = p->program[rank][stage].ops;

    memmove(first + 1, first, (size_t)(op - first) * sizeof(t));
    *first = t;
    return op > first;
}
static bool to_back(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    pipc__op_t t = *op, *last = p->program[rank][stage].ops + p->program[rank][stage].nops - 1;

    memmove(op, op + 1, (size_t)(last - op) * sizeof(t));
    *last = t;
    return op < last;
}
static bool to_next_stage(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    pipc__program_t *to = &p->program[rank][(stage + 1) % p->nstages];

    if (p->nstages == 1)
        return false;
    memmove(to->ops + 1, to->ops, (size_t)to->nops++ * sizeof(*op));
    to->ops[0] = *op;
    remove_op(p, rank, stage, op);
    return true;
}
static bool twice(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    pipc__program_t *g = &p->program[rank][stage];

    g->ops[g->nops++] = *op;
    return moves(op);
}
static bool next_chunk(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    (void)rank, (void)stage;
    op->chunk = (uint16_t)((op->chunk + 1) % p->nchunks);
    return moves(op) && p->nchunks > 1;
}
static bool next_slot(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    (void)rank, (void)stage;
    op->dst.slot = (uint16_t)((op->dst.slot + 1) % p->nslots);
    return moves(op) && in_slot(op->dst);
}
static bool next_source_slot(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    (void)rank, (void)stage;
    for (int i = 0; i < op->nsrc; i++)
        if (in_slot(op->src[i])) {
            op->src[i].slot = (uint16_t)((op->src[i].slot + 1) % p->nslots);
            return true;
        }
    return false;
}
static bool next_rank(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    (void)rank, (void)stage;
    op->dst.rank = (uint8_t)((op->dst.rank + 1) % p->nranks);
    return moves(op);
}
static bool next_peer(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    (void)rank, (void)stage;
    op->peer = (uint16_t)((op->peer + 1) % p->nranks);
    return !moves(op);
}
static bool next_flag(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    (void)rank, (void)stage;
    op->flag = (uint16_t)((op->flag + 1) % p->nflags);
    return !moves(op);
}
static bool swap_flags(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    /* Two signals of a program change places in all but their order. */
    pipc__op_t *other = find_op(p, rank, stage, PIPC__SIGNAL, 0), t = *op;

    if (op->kind != PIPC__SIGNAL || other == op)
        return false;
    *op = *other;
    *other = t;
    return true;
}
static bool other_memory(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    (void)p, (void)rank, (void)stage;
    op->dst.place ^= PIPC__SLOT ^ PIPC__HOST;
    return op->dst.place == PIPC__SLOT || op->dst.place == PIPC__HOST;
}
static bool other_buffer(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    (void)p, (void)rank, (void)stage;
    for (int i = 0; i < op->nsrc; i++)
        if (!in_slot(op->src[i])) {
            op->src[i].place ^= PIPC__INPUT ^ PIPC__OUTPUT;
            return true;
        }
    return false;
}
static bool to_output(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    (void)p, (void)stage;
    op->dst = (pipc__ref_t){PIPC__OUTPUT, (uint8_t)rank, 0};
    return moves(op);
}
static bool other_order(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    pipc__ref_t t = op->src[0];

    (void)p, (void)rank, (void)stage;
    op->src[0] = op->src[1];
    op->src[1] = t;
    return op->kind == PIPC__REDUCE;
}
static bool same_source(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    (void)p, (void)rank, (void)stage;
    op->src[1] = op->src[0];
    return op->kind == PIPC__REDUCE;
}
static bool no_pre(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    (void)p, (void)rank, (void)stage;
    op->pre ^= 1;
    return op->kind == PIPC__REDUCE;
}
static bool no_post(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    (void)p, (void)rank, (void)stage;
    op->post ^= 1;
    return op->kind == PIPC__REDUCE;
}

static const struct change {
    const char *name;
    change_t *make;
} changes[] = {
    {"left out", drop},
    {"swapped with the next", swap},
    {"moved to the front", to_front},
    {"moved to the end", to_back},
    {"moved to the next stage", to_next_stage},
    {"done again at the end", twice},
    {"with the next chunk", next_chunk},
    {"with the next slot", next_slot},
    {"from the next slot", next_source_slot},
    {"to the next rank", next_rank},
    {"with the next peer", next_peer},
    {"with the next flag", next_flag},
    {"swapped with the first signal", swap_flags},
    {"in the other memory", other_memory},
    {"with input for output", other_buffer},
    {"to the output", to_output},
    {"in another order", other_order},
    {"with a source twice", same_source},
    {"with another pre", no_pre},
    {"with another post", no_post},
};

static void change_op(const pipc__plan_t *plan, int rank, int stage, int step, trial_t *t)
{
    char words[PIPC__OP_TEXT];

    pipc__plan_op_text(&plan->program[rank][stage].ops[step], rank, words, sizeof(words));
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        pipc__plan_t *p = clone_plan(plan);
        if (changes[i].make(p, rank, stage, &p->program[rank][stage].ops[step]))
            compare(p, t, changes[i].name, words);
        pipc__plan_free(p);
    }
}

/* The plan itself, and every change of every op, with buffers apart and in place. */
static void try_plan(pipc__plan_t *plan, trial_t *t)
{
    for (t->in_place = false;; t->in_place = true) {
        compare(plan, t, "as it is", "");
        for (int r = 0; r < plan->nranks; r++)
            for (int s = 0; s < plan->nstages; s++)
                for (int i = 0; i < plan->program[r][s].nops; i++)
                    change_op(plan, r, s, i, t);
        if (t->in_place)
            break;
    }
    pipc__plan_free(plan);
}

/* Most of what was refused must be seen to go wrong. The rest are races that this order of memory
 * and these sizes forgive: one that writes the same value twice, say. */
static void report(const trial_t *t)
{
    int refused = t->tally.wrong + t->tally.deadlock + t->tally.unseen;

    print_message("           %d rounds, %d areas: %d right; refused %d: %d wrong, %d deadlocked, "
                  "%d not seen to fail; %d can't be run\n",
                  t->rounds, t->buffers, t->tally.right, refused, t->tally.wrong, t->tally.deadlock,
                  t->tally.unseen, t->tally.structure);
    assert_true(t->tally.right);
    assert_true(t->tally.wrong);
    assert_true(t->tally.deadlock);
    assert_true(t->tally.unseen * 4 < refused);
}

/* --- tests ------------------------------------------------------------------------------------ */

static pipc__plan_t *generated(pipc__plan_kind_t kind, int nranks)
{
    pipc__plan_t *p, *roomy;

    assert_int_equal(pipc__plan_make(&p, kind, nranks, NULL), PIPC_OK);
    roomy = clone_plan(p); /* with room for one op more */
    pipc__plan_free(p);
    return roomy;
}

static void verdicts_hold_in_every_interleaving(void **state)
{
    static const struct {
        int rounds, buffers;
    } sizes[] = {{2, 1}, {2, 2}, {3, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        trial_t t = {.rounds = sizes[i].rounds, .buffers = sizes[i].buffers};
        for (int kind = 0; kind < PIPC__PLAN_KINDS_PLAIN; kind++)
            try_plan(generated((pipc__plan_kind_t)kind, 2), &t);
        for (int collective = 0; collective < 3; collective++)
            for (int host = 0; host < 2; host++)
                try_plan(staged_plan((pipc__collective_t)collective, 2, 1, host), &t);
        report(&t);
    }
}

static void verdicts_hold_where_slots_are_used_again(void **state)
{
    trial_t t = {.rounds = 2, .buffers = 2};

    (void)state;
    try_plan(staged_plan(PIPC__REDUCE_SCATTER, 2, 2, false), &t);
    try_plan(staged_plan(PIPC__REDUCE_SCATTER, 2, 3, true), &t);
    try_plan(staged_plan(PIPC__ALLGATHER, 2, 2, false), &t);
    report(&t);
}

static void verdicts_hold_in_random_interleavings_of_larger_plans(void **state)
{
    trial_t t = {.rounds = 3, .buffers = 2, .schedules = 200};

    (void)state;
    for (int kind = 0; kind < PIPC__PLAN_KINDS_PLAIN; kind++)
        try_plan(generated((pipc__plan_kind_t)kind, 3), &t);
    try_plan(staged_plan(PIPC__ALLREDUCE, 2, 2, false), &t);
    try_plan(staged_plan(PIPC__ALLREDUCE, 3, 1, true), &t);
    report(&t);
}

/* Too large to be changed in every way here, but not to be run. */
static void pipelined_plans_come_right_in_random_interleavings(void **state)
{
    static const pipc__plan_kind_t kinds[] = {PIPC__ISLAND, PIPC__PERMUTED};

    (void)state;
    for (int i = 0; i < 2 * 3 * 2; i++) {
        trial_t t = {.rounds = 3, .buffers = 2, .schedules = 100, .in_place = i % 2};
        pipc__plan_t *p;
        assert_int_equal(pipc__plan_make(&p, kinds[i / 2 % 2], 2 + i / 4, NULL), PIPC_OK);
        compare(p, &t, "as it is", "");
        assert_int_equal(t.tally.right, 1);
        pipc__plan_free(p);
    }
}

/* --- two nodes -------------------------------------------------------------------------------- */

static pipc__plan_t *of_node(pipc__plan_kind_t kind, int nranks, int nrails, int most)
{
    pipc__shape_t s;
    pipc__plan_t *p, *roomy;

    pipc__shape_flat(&s, nranks);
    s.nrails = nrails;
    s.most = most;
    assert_int_equal(pipc__plan_make_for(&p, kind, PIPC__ALLREDUCE, &s, NULL), PIPC_OK);
    roomy = clone_plan(p);
    pipc__plan_free(p);
    return roomy;
}

/* A node's plan, changed in every way, against the right plan of a node of another size: the
 * checker, who sees one node, answers for both. */
static void verdicts_on_a_node_hold_for_two(void **state)
{
    pipc__plan_t *one = of_node(PIPC__NODES_ONE, 1, 1, 2), *two = of_node(PIPC__NODES_ONE, 2, 1, 2);
    trial_t t = {.rounds = 2, .buffers = 2, .schedules = 60, .other = two};

    (void)state;
    try_plan(of_node(PIPC__NODES_ONE, 2, 1, 2), &t);
    t.other = one;
    try_plan(of_node(PIPC__NODES_ONE, 2, 1, 2), &t);
    t.other = two;
    try_plan(of_node(PIPC__NODES_ONE, 1, 1, 2), &t);
    report(&t);
    pipc__plan_free(one);
    pipc__plan_free(two);
}

static void nodes_of_other_sizes_meet(void **state)
{
    static const struct {
        int a, b, rails;
    } sizes[] = {{2, 2, 2}, {3, 2, 2}, {2, 3, 2}, {4, 1, 1}, {1, 3, 1}, {4, 3, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int most = sizes[i].a > sizes[i].b ? sizes[i].a : sizes[i].b;
        pipc__plan_t *a = of_node(PIPC__NODES, sizes[i].a, sizes[i].rails, most);
        pipc__plan_t *b = of_node(PIPC__NODES, sizes[i].b, sizes[i].rails, most);
        trial_t t = {.rounds = 3, .buffers = 2, .schedules = 30, .in_place = i % 2, .other = b};
        compare(a, &t, "as it is", "");
        assert_int_equal(t.tally.right, 1);
        pipc__plan_free(a);
        pipc__plan_free(b);
    }
}

/* Each is right for a node alone but for the order: one begins chunk 0 when it has chunk 1's sum,
 * the other the other way round. The rule against the first is what keeps them from this. */
static void nodes_that_wait_for_later_chunks_wait_for_ever(void **state)
{
    pipc__plan_t *a = of_node(PIPC__NODES, 2, 2, 2), *b = of_node(PIPC__NODES, 2, 2, 2);
    pipc__check_call_t call = {a, 1, 1, false};
    pipc__error_t err;

    (void)state;
    for (int node = 0; node < 2; node++) { /* rank 0 has chunk 0, rank 1 chunk 1 */
        pipc__plan_t *p = node ? b : a;
        pipc__op_t *take = find_op(p, node, 3, PIPC__WAIT, 0), wait = *take, signal = *take;
        pipc__program_t *sum = &p->program[node][1], *from = &p->program[node][3];
        int at = (int)(find_op(p, node, 1, PIPC__RAIL, 0) - sum->ops);
        wait.peer = signal.peer = (uint16_t)node;
        wait.flag = signal.flag = (uint16_t)p->nflags++;
        signal.kind = PIPC__SIGNAL;
        memmove(&from->ops[2], &from->ops[1], (size_t)(from->nops++ - 1) * sizeof(wait));
        from->ops[1] = signal;
        memmove(&sum->ops[at + 1], &sum->ops[at], (size_t)(sum->nops++ - at) * sizeof(wait));
        sum->ops[at] = wait;
    }
    assert_int_equal(pipc__plan_check(&call, 1, 2, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "waits for the sum of the later chunk 1 over the nodes"));
    call.plan = b; /* chunk 1 after chunk 0: that is the order */
    assert_int_equal(pipc__plan_check(&call, 1, 2, &err), PIPC_OK);
    trial_t t = {.rounds = 1, .buffers = 2, .schedules = 10, .other = b};
    assert_int_equal(explored(a, &t), EXPLORED_DEADLOCK);
    pipc__plan_free(a);
    pipc__plan_free(b);
}

/* Ranks 0, 1 and 2: a one-shot, then a ring. Rank 1 may end the one-shot and signal its round of
 * the ring on rank 2's flag 0, while rank 0 still is to signal the one-shot's there. */
static void one_set_of_flags_is_not_enough(void **state)
{
    pipc__plan_t *first = generated(PIPC__ONE_SHOT, 3), *second = generated(PIPC__RING, 3);
    const pipc__plan_t *plans[] = {first, second, first};
    explore_t e = {plans, 3, 1, PIPC__BUFFERS, 1, false};

    (void)state;
    assert_int_not_equal(explore_random(&e, 10000, 1), EXPLORED_RIGHT);
    e.flag_sets = PIPC__BUFFERS;
    assert_int_equal(explore_random(&e, 10000, 1), EXPLORED_RIGHT);
    pipc__plan_free(first);
    pipc__plan_free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_hold_in_every_interleaving),
        cmocka_unit_test(verdicts_hold_where_slots_are_used_again),
        cmocka_unit_test(verdicts_hold_in_random_interleavings_of_larger_plans),
        cmocka_unit_test(pipelined_plans_come_right_in_random_interleavings),
        cmocka_unit_test(verdicts_on_a_node_hold_for_two),
        cmocka_unit_test(nodes_of_other_sizes_meet),
        cmocka_unit_test(nodes_that_wait_for_later_chunks_wait_for_ever),
        cmocka_unit_test(one_set_of_flags_is_not_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
