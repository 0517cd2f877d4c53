/* pcie-ipc/export.h - marks what the library exports.
 *
 * Copyright (c) 2026, the pcie-ipc authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef PCIE_IPC_EXPORT_H
#define PCIE_IPC_EXPORT_H

#if defined(__GNUC__)
#define PIPC_EXPORT __attribute__((visibility("default")))
#else
#define PIPC_EXPORT
#endif

#endif
