/* tests/gpu/ll.h - protocols LL and LL128 on GPUs: tests for the groups of exec_cuda.c, by their
 * names. Those of LL128 are skipped where NVLink does not join the GPUs.
 */
#ifndef TESTS_GPU_LL_H
#define TESTS_GPU_LL_H

void ll_is_right_alone_and_among_other_calls(void **state);
void ll128_is_right_alone_and_among_other_calls(void **state);

/* As it ships. */
void a_dead_or_late_peer_of_ll_is_noticed(void **state);
void a_dead_late_or_aborting_peer_of_ll128_is_noticed(void **state);

/* With delays. */
void each_check_of_ll_is_needed(void **state);
void old_packets_are_overwritten_in_time(void **state);

#endif
