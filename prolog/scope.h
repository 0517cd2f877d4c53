/* prolog/scope.h - which findings are of concern to a job that was given some of a node's GPUs
 */
#ifndef PIPC_PROLOG_SCOPE_H
#define PIPC_PROLOG_SCOPE_H

#include "prolog/judge.h"

#define PIPC__SCOPE_GPUS_MAX 256 /* bytes of a list of GPUs, its end included */

/* The severity of the worst finding that concerns GPUs @gpus ("0,1,2" as Slurm counts them; NULL
 * or "": not known): of one of them, of a port above it, of the node, or of what stands above no
 * GPU at all. Whenever a number cannot be told to be a certain device, that of all findings: the
 * driver must name its devices 0 to n-1, and the list must be digits and commas. */
pipc__severity_t pipc__scope_verdict(const char *sysroot, const char *gpus,
                                     const pipc__findings_t *findings);

/* The addresses of these GPUs, NULL-ended, good until the next call; NULL where they cannot be told
 * as above. */
const char *const *pipc__scope_gpus(const char *sysroot, const char *gpus);

#endif
