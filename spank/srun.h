/* spank/srun.h - the plugin's part in srun, sbatch and salloc: what the nodes can't find out */
#ifndef PIPC_SPANK_SRUN_H
#define PIPC_SPANK_SRUN_H

#include <stdbool.h>

#include <slurm/spank.h>

/* From init_post_opt in sbatch and salloc: forget what a step around this one was told. */
void pipc__srun_forget(void);

/* From init_post_opt in srun, before it copies its environment: forget what a step around this one
 * was told, and say by PCIE_IPC_WANTED that this one is to be bound. */
void pipc__srun_begin(bool wanted);

/* From local_user_init in srun: hand on the user's own wishes (wishes.h) if the step is to be
 * bound. */
void pipc__srun_launch(spank_t sp, bool wanted);

#endif
