/* bind/parts.h - the parts of pipc__bind(); only this folder includes it */
#ifndef PIPC_BIND_PARTS_H
#define PIPC_BIND_PARTS_H

#include "runtime/bind/bind.h"

#define PIPC__WAY_MAX 64 /* deeper groups than this count as one */

typedef struct pipc__way { /* of a GPU: the keys (NUMA index, object indexes) from the top down */
    int key[PIPC__WAY_MAX], len; /* the last one is the GPU */
    int first; /* smallest object index in its NUMA node: the order of NUMA nodes */
} pipc__way_t;

/* way.c: the ways of gpus[n], sorted so that what shares a key at a level stands together: NUMA
 * nodes by their first GPU, inside them tree order, in which host bridges and switches are
 * contiguous.
 * @mode NUMA leaves out all between NUMA node and GPU. */
void pipc__bind_ways(const pipc__topo_t *topo, pipc__bind_mode_t mode, pipc__way_t *ways,
                     const int *gpus, int n);

/* choose.c: put gpus[n] in order: first the @k that ranks take, in tree order, then the idle
 * ones, nearest first. 1 <= k <= n <= PIPC__BIND_MAX. */
pipc_status_t pipc__bind_choose(const pipc__topo_t *topo, pipc__bind_mode_t mode, int *gpus, int n,
                                int k, pipc__error_t *err);

/* spread.c: put gpus[n] in the order of bind:spread. 1 <= n <= PIPC__BIND_MAX. */
pipc_status_t pipc__bind_spread(const pipc__topo_t *topo, int *gpus, int n, pipc__error_t *err);

/* nic.c: fill in binding->rank[].nic from rank[].gpu and rank[].numa. */
pipc_status_t pipc__bind_nics(const pipc__topo_t *topo, pipc__binding_t *binding,
                              pipc__error_t *err);

#endif
