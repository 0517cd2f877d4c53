/* tests/gpu/timing.h - a rough table of times, for a look; pcie-ipc-bench measures.
 */
#ifndef TESTS_GPU_TIMING_H
#define TESTS_GPU_TIMING_H

#include "tests/unit/rank_exec.h"

double timing_now(void); /* seconds */

/* For ranks_run(): eager calls back to back; rank 0 prints the slowest rank's time a call, and the
 * host's time to enqueue one. */
int timing_body(ranks_t *all, int rank, void *arg);

#endif
