/* prolog/epilog.h - what slurmd runs after a job. libc only; never fails.
 */
#ifndef PIPC_PROLOG_EPILOG_H
#define PIPC_PROLOG_EPILOG_H

#define PIPC__EPILOG_SECONDS 3

/* Remove what the job's steps left below /run/pcie-ipc. Always 0. */
int pipc__epilog(void);

#endif
