/* plan/check_state.h - what the checker keeps while it runs; private to check*.c
 *
 * All arrays are sized by the calls at hand: communicators check the plans that are made for them
 * when they are created, and a few milliseconds count there.
 */
#ifndef PIPC_PLAN_CHECK_STATE_H
#define PIPC_PLAN_CHECK_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/plan/check.h"

#define PIPC__CHECK_BUFFERS_MAX 4
#define PIPC__CHECK_STAGES (PIPC__STAGES_MAX + 1) /* a rank's rail is an actor as well */

/* What was done to a value: nothing; each contribution had the pre-op; and the whole the post-op.
 */
typedef enum pipc__progress { PIPC__RAW, PIPC__PARTIAL, PIPC__COMPLETE } pipc__progress_t;

/* What a place holds. */
typedef struct pipc__value {
    uint64_t expr; /* hash of the expression: equal means bit-identical */
    int round;     /* global round number, call and round in one, from 1 on; 0: holds nothing */
    uint16_t chunk;
    uint16_t ranks;   /* bit r: the contribution of rank r is in it, once */
    uint8_t progress; /* pipc__progress_t */
    bool railed;      /* it is the sum of all nodes */
} pipc__value_t;

/* A place: a lane's part of a slot, or of a chunk of a user buffer. Who reads it is a stage of the
 * rank that it belongs to, in the same lane: plans push. A rail's job counts as a write that lasts
 * until the rail's actor has its present time. */
typedef struct pipc__cell {
    pipc__value_t value;
    int writer;                        /* actor + 1; 0: nobody yet */
    uint32_t written;                  /* when */
    uint32_t read[PIPC__CHECK_STAGES]; /* when each stage read it last; 0: never */
} pipc__cell_t;

typedef struct pipc__actor {
    uint32_t *clock; /* [nactors] */
    int rank, stage, lane;
    int round, step; /* next op: round of the present call, step in the program */
} pipc__actor_t;

typedef struct pipc__check_flag {
    int round;     /* last global round that was signalled; 0: none */
    int signaller; /* the actor who did, + 1; 0: nobody */
    uint32_t signalled;
} pipc__check_flag_t;

typedef struct pipc__check {
    const pipc__check_call_t *call; /* the present call */
    int call_index;
    int base_round; /* global number of this call's first round, from 1 on */
    int buffers;
    /* The most that any of the calls has. */
    int nranks, nstages, nlanes, nactors, nslots, nflags, nchunks, nrounds;
    int rail_stage; /* the last one of nstages, if any plan has rails: no program, but jobs; else -1
                     */
    uint32_t
        *railed;   /* [nrounds][nchunks][nlanes]: the rail's time at the job's end; 0: not begun */
    int nmemories; /* 1: device memory alone has slots and flags; 2: host memory has them, too */
    pipc__actor_t *actor;     /* [nranks][nstages][nlanes] */
    uint32_t *clocks;         /* [nactors][nactors], the actors' */
    pipc__check_flag_t *flag; /* [memory][nranks][nflags][nlanes][buffers] */
    uint32_t *flag_clock;     /* [memory][nranks][nflags][nlanes][nrounds][nactors], present call */
    pipc__cell_t *slot;       /* [memory][nranks][buffers][nslots][nlanes], of the present call */
    pipc__cell_t *user;       /* [input, output][nranks][nrounds][nchunks][nlanes] */
    /* Accesses of earlier calls to a staging area: they may overlap any slot of this call. */
    uint32_t *old_write, *old_read; /* [memory][nranks][buffers][nactors] */
    const pipc__actor_t *now;       /* the actor that runs, whom errors name */
    pipc__error_t *err;
} pipc__check_t;

/* Index of device memory's slots and flags, or of host memory's. */
static inline size_t pipc__check_memory(int place)
{
    return place == PIPC__HOST;
}

static inline void pipc__clock_join(uint32_t *into, const uint32_t *from, int nactors)
{
    for (int i = 0; i < nactors; i++)
        into[i] = into[i] < from[i] ? from[i] : into[i];
}

/* The first actor of whom @a knows more than @now does, + 1; 0 when all of @a happened before. */
static inline int pipc__clock_beyond(const uint32_t *a, const uint32_t *now, int nactors)
{
    for (int i = 0; i < nactors; i++)
        if (a[i] > now[i])
            return i + 1;
    return 0;
}

/* Fail for the next op of c->now, which the text names, and for @fmt. */
pipc_status_t pipc__check_wrong(const pipc__check_t *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#define PIPC__WHO_TEXT 64 /* bytes */

/* "rank 1, stage 2": an actor in words; its stage when there are several, its lane when that is
 * another one than the present actor's. Returns @text. */
const char *pipc__check_who(const pipc__check_t *c, int actor, char text[PIPC__WHO_TEXT]);

/* Read and write @ref's part of the lane of c->now in its round; wrong when the access isn't
 * ordered with others, or when what is read is not @chunk of this round. */
pipc_status_t pipc__check_read(pipc__check_t *c, pipc__ref_t ref, int chunk, pipc__value_t *value);
pipc_status_t pipc__check_write(pipc__check_t *c, pipc__ref_t ref, int chunk,
                                const pipc__value_t *value);

/* What the present op has written to @ref is not there before @actor's present time. */
void pipc__check_outlast(pipc__check_t *c, pipc__ref_t ref, int chunk, const pipc__actor_t *actor);

/* The next op of c->now, a RAIL: the job has the chunk from now on until the present time of *by,
 * the rank's rail, who signals then. */
pipc_status_t pipc__check_rail(pipc__check_t *c, const pipc__op_t *op, const pipc__actor_t **by);

/* Chunk @chunk of rank @rank's input or output in @round of the present call; in place, the output
 * is the input. */
pipc__cell_t *pipc__check_user(const pipc__check_t *c, int place, int rank, int round, int chunk,
                               int lane);

/* Before the next call: what the last one did to the staging areas becomes old. */
void pipc__check_retire(pipc__check_t *c);

#endif
