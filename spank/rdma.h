/* spank/rdma.h - the RDMA devices near a task and near all tasks of its node, by name */
#ifndef PIPC_SPANK_RDMA_H
#define PIPC_SPANK_RDMA_H

#include "runtime/bind/bind.h"
#include "spank/ops.h"

/* Fill out->rdma and out->rdma_node. Each is "" where a device has no name, or not all ranks' GPUs
 * are known, or there is none: half a list would keep a library from devices that it needs. */
void pipc__rdma(const pipc__topo_t *topo, const pipc__binding_t *b, int rank,
                pipc__place_out_t *out);

#endif
