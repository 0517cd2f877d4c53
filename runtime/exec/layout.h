/* exec/layout.h - what lies where in a rank's staging on a GPU, and in its twin in host memory.
 * Pure.
 *
 *     | flags, area 0, area 1 | LL: two areas | push: flags, slots | copy engines: flags, slots |
 *       simple: plan.h,         ll.h            push.h               ce.h
 *       kernels/allreduce.h
 *
 * Protocols share nothing: each numbers what it sends by itself, and a packet of one where another
 * one looks for a flag is wrong data and no hang.
 */
#ifndef PIPC_EXEC_LAYOUT_H
#define PIPC_EXEC_LAYOUT_H

#include <stddef.h>

#define PIPC__LAYOUT_BLOCK ((size_t)2 << 20) /* the driver's: see cuda_memory.c */

typedef struct pipc__layout {
    size_t simple_bytes; /* from 0 on */
    size_t area_bytes;   /* of each of its two areas */
    size_t ll_at;        /* PIPC__LL_BYTES */
    size_t push_at, push_bytes;
    size_t ce_at, ce_bytes;
    size_t bytes; /* all: a multiple of PIPC__LAYOUT_BLOCK */
} pipc__layout_t;

/* Cut @staging_bytes: 4 MiB for LL; of the rest a quarter each for push and copy engines, and
 * simple has the other half. What is too small for that becomes 8 MiB. */
pipc__layout_t pipc__layout(size_t staging_bytes);

#endif
