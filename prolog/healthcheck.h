/* prolog/healthcheck.h - HealthCheckProgram: look at the node, leave the snapshot, and tell Slurm
 */
#ifndef PIPC_PROLOG_HEALTHCHECK_H
#define PIPC_PROLOG_HEALTHCHECK_H

#include <stdio.h>

#include "prolog/examine.h"

typedef struct pipc__healthcheck {
    pipc__gate_t gate;
    const char *node; /* as Slurm calls it */
    bool dry_run;     /* say what would be done; change nothing, neither in Slurm nor here */
} pipc__healthcheck_t;

/* Lines that are new go to @say. Slurm is asked about the node only when it is sick or was: a
 * healthy node costs the controller nothing. What cannot be asked or done is said, and changes
 * nothing. */
void pipc__healthcheck(const pipc__healthcheck_t *hc, FILE *say);

#endif
