/* tools/bench/results.h - what was measured, and the figures that are made of it. Pure.
 *
 *     samples --bench_figures()--> figures --of own and each variant of the peer--> cell
 *     two cells (out of place, in place) and what overlaps --> row --> results --> means of ratios
 */
#ifndef PIPC_BENCH_RESULTS_H
#define PIPC_BENCH_RESULTS_H

#include <pcie-ipc/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_VARIANTS_MAX 8 /* of a peer: ways in which it can do the same */
#define BENCH_BESIDE_MAX 8   /* other own ways: beside.h */

/* A call's times in microseconds, each of the slowest rank. usec 0: not measured. */
typedef struct bench_figures {
    double usec;     /* median over the turns of the median of a turn's samples */
    double min_usec; /* of the turns, the least */
    double p99_usec; /* 99 of 100 samples are no slower */
    double cpu_usec; /* the calling thread's CPU time; median over the samples */
    int samples;
} bench_figures_t;

/* Figures of turns * per_turn samples, turn after turn. Sorts both arrays. */
bench_figures_t bench_figures(double *usec, double *cpu_usec, int turns, int per_turn);

/* The middle value, or the mean of the two middle ones. Sorts. */
double bench_median(double *v, int n);

/* Where an own call over nodes spends its time, in microseconds: a mean over all timed calls and
 * all ranks that are on a rail. intra_usec + inter_usec is all of it. */
typedef struct bench_rails {
    double inter_usec; /* a job of the rail under way, and no local step that could go on */
    double intra_usec; /* the rest: copies, sums, waits for ranks of the node */
    double busy_usec;  /* a job of the rail under way; 0: one node, or an executor can't tell */
} bench_rails_t;

/* What is measured of one placement. */
typedef struct bench_cell {
    bench_figures_t own, beside[BENCH_BESIDE_MAX], peer[BENCH_VARIANTS_MAX];
    bench_rails_t rails;
    uint64_t wrong; /* elements, over all ranks */
} bench_cell_t;

/* Calls beside arithmetic. Times in microseconds, of a burst and of the kernels beside it. */
typedef struct bench_overlap {
    double calls_alone, compute_alone; /* calls_alone 0: not measured */
    double calls_beside, compute_beside;
} bench_overlap_t;

typedef struct bench_row {
    bench_cell_t cell[2];       /* out of place, in place */
    bench_overlap_t overlap[2]; /* own, the peer's best variant; out of place */
} bench_row_t;

typedef struct bench_result {
    size_t count, bytes;
    pipc_dtype_t dtype;
    pipc_redop_t op;
    bench_row_t row;
} bench_result_t;

typedef struct bench_results {
    int n;
    bench_result_t *v; /* [n]; released with free() */
} bench_results_t;

/* Append a copy. False when memory is out. */
bool bench_results_add(bench_results_t *results, const bench_result_t *result);

/* GB/s of 10^9 bytes; 0 for what was not measured. busbw is what crosses each rank's link each way.
 */
double bench_algbw(const bench_figures_t *f, size_t bytes);
double bench_busbw(const bench_figures_t *f, size_t bytes, int ranks);

#define BENCH_BEST (-1) /* in place of a variant: the one with the least usec, size by size */

/* The variant with the least usec; -1 when none was measured. */
int bench_best(const bench_cell_t *cell);
/* The figures of @variant, or of BENCH_BEST. usec is 0 when it was not measured. */
bench_figures_t bench_peer_figures(const bench_cell_t *cell, int variant);
/* Time of @variant (or BENCH_BEST) / own time; 0 when either was not measured. */
double bench_ratio(const bench_cell_t *cell, int variant);

/* Ranges of sizes over which ratios are averaged, inclusive. */
typedef struct bench_range {
    const char *name;
    size_t min_bytes, max_bytes;
} bench_range_t;

#define BENCH_RANGES 3
extern const bench_range_t bench_ranges[BENCH_RANGES];

/* Geometric mean of the ratios of one placement over a range; *sizes gets how many there were. 0
 * for none. */
double bench_mean_ratio(const bench_results_t *results, const bench_range_t *range, int placement,
                        int variant, int *sizes);

#endif
