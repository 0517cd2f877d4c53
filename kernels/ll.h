/* kernels/ll.h - LL, all-reduce of small messages in one step: what the host and the kernels agree
 * on. Plain data for C and CUDA C.
 *
 * Every rank writes its input into every peer's memory and sums what it gets, as the one-shot plan
 * says. No flag follows the data, each word brings its own:
 *
 *     packet   | 4 data | 4 flag | 4 data | 4 flag |    two stores of 8 bytes, each whole
 *     unit     16 bytes of the message: two packets, one thread
 *     tile     32 units, one warp: | 32 first packets | 32 second packets |
 *     slot     the tiles of one sender
 *     area     a slot for each other rank, in rank order; two areas of PIPC__LL_AREA_BYTES
 *
 * The flag is the number of the call, of all calls of the communicator: call c uses area c mod 2.
 * A rank that begins call c + 2 has got what every peer sent in call c + 1, whatever its protocol,
 * and each peer sent that after it had read all of call c.
 *
 * Numbers are cut to 32 bits, so what a short message leaves untouched could match 2^32 calls
 * later, some hours. Hence every call, whatever its protocol, writes one packet of the own area
 * that no peer writes now, the next one each time: what lies there is never older than
 * PIPC__LL_SCRUB_CALLS calls.
 */
#ifndef PIPC_KERNELS_LL_H
#define PIPC_KERNELS_LL_H

#include "kernels/allreduce.h"
#include "runtime/plan/proto.h"
#include "runtime/plan/trace.h"

#define PIPC__LL_BYTES (2 * PIPC__LL_AREA_BYTES) /* behind staging, on the device and on the host  \
                                                  */
#define PIPC__LL_PACKET 16
#define PIPC__LL_UNIT 16 /* bytes of the message a thread sends at once */
#define PIPC__LL_THREADS_MAX 512
#define PIPC__LL_SCRUB_CALLS (2 * (PIPC__LL_AREA_BYTES / PIPC__LL_PACKET))

/* The arguments of a launch. Pointers are the device's. */
typedef struct pipc__ll_args {
    const char *send;
    char *recv;
    size_t bytes; /* > 0 */
    uint32_t rank, nranks;
    double nth; /* as in pipc__lane_args_t */
    uint64_t reciprocal;
    /* Slots of area 0; those of area 1 lie PIPC__LL_AREA_BYTES behind. */
    char *to[PIPC__RANKS_MAX - 1];       /* of rank + 1, rank + 2, ...: where this rank writes */
    const char *from[PIPC__RANKS_MAX];   /* what rank q wrote; the own: NULL */
    char *scrub[2];                      /* own areas on the device and on the host, or NULL */
    uint32_t slot_bytes;                 /* pipc__ll_slot_bytes() */
    uint32_t plan_id;                    /* for the report of a stall, as is: */
    uint16_t wait_step[PIPC__RANKS_MAX]; /* step of the plan that waits for rank q */
    pipc__lane_state_t *state;
    const uint64_t *abort;
    uint64_t *stalled_round, *stalled_step;
#ifdef PIPC_PERTURB
    uint64_t seed;
    uint32_t max_usec;
    int32_t drop_stage, drop_step, one_area, no_scrub;
    pipc__trace_sink_t trace;
#endif
} pipc__ll_args_t;

/* Where in an area call number @call writes its packet, in bytes. */
static inline PIPC__HD uint32_t pipc__ll_scrub_at(uint64_t call)
{
    return (uint32_t)(call / 2) % (uint32_t)(PIPC__LL_AREA_BYTES / PIPC__LL_PACKET) *
           PIPC__LL_PACKET;
}

/* Do @nslots senders, of @units units each, write the packet at byte @at of an area? By the unit:
 * of its last tile a message writes a part. */
static inline PIPC__HD int pipc__ll_covers(uint32_t at, uint32_t slot_bytes, uint32_t nslots,
                                           uint32_t units)
{
    uint32_t in_slot = at % slot_bytes, half = (uint32_t)PIPC__LL_TILE_BYTES / 2;
    uint32_t unit = in_slot / (2 * half) * 32 + in_slot % half / PIPC__LL_PACKET;

    return at / slot_bytes < nslots && unit < units;
}

/* The slot of @sender in the areas of @receiver. */
static inline int pipc__ll_slot(int receiver, int sender)
{
    return sender < receiver ? sender : sender - 1;
}

/* A launch. Unlike lanes, ranks need not agree on it: a packet's place is the message's alone. */
typedef struct pipc__ll_grid {
    unsigned int blocks, threads; /* threads: of a block, whole warps */
} pipc__ll_grid_t;

/* For @bytes of a message on @most blocks at most: one block while that is enough for a unit a
 * thread, since blocks of one grid tell each other their end; then blocks of half the size, which
 * start sooner; then of the whole. */
static inline pipc__ll_grid_t pipc__ll_grid(size_t bytes, int most)
{
    size_t units = (bytes + PIPC__LL_UNIT - 1) / PIPC__LL_UNIT;
    size_t threads = PIPC__LL_THREADS_MAX / 2, blocks = (units + threads - 1) / threads;
    pipc__ll_grid_t g = {1, 32};

    if (units <= PIPC__LL_THREADS_MAX) {
        g.threads = (unsigned int)((units + 31) / 32 * 32);
        return g;
    }
    if (blocks > (size_t)most) {
        threads = PIPC__LL_THREADS_MAX;
        blocks = (units + threads - 1) / threads;
    }
    g.blocks = blocks > (size_t)most ? (unsigned int)most : (unsigned int)blocks;
    g.threads = (unsigned int)threads;
    return g;
}

#endif
