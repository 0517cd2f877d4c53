/* spank/cores.h - the cores of a task, as a kernel's mask */
#ifndef PIPC_SPANK_CORES_H
#define PIPC_SPANK_CORES_H

#include "runtime/bind/bind.h"
#include "spank/ops.h"

/* Fill out->cpus, out->near and out->narrowed from in->cpus and the binding of in->rank. */
pipc_status_t pipc__cores(const pipc__topo_t *topo, const pipc__binding_t *b,
                          const pipc__place_in_t *in, pipc__place_out_t *out, pipc__error_t *err);

#endif
