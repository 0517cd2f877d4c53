/* base/marker.c - see marker.h */
#include "runtime/base/marker.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static const char *skip_number(const char *text)
{
    const char *end = text;

    while (end && isdigit((unsigned char)*end))
        end++;
    return end == text ? NULL : end;
}

/* The version in "JOB.STEP:VERSION"; NULL when it is none. */
static const char *version_of(const char *task)
{
    const char *at = skip_number(task);

    if (!at || *at != '.')
        return NULL;
    at = skip_number(at + 1);
    return at && *at == ':' && at[1] ? at + 1 : NULL;
}

pipc__marker_t pipc__marker_judge(const char *wanted, const char *task, pipc__error_t *err)
{
    const char *version;

    if (!wanted || !*wanted)
        return PIPC__MARKER_NOT_WANTED;
    version = version_of(task ? task : "");
    if (!version) {
        pipc__fail(err, PIPC_ERR_MISMATCH,
                   "srun --pcie-ipc was given, but this node's Slurm has not bound the task; "
                   "install the plugin here and name it in plugstack.conf");
        return PIPC__MARKER_MISSING;
    }
    if (strcmp(version, wanted)) {
        pipc__fail(
            err, PIPC_ERR_MISMATCH,
            "this node has version %.40s of the Slurm plugin and srun had %.40s; install one "
            "version on all nodes",
            version, wanted);
        return PIPC__MARKER_OTHER;
    }
    return PIPC__MARKER_GOOD;
}
