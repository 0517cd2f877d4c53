/* spank/step.h - one step on one node, inside slurmstepd */
#ifndef PIPC_SPANK_STEP_H
#define PIPC_SPANK_STEP_H

#include <stdbool.h>

#include <slurm/spank.h>

/* From init_post_opt, as root, with the option given: read the plugin's arguments and make the
 * folder for the private folders of steps. Steps that run no tasks of srun's (batch script,
 * salloc's shell, extern) are left alone from here on. What goes wrong is kept for
 * pipc__step_task(). */
void pipc__step_prepare(spank_t sp, int argc, char **argv);

/* From user_init, as the user: note what the step was granted and load the topology. */
void pipc__step_begin(spank_t sp);

/* From task_init, in the task's process, as the user, with its environment and cores ready. False
 * when the task must not start, and then a line has said why. */
bool pipc__step_task(spank_t sp);

/* From exit, as root, after the last task: remove the step's private folder. */
void pipc__step_end(void);

#endif
