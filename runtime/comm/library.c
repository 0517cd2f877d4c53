/* comm/library.c - what concerns the library and no single communicator: its version, its log, and
 * whether the plugin that was asked for has been here.
 *
 * A library never prints. The one exception is asked for by the user at srun, who does not know
 * what the program does with log lines: --pcie-ipc=verbose, of which the plugin tells by a
 * variable.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/marker.h"
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
static bool program_chose; /* also that nobody gets them */

static void hand_on(void *arg, pipc__log_level_t level, const char *line)
{
    program_log(arg, (pipc_log_level_t)level, line);
}

void pipc_set_log(pipc_log_fn_t fn, void *arg)
{
    pipc__log_set(NULL, NULL);
    program_log = fn;
    program_chose = true;
    if (fn)
        pipc__log_set(hand_on, arg);
}

static void to_stderr(void *arg, pipc__log_level_t level, const char *line)
{
    (void)arg;
    if (level <= PIPC__LOG_INFO)
        fprintf(stderr, "pcie-ipc: %s\n", line);
}

bool pipc__log_is_verbose(void)
{
    const char *verbose = secure_getenv("PCIE_IPC_VERBOSE");

    return verbose && !strcmp(verbose, "1");
}

/* Once a process. */
static void warn_of_verbose(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const char *verbose = secure_getenv("PCIE_IPC_VERBOSE");

    if (verbose && *verbose && strcmp(verbose, "0") && strcmp(verbose, "1") &&
        !atomic_flag_test_and_set(&told))
        pipc__log(PIPC__LOG_WARN, "PCIE_IPC_VERBOSE=%.60s says nothing; use 1, or 0", verbose);
}

void pipc__log_begin(void)
{
    warn_of_verbose();
    if (!program_chose && !pipc__log_is_set() && pipc__log_is_verbose())
        pipc__log_set(to_stderr, NULL);
}

/* --- the task marker ------------------------------------------------------------------------- */

/* Slurm is silent where a node has no plugin, or reads another plugstack.conf: the step then runs
 * as if
 * --pcie-ipc had not been given. Only the task itself can tell. */
void pipc__warn_of_plugin(void)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    pipc__error_t why;
    char host[64] = "?";
    pipc__marker_t mark = pipc__marker_judge(secure_getenv(PIPC__MARKER_WANTED),
                                             secure_getenv(PIPC__MARKER_TASK), &why);

    if (mark != PIPC__MARKER_MISSING && mark != PIPC__MARKER_OTHER)
        return;
    if (atomic_flag_test_and_set(&told))
        return;
    gethostname(host, sizeof(host) - 1);
    pipc__log(PIPC__LOG_WARN, "%s: %s", host, why.text);
}
