/* prolog/gpus.h - the verdict of each GPU with its way up, for the programs of jobs: they know
 * their GPUs, and not which ports are above them
 */
#ifndef PIPC_PROLOG_GPUS_H
#define PIPC_PROLOG_GPUS_H

#include "prolog/counters.h"
#include "prolog/judge.h"

#define PIPC__GPUS_MAX 64 /* in a snapshot, which has a limit in its readers */

/* The worst of the findings about device @gpu of @c, about a port above it and about the node. */
pipc__severity_t pipc__gpu_verdict(const pipc__counters_t *c, int gpu,
                                   const pipc__findings_t *findings);

/* [{"address", "verdict", "width", "mts"}, ...], the last two null where they are not known. A new
 * reference; NULL without memory. */
json_t *pipc__gpus_to_json(const pipc__counters_t *c, const pipc__findings_t *findings);

/* The same of the machine below @sysroot as it is now, as far as a check has left its devices in
 * @dir; without, null. */
json_t *pipc__gpus_of_machine(int dir, uid_t owner, const char *sysroot,
                              const pipc__findings_t *findings);

#endif
