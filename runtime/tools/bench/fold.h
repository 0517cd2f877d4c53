/* tools/bench/fold.h - what ranks tell each other between calls: a few numbers become one answer,
 * over all ranks of the communicator, whether they are on one node or on several.
 *
 * On a node by the communicator's own pages; between nodes by the communicator itself, which has no
 * other way. A result of its own that is wrong is not believed less by any rank than what the rank
 * has seen itself. All are collective.
 */
#ifndef PIPC_BENCH_FOLD_H
#define PIPC_BENCH_FOLD_H

#include "runtime/tools/bench/measure.h"

/* Before the others: @device has the memory that values between nodes go through. Nothing on one
 * node. */
pipc_status_t bench_fold_open(pipc_comm_t *comm, const bench_device_t *device, pipc__error_t *err);
void bench_fold_close(void);

/* Nobody goes on before everybody has come. */
pipc_status_t bench_meet(pipc_comm_t *comm, pipc__error_t *err);

/* Replace each of n values by the greatest of all ranks. */
pipc_status_t bench_greatest(pipc_comm_t *comm, double *values, int n, pipc__error_t *err);

/* *sum: of all ranks' @mine; where the sum can't be right, at least @mine. */
pipc_status_t bench_sum(pipc_comm_t *comm, uint64_t mine, uint64_t *sum, pipc__error_t *err);

/* differs[i] = some rank has another value[i] than this one, or than the others; i < n <= 64. */
pipc_status_t bench_compare(pipc_comm_t *comm, const uint64_t *value, int n, bool *differs,
                            pipc__error_t *err);

/* Rank 0's @data, of @bytes <= 512, becomes everybody's. */
pipc_status_t bench_give(pipc_comm_t *comm, void *data, size_t bytes, pipc__error_t *err);

/* *mean: of a call, over all ranks that are on rails. On one node, and where executors can't tell,
 * all 0. */
pipc_status_t bench_mean_rails(pipc_comm_t *comm, const pipc__rail_times_t *mine,
                               bench_rails_t *mean, pipc__error_t *err);

#endif
