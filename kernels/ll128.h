/* kernels/ll128.h - LL128, all-reduce of middle sizes in one step, between GPUs that NVLink joins:
 * what the host and the kernels agree on. Plain data for C and CUDA C.
 *
 * As LL (ll.h), with a flag for a line of 128 bytes in place of one for each word. A warp writes
 * four lines by one store:
 *
 *     line   | lane 0: 16 data | lane 1: 16 | ... | lane 6: 16 | lane 7: 8 data, 8 flag |
 *     row    four lines, lanes 0 to 31          | tile: two rows, 60 units of 16 bytes
 *     units  of a tile: 28 of row 0, a lane each without a flag's; 28 of row 1; then 4, of which
 *            each is the data of one flag's lane in both rows
 *
 * So every unit of the message is loaded, summed and stored by one thread, as 16 bytes in one
 * place. The flag is the number of the call, of all calls of the communicator, in 64 bits: it never
 * comes round, and where a flag lies never lies anything else, so nothing has to be written over
 * old ones. Two areas are enough for what LL needs two for.
 *
 * What a warp stores into a line at once arrives at once, and what a warp loads of one at once was
 * there at one time: no memory model says so, and NCCL builds on it where NVLink joins the GPUs
 * (its protocol of this name). Over PCIe it is not so, and there this one is not used.
 */
#ifndef PIPC_KERNELS_LL128_H
#define PIPC_KERNELS_LL128_H

#include <stdbool.h>

#include "kernels/allreduce.h"
#include "kernels/ll.h"
#include "runtime/plan/proto.h"
#include "runtime/plan/trace.h"

#define PIPC__LL128_THREADS 512      /* of a block, as long as that is a warp for each tile */
#define PIPC__LL128_THREADS_MOST 576 /* of a quarter of an H200's warps each has eight of 4 MB */
#define PIPC__LL128_UNITS 60         /* of a tile */

/* The arguments of a launch. Pointers are the device's. */
typedef struct pipc__ll128_args {
    const char *send;
    char *recv;
    size_t bytes; /* > 0 */
    uint32_t rank, nranks;
    double nth; /* as in pipc__lane_args_t */
    uint64_t reciprocal;
    size_t area_bytes;
    /* Slots of area 0; those of area 1 lie area_bytes behind. */
    char *to[PIPC__RANKS_MAX - 1];       /* of rank + 1, rank + 2, ...: where this rank writes */
    const char *from[PIPC__RANKS_MAX];   /* what rank q wrote; the own: NULL */
    char *scrub[2];                      /* LL's areas, see ll.h; NULL: none */
    uint32_t plan_id;                    /* for the report of a stall, as is: */
    uint16_t wait_step[PIPC__RANKS_MAX]; /* step of the plan that waits for rank q */
    pipc__lane_state_t *state;
    const uint64_t *abort;
    uint64_t *stalled_round, *stalled_step;
#ifdef PIPC_PERTURB
    uint64_t seed;
    uint32_t max_usec;
    int32_t drop_stage, drop_step, one_area;
    pipc__trace_sink_t trace;
#endif
} pipc__ll128_args_t;

static inline PIPC__HD uint32_t pipc__ll128_tiles(size_t bytes)
{
    return (uint32_t)((bytes + PIPC__LL128_TILE_DATA - 1) / PIPC__LL128_TILE_DATA);
}

/* How @bytes are cut, at @most blocks: a tile a warp, if there are as many warps, else on all
 * multiprocessors, each of which can push but a tenth of what the link takes. More warps are under
 * way with more at once, and their loads come late behind the stores (doc/measurements.md). */
static inline pipc__ll_grid_t pipc__ll128_grid(size_t bytes, int most)
{
    const unsigned int tiles = pipc__ll128_tiles(bytes), cap = (unsigned int)most;
    const bool fit = tiles <= cap * (PIPC__LL128_THREADS / 32);
    const unsigned int threads = fit ? PIPC__LL128_THREADS : PIPC__LL128_THREADS_MOST;
    const unsigned int blocks = (tiles + threads / 32 - 1) / (threads / 32);

    return (pipc__ll_grid_t){blocks < cap ? blocks : cap, threads};
}

#endif
