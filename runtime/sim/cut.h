/* sim/cut.h - a call cut into rounds and chunks as the executors cut it, and what each op uses.
 */
#ifndef PIPC_SIM_CUT_H
#define PIPC_SIM_CUT_H

#include "runtime/sim/simulate.h"

typedef struct pipc__cut {
    uint64_t rounds;
    size_t bytes[2][PIPC__CHUNKS_MAX]; /* of a chunk, in a full round and in the last one */
} pipc__cut_t;

/* Every round but the last is a full one. PIPC_ERR_INVALID when staging is too small. */
pipc_status_t pipc__cut(pipc__cut_t *cut, const pipc__sim_call_t *call, pipc__error_t *err);

/* The bytes of the user's two buffers, and of one, as algbw counts them. */
size_t pipc__cut_buffers(const pipc__sim_call_t *call);
size_t pipc__cut_message(const pipc__sim_call_t *call);

/* The most that a rank reads and writes: its buffers and, in both staging areas, the slots that are
 * written. */
double pipc__cut_working_set(const pipc__cut_t *cut, const pipc__sim_call_t *call);

/* What a COPY or REDUCE of @rank uses, each resource once, its engine last and with a weight of 0,
 * into hops[fabric->nresources]; returns how many. */
int pipc__op_hops(const pipc__fabric_t *fabric, const pipc__op_t *op, int rank, pipc__hop_t *hops);

/* What a signal of @rank takes until the wait for it is over, seconds. */
double pipc__signal_time(const pipc__fabric_t *fabric, const pipc__op_t *op, int rank);

#endif
