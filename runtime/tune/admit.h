/* tune/admit.h - from measured times to the rows of a table. Pure.
 *
 * An own plan is admitted for a size only where it beats NCCL by 3 % in the median and is no worse
 * in p99, there and at the neighbouring sizes that were measured: one lucky size proves nothing.
 * A plan that was not measured at a neighbour (a protocol that ends there) needs any own plan to
 * win at it. NCCL is what the runtime would call instead: its own choice, not one forced on it. Of
 * the admitted the fastest one is taken, or the one of the row below where that is within 1 %:
 * fewer rows, and no flutter between equals. Sizes without NCCL get the fastest own plan.
 */
#ifndef PIPC_TUNE_ADMIT_H
#define PIPC_TUNE_ADMIT_H

#include "runtime/tune/file.h"

#define PIPC__ADMIT_GAIN 1.03 /* NCCL's median / own median */

/* Make the rows from times[n], in any order. A row reaches from the measured size below it up to
 * its own size; the last one on for ever, never with a protocol that ends. A mode (graph) in which
 * nothing was measured gets the other one's choices. PIPC_ERR_INVALID when nothing own and no NCCL
 * was measured at a size, or there are more sizes than PIPC__TABLE_ROWS. */
pipc_status_t pipc__admit(pipc__table_t *table, const pipc__table_time_t *times, int n,
                          pipc__error_t *err);

/* The time of @choice (NCCL: its own choice) at @bytes; NULL when it was not measured. */
const pipc__table_time_t *pipc__time_find(const pipc__table_time_t *times, int n, size_t bytes,
                                          bool in_graph, pipc__choice_t choice);

/* The fastest own candidate at @bytes, and NCCL's fastest variant; NULL for none. */
const pipc__table_time_t *pipc__time_best(const pipc__table_time_t *times, int n, size_t bytes,
                                          bool in_graph, bool nccl);

/* The measured sizes, ascending, each once, at most PIPC__TABLE_ROWS; returns how many there are.
 */
int pipc__time_sizes(const pipc__table_time_t *times, int n, size_t sizes[PIPC__TABLE_ROWS]);

#endif
