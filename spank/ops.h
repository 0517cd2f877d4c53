/* spank/ops.h - the seam between the two objects of the plugin
 *
 *     spank_pcie_ipc.so      libc only; loaded by srun, sbatch, salloc, slurmd, slurmstepd
 *         | dlopen() in slurmstepd, and only for a step that has --pcie-ipc
 *         v
 *     pcie_ipc_bind.so       hwloc and the topology; knows nothing of Slurm
 *
 * What crosses is plain data, so that either side can be tested alone. Both objects come from one
 * package, but a node can be upgraded halfway: the first checks abi, the sizes and nothing else.
 */
#ifndef PIPC_SPANK_OPS_H
#define PIPC_SPANK_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

#define PIPC__SPANK_ABI 3
#define PIPC__SPANK_SYMBOL "pipc_spank_ops" /* the one symbol of the second object */

#define PIPC__LIST_MAX 4096 /* bytes of a CUDA_VISIBLE_DEVICES: 64 UUIDs fit */
#define PIPC__CPUS_MAX 8192 /* the largest NR_CPUS of Linux */
#define PIPC__FACT_MAX 48
#define PIPC__NAMES_MAX 512
#define PIPC__MINORS 64  /* device files nvidia0..nvidia63 are looked at */
#define PIPC__ENTRIES 64 /* of a map */
#define PIPC__WAY_TEXT_MAX 128
#define PIPC__CPU_LIST_MAX 16384 /* bytes of a SLURM_CPU_BIND_LIST: 64 masks of 900 CPUs fit */

#define PIPC__CPU_WORD_BITS (8 * sizeof(unsigned long))
typedef struct pipc__cpus { /* laid out as the kernel's affinity masks */
    unsigned long word[PIPC__CPUS_MAX / PIPC__CPU_WORD_BITS];
} pipc__cpus_t;

/* What a process may open, and what Slurm told it. */
typedef struct pipc__view {
    uint64_t minors; /* bit N: access(2) grants nvidiaN */
    bool listed;     /* there is a list; an empty one is "no device" */
    char list[PIPC__LIST_MAX];
} pipc__view_t;

typedef enum pipc__order { /* as pipc__bind_mode_t, in the order of bind.h */
                           PIPC__ORDER_SWITCH,
                           PIPC__ORDER_SPREAD,
                           PIPC__ORDER_NUMA,
                           PIPC__ORDER_MAP
} pipc__order_t;

typedef struct pipc__place_in {
    bool bind; /* false: bind:none */
    pipc__order_t order;
    int map[PIPC__ENTRIES], nmap; /* of PIPC__ORDER_MAP */
    bool keep_list;               /* --gpu-bind is the user's: the order of the list is as well */
    bool keep_cpus;               /* --cpu-bind is the user's */
    bool bus_order;               /* the task has CUDA_DEVICE_ORDER=PCI_BUS_ID already */
    int rank, nranks;             /* of the tasks of this step on this node */
    pipc__view_t step;            /* slurmstepd's, before any task exists */
    pipc__view_t task;            /* this task's */
    pipc__cpus_t cpus;            /* granted to this task */
    bool cpus_shared;             /* ... and to all tasks of the node alike */
    /* The same for every task, as these decide about all: */
    pipc__cpus_t step_cpus;            /* slurmstepd's */
    char cpu_list[PIPC__CPU_LIST_MAX]; /* Slurm's "mask_cpu:0x1,0x2" for the tasks, or "" */
} pipc__place_in_t;

typedef enum pipc__shown { /* as pipc__show_t, in the order of bind.h */
                           PIPC__SHOWN_SAME,
                           PIPC__SHOWN_OWN,
                           PIPC__SHOWN_ONE
} pipc__shown_t;

/* Texts are "" where nothing is known. */
typedef struct pipc__place_out {
    pipc__shown_t shown;
    int ngpus;                 /* that the task sees; 0: none, or its list was not understood */
    int step_ngpus;            /* that the step has on this node, by Slurm's list */
    int hidden;                /* of those, how many this task can't open */
    char list[PIPC__LIST_MAX]; /* the new CUDA_VISIBLE_DEVICES; "": leave it */
    bool narrowed, near;       /* cpus is less than granted; cpus is near the GPU */
    int far; /* tasks that have no core near: of the node for rank 0 of a shared mask, else this */
    int mem_node; /* Linux' number of the one NUMA node that is near GPUs and cores, or -1 */
    pipc__cpus_t cpus;
    char bdf[PIPC__FACT_MAX], uuid[PIPC__FACT_MAX], minor[PIPC__FACT_MAX]; /* the task's GPU ... */
    char numa[PIPC__FACT_MAX], sw[PIPC__FACT_MAX], nic[PIPC__FACT_MAX]; /* ... and what is near */
    char way[PIPC__WAY_TEXT_MAX]; /* of the task's GPU, see pipc__bind_way_text() ... */
    bool way_cut;                 /* ... without its inner levels: it was too long */
    char rdma[PIPC__NAMES_MAX];   /* "mlx5_0,mlx5_1": as near as the NIC, RDMA devices only ... */
    char rdma_node[PIPC__NAMES_MAX]; /* ... and for all tasks of the node together */
    char gpus[PIPC__LIST_MAX];       /* all it sees, by address, in the order it sees them */
    char source[64];                 /* of the topology */
    char note[256];                  /* why something was left alone */
} pipc__place_out_t;

/* What the health snapshot says; see health.h. */
typedef struct pipc__snapshot {
    char boot_id[64], verdict[16], reason[256];
    int64_t time; /* seconds since 1970 */
} pipc__snapshot_t;

typedef struct pipc__spank_ops {
    unsigned int abi;
    unsigned int in_size, out_size;
    const char *version; /* of the package */

    /* Read the topology: @synthetic, else @sysroot, else (both NULL) the live machine. *handle is
     * released by close(). Called in slurmstepd as the user. */
    pipc_status_t (*open)(const char *synthetic, const char *sysroot, void **handle,
                          pipc__error_t *err);
    /* Decide for one task. Fills all of @out, also when it fails (then: leave everything alone). */
    pipc_status_t (*place)(const void *handle, const pipc__place_in_t *in, pipc__place_out_t *out,
                           pipc__error_t *err);
    /* Prefer memory of NUMA node @node for this thread and all it starts. PIPC_ERR_UNSUPPORTED
     * where the node is not granted or the kernel has no policies: nothing is changed then. */
    pipc_status_t (*prefer_memory)(int node, pipc__error_t *err);
    /* Read a health snapshot's text. PIPC_ERR_INVALID: it is none. */
    pipc_status_t (*read_snapshot)(const char *text, size_t len, pipc__snapshot_t *out,
                                   pipc__error_t *err);
    void (*close)(void *handle); /* NULL is allowed */
} pipc__spank_ops_t;

#endif
