/* tools/bench/overlap.h - all-reduce beside a kernel that computes: what each does to the other.
 *
 *     calls alone     [c][c][c][c]
 *     compute alone   [waves of blocks]          about as long: as many waves as that takes
 *     both            [c][ c ][ c ][c ]          the calls' stream has the higher priority
 *                     [waves  of  blocks ]
 */
#ifndef PIPC_BENCH_OVERLAP_H
#define PIPC_BENCH_OVERLAP_H

#include "runtime/tools/bench/burst.h"

/* Bursts of @who's calls alone, the kernel alone, and both, in turns; medians of the slowest rank.
 * Needs a device that computes. Collective. */
pipc_status_t bench_overlap(bench_t *b, const bench_message_t *m, int who, bench_overlap_t *out,
                            pipc__error_t *err);

#endif
