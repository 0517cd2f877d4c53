/* spank/wishes.h - what the user said himself about binding: it wins over what we would do
 *
 * --mem-bind and --gpu-bind can be read in the task's environment. --cpu-bind can't: Slurm's own
 * choice looks there as an explicit --cpu-bind=cores does, and explicit "none" becomes a mask where
 * a job has part of a node. So srun looks at its own command line and tells the nodes, in one
 * variable whose name begins with SLURM_, which srun --export=NONE lets pass as well. None of this
 * is trusted with more than leaving things alone.
 */
#ifndef PIPC_SPANK_WISHES_H
#define PIPC_SPANK_WISHES_H

#include <stdbool.h>
#include <stddef.h>

#define PIPC__WISHES_ENV "SLURM_PCIE_IPC" /* srun to slurmstepd: ... */
#define PIPC__WISHES_CPU "cpu_bind"       /* ... there is a --cpu-bind */
#define PIPC__WISHES_GPU_ENV "SLURMD_TRES_BIND" /* slurmstepd to the task: --gpu-bind */

/* Does a value of --cpu-bind, or of SLURM_CPU_BIND, bind? "verbose" alone does not. */
bool pipc__wish_cpu_value(const char *value);

/* Is there a --cpu-bind among srun's own words, which end with an empty one? words[len], each with
 * its final 0, as in /proc/PID/cmdline; the last @command words are the program's. */
bool pipc__wish_cpu_words(const char *words, size_t len, size_t command);

/* Is a value of SLURM_MEM_BIND_TYPE ("none" included), or of SLURMD_TRES_BIND ("gpu:map_gpu:1,0"),
 * the user's wish? --gpu-bind=none says nothing of an order, nor does "single", which
 * --ntasks-per-gpu implies as --gpus-per-task does "per_task": a task gets the next GPUs of the
 * step, as Slurm hands them out (own.h). */
bool pipc__wish_mem(const char *type);
bool pipc__wish_gpu(const char *tres);

#endif
