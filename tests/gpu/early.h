/* tests/gpu/early.h - calls behind a kernel that lets them begin before its own end: tests for the
 * groups of exec_cuda.c, by their names.
 */
#ifndef TESTS_GPU_EARLY_H
#define TESTS_GPU_EARLY_H

void calls_wait_for_what_comes_before(void **state);

/* With delays; skipped where launches never begin early. */
void the_wait_for_what_comes_before_is_needed(void **state);

#endif
