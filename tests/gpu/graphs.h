/* tests/gpu/graphs.h - captured graphs among eager calls, on two streams; several communicators of
 * one process.
 */
#ifndef TESTS_GPU_GRAPHS_H
#define TESTS_GPU_GRAPHS_H

#include "tests/unit/rank_exec.h"

/* For ranks_run(): two graphs, captured on two streams, are replayed 1,000 times on either stream,
 * eager calls on both between, and nothing waits but the executor itself. @arg: the rank_shape_t of
 * the one-shots. */
int graphs_body(ranks_t *all, int rank, void *arg);

/* For ranks_run(): three communicators take turns, on one stream or on two; @arg is an int. */
int communicators_body(ranks_t *all, int rank, void *arg);

#endif
