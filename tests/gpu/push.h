/* tests/gpu/push.h - protocol push on GPUs: tests for the groups of exec_cuda.c, by their names.
 */
#ifndef TESTS_GPU_PUSH_H
#define TESTS_GPU_PUSH_H

void push_is_right_alone_and_among_other_calls(void **state);

/* As it ships. */
void push_ends_when_a_peer_dies_or_aborts(void **state);
void push_waits_for_a_late_peer(void **state);
void push_takes_one_shots_alone(void **state);

/* With delays. */
void push_needs_each_of_its_waits(void **state);

#endif
