/* tests/unit/rail_schedule.c - who sends what to whom on a rail: tables, and every algorithm played
 * with all nodes in memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/rail/rail.h"
#include "runtime/rail/schedule.h"

#define NODES 17
#define COUNT 137 /* elements: no node count divides it */

typedef struct play {
    int nodes;
    pipc__rail_algo_t algo;
    float data[NODES][COUNT];   /* random, so that another order shows */
    uint32_t who[NODES][COUNT]; /* whose contributions an element has, a bit a node */
    bool twice;                 /* one was added again */
} play_t;

static size_t edge(const play_t *p, int block)
{
    return pipc__rail_part(COUNT, pipc__rail_blocks(p->algo, p->nodes), block, 3);
}

/* One message of a step, from what the sender had before it. */
static void deliver(play_t *p, const play_t *old, int self, const pipc__rail_step_t *s)
{
    for (size_t i = edge(p, s->recv); i < edge(p, s->recv + s->nrecv); i++) {
        float got = old->data[s->from][i], own = old->data[self][i];
        p->twice |= s->sum && (p->who[self][i] & old->who[s->from][i]);
        p->data[self][i] = !s->sum ? got : s->left ? got + own : own + got;
        p->who[self][i] = old->who[s->from][i] | (s->sum ? p->who[self][i] : 0);
    }
}

/* Each message that one sends is what another expects in the same step, and the other way round. */
static void agree(const play_t *p, int step)
{
    for (int a = 0; a < p->nodes; a++) {
        pipc__rail_step_t s = pipc__rail_step(p->algo, p->nodes, a, step);
        assert_in_range(s.to + 1, 0, p->nodes);
        assert_in_range(s.from + 1, 0, p->nodes);
        assert_true(s.to != a && s.from != a);
        if (s.to >= 0) {
            pipc__rail_step_t t = pipc__rail_step(p->algo, p->nodes, s.to, step);
            assert_int_equal(t.from, a);
            assert_int_equal(t.recv, s.send);
            assert_int_equal(t.nrecv, s.nsend);
            assert_in_range(s.send + s.nsend, 1, pipc__rail_blocks(p->algo, p->nodes));
        }
        if (s.from >= 0)
            assert_int_equal(pipc__rail_step(p->algo, p->nodes, s.from, step).to, a);
    }
}

static play_t *start(pipc__rail_algo_t algo, int nodes)
{
    play_t *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    p->algo = algo;
    p->nodes = nodes;
    srand(1);
    for (int n = 0; n < nodes; n++)
        for (int i = 0; i < COUNT; i++) {
            p->data[n][i] = (float)rand() / (float)RAND_MAX - 0.5f;
            p->who[n][i] = 1u << n;
        }
    return p;
}

/* All steps but @left_out; are the sums complete, each contribution in once, the same everywhere?
 */
static bool play(pipc__rail_algo_t algo, int nodes, int left_out)
{
    play_t *p = start(algo, nodes), *old = malloc(sizeof(*old));
    bool right = true;

    assert_non_null(old);
    for (int step = 0; step < pipc__rail_steps(algo, nodes); step++) {
        agree(p, step);
        *old = *p;
        for (int n = 0; step != left_out && n < nodes; n++) {
            pipc__rail_step_t s = pipc__rail_step(algo, nodes, n, step);
            if (s.from >= 0)
                deliver(p, old, n, &s);
        }
    }
    for (int n = 0; n < nodes; n++)
        for (int i = 0; i < COUNT; i++)
            right &= p->who[n][i] == (1u << nodes) - 1 &&
                     !memcmp(&p->data[n][i], &p->data[0][i], sizeof(float));
    right &= !p->twice;
    free(old);
    free(p);
    return right;
}

static void test_every_node_has_the_same_sum(void **state)
{
    (void)state;
    for (int a = 0; a < PIPC__RAIL_ALGO_COUNT; a++)
        for (int n = 1; n <= NODES; n++)
            assert_true(play((pipc__rail_algo_t)a, n, -1));
}

/* The negative control: no step can be left out. */
static void test_no_step_is_idle(void **state)
{
    (void)state;
    for (int a = 0; a < PIPC__RAIL_ALGO_COUNT; a++)
        for (int n = 2; n <= NODES; n++)
            for (int s = 0; s < pipc__rail_steps((pipc__rail_algo_t)a, n); s++)
                assert_false(play((pipc__rail_algo_t)a, n, s));
}

static void test_steps(void **state)
{
    static const struct {
        int nodes, steps[PIPC__RAIL_ALGO_COUNT], blocks[PIPC__RAIL_ALGO_COUNT];
    } rows[] = {
        {1, {0, 0, 0}, {1, 1, 1}},      {2, {1, 2, 2}, {1, 2, 2}},
        {3, {3, 4, 4}, {1, 2, 3}},      {4, {2, 4, 6}, {1, 4, 4}},
        {5, {4, 6, 8}, {1, 4, 5}},      {16, {4, 8, 30}, {1, 16, 16}},
        {17, {6, 10, 32}, {1, 16, 17}}, {1024, {10, 20, 2046}, {1, 1024, 1024}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (int a = 0; a < PIPC__RAIL_ALGO_COUNT; a++) {
            assert_int_equal(pipc__rail_steps((pipc__rail_algo_t)a, rows[i].nodes),
                             rows[i].steps[a]);
            assert_int_equal(pipc__rail_blocks((pipc__rail_algo_t)a, rows[i].nodes),
                             rows[i].blocks[a]);
        }
    assert_string_equal(pipc__rail_algo_string(PIPC__RAIL_RING), "ring");
    assert_string_equal(pipc__rail_algo_string((pipc__rail_algo_t)7), "?");
}

static void test_parts_cover_all_once(void **state)
{
    (void)state;
    for (size_t count = 0; count < 300; count += 7)
        for (int parts = 1; parts < 20; parts++)
            for (size_t grain = 1; grain <= 64; grain *= 4) {
                size_t longest = (count + grain - 1) / grain;
                longest = (longest + (size_t)parts - 1) / (size_t)parts * grain;
                assert_int_equal(pipc__rail_part(count, parts, 0, grain), 0);
                assert_int_equal(pipc__rail_part(count, parts, parts, grain), count);
                for (int i = 0; i < parts; i++) {
                    size_t a = pipc__rail_part(count, parts, i, grain);
                    size_t b = pipc__rail_part(count, parts, i + 1, grain);
                    assert_true(a <= b && b - a <= longest);
                    assert_true(a % grain == 0 || a == count);
                }
            }
}

/* The most bytes that a node adds in a step of a job, of any piece. */
static size_t most_added(pipc__rail_algo_t algo, int nodes, size_t bytes, int pieces)
{
    size_t piece = pipc__rail_part(bytes, pieces, 1, PIPC__RAIL_GRAIN), most = 0;
    int blocks = pipc__rail_blocks(algo, nodes), steps = pipc__rail_steps(algo, nodes);

    for (int self = 0; self < nodes; self++)
        for (int i = 0; i < steps; i++) {
            pipc__rail_step_t s = pipc__rail_step(algo, nodes, self, i);
            size_t n = pipc__rail_part(piece, blocks, s.recv + s.nrecv, PIPC__RAIL_GRAIN) -
                       pipc__rail_part(piece, blocks, s.recv, PIPC__RAIL_GRAIN);
            if (s.sum && n > most)
                most = n;
        }
    return most;
}

/* What is added fits the buffers, for any size; so it does for the greatest job. */
static void test_no_block_is_longer_than_a_segment(void **state)
{
    static const int nodes[] = {2, 3, 4, 5, 8, 12, 17, 64};

    (void)state;
    for (int a = 0; a < PIPC__RAIL_ALGO_COUNT; a++)
        for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
            for (size_t bytes = 1; bytes < (size_t)1 << 34; bytes = bytes * 3 + 1) {
                int pieces = pipc__rail_pieces((pipc__rail_algo_t)a, nodes[i], bytes);
                assert_true(pieces >= 1);
                assert_true(most_added((pipc__rail_algo_t)a, nodes[i], bytes, pieces) <=
                            PIPC__RAIL_SEGMENT);
            }
}

static void test_the_choice(void **state)
{
    static const struct {
        int nodes;
        size_t bytes, message;
        pipc__rail_algo_t algo;
    } rows[] = {
        {2, 8, 0, PIPC__RAIL_DOUBLING},
        {5, 8, 0, PIPC__RAIL_DOUBLING},
        {1024, 4096, 0, PIPC__RAIL_DOUBLING},
        {4, (size_t)1 << 20, 0, PIPC__RAIL_HALVING},
        {3, (size_t)64 << 20, 0, PIPC__RAIL_RING},
        {1024, (size_t)64 << 20, 0, PIPC__RAIL_HALVING},
        {2, 32 << 10, 256 << 10, PIPC__RAIL_DOUBLING}, /* of several that go together */
        {4, 16 << 10, 128 << 10, PIPC__RAIL_DOUBLING},
        {4, 32 << 10, 256 << 10, PIPC__RAIL_HALVING},
        {8, 8 << 10, 160 << 10, PIPC__RAIL_HALVING},
        {1024, 8 << 10, 64 << 10, PIPC__RAIL_DOUBLING},
        {4, 32768, (size_t)1 << 20, PIPC__RAIL_HALVING},
        {3, 8, (size_t)1 << 20, PIPC__RAIL_RING},
        {3, 32 << 10, 0, PIPC__RAIL_DOUBLING}, /* where nodes are no power of two */
        {3, 64 << 10, 0, PIPC__RAIL_RING},
        {6, 128 << 10, 0, PIPC__RAIL_DOUBLING},
        {6, 256 << 10, 0, PIPC__RAIL_RING},
        {12, 128 << 10, 0, PIPC__RAIL_DOUBLING},
        {12, 256 << 10, 0, PIPC__RAIL_HALVING},
        {12, 32 << 10, 256 << 10, PIPC__RAIL_HALVING},
        {12, 1 << 20, 0, PIPC__RAIL_RING},
        {1000, 1 << 20, 0, PIPC__RAIL_HALVING},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        pipc__rail_cut_t cut = pipc__rail_cut(rows[i].nodes, rows[i].bytes, rows[i].message);
        assert_int_equal(cut.algo, rows[i].algo);
        assert_int_equal(cut.pieces, pipc__rail_pieces(cut.algo, rows[i].nodes, rows[i].bytes));
    }
    assert_int_equal(pipc__rail_cut(4, 64, 0).pieces, 1);
    assert_true(pipc__rail_cut(4, (size_t)1 << 20, 0).pieces > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_node_has_the_same_sum),
        cmocka_unit_test(test_no_step_is_idle),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_parts_cover_all_once),
        cmocka_unit_test(test_no_block_is_longer_than_a_segment),
        cmocka_unit_test(test_the_choice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
