/* spank/preload.h - programs that use NCCL get pcie-ipc without a change: a library before theirs,
 * which does those calls that are faster by us, and a tuner for those that stay with NCCL
 */
#ifndef PIPC_SPANK_PRELOAD_H
#define PIPC_SPANK_PRELOAD_H

#include <stddef.h>

#include <slurm/spank.h>

#include "spank/preload_list.h"
#include "spank/task.h"

/* From task_init, for a task with GPUs: nccl:auto adds PIPC_NCCL_HOOK to LD_PRELOAD, tuner:auto
 * sets NCCL_TUNER_PLUGIN to PIPC_NCCL_TUNER unless the user has set it, or NCCL_CTA_POLICY, which
 * NCCL does not heed beside a tuner. Neither is done for a library that is not installed. @set gets
 * the name of the second, as from pipc__hints_export(). */
void pipc__preload_export(spank_t sp, const pipc__task_t *task, char *set, size_t cap);

#endif
