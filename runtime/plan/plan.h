/* plan/plan.h - a plan is data: what each rank copies, reduces, signals and waits for.
 *
 * A plan knows no pointers, no sizes and no devices. Three readers share it: the checker proves it
 * right, the executors (CPU, CUDA) run it, a simulator can put it on a topology. This header is
 * plain data for C and CUDA C alike: the kernels include nothing else of the project.
 *
 * One round of a plan moves one piece of the message that fits into staging:
 *
 *     message   |----- round 0 -----|----- round 1 -----|- round 2 -|
 *     round     |  chunk 0  |  chunk 1  | ...                            nchunks
 *     chunk     | lane 0 | lane 1 | ...                                  lanes
 *
 * Every lane (a thread block a stage on a GPU, the whole process on a CPU) runs the rank's programs
 * on its own part of each chunk, with its own flags and its own part of each slot, so lanes of a
 * rank never wait for each other inside a call; at a call's end they join.
 *
 * A rank's work may be split into stages that run at the same time, a program each, so that the
 * phases of a plan overlap from chunk to chunk:
 *
 *     stage 0   push chunk 0 | push 1    | push 2    | ...
 *     stage 1                | sum 0     | sum 1     | sum 2  | ...
 *     stage 2                            | gather 0  | gather 1 ...
 *
 * The actor whose program order counts is one stage of one lane of one rank. Stages of a rank order
 * themselves by flags that the rank sets for itself (peer is the own rank), round ends included: no
 * stage begins a round before all stages of its rank have ended the one before, and the plan says
 * so with signals and waits of its own.
 *
 * A plan for several nodes is the plan of one node's ranks, with RAIL ops in it: where the node's
 * sum of a chunk is complete, the same rank of every node begins a job of their rail (rail/rail.h),
 * which makes it the sum of all nodes, in place, while the stage goes on. Chunk c goes over rail c
 * mod nrails. Nodes never see each other's plans, so two rules make them fit: rails take their
 * chunks in ascending order, and no chunk is railed after something that had to wait for a later
 * chunk's rail.
 */
#ifndef PIPC_PLAN_PLAN_H
#define PIPC_PLAN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__CUDACC__)
#define PIPC__HD __host__ __device__
#else
#define PIPC__HD
#endif

#define PIPC__RANKS_MAX 16  /* ranks of one communicator on one node */
#define PIPC__STAGES_MAX 5  /* programs of a rank that run at the same time */
#define PIPC__CHUNKS_MAX 64 /* chunks of a round */
#define PIPC__SLOTS_MAX 64  /* staging slots a rank: about two a chunk */
#define PIPC__FLAGS_MAX 112 /* flags a rank and lane: one a slot, and those between stages */
#define PIPC__BUFFERS 2     /* staging areas; round g uses area g mod 2 */
#define PIPC__SPLIT_BYTES                                                                          \
    128 /* chunks and lanes begin at multiples of it: one cache line of a GPU */

typedef enum pipc__collective {
    PIPC__ALLREDUCE, /* output chunk c = input chunk c reduced over ranks, every c, every rank */
    PIPC__REDUCE_SCATTER, /* the same, but each rank has the output chunks that it owns only */
    PIPC__ALLGATHER       /* output chunk c = input chunk c of the rank that owns c, every rank */
} pipc__collective_t;

typedef enum pipc__place {
    PIPC__INPUT,  /* the user's send buffer; only its own rank reads it, nobody writes it */
    PIPC__SLOT,   /* a staging slot; peers write it, its own rank reads it */
    PIPC__OUTPUT, /* the user's receive buffer; only its own rank touches it */
    PIPC__HOST /* as SLOT, in host memory: for a peer that can't write the rank's device memory */
} pipc__place_t;

typedef struct pipc__ref {
    uint8_t place; /* pipc__place_t */
    uint8_t rank;  /* whose */
    uint16_t slot; /* which slot; 0 for INPUT and OUTPUT */
} pipc__ref_t;

typedef enum pipc__op_kind {
    PIPC__COPY,   /* dst = src[0] */
    PIPC__REDUCE, /* dst = src[0] op src[1] op ..., in this order, one rounding at the end */
    PIPC__SIGNAL, /* after all earlier ops of this actor: set flag at peer to this round's number */
    PIPC__WAIT,   /* until the own flag, set by peer, has reached this round's number */
    PIPC__RAIL /* begin to sum dst over the nodes, in place; the end sets the own flag (a SIGNAL of
                  the rail's, for any stage). Jobs of a rank end in the order of their beginnings */
} pipc__op_kind_t;

/* Some operations change a value before or after the reduction: a float's average is the sum of
 * inputs times 1/n, an integer's is the sum divided by n. A plan knows no operations, but says
 * where these two belong: each contribution gets the pre-op once, in the REDUCE that first takes it
 * in, and each result the post-op once, in the REDUCE or RAIL that completes it; n is the number of
 * ranks of all nodes. COPY changes nothing. The tempting way, the pre-op where an input is first
 * read, would round the scaled value of a small type before it travels.
 */
typedef struct pipc__op {
    uint8_t kind;   /* pipc__op_kind_t */
    uint8_t nsrc;   /* COPY: 1, REDUCE: 2..PIPC__RANKS_MAX (one rank: 1), else 0 */
    uint16_t chunk; /* COPY, REDUCE, RAIL: the chunk that is moved */
    uint16_t peer;  /* SIGNAL: whose flag; WAIT: who sets it; between stages the own rank. RAIL: it,
                       too */
    uint16_t flag;  /* SIGNAL, WAIT, RAIL: index among the flags of the rank that waits */
    uint16_t pre;   /* REDUCE: bit i: src[i] still is as its rank gave it, and gets the pre-op */
    uint16_t post;  /* REDUCE, RAIL: 1: the result is complete, and gets the post-op */
    pipc__ref_t
        dst; /* SIGNAL, WAIT: place alone, the memory in which the flag lies: SLOT or HOST */
    pipc__ref_t src[PIPC__RANKS_MAX];
} pipc__op_t;

typedef struct pipc__program {
    pipc__op_t *ops; /* [nops]; owned by the plan */
    int nops;        /* 0: this rank has nothing to do in this stage */
} pipc__program_t;

typedef struct pipc__plan {
    char name[24]; /* "one-shot", "two-shot", "ring", ... */
    pipc__collective_t collective;
    int nranks, nchunks;
    int nslots, nflags; /* the most that any rank has, in device and host memory alike */
    int nstages;
    int nrails; /* 0: the ranks are all there are */
    int lean;   /* 1: rails send as few bytes as they can, in however many steps. An engine's to
                   follow or not, but of all nodes alike; the checker has no opinion */
    pipc__program_t program[PIPC__RANKS_MAX][PIPC__STAGES_MAX]; /* [rank][stage] */
} pipc__plan_t;

/* The rank that owns a chunk in reduce-scatter and all-gather, whose nchunks is a multiple of
 * nranks: rank r has the block of chunks r * nchunks / nranks on. */
static inline PIPC__HD int pipc__owner(int nranks, int nchunks, int chunk)
{
    return chunk * nranks / nchunks;
}

/* The rail of a chunk, and the rank of a node of @nranks that is on it: its owner, whose number may
 * differ from node to node. One rail is rank 0's, whoever has more. */
static inline PIPC__HD int pipc__rail_of(int nrails, int chunk)
{
    return chunk % nrails;
}

static inline PIPC__HD int pipc__rail_owner(int nrails, int nranks, int rail)
{
    return rail * nranks / nrails;
}

/* How one round is cut. All lengths are in elements; lengths of an empty part are 0. */
typedef struct pipc__split {
    size_t chunk; /* elements between the starts of two chunks */
    size_t lane;  /* elements between the starts of two lanes of a chunk */
} pipc__split_t;

/* Lanes of a chunk of which others have decided: the parts of pipc__split() for it. */
static inline PIPC__HD pipc__split_t pipc__split_chunk(size_t chunk, size_t elem_bytes, int nlanes)
{
    size_t unit = PIPC__SPLIT_BYTES / elem_bytes;
    pipc__split_t s = {chunk, 0};

    s.lane = ((chunk + (size_t)nlanes - 1) / (size_t)nlanes + unit - 1) / unit * unit;
    return s;
}

/* Cut @count elements of @elem_bytes into @nchunks x @nlanes parts that begin at multiples of
 * PIPC__SPLIT_BYTES from the buffer's start. Every rank must call it with the same arguments. */
static inline PIPC__HD pipc__split_t pipc__split(size_t count, size_t elem_bytes, int nchunks,
                                                 int nlanes)
{
    size_t unit = PIPC__SPLIT_BYTES / elem_bytes;
    size_t chunk = (count + (size_t)nchunks - 1) / (size_t)nchunks;

    return pipc__split_chunk((chunk + unit - 1) / unit * unit, elem_bytes, nlanes);
}

/* The same for one lane of a plan with rails: a chunk has PIPC__RAIL_CHUNK_BYTES at least, if a
 * slot has so many, and the last chunks of a short round are empty: no job of a rail is begun for
 * them. Depends on nothing that nodes may have different. */
#define PIPC__RAIL_CHUNK_BYTES ((size_t)8 << 10)

static inline pipc__split_t pipc__rail_split(size_t count, size_t elem_bytes, int nchunks,
                                             size_t slot_bytes)
{
    size_t chunk = slot_bytes < PIPC__RAIL_CHUNK_BYTES ? slot_bytes : PIPC__RAIL_CHUNK_BYTES;
    size_t least = chunk / elem_bytes * (size_t)nchunks;

    return pipc__split(count > least ? count : least, elem_bytes, nchunks, 1);
}

/* Part of lane @lane of chunk @chunk: first element in *first, returns the length. */
static inline PIPC__HD size_t pipc__split_part(pipc__split_t s, size_t count, int chunk, int lane,
                                               size_t *first)
{
    size_t chunk_end = s.chunk * ((size_t)chunk + 1), lane_end = s.lane * ((size_t)lane + 1);
    size_t begin, end;

    if (chunk_end > count)
        chunk_end = count;
    begin = s.chunk * (size_t)chunk + s.lane * (size_t)lane;
    end = s.chunk * (size_t)chunk + (lane_end < s.chunk ? lane_end : s.chunk);
    if (end > chunk_end)
        end = chunk_end;
    *first = begin;
    return end > begin ? end - begin : 0;
}

/* Bytes of one lane's part of a slot when an area of @area_bytes is shared by nslots x nlanes of
 * them: a multiple of PIPC__SPLIT_BYTES. Lane l of slot s begins at (s * nlanes + l) times this.
 *
 * The place of a lane's part does not depend on the round's length. The tempting way, packing a
 * short last round tightly, would let a lane write where another lane of the peer still reads the
 * round before: lanes are not ordered among each other. */
static inline PIPC__HD size_t pipc__lane_slot_bytes(size_t area_bytes, int nslots, int nlanes)
{
    size_t part = area_bytes / ((size_t)nslots * (size_t)nlanes);

    return part - part % PIPC__SPLIT_BYTES;
}

/* Bytes of a chunk of a plan with rails when an area of @area_bytes is shared by PIPC__SLOTS_MAX
 * slots and each lane's part has to fit pipc__lane_slot_bytes() of them, however many lanes there
 * are, up to @most_lanes: nodes may differ in lanes and in the slots of their plans, but not in
 * chunks. 0: the area is too small. */
static inline size_t pipc__rail_chunk_bytes(size_t area_bytes, int most_lanes)
{
    size_t slot = area_bytes / PIPC__SLOTS_MAX;
    size_t lost = (size_t)2 * PIPC__SPLIT_BYTES * (size_t)most_lanes; /* by rounding of parts */

    return slot > lost ? (slot - lost) / PIPC__SPLIT_BYTES * PIPC__SPLIT_BYTES : 0;
}

/* The most elements that one round of @plan_chunks chunks can carry. */
static inline PIPC__HD size_t pipc__round_elems(size_t lane_slot_bytes, size_t elem_bytes,
                                                int nchunks, int nlanes)
{
    return lane_slot_bytes / elem_bytes * (size_t)nlanes * (size_t)nchunks;
}

#endif
