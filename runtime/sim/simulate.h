/* sim/simulate.h - how long a plan takes on a fabric, what goes over each link, and what limits it.
 *
 * Event-driven, on the level of flows. An actor is a stage of a rank; its lanes are alike and count
 * as one. A copy or a sum is a flow over all that it uses: links, memories, the rank's engine.
 * Flows that use the same share its rate max-min fair: all rates grow alike until something is
 * full; the flows through it stay, the others grow on. Signals take a step's latency. Rounds are
 * cut as the executors cut them. Of a plan with rails it is one node of many alike (rails.h).
 *
 * Pure, and it reads no clock.
 */
#ifndef PIPC_SIM_SIMULATE_H
#define PIPC_SIM_SIMULATE_H

#include "runtime/plan/generate.h"
#include "runtime/sim/fabric.h"
#include "runtime/sim/rails.h"

#define PIPC__SIM_STAGING ((size_t)64 << 20) /* default staging bytes of a rank, all areas */

/* A call. */
typedef struct pipc__sim_call {
    const pipc__plan_t *plan; /* for as many ranks as the fabric has */
    size_t count;             /* elements, as in pipc__exec_call_t */
    size_t elem_bytes;
    size_t staging_bytes;
    bool every_round;           /* simulate all rounds; else the middle ones once they repeat */
    const pipc__sim_net_t *net; /* of a plan with rails: what they go over */
} pipc__sim_call_t;

typedef struct pipc__sim_load {
    uint64_t bytes; /* that cross the resource, exact, from the plan alone */
    double busy;    /* part of its rate that is used, over the whole call */
} pipc__sim_load_t;

typedef struct pipc__sim_result {
    double usec;
    double algbw, busbw; /* 10^9 bytes a second, as nccl-tests define them */
    double working_set;  /* bytes that a rank reads and writes */
    uint64_t rounds, simulated;
    pipc__sim_load_t *load;     /* [fabric->nresources] */
    double nic_bytes, nic_busy; /* of a plan with rails: what the busiest NIC sends, and the part of
                                   its rate that this is */
    int limit;                  /* the busiest resource; PIPC__UNKNOWN: nothing moves */
} pipc__sim_result_t;

/* A resource that is used for less than this part of the time limits nothing: latency does. */
#define PIPC__SIM_LIMITS 0.5

/* Fill @out, which the caller releases with pipc__sim_release(). PIPC_ERR_INVALID when the plan is
 * not for this fabric, its slots do not fit staging, or an actor waits for ever: then @err names
 * rank, stage and step. */
pipc_status_t pipc__simulate(pipc__sim_result_t *out, const pipc__fabric_t *fabric,
                             const pipc__sim_call_t *call, pipc__error_t *err);

void pipc__sim_release(pipc__sim_result_t *result);

/* What limits it, in words: "uplink of switch 0000:01:00.0, to root, 92 %", or "latency; busiest:
 * ..."; returns @text. */
const char *pipc__sim_limit_text(const pipc__fabric_t *fabric, const pipc__sim_result_t *result,
                                 char *text, size_t cap);

#endif
