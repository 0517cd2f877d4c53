/* sim/fabric.h - what bytes go over: the links of a topology between the GPUs of some ranks, each
 * with two directions and a rate, and the path from each rank to each other.
 *
 *     rank 0's memory   rank 1's memory          "memory" and "engine" are no links, but what a
 *          |                 |                   copy uses as well: a rank's memory, and the core
 *     link of gpu 0     link of gpu 1            or the blocks that do the work
 *           \               /
 *            \             /      a push 0 -> 1 goes up to the lowest object above both and down
 *         uplink of the switch
 *                |                path P2P: never further up than that
 *           host bridge           path HOST, writing: from the writer up to the memory of the
 *         /             \                     reader's NUMA node; reading: from there down
 *     host memory    socket link
 *
 * Where the pushes of two ranks share a link and a direction they share its rate; opposite
 * directions don't, but for the little that a full-duplex link loses when both are busy.
 */
#ifndef PIPC_SIM_FABRIC_H
#define PIPC_SIM_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/bind/bind.h"
#include "runtime/plan/plan.h"
#include "runtime/sim/costs.h"
#include "runtime/topo/topo.h"

/* One thing of limited rate: a direction of a link, both directions of it together, a memory, an
 * engine. */
typedef struct pipc__sim_resource {
    double rate; /* bytes a second; of an engine, stages at full speed */
    int link;    /* index into links */
    int way;     /* PIPC__WAY_... */
    bool crowds; /* a port of a switch: loses rate when several flows share it */
} pipc__sim_resource_t;

enum { PIPC__TO_ROOT, PIPC__FROM_ROOT, PIPC__BOTH_WAYS, PIPC__NO_WAY };

typedef enum pipc__sim_link_kind {
    PIPC__SIM_GPU_LINK, /* the link above a GPU */
    PIPC__SIM_UPLINK,   /* of a switch or bridge, towards the host bridge */
    PIPC__SIM_SOCKET,   /* between two NUMA nodes; TO_ROOT is from the lower number on */
    PIPC__SIM_NVLINK, /* of a GPU to an NVSwitch, or between two GPUs; TO_ROOT is from the first */
    PIPC__SIM_HOST_MEMORY,
    PIPC__SIM_RANK_MEMORY,
    PIPC__SIM_ENGINE /* what does a rank's copies and sums */
} pipc__sim_link_kind_t;

typedef struct pipc__sim_link {
    pipc__sim_link_kind_t kind;
    char name[80];   /* "uplink of switch 0000:01:00.0" */
    int resource[3]; /* TO_ROOT, FROM_ROOT, BOTH_WAYS; memory and engines have the first only */
    int speed_mts, width; /* PCIe: as used; else PIPC__UNKNOWN */
    bool assumed;         /* width or speed is not known and taken from the costs */
} pipc__sim_link_t;

/* A flow of one byte crosses the resource @times, and takes @weight bytes of its rate: more where
 * packets are small. */
typedef struct pipc__hop {
    int resource, times;
    double weight;
} pipc__hop_t;

typedef struct pipc__sim_path {
    int first, nhops; /* in fabric->hops */
    double usec;      /* what a signal takes longer than one below a switch */
} pipc__sim_path_t;

typedef struct pipc__fabric {
    int nranks;
    pipc__profile_t profile;
    pipc__exec_costs_t exec; /* of the profile */
    double crowd, crowd_least;
    pipc__sim_link_t *links;
    int nlinks;
    pipc__sim_resource_t *resources;
    int nresources;
    pipc__hop_t *hops;
    int nhops;
    int memory[PIPC__RANKS_MAX], engine[PIPC__RANKS_MAX]; /* resources */
    /* [writer][reader]; rank memories and engines are not in them, host memory is. */
    pipc__sim_path_t push[PIPC__RANKS_MAX][PIPC__RANKS_MAX];
    pipc__sim_path_t to_host[PIPC__RANKS_MAX][PIPC__RANKS_MAX];
    pipc__sim_path_t from_host[PIPC__RANKS_MAX]; /* [reader] */
} pipc__fabric_t;

/* Make the links and paths of the ranks that @binding has put on @topo (at most PIPC__RANKS_MAX; a
 * rank without a GPU stands on its NUMA node). Pure. The caller releases it with
 * pipc__fabric_free(); on failure *fabric is NULL. */
pipc_status_t pipc__fabric_make(pipc__fabric_t **fabric, const pipc__topo_t *topo,
                                const pipc__binding_t *binding, const pipc__costs_t *costs,
                                pipc__profile_t profile, pipc__error_t *err);

void pipc__fabric_free(pipc__fabric_t *fabric); /* NULL is allowed; keeps errno */

/* The profile that fits: NVLINK when all pairs of the ranks' GPUs have NVLinks, P2P for other GPUs,
 * CPU when a rank has no GPU. */
pipc__profile_t pipc__fabric_profile(const pipc__topo_t *topo, const pipc__binding_t *binding);

/* "to root", "from root", "both ways", "0 to 1"; "" for memory and engines. */
const char *pipc__sim_way(const pipc__fabric_t *fabric, int resource);

#endif
