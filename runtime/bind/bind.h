/* bind/bind.h - ranks of one node + tree -> GPU, cores, NUMA node, NIC for each rank.
 *
 * Pure: it reads no file, no environment, no clock. The same input gives the same output on every
 * rank, which is why each task can compute the whole node's binding by itself.
 */
#ifndef PIPC_BIND_BIND_H
#define PIPC_BIND_BIND_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/topo/topo.h"

#define PIPC__BIND_MAX 64 /* GPUs or ranks of one node */

typedef enum pipc__bind_mode {
    PIPC__BIND_SWITCH, /* fill one switch before the next */
    PIPC__BIND_SPREAD, /* take NUMA nodes in turn, then their switches in turn */
    PIPC__BIND_NUMA,   /* fill one NUMA node before the next, whatever the switches */
    PIPC__BIND_NONE,   /* leave GPUs, cores and memory as Slurm gave them */
    PIPC__BIND_MAP     /* an explicit list */
} pipc__bind_mode_t;

typedef struct pipc__bind_request {
    pipc__bind_mode_t mode;
    int nranks;               /* tasks of this step on this node, 1..PIPC__BIND_MAX */
    int gpus[PIPC__BIND_MAX]; /* GPUs of the job, object indexes of the tree, in any order */
    int ngpus;                /* 0: no GPU was granted; cores only */
    int map[PIPC__BIND_MAX];  /* MAP: rank i gets the GPU at place map[i mod nmap], in bus order */
    int nmap;
    /* CPUs that all ranks of the node have together, and rank_cpus[nranks], those that each has for
     * itself; both borrowed, NULL: not known. Every rank must ask with the same sets: what one
     * knows of itself alone would give each another binding. */
    hwloc_const_bitmap_t granted;
    const hwloc_const_bitmap_t *rank_cpus;
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
    bool crossed; /* MAP: no one order of the list serves all ranks, see pipc__bind_visible() */
} pipc__binding_t;

/* Decide the binding of a node. PIPC_ERR_INVALID for counts out of range, or an index that is no
 * GPU of the tree or stands twice.
 *
 * SWITCH: the binding of the least pipc__bind_cost(). order[] goes NUMA node by NUMA node, those
 * with the lower CPU numbers first, switch by switch, so that consecutive ranks are neighbours and
 * rank r, to which Slurm gives cores in the order of their numbers, is near its GPU. Fewer ranks
 * than GPUs: the idle ones follow in order[], those that share most with the chosen first.
 * More ranks than GPUs: rank r gets GPU r mod n, marked shared: that is the device a program takes
 * that computes LOCALID mod (number of devices), so blocks of ranks would land elsewhere.
 * No GPU: ranks are spread over the NUMA nodes that have CPUs, in blocks.
 *
 * SPREAD: order[] deals the GPUs out: NUMA nodes take turns, in each of them its host bridges, in
 * these the outer switches, then the nested ones; what has none left is passed over. Ranks take
 * them from the first on, so consecutive ranks have different links to the host. Stable: it depends
 * on the set of GPUs alone. With uneven switches the last ranks are neighbours.
 *
 * NUMA: as SWITCH with all switches and host bridges left out of the cost: the fewest pairs of
 * ranks in different NUMA nodes, and so on; in a node GPUs in tree order.
 *
 * MAP: rank r gets the GPU at place map[r mod nmap] of the request's, counted from 0 in PCI bus
 * order, as CUDA and nvidia-smi count. PIPC_ERR_INVALID when a rank's entry is no such place; what
 * no rank uses is not looked at, but one rank with several GPUs (torchrun) uses all. order[] is
 * those of the map as they come, then the rest in bus order.
 *
 * NONE: all of binding->rank is PIPC__UNKNOWN and order[] is the request's.
 *
 * The NIC is the nearest RDMA device, of any kind if there is none; among equals the one that the
 * fewest ranks have so far. Of NICs at other host bridges only the NUMA node counts. */
pipc_status_t pipc__bind(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                         pipc__binding_t *out, pipc__error_t *err);

/* What a binding costs, the important first; bindings are compared by the first field that differs.
 * All but the last two tell of the set of GPUs that ranks have, these of their order.
 *
 * switches: outermost switches used; a GPU below none counts as one. First, since each has one link
 *     to the host: what fits below one has no business below two.
 * pairs: over all pairs of GPUs, the weight of where their ways part, PIPC__PART_..., as every rank
 *     talks to every other in an all-reduce. The weights say what matters more, not how much longer
 *     it takes: one pair across NUMA nodes is worth eight across host bridges.
 * distance: over all GPUs, how far granted cores and an RDMA device are, PIPC__FAR_... After the
 *     pairs: data crosses between GPUs in every call, while what cores send is small, and a NIC is
 *     for what leaves the node.
 * idle: GPUs of the job that no rank has, beside those that ranks have: below their switches,
 *     PIPC__IDLE_SWITCH a level, at their host bridges and NUMA nodes, PIPC__IDLE_NODE. A job
 *     of two takes the pair, not half of the four.
 * neighbours: over all r < k - 1, the weight of where the ways of the GPUs of r and r + 1 part,
 *     since these talk most, in rings and in groups of consecutive ranks (tensor parallelism).
 *     It is least where a part of the tree is left only when its GPUs are used up. The last rank
 *     and the first then part at the top, whatever the order: no term of its own.
 * own: over all ranks that have CPUs of their own, how far these are from the GPU,
 *     PIPC__OWN_... */
typedef struct pipc__bind_cost {
    int64_t switches, pairs, distance, idle, neighbours, own;
} pipc__bind_cost_t;

enum { /* the ways part below the machine, a NUMA node, a host bridge; below the switch at depth d
          of nested ones, 0 the outermost: PIPC__PART_SWITCH - d, at least 1 */
       PIPC__PART_MACHINE = 4096,
       PIPC__PART_NUMA = 512,
       PIPC__PART_HOST_BRIDGE = 256,
       PIPC__PART_SWITCH = 63,
       PIPC__IDLE_SWITCH = 256,
       PIPC__IDLE_NODE = 1,
       /* No granted core at the GPU's node; node or its CPUs not known, which is neither near nor
        * far. More than any NIC: every launch starts at a core, not every job leaves the node. */
       PIPC__FAR_CORES = 10,
       PIPC__FAR_CORES_UNKNOWN = 5,
       /* The nearest RDMA device is below an outer switch; in the same host bridge; at the same
        * NUMA node; elsewhere. 0 below the innermost switch, and if the machine has none. */
       PIPC__FAR_NIC_SWITCH = 1,
       PIPC__FAR_NIC_HOST_BRIDGE = 2,
       PIPC__FAR_NIC_NUMA = 3,
       PIPC__FAR_NIC = 4,
       /* None of the rank's own CPUs is at the GPU's node, or that is not known. */
       PIPC__OWN_FAR = 2,
       PIPC__OWN_UNKNOWN = 1
};

/* The cost of the binding in which rank r has gpus[r mod k], k different GPUs of @req's, for its
 * mode (NUMA, else as for SWITCH). Written from the definition above and slow; what pipc__bind()
 * chooses is the least of all sets and orders for up to 16 GPUs, and for more without @own. */
pipc_status_t pipc__bind_cost(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                              const int *gpus, int k, pipc__bind_cost_t *out, pipc__error_t *err);

/* Negative, 0 or positive, as strcmp(). */
int pipc__bind_cost_compare(const pipc__bind_cost_t *a, const pipc__bind_cost_t *b);

/* The way of @gpu from the machine down, '/' between levels: NUMA node, host bridge, the switch
 * groups from the outermost in.
 *
 *     numa0/0000:00                              below no switch that it shares
 *     numa0/0000:00/0000:01:00.0/0000:03:00.0    below nested ones
 *     numa?/?                                    neither node nor host bridge is known
 *
 * GPUs that have their first n levels in common share what the n-th one names, unless it is '?'.
 * Names of a source without addresses have all but letters, digits and "._:-" as '_'. False, and as
 * many whole levels as fit, from the outermost in, where out[cap] is too short. */
bool pipc__bind_way_text(const pipc__topo_t *topo, int gpu, char *out, size_t cap);

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
 * An order that serves all of SAME does not exist where a map gives two ranks one GPU (or repeats
 * out of step with the GPUs): then each task has its own at place r mod n, the rest in order.
 * list[n] holds object indexes (the task's visible GPUs) and is permuted in place; nothing is added
 * or dropped. GPUs that are not in the binding go last. With bind:none the list stays as it is.
 * PIPC_ERR_NOT_FOUND, and the list unchanged, when a GPU that has to stand somewhere is not in it
 * (SAME: a rank's; OWN: the own). */
pipc_status_t pipc__bind_visible(const pipc__binding_t *binding, int rank, pipc__show_t show,
                                 int *list, int n, pipc__error_t *err);

#endif
