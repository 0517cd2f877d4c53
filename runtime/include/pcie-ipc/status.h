/* pcie-ipc/status.h - the status codes that every pcie-ipc call returns.
 *
 * Copyright (c) 2026, the pcie-ipc authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef PCIE_IPC_STATUS_H
#define PCIE_IPC_STATUS_H

#include <pcie-ipc/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The values are part of the ABI: append, never renumber. */
typedef enum pipc_status {
    PIPC_OK = 0,
    PIPC_ERR_INVALID = 1,     /* an argument, option or input file is wrong */
    PIPC_ERR_NOMEM = 2,       /* memory (host or device) could not be had */
    PIPC_ERR_SYSTEM = 3,      /* a system call failed */
    PIPC_ERR_UNSUPPORTED = 4, /* this build or this machine can't do it */
    PIPC_ERR_NOT_FOUND = 5,   /* a file, device or symbol is absent */
    PIPC_ERR_EXCHANGE = 6,    /* the exchange (PMIx) failed */
    PIPC_ERR_MISMATCH = 7,    /* the ranks disagree (version, table, arguments) */
    PIPC_ERR_UNREACHABLE = 8, /* a peer's memory can't be mapped from here */
    PIPC_ERR_PEER_LOST = 9,   /* a peer's process ended while it was needed */
    PIPC_ERR_ABORTED = 10,    /* pipc_comm_abort() was called on some rank */
    PIPC_ERR_CUDA = 11,       /* a CUDA driver call failed */
    PIPC_ERR_INTERNAL = 12,   /* a bug in pcie-ipc: please report it */
    PIPC_LEFT = 13            /* no error: nothing was done, NCCL is to do it (pipc_comm_config_t.leave_nccl) */
} pipc_status_t;

/* A short English description of @status: "no error", "peer lost", ...
 * Never NULL, also for values outside the enumeration. The string is static. */
PIPC_EXPORT const char *pipc_status_string(pipc_status_t status);

#ifdef __cplusplus
}
#endif
#endif
