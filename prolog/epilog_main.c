/* prolog/epilog_main.c - what a link in epilog.d points to */
#include <stdlib.h>

#include "prolog/epilog.h"
#include "prolog/prolog.h"

int main(void)
{
    pipc__fail_open(PIPC__EPILOG_SECONDS);
    pipc__epilog(PIPC__STEPS_FOLDER, getenv("SLURM_JOB_ID"));
    pipc__epilog_report(PIPC_CHECKER, getenv("SLURM_JOB_ID"), getenv("SLURM_JOB_UID"),
                        PIPC__EPILOG_REPORT_MS);
    return 0;
}
