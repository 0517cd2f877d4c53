/* tests/gpu/ce.h - protocol CE on GPUs: tests for the groups of exec_cuda.c, by their names.
 */
#ifndef TESTS_GPU_CE_H
#define TESTS_GPU_CE_H

#include "tests/unit/rank_exec.h"

void ce_is_right_alone_and_among_other_calls(void **state);
void ce_leaves_the_input_alone_before_the_call_and_behind_it(void **state);
void ce_is_right_where_streams_share_queues(void **state);

/* As it ships. */
void ce_ends_when_a_peer_dies_or_aborts(void **state);
void ce_waits_for_a_late_peer(void **state);
void ce_is_not_captured(void **state);

/* With delays. */
void ce_needs_each_of_its_waits(void **state);

/* For ranks_run(): rank 0 prints the slowest rank's time a call, over numbers of blocks and streams
 * and lengths of chunks, by the device and by the host. */
int ce_timing_body(ranks_t *all, int rank, void *arg);

#endif
