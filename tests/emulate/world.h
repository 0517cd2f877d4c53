/* tests/emulate/world.h - ranks whose kernels run on the CPU: their memory, some calls, what came
 * of them.
 */
#ifndef TESTS_EMULATE_WORLD_H
#define TESTS_EMULATE_WORLD_H

#include <pcie-ipc/types.h>

#include "kernels/allreduce.h"
#include "runtime/plan/replay.h"
#include "tests/emulate/kernels.h"

#define WORLD_RANKS 4
#define WORLD_CALLS 4
#define WORLD_EVENTS 256 /* of a thread in a call */

/* A rank's part of a call. */
typedef struct world_part {
    char *send, *recv; /* the same in place */
    char *memory;      /* where they lie */
    uint32_t blocks, threads;
} world_part_t;

typedef struct world_call {
    pipc_dtype_t dtype;
    pipc_redop_t op;
    emulated_kernel_t *kernel;
    size_t count, bytes;
    bool in_place;
    world_part_t part[WORLD_RANKS];
} world_call_t;

typedef struct world {
    int nranks, ncalls;
    size_t staging_bytes;
    char *staging[WORLD_RANKS], *host[WORLD_RANKS]; /* zeroed */
    pipc__lane_state_t state[WORLD_RANKS];
    uint64_t abort, stalled_round, stalled_step;
    world_call_t call[WORLD_CALLS];
    pipc__trace_t trace[WORLD_CALLS][WORLD_RANKS];
    uint64_t random;
} world_t;

/* What went wrong, a bit each. */
enum { WORLD_WRONG = 1, WORLD_HANGS = 2, WORLD_REFUSED = 4 };

/* A random number below @n. */
uint32_t world_random(world_t *w, uint32_t n);

/* Ranks with @staging_bytes of staging on the device and on the host, and random calls of up to
 * @most_bytes by one of @functions, @in_place or here and there; parts have no launch yet. */
world_t *world_make(uint64_t seed, int nranks, int ncalls, size_t staging_bytes, size_t most_bytes,
                    bool in_place, const emulated_function_t *functions);
void world_free(world_t *w);

/* Give @part blocks and threads, and room for a trace. */
void world_grid(world_t *w, int call, int rank, uint32_t blocks, uint32_t threads);

/* Run all calls; @args [call][rank] are the kernels' arguments. Returns what went wrong; *err has
 * the replayer's words. */
int world_run(world_t *w, const void *(*args)(const void *all, int call, int rank), const void *all,
              bool shared, uint64_t steps, emulated_fault_t fault, pipc__error_t *err);

#endif
