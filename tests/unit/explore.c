/* tests/unit/explore.c - see explore.h */
#include "tests/unit/explore.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ACTORS (PIPC__RANKS_MAX * PIPC__STAGES_MAX)

/* A state is one array of 64-bit words:
 *
 *     | where each actor is | flags | slots | user buffers |
 */
typedef struct machine {
    const explore_t *e;
    int nranks, nstages, nactors, nchunks, nslots, nflags, nrounds; /* rounds of all calls */
    size_t flags, slots, user, words;                               /* begin of each part, end */
} machine_t;

typedef struct where {
    int round, step, word; /* round of all calls */
} where_t;

static where_t where(const uint64_t *s, int actor)
{
    return (where_t){(int)(s[actor] >> 32), (int)(s[actor] >> 1 & 0x7fffffff), (int)(s[actor] & 1)};
}

static void go_to(uint64_t *s, int actor, where_t w)
{
    s[actor] = (uint64_t)w.round << 32 | (uint64_t)w.step << 1 | (uint64_t)w.word;
}

/* --- memory ----------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ull;
    return x ^ x >> 33;
}

/* A word: a sum in the upper half, a hash of what was added in which order in the lower half. */
static uint64_t pack(uint32_t sum, uint32_t hash)
{
    return (uint64_t)sum << 32 | hash;
}

static uint64_t contribution(int rank, int round, int chunk, int word)
{
    return mix((uint64_t)rank << 48 | (uint64_t)round << 32 | (uint64_t)chunk << 8 |
               (uint64_t)word | 1ull << 63);
}

static uint64_t *user_word(const machine_t *m, uint64_t *s, bool output, int rank, int round,
                           int chunk, int word)
{
    size_t i = output && !m->e->in_place;

    i = i * (size_t)m->nranks + (size_t)rank;
    i = i * (size_t)m->nrounds + (size_t)round;
    i = i * (size_t)m->nchunks + (size_t)chunk;
    return &s[m->user + i * 2 + (size_t)word];
}

static uint64_t *word_of(const machine_t *m, uint64_t *s, pipc__ref_t ref, int chunk, where_t w)
{
    if (ref.place == PIPC__INPUT || ref.place == PIPC__OUTPUT)
        return user_word(m, s, ref.place == PIPC__OUTPUT, ref.rank, w.round, chunk, w.word);
    size_t i = (ref.place == PIPC__HOST) * (size_t)m->nranks + ref.rank;
    i = i * (size_t)m->e->buffers + (size_t)(w.round % m->e->buffers);
    i = i * (size_t)m->nslots + ref.slot;
    return &s[m->slots + i * 2 + (size_t)w.word];
}

static uint64_t *flag_of(const machine_t *m, uint64_t *s, int rank, const pipc__op_t *op, int round)
{
    size_t i = (op->dst.place == PIPC__HOST) * (size_t)m->nranks + (size_t)rank;

    i = i * (size_t)m->e->flag_sets + (size_t)(round % m->e->flag_sets);
    return &s[m->flags + i * (size_t)m->nflags + op->flag];
}

/* --- actors ----------------------------------------------------------------------------------- */

static const pipc__plan_t *plan_at(const machine_t *m, int round)
{
    return m->e->plans[round / m->e->rounds];
}

static const pipc__program_t *program_at(const machine_t *m, int actor, int round)
{
    return &plan_at(m, round)->program[actor / m->nstages][actor % m->nstages];
}

/* Go past rounds in which the actor has nothing to do. */
static where_t skip(const machine_t *m, int actor, where_t w)
{
    while (w.round < m->nrounds && w.step >= program_at(m, actor, w.round)->nops)
        w = (where_t){w.round + 1, 0, 0};
    return w;
}

/* A call begins on a rank when all stages of the rank have ended the one before. */
static bool may_begin(const machine_t *m, const uint64_t *s, int actor, where_t w)
{
    int first = actor / m->nstages * m->nstages, call = w.round / m->e->rounds;

    if (w.step || w.word || w.round % m->e->rounds)
        return true;
    for (int a = first; a < first + m->nstages; a++)
        if (where(s, a).round < call * m->e->rounds)
            return false;
    return true;
}

static const pipc__op_t *next_op(const machine_t *m, const uint64_t *s, int actor)
{
    where_t w = where(s, actor);

    if (w.round >= m->nrounds || !may_begin(m, s, actor, w))
        return NULL;
    return &program_at(m, actor, w.round)->ops[w.step];
}

static bool can_run(const machine_t *m, uint64_t *s, int actor)
{
    const pipc__op_t *op = next_op(m, s, actor);

    if (!op || op->kind != PIPC__WAIT)
        return op;
    int round = where(s, actor).round;
    return *flag_of(m, s, actor / m->nstages, op, round) >= (uint64_t)round + 1;
}

static uint64_t reduce_word(const machine_t *m, uint64_t *s, const pipc__op_t *op, where_t w)
{
    uint32_t sum = 0, hash = 7;

    for (int i = 0; i < op->nsrc; i++) {
        uint64_t v = *word_of(m, s, op->src[i], op->chunk, w);
        bool pre = op->pre >> i & 1;
        sum += (uint32_t)(v >> 32) * (pre ? 3 : 1);
        hash = hash * 31 + ((uint32_t)v ^ (pre ? 0x55555555 : 0));
    }
    return op->post ? pack(sum * 5, hash ^ 0x33333333) : pack(sum, hash);
}

/* Run the next op of an actor that can run, or one word of it. */
static void run_op(const machine_t *m, uint64_t *s, int actor)
{
    const pipc__op_t *op = next_op(m, s, actor);
    where_t w = where(s, actor);
    bool moves = op->kind == PIPC__COPY || op->kind == PIPC__REDUCE;

    if (op->kind == PIPC__COPY)
        *word_of(m, s, op->dst, op->chunk, w) = *word_of(m, s, op->src[0], op->chunk, w);
    if (op->kind == PIPC__REDUCE)
        *word_of(m, s, op->dst, op->chunk, w) = reduce_word(m, s, op, w);
    if (op->kind == PIPC__SIGNAL)
        *flag_of(m, s, op->peer, op, w.round) = (uint64_t)w.round + 1;
    w = moves && !w.word ? (where_t){w.round, w.step, 1} : (where_t){w.round, w.step + 1, 0};
    go_to(s, actor, skip(m, actor, w));
}

/* --- what should come out --------------------------------------------------------------------- */

static bool word_is_right(const machine_t *m, uint64_t *s, int rank, int round, int chunk, int word)
{
    const pipc__plan_t *p = plan_at(m, round);
    uint64_t v = *user_word(m, s, true, rank, round, chunk, word);
    int owner = pipc__owner(p->nranks, p->nchunks, chunk);
    uint32_t sum = 0;

    if (p->collective == PIPC__ALLGATHER)
        return v == contribution(owner, round, chunk, word);
    if (p->collective == PIPC__REDUCE_SCATTER && owner != rank)
        return true;
    for (int r = 0; r < p->nranks; r++)
        sum += (uint32_t)(contribution(r, round, chunk, word) >> 32) * 3;
    if ((uint32_t)(v >> 32) != sum * 5)
        return false;
    return p->collective == PIPC__REDUCE_SCATTER ||
           v == *user_word(m, s, true, 0, round, chunk, word);
}

/* The verdict on a state in which nobody can run. */
static explored_t judge(const machine_t *m, uint64_t *s)
{
    for (int a = 0; a < m->nactors; a++)
        if (where(s, a).round < m->nrounds)
            return EXPLORED_DEADLOCK;
    for (int r = 0; r < m->nranks; r++)
        for (int g = 0; g < m->nrounds; g++)
            for (int c = 0; c < plan_at(m, g)->nchunks; c++)
                for (int w = 0; w < 2; w++)
                    if (!word_is_right(m, s, r, g, c, w))
                        return EXPLORED_WRONG;
    return EXPLORED_RIGHT;
}

/* --- the beginning ---------------------------------------------------------------------------- */

static int more(int a, int b)
{
    return a > b ? a : b;
}

static machine_t make_machine(const explore_t *e)
{
    machine_t m = {.e = e, .nranks = e->plans[0]->nranks, .nrounds = e->ncalls * e->rounds};

    for (int i = 0; i < e->ncalls; i++) {
        m.nstages = more(m.nstages, e->plans[i]->nstages);
        m.nchunks = more(m.nchunks, e->plans[i]->nchunks);
        m.nslots = more(m.nslots, e->plans[i]->nslots);
        m.nflags = more(m.nflags, e->plans[i]->nflags);
    }
    m.nactors = m.nranks * m.nstages;
    m.flags = (size_t)m.nactors;
    m.slots = m.flags + (size_t)(2 * m.nranks * e->flag_sets * m.nflags);
    m.user = m.slots + (size_t)(2 * m.nranks * e->buffers * m.nslots) * 2;
    m.words = m.user + (size_t)(2 * m.nranks * m.nrounds * m.nchunks) * 2;
    return m;
}

static uint64_t *first_state(const machine_t *m)
{
    uint64_t *s = calloc(m->words, sizeof(*s));

    if (!s)
        abort();
    for (size_t i = m->slots; i < m->words; i++)
        s[i] = mix(i); /* memory is not clean */
    for (int r = 0; r < m->nranks; r++)
        for (int g = 0; g < m->nrounds; g++)
            for (int c = 0; c < plan_at(m, g)->nchunks; c++) {
                const pipc__plan_t *p = plan_at(m, g);
                if (p->collective == PIPC__ALLGATHER && pipc__owner(p->nranks, p->nchunks, c) != r)
                    continue;
                for (int w = 0; w < 2; w++)
                    *user_word(m, s, false, r, g, c, w) = contribution(r, g, c, w);
            }
    for (int a = 0; a < m->nactors; a++)
        go_to(s, a, skip(m, a, (where_t){0, 0, 0}));
    return s;
}

/* --- all interleavings ------------------------------------------------------------------------ */

typedef struct seen {
    uint64_t *hash; /* [size], 0: free */
    size_t size, used;
} seen_t;

/* Enter @s; false when it was there. A state is known by 64 bits of hash: two of a million states
 * are taken for one with a probability of 3e-8. */
static bool enter(seen_t *t, const machine_t *m, const uint64_t *s)
{
    uint64_t h = 1;

    for (size_t i = 0; i < m->words; i++)
        h = (h ^ s[i]) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
    h = mix(h) | 1;
    for (size_t i = h % t->size;; i = (i + 1) % t->size) {
        if (t->hash[i] == h)
            return false;
        if (t->hash[i])
            continue;
        t->hash[i] = h;
        t->used++;
        return true;
    }
}

/* Run the signals and waits that can go on, until none can. */
static void run_flags(const machine_t *m, uint64_t *s)
{
    bool ran = true;

    while (ran) {
        ran = false;
        for (int a = 0; a < m->nactors; a++)
            while (can_run(m, s, a) && next_op(m, s, a)->kind >= PIPC__SIGNAL) {
                run_op(m, s, a);
                ran = true;
            }
    }
}

static explored_t descend(const machine_t *m, uint64_t *s, seen_t *t, size_t max_states)
{
    uint64_t *next;
    bool any = false;
    explored_t found = EXPLORED_RIGHT;

    run_flags(m, s);
    if (t->used >= max_states || !enter(t, m, s))
        return EXPLORED_RIGHT;
    next = malloc(m->words * sizeof(*next));
    if (!next)
        abort();
    for (int a = 0; a < m->nactors && !found; a++) {
        if (!can_run(m, s, a))
            continue;
        any = true;
        memcpy(next, s, m->words * sizeof(*next));
        run_op(m, next, a);
        found = descend(m, next, t, max_states);
    }
    free(next);
    return any ? found : judge(m, s);
}

explored_t explore_all(const explore_t *e, size_t max_states, size_t *states)
{
    machine_t m = make_machine(e);
    seen_t t = {calloc(2 * max_states, sizeof(uint64_t)), 2 * max_states, 0};
    uint64_t *s = first_state(&m);

    if (!t.hash)
        abort();
    explored_t found = descend(&m, s, &t, max_states);
    if (states)
        *states = t.used;
    free(s);
    free(t.hash);
    return found;
}

/* --- random interleavings --------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* One run. Actors have priorities that change now and then: one that is far behind or far ahead
 * shows more than an even shuffle does. Model: S. Burckhardt et al., "A Randomized Scheduler with
 * Probabilistic Guarantees of Finding Bugs", ASPLOS 2010. */
static explored_t run_once(const machine_t *m, uint64_t *s, uint32_t *seed)
{
    uint32_t priority[MAX_ACTORS];
    uint32_t often = 1 + next_random(seed) % 64;

    for (int a = 0; a < m->nactors; a++)
        priority[a] = next_random(seed);
    for (;;) {
        int best = -1;
        for (int a = 0; a < m->nactors; a++)
            if ((best < 0 || priority[a] > priority[best]) && can_run(m, s, a))
                best = a;
        if (best < 0)
            return judge(m, s);
        run_op(m, s, best);
        if (next_random(seed) % often == 0)
            priority[next_random(seed) % (uint32_t)m->nactors] = next_random(seed);
    }
}

explored_t explore_random(const explore_t *e, int schedules, uint32_t seed)
{
    machine_t m = make_machine(e);
    uint64_t *first = first_state(&m), *s = first_state(&m);
    explored_t found = EXPLORED_RIGHT;

    for (int i = 0; i < schedules && !found; i++) {
        memcpy(s, first, m.words * sizeof(*s));
        found = run_once(&m, s, &seed);
    }
    free(first);
    free(s);
    return found;
}
