/* exec/layout.h - what lies where in a rank's staging on a GPU, and in its twin in host memory.
 * Pure.
 *
 *     | flags, areas | push: flags, slots | LL128: areas | copy engines: flags, slots | LL: areas |
 *       simple: plan.h,  push.h              ll128.h        ce.h                        ll.h
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
    size_t push_at, push_bytes;
    size_t ll128_at, ll128_bytes; /* 0 bytes: there is no room for it */
    size_t ce_at, ce_bytes;
    size_t ll_at; /* PIPC__LL_BYTES */
    size_t bytes; /* all: a multiple of PIPC__LAYOUT_BLOCK */
} pipc__layout_t;

/* Cut @staging_bytes, 8 MiB at least, for @nranks ranks (0: not known yet; the whole and LL's place
 * are the same for all): 4 MiB for LL; of the rest a half for push and a quarter each for simple
 * and copy engines. Push is for few ranks: of more than two simple has the half. LL128 takes its
 * part of push's, if that leaves push a half or all that it has use for; what is left over then is
 * simple's, too. */
pipc__layout_t pipc__layout(size_t staging_bytes, int nranks);

/* The same with all of it simple's: for plans over nodes, beside which there is nothing else. */
pipc__layout_t pipc__layout_simple(size_t staging_bytes);

#endif
