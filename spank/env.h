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
    PIPC__ENV_NIC,        /* ... the nearest NIC: device name, else PCI address */
    PIPC__ENV_HINTS,      /* the variables that nic:auto has set: "UCX_NET_DEVICES NCCL_IB_HCA" */
    PIPC__ENV_PATH,       /* the key path, for the runtime */
    PIPC__ENV_REPORT,     /* the key report, for the runtime */
    PIPC__ENV_DIR,        /* the private folder of the step on this node; see stepdir.h */
    PIPC__ENV_COUNT
} pipc__env_t;

/* Names by pipc__env_t. */
extern const char *const pipc__env_names[PIPC__ENV_COUNT];

/* From task_init: tell the task its facts, the order of its devices included. */
void pipc__env_export(spank_t sp, const pipc__task_t *task);

/* Remove all of ours from the task's environment. */
void pipc__env_clear(spank_t sp);

#endif
