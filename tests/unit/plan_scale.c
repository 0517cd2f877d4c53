/* tests/unit/plan_scale.c - every plan x collective x shape: the checker proves it in sequences
 * with the others, the CPU executor gives the right values and the same bits on every rank, and the
 * bytes are those that doc/plans.md promises. Random shapes as well.
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

#include "runtime/base/hash.h"
#include "runtime/plan/check.h"
#include "runtime/plan/generate.h"
#include "runtime/plan/traffic.h"
#include "tests/unit/rank_exec.h"

#ifdef __SANITIZE_ADDRESS__ /* a build that takes five times as long, and looks for other faults */
#define SHARE 5
#else
#define SHARE 1
#endif

#define COLLECTIVES 3
#define PLANS (PIPC__PLAN_KINDS_LOCAL * COLLECTIVES)

_Static_assert(PLANS <= RANK_PLANS_MAX, "a rank holds all plans");

/* --- shapes ----------------------------------------------------------------------------------- */

/* Groups by letter, from the outermost level in; flat when there is none. @cut: pairs of ranks that
 * don't reach each other. */
typedef struct shape_case {
    const char *name;
    int nranks;
    const char *level[PIPC__LEVELS_MAX];
    enum { ALL, NONE, ACROSS, ONE_WAY } cut;
} shape_case_t;

static const shape_case_t shapes[] = {
    {"flat 1", 1, {NULL}, ALL},
    {"flat 2", 2, {NULL}, ALL},
    {"flat 3", 3, {NULL}, ALL},
    {"flat 4", 4, {NULL}, ALL},
    {"flat 5", 5, {NULL}, ALL},
    {"flat 6", 6, {NULL}, ALL},
    {"flat 7", 7, {NULL}, ALL},
    {"flat 8", 8, {NULL}, ALL},
    {"flat 9", 9, {NULL}, ALL},
    {"flat 10", 10, {NULL}, ALL},
    {"flat 11", 11, {NULL}, ALL},
    {"flat 12", 12, {NULL}, ALL},
    {"flat 13", 13, {NULL}, ALL},
    {"flat 14", 14, {NULL}, ALL},
    {"flat 15", 15, {NULL}, ALL},
    {"flat 16", 16, {NULL}, ALL},
    {"1+2", 3, {"abb"}, ALL},
    {"2+2", 4, {"aabb"}, ALL},
    {"2+2 interleaved", 4, {"abab"}, ALL},
    {"3+1", 4, {"aaab"}, ALL},
    {"2+3", 5, {"aabbb"}, ALL},
    {"4+1", 5, {"aaaab"}, ALL},
    {"3+3", 6, {"aaabbb"}, ALL},
    {"4+2", 6, {"aaaabb"}, ALL},
    {"4+3", 7, {"aaaabbb"}, ALL},
    {"6+1", 7, {"aaaaaab"}, ALL},
    {"4+4", 8, {"aaaabbbb"}, ALL},
    {"5+3", 8, {"aaaaabbb"}, ALL},
    {"1+7", 8, {"abbbbbbb"}, ALL},
    {"2+2+2+2", 8, {"aabbccdd"}, ALL},
    {"1+1+6", 8, {"abcccccc"}, ALL},
    {"2x(2x2)", 8, {"aaaabbbb", "aabbccdd"}, ALL},
    {"2x(2+3)", 10, {"aaaaabbbbb", "aabbbccddd"}, ALL},
    {"(2+2)+3", 7, {"aaaabbb", "aabbcde"}, ALL},
    {"deep", 8, {"aaaaaaab", "aaaaaabc", "aaaaabcd", "aaaabcde"}, ALL},
    {"4+5", 9, {"aaaabbbbb"}, ALL},
    {"6+5", 11, {"aaaaaabbbbb"}, ALL},
    {"7+6", 13, {"aaaaaaabbbbbb"}, ALL},
    {"5+7", 12, {"aaaaabbbbbbb"}, ALL},
    {"3+4+5", 12, {"aaabbbbccccc"}, ALL},
    {"7x2", 14, {"aabbccddeeffgg"}, ALL},
    {"1+14", 15, {"abbbbbbbbbbbbbb"}, ALL},
    {"8+8", 16, {"aaaaaaaabbbbbbbb"}, ALL},
    {"4x4", 16, {"aaaabbbbccccdddd"}, ALL},
    {"8x2", 16, {"aabbccddeeffgghh"}, ALL},
    {"4x(2x2)", 16, {"aaaabbbbccccdddd", "aabbccddeeffgghh"}, ALL},
    {"2x2x2x2", 16, {"aaaaaaaabbbbbbbb", "aaaabbbbccccdddd", "aabbccddeeffgghh"}, ALL},
    {"4, no reach", 4, {NULL}, NONE},
    {"4+4, no reach across", 8, {"aaaabbbb"}, ACROSS},
    {"3+2, upwards only", 5, {"aaabb"}, ONE_WAY},
};

#define NSHAPES (sizeof(shapes) / sizeof(shapes[0]))

static bool reaches(const shape_case_t *c, int from, int to)
{
    if (from == to || c->cut == ALL)
        return true;
    if (c->cut == ACROSS)
        return c->level[0][from] == c->level[0][to];
    return c->cut == ONE_WAY && from < to;
}

/* Tree order by the letters of all levels. */
static bool stands_before(const shape_case_t *c, int a, int b)
{
    for (int l = 0; l < PIPC__LEVELS_MAX && c->level[l]; l++)
        if (c->level[l][a] != c->level[l][b])
            return c->level[l][a] < c->level[l][b];
    return a < b;
}

static void make_shape(const shape_case_t *c, pipc__shape_t *s)
{
    int n = c->nranks;

    pipc__shape_flat(s, n);
    while (s->nlevels < PIPC__LEVELS_MAX && c->level[s->nlevels]) {
        for (int r = 0; r < n; r++)
            s->group[s->nlevels][r] = (uint8_t)(c->level[s->nlevels][r] - 'a');
        s->nlevels++;
    }
    for (int r = 0; r < n; r++) {
        int place = 0;
        for (int q = 0; q < n; q++) {
            place += q != r && stands_before(c, q, r);
            if (!reaches(c, r, q))
                s->reach[r] &= (uint16_t) ~(1u << q);
        }
        s->order[place] = (uint8_t)r;
    }
}

/* --- plans ------------------------------------------------------------------------------------ */

/* All plans of a shape; returns how many. */
static int make_plans(const pipc__shape_t *s, pipc__plan_t *plans[PLANS])
{
    pipc__error_t err;
    int n = 0;

    for (int kind = 0; kind < PIPC__PLAN_KINDS_LOCAL; kind++)
        for (int c = 0; c < COLLECTIVES && pipc__plan_name((pipc__plan_kind_t)kind); c++) {
            pipc_status_t st = pipc__plan_make_for(&plans[n], (pipc__plan_kind_t)kind,
                                                   (pipc__collective_t)c, s, &err);
            bool alone = kind == PIPC__ONE_SHOT || kind == PIPC__STREAM; /* has no halves */
            if (st != (alone && c ? PIPC_ERR_UNSUPPORTED : PIPC_OK))
                fail_msg("%d ranks, %s: %s", s->nranks, pipc__plan_name((pipc__plan_kind_t)kind),
                         err.text);
            n += !st;
        }
    assert_int_equal(n, 2 + 4 * COLLECTIVES);
    return n;
}

static void free_plans(pipc__plan_t *plans[PLANS], int n)
{
    for (int i = 0; i < n; i++)
        pipc__plan_free(plans[i]);
}

static pipc__plan_t *make(const pipc__shape_t *s, pipc__plan_kind_t kind, pipc__collective_t c)
{
    pipc__plan_t *p;
    pipc__error_t err;

    if (pipc__plan_make_for(&p, kind, c, s, &err))
        fail_msg("%s", err.text);
    return p;
}

/* Plan 0, @step, 2 @step, ... one after the other, with different numbers of rounds and lanes. */
static void check_sequence(const char *name, pipc__plan_t *plans[PLANS], int n, int step)
{
    pipc__check_call_t calls[2 * PLANS];
    pipc__error_t err;

    for (int i = 0; i < 2 * n; i++)
        calls[i] = (pipc__check_call_t){plans[i * step % n], 1 + i % 3,
                                        1 + i / 2 % PIPC__CHECK_LANES_MAX, (i + i / n) % 2};
    if (pipc__plan_check(calls, 2 * n, PIPC__BUFFERS, &err))
        fail_msg("%s: %s", name, err.text);
}

static void every_plan_is_proved_in_sequences(void **state)
{
    static const int steps[] = {1, 5, 12};

    (void)state;
    for (size_t i = 0; i < NSHAPES; i++) {
        pipc__plan_t *plans[PLANS];
        pipc__shape_t s;
        make_shape(&shapes[i], &s);
        int n = make_plans(&s, plans);
        for (int k = 0; k < 3; k += SHARE)
            check_sequence(shapes[i].name, plans, n, steps[k]);
        free_plans(plans, n);
    }
}

/* Does @op, of @rank, write where @reach allows, and into device memory wherever it does? */
static bool is_in_reach(const pipc__op_t *op, int rank, const uint16_t *reach)
{
    bool flag = op->kind == PIPC__SIGNAL || op->kind == PIPC__WAIT;
    int from = op->kind == PIPC__WAIT ? op->peer : rank;
    int to = op->kind == PIPC__WAIT ? rank : flag ? op->peer : op->dst.rank;

    if (op->dst.place == PIPC__OUTPUT)
        return to == rank;
    return from == to || (reach[from] >> to & 1) == (op->dst.place == PIPC__SLOT);
}

static void check_reach(const char *name, const pipc__plan_t *p, const uint16_t *reach)
{
    for (int r = 0; r < p->nranks; r++)
        for (int s = 0; s < p->nstages; s++)
            for (int i = 0; i < p->program[r][s].nops; i++)
                if (!is_in_reach(&p->program[r][s].ops[i], r, reach))
                    fail_msg("%s: %s, rank %d, stage %d, step %d", name, p->name, r, s, i);
}

static void pairs_out_of_reach_meet_in_host_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < NSHAPES; i++) {
        pipc__plan_t *plans[PLANS];
        pipc__shape_t s;
        make_shape(&shapes[i], &s);
        int n = make_plans(&s, plans);
        for (int k = 0; k < n; k++)
            check_reach(shapes[i].name, plans[k], s.reach);
        free_plans(plans, n);
    }
}

/* --- negative controls ------------------------------------------------------------------------ */

static const shape_case_t *case_of(const char *name)
{
    for (size_t i = 0; i < NSHAPES; i++)
        if (!strcmp(shapes[i].name, name))
            return &shapes[i];
    fail_msg("no shape is called %s", name);
    return NULL;
}

/* Take out of all stages the wait with which they end, if they do: it lets them begin a round. */
static void take_out_join(pipc__plan_t *p)
{
    for (int i = 0; i < p->nranks * p->nstages; i++) {
        pipc__program_t *program = &p->program[i / p->nstages][i % p->nstages];
        if (program->nops && program->ops[program->nops - 1].kind == PIPC__WAIT)
            program->nops--;
    }
}

/* Of one stage alone is not enough: where it waits for others that have joined, it is held back,
 * too. */
static void without_its_join_an_island_is_refused(void **state)
{
    static const char *const names[] = {"flat 3", "1+2", "2+2", "3+1", "2x(2x2)"};

    (void)state;
    for (int i = 0; i < 5 * COLLECTIVES; i++) {
        pipc__shape_t s;
        make_shape(case_of(names[i / COLLECTIVES]), &s);
        pipc__plan_t *p = make(&s, PIPC__ISLAND, (pipc__collective_t)(i % COLLECTIVES));
        pipc__check_call_t calls[3] = {{p, 3, 2, true}, {p, 1, 1, true}, {p, 3, 2, true}};
        assert_int_equal(pipc__plan_check(calls, 3, PIPC__BUFFERS, NULL), PIPC_OK);
        take_out_join(p);
        if (!pipc__plan_check(calls, 3, PIPC__BUFFERS, NULL))
            fail_msg("%s, collective %d", names[i / COLLECTIVES], i % COLLECTIVES);
        pipc__plan_free(p);
    }
}

/* --- random shapes ---------------------------------------------------------------------------- */

static uint64_t random_state;

static int below(int n) /* 0 .. n-1 */
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int)((random_state >> 33) % (uint64_t)n);
}

/* Ranks spread at random over nodes and nested switches; some reach each other, some one way. */
static void random_shape(pipc__shape_t *s)
{
    static char text[PIPC__RANKS_MAX][PIPC__WAY_TEXT];
    const char *ways[PIPC__RANKS_MAX];
    int n = 1 + below(PIPC__RANKS_MAX), wide = 1 + below(4), deep = below(5), holes = below(3);
    pipc__error_t err;

    for (int r = 0; r < n; r++) {
        int len =
            snprintf(text[r], sizeof(text[r]), below(20) ? "numa%d/h" : "numa?/h", below(wide));
        for (int d = 0; d < deep && below(8); d++)
            len += snprintf(text[r] + len, sizeof(text[r]) - (size_t)len, "/s%d", below(wide));
        if (!below(40))
            text[r][0] = '\0';
        ways[r] = text[r];
    }
    if (pipc__shape_from_ways(s, ways, n, &err))
        fail_msg("%s", err.text);
    for (int r = 0; r < n; r++)
        for (int q = 0; q < n && holes; q++)
            if (q != r && !below(holes == 1 ? 6 : 2))
                s->reach[r] &= (uint16_t) ~(1u << q);
}

static double most(const double *of, int n)
{
    double m = 0;

    for (int i = 0; i < n; i++)
        m = of[i] > m ? of[i] : m;
    return m;
}

/* Owners share the load, whatever the shape: 2 (n - 1) / n S is the least that any plan sends, half
 * of it for half an all-reduce. */
static void check_load(const char *name, const pipc__plan_t *p, const pipc__shape_t *s)
{
    double limit = p->collective == PIPC__ALLREDUCE ? 2.5 : 2;
    pipc__traffic_t t;

    pipc__plan_traffic(&t, p, s, 1);
    if (strcmp(p->name, "one-shot") != 0 && strcmp(p->name, "stream") != 0 &&
        (most(t.sent, s->nranks) > limit || most(t.received, s->nranks) > limit))
        fail_msg("%s: %s, a rank sends %g and gets %g", name, p->name, most(t.sent, s->nranks),
                 most(t.received, s->nranks));
}

static void random_shapes_have_right_plans(void **state)
{
    (void)state;
    random_state = 20;
    for (int i = 0; i < 300 / SHARE; i++) {
        pipc__plan_t *plans[PLANS];
        pipc__shape_t s;
        char name[40];
        snprintf(name, sizeof(name), "random shape %d", i);
        random_shape(&s);
        int n = make_plans(&s, plans);
        check_sequence(name, plans, n, 1 + below(n - 1));
        for (int k = 0; k < n; k++) {
            check_reach(name, plans[k], s.reach);
            check_load(name, plans[k], &s);
        }
        free_plans(plans, n);
    }
}

/* --- bytes and latencies ---------------------------------------------------------------------- */

/* For a message of 1: per link of a rank and uplink of a group, the most of any, each direction. */
static const struct promise {
    const char *shape;
    pipc__plan_kind_t kind;
    pipc__collective_t collective;
    double rank, uplink;
    int latencies;
} promises[] = {
    {"4+4", PIPC__ISLAND, PIPC__ALLREDUCE, 1.75, 1, 3},
    {"4+4", PIPC__RING, PIPC__ALLREDUCE, 1.75, 1.75, 14},
    {"4+4", PIPC__TWO_SHOT, PIPC__ALLREDUCE, 1.75, 4, 2},
    {"4+4", PIPC__PERMUTED, PIPC__ALLREDUCE, 1.75, 4, 14},
    {"4+4", PIPC__ONE_SHOT, PIPC__ALLREDUCE, 7, 16, 1},
    {"4+4", PIPC__ISLAND, PIPC__REDUCE_SCATTER, 0.875, 0.5, 2},
    {"4+4", PIPC__ISLAND, PIPC__ALLGATHER, 0.875, 0.5, 2},
    {"4+4", PIPC__TWO_SHOT, PIPC__REDUCE_SCATTER, 0.875, 2, 1},
    {"4+4", PIPC__RING, PIPC__ALLGATHER, 0.875, 0.875, 7},
    {"4+4", PIPC__PERMUTED, PIPC__ALLGATHER, 0.875, 2, 7},
    {"flat 8", PIPC__ISLAND, PIPC__ALLREDUCE, 1.75, 0, 2},
    {"flat 8", PIPC__TWO_SHOT, PIPC__ALLREDUCE, 1.75, 0, 2},
    {"5+3", PIPC__ISLAND, PIPC__ALLREDUCE, 1.8, 1, 19},
    {"2+2", PIPC__ISLAND, PIPC__ALLREDUCE, 1.5, 1, 3},
    {"2+2+2+2", PIPC__ISLAND, PIPC__ALLREDUCE, 1.75, 1.5, 9},
    {"3+1", PIPC__ISLAND, PIPC__ALLREDUCE, 5. / 3, 1, 11},
    {"1+7", PIPC__ISLAND, PIPC__ALLREDUCE, 13. / 7, 1, 31},
    {"2x(2x2)", PIPC__ISLAND, PIPC__ALLREDUCE, 1.75, 1, 9},
    {"2x(2x2)", PIPC__RING, PIPC__ALLREDUCE, 1.75, 1.75, 14},
    {"2+2 interleaved", PIPC__RING, PIPC__ALLREDUCE, 1.5, 1.5, 6},
};

static void bytes_and_latencies_are_as_promised(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++) {
        const struct promise *want = &promises[i];
        pipc__shape_t s;
        pipc__traffic_t t;
        make_shape(case_of(want->shape), &s);
        pipc__plan_t *p = make(&s, want->kind, want->collective);
        pipc__plan_traffic(&t, p, &s, 1680); /* any: chunks are of equal size */
        double rank = most(t.sent, s.nranks) / 1680, got = most(t.received, s.nranks) / 1680;
        double out = most(t.out[0], s.nranks) / 1680, in = most(t.in[0], s.nranks) / 1680;
        if (rank > want->rank + 1e-9 || rank < want->rank - 1e-9 || got > want->rank + 1e-9 ||
            out > want->uplink + 1e-9 || out < want->uplink - 1e-9 || in > want->uplink + 1e-9 ||
            pipc__plan_latencies(p) != want->latencies)
            fail_msg("%s, %s, collective %d: sends %g, gets %g, out %g, in %g, %d latencies",
                     want->shape, p->name, (int)want->collective, rank, got, out, in,
                     pipc__plan_latencies(p));
        pipc__plan_free(p);
    }
}

static void a_wait_for_ever_has_no_latency(void **state)
{
    pipc__shape_t s;

    (void)state;
    make_shape(case_of("2+2"), &s);
    pipc__plan_t *p = make(&s, PIPC__ISLAND, PIPC__ALLREDUCE);
    for (int i = 0; i < p->program[0][0].nops; i++)
        if (p->program[0][0].ops[i].kind == PIPC__SIGNAL)
            p->program[0][0].ops[i].peer = 0;
    assert_int_equal(pipc__plan_latencies(p), -1);
    pipc__plan_free(p);
}

/* --- the CPU executor ------------------------------------------------------------------------- */

typedef struct scale_job {
    const shape_case_t *shape;
    const size_t *counts; /* elements, of large messages in all, else of a rank's block */
    size_t ncounts, staging_bytes;
} scale_job_t;

/* One call of a plan, and what it is to give. Elements are int32 or float by turns. */
typedef struct scale_call {
    pipc__exec_call_t k;
    int rank, n;
    bool in_place;
    size_t in_count, out_count, all; /* elements of send, of recv, and of the larger one */
    char *memory, *out;
} scale_call_t;

/* Rank @r's contribution to element @i. */
static uint32_t given(const scale_call_t *c, int r, size_t i)
{
    uint32_t x = (uint32_t)i * 2654435761u + (uint32_t)r * 0x9e3779b9u + (uint32_t)c->k.number;

    x = (x ^ x >> 15) * 0x85ebca6bu;
    return x ^ x >> 13;
}

static float given_float(const scale_call_t *c, int r, size_t i)
{
    return (float)(int32_t)given(c, r, i) / 65536;
}

/* In place, the smaller buffer is the own block of the larger one. */
static void make_call(scale_call_t *c, const pipc__plan_t *plan, int rank, size_t count,
                      uint64_t number)
{
    bool blocks = plan->collective != PIPC__ALLREDUCE;
    if (blocks && count > 10000)
        count /= (size_t)plan->nranks;
    size_t larger = count * (size_t)(blocks ? plan->nranks : 1);
    size_t block = blocks ? count * (size_t)rank : 0;

    *c = (scale_call_t){.rank = rank, .n = plan->nranks, .in_place = number % 2, .all = larger};
    c->k = (pipc__exec_call_t){.plan = plan,
                               .count = count,
                               .dtype = number / 2 % 2 ? PIPC_F32 : PIPC_I32,
                               .op = PIPC_SUM,
                               .number = number};
    c->in_count = plan->collective == PIPC__REDUCE_SCATTER ? larger : count;
    c->out_count = plan->collective == PIPC__ALLGATHER ? larger : count;
    c->memory = malloc(4 * larger + 4);
    c->out = malloc(4 * larger + 4);
    if (!c->memory || !c->out)
        abort();
    memset(c->out, 0xa5, 4 * larger);
    char *send = c->memory, *recv = c->in_place ? c->memory : c->out;
    if (plan->collective == PIPC__ALLGATHER && c->in_place)
        send += 4 * block;
    if (plan->collective == PIPC__REDUCE_SCATTER && c->in_place)
        recv += 4 * block;
    for (size_t i = 0; i < c->in_count; i++) {
        uint32_t v = given(c, rank, i);
        float f = given_float(c, rank, i);
        memcpy(send + 4 * i, c->k.dtype == PIPC_I32 ? (const void *)&v : &f, 4);
    }
    c->k.send = send;
    c->k.recv = recv;
}

/* Is element @i of the output right? */
static bool is_right(const scale_call_t *c, size_t i)
{
    pipc__collective_t how = c->k.plan->collective;
    size_t at = how == PIPC__REDUCE_SCATTER ? i + c->k.count * (size_t)c->rank : i;
    int first = 0, last = c->n - 1;
    double sum = 0, size = 0;
    uint32_t bits, want = 0;
    float got;

    if (how == PIPC__ALLGATHER) {
        first = last = (int)(i / c->k.count);
        at = i % c->k.count;
    }
    memcpy(&bits, (const char *)c->k.recv + 4 * i, 4);
    memcpy(&got, &bits, 4);
    for (int r = first; r <= last; r++) {
        double v = given_float(c, r, at);
        want += given(c, r, at);
        sum += v;
        size += v < 0 ? -v : v;
    }
    if (c->k.dtype == PIPC_I32)
        return bits == want;
    if (how == PIPC__ALLGATHER)
        return got == given_float(c, first, at);
    return got - sum <= size * 1e-6 && sum - got <= size * 1e-6; /* 2^-24 a rounding, 16 at most */
}

/* Each rank looks at some elements, together at all of them. */
static int judge(const scale_call_t *c, const char *shape, uint64_t *hash)
{
    size_t step = c->out_count > 1000 ? (size_t)c->n : 1;

    if (c->k.plan->collective != PIPC__REDUCE_SCATTER)
        *hash = pipc__hash(*hash, c->k.recv, 4 * c->out_count);
    else
        step = c->out_count > 1000 ? 7 : 1;
    for (size_t i = (size_t)c->rank % step; i < c->out_count; i += step)
        if (!is_right(c, i)) {
            fprintf(stderr, "# %s, %s, collective %d, rank %d, %zu elements, %s: element %zu\n",
                    shape, c->k.plan->name, (int)c->k.plan->collective, c->rank, c->k.count,
                    c->in_place ? "in place" : "out of place", i);
            return 1;
        }
    return 0;
}

static int run_plans(const rank_exec_t *re, const scale_job_t *job, int rank)
{
    uint64_t number = 0, hash = PIPC__HASH_INIT, all[PIPC__RANKS_MAX];
    pipc__error_t err;
    int bad = 0;

    for (size_t k = 0; k < job->ncounts; k++)
        for (int i = 0; i < re->nplans && !bad; i++) {
            scale_call_t c;
            make_call(&c, re->plans[i], rank, job->counts[k], ++number + k);
            if (re->exec->ops->run(re->exec, &c.k, &err)) {
                fprintf(stderr, "# rank %d: %s\n", rank, err.text);
                _exit(3);
            }
            bad = judge(&c, job->shape->name, &hash);
            free(c.memory);
            free(c.out);
        }
    if (pipc__control_gather(re->ctl, &hash, sizeof(hash), all, &err))
        return 4;
    for (int r = 0; r < job->shape->nranks; r++)
        bad |= all[r] == hash ? 0 : 2; /* not the same bits everywhere */
    return bad;
}

static int scale_body(ranks_t *all, int rank, void *arg)
{
    static const rank_plan_t none;
    const scale_job_t *job = arg;
    pipc__shape_t s;
    pipc__error_t err;
    rank_exec_t re;

    rank_exec_open(&re, &pipc__exec_cpu, job->staging_bytes, (rank_plans_t){&none, 0}, all, rank);
    make_shape(job->shape, &s);
    re.nplans = make_plans(&s, re.plans);
    for (int i = 0; i < re.nplans; i++)
        if (re.exec->ops->prepare(re.exec, re.plans[i], &err)) {
            fprintf(stderr, "# %s\n", err.text);
            _exit(5);
        }
    int bad = run_plans(&re, job, rank);
    rank_exec_close(&re);
    return bad;
}

/* Small staging, so that middling messages take several rounds. */
static void the_executor_is_right_for_every_plan_and_shape(void **state)
{
    static const size_t counts[] = {0, 1, 7, 4097};

    (void)state;
    for (size_t i = 0; i < NSHAPES; i++) {
        scale_job_t job = {&shapes[i], counts, 4, 128 << 10};
        int rc = ranks_run(shapes[i].nranks, scale_body, &job, 60);
        if (rc)
            fail_msg("%s: %d", shapes[i].name, rc);
    }
}

static void large_messages_are_right(void **state)
{
    static const char *const names[] = {"flat 2", "1+2", "2+3", "6+1", "4+4"};
    static const size_t counts[] = {(1 << 20) + 3};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        scale_job_t job = {case_of(names[i]), counts, 1, 4 << 20};
        int rc = ranks_run(job.shape->nranks, scale_body, &job, 120);
        if (rc)
            fail_msg("%s: %d", names[i], rc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_is_proved_in_sequences),
        cmocka_unit_test(pairs_out_of_reach_meet_in_host_memory),
        cmocka_unit_test(without_its_join_an_island_is_refused),
        cmocka_unit_test(random_shapes_have_right_plans),
        cmocka_unit_test(bytes_and_latencies_are_as_promised),
        cmocka_unit_test(a_wait_for_ever_has_no_latency),
        cmocka_unit_test(the_executor_is_right_for_every_plan_and_shape),
        cmocka_unit_test(large_messages_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
