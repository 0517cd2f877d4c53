/* tools/p2p/p2p.h - pcie-ipc-p2p: what every pair of GPUs of this node does.
 *
 *     main.c      options, exit status
 *     workers.c   processes that own the GPUs, and what they share; ends those that hang
 *     measure.c   what a worker does on its GPUs
 *     report.c    text and JSON
 *
 *     parent --fork--> worker(s): one with all GPUs, or with --ipc one for each GPU
 *        |                 |
 *        +--- p2p_shared_t: results as they come, a barrier ---+
 */
#ifndef PIPC_TOOLS_P2P_P2P_H
#define PIPC_TOOLS_P2P_P2P_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/exec/probe.h"

#define P2P_GPUS_MAX PIPC__RANKS_MAX

/* Exit statuses. */
enum { P2P_ALL_GOOD = 0, P2P_SOME_OUT = 1, P2P_SOME_BROKEN = 2, P2P_CANNOT = 3 };

typedef struct p2p_wants {
    size_t bytes;
    int iters, timeout_sec;
    bool ipc, json;
    int ngpus; /* 0: all */
    int gpu[P2P_GPUS_MAX];
} p2p_wants_t;

typedef struct p2p_gpu {
    int device; /* CUDA's number of it */
    char bdf[16], uuid[48], name[64];
    bool mig;
    unsigned char handle[64]; /* CUipcMemHandle */
} p2p_gpu_t;

/* From one GPU to another; 0: not measured. */
typedef struct p2p_pair {
    pipc__path_state_t state;
    bool together_bad; /* good alone, and not when all pairs were busy */
    double write_gbps, read_gbps, copy_gbps, latency_usec, together_gbps;
    unsigned long long wrong, first; /* packs of 16 bytes; the first, as a place in the buffer */
} p2p_pair_t;

/* Memory of all processes. */
typedef struct p2p_shared {
    p2p_wants_t wants;
    int n, nworkers;
    p2p_gpu_t gpu[P2P_GPUS_MAX];
    p2p_pair_t pair[P2P_GPUS_MAX][P2P_GPUS_MAX];
    _Atomic int arrived, generation; /* the barrier */
    _Atomic int over;                /* a worker gave up; nobody waits any more */
    _Atomic int from, to;            /* the pair that is looked at, -1: none */
    _Atomic int finished;            /* everything was measured */
    pipc__error_t err;               /* by who set over */
} p2p_shared_t;

/* --- workers.c -------------------------------------------------------------------------------- */

/* Look at the GPUs and measure all pairs; the caller releases *shared with p2p_release(). Fails
 * when there is nothing to measure with. Results of pairs that were not reached, because a worker
 * hung or time ran out, stay UNTESTED; shared->err then says why. */
pipc_status_t p2p_run(p2p_shared_t **shared, const p2p_wants_t *wants, pipc__error_t *err);
void p2p_release(p2p_shared_t *shared);

/* Meet the other workers. False when one gave up. */
bool p2p_meet(p2p_shared_t *s);

/* Say why no more is measured, for the first one that says so; returns false. */
bool p2p_give_up(p2p_shared_t *s, const pipc__error_t *err);

/* --- measure.c -------------------------------------------------------------------------------- */

/* Fill n and gpu[] with those that are wanted. Starts CUDA: in a process of its own. */
pipc_status_t p2p_list(p2p_shared_t *s, pipc__error_t *err);

/* Worker @self: all GPUs when there is one worker, else GPU @self. */
void p2p_measure(p2p_shared_t *s, int self);

/* --- report.c --------------------------------------------------------------------------------- */

void p2p_print(const p2p_shared_t *s, bool colours);
pipc_status_t p2p_print_json(const p2p_shared_t *s, pipc__error_t *err);
int p2p_status(const p2p_shared_t *s); /* the exit status that the results are worth */

#endif
