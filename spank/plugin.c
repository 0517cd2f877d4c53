/* spank/plugin.c - the entry points of spank_pcie_ipc.so; they only dispatch
 *
 *     srun, sbatch, salloc   init: register the option, which is judged as it is typed
 *     slurmd                 init: complain about plugstack.conf in its log
 *     slurmstepd             init: register; user_init: load the topology;
 *                            task_init: bind one task
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

int slurm_spank_user_init(spank_t sp, int argc, char **argv)
{
    if (pipc__flag_given() && spank_remote(sp) == 1)
        pipc__step_begin(sp, argc, argv);
    return 0;
}

int slurm_spank_task_init(spank_t sp, int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return pipc__step_task(sp) ? 0 : -1;
}
