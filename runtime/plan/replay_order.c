/* plan/replay_order.c - clocks, flags and barriers: what happened before what. See replay.h
 *
 * An actor is a thread of a rank. Its clock is a vector with an entry for each actor:
 *
 *     event of actor a      clock[a][a] += 1
 *     released signal       a's clock is stored with the flag's value
 *     acquired wait         clock[a] = max(clock[a], the clock stored with that value)
 *     relaxed signal, word  the clock as it was at a's last fence is stored
 *     relaxed wait, word    what is stored goes to pending[a]
 *     fence                 clock[a] = max(clock[a], pending[a])
 *     barrier               all who meet get the maximum of their clocks
 *     a kernel ends         all actors of the rank get the maximum of their clocks and what is
 * pending
 *
 * A second clock is of loads alone. A load is through when its value was used, whatever becomes
 * visible when, and no store is made before the branch that it depends on: so a signal behind the
 * use of loads (PIPC__LOADED) passes this clock on, and any wait takes it. It orders a load before
 * a store and nothing else, which is all that the reuse of a slot needs.
 */
#include "runtime/plan/replay_state.h"

#include <stdlib.h>
#include <string.h>

const uint32_t *pipc__replay_keep(pipc__replay_t *c, const uint32_t *all, const uint32_t *loads)
{
    size_t bytes = c->nactors * sizeof(*all);
    pipc__kept_clock_t *k = malloc(sizeof(*k) + 2 * bytes);

    if (!k)
        return NULL;
    k->before = c->kept;
    c->kept = k;
    memcpy(k->clock, all, bytes);
    memcpy(k->clock + c->nactors, loads, bytes);
    return k->clock;
}

static pipc__replay_actor_t *self(const pipc__replay_t *c)
{
    return &c->actor[c->now - c->actor];
}

static uint32_t block_of(const pipc__replay_t *c, const pipc__replay_actor_t *a)
{
    return (uint32_t)(a - c->actor) % c->nthreads / pipc__replay_trace(c, a->rank)->block_threads;
}

pipc_status_t pipc__replay_join_rank(pipc__replay_t *c, int rank)
{
    pipc__replay_actor_t *first = &c->actor[(size_t)rank * c->nthreads], *end = first + c->nthreads;
    size_t barriers = (size_t)c->nthreads * PIPC__REPLAY_BARRIERS;

    for (pipc__replay_actor_t *a = first; a < end; a++) {
        pipc__replay_join(first->clock, a->clock, 2 * (size_t)c->nactors);
        pipc__replay_join(first->clock, a->pending, c->nactors);
    }
    const uint32_t *all = pipc__replay_keep(c, first->clock, first->clock + c->nactors);
    if (!all)
        return pipc__replay_no_memory(c);
    for (pipc__replay_actor_t *a = first; a < end; a++) {
        memcpy(a->clock, all, c->nactors * 2 * sizeof(*all));
        a->fenced = all;
    }
    for (size_t i = 0; i < barriers; i++) {
        pipc__replay_barrier_t *b = &c->barrier[(size_t)rank * barriers + i];
        b->turn++;
        b->came = 0;
        if (b->clock)
            memset(b->clock, 0, c->nactors * 4 * sizeof(*b->clock));
    }
    return PIPC_OK;
}

void pipc__replay_see(pipc__replay_t *c, const uint32_t *told)
{
    pipc__replay_actor_t *a = self(c);

    pipc__replay_join(a->pending, told, c->nactors);
    pipc__replay_join(a->clock + c->nactors, told + c->nactors, c->nactors);
}

pipc_status_t pipc__replay_fence(pipc__replay_t *c)
{
    pipc__replay_actor_t *a = self(c);

    pipc__replay_join(a->clock, a->pending, c->nactors);
    a->fenced = pipc__replay_keep(c, a->clock, a->clock + c->nactors);
    return a->fenced ? PIPC_OK : pipc__replay_no_memory(c);
}

/* --- flags ----------------------------------------------------------------------------------- */

/* Those in shared memory are a block's, and gone when the call ends. */
static pipc__replay_flag_t *flag_of(pipc__replay_t *c, const pipc__event_t *e)
{
    const pipc__replay_actor_t *a = c->now;
    uint64_t key = (uint64_t)e->place << 60;

    if (e->place == PIPC__TRACE_BLOCK)
        key |= (uint64_t)a->rank << 56 | (uint64_t)c->call[a->rank] << 40 |
               (uint64_t)block_of(c, a) << 20 | e->at;
    else
        key |= (uint64_t)e->rank << 56 | e->at;
    return pipc__by_key(&c->flags, key, sizeof(pipc__replay_flag_t));
}

/* What a signal of @how passes on. */
static const uint32_t *told_by(pipc__replay_t *c, int how)
{
    const pipc__replay_actor_t *a = c->now;

    if (how == PIPC__ORDERED)
        return pipc__replay_keep(c, a->clock, a->clock + c->nactors);
    if (how == PIPC__LOADED)
        return pipc__replay_keep(c, a->fenced, a->clock + c->nactors);
    return a->fenced;
}

/* Coherence orders two stores to a flag when somebody saw the first one before the second was made.
 */
static bool is_last(const pipc__replay_t *c, const pipc__replay_flag_t *f)
{
    bool last = pipc__replay_before(c, f->last);

    for (size_t i = 0; !last && i < f->nseen; i++)
        last = pipc__replay_loaded(c, f->seen[i]);
    return last;
}

static bool note_seen(const pipc__replay_t *c, pipc__replay_flag_t *f)
{
    pipc__moment_t *more = realloc(f->seen, (f->nseen + 1) * sizeof(*more));

    if (!more)
        return false;
    more[f->nseen++] = pipc__replay_now(c);
    f->seen = more;
    return true;
}

/* A flag holds the number that was stored last, so signals to it must be ordered, and grow. */
pipc_status_t pipc__replay_signal(pipc__replay_t *c, const pipc__event_t *e)
{
    pipc__replay_flag_t *f = flag_of(c, e);
    pipc__told_t *more =
        f ? realloc(f->told, (f->ntold + 1) * sizeof(*more)) : NULL; /* few a flag */
    const uint32_t *clock = told_by(c, e->how);

    if (more)
        f->told = more;
    if (!more || !clock)
        return pipc__replay_no_memory(c);
    if (!is_last(c, f))
        return pipc__replay_wrong(c, "a signal of thread %u of rank %u may come later",
                                  (f->last.actor - 1) % c->nthreads,
                                  (f->last.actor - 1) / c->nthreads);
    if (f->ntold && f->told[f->ntold - 1].value >= e->value)
        return pipc__replay_wrong(c, "the flag has reached %llu already",
                                  (unsigned long long)f->told[f->ntold - 1].value);
    f->told[f->ntold++] = (pipc__told_t){e->value, clock};
    f->last = pipc__replay_now(c);
    f->nseen = 0;
    return PIPC_OK;
}

pipc_status_t pipc__replay_wait(pipc__replay_t *c, const pipc__event_t *e, bool *ran)
{
    pipc__replay_flag_t *f = flag_of(c, e);
    size_t i = 0;

    if (!f)
        return pipc__replay_no_memory(c);
    while (i < f->ntold && f->told[i].value < e->value)
        i++;
    *ran = i < f->ntold;
    if (*ran && i == f->ntold - 1 && !note_seen(c, f))
        return pipc__replay_no_memory(c);
    if (*ran && e->how == PIPC__ORDERED)
        pipc__replay_join(self(c)->clock, f->told[i].clock, 2 * (size_t)c->nactors);
    else if (*ran)
        pipc__replay_see(c, f->told[i].clock);
    return PIPC_OK;
}

/* --- barriers -------------------------------------------------------------------------------- */

static pipc__replay_barrier_t *barrier_of(const pipc__replay_t *c, const pipc__replay_actor_t *a,
                                          uint64_t number)
{
    size_t block = (size_t)a->rank * c->nthreads + block_of(c, a);

    return &c->barrier[block * PIPC__REPLAY_BARRIERS + number];
}

/* All have come: those who wait go on. */
static void let_go(pipc__replay_t *c, int rank, pipc__replay_barrier_t *b, uint64_t number)
{
    pipc__replay_actor_t *first = &c->actor[(size_t)rank * c->nthreads];
    size_t n = 2 * (size_t)c->nactors;

    for (pipc__replay_actor_t *a = first; a < first + c->nthreads; a++)
        if (a->met && a->events[a->next].at == number && barrier_of(c, a, number) == b) {
            memcpy(a->clock, b->clock, n * sizeof(*b->clock)); /* its own is in it */
            a->met = false;
            a->next++;
        }
    b->turn++;
    b->came = 0;
    memcpy(b->clock + n, b->clock, n * sizeof(*b->clock));
    memset(b->clock, 0, n * sizeof(*b->clock));
}

/* Who does not know that a turn is over may be counted in it. */
static pipc_status_t judge_turn(const pipc__replay_t *c, const pipc__replay_actor_t *a,
                                const pipc__replay_barrier_t *b, uint64_t number)
{
    const uint32_t *last = b->clock + 2 * (size_t)c->nactors;
    bool early = a->came[number] == b->turn;

    if (a->came[number] + 1 == b->turn && a->waited[number])
        return PIPC_OK;
    for (uint32_t i = 0; i < c->nactors; i++)
        early |= last[i] > a->clock[i];
    return early ? pipc__replay_wrong(c, "comes again while others of the last time may be missing")
                 : PIPC_OK;
}

pipc_status_t pipc__replay_meet(pipc__replay_t *c, const pipc__event_t *e, bool *ran)
{
    bool waits = e->kind == PIPC__DID_MEET;
    pipc__replay_actor_t *a = self(c);

    if (e->at >= PIPC__REPLAY_BARRIERS)
        return pipc__replay_wrong(c, "there is no such barrier");
    *ran = false;
    if (a->met)
        return PIPC_OK;
    pipc__replay_barrier_t *b = barrier_of(c, a, e->at);
    if (!b->clock && !(b->clock = calloc(c->nactors, 4 * sizeof(*b->clock))))
        return pipc__replay_no_memory(c);
    pipc_status_t st = judge_turn(c, a, b, e->at);
    if (st)
        return st;
    a->came[e->at] = b->turn;
    a->waited[e->at] = waits;
    pipc__replay_join(b->clock, a->clock, 2 * (size_t)c->nactors);
    if (++b->came < e->value) {
        a->met = waits;
        *ran = !waits;
        return PIPC_OK;
    }
    if (waits)
        pipc__replay_join(a->clock, b->clock, 2 * (size_t)c->nactors);
    let_go(c, a->rank, b, e->at);
    *ran = true;
    return PIPC_OK;
}

void pipc__replay_free_order(pipc__replay_t *c)
{
    for (size_t i = 0; c->barrier && i < (size_t)c->nactors * PIPC__REPLAY_BARRIERS; i++)
        free(c->barrier[i].clock);
    free(c->barrier);
    for (size_t i = 0; i < c->flags.room; i++) {
        pipc__replay_flag_t *f = (pipc__replay_flag_t *)(void *)c->flags.entry[i];
        if (f) {
            free(f->told);
            free(f->seen);
        }
        free(f);
    }
    free(c->flags.entry);
    while (c->kept) {
        pipc__kept_clock_t *k = c->kept;
        c->kept = k->before;
        free(k);
    }
}
