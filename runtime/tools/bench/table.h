/* tools/bench/table.h - the results for people: nccl-tests' columns, then p99, CPU time and the
 * peer's.
 */
#ifndef PIPC_BENCH_TABLE_H
#define PIPC_BENCH_TABLE_H

#include "runtime/tools/bench/measure.h"

/* What calls of @bytes do, for tables: "one-shot", "one-shot/ll", "nccl". Static. */
const char *bench_choice_name(const bench_t *b, size_t bytes);

void bench_print_head(const bench_t *b);
void bench_print_row(const bench_t *b, const bench_result_t *result);

/* Means of the ratios over ranges of sizes, where there is a peer. */
void bench_print_means(const bench_t *b, const bench_results_t *results);

#endif
