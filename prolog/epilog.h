/* prolog/epilog.h - what slurmd runs after a job. libc only; never fails.
 */
#ifndef PIPC_PROLOG_EPILOG_H
#define PIPC_PROLOG_EPILOG_H

#define PIPC__EPILOG_SECONDS 3
#define PIPC__EPILOG_REPORT_MS 2000
#define PIPC__STEPS_FOLDER "/run/pcie-ipc/steps" /* the plugin's rundir=, where it is not given */

/* Remove the folders below @folder that steps of @job (a number, as slurmd writes it; NULL and
 * anything else is no job) left. Always 0: an epilog that fails drains the node, for a job that is
 * over. */
int pipc__epilog(const char *folder, const char *job);

/* Have "@checker job-end JOB UID" write the job's report, and be done by @deadline_ms whatever it
 * does. Nothing without numbers of a job and a user. What it says goes where a prolog's lines go.
 */
void pipc__epilog_report(const char *checker, const char *job, const char *uid, int deadline_ms);

#endif
