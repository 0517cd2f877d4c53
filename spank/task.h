/* spank/task.h - what task_init knows of its task; the parts of a step's life share it */
#ifndef PIPC_SPANK_TASK_H
#define PIPC_SPANK_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "spank/health.h"
#include "spank/ops.h"
#include "spank/options.h"

#define PIPC__HINTS_MAX 160 /* four names with their digests */

typedef struct pipc__task {
    uint32_t job, step;
    uint32_t rank, ntasks;   /* of the step */
    int local;               /* number of the task on its node ... */
    uint32_t nlocal;         /* ... and how many there are */
    uint32_t nodeid, nnodes; /* of the step's nodes */
    char node[64];           /* the node's name */
    pipc__spank_options_t options;
    char mode[PIPC__MODE_MAX]; /* the options written out */
    char dir[320];             /* the private folder of the step here, or "" */
    char hints[PIPC__HINTS_MAX]; /* PCIE_IPC_HINTS */
    bool memory;               /* memory of out.mem_node is preferred */
    pipc__place_in_t in;
    pipc__place_out_t out;
    pipc__error_t error;     /* why it is not bound; status PIPC_OK if it is */
    pipc__error_t dir_error; /* why it has no private folder */
    pipc__health_t health;
    const char *health_why;
} pipc__task_t;

#endif
