/* prolog/epilog.h - what slurmd runs after a job. libc only; never fails.
 */
#ifndef PIPC_PROLOG_EPILOG_H
#define PIPC_PROLOG_EPILOG_H

#define PIPC__EPILOG_SECONDS 3
#define PIPC__STEPS_FOLDER "/run/pcie-ipc/steps" /* the plugin's rundir=, where it is not given */

/* Remove the folders below @folder that steps of @job (a number, as slurmd writes it; NULL and
 * anything else is no job) left. Always 0: an epilog that fails drains the node, for a job that is
 * over. */
int pipc__epilog(const char *folder, const char *job);

#endif
