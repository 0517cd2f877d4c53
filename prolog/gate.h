/* prolog/gate.h - the checker's side of the prolog: act on a verdict
 */
#ifndef PIPC_PROLOG_GATE_H
#define PIPC_PROLOG_GATE_H

#include <stdio.h>

#include "prolog/examine.h"

#define PIPC__REFUSED_FILE "refused" /* in the folder of this boot: what a prolog refused for */

/* Check (or take the check of another prolog), write the snapshot, print what is new to @say, and
 * write the record with @nonce to @record. @gpus are the job's (scope.h). The exit status: 0 once
 * the record is written. */
int pipc__gate_run(const pipc__gate_t *gate, const char *nonce, const char *gpus, FILE *say,
                   FILE *record);

#endif
