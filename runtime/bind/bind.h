/* bind/bind.h - ranks of one node + tree -> GPU, cores, NUMA node, NIC for each rank.
 *
 * Pure: it reads no file, no environment, no clock. The same input gives the same output on every
 * rank, which is why each task can compute the whole node's binding by itself.
 */
#ifndef PIPC_BIND_BIND_H
#define PIPC_BIND_BIND_H

#include <hwloc.h>
#include <stdbool.h>

#include "runtime/base/error.h"
#include "runtime/topo/topo.h"

#define PIPC__BIND_MAX 64 /* GPUs or ranks of one node */

typedef enum pipc__bind_mode {
    PIPC__BIND_SWITCH, /* fill one switch before the next */
    PIPC__BIND_SPREAD, /* take NUMA nodes in turn, then their switches in turn */
    PIPC__BIND_NUMA,   /* fill one NUMA node before the next, whatever the switches */
    PIPC__BIND_NONE    /* leave GPUs, cores and memory as Slurm gave them */
} pipc__bind_mode_t;

typedef struct pipc__bind_request {
    pipc__bind_mode_t mode;
    int nranks;               /* tasks of this step on this node, 1..PIPC__BIND_MAX */
    int gpus[PIPC__BIND_MAX]; /* GPUs of the job, object indexes of the tree, in any order */
    int ngpus;                /* 0: no GPU was granted; cores only */
} pipc__bind_request_t;

typedef struct pipc__bind_rank {
    int gpu;     /* object index, or PIPC__UNKNOWN */
    int numa;    /* index into topo->numas of the memory nearest to the GPU, or PIPC__UNKNOWN */
    int nic;     /* object index of the nearest NIC, or PIPC__UNKNOWN */
    int group;   /* the switch that the GPU shares (object index), or PIPC__UNKNOWN */
    bool shared; /* another rank has the same GPU (more ranks than GPUs) */
} pipc__bind_rank_t;

typedef struct pipc__binding {
    int nranks;
    pipc__bind_rank_t rank[PIPC__BIND_MAX];
    int order[PIPC__BIND_MAX]; /* the job's GPUs (object indexes) in the order ranks take them */
    int norder;
} pipc__binding_t;

/* Decide the binding of a node. PIPC_ERR_INVALID for counts out of range, or an index that is no
 * GPU of the tree or stands twice.
 *
 * SWITCH: binding->order is in tree order, NUMA node by NUMA node, switch by switch, so that
 * consecutive ranks are neighbours. Fewer ranks than GPUs: the ranks take the GPUs that use the
 * fewest switches, then have the fewest pairs of ranks in different switches, host bridges or NUMA
 * nodes, then leave the fewest GPUs idle beside them (choose.c); the idle ones follow in order[],
 * those that share most with the chosen first.
 * More ranks than GPUs: rank r gets GPU r mod n, marked shared: that is the device a program takes
 * that computes LOCALID mod (number of devices), so blocks of ranks would land elsewhere.
 * No GPU: ranks are spread over the NUMA nodes that have CPUs, in blocks.
 *
 * SPREAD: order[] deals the GPUs out: NUMA nodes take turns, in each of them its host bridges, in
 * these the outer switches, then the nested ones; what has none left is passed over. Ranks take
 * them from the first on, so consecutive ranks have different links to the host. Stable: it depends
 * on the set of GPUs alone. With uneven switches the last ranks are neighbours.
 *
 * NUMA: as SWITCH with all switches and host bridges left out: the fewest pairs of ranks in
 * different NUMA nodes, then the fewest GPUs idle beside them; in a node GPUs in tree order.
 *
 * NONE: all of binding->rank is PIPC__UNKNOWN and order[] is the request's.
 *
 * The NIC is the nearest RDMA device, of any kind if there is none; among equals the one that the
 * fewest ranks have so far. Of NICs at other host bridges only the NUMA node counts. */
pipc_status_t pipc__bind(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                         pipc__binding_t *out, pipc__error_t *err);

/* Cores for one rank: @granted cut to the cores near its GPU, shared out among the ranks whose GPU
 * is near the same node so that they do not overlap where there are enough. Never empty: where no
 * granted core is near, *out is @granted and *near is false. @out is allocated by the caller.
 *
 * @granted is what all ranks of the node may use together. Whole cores are handed out; with fewer
 * cores than ranks every rank gets all that are near, for the kernel to balance. One rank that has
 * several GPUs (torchrun) keeps all of @granted: it starts a process a GPU. */
pipc_status_t pipc__bind_cores(const pipc__topo_t *topo, const pipc__binding_t *binding, int rank,
                               hwloc_const_bitmap_t granted, hwloc_bitmap_t out, bool *near,
                               pipc__error_t *err);

/* The same where @own is the task's alone (Slurm gave each task its own CPUs): cut to the cores
 * near its GPU, not shared out. */
pipc_status_t pipc__bind_own_cores(const pipc__topo_t *topo, const pipc__binding_t *binding,
                                   int rank, hwloc_const_bitmap_t own, hwloc_bitmap_t out,
                                   bool *near, pipc__error_t *err);

/* The cores near any of gpus[n], for a task that serves all of them: a union, not shared out. */
pipc_status_t pipc__bind_cores_around(const pipc__topo_t *topo, const int *gpus, int n,
                                      hwloc_const_bitmap_t granted, hwloc_bitmap_t out, bool *near,
                                      pipc__error_t *err);

/* The RDMA devices nearest to @gpu, all that are equally near, in tree order, into out[cap];
 * returns how many, at most @cap. The rank's own NIC is among them if it is one. */
int pipc__bind_nics_near(const pipc__topo_t *topo, int gpu, int *out, int cap);

/* How Slurm showed the GPUs of the step to its tasks. */
typedef enum pipc__show {
    PIPC__SHOW_SAME, /* every task has the same list (--gpus-per-node, --gres) */
    PIPC__SHOW_OWN,  /* each task has a list of its own (--gpus-per-task, --gpu-bind) */
    PIPC__SHOW_ONE   /* one task on the node with all GPUs (torchrun) */
} pipc__show_t;

/* The order of a task's visible devices, so that the program's own choice lands on the bound GPU:
 *   SAME  permuted identically for all tasks so that entry r is rank r's GPU (r < n)
 *   OWN   the task's own GPU first, then the rest of its list in binding order
 *   ONE   binding (switch) order
 * list[n] holds object indexes (the task's visible GPUs) and is permuted in place; nothing is added
 * or dropped. GPUs that are not in the binding go last. With bind:none the list stays as it is.
 * PIPC_ERR_NOT_FOUND, and the list unchanged, when a GPU that has to stand somewhere is not in it
 * (SAME: a rank's; OWN: the own). */
pipc_status_t pipc__bind_visible(const pipc__binding_t *binding, int rank, pipc__show_t show,
                                 int *list, int n, pipc__error_t *err);

#endif
