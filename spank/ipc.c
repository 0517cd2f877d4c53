/* spank/ipc.c - see ipc.h */
#include "spank/ipc.h"

#include "spank/report.h"
#include "spank/say.h"

/* Peers' GPU memory is out of reach: the cgroup. */
static bool peers_can_be_opened(spank_t sp, const pipc__task_t *t)
{
    if (t->out.hidden == 0)
        return true;
    if (t->local == 0) {
        char text[PIPC__REPORT_MAX], *version = NULL;
        spank_get_item(sp, S_SLURM_VERSION, &version);
        pipc__report_hidden(&t->out, version, text);
        pipc__say(t->node, "%s", text);
    }
    return false;
}

/* Nobody to exchange handles with on any node, or a way to do it: PMIx, or for a step on one node
 * its private folder. */
static bool handles_can_be_exchanged(spank_t sp, const pipc__task_t *t)
{
    char nspace[256] = "";

    if (t->ntasks <= t->nnodes || (t->nnodes == 1 && *t->dir) ||
        spank_getenv(sp, "PMIX_NAMESPACE", nspace, sizeof(nspace)) == ESPANK_NOSPACE ||
        pipc__pmix_is_ours(nspace, t->step))
        return true;
    if (t->rank == 0)
        pipc__say(t->node, "the tasks were started without PMIx, by which they exchange memory "
                           "handles; use srun --mpi=pmix");
    return false;
}

/* What ipc:auto reports and ipc:require insists on. Both lines, where both are wrong. */
bool pipc__ipc_is_possible(spank_t sp, const pipc__task_t *t)
{
    bool ok;

    if (t->options.ipc == PIPC__OPT_IPC_OFF)
        return true;
    ok = peers_can_be_opened(sp, t);
    ok = handles_can_be_exchanged(sp, t) && ok;
    return ok && !t->error.status;
}
