/* tools/bench/table.h - the results for people: nccl-tests' columns, then p99 and the peer's.
 */
#ifndef PIPC_BENCH_TABLE_H
#define PIPC_BENCH_TABLE_H

#include "runtime/tools/bench/measure.h"

/* A row's figures as they are shown: GB/s are 10^9 bytes a second. */
double bench_algbw(const bench_cell_t *c, size_t bytes);
double bench_busbw(const bench_cell_t *c, size_t bytes, int ranks);
double bench_ratio(const bench_cell_t *c); /* peer's time / own */

void bench_print_head(const bench_t *b);
void bench_print_row(const bench_t *b, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                     const bench_row_t *row);

#endif
