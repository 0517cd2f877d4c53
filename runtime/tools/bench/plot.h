/* tools/bench/plot.h - the results as a picture: busbw and time over size, out of place
 */
#ifndef PIPC_BENCH_PLOT_H
#define PIPC_BENCH_PLOT_H

#include "runtime/tools/bench/measure.h"

/* Write options.plot_path, whole or not at all. Nothing to do without it. */
pipc_status_t bench_plot(const bench_t *b, const bench_results_t *results, pipc__error_t *err);

#endif
