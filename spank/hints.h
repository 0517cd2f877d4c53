/* spank/hints.h - the nearest RDMA devices, as UCX and NCCL want to be told */
#ifndef PIPC_SPANK_HINTS_H
#define PIPC_SPANK_HINTS_H

#include <slurm/spank.h>

#include "spank/task.h"

/* Of @names ("mlx5_0,mlx5_1") those devices below SYSROOT ("" for the machine's) that verbs of
 * InfiniBand and RoCE can use and whose first port is active, into buf[cap]. A library that is told
 * to use a device without a link gives up on RDMA altogether, and of a card with two functions often
 * only one has a cable. False, and "", when none is or they don't fit. */
bool pipc__hints_usable(const char *sysroot, const char *names, char *buf, size_t cap);

/* "mlx5_0:1,mlx5_1:1", as UCX names ports. False when it does not fit. */
bool pipc__hints_ucx(const char *names, char *buf, size_t cap);

/* @set is what PCIE_IPC_HINTS says, "NAME:DIGEST NAME:DIGEST": what was set, and a digest of the
 * value, so that a value that the user has put in its place since is not taken away. Add one; cap
 * is PIPC__HINTS_MAX. */
void pipc__hints_note(char *set, size_t cap, const char *name, const char *value);

/* Take out of this process's environment what is still as @set says. */
void pipc__hints_forget(const char *set);

/* From task_init: set UCX_NET_DEVICES and NCCL_IB_HCA, each unless it is set. @set gets those
 * that were. */
void pipc__hints_export(spank_t sp, const pipc__task_t *task, const char *sysroot, char *set,
                        size_t cap);

#endif
