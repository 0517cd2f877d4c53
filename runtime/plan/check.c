/* plan/check.c - symbolic execution with vector clocks. See check.h
 *
 * An actor is one lane of one rank. Its clock is a vector with an entry for each actor:
 *
 *     op of actor a         clock[a][a] += 1
 *     SIGNAL flag, round g  the clock is stored with (flag, g)
 *     WAIT flag, round g    clock[a] = max(clock[a], the clock stored with (flag, g))
 *     a call begins         all lanes of a rank get the maximum of their clocks (the lanes join)
 *
 * Access x of actor b happened before the present op of a exactly when x's time <= clock[a][b].
 * Each place remembers who wrote it last and when, and when each actor read it last; a conflicting
 * access that is not ordered is a race, whatever order this one simulation took. With no races, the
 * values that this one simulation computes are those of every execution.
 *
 * Model: C. Flanagan, S. Freund, "FastTrack", PLDI 2009.
 */
#include "runtime/plan/check.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"

#define LANES PIPC__CHECK_LANES_MAX
#define ACTORS (PIPC__RANKS_MAX * LANES)
#define CHUNKS_MAX PIPC__RANKS_MAX
#define BUFFERS_MAX 4

typedef struct vclock {
    uint32_t at[ACTORS];
} vclock_t;

/* Pre- and post-op: none was applied; each contribution in it had the pre-op; had the post-op too. */
typedef enum stage { RAW, PARTIAL, COMPLETE } stage_t;

/* What a place holds. */
typedef struct value {
    bool defined;
    stage_t stage;
    int round;                       /* global round number: call and round in one */
    int chunk;
    uint8_t counts[PIPC__RANKS_MAX]; /* how often each rank's contribution is in it */
    uint64_t expr;                   /* hash of the expression: equal means bit-identical */
} value_t;

/* A place (a lane's part of a slot, or of a chunk of a user buffer). */
typedef struct cell {
    value_t value;
    int writer; /* actor, or -1 */
    uint32_t written;
    vclock_t read;
} cell_t;

typedef struct actor {
    vclock_t clock;
    int round, step; /* next op: round of the present call, step in the program */
} actor_t;

typedef struct flag {
    int round; /* last global round that was signalled; 0 is none */
    vclock_t clock[PIPC__CHECK_ROUNDS_MAX]; /* of the present call, by round */
} flag_t;

typedef struct check {
    const pipc__check_call_t *call; /* the present call */
    int call_index, buffers, nranks;
    int base_round; /* global number of this call's first round, from 1 on */
    actor_t actor[PIPC__RANKS_MAX][LANES];
    flag_t flag[PIPC__RANKS_MAX][PIPC__FLAGS_MAX][LANES];
    cell_t slot[PIPC__RANKS_MAX][BUFFERS_MAX][PIPC__SLOTS_MAX][LANES];
    cell_t user[2][PIPC__RANKS_MAX][PIPC__CHECK_ROUNDS_MAX][CHUNKS_MAX][LANES]; /* input, output */
    /* Accesses of earlier calls to a staging area: they may overlap any slot of this call. */
    vclock_t old_write[PIPC__RANKS_MAX][BUFFERS_MAX], old_read[PIPC__RANKS_MAX][BUFFERS_MAX];
    pipc__error_t *err;
} check_t;

static void join(vclock_t *into, const vclock_t *from)
{
    for (int i = 0; i < ACTORS; i++)
        if (into->at[i] < from->at[i])
            into->at[i] = from->at[i];
}

static bool before(const vclock_t *a, const vclock_t *b)
{
    for (int i = 0; i < ACTORS; i++)
        if (a->at[i] > b->at[i])
            return false;
    return true;
}

static pipc_status_t wrong(check_t *c, int rank, const actor_t *a, const char *what)
{
    return pipc__fail(c->err, PIPC_ERR_INVALID, "plan %s: call %d, round %d, rank %d, step %d: %s",
                      c->call->plan->name, c->call_index, a->round, rank, a->step, what);
}

/* The cell of @ref for one lane of this round; in place, the output is the input. */
static cell_t *cell_of(check_t *c, pipc__ref_t ref, int chunk, int round, int lane)
{
    if (ref.place == PIPC__SLOT)
        return &c->slot[ref.rank][(c->base_round + round) % c->buffers][ref.slot][lane];
    int which = ref.place == PIPC__OUTPUT && !c->call->in_place;
    return &c->user[which][ref.rank][round][chunk][lane];
}

/* Is staging area @ref free of unordered accesses by earlier calls? */
static bool old_is_before(check_t *c, pipc__ref_t ref, int round, const vclock_t *now, bool write)
{
    int area = (c->base_round + round) % c->buffers;

    if (ref.place != PIPC__SLOT)
        return true;
    return before(&c->old_write[ref.rank][area], now) &&
           (!write || before(&c->old_read[ref.rank][area], now));
}

static bool ordered_write(const cell_t *cell, const vclock_t *now)
{
    return cell->writer < 0 || cell->written <= now->at[cell->writer];
}

static const char *read_cell(check_t *c, int rank, int lane, pipc__ref_t ref, int chunk,
                             value_t *out)
{
    actor_t *a = &c->actor[rank][lane];
    int id = rank * LANES + lane;
    cell_t *cell = cell_of(c, ref, chunk, a->round, lane);

    if (!ordered_write(cell, &a->clock) || !old_is_before(c, ref, a->round, &a->clock, false))
        return "reads a place while another lane or rank may still write it";
    if (!cell->value.defined)
        return "reads a place that nothing was written to in this call";
    if (cell->value.round != c->base_round + a->round)
        return "reads what an earlier round left behind";
    if (cell->value.chunk != chunk)
        return "reads another chunk than it names";
    cell->read.at[id] = a->clock.at[id];
    *out = cell->value;
    return NULL;
}

static const char *write_cell(check_t *c, int rank, int lane, pipc__ref_t ref, int chunk,
                              const value_t *value)
{
    actor_t *a = &c->actor[rank][lane];
    int id = rank * LANES + lane;
    cell_t *cell = cell_of(c, ref, chunk, a->round, lane);

    if (!ordered_write(cell, &a->clock))
        return "writes a place while another lane or rank may still write it";
    if (!before(&cell->read, &a->clock))
        return "writes a place while another lane or rank may still read it (reused too early)";
    if (!old_is_before(c, ref, a->round, &a->clock, true))
        return "writes a slot while an earlier call may still use it (reused too early)";
    cell->value = *value;
    cell->writer = id;
    cell->written = a->clock.at[id];
    return NULL;
}

/* Take @v, with the pre-op if @pre, into the partial result in @acc. */
static const char *accumulate(value_t *acc, const value_t *v, bool pre, int nranks)
{
    if (v->stage == COMPLETE)
        return "reduces what has had its post-op already";
    if (pre != (v->stage == RAW))
        return pre ? "applies the pre-op a second time" : "takes in a contribution without pre-op";
    for (int r = 0; r < nranks; r++) {
        acc->counts[r] = (uint8_t)(acc->counts[r] + v->counts[r]);
        if (acc->counts[r] > 1)
            return "adds a contribution that is in the result already";
    }
    acc->expr = pipc__hash(acc->expr, &v->expr, sizeof(v->expr));
    return NULL;
}

static const char *do_reduce(check_t *c, int rank, int lane, const pipc__op_t *op)
{
    value_t in, result = {.defined = true, .stage = op->post ? COMPLETE : PARTIAL,
                          .round = c->base_round + c->actor[rank][lane].round,
                          .chunk = op->chunk, .expr = PIPC__HASH_INIT};

    for (int i = 0; i < op->nsrc; i++) {
        const char *bad = read_cell(c, rank, lane, op->src[i], op->chunk, &in);
        if (!bad)
            bad = accumulate(&result, &in, op->pre >> i & 1, c->nranks);
        if (bad)
            return bad;
    }
    for (int r = 0; op->post && r < c->nranks; r++)
        if (!result.counts[r])
            return "applies the post-op to a result that lacks a contribution";
    return write_cell(c, rank, lane, op->dst, op->chunk, &result);
}

static const char *do_copy(check_t *c, int rank, int lane, const pipc__op_t *op)
{
    value_t v;
    const char *bad = read_cell(c, rank, lane, op->src[0], op->chunk, &v);

    return bad ? bad : write_cell(c, rank, lane, op->dst, op->chunk, &v);
}

/* Run the next op of one lane. *ran is false when it waits. */
static pipc_status_t step(check_t *c, int rank, int lane, bool *ran)
{
    actor_t *a = &c->actor[rank][lane];
    const pipc__op_t *op = &c->call->plan->program[rank][0].ops[a->step];
    int round = c->base_round + a->round;
    const char *bad = NULL;
    flag_t *f;

    *ran = true;
    a->clock.at[rank * LANES + lane]++;
    switch (op->kind) {
    case PIPC__SIGNAL:
        f = &c->flag[op->peer][op->flag][lane];
        f->round = round;
        f->clock[a->round] = a->clock;
        break;
    case PIPC__WAIT:
        f = &c->flag[rank][op->flag][lane];
        if (f->round < round) {
            *ran = false;
            return PIPC_OK;
        }
        join(&a->clock, &f->clock[a->round]);
        break;
    case PIPC__REDUCE:
        bad = do_reduce(c, rank, lane, op);
        break;
    default:
        bad = do_copy(c, rank, lane, op);
    }
    if (bad)
        return wrong(c, rank, a, bad);
    if (++a->step == c->call->plan->program[rank][0].nops) {
        a->step = 0;
        a->round++;
    }
    return PIPC_OK;
}

static bool finished(const check_t *c, int rank, int lane)
{
    return c->actor[rank][lane].round == c->call->rounds || !c->call->plan->program[rank][0].nops;
}

/* Let every lane run until it waits, over and over, until all are done or all wait. */
static pipc_status_t run(check_t *c)
{
    bool progress = true, open = true;

    while (progress) {
        progress = open = false;
        for (int i = 0; i < c->nranks * c->call->lanes; i++) {
            int rank = i / c->call->lanes, lane = i % c->call->lanes;
            bool ran = true;
            while (ran && !finished(c, rank, lane)) {
                pipc_status_t st = step(c, rank, lane, &ran);
                if (st)
                    return st;
                progress |= ran;
            }
            open |= !finished(c, rank, lane);
        }
    }
    if (!open)
        return PIPC_OK;
    for (int r = 0; r < c->nranks; r++)
        for (int l = 0; l < c->call->lanes; l++)
            if (!finished(c, r, l))
                return wrong(c, r, &c->actor[r][l], "waits for ever (every rank waits: deadlock)");
    return PIPC_OK;
}

/* Fold what this call did to the staging areas into old_*: later calls may cut them differently. */
static void retire_slots(check_t *c)
{
    for (int r = 0; r < c->nranks; r++)
        for (int b = 0; b < c->buffers; b++)
            for (int i = 0; i < PIPC__SLOTS_MAX * LANES; i++) {
                cell_t *cell = &c->slot[r][b][i / LANES][i % LANES];
                vclock_t *w = &c->old_write[r][b];
                if (cell->writer >= 0 && w->at[cell->writer] < cell->written)
                    w->at[cell->writer] = cell->written;
                join(&c->old_read[r][b], &cell->read);
                memset(cell, 0, sizeof(*cell));
                cell->writer = -1;
            }
}

static void give_inputs(check_t *c)
{
    const pipc__plan_t *p = c->call->plan;
    cell_t *all = &c->user[0][0][0][0][0];

    for (size_t i = 0; i < sizeof(c->user) / sizeof(*all); i++) {
        memset(&all[i], 0, sizeof(*all));
        all[i].writer = -1;
    }
    for (int r = 0; r < c->nranks; r++)
        for (int round = 0; round < c->call->rounds; round++)
            for (int chunk = 0; chunk < p->nchunks; chunk++)
                for (int l = 0; l < c->call->lanes; l++) {
                    value_t *v = &c->user[0][r][round][chunk][l].value;
                    if (p->collective == PIPC__ALLGATHER && chunk != r)
                        continue;
                    v->defined = true;
                    v->round = c->base_round + round;
                    v->chunk = chunk;
                    v->counts[r] = 1;
                    v->expr = pipc__hash(PIPC__HASH_INIT, &r, sizeof(r));
                }
}

static void begin_call(check_t *c, const pipc__check_call_t *call)
{
    retire_slots(c);
    c->call = call;
    for (int r = 0; r < c->nranks; r++) {
        for (int l = 1; l < LANES; l++)
            join(&c->actor[r][0].clock, &c->actor[r][l].clock);
        for (int l = 0; l < LANES; l++)
            c->actor[r][l] = (actor_t){c->actor[r][0].clock, 0, 0};
    }
    give_inputs(c);
}

/* What the collective promises for one chunk of one rank's output; *ref_expr is rank 0's. */
static const char *judge_output(const pipc__plan_t *p, int rank, int chunk, const value_t *v,
                                uint64_t *ref_expr)
{
    if (p->collective == PIPC__REDUCE_SCATTER && chunk != rank)
        return NULL;
    if (!v->defined)
        return "output was never written";
    for (int q = 0; q < p->nranks; q++) {
        int want = p->collective != PIPC__ALLGATHER || q == chunk;
        if (v->counts[q] < want)
            return "output lacks a contribution";
        if (v->counts[q] > want)
            return "output has a contribution twice or a foreign one";
    }
    if (p->collective != PIPC__ALLGATHER && v->stage != COMPLETE)
        return "output lacks the post-op";
    if (p->collective == PIPC__REDUCE_SCATTER)
        return NULL; /* each chunk exists once: nothing to compare with */
    if (rank == 0)
        *ref_expr = v->expr;
    return v->expr == *ref_expr ? NULL : "output is reduced in another order than on rank 0";
}

static pipc_status_t judge_call(check_t *c)
{
    const pipc__plan_t *p = c->call->plan;
    int which = !c->call->in_place;
    uint64_t expr = 0;

    for (int round = 0; round < c->call->rounds; round++)
        for (int chunk = 0; chunk < p->nchunks; chunk++)
            for (int l = 0; l < c->call->lanes; l++)
                for (int r = 0; r < p->nranks; r++) {
                    const value_t *v = &c->user[which][r][round][chunk][l].value;
                    const char *bad = judge_output(p, r, chunk, v, &expr);
                    if (bad)
                        return pipc__fail(c->err, PIPC_ERR_INVALID,
                                          "plan %s: call %d, round %d, rank %d, chunk %d: %s",
                                          p->name, c->call_index, round, r, chunk, bad);
                }
    return PIPC_OK;
}

static pipc_status_t judge_arguments(const pipc__check_call_t *calls, int ncalls, int buffers,
                                     pipc__error_t *err)
{
    if (ncalls < 1 || buffers < 1 || buffers > BUFFERS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "check: %d calls with %d buffers", ncalls, buffers);
    for (int i = 0; i < ncalls; i++) {
        const pipc__check_call_t *k = &calls[i];
        pipc_status_t st = pipc__plan_validate(k->plan, err);
        if (st)
            return st;
        if (k->rounds < 1 || k->rounds > PIPC__CHECK_ROUNDS_MAX || k->lanes < 1 ||
            k->lanes > LANES || k->plan->nchunks > CHUNKS_MAX)
            return pipc__fail(err, PIPC_ERR_INVALID, "check: call %d has rounds, lanes or chunks "
                              "out of range", i);
        if (k->plan->nranks != calls[0].plan->nranks)
            return pipc__fail(err, PIPC_ERR_INVALID, "check: call %d has %d ranks, call 0 has %d",
                              i, k->plan->nranks, calls[0].plan->nranks);
    }
    return PIPC_OK;
}

pipc_status_t pipc__plan_check(const pipc__check_call_t *calls, int ncalls, int buffers,
                               pipc__error_t *err)
{
    pipc_status_t st = judge_arguments(calls, ncalls, buffers, err);

    if (st)
        return st;
    check_t *c = calloc(1, sizeof(*c));
    if (!c)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the checker");
    c->nranks = calls[0].plan->nranks;
    c->buffers = buffers;
    c->base_round = 1;
    c->err = err;
    for (cell_t *s = &c->slot[0][0][0][0]; s < &c->slot[0][0][0][0] + sizeof(c->slot) / sizeof(*s); s++)
        s->writer = -1;
    for (int i = 0; !st && i < ncalls; i++) {
        c->call_index = i;
        begin_call(c, &calls[i]);
        st = run(c);
        if (!st)
            st = judge_call(c);
        c->base_round += calls[i].rounds;
    }
    free(c);
    return st;
}
