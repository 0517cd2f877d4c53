/* plan/proto.h - how the bytes of a plan's steps are moved and their arrival is told.
 */
#ifndef PIPC_PLAN_PROTO_H
#define PIPC_PLAN_PROTO_H

#include <stdbool.h>
#include <stddef.h>

typedef enum pipc__proto {
    PIPC__PROTO_SIMPLE, /* flags beside the data: kernels/allreduce.cu, the CPU executor */
    PIPC__PROTO_LL,     /* flags in the data: kernels/ll.cu; small messages, one-shot alone */
    PIPC__PROTO_PUSH,   /* kernels/push.cu: copies and sums at the same time; one-shot alone */
    PIPC__PROTO_CE,     /* copy engines move the bytes, a kernel sums; one-shot alone */
    PIPC__PROTO_LL128, /* a flag in each line of 128 bytes: kernels/ll128.cu; one-shot, NVLink alone
                        */
    PIPC__PROTOS
} pipc__proto_t;

/* What LL has on each rank, beside staging: two areas of this many bytes, each cut among the other
 * ranks. Half of it is flags. */
#define PIPC__LL_AREA_BYTES ((size_t)2 << 20)
#define PIPC__LL_TILE_BYTES ((size_t)1024) /* what a warp writes: 512 bytes of data */

/* Bytes of an area that are one sender's. */
static inline size_t pipc__ll_slot_bytes(int nranks)
{
    size_t slot = PIPC__LL_AREA_BYTES / (size_t)(nranks > 1 ? nranks - 1 : 1);

    return slot - slot % PIPC__LL_TILE_BYTES;
}

/* The longest message of LL, in bytes: 1 MB of 2 ranks, 349184 of 4, 149504 of 8, 69632 of 16. */
static inline size_t pipc__ll_bytes_max(int nranks)
{
    return pipc__ll_slot_bytes(nranks) / 2;
}

#define PIPC__LL128_TILE_BYTES ((size_t)1024) /* what a warp writes at a time, in 8 lines */
#define PIPC__LL128_TILE_DATA ((size_t)960)   /* a sixteenth is flags */

/* What LL128 has on each rank's device, in staging: two areas of this many bytes, each cut among
 * the other ranks. */
static inline size_t pipc__ll128_area_bytes(int nranks)
{
    return nranks == 2 ? (size_t)9 << 20 : (size_t)2 << 20;
}

static inline size_t pipc__ll128_slot_bytes(int nranks)
{
    size_t slot = pipc__ll128_area_bytes(nranks) / (size_t)(nranks > 1 ? nranks - 1 : 1);

    return slot - slot % PIPC__LL128_TILE_BYTES;
}

/* The longest message of LL128, in bytes: 8847360 of 2 ranks, 654720 of 4, 280320 of 8. */
static inline size_t pipc__ll128_bytes_max(int nranks)
{
    return pipc__ll128_slot_bytes(nranks) / PIPC__LL128_TILE_BYTES * PIPC__LL128_TILE_DATA;
}

/* Is there a longest message of @proto? */
static inline bool pipc__proto_ends(pipc__proto_t proto)
{
    return proto == PIPC__PROTO_LL || proto == PIPC__PROTO_LL128;
}

#endif
