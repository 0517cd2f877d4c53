/* bind/parts.h - the parts of pipc__bind(); only this folder includes it */
#ifndef PIPC_BIND_PARTS_H
#define PIPC_BIND_PARTS_H

#include "runtime/bind/bind.h"

/* choose.c: put gpus[n] in order: first the @k that ranks take, in tree order, then the idle
 * ones, nearest first. 1 <= k <= n <= PIPC__BIND_MAX. */
pipc_status_t pipc__bind_choose(const pipc__topo_t *topo, int *gpus, int n, int k,
                                pipc__error_t *err);

/* nic.c: fill in binding->rank[].nic from rank[].gpu and rank[].numa. */
pipc_status_t pipc__bind_nics(const pipc__topo_t *topo, pipc__binding_t *binding,
                              pipc__error_t *err);

#endif
