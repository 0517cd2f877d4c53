/* tests/unit/plan_nodes.c - plans over several nodes: they are right, fit together whatever nodes
 * they are for, and what is wrong with a rail is found
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

#include "runtime/plan/check.h"
#include "runtime/plan/generate.h"
#include "runtime/plan/json.h"
#include "runtime/plan/text.h"
#include "runtime/plan/traffic.h"
#include "tests/unit/plan_staged.h"

/* A node of @n ranks, in groups of @group ranks where that is not 0. */
static pipc__shape_t node(int n, int nrails, int most, int group)
{
    pipc__shape_t s;

    pipc__shape_flat(&s, n);
    s.nrails = nrails;
    s.most = most;
    s.nlevels = group && group < n;
    for (int r = 0; s.nlevels && r < n; r++)
        s.group[0][r] = (uint8_t)(r / group);
    return s;
}

static pipc__plan_t *make(const pipc__shape_t *shape, pipc__plan_kind_t kind)
{
    pipc__plan_t *p;
    pipc__error_t err;

    if (pipc__plan_make_for(&p, kind, PIPC__ALLREDUCE, shape, &err))
        fail_msg("%d ranks, %d rails: %s", shape->nranks, shape->nrails, err.text);
    return p;
}

static void assert_right(const pipc__plan_t *a, const pipc__plan_t *b)
{
    const pipc__check_call_t calls[] = {{a, 3, 2, true},  {b, 1, 1, false}, {b, 3, 2, false},
                                        {a, 1, 1, false}, {a, 2, 2, true},  {b, 2, 1, true}};
    pipc__error_t err;

    if (pipc__plan_check(calls, 6, PIPC__BUFFERS, &err))
        fail_msg("%d ranks, %d rails: %s", a->nranks, a->nrails, err.text);
}

static void every_node_has_a_right_plan(void **state)
{
    static const int groups[] = {0, 1, 2, 3, 5, 8}; /* 1: ranks alone, which says nothing */

    (void)state;
    for (int n = 1; n <= PIPC__RANKS_MAX; n++)
        for (int l = 1; l <= n; l += n > 8 ? 3 : 1)
            for (int i = 0; i < 6; i++) {
                pipc__shape_t s = node(n, l, n + (PIPC__RANKS_MAX - n) * (i % 2), groups[i]);
                pipc__plan_t *p = make(&s, PIPC__NODES), *one = make(&s, PIPC__NODES_ONE);
                if (n <= 8 || i < 3)
                    assert_right(p, one);
                assert_true(p->nflags <= PIPC__FLAGS_MAX && p->nslots <= PIPC__SLOTS_MAX);
                pipc__plan_free(p);
                pipc__plan_free(one);
            }
}

/* --- nodes of different sizes ----------------------------------------------------------------- */

/* The jobs that a rail begins in a round, in order. */
static int jobs_of(const pipc__plan_t *p, int rail, int chunks[PIPC__CHUNKS_MAX])
{
    int n = 0, rank = pipc__rail_owner(p->nrails, p->nranks, rail);

    for (int s = 0; s < p->nstages; s++)
        for (int i = 0; i < p->program[rank][s].nops; i++)
            if (p->program[rank][s].ops[i].kind == PIPC__RAIL)
                chunks[n++] = p->program[rank][s].ops[i].chunk;
    return n;
}

static void nodes_of_any_size_and_shape_begin_the_same_jobs(void **state)
{
    (void)state;
    for (int most = 1; most <= PIPC__RANKS_MAX; most++)
        for (int l = 1; l <= most; l++) {
            pipc__shape_t largest = node(most, l, most, 0);
            pipc__plan_t *a = make(&largest, PIPC__NODES);
            for (int n = l; n <= most; n++) {
                pipc__shape_t s = node(n, l, most, n % 4);
                pipc__plan_t *b = make(&s, PIPC__NODES);
                assert_int_equal(a->nchunks, b->nchunks);
                assert_int_equal(a->nchunks % l, 0);
                for (int rail = 0; rail < l; rail++) {
                    int x[PIPC__CHUNKS_MAX], y[PIPC__CHUNKS_MAX];
                    int njobs = jobs_of(a, rail, x);
                    assert_int_equal(njobs, a->nchunks / l);
                    assert_int_equal(njobs, jobs_of(b, rail, y));
                    assert_memory_equal(x, y, (size_t)njobs * sizeof(x[0]));
                }
                pipc__plan_free(b);
            }
            pipc__plan_free(a);
        }
}

/* Local bytes are those of two-shot where all ranks are owners; and an uplink has no more than the
 * chunks' trees need. */
static void inside_a_node_a_link_carries_what_the_island_plan_s_does(void **state)
{
    pipc__shape_t s = node(8, 8, 8, 4);
    pipc__plan_t *p = make(&s, PIPC__NODES);
    pipc__traffic_t t;

    (void)state;
    pipc__plan_traffic(&t, p, &s, 1);
    for (int r = 0; r < 8; r++)
        assert_true(t.sent[r] > 1.74 && t.sent[r] < 1.76);
    assert_true(t.out[0][0] > 0.99 && t.out[0][0] < 1.01);
    assert_int_equal(p->nchunks, 32);
    pipc__plan_free(p);
}

/* --- requests --------------------------------------------------------------------------------- */

static void kinds_are_for_one_node_or_for_several(void **state)
{
    pipc__shape_t s = node(4, 0, 0, 0);
    pipc__plan_t *p;
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__plan_make_for(&p, PIPC__NODES, PIPC__ALLREDUCE, &s, &err),
                     PIPC_ERR_UNSUPPORTED);
    assert_string_equal(err.text, "plan nodes is for ranks of several nodes");
    s = node(4, 2, 4, 0);
    assert_int_equal(pipc__plan_make_for(&p, PIPC__RING, PIPC__ALLREDUCE, &s, &err),
                     PIPC_ERR_UNSUPPORTED);
    assert_int_equal(pipc__plan_make_for(&p, PIPC__NODES, PIPC__ALLGATHER, &s, &err),
                     PIPC_ERR_UNSUPPORTED);
    s.nrails = 5;
    assert_int_equal(pipc__plan_make_for(&p, PIPC__NODES, PIPC__ALLREDUCE, &s, &err),
                     PIPC_ERR_INVALID);
    s = node(4, 2, 3, 0);
    assert_int_equal(pipc__plan_make_for(&p, PIPC__NODES, PIPC__ALLREDUCE, &s, &err),
                     PIPC_ERR_INVALID);
}

static void a_plan_over_nodes_can_be_kept_in_a_file(void **state)
{
    char path[] = "/tmp/plan_nodes.XXXXXX", words[PIPC__OP_TEXT];
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    pipc__shape_t s = node(5, 2, 7, 3);
    pipc__plan_t *p = make(&s, PIPC__NODES), *q;
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__plan_write_json(p, f, &err), PIPC_OK);
    fclose(f);
    if (pipc__plan_read_json(&q, path, &err))
        fail_msg("%s", err.text);
    unlink(path);
    assert_int_equal(q->nrails, 2);
    for (int i = 0; i < p->nranks * p->nstages; i++) {
        const pipc__program_t *a = &p->program[i / p->nstages][i % p->nstages];
        const pipc__program_t *b = &q->program[i / p->nstages][i % p->nstages];
        assert_int_equal(a->nops, b->nops);
        if (a->nops)
            assert_memory_equal(a->ops, b->ops, (size_t)a->nops * sizeof(*a->ops));
    }
    pipc__op_t rail = *find_op(p, 0, 2, PIPC__RAIL, 1);
    pipc__plan_op_text(&rail, 0, words, sizeof(words));
    assert_string_equal(words, "sum chunk 2 over the nodes in its output, post, then set its own "
                               "flag 65");
    pipc__plan_free(p);
    pipc__plan_free(q);
}

/* --- faults ----------------------------------------------------------------------------------- */

/* Four ranks, two rails: owners 0 and 2. Stages: 0 push, 1 sum and rail, 2 spread, 3 take. */
enum { PUSH, SUM, SPREAD, TAKE };

static pipc__op_t *op_of(pipc__plan_t *p, int rank, int stage, pipc__op_kind_t kind, int nth)
{
    pipc__op_t *op = find_op(p, rank, stage, kind, nth);

    assert_non_null(op);
    return op;
}

static void insert(pipc__plan_t *p, int rank, int stage, int at, pipc__op_t op)
{
    pipc__program_t *g = &p->program[rank][stage]; /* clone_plan() leaves room */

    memmove(&g->ops[at + 1], &g->ops[at], (size_t)(g->nops++ - at) * sizeof(op));
    g->ops[at] = op;
}

static void swap(pipc__op_t *a, pipc__op_t *b)
{
    pipc__op_t t = *a;

    *a = *b;
    *b = t;
}

static void rails_twice(pipc__plan_t *p)
{
    insert(p, 0, SUM, p->program[0][SUM].nops, *op_of(p, 0, SUM, PIPC__RAIL, 0));
}
static void rails_none(pipc__plan_t *p)
{
    pipc__op_t *rail = op_of(p, 0, SUM, PIPC__RAIL, 0);

    rail->kind = PIPC__SIGNAL;
    rail->nsrc = 0;
    rail->dst = (pipc__ref_t){PIPC__SLOT, 0, 0};
}
static void rails_before_the_sum(pipc__plan_t *p)
{
    swap(op_of(p, 0, SUM, PIPC__REDUCE, 0), op_of(p, 0, SUM, PIPC__RAIL, 0));
}
static void rails_what_lacks_a_rank(pipc__plan_t *p)
{
    pipc__op_t *sum = op_of(p, 0, SUM, PIPC__REDUCE, 1);

    sum->nsrc--;
    sum->pre = (uint16_t)((1u << sum->nsrc) - 1);
}
static void rails_an_input(pipc__plan_t *p)
{
    op_of(p, 0, SUM, PIPC__REDUCE, 0)->dst = (pipc__ref_t){PIPC__SLOT, 0, 0};
    op_of(p, 0, SUM, PIPC__RAIL, 0)->dst.place = PIPC__INPUT;
    op_of(p, 0, SUM, PIPC__RAIL, 0)->src[0].place = PIPC__INPUT;
}
static void rails_to_another_place(pipc__plan_t *p)
{
    op_of(p, 0, SUM, PIPC__RAIL, 0)->src[0] = (pipc__ref_t){PIPC__SLOT, 0, 3};
}
static void rails_elsewhere(pipc__plan_t *p)
{
    op_of(p, 0, SUM, PIPC__RAIL, 0)->dst.rank = 1;
    op_of(p, 0, SUM, PIPC__RAIL, 0)->src[0].rank = 1;
}
static void post_before_the_rail(pipc__plan_t *p)
{
    op_of(p, 0, SUM, PIPC__REDUCE, 0)->post = 1;
}
static void no_post(pipc__plan_t *p)
{
    op_of(p, 2, SUM, PIPC__RAIL, 0)->post = 0;
}
static void a_stranger_rails(pipc__plan_t *p)
{
    pipc__op_t rail = *op_of(p, 0, SUM, PIPC__RAIL, 0);

    rail.peer = 1;
    rail.dst.rank = rail.src[0].rank = 1;
    insert(p, 1, PUSH, 0, rail);
}
static void another_owner(pipc__plan_t *p)
{
    op_of(p, 0, SUM, PIPC__RAIL, 0)->chunk = 1;
}
static void descending(pipc__plan_t *p)
{
    /* Both sums, then the rails the other way round: right on this node alone. */
    pipc__program_t *g = &p->program[0][SUM];
    pipc__op_t *first = op_of(p, 0, SUM, PIPC__RAIL, 0), rail = *first;

    remove_op(p, 0, SUM, first);
    insert(p, 0, SUM, (int)(op_of(p, 0, SUM, PIPC__RAIL, 0) - g->ops) + 1, rail);
}
static void in_two_stages(pipc__plan_t *p)
{
    /* In order on this node, since it comes when the job before has ended. */
    pipc__op_t *last = op_of(p, 0, SUM, PIPC__RAIL, 7), rail = *last;

    remove_op(p, 0, SUM, last);
    insert(p, 0, SPREAD, (int)(op_of(p, 0, SPREAD, PIPC__WAIT, 7) - p->program[0][SPREAD].ops),
           rail);
}
static void spreads_before_the_rail(pipc__plan_t *p)
{
    remove_op(p, 0, SPREAD, op_of(p, 0, SPREAD, PIPC__WAIT, 0));
}
static void spreads_by_the_sum(pipc__plan_t *p)
{
    /* The wait is for a signal that the sum gives before its job. */
    pipc__op_t *wait = op_of(p, 0, SPREAD, PIPC__WAIT, 0);
    pipc__op_t signal = *wait;

    signal.kind = PIPC__SIGNAL;
    signal.flag = wait->flag = (uint16_t)p->nflags++;
    insert(p, 0, SUM, (int)(op_of(p, 0, SUM, PIPC__RAIL, 0) - p->program[0][SUM].ops), signal);
    insert(p, 0, TAKE, 0, *wait); /* and this one is for the job's end, too late */
    p->program[0][TAKE].ops[0].flag = op_of(p, 0, SUM, PIPC__RAIL, 0)->flag;
}
static void spreads_by_the_job_before(pipc__plan_t *p)
{
    swap(op_of(p, 0, SPREAD, PIPC__WAIT, 0), op_of(p, 0, SPREAD, PIPC__WAIT, 1));
    remove_op(p, 0, SPREAD, op_of(p, 0, SPREAD, PIPC__WAIT, 0));
    insert(p, 0, SPREAD, 0,
           (pipc__op_t){.kind = PIPC__WAIT,
                        .flag = op_of(p, 0, SUM, PIPC__RAIL, 0)->flag,
                        .dst = {PIPC__SLOT, 0, 0}});
    remove_op(p, 0, SPREAD, op_of(p, 0, SPREAD, PIPC__WAIT, 1));
    insert(p, 0, TAKE, 0,
           (pipc__op_t){.kind = PIPC__WAIT,
                        .flag = op_of(p, 0, SUM, PIPC__RAIL, 1)->flag,
                        .dst = {PIPC__SLOT, 0, 0}});
}
static void writes_under_the_rail(pipc__plan_t *p)
{
    pipc__program_t *g = &p->program[0][SUM];

    insert(p, 0, SUM, (int)(op_of(p, 0, SUM, PIPC__RAIL, 0) - g->ops) + 1,
           *op_of(p, 0, SUM, PIPC__REDUCE, 0));
}
static void nobody_waits(pipc__plan_t *p)
{
    /* Who spreads does it by the slot of a peer's, whatever is in it. */
    remove_op(p, 0, SPREAD, op_of(p, 0, SPREAD, PIPC__WAIT, 3));
}
static void no_such_flag(pipc__plan_t *p)
{
    op_of(p, 0, SUM, PIPC__RAIL, 0)->flag = (uint16_t)p->nflags;
}
static void flag_of_another(pipc__plan_t *p)
{
    op_of(p, 0, SUM, PIPC__RAIL, 0)->flag = op_of(p, 0, SUM, PIPC__RAIL, 1)->flag;
}
static void no_rails(pipc__plan_t *p)
{
    p->nrails = 0;
}
static void too_many_rails(pipc__plan_t *p)
{
    p->nrails = 5;
}
static void rails_that_chunks_do_not_fit(pipc__plan_t *p)
{
    p->nrails = 3;
}
static void waits_for_a_later_chunk(pipc__plan_t *p)
{
    /* Rank 0 begins chunk 0 when chunk 1's rail, rank 2's, has brought its sum: on a node that does
     * it the other way round, both would wait. */
    pipc__op_t *take = op_of(p, 0, TAKE, PIPC__WAIT, 0), signal = *take, wait = *take;

    signal.kind = PIPC__SIGNAL;
    signal.peer = wait.peer = 0;
    signal.flag = wait.flag = (uint16_t)p->nflags++;
    insert(p, 0, TAKE, 1, signal);
    insert(p, 0, SUM, (int)(op_of(p, 0, SUM, PIPC__RAIL, 0) - p->program[0][SUM].ops), wait);
}
static void sums_a_rail_s_sum(pipc__plan_t *p)
{
    /* What comes down is added to what is there already. */
    pipc__op_t *take = op_of(p, 1, TAKE, PIPC__COPY, 0);

    take->kind = PIPC__REDUCE;
    take->nsrc = 2;
    take->src[1] = (pipc__ref_t){PIPC__INPUT, 1, 0};
    take->pre = 2;
}
static void keeps_the_node_s_sum(pipc__plan_t *p)
{
    /* The owner sums once more, into its output, when the others have what the rail made. */
    pipc__op_t sum = *op_of(p, 0, SUM, PIPC__REDUCE, 0);

    insert(p, 0, SPREAD, p->program[0][SPREAD].nops - 2, sum);
}

static const struct fault {
    const char *name;
    void (*inject)(pipc__plan_t *p);
    const char *place, *words; /* both are in the error */
} faults[] = {
    {"a chunk railed twice", rails_twice, "rank 0, stage 1",
     "sums a chunk a second time over the nodes"},
    {"a chunk that is not railed", rails_none, "plan nodes", "before an earlier chunk of its rail"},
    {"a rail before its sum", rails_before_the_sum, "rank 0, stage 1, step 3",
     "reads a place that nothing was written to yet"},
    {"a rail of an incomplete sum", rails_what_lacks_a_rank, "rank 0, stage 1",
     "sums over the nodes what lacks a contribution: rank 3's"},
    {"a rail of an input", rails_an_input, "rank 0, stage 1", "writes to an input"},
    {"a rail to another place", rails_to_another_place, "rank 0, stage 1", "is not in place"},
    {"a rail of another rank's output", rails_elsewhere, "rank 0, stage 1",
     "is in another rank's memory"},
    {"the post-op before the rail", post_before_the_rail, "rank 0, stage 1",
     "sums what has had its post-op already"},
    {"no post-op", no_post, "chunk 1", "output lacks the post-op"},
    {"a rail of who is on none", a_stranger_rails, "rank 1, stage 0, step 0",
     "is of a chunk whose rail another rank is on"},
    {"a rail of another's chunk", another_owner, "rank 0, stage 1",
     "is of a chunk whose rail another rank is on"},
    {"rails in another order than other nodes", descending, "rank 0, stage 1",
     "is before an earlier chunk of its rail"},
    {"rails in two stages", in_two_stages, "rank 0, stage 2",
     "is of a rail whose jobs another stage begins"},
    {"no wait for a rail", spreads_before_the_rail, "rank 0, stage 1", "nobody waits for it"},
    {"a gather before the rail", spreads_by_the_sum, "rank 0, stage 2",
     "reads a place while rank 0, its rail may still write it"},
    {"a write under the rail", writes_under_the_rail, "rank 0, stage 1",
     "writes a place while rank 0, its rail may still write it"},
    {"a job that the call may leave behind", nobody_waits, "rank 0, stage 1",
     "nobody waits for it"},
    {"a rail without a flag", no_such_flag, "rank 0, stage 1", "names a flag that does not exist"},
    {"two rails with one flag", flag_of_another, "rank 0, stage 1",
     "signals a flag that was signalled already in this round"},
    {"a plan of one node with a rail", no_rails, "rank 0, stage 1",
     "is for several nodes, in a plan of one"},
    {"more rails than ranks", too_many_rails, "plan nodes", "number of rails out of range"},
    {"rails and chunks that do not fit", rails_that_chunks_do_not_fit, "plan nodes",
     "number of chunks is no multiple of the number of rails"},
    {"a rail that waits for a later chunk's", waits_for_a_later_chunk, "rank 0, stage 1",
     "waits for the sum of the later chunk 1 over the nodes"},
    {"a sum of a rail's sum", sums_a_rail_s_sum, "rank 1, stage 3",
     "reduces what has had its post-op already"},
    {"the node's sum again", keeps_the_node_s_sum, "rank 0, chunk 0", "output lacks the sum over"},
};

static void every_fault_is_refused_with_its_place(void **state)
{
    pipc__shape_t s = node(4, 2, 4, 0);
    pipc__plan_t *right = make(&s, PIPC__NODES);

    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        pipc__plan_t *p = clone_plan(right);
        pipc__check_call_t calls[2] = {{p, 2, 2, false}, {p, 1, 2, false}};
        pipc__error_t err = {PIPC_OK, ""};
        assert_int_equal(pipc__plan_check(calls, 2, PIPC__BUFFERS, &err), PIPC_OK);
        faults[i].inject(p);
        pipc_status_t st = pipc__plan_check(calls, 2, PIPC__BUFFERS, &err);
        if (st != PIPC_ERR_INVALID || !strstr(err.text, faults[i].place) ||
            !strstr(err.text, faults[i].words))
            fail_msg("%s: said \"%s\"", faults[i].name, st ? err.text : "right");
        pipc__plan_free(p);
    }
    pipc__plan_free(right);
}

/* Jobs on their way at the same time: the end of one tells nothing of a later one. */
static void the_end_of_an_earlier_job_is_not_enough(void **state)
{
    pipc__shape_t s = node(4, 2, 4, 0);
    pipc__plan_t *right = make(&s, PIPC__NODES), *p = clone_plan(right);
    pipc__check_call_t call = {p, 1, 1, false};
    pipc__error_t err = {PIPC_OK, ""};

    (void)state;
    spreads_by_the_job_before(p);
    assert_int_equal(pipc__plan_check(&call, 1, PIPC__BUFFERS, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "its rail may still write it"));
    pipc__plan_free(p);
    pipc__plan_free(right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_has_a_right_plan),
        cmocka_unit_test(nodes_of_any_size_and_shape_begin_the_same_jobs),
        cmocka_unit_test(inside_a_node_a_link_carries_what_the_island_plan_s_does),
        cmocka_unit_test(kinds_are_for_one_node_or_for_several),
        cmocka_unit_test(a_plan_over_nodes_can_be_kept_in_a_file),
        cmocka_unit_test(every_fault_is_refused_with_its_place),
        cmocka_unit_test(the_end_of_an_earlier_job_is_not_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
