/* kernels/push.h - push, all-reduce of larger messages in one step: what the host and the kernels
 * agree on. Plain data for C and CUDA C.
 *
 * Every rank writes its input into every peer's memory, chunk by chunk, and sums the chunks as they
 * come, as the one-shot plan says; copies and sums run at the same time. A block, 24 warps:
 *
 *     pushers  2 groups of 4 warps   chunk --> slot of each peer, arrival there
 *     summers  4 groups of 4 warps   arrivals; own chunk + slots --> output; acknowledgements
 *
 * Where bulk copies move the chunks (sm_90 and newer, all slots on devices) each warp of the
 * pushers is a pusher of its own, a stream.
 *
 * Block b has the chunks b, b + blocks, ..., and its pushers and summers take them in turns, so
 * what a block must know of itself, which chunks are pushed, stays in its shared memory.
 *
 * A rank has a ring of slots for each sender, and slots are reused when they have been
 * acknowledged:
 *
 *     region    | arrivals | acknowledgements | ring of sender 0 | ring of sender 1 | ...
 *               flags, 64 bits alone in 64 bytes; rings as many as there are other ranks
 *     arrivals          [sender][slot]    set by the sender: the chunk that begins there has come
 *     acknowledgements  [receiver][slot]  set by the receiver: it has read what was there
 *
 * Slots are numbered from 1 over all calls of a communicator, on the device; number g is slot
 * (g - 1) mod nslots of the ring, and may be written when number g - nslots has been acknowledged.
 * Chunks of this call may be longer than those of the last one: a chunk takes one, two or four
 * slots in a row, so that short chunks fill the ring as long ones do, and a call takes a multiple
 * of four, so that no chunk is cut by the ring's end. What its last chunk does not fill is
 * acknowledged with it. Ranks need not agree on blocks, only on how a message is cut.
 *
 *     chunks of 2 slots    | chunk 0 | chunk 1 | chunk 2 |  -   -  |   the next call's ...
 *     numbers                1    2    3    4    5    6    7    8      9
 */
#ifndef PIPC_KERNELS_PUSH_H
#define PIPC_KERNELS_PUSH_H

#include "kernels/allreduce.h"
#include "runtime/plan/trace.h"

#define PIPC__PUSH_CHUNK_LEAST (4 << 10)
#define PIPC__PUSH_CHUNK_MOST (64 << 10)
#define PIPC__PUSH_SLOT_BYTES (16 << 10)
#define PIPC__PUSH_HOST_SLOT_BYTES (32 << 10) /* its longest chunk: a flag over the bus a chunk */
#define PIPC__PUSH_SLOTS_MOST 512
#define PIPC__PUSH_SPAN 4    /* slots of a chunk at most; rings have a multiple */
#define PIPC__PUSH_GROUP 128 /* threads */
#define PIPC__PUSH_PUSHERS 2 /* groups */
#define PIPC__PUSH_SUMMERS 4
#define PIPC__PUSH_STREAMS 8 /* pushers at most, warps of these groups, that give bulk copies */
#define PIPC__PUSH_THREADS ((PIPC__PUSH_PUSHERS + PIPC__PUSH_SUMMERS) * PIPC__PUSH_GROUP)

/* The arguments of a launch. Pointers are the device's. */
typedef struct pipc__push_args {
    const char *send;
    char *recv;
    size_t bytes; /* > 0 */
    uint32_t chunk_bytes, nchunks;
    uint32_t rank, nranks;
    double nth; /* as in pipc__lane_args_t */
    uint64_t reciprocal;
    uint32_t nslots, slot_bytes; /* of a ring */
    uint32_t span;               /* slots that a chunk takes: 1, 2 or 4 */
    uint32_t moves;    /* slots that the call takes, what is left free at its end included */
    uint32_t streams;  /* of bulk copies, a chunk of shared memory each; 0: none */
    uint32_t in_place; /* recv == send */
    /* [i]: of rank + 1 + i: its ring for this rank, its arrivals, and its acknowledgements here */
    char *to[PIPC__RANKS_MAX - 1];
    uint64_t *arrival_to[PIPC__RANKS_MAX - 1];
    const uint64_t *ack_from[PIPC__RANKS_MAX - 1];
    /* [q]: rank q's ring here, its arrivals, and where this rank acknowledges; the own: NULL */
    const char *from[PIPC__RANKS_MAX];
    const uint64_t *arrival_from[PIPC__RANKS_MAX];
    uint64_t *ack_to[PIPC__RANKS_MAX];
    char *scrub[2];                      /* LL's areas, see ll.h; NULL: none */
    uint32_t plan_id;                    /* for the report of a stall, as is: */
    uint16_t wait_step[PIPC__RANKS_MAX]; /* step of the plan that waits for rank q */
    pipc__lane_state_t *state;
    const uint64_t *abort;
    uint64_t *stalled_round, *stalled_step;
#ifdef PIPC_PERTURB
    uint64_t seed;
    uint32_t max_usec;
    int32_t drop_stage, drop_step;
    pipc__trace_sink_t trace;
#endif
} pipc__push_args_t;

/* Steps of the waits that no plan has, to be dropped in tests. */
#define PIPC__PUSH_ACK_STEP 1000    /* of a pusher, for an acknowledgement */
#define PIPC__PUSH_PUSHED_STEP 1001 /* of a summer in place, for its block's pusher */
#define PIPC__PUSH_REST_STEP 1002   /* of a pusher, for all slots of a chunk but the first */

/* Of a ring whose chunks go through host memory, or not. The same for all of a communicator. */
static inline PIPC__HD uint32_t pipc__push_slot_bytes(int any_host)
{
    return any_host ? PIPC__PUSH_HOST_SLOT_BYTES : PIPC__PUSH_SLOT_BYTES;
}

/* Slots of each ring when a region of @region_bytes is shared by the @nranks - 1 others. */
static inline PIPC__HD uint32_t pipc__push_slots(size_t region_bytes, int nranks,
                                                 uint32_t slot_bytes)
{
    size_t each = slot_bytes + 2 * PIPC__FLAG_BYTES;

    if (nranks < 2)
        return 0;
    return (uint32_t)(region_bytes / each / (size_t)(nranks - 1)) / PIPC__PUSH_SPAN *
           PIPC__PUSH_SPAN;
}

/* What of a region is used at most: rings of 8 MB. Longer ones are slower, since what is written is
 * presumably read from the level-2 cache as long as it fits; shorter ones let blocks wait for
 * acknowledgements (doc/measurements.md). */
static inline size_t pipc__push_bytes_most(int nranks)
{
    size_t each = PIPC__PUSH_SLOT_BYTES + 2 * PIPC__FLAG_BYTES;

    return nranks < 2 ? 0 : PIPC__PUSH_SLOTS_MOST * each * (size_t)(nranks - 1);
}

/* Slots that a chunk takes. */
static inline PIPC__HD uint32_t pipc__push_span(uint32_t chunk_bytes, uint32_t slot_bytes)
{
    return chunk_bytes > slot_bytes ? chunk_bytes / slot_bytes : 1;
}

/* And @nchunks of them. */
static inline PIPC__HD uint32_t pipc__push_moves(uint32_t nchunks, uint32_t span)
{
    return (nchunks * span + PIPC__PUSH_SPAN - 1) / PIPC__PUSH_SPAN * PIPC__PUSH_SPAN;
}

/* Where in a region things of another rank lie, which is number @index (0 .. nranks - 2) among the
 * others, in bytes. */
static inline PIPC__HD size_t pipc__push_arrivals(uint32_t nslots, int index)
{
    return (size_t)index * nslots * PIPC__FLAG_BYTES;
}

static inline PIPC__HD size_t pipc__push_acks(uint32_t nslots, int nranks, int index)
{
    return (size_t)(nranks - 1 + index) * nslots * PIPC__FLAG_BYTES;
}

static inline PIPC__HD size_t pipc__push_ring(uint32_t nslots, uint32_t slot_bytes, int nranks,
                                              int index)
{
    return 2 * (size_t)(nranks - 1) * nslots * PIPC__FLAG_BYTES +
           (size_t)index * nslots * slot_bytes;
}

/* The number of @other among the other ranks of @rank. */
static inline PIPC__HD int pipc__push_index(int rank, int other)
{
    return other < rank ? other : other - 1;
}

/* The power of two that is nearest to @bytes, within @least and @most, which are such. */
static inline uint32_t pipc__push_power(size_t bytes, uint32_t least, uint32_t most)
{
    uint32_t p = least;

    while (p < most && bytes > (size_t)p + p / 2)
        p *= 2;
    return p;
}

/* Bytes that a block of @blocks should have on their way by bulk copies: on all of them together a
 * little more than NVLink holds. Fewer leave the link idle; with more, arrivals come late and out
 * of order. (Two H200, 256 MB: 777 us on 33 multiprocessors with 128 KB each, 1219 with 32; on 132
 * 816 with 128 KB, 754 with 32.) */
static inline uint32_t pipc__push_window(int blocks)
{
    size_t each = (size_t)(4 << 20) / (size_t)(blocks > 0 ? blocks : 1);

    return pipc__push_power(each, 32 << 10, 2 * PIPC__PUSH_CHUNK_MOST);
}

/* How a message of @bytes is cut on @blocks blocks, the same on every rank: a block gets 16 chunks,
 * so that its pushers and summers keep in step, if they are not too short then to be worth their
 * signals. Through host memory signals are dearer. */
static inline uint32_t pipc__push_chunk(size_t bytes, int any_host, int blocks)
{
    size_t each = bytes / (size_t)(blocks > 0 ? blocks : 1);

    if (any_host)
        return pipc__push_power(bytes / 64, PIPC__PUSH_CHUNK_LEAST, PIPC__PUSH_HOST_SLOT_BYTES);
    return pipc__push_power(each / 16, pipc__push_power(each, 8 << 10, 16 << 10),
                            pipc__push_window(blocks) / 2);
}

/* Bulk copies at a time, of @chunk_bytes each, in a block that has @shared_bytes for them. */
static inline uint32_t pipc__push_streams(uint32_t chunk_bytes, int blocks, size_t shared_bytes)
{
    size_t window = pipc__push_window(blocks);
    size_t n = (window < shared_bytes ? window : shared_bytes) / chunk_bytes;

    return n > PIPC__PUSH_STREAMS ? PIPC__PUSH_STREAMS : (uint32_t)n;
}

#endif
