/* plan/check.c - symbolic execution with vector clocks. See check.h
 *
 * An actor is one lane of one stage of one rank. Its clock is a vector with an entry for each
 * actor:
 *
 *     op of actor a         clock[a][a] += 1
 *     SIGNAL flag, round g  the clock is stored with (flag, g)
 *     WAIT flag, round g    clock[a] = max(clock[a], the clock stored with (flag, g))
 *     RAIL flag, round g    clock[rail] = max(clock[rail], clock[a]); clock[rail][rail] += 1; and
 * as a SIGNAL of the actor that the rank's rail is: its jobs end one by one a call begins all
 * actors of a rank get the maximum of their clocks (they join)
 *
 * A conflicting access that is not ordered by these clocks (check_access.c) is a race, whatever
 * order this one simulation took. With no races, the values that this one simulation computes are
 * those of every execution. Nothing is assumed of how far the stages of a rank run apart: a plan
 * without the join at its round's end shows as a race.
 *
 * Model: C. Flanagan, S. Freund, "FastTrack", PLDI 2009.
 */
#include "runtime/plan/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/plan/check_state.h"
#include "runtime/plan/text.h"

static const pipc__program_t *program_of(const pipc__check_t *c, const pipc__actor_t *a)
{
    return &c->call->plan->program[a->rank][a->stage];
}

pipc_status_t pipc__check_wrong(const pipc__check_t *c, const char *fmt, ...)
{
    const pipc__actor_t *a = c->now;
    const pipc__plan_t *p = c->call->plan;
    char words[PIPC__OP_BRIEFLY], what[160], stage[24] = "";
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    if (p->nstages > 1)
        snprintf(stage, sizeof(stage), ", stage %d", a->stage);
    pipc__plan_op_text(&program_of(c, a)->ops[a->step], a->rank, words, sizeof(words));
    return pipc__fail(c->err, PIPC_ERR_INVALID,
                      "plan %s: call %d, round %d, rank %d%s, step %d (%s): %s", p->name,
                      c->call_index, a->round, a->rank, stage, a->step, words, what);
}

/* Take @v, with the pre-op if @pre, into the partial result in @acc. */
static pipc_status_t accumulate(pipc__check_t *c, pipc__value_t *acc, const pipc__value_t *v,
                                bool pre)
{
    if (v->progress == PIPC__COMPLETE)
        return pipc__check_wrong(c, "reduces what has had its post-op already");
    if (pre && v->progress != PIPC__RAW)
        return pipc__check_wrong(c, "applies the pre-op a second time");
    if (!pre && v->progress == PIPC__RAW)
        return pipc__check_wrong(c, "takes in a contribution without pre-op");
    for (int r = 0; r < c->nranks; r++)
        if (acc->ranks & v->ranks & 1u << r)
            return pipc__check_wrong(c,
                                     "adds a contribution that is in the result already: rank "
                                     "%d's",
                                     r);
    acc->ranks |= v->ranks;
    acc->expr = pipc__hash(acc->expr, &v->expr, sizeof(v->expr));
    return PIPC_OK;
}

static pipc_status_t do_reduce(pipc__check_t *c, const pipc__op_t *op)
{
    pipc__value_t in, result = {.round = c->base_round + c->now->round,
                                .chunk = op->chunk,
                                .progress = op->post ? PIPC__COMPLETE : PIPC__PARTIAL,
                                .expr = PIPC__HASH_INIT};

    for (int i = 0; i < op->nsrc; i++) {
        pipc_status_t st = pipc__check_read(c, op->src[i], op->chunk, &in);
        if (!st)
            st = accumulate(c, &result, &in, op->pre >> i & 1);
        if (st)
            return st;
    }
    for (int r = 0; op->post && r < c->nranks; r++)
        if (!(result.ranks >> r & 1))
            return pipc__check_wrong(c,
                                     "applies the post-op to a result that lacks a "
                                     "contribution: rank %d's",
                                     r);
    return pipc__check_write(c, op->dst, op->chunk, &result);
}

static pipc_status_t do_copy(pipc__check_t *c, const pipc__op_t *op)
{
    pipc__value_t v;
    pipc_status_t st = pipc__check_read(c, op->src[0], op->chunk, &v);

    return st ? st : pipc__check_write(c, op->dst, op->chunk, &v);
}

/* Number of the flag of rank @rank that @op names, for the lane of c->now. */
static size_t flag_index(const pipc__check_t *c, int rank, const pipc__op_t *op)
{
    int place = op->kind == PIPC__RAIL ? PIPC__SLOT : op->dst.place;
    size_t i = pipc__check_memory(place) * (size_t)c->nranks + (size_t)rank;

    i = i * (size_t)c->nflags + op->flag;
    return i * (size_t)c->nlanes + (size_t)c->now->lane;
}

static pipc__check_flag_t *flag_of(const pipc__check_t *c, size_t index)
{
    return &c->flag[index * (size_t)c->buffers +
                    (size_t)((c->base_round + c->now->round) % c->buffers)];
}

static uint32_t *flag_clock(const pipc__check_t *c, size_t index)
{
    return &c->flag_clock[(index * (size_t)c->nrounds + (size_t)c->now->round) *
                          (size_t)c->nactors];
}

/* A flag holds the number that was stored last. Were the signals of two actors, of this call and of
 * an earlier one, not ordered, the older number could come last, and the wait for the newer one
 * would never end; or a wait for the older one would be released by the newer. */
static pipc_status_t do_signal(pipc__check_t *c, const pipc__op_t *op, const pipc__actor_t *by)
{
    size_t index = flag_index(c, op->peer, op);
    pipc__check_flag_t *f = flag_of(c, index);
    int self = (int)(by - c->actor);
    char text[PIPC__WHO_TEXT];

    if (f->signaller && f->signalled > c->now->clock[f->signaller - 1])
        return pipc__check_wrong(c,
                                 "signals a flag to which the signal of %s in an earlier call "
                                 "may still be on its way",
                                 pipc__check_who(c, f->signaller - 1, text));
    f->round = c->base_round + c->now->round;
    f->signaller = self + 1;
    f->signalled = by->clock[self];
    memcpy(flag_clock(c, index), by->clock, sizeof(uint32_t) * (size_t)c->nactors);
    return PIPC_OK;
}

static pipc_status_t do_rail(pipc__check_t *c, const pipc__op_t *op)
{
    const pipc__actor_t *rail;
    pipc_status_t st = pipc__check_rail(c, op, &rail);

    return st ? st : do_signal(c, op, rail);
}

/* False when the flag has not come yet. */
static bool do_wait(pipc__check_t *c, pipc__actor_t *a, const pipc__op_t *op)
{
    size_t index = flag_index(c, a->rank, op);

    if (flag_of(c, index)->round < c->base_round + a->round)
        return false;
    pipc__clock_join(a->clock, flag_clock(c, index), c->nactors);
    return true;
}

/* Run the next op of @a. *ran is false when it waits. */
static pipc_status_t step(pipc__check_t *c, pipc__actor_t *a, bool *ran)
{
    const pipc__program_t *program = program_of(c, a);
    const pipc__op_t *op = &program->ops[a->step];
    pipc_status_t st = PIPC_OK;

    *ran = true;
    c->now = a;
    a->clock[a - c->actor]++;
    switch (op->kind) {
    case PIPC__SIGNAL:
        st = do_signal(c, op, a);
        break;
    case PIPC__RAIL:
        st = do_rail(c, op);
        break;
    case PIPC__WAIT:
        *ran = do_wait(c, a, op);
        break;
    case PIPC__REDUCE:
        st = do_reduce(c, op);
        break;
    default:
        st = do_copy(c, op);
    }
    if (!st && *ran && ++a->step == program->nops) {
        a->step = 0;
        a->round++;
    }
    return st;
}

static bool finished(const pipc__check_t *c, const pipc__actor_t *a)
{
    return a->stage >= c->call->plan->nstages || a->round == c->call->rounds ||
           a->lane >= c->call->lanes || !program_of(c, a)->nops;
}

/* Every actor that has not finished waits. Name one of them, and who should have signalled it. */
static pipc_status_t deadlock(pipc__check_t *c, const pipc__actor_t *a)
{
    const pipc__op_t *wait = &program_of(c, a)->ops[a->step];
    const pipc__actor_t *peer = &c->actor[wait->peer * c->nstages * c->nlanes + a->lane];
    char text[PIPC__WHO_TEXT];

    c->now = a;
    for (int s = 0; s < c->call->plan->nstages; s++, peer += c->nlanes)
        for (int i = 0; i < program_of(c, peer)->nops; i++) {
            const pipc__op_t *op = &program_of(c, peer)->ops[i];
            if (op->kind == PIPC__SIGNAL && op->peer == a->rank && op->flag == wait->flag &&
                op->dst.place == wait->dst.place)
                return pipc__check_wrong(c,
                                         "waits for ever (deadlock): %s would signal in its "
                                         "step %d, but waits in step %d of round %d",
                                         pipc__check_who(c, (int)(peer - c->actor), text), i,
                                         peer->step, peer->round);
        }
    return pipc__check_wrong(c, "waits for ever (deadlock)");
}

/* Let every actor run until it waits, over and over, until all are done or all wait. */
static pipc_status_t run(pipc__check_t *c)
{
    bool progress = true;
    const pipc__actor_t *open = NULL;

    while (progress) {
        progress = false;
        open = NULL;
        for (pipc__actor_t *a = c->actor; a < c->actor + c->nactors; a++) {
            bool ran = true;
            while (ran && !finished(c, a)) {
                pipc_status_t st = step(c, a, &ran);
                if (st)
                    return st;
                progress |= ran;
            }
            if (!open && !finished(c, a))
                open = a;
        }
    }
    return open ? deadlock(c, open) : PIPC_OK;
}

static bool has_input(const pipc__plan_t *p, int rank, int chunk)
{
    return p->collective != PIPC__ALLGATHER || pipc__owner(p->nranks, p->nchunks, chunk) == rank;
}

static void give_inputs(pipc__check_t *c)
{
    const pipc__plan_t *p = c->call->plan;

    memset(c->user, 0,
           sizeof(*c->user) * 2 * (size_t)c->nranks * (size_t)c->nrounds * (size_t)c->nchunks *
               (size_t)c->nlanes);
    for (int r = 0; r < c->nranks; r++) {
        pipc__value_t v = {.ranks = (uint16_t)(1u << r),
                           .progress = PIPC__RAW,
                           .expr = pipc__hash(PIPC__HASH_INIT, &r, sizeof(r))};
        for (int round = 0; round < c->call->rounds; round++)
            for (int chunk = 0; chunk < p->nchunks; chunk++) {
                if (!has_input(p, r, chunk))
                    continue;
                v.round = c->base_round + round;
                v.chunk = (uint16_t)chunk;
                for (int l = 0; l < c->call->lanes; l++)
                    pipc__check_user(c, PIPC__INPUT, r, round, chunk, l)->value = v;
            }
    }
}

static void begin_call(pipc__check_t *c, const pipc__check_call_t *call)
{
    int each = c->nstages * c->nlanes; /* actors of a rank */

    pipc__check_retire(c);
    c->call = call;
    memset(c->railed, 0, sizeof(*c->railed) * (size_t)(c->nrounds * c->nchunks * c->nlanes));
    for (int r = 0; r < c->nranks; r++) {
        pipc__actor_t *first = &c->actor[r * each];
        for (int i = 1; i < each; i++)
            pipc__clock_join(first->clock, first[i].clock, c->nactors);
        for (int i = 0; i < each; i++) {
            if (i)
                memcpy(first[i].clock, first->clock, sizeof(uint32_t) * (size_t)c->nactors);
            first[i].round = first[i].step = 0;
        }
    }
    give_inputs(c);
}

/* What the collective promises for one chunk of one rank's output; *ref_expr is rank 0's. */
static const char *judge_output(const pipc__plan_t *p, int rank, int chunk, const pipc__value_t *v,
                                uint64_t *ref_expr)
{
    int owner = pipc__owner(p->nranks, p->nchunks, chunk);
    bool gather = p->collective == PIPC__ALLGATHER;
    unsigned int want = gather ? 1u << owner : (1u << p->nranks) - 1;

    if (p->collective == PIPC__REDUCE_SCATTER && owner != rank)
        return NULL;
    if (!v->round)
        return "output was never written";
    if (want & ~(unsigned int)v->ranks)
        return "output lacks a contribution";
    if (v->ranks & ~want)
        return "output has a foreign contribution";
    if (gather)
        return v->progress == PIPC__RAW ? NULL : "output is not as its owner gave it";
    if (p->nrails && !v->railed)
        return "output lacks the sum over the nodes";
    if (v->progress != PIPC__COMPLETE)
        return "output lacks the post-op";
    if (p->collective == PIPC__REDUCE_SCATTER)
        return NULL; /* each chunk exists once: nothing to compare with */
    if (rank == 0)
        *ref_expr = v->expr;
    return v->expr == *ref_expr ? NULL : "output is reduced in another order than on rank 0";
}

static pipc_status_t judge_call(pipc__check_t *c)
{
    const pipc__plan_t *p = c->call->plan;
    uint64_t expr = 0;

    for (int round = 0; round < c->call->rounds; round++)
        for (int chunk = 0; chunk < p->nchunks; chunk++)
            for (int l = 0; l < c->call->lanes; l++)
                for (int r = 0; r < p->nranks; r++) {
                    const pipc__value_t *v =
                        &pipc__check_user(c, PIPC__OUTPUT, r, round, chunk, l)->value;
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
    if (ncalls < 1 || buffers < 1 || buffers > PIPC__CHECK_BUFFERS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "check: %d calls with %d buffers", ncalls,
                          buffers);
    for (int i = 0; i < ncalls; i++) {
        const pipc__check_call_t *k = &calls[i];
        pipc_status_t st = pipc__plan_validate(k->plan, err);
        if (st)
            return st;
        if (k->rounds < 1 || k->rounds > PIPC__CHECK_ROUNDS_MAX || k->lanes < 1 ||
            k->lanes > PIPC__CHECK_LANES_MAX)
            return pipc__fail(err, PIPC_ERR_INVALID,
                              "check: call %d has rounds or lanes out of range", i);
        if (k->plan->nranks != calls[0].plan->nranks)
            return pipc__fail(err, PIPC_ERR_INVALID, "check: call %d has %d ranks, call 0 has %d",
                              i, k->plan->nranks, calls[0].plan->nranks);
    }
    return PIPC_OK;
}

static int more(int a, int b)
{
    return a > b ? a : b;
}

static bool uses_host(const pipc__plan_t *p)
{
    for (int r = 0; r < p->nranks; r++)
        for (int s = 0; s < p->nstages; s++)
            for (int i = 0; i < p->program[r][s].nops; i++)
                if (p->program[r][s].ops[i].dst.place == PIPC__HOST)
                    return true;
    return false;
}

/* Sizes that hold every call. */
static void measure(pipc__check_t *c, const pipc__check_call_t *calls, int ncalls)
{
    bool rails = false;

    c->nranks = calls[0].plan->nranks;
    c->nmemories = 1;
    for (int i = 0; i < ncalls; i++) {
        const pipc__plan_t *p = calls[i].plan;
        c->nstages = more(c->nstages, p->nstages);
        c->nlanes = more(c->nlanes, calls[i].lanes);
        c->nslots = more(c->nslots, p->nslots);
        c->nflags = more(c->nflags, p->nflags);
        c->nchunks = more(c->nchunks, p->nchunks);
        c->nrounds = more(c->nrounds, calls[i].rounds);
        c->nmemories = more(c->nmemories, uses_host(p) ? 2 : 1);
        rails |= p->nrails > 0;
    }
    c->rail_stage = rails ? c->nstages++ : -1;
    c->nactors = c->nranks * c->nstages * c->nlanes;
}

static bool allocate(pipc__check_t *c)
{
    size_t n = (size_t)c->nactors, lanes = (size_t)c->nlanes;
    size_t areas = (size_t)(c->nmemories * c->nranks * c->buffers);
    size_t flags = (size_t)(c->nmemories * c->nranks * c->nflags) * lanes;
    size_t chunks = (size_t)(c->nranks * c->nrounds * c->nchunks) * lanes;

    /* One more where there may be none: calloc(0) may return NULL. */
    c->actor = calloc(n, sizeof(*c->actor));
    c->clocks = calloc(n * n, sizeof(*c->clocks));
    c->flag = calloc(flags * (size_t)c->buffers + 1, sizeof(*c->flag));
    c->flag_clock = calloc(flags * (size_t)c->nrounds * n + 1, sizeof(*c->flag_clock));
    c->slot = calloc(areas * (size_t)c->nslots * lanes + 1, sizeof(*c->slot));
    c->user = calloc(2 * chunks, sizeof(*c->user));
    c->old_write = calloc(areas * n, sizeof(*c->old_write));
    c->old_read = calloc(areas * n, sizeof(*c->old_read));
    c->railed = calloc((size_t)(c->nrounds * c->nchunks) * lanes, sizeof(*c->railed));
    if (!c->actor || !c->clocks || !c->flag || !c->flag_clock || !c->slot || !c->user ||
        !c->old_write || !c->old_read || !c->railed)
        return false;
    for (int i = 0; i < c->nactors; i++)
        c->actor[i] = (pipc__actor_t){.clock = c->clocks + (size_t)i * n,
                                      .rank = i / c->nlanes / c->nstages,
                                      .stage = i / c->nlanes % c->nstages,
                                      .lane = i % c->nlanes};
    return true;
}

static void release(pipc__check_t *c)
{
    free(c->actor);
    free(c->clocks);
    free(c->flag);
    free(c->flag_clock);
    free(c->slot);
    free(c->user);
    free(c->old_write);
    free(c->old_read);
    free(c->railed);
}

pipc_status_t pipc__plan_check(const pipc__check_call_t *calls, int ncalls, int buffers,
                               pipc__error_t *err)
{
    pipc__check_t c = {.buffers = buffers, .base_round = 1, .err = err};
    pipc_status_t st = judge_arguments(calls, ncalls, buffers, err);

    if (st)
        return st;
    measure(&c, calls, ncalls);
    if (!allocate(&c)) {
        release(&c);
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the checker");
    }
    for (int i = 0; !st && i < ncalls; i++) {
        c.call_index = i;
        begin_call(&c, &calls[i]);
        st = run(&c);
        if (!st)
            st = judge_call(&c);
        c.base_round += calls[i].rounds;
    }
    release(&c);
    return st;
}
