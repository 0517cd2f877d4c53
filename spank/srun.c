/* spank/srun.c - see srun.h */
#include "config.h"

#include "spank/srun.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/marker.h"
#include "spank/env.h"
#include "spank/hints.h"
#include "spank/preload_list.h"
#include "spank/wishes.h"

/* What the user had in LD_PRELOAD himself stays. */
static void forget_preload(void)
{
    const char *list = getenv(PIPC__PRELOAD_ENV);
    char rest[PIPC__PRELOAD_MAX];

    if (!list || !pipc__preload_without(list, PIPC_NCCL_HOOK, rest, sizeof(rest)))
        return;
    if (*rest)
        setenv(PIPC__PRELOAD_ENV, rest, 1);
    else
        unsetenv(PIPC__PRELOAD_ENV);
}

/* An srun inside a bound task has the outer step's facts in its environment; in a step that is not
 * bound nobody else would take them away. An sbatch or salloc there would give them to the script
 * or the shell, and these to all that they start without srun. Without the marker they are the
 * user's own inventions. */
static void forget(void)
{
    const char *hints = getenv(pipc__env_names[PIPC__ENV_HINTS]);

    if (!getenv(PIPC__MARKER_TASK))
        return;
    if (hints)
        pipc__hints_forget(hints);
    for (int i = 0; i < PIPC__ENV_COUNT; i++)
        unsetenv(pipc__env_names[i]);
    forget_preload();
}

void pipc__srun_forget(void)
{
    forget();
    unsetenv(PIPC__WISHES_ENV);
    unsetenv(PIPC__MARKER_WANTED);
}

/* slurmstepd sets SLURMD_TRES_BIND for a step with --gpu-bind and removes it for no other: what is
 * there now is of a step around this one. */
void pipc__srun_begin(bool wanted)
{
    pipc__srun_forget();
    if (!wanted)
        return;
    unsetenv(PIPC__WISHES_GPU_ENV);
    setenv(PIPC__MARKER_WANTED, PACKAGE_VERSION, 1);
}

/* srun's own words: longer command lines than fit have their options in front all the same. */
static bool wants_cpu_bind(spank_t sp)
{
    static char words[65536];
    const char *var = getenv("SLURM_CPU_BIND");
    char **argv = NULL;
    int argc = 0;
    size_t n = 0;
    FILE *f;

    if (var && pipc__wish_cpu_value(var))
        return true;
    spank_get_item(sp, S_JOB_ARGV, &argc, &argv);
    f = fopen("/proc/self/cmdline", "re");
    if (f) {
        n = fread(words, 1, sizeof(words) - 1, f);
        fclose(f);
    }
    return pipc__wish_cpu_words(words, n, argc > 0 ? (size_t)argc : 0);
}

void pipc__srun_launch(spank_t sp, bool wanted)
{
    if (wanted && wants_cpu_bind(sp))
        setenv(PIPC__WISHES_ENV, PIPC__WISHES_CPU, 1);
}
