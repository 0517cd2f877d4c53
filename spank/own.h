/* spank/own.h - the binding of a node where Slurm gave each task GPUs of its own */
#ifndef PIPC_SPANK_OWN_H
#define PIPC_SPANK_OWN_H

#include "runtime/bind/bind.h"

/* Slurm's choice stands; only what is near each GPU is looked up. own[ngpus] are the GPUs of @rank.
 * step[nstep] are all of the step here (nstep 0: not known). Peers' GPUs are worked out from them
 * where Slurm's rule for handing them out explains @rank's own; else only rank[@rank] is filled in,
 * which costs nothing but the sharing out of cores. */
pipc_status_t pipc__own_bind(const pipc__topo_t *topo, int rank, int nranks, const int *own,
                             int ngpus, const int *step, int nstep, pipc__binding_t *out,
                             pipc__error_t *err);

#endif
