/* spank/cores.h - the cores of a task, as a kernel's mask */
#ifndef PIPC_SPANK_CORES_H
#define PIPC_SPANK_CORES_H

#include "runtime/bind/bind.h"
#include "spank/ops.h"

/* Fill out->cpus, out->near, out->narrowed and out->far from in->cpus and the binding of in->rank,
 * which serves gpus[n]. With in->keep_cpus only out->near. */
pipc_status_t pipc__cores(const pipc__topo_t *topo, const pipc__binding_t *b,
                          const pipc__place_in_t *in, const int *gpus, int n,
                          pipc__place_out_t *out, pipc__error_t *err);

/* Are all of gpus[n] at one NUMA node, or all at an unknown one? */
bool pipc__one_numa(const pipc__topo_t *topo, const int *gpus, int n);

#endif
