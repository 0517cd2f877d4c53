/* spank/ipc.h - can the tasks of a step share GPU memory? */
#ifndef PIPC_SPANK_IPC_H
#define PIPC_SPANK_IPC_H

#include <stdbool.h>

#include <slurm/spank.h>

#include "spank/task.h"

/* As far as this task can tell. What stands in the way is said with its remedy, once a node or once
 * a step. True with ipc:off, which does not ask. */
bool pipc__ipc_is_possible(spank_t sp, const pipc__task_t *task);

#endif
