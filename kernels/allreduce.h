/* kernels/allreduce.h - what the host and the kernels agree on. Plain data for C and CUDA C.
 *
 * A thread block is one stage of one lane; block b is stage b % nstages of lane b / nstages, so
 * that a lane's stages start together. A rank's staging memory, which its peers map and write:
 *
 *     | lane 0: flags 0, flags 1 | lane 1: flags 0, flags 1 | ... | area 0: slots | area 1: slots |
 *       a flag is 64 bits alone in two sectors, 64 bytes             cut as plan.h says
 *
 * Behind it lies what LL uses (ll.h). Where a plan asks for it a rank has the same once more in
 * host memory.
 *
 * A flag holds the number of the last round that was signalled; round g uses flags g mod 2, since
 * in another plan a flag may be another rank's. Rounds are numbered over all calls of a
 * communicator, on the device: the host never passes a number, so that a captured graph replays
 * with its arguments unchanged.
 */
#ifndef PIPC_KERNELS_ALLREDUCE_H
#define PIPC_KERNELS_ALLREDUCE_H

#include "runtime/plan/plan.h"

#define PIPC__LANES_MAX 64 /* lanes that have flags */
#ifndef PIPC__LANE_THREADS
#define PIPC__LANE_THREADS 512 /* tests on the CPU take fewer */
#endif
#define PIPC__FLAG_BYTES 64
#define PIPC__FLAGS_BYTES (PIPC__LANES_MAX * PIPC__BUFFERS * PIPC__FLAGS_MAX * PIPC__FLAG_BYTES)
/* The wait that kernels begin with, for tests to drop: ptx.cuh, grid_wait(). */
#define PIPC__GRID_STEP 1003
/* Steps of a stage: they are kept in shared memory, beside 1 KB for all else. */
#define PIPC__PROGRAM_MAX (47 * 1024 / (int)sizeof(pipc__op_t))

/* Device memory of the own rank alone, zeroed at the start. All kernels of a communicator share it,
 * since one runs at a time. */
typedef struct pipc__lane_state {
    uint64_t calls;   /* launches that are through, those that gave up as well; 16 bytes aligned, */
    uint64_t pushed;  /* for push.cu writes both at once: chunks of all calls that it made */
    uint32_t arrived; /* blocks of the running grid that are through */
    uint32_t dead;    /* a block gave up: later kernels end at once */
    uint64_t epoch;   /* the last round that this rank has finished, counted over all calls */
} pipc__lane_state_t;

/* Jobs of rails are not the kernel's: a plan over nodes is run in two launches a round, and what
 * joins the nodes stands between them on the stream (plan/halves.h). */
typedef enum pipc__half {
    PIPC__WHOLE,  /* the program, round after round */
    PIPC__BEFORE, /* one round up to the jobs of its rails */
    PIPC__BEHIND  /* and what comes of them; a WAIT for a job is a REDUCE of its data onto itself in
                     the device's program, which gives it the post-op */
} pipc__half_t;

/* The arguments of a launch. Pointers are the device's. */
typedef struct pipc__lane_args {
    const pipc__op_t *program;      /* of this rank: its stages, one behind the other */
    int stage_at[PIPC__STAGES_MAX]; /* step of @program that is each stage's first one */
    /* Steps of each stage that this launch runs, of the stage: all, or of a plan over nodes those
     * of one half. */
    int from[PIPC__STAGES_MAX], to[PIPC__STAGES_MAX];
    pipc__half_t half;
    int nstages;
    int rank, nchunks;
    uint32_t nranks;
    double nth;          /* 1 / nranks */
    uint64_t reciprocal; /* floor((2^64 - 1) / nranks) */
    uint32_t plan_id;    /* for the report of a stall only */
    const char *send;
    char *recv;
    size_t count;                   /* elements, > 0 */
    size_t area_bytes;              /* of a staging area */
    size_t slot_bytes;              /* pipc__lane_slot_bytes() of these lanes */
    size_t round_elems;             /* pipc__round_elems() of these lanes */
    size_t chunk_elems;             /* between the starts of two chunks; 0: as pipc__split() says */
    uint64_t rounds_before;         /* of the call, by earlier launches */
    char *staging[PIPC__RANKS_MAX]; /* never const __restrict__: peers write it meanwhile */
    char *host[PIPC__RANKS_MAX];    /* the same in host memory; NULL where no plan needs it */
    char *scrub[2];                 /* LL's areas, see ll.h; NULL: none */
    pipc__lane_state_t *state;
    const uint64_t *abort;   /* host memory: not 0 when the communicator is dead */
    uint64_t *stalled_round; /* host memory: of the call, from 0, in which a lane gave up */
    uint64_t *stalled_step;  /* host memory: PIPC__STALL(plan_id, stage, step); written last */
#ifdef PIPC_PERTURB
    uint64_t seed;
    uint32_t max_usec;
    int32_t drop_stage, drop_step, one_area;
#endif
} pipc__lane_args_t;

/* Where a lane gave up; never 0. */
#define PIPC__STALL(plan_id, stage, step)                                                          \
    ((uint64_t)(plan_id) << 32 | (uint32_t)(stage) << 24 | (uint32_t)((step) + 1))
#define PIPC__STALL_PLAN(stall) ((uint32_t)((stall) >> 32))
#define PIPC__STALL_STAGE(stall) ((int)((stall) >> 24 & 0xff))
#define PIPC__STALL_STEP(stall) ((int)((stall)&0xffffff) - 1)

/* The most lanes of a plan of @nstages when a launch may have @blocks blocks. */
static inline int pipc__most_lanes(int blocks, int nstages)
{
    return blocks > nstages ? blocks / nstages : 1;
}

/* Lanes for a call: one for each 8 KB (16 bytes a thread), at most @most. From the call's size
 * alone, since every rank must come to the same number: lanes pair up across ranks. A pointer or an
 * alignment, which may differ between ranks, must never enter here. */
static inline int pipc__lanes(size_t count, size_t elem_bytes, int most)
{
    size_t per_lane = (size_t)PIPC__LANE_THREADS * 16 / elem_bytes;
    size_t lanes = count / per_lane + (count % per_lane != 0);

    if (lanes > (size_t)most)
        return most;
    return lanes ? (int)lanes : 1;
}

#endif
