/* base/marker.h - has the Slurm plugin acted on this task, and is it of our version?
 *
 *     PCIE_IPC_WANTED=VERSION           set by srun's part of the plugin: the user gave --pcie-ipc
 *     PCIE_IPC_TASK=JOB.STEP:VERSION    set by the node's part, for each task that it has bound
 *
 * srun removes both before it sets its own, so that neither is ever inherited from a step around
 * this one: a task that has the first without the second runs on a node where the plugin is
 * missing. Pure; libc only.
 */
#ifndef PIPC_BASE_MARKER_H
#define PIPC_BASE_MARKER_H

#include "runtime/base/error.h"

#define PIPC__MARKER_WANTED "PCIE_IPC_WANTED"
#define PIPC__MARKER_TASK "PCIE_IPC_TASK"

typedef enum pipc__marker {
    PIPC__MARKER_NOT_WANTED, /* no --pcie-ipc (or srun --export=NONE hides it): nothing to say */
    PIPC__MARKER_GOOD,       /* bound, by the plugin of the version that srun had */
    PIPC__MARKER_MISSING,    /* wanted, and this node's plugin has not acted */
    PIPC__MARKER_OTHER       /* wanted, and this node's plugin is of another version */
} pipc__marker_t;

/* Judge the values of both variables (NULL or "": not set). For MISSING and OTHER @err (may be
 * NULL) gets a text that names the fault and the remedy, not the node; its status is
 * PIPC_ERR_MISMATCH. Else @err is untouched. */
pipc__marker_t pipc__marker_judge(const char *wanted, const char *task, pipc__error_t *err);

#endif
