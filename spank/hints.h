/* spank/hints.h - the nearest RDMA devices, as UCX and NCCL want to be told */
#ifndef PIPC_SPANK_HINTS_H
#define PIPC_SPANK_HINTS_H

#include <slurm/spank.h>

#include "spank/task.h"

/* Of @names ("mlx5_0,mlx5_1") those RDMA devices below SYSROOT ("" for the machine's) whose first
 * port is active, into buf[cap]. A library that is told to use a device without a link gives up on
 * RDMA altogether, and of a card with two functions often only one has a cable. False, and "", when
 * none is active or they don't fit. */
bool pipc__hints_active(const char *sysroot, const char *names, char *buf, size_t cap);

/* "mlx5_0:1,mlx5_1:1", as UCX names ports. False when it does not fit. */
bool pipc__hints_ucx(const char *names, char *buf, size_t cap);

/* From task_init: set UCX_NET_DEVICES and NCCL_IB_HCA, each unless it is set. @set gets the names
 * of those that were, separated by spaces. */
void pipc__hints_export(spank_t sp, const pipc__task_t *task, const char *sysroot, char *set,
                        size_t cap);

#endif
