/* plan/replay.c - symbolic execution of traces with vector clocks. See replay.h
 *
 * What is ordered by what stands in replay_order.c. A conflicting access that is not ordered
 * (replay_memory.c) is a race, whatever
 * order this one run took; without races, what this one run computes every run does.
 */
#include "runtime/plan/replay.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/plan/replay_state.h"

pipc_status_t pipc__replay_wrong(const pipc__replay_t *c, const char *fmt, ...)
{
    const pipc__replay_actor_t *a = c->now;
    uint32_t thread = (uint32_t)(a - c->actor) % c->nthreads;
    uint32_t block_threads = pipc__replay_trace(c, a->rank)->block_threads;
    char what[160], words[PIPC__EVENT_TEXT];
    va_list args;

    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return pipc__fail(c->err, PIPC_ERR_INVALID,
                      "call %d, rank %d, block %u, thread %u, event %u (%s): %s", c->call[a->rank],
                      a->rank, thread / block_threads, thread % block_threads, a->next,
                      pipc__event_text(&a->events[a->next], words), what);
}

pipc_status_t pipc__replay_no_memory(const pipc__replay_t *c)
{
    return pipc__fail(c->err, PIPC_ERR_NOMEM, "no memory to replay traces of %u threads",
                      c->nactors);
}

/* --- values ---------------------------------------------------------------------------------- */

static pipc_status_t combine(const pipc__replay_t *c, pipc__content_t *sum,
                             const pipc__content_t *v)
{
    if (!sum->call && !v->call)
        return PIPC_OK;
    if (sum->call != v->call || sum->at != v->at)
        return pipc__replay_wrong(c, "adds byte %llu of the message to byte %llu",
                                  (unsigned long long)v->at, (unsigned long long)sum->at);
    if (sum->ranks & v->ranks)
        return pipc__replay_wrong(c, "adds a contribution that is in the sum already: %#x and %#x",
                                  v->ranks, sum->ranks);
    sum->ranks |= v->ranks;
    sum->expr = pipc__hash(sum->expr, &v->expr, sizeof(v->expr));
    return PIPC_OK;
}

static pipc_status_t do_take_or_add(pipc__replay_t *c, pipc__replay_actor_t *a,
                                    const pipc__event_t *e)
{
    const pipc__register_t *from = &a->reg[e->from];
    pipc__register_t *to = &a->reg[e->reg];

    if (to->n < from->n) {
        pipc__content_t *more = realloc(to->byte, from->n * sizeof(*more));
        if (!more)
            return pipc__replay_no_memory(c);
        memset(more + to->n, 0, (from->n - to->n) * sizeof(*more));
        to->byte = more;
        to->n = from->n;
    }
    if (e->kind == PIPC__DID_TAKE && to->n)
        memset(to->byte, 0, to->n * sizeof(*to->byte));
    for (size_t i = 0; i < from->n; i++) {
        if (e->kind == PIPC__DID_TAKE) {
            to->byte[i] = from->byte[i];
            continue;
        }
        pipc_status_t st = combine(c, &to->byte[i], &from->byte[i]);
        if (st)
            return st;
    }
    return PIPC_OK;
}

/* --- a run ----------------------------------------------------------------------------------- */

static pipc_status_t do_event(pipc__replay_t *c, pipc__replay_actor_t *a, const pipc__event_t *e,
                              bool *ran)
{
    if (e->kind <= PIPC__DID_ADD && e->from >= PIPC__TRACE_REGISTERS)
        return pipc__replay_wrong(c, "there is no register %u", e->from);
    if (e->kind <= PIPC__DID_ADD && e->reg >= PIPC__TRACE_REGISTERS &&
        !(e->kind == PIPC__DID_WRITE && e->reg == PIPC__TRACE_NOTHING))
        return pipc__replay_wrong(c, "there is no register %u", e->reg);
    switch (e->kind) {
    case PIPC__DID_READ:
        return pipc__replay_read(c, e, ran);
    case PIPC__DID_WRITE:
        return pipc__replay_write(c, e);
    case PIPC__DID_TAKE:
    case PIPC__DID_ADD:
        return do_take_or_add(c, a, e);
    case PIPC__DID_SIGNAL:
        return pipc__replay_signal(c, e);
    case PIPC__DID_WAIT:
        return pipc__replay_wait(c, e, ran);
    case PIPC__DID_FENCE:
        return pipc__replay_fence(c);
    case PIPC__DID_MEET:
    case PIPC__DID_ARRIVE:
        return pipc__replay_meet(c, e, ran);
    default:
        return pipc__replay_wrong(c, "is no event");
    }
}

/* Let @a run until it waits or ends; *moved when it did anything. */
static pipc_status_t run_actor(pipc__replay_t *c, pipc__replay_actor_t *a, bool *moved)
{
    bool ran = true;

    c->now = a;
    while (ran && a->next < a->nevents) {
        a->clock[a - c->actor]++;
        a->clock[c->nactors + (size_t)(a - c->actor)]++;
        pipc_status_t st = do_event(c, a, &a->events[a->next], &ran);
        if (st)
            return st;
        a->next += ran;
        *moved |= ran;
    }
    return PIPC_OK;
}

static pipc_status_t judge_byte(const pipc__replay_t *c, int rank, uint64_t at,
                                const pipc__content_t *v, uint64_t *expr)
{
    uint16_t want = (uint16_t)((1u << c->nranks) - 1);
    const char *what = NULL;

    if (!v->call || v->call != (uint32_t)c->call[rank] + 1)
        what = "was not written in this call";
    else if (v->at != at)
        what = "holds another byte of the message";
    else if (v->ranks != want)
        what = "lacks a contribution";
    else if (*expr && *expr != v->expr)
        what = "is reduced in another order than on another rank";
    *expr = v->expr;
    return what ? pipc__fail(c->err, PIPC_ERR_INVALID,
                             "call %d, rank %d: byte %llu of the output %s (contributions: %#x of "
                             "%#x)",
                             c->call[rank], rank, (unsigned long long)at, what, v->ranks, want)
                : PIPC_OK;
}

static pipc_status_t judge_call(pipc__replay_t *c, int rank)
{
    const pipc__trace_t *t = pipc__replay_trace(c, rank);
    uint64_t **exprs = &c->exprs[c->call[rank]];

    if (!*exprs && !(*exprs = calloc(t->bytes + 1, sizeof(**exprs))))
        return pipc__replay_no_memory(c);
    for (uint64_t at = 0; at < t->bytes; at++) {
        const pipc__byte_t *b = pipc__replay_byte(c, PIPC__OUTPUT, rank, at);
        if (!b)
            return pipc__replay_no_memory(c);
        pipc_status_t st = judge_byte(c, rank, at, &b->content, &(*exprs)[at]);
        if (st)
            return st;
    }
    return PIPC_OK;
}

static pipc_status_t begin_call(pipc__replay_t *c, int rank)
{
    pipc__replay_actor_t *first = &c->actor[(size_t)rank * c->nthreads];
    const pipc__trace_t *t = pipc__replay_trace(c, rank);
    pipc_status_t st = pipc__replay_join_rank(c, rank);

    for (uint32_t i = 0; i < c->nthreads; i++) {
        pipc__replay_actor_t *a = &first[i];
        a->events = &t->sink.events[(size_t)i * t->sink.each];
        a->nevents = i < t->blocks * t->block_threads ? t->sink.count[i] : 0;
        a->next = 0;
        for (int r = 0; r < PIPC__TRACE_REGISTERS; r++)
            a->reg[r].n = 0;
    }
    return st ? st : pipc__replay_fill(c, rank);
}

/* Each thread of @rank as far as it comes; at its call's end the next one. */
static pipc_status_t run_rank(pipc__replay_t *c, int rank, bool *moved)
{
    pipc__replay_actor_t *first = &c->actor[(size_t)rank * c->nthreads];
    pipc_status_t st = PIPC_OK;
    bool through = true;

    if (c->call[rank] == c->ncalls)
        return PIPC_OK;
    for (pipc__replay_actor_t *a = first; !st && a < first + c->nthreads; a++)
        st = run_actor(c, a, moved);
    for (pipc__replay_actor_t *a = first; a < first + c->nthreads; a++)
        through &= a->next == a->nevents;
    if (st || !through)
        return st;
    st = judge_call(c, rank);
    *moved = true;
    if (!st && ++c->call[rank] < c->ncalls)
        st = begin_call(c, rank);
    return st;
}

/* Every thread that is not through waits. Name the first one. */
static pipc_status_t deadlock(pipc__replay_t *c, int rank)
{
    const pipc__replay_actor_t *a = &c->actor[(size_t)rank * c->nthreads];

    while (a->next == a->nevents)
        a++;
    c->now = a;
    return pipc__replay_wrong(c, "waits for ever");
}

static pipc_status_t run(pipc__replay_t *c)
{
    pipc_status_t st = PIPC_OK;
    bool moved = true;

    for (int r = 0; !st && r < c->nranks; r++)
        st = begin_call(c, r);
    while (!st && moved) {
        moved = false;
        for (int r = 0; !st && r < c->nranks; r++)
            st = run_rank(c, r, &moved);
    }
    for (int r = 0; !st && r < c->nranks; r++)
        if (c->call[r] < c->ncalls)
            st = deadlock(c, r);
    return st;
}

/* --- begin, end ------------------------------------------------------------------------------ */

static bool allocate(pipc__replay_t *c)
{
    for (int i = 0; i < c->ncalls * c->nranks; i++) {
        uint32_t n = c->traces[i].blocks * c->traces[i].block_threads;
        c->nthreads = c->nthreads < n ? n : c->nthreads;
    }
    c->nactors = c->nthreads * (uint32_t)c->nranks;
    c->actor = calloc(c->nactors, sizeof(*c->actor));
    c->barrier = calloc((size_t)c->nactors * PIPC__REPLAY_BARRIERS, sizeof(*c->barrier));
    c->exprs = calloc((size_t)c->ncalls, sizeof(*c->exprs));
    for (uint32_t i = 0; c->actor && i < c->nactors; i++) {
        pipc__replay_actor_t *a = &c->actor[i];
        a->rank = (int)(i / c->nthreads);
        a->clock = calloc(c->nactors, 2 * sizeof(*a->clock));
        a->pending = calloc(c->nactors, sizeof(*a->pending));
        if (!a->clock || !a->pending)
            return false;
    }
    return c->actor && c->barrier && c->exprs;
}

static void release(pipc__replay_t *c)
{
    for (uint32_t i = 0; c->actor && i < c->nactors; i++) {
        free(c->actor[i].clock);
        free(c->actor[i].pending);
        for (int r = 0; r < PIPC__TRACE_REGISTERS; r++)
            free(c->actor[i].reg[r].byte);
    }
    for (int i = 0; c->exprs && i < c->ncalls; i++)
        free(c->exprs[i]);
    pipc__replay_free_order(c);
    free(c->actor);
    free(c->exprs);
    pipc__replay_free_memory(c);
}

pipc_status_t pipc__trace_replay(const pipc__trace_t *traces, int ncalls, int nranks,
                                 pipc__error_t *err)
{
    pipc__replay_t c = {.traces = traces, .ncalls = ncalls, .nranks = nranks, .err = err};

    if (ncalls < 1 || nranks < 1 || nranks > PIPC__RANKS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "replay: %d calls of %d ranks", ncalls, nranks);
    pipc_status_t st = allocate(&c) ? run(&c) : pipc__replay_no_memory(&c);
    release(&c);
    return st;
}
