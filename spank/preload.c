/* spank/preload.c - see preload.h
 *
 * The user's libraries come first: what he has preloaded to see or change calls of NCCL goes on
 * seeing all of them. In a container the paths have to be there as well (doc/containers.md).
 */
#include "spank/preload.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spank/hints.h"

#define TUNER_ENV "NCCL_TUNER_PLUGIN"
#define NCCL_PATH_MAX 255 /* NCCL cuts names of plugins there */

_Static_assert(sizeof(PIPC_NCCL_TUNER) <= NCCL_PATH_MAX, "NCCL takes the tuner's path");

static bool is_set(spank_t sp, const char *name)
{
    char value[8];

    return spank_getenv(sp, name, value, (int)sizeof(value)) != ESPANK_ENV_NOEXIST;
}

static void preload(spank_t sp)
{
    char list[PIPC__PRELOAD_MAX] = "", with[PIPC__PRELOAD_MAX];
    spank_err_t rc = spank_getenv(sp, PIPC__PRELOAD_ENV, list, (int)sizeof(list));

    if (rc != ESPANK_SUCCESS && rc != ESPANK_ENV_NOEXIST)
        return;
    if (rc == ESPANK_ENV_NOEXIST)
        list[0] = '\0';
    if (pipc__preload_with(list, PIPC_NCCL_HOOK, with, sizeof(with)))
        spank_setenv(sp, PIPC__PRELOAD_ENV, with, 1);
}

/* Where devices are not constrained every task may open all of them; Slurm makes a list for steps that
 * were granted some. */
static bool has_gpus(const pipc__task_t *t)
{
    return t->in.task.minors && (t->in.step.listed || t->in.task.listed || t->out.ngpus > 0);
}

void pipc__preload_export(spank_t sp, const pipc__task_t *t, char *set, size_t cap)
{
    if (!has_gpus(t))
        return;
    if (t->options.nccl == PIPC__OPT_NCCL_AUTO && !access(PIPC_NCCL_HOOK, R_OK))
        preload(sp);
    if (t->options.tuner == PIPC__OPT_TUNER_AUTO && !access(PIPC_NCCL_TUNER, R_OK) &&
        !is_set(sp, "NCCL_CTA_POLICY") &&
        spank_setenv(sp, TUNER_ENV, PIPC_NCCL_TUNER, 0) == ESPANK_SUCCESS)
        pipc__hints_note(set, cap, TUNER_ENV, PIPC_NCCL_TUNER);
}
