/* pcie-ipc/types.h - element types and reduction operations.
 *
 * Copyright (c) 2026, the pcie-ipc authors. SPDX-License-Identifier: BSD-3-Clause
 */
#ifndef PCIE_IPC_TYPES_H
#define PCIE_IPC_TYPES_H

#include <stddef.h>

#include <pcie-ipc/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types. The values are part of the ABI: append, never renumber. */
typedef enum pipc_dtype {
    PIPC_F32 = 0, /* IEEE 754 binary32 */
    PIPC_F16 = 1, /* IEEE 754 binary16; sums accumulate in binary32 and round once */
    PIPC_I32 = 2, /* two's complement; sums wrap modulo 2^32, as NCCL's do */
    PIPC_DTYPE_COUNT
} pipc_dtype_t;

/* Reduction operations. The values are part of the ABI: append, never renumber. */
typedef enum pipc_redop {
    PIPC_SUM = 0,
    PIPC_REDOP_COUNT
} pipc_redop_t;

/* Size of one element in bytes; 0 for a value outside the enumeration. */
PIPC_EXPORT size_t pipc_dtype_bytes(pipc_dtype_t dtype);

/* nccl-tests' names: "float", "half", "int32", "sum". Never NULL ("?" when unknown); static. */
PIPC_EXPORT const char *pipc_dtype_string(pipc_dtype_t dtype);
PIPC_EXPORT const char *pipc_redop_string(pipc_redop_t op);

#ifdef __cplusplus
}
#endif
#endif
