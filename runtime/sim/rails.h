/* sim/rails.h - several nodes that are alike: what the rails of one of them take
 *
 *     rank 0   rank 1   rank 2   rank 3        a node; jobs of its rails share its NICs
 *       '--NIC 0--'        '--NIC 1--'
 *
 * All nodes do the same at the same time, so one is simulated with its rails' jobs, and the network
 * is what a NIC sends and gets: it never blocks. A job flows over its NIC, whose rate all jobs
 * share that are under way, and ends its messages' latencies later; latencies of several jobs
 * overlap. A NIC is near its ranks: what it moves is not counted on the links of GPUs.
 */
#ifndef PIPC_SIM_RAILS_H
#define PIPC_SIM_RAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/plan/plan.h"
#include "runtime/sim/costs.h"

#define PIPC__SIM_NODES_MAX                                                                        \
    1024 /* PIPC__RAIL_NODES_MAX of rail/rail.h, which simulators don't see */

typedef struct pipc__sim_net {
    int nodes;   /* 1 or more */
    double rate; /* of a NIC and direction, bytes a second */
    double
        step; /* from a message that is sent until the next one can be, beside its bytes; seconds */
    int ranks; /* that share a NIC: ranks 0 .. ranks-1 the first, ... */
} pipc__sim_net_t;

/* NICs of [nic]. */
pipc__sim_net_t pipc__sim_net(const pipc__costs_t *costs, int nodes);

/* A way to sum over nodes: messages one behind the other, and what a NIC sends in all. */
typedef struct pipc__sim_way {
    const char *name; /* "doubling", "halving", "ring" */
    double steps, bytes;
} pipc__sim_way_t;

/* The way that the engine takes for a job of @bytes of a @message on its rail: short ones by
 * recursive doubling, longer ones and those of long messages by recursive halving and doubling;
 * where nodes are no power of 2, by the ring or, of many nodes, by halving with a fold. Pure. */
pipc__sim_way_t pipc__sim_way_over(const pipc__sim_net_t *net, double bytes, double message);

/* For comparison, an all-reduce of @bytes over all ranks of all nodes of @nranks, as if there were
 * no nodes, whose ranks send @link bytes a second: a ring through each NIC, or recursive doubling.
 * *nic gets what a NIC sends. Seconds. Pure. */
double pipc__sim_flat_ring(const pipc__sim_net_t *net, int nranks, double link, double bytes,
                           double *nic);
double pipc__sim_flat_doubling(const pipc__sim_net_t *net, int nranks, double link, double bytes,
                               double *nic);

/* --- for simulate.c --------------------------------------------------------------------------- */

/* A job of the chunk of the same number: there is one at a time. */
typedef struct pipc__sim_job {
    bool flows;
    int rank, flag;
    uint64_t round;
    double left, steps; /* bytes; seconds of latency behind them */
} pipc__sim_job_t;

typedef struct pipc__sim_jobs {
    pipc__sim_net_t net;
    double message; /* bytes of the call on each rail */
    pipc__sim_job_t job[PIPC__CHUNKS_MAX];
    double ends[PIPC__RANKS_MAX]; /* when the last job of each rank ends: they end in order */
} pipc__sim_jobs_t;

void pipc__sim_job_begin(pipc__sim_jobs_t *jobs, int chunk, pipc__sim_job_t job, double bytes);

/* Seconds until the next job has flown; INFINITY when none flows. */
double pipc__sim_jobs_next(const pipc__sim_jobs_t *jobs);

/* Let all flow for so long. Bit c of the result: that of chunk c has. */
uint64_t pipc__sim_jobs_flow(pipc__sim_jobs_t *jobs, double seconds);

/* A job has flown by @now: when its flag is set. */
double pipc__sim_job_ends(pipc__sim_jobs_t *jobs, int chunk, double now);

#endif
