/* prolog/reason.h - what is wrong with a node, as Slurm keeps it
 */
#ifndef PIPC_PROLOG_REASON_H
#define PIPC_PROLOG_REASON_H

#include "prolog/judge.h"

#define PIPC__REASON_PREFIX "pcie-ipc: "
#define PIPC__REASON_MAX 101 /* 100 characters */

/* "pcie-ipc: 0000:41:00.0: link is x8 (PCI001)", of the worst finding, and " +2" for others that
 * are as bad: printable ASCII without quotes, braces or brackets, which scontrol and its readers
 * take for their own. */
void pipc__reason(const pipc__findings_t *findings, char out[PIPC__REASON_MAX]);

#endif
