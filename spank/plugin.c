/* spank/plugin.c - the entry points of spank_pcie_ipc.so; they only dispatch
 *
 *     srun, sbatch, salloc   init: register the option, which is judged as it is typed
 *     slurmd                 init: complain about plugstack.conf in its log
 *     srun                   init_post_opt, local_user_init: tell the nodes what they can't see
 *     sbatch, salloc         init_post_opt: forget the step that they were started in
 *     slurmstepd             init: register; init_post_opt: the folder for private folders;
 *                            user_init: load the topology; task_init: bind one task;
 *                            exit: remove the step's private folder
 *
 * Only task_init may fail. A failure in init stops slurmd or every job of the cluster, one in
 * user_init or task_post_fork drains the node. Failures are negative: before Slurm 25.05 positive
 * ones are taken for success.
 */
#pragma GCC visibility push(default)
#include <slurm/spank.h>

SPANK_PLUGIN(pcie_ipc, 1)
#pragma GCC visibility pop

#include "spank/args.h"
#include "spank/flag.h"
#include "spank/srun.h"
#include "spank/step.h"

int slurm_spank_init(spank_t sp, int argc, char **argv)
{
    pipc__args_t args;

    switch (spank_context()) {
    case S_CTX_LOCAL:
    case S_CTX_ALLOCATOR:
    case S_CTX_REMOTE:
        pipc__flag_register(sp);
        break;
    case S_CTX_SLURMD:
        pipc__args_read(argc, argv, &args);
        if (*args.complaint)
            slurm_error("pcie-ipc: %s", args.complaint);
        break;
    default:
        break;
    }
    return 0;
}

int slurm_spank_init_post_opt(spank_t sp, int argc, char **argv)
{
    if (spank_context() == S_CTX_ALLOCATOR)
        pipc__srun_forget();
    else if (spank_context() == S_CTX_LOCAL)
        pipc__srun_begin(pipc__flag_given());
    else if (spank_context() == S_CTX_REMOTE && pipc__flag_given())
        pipc__step_prepare(sp, argc, argv);
    return 0;
}

int slurm_spank_local_user_init(spank_t sp, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    pipc__srun_launch(sp, pipc__flag_given());
    return 0;
}

int slurm_spank_user_init(spank_t sp, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    pipc__step_begin(sp);
    return 0;
}

int slurm_spank_task_init(spank_t sp, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return pipc__step_task(sp) ? 0 : -1;
}

int slurm_spank_exit(spank_t sp, int argc, char **argv)
{
    (void)sp;
    (void)argc;
    (void)argv;
    if (spank_context() == S_CTX_REMOTE)
        pipc__step_end();
    return 0;
}
