/* prolog/gate.h - the checker's side of the prolog: act on a verdict
 */
#ifndef PIPC_PROLOG_GATE_H
#define PIPC_PROLOG_GATE_H

#include <stdio.h>
#include <sys/types.h>

/* Where things are and whose they must be; tests have their own. */
typedef struct pipc__gate {
    const char *config, *limits, *baseline, *run;
    uid_t owner;
} pipc__gate_t;

/* Check (or take the check of another prolog), write the snapshot, print what matters to @say, and
 * write the record with @nonce to @record. The exit status: 0 once the record is written. */
int pipc__gate_run(const pipc__gate_t *gate, const char *nonce, FILE *say, FILE *record);

#endif
