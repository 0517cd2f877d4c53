/* prolog/health_main.c - pcie-ipc-health. libc only, as Slurm may call "prolog" and "healthcheck"
 * by this name: all else is the checker's, which this becomes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prolog/epilog.h"
#include "prolog/prolog.h"
#include "prolog/start.h"
#include "prolog/state.h"

#define EXIT_UNKNOWN 3

int main(int argc, char **argv)
{
    static char name[] = "pcie-ipc-health";
    static char *nothing[] = {name, NULL};
    const pipc__start_t start = {PIPC_CHECKER, {PIPC_OFF, PIPC__START_OFF}, PIPC__RUN_FOLDER, 0};

    if (argc > 1 && strcmp(argv[1], "prolog") == 0)
        return pipc__start_prolog(&start);
    if (argc == 2 && strcmp(argv[1], "healthcheck") == 0) /* with options it is for people */
        return pipc__start_healthcheck(&start);
    if (argc > 1 && strcmp(argv[1], "epilog") == 0) {
        pipc__fail_open(PIPC__EPILOG_SECONDS);
        pipc__epilog(PIPC__STEPS_FOLDER, getenv("SLURM_JOB_ID"));
        pipc__epilog_report(PIPC_CHECKER, getenv("SLURM_JOB_ID"), getenv("SLURM_JOB_UID"),
                            PIPC__EPILOG_REPORT_MS);
        return 0;
    }
    execv(PIPC_CHECKER, argc > 0 ? argv : nothing);
    fprintf(stderr, "pcie-ipc-health: %s: %s; install the package again\n", PIPC_CHECKER,
            strerror(errno));
    return EXIT_UNKNOWN;
}
