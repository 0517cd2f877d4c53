/* kernels/ce.h - CE, all-reduce by copy engines: what the host and the kernels agree on. Plain data
 * for C and CUDA C.
 *
 * Copy engines put a rank's input into its peers' memory, chunk by chunk, and a kernel on a few
 * multiprocessors sums the chunks as they come. Of a pair on each other's device memory, and of one
 * that meets in host memory:
 *
 *     sender's copy stream                       receiver's kernel
 *       free? copy chunk --------> device ring     came? sum, free
 *
 *     sender's copy stream                 receiver's copy stream             its kernel
 *       free? copy chunk --> host ring       landed? copy --> device ring       came? sum, free
 *
 * A receiver has a ring for each sender, and a place in it is a number of bytes, counted over all
 * calls of the communicator: the chunk at [begin, end) lies at begin mod ring, and each flag holds
 * the end of the last chunk that it tells of. A ring on the host goes with the one on the device: a
 * chunk has its place in both until it is summed. So chunks need no slots of one size: the last
 * ones of a message are short, since nothing overlaps with the sum of the very last. All ranks cut
 * alike.
 *
 * In place the kernel must not write what the own copy engines have still to read: a flag for each
 * peer, gone, says up to where they have. Out of place it is looked at once, at the call's end,
 * which is what a stream writes there behind its last chunk.
 *
 * Between a copy and the next one of its stream stand a fence and a flag. So chunks take turns on
 * two streams, lanes, where they go straight to the peer, and each lane has flags of its own: came
 * and gone are in order within a lane only.
 *
 * Flags that kernels look at lie on the device, at the head of the rings; those that streams wait
 * for in control.h's page, where a thread can write them: nothing else ends such a wait.
 */
#ifndef PIPC_KERNELS_CE_H
#define PIPC_KERNELS_CE_H

#include <stdbool.h>

#include "kernels/allreduce.h"
#include "runtime/plan/proto.h"

#define PIPC__CE_LANES 2 /* at most */

/* The head: flags of each lane and rank, then counters of chunks. */
#define PIPC__CE_HEAD 8192
#define PIPC__CE_FLAG(n) ((size_t)(n)*PIPC__FLAG_BYTES)
#define PIPC__CE_CAME(rank, lane) PIPC__CE_FLAG((lane)*PIPC__RANKS_MAX + (rank))
#define PIPC__CE_GONE(rank, lane)                                                                  \
    PIPC__CE_FLAG((PIPC__CE_LANES + (lane)) * PIPC__RANKS_MAX + (rank))
#define PIPC__CE_COUNTERS_AT PIPC__CE_FLAG(2 * PIPC__CE_LANES * PIPC__RANKS_MAX)
#define PIPC__CE_COUNTERS 64 /* more than there are chunks in a ring */

#define PIPC__CE_UNIT ((size_t)4096) /* where chunks begin, in the message and in a ring */
#define PIPC__CE_THREADS 512

/* The waits, which test builds take out one by one. */
enum {
    PIPC__CE_NO_WAIT,
    PIPC__CE_WAIT_CAME,   /* kernel: the chunk is here */
    PIPC__CE_WAIT_GONE,   /* kernel, in place: the own chunk has been read */
    PIPC__CE_WAIT_END,    /* kernel, at the end: all of it has */
    PIPC__CE_WAIT_BEGIN,  /* sender's stream: the caller's has come to the call */
    PIPC__CE_WAIT_FREE,   /* sender's stream: the ring has room */
    PIPC__CE_WAIT_LANDED, /* receiver's stream: the chunk is in host memory */
    PIPC__CE_WAITS
};

/* The arguments of a launch. Pointers are the device's. */
typedef struct pipc__ce_args {
    const char *send;
    char *recv;
    size_t bytes; /* > 0 */
    uint32_t rank, nranks;
    double nth; /* as in pipc__lane_args_t */
    uint64_t reciprocal;
    uint64_t at;                         /* where the call begins in the rings */
    size_t ring_bytes, most, least;      /* least, most: pipc__ce_cut() */
    const char *ring[PIPC__RANKS_MAX];   /* of sender q; the own: NULL */
    uint64_t *room[PIPC__RANKS_MAX];     /* flag at sender q: its chunks were summed */
    char *head;                          /* own, on the device */
    char *scrub[2];                      /* LL's areas, see ll.h; NULL: none */
    uint32_t lanes;                      /* chunk n of the call goes by lane n mod lanes */
    uint32_t in_place, frees;            /* frees: after each chunk, not only at the end */
    uint32_t plan_id;                    /* for the report of a stall, as is: */
    uint16_t wait_step[PIPC__RANKS_MAX]; /* step of the plan that waits for rank q */
    pipc__lane_state_t *state;
    const uint64_t *abort;
    uint64_t *stalled_round, *stalled_step;
#ifdef PIPC_PERTURB
    uint64_t seed;
    uint32_t max_usec;
    int32_t drop_ce;
#endif
} pipc__ce_args_t;

/* A sender's ring, of @ce_bytes in all. */
static inline size_t pipc__ce_ring_bytes(size_t ce_bytes, int nranks)
{
    size_t ring = (ce_bytes - PIPC__CE_HEAD) / (size_t)(nranks > 1 ? nranks - 1 : 1);

    return ring - ring % PIPC__CE_UNIT;
}

/* How long chunks are, at most and, but for the last one, at least. */
typedef struct pipc__ce_cut {
    size_t most, least;
} pipc__ce_cut_t;

/* For a message of @bytes. A ring holds four chunks at least, so that copying, summing and
 * the way of a flag overlap, and 32 long ones at most, for the sake of the counters. @host: some
 * pair goes through host memory, where a chunk takes six times as long and is copied twice, the
 * second time when all of it is there. */
static inline pipc__ce_cut_t pipc__ce_cut(size_t bytes, size_t ring, bool host)
{
    const size_t low = (size_t)(host ? 256 : 1024) << 10, high = (size_t)4 << 20;
    size_t most = bytes / (host ? 8 : 4);
    pipc__ce_cut_t cut;

    most = most < low ? low : most > high ? high : most;
    most = most < ring / 32 ? ring / 32 : most > ring / 4 ? ring / 4 : most;
    cut.most = most < PIPC__CE_UNIT ? PIPC__CE_UNIT : most - most % PIPC__CE_UNIT;
    cut.least = cut.most < low ? cut.most / 2 : low / 2;
    return cut;
}

/* Bytes of the next chunk of a message of which @left are left: half of them, within bounds. */
static inline PIPC__HD size_t pipc__ce_chunk(size_t left, size_t most, size_t least)
{
    size_t half = (left / 2 + PIPC__CE_UNIT - 1) / PIPC__CE_UNIT * PIPC__CE_UNIT;

    if (left < 2 * least || left <= PIPC__CE_UNIT)
        return left;
    return half < most ? half : most;
}

/* Where a chunk of @bytes begins that follows @at: there, or at the start of the ring's next turn,
 * since it lies in one piece. */
static inline PIPC__HD uint64_t pipc__ce_begin(uint64_t at, size_t bytes, size_t ring)
{
    size_t left = ring - (size_t)(at % ring);

    return bytes > left ? at + left : at;
}

static inline PIPC__HD uint64_t pipc__ce_end(uint64_t begin, size_t bytes)
{
    return begin + (bytes + PIPC__CE_UNIT - 1) / PIPC__CE_UNIT * PIPC__CE_UNIT;
}

/* Blocks of a launch, @most at most: one for each 16 KB. Ranks need not agree on it. */
static inline unsigned int pipc__ce_blocks(size_t bytes, int most)
{
    size_t blocks = (bytes + ((size_t)16 << 10) - 1) >> 14;

    return blocks < (size_t)most ? (unsigned int)blocks : (unsigned int)most;
}

#endif
