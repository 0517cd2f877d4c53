/* spank/env.h - what the plugin exports to each task: PCIE_IPC_... */
#ifndef PIPC_SPANK_ENV_H
#define PIPC_SPANK_ENV_H

#include <slurm/spank.h>

#include "spank/task.h"

typedef enum pipc__env {
    PIPC__ENV_VERSION, /* PCIE_IPC: the plugin's version */
    PIPC__ENV_TASK,    /* JOB.STEP:VERSION; tells an inherited environment from this step's own */
    PIPC__ENV_MODE,    /* the option with all defaults written out: "bind:switch,mem:local,..." */
    PIPC__ENV_VERBOSE, /* "1" with verbose */
    PIPC__ENV_LOCAL_RANK, /* of this task on its node */
    PIPC__ENV_LOCAL_SIZE, /* tasks of this step on this node */
    PIPC__ENV_BDF,        /* of the task's GPU: PCI address ... */
    PIPC__ENV_UUID,       /* ... GPU-... */
    PIPC__ENV_MINOR,      /* ... N of /dev/nvidiaN */
    PIPC__ENV_NUMA,       /* ... NUMA node */
    PIPC__ENV_SWITCH,     /* ... PCI address of the switch that it shares */
    PIPC__ENV_WAY,        /* ... its way from the machine down, see below */
    PIPC__ENV_NIC,        /* ... the nearest NIC: device name, else PCI address */
    PIPC__ENV_HINTS,      /* other variables that were set, see hints.h */
    PIPC__ENV_PATH,       /* the key path, for the runtime */
    PIPC__ENV_NODES,      /* the key nodes, too */
    PIPC__ENV_REPORT,     /* the key report, for the runtime: none, summary, json, json:FILE */
    PIPC__ENV_DIR,        /* the private folder of the step on this node; see stepdir.h */
    PIPC__ENV_COUNT
} pipc__env_t;

/* PCIE_IPC_WAY is what pipc__bind_way_text() (runtime/bind/bind.h) writes, at most 127 bytes:
 *
 *     way   = numa "/" bridge *( "/" switch )
 *     numa  = "numa" ( 1*DIGIT / "?" )     Linux' number of the node
 *     bridge, switch = name / "?"          "0000:00", "0000:01:00.0"; "?": not known
 *     name  = 1*( letter / digit / "." / "_" / ":" / "-" )
 *
 * The switches are those that make groups in the whole tree of the machine, whatever the job got of
 * it, from the outermost in. Tasks of one node share the place that level n names if their first n
 * levels are equal and the n-th one is neither "?" nor "numa?". */

/* Names by pipc__env_t. */
extern const char *const pipc__env_names[PIPC__ENV_COUNT];

/* From task_init: tell the task its facts, the order of its devices included. */
void pipc__env_export(spank_t sp, const pipc__task_t *task);

/* From task_init, before pipc__env_export(): have CUDA count the devices in bus order where the task
 * was bound to some; noted in set[cap] (hints.h) where it did not before. */
void pipc__env_order(spank_t sp, const pipc__task_t *task, char *set, size_t cap);

/* Remove all of ours from the task's environment. */
void pipc__env_clear(spank_t sp);

#endif
