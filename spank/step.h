/* spank/step.h - one step on one node, inside slurmstepd */
#ifndef PIPC_SPANK_STEP_H
#define PIPC_SPANK_STEP_H

#include <stdbool.h>

#include <slurm/spank.h>

/* From user_init, once, with the option given: note what the step was granted and load the
 * topology. What goes wrong is kept for pipc__step_task(). Steps that run no tasks of srun's (batch
 * script, salloc's shell, extern) are left alone. */
void pipc__step_begin(spank_t sp, int argc, char **argv);

/* From task_init, in the task's process, as the user, with its environment and cores ready. False
 * when the task must not start, and then a line has said why. */
bool pipc__step_task(spank_t sp);

#endif
