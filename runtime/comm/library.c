/* comm/library.c - what concerns the library and no single communicator: its version, its log, and
 * whether the plugin that was asked for has been here.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "runtime/base/log.h"
#include "runtime/comm/comm.h"

_Static_assert((int)PIPC_LOG_ERROR == PIPC__LOG_ERROR && (int)PIPC_LOG_WARN == PIPC__LOG_WARN &&
                   (int)PIPC_LOG_INFO == PIPC__LOG_INFO && (int)PIPC_LOG_DEBUG == PIPC__LOG_DEBUG,
               "levels are handed on as they are");

int pipc_version(void)
{
    return PIPC_VERSION_NUMBER;
}

/* --- log ------------------------------------------------------------------------------------- */

static pipc_log_fn_t program_log;

static void hand_on(void *arg, pipc__log_level_t level, const char *line)
{
    program_log(arg, (pipc_log_level_t)level, line);
}

void pipc_set_log(pipc_log_fn_t fn, void *arg)
{
    pipc__log_set(NULL, NULL);
    program_log = fn;
    if (fn)
        pipc__log_set(hand_on, arg);
}

/* --- the task marker ------------------------------------------------------------------------- */

/* srun's side of the plugin exports PCIE_IPC_WANTED; the node's side answers with PCIE_IPC_TASK,
 * "JOB.STEP:VERSION". Slurm is silent where a node has no plugin, or reads another plugstack.conf:
 * the step then runs as if --pcie-ipc had not been given. */
static const char *judge_marker(const char *wanted, const char *task)
{
    const char *version = task ? strrchr(task, ':') : NULL;

    if (!wanted || !*wanted)
        return NULL;
    if (!version)
        return "is not installed on this node, or its plugstack.conf does not name it";
    return strcmp(version + 1, PACKAGE_VERSION) ? "is of another version on this node" : NULL;
}

void pipc__warn_of_plugin(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const char *task = secure_getenv("PCIE_IPC_TASK");
    const char *why = judge_marker(secure_getenv("PCIE_IPC_WANTED"), task);
    char host[64] = "?";

    if (!why || atomic_flag_test_and_set(&told))
        return;
    gethostname(host, sizeof(host) - 1);
    pipc__log(PIPC__LOG_WARN, "srun was given --pcie-ipc, but its plugin %s (%s; it left \"%.60s\", "
              "this library is %s); GPUs and cores may not be bound", why, host, task ? task : "",
              PACKAGE_VERSION);
}
