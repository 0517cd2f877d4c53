/* plan/replay_state.h - what the replayer keeps while it runs; private to replay*.c
 *
 * Byte by byte, and a clock for every thread with an entry for every thread: messages of some KB on
 * some hundred threads are what it is made for.
 */
#ifndef PIPC_PLAN_REPLAY_STATE_H
#define PIPC_PLAN_REPLAY_STATE_H

#include "runtime/plan/replay.h"

/* What a byte holds. */
typedef struct pipc__content {
    uint64_t expr;  /* hash of the expression: equal means bit-identical */
    uint64_t at;    /* of the message */
    uint32_t call;  /* + 1; 0: nothing */
    uint16_t ranks; /* bit r: the contribution of rank r is in it, once */
} pipc__content_t;

typedef struct pipc__moment {
    uint32_t actor; /* + 1; 0: never */
    uint32_t time;
} pipc__moment_t;

typedef struct pipc__byte {
    pipc__content_t content;
    pipc__moment_t written;
    pipc__moment_t *reads; /* since then, those alone that no other one comes after */
    uint32_t nreads;
    const uint32_t *came; /* a word with a flag in it: the clock that goes with it; else NULL */
    uint64_t flag;
} pipc__byte_t;

#define PIPC__REPLAY_PAGE 64

typedef struct pipc__page_of_bytes {
    uint64_t key; /* place, rank and number */
    pipc__byte_t byte[PIPC__REPLAY_PAGE];
} pipc__page_of_bytes_t;

typedef struct pipc__told {
    uint64_t value;
    const uint32_t *clock;
} pipc__told_t;

typedef struct pipc__replay_flag {
    uint64_t key;
    pipc__moment_t last;
    pipc__told_t *told; /* all signals so far */
    size_t ntold;
    pipc__moment_t *seen; /* waits that saw the last one */
    size_t nseen;
} pipc__replay_flag_t;

/* Pages or flags by their key, which stands first in both. */
typedef struct pipc__by_key {
    uint64_t **entry;
    size_t n, room; /* room: a power of two */
} pipc__by_key_t;

typedef struct pipc__register {
    pipc__content_t *byte;
    size_t n;
} pipc__register_t;

#define PIPC__REPLAY_BARRIERS (PIPC__TRACE_WARP + 32) /* of a block */

/* A thread of a rank, in all calls. */
typedef struct pipc__replay_actor {
    uint32_t *clock;        /* [2][nactors]: of all events; of those that were loads */
    uint32_t *pending;      /* what relaxed waits have seen, for the next fence */
    const uint32_t *fenced; /* what relaxed signals pass on: the clock at the last fence */
    int rank;
    const pipc__event_t *events;
    uint32_t nevents, next;
    bool met;                             /* stands at a barrier */
    uint32_t came[PIPC__REPLAY_BARRIERS]; /* to which turn of each */
    bool waited[PIPC__REPLAY_BARRIERS];   /* until it was over */
    pipc__register_t reg[PIPC__TRACE_REGISTERS];
} pipc__replay_actor_t;

typedef struct pipc__replay_barrier {
    uint32_t turn;   /* how often it was complete, + 1 */
    uint64_t came;   /* threads, in this turn */
    uint32_t *clock; /* [2][2][nactors]: of those who came in this turn; in the last one */
} pipc__replay_barrier_t;

typedef struct pipc__kept_clock {
    struct pipc__kept_clock *before;
    uint32_t clock[];
} pipc__kept_clock_t;

typedef struct pipc__replay {
    const pipc__trace_t *traces; /* [ncalls][nranks] */
    int ncalls, nranks;
    uint32_t nthreads, nactors;      /* the most of a rank in any call; of all ranks */
    int call[PIPC__RANKS_MAX];       /* the present one of each rank */
    pipc__replay_actor_t *actor;     /* [nranks][nthreads] */
    pipc__replay_barrier_t *barrier; /* [nranks][nthreads][PIPC__REPLAY_BARRIERS] */
    uint64_t **exprs;                /* [ncalls] [bytes]: of the rank that ended first */
    pipc__by_key_t pages, flags;
    pipc__kept_clock_t *kept;
    const pipc__replay_actor_t *now; /* whom errors name */
    pipc__error_t *err;
} pipc__replay_t;

static inline const pipc__trace_t *pipc__replay_trace(const pipc__replay_t *c, int rank)
{
    return &c->traces[c->call[rank] * c->nranks + rank];
}

/* Had @m happened before what the present thread does now? */
static inline bool pipc__replay_before(const pipc__replay_t *c, pipc__moment_t m)
{
    return !m.actor || m.time <= c->now->clock[m.actor - 1];
}

/* The same of a load: that it is through is enough. */
static inline bool pipc__replay_loaded(const pipc__replay_t *c, pipc__moment_t m)
{
    return m.time <= c->now->clock[c->nactors + m.actor - 1];
}

static inline pipc__moment_t pipc__replay_now(const pipc__replay_t *c)
{
    uint32_t self = (uint32_t)(c->now - c->actor);

    return (pipc__moment_t){self + 1, c->now->clock[self]};
}

/* Fail for the next event of c->now, which the text names, and for @fmt. */
pipc_status_t pipc__replay_wrong(const pipc__replay_t *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* PIPC_ERR_NOMEM, with its text. */
pipc_status_t pipc__replay_no_memory(const pipc__replay_t *c);

/* A copy of a clock, @all events and @loads, that stays until the end; NULL: no memory. */
const uint32_t *pipc__replay_keep(pipc__replay_t *c, const uint32_t *all, const uint32_t *loads);

static inline void pipc__replay_join(uint32_t *into, const uint32_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        into[i] = into[i] < from[i] ? from[i] : into[i];
}

/* The present thread has seen what came with @told, without a fence: what it stores from now on
 * comes behind all loads that are known there. */
void pipc__replay_see(pipc__replay_t *c, const uint32_t *told);

/* The next event of c->now, of those that order others. */
pipc_status_t pipc__replay_fence(pipc__replay_t *c);
pipc_status_t pipc__replay_signal(pipc__replay_t *c, const pipc__event_t *e);
pipc_status_t pipc__replay_wait(pipc__replay_t *c, const pipc__event_t *e, bool *ran);
pipc_status_t pipc__replay_meet(pipc__replay_t *c, const pipc__event_t *e, bool *ran);

/* All actors of @rank know what each of them knew: a kernel has ended and another one begins. */
pipc_status_t pipc__replay_join_rank(pipc__replay_t *c, int rank);

void pipc__replay_free_order(pipc__replay_t *c);

/* The entry of @key, of @bytes and zeroed when it is new; NULL: no memory. */
void *pipc__by_key(pipc__by_key_t *t, uint64_t key, size_t bytes);

/* Byte @at of a place; NULL: no memory. */
pipc__byte_t *pipc__replay_byte(pipc__replay_t *c, int place, int rank, uint64_t at);

/* The next event of c->now, a READ or a WRITE of plain bytes or of a word with a flag. *ran is
 * false when it waits for the flag. */
pipc_status_t pipc__replay_read(pipc__replay_t *c, const pipc__event_t *e, bool *ran);
pipc_status_t pipc__replay_write(pipc__replay_t *c, const pipc__event_t *e);

/* What is in the user's buffers of @rank when its present call begins. */
pipc_status_t pipc__replay_fill(pipc__replay_t *c, int rank);

void pipc__replay_free_memory(pipc__replay_t *c);

#endif
