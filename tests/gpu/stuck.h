/* tests/gpu/stuck.h - protocols that move large messages, and a peer that dies, aborts or comes
 * late in the middle of them.
 */
#ifndef TESTS_GPU_STUCK_H
#define TESTS_GPU_STUCK_H

#include "tests/unit/rank_exec.h"

/* What becomes of rank 1 after its first call. */
typedef enum fate { DIES_IDLE, DIES_AT_WORK, ABORTS, COMES_LATE } fate_t;

/* Call @number of a first plan of @re's by @proto, 32 MB from @x to @y, on gpu_streams[0]. */
pipc_status_t stuck_call(rank_exec_t *re, pipc__proto_t proto, char *x, char *y,
                         unsigned int number, pipc__error_t *err);

/* A test of cmocka's: of a rank a GPU in the least staging, @turns times. All but rank 1 wait for
 * what never comes; each must hear of it within 5 s, with rank 1 named, what the program has on its
 * streams must come to its end, and everything can be freed. Or, late, all goes well. */
void stuck_run(pipc__proto_t proto, rank_plans_t plans, fate_t fate, int turns);

#endif
