/* tune/admit.h - from measured times to the rows of a table. Pure.
 *
 * An own plan is admitted for a size only where it beats NCCL by 3 % in the median and is no worse
 * in its tail (p99 of 100 samples and more, p90 of fewer), there and at the neighbouring sizes that
 * were measured: one lucky size proves nothing. A plan that was not measured at a neighbour (a
 * protocol that ends there) needs any own plan to do so.
 *
 * Two things keep that rule from costing more than it is worth, since no choice may be more than 3
 * % or 0.5 us behind the better of own and NCCL. Where curves cross they come together first: at a
 * neighbour being level with NCCL, 3 % behind at most, is enough. And where NCCL's curve jumps from
 * one size to the next, as it does, a win that the samples leave no doubt of stands alone: own's
 * tail below NCCL's median.
 *
 * NCCL is what the runtime would call instead: its own choice, not one forced on it. Of the
 * admitted the fastest one is taken, or the one of the row below where that is within 1 %: fewer
 * rows, and no flutter between equals. Sizes without NCCL get the fastest own plan.
 */
#ifndef PIPC_TUNE_ADMIT_H
#define PIPC_TUNE_ADMIT_H

#include "runtime/tune/file.h"

#define PIPC__ADMIT_GAIN 1.03 /* NCCL's median / own median */
#define PIPC__HOPELESS 1.5    /* own median / the best own one, from which on it is far behind */

/* Make the rows from times[n], in any order. A row reaches from the measured size below it up to
 * its own size; the last one on for ever, never with a protocol that ends. A mode (graph) in which
 * nothing was measured gets the other one's choices, copy engines aside, which graphs can't have.
 * PIPC_ERR_INVALID when nothing own and no NCCL was measured at a size, or there are more sizes
 * than PIPC__TABLE_ROWS. */
pipc_status_t pipc__admit(pipc__table_t *table, const pipc__table_time_t *times, int n,
                          pipc__error_t *err);

/* The time of @choice (NCCL: its own choice) at @bytes; NULL when it was not measured. */
const pipc__table_time_t *pipc__time_find(const pipc__table_time_t *times, int n, size_t bytes,
                                          bool in_graph, pipc__choice_t choice);

/* Would it be a waste to measure @choice at sizes[at]? Own candidates only; times of all sizes
 * before are there. At two sizes in a row it took PIPC__HOPELESS times as long as the best own one,
 * and grew by more from the size before: it is behind, and falls back further. What takes long but
 * grows slowly, as plans for large messages do at small ones, comes back. */
bool pipc__time_hopeless(const pipc__table_time_t *times, int n, const size_t *sizes, int at,
                         bool in_graph, pipc__choice_t choice);

/* The fastest own candidate at @bytes, and NCCL's fastest variant; NULL for none. */
const pipc__table_time_t *pipc__time_best(const pipc__table_time_t *times, int n, size_t bytes,
                                          bool in_graph, bool nccl);

/* The measured sizes, ascending, each once, at most PIPC__TABLE_ROWS; returns how many there are.
 */
int pipc__time_sizes(const pipc__table_time_t *times, int n, size_t sizes[PIPC__TABLE_ROWS]);

#endif
