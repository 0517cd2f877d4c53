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
    PIPC_F32 = 0,  /* IEEE 754 binary32 */
    PIPC_F16 = 1,  /* IEEE 754 binary16; accumulates in binary32 and rounds once */
    PIPC_I32 = 2,  /* integers wrap modulo 2^bits; signed ones are two's complement */
    PIPC_F64 = 3,  /* IEEE 754 binary64 */
    PIPC_BF16 = 4, /* bfloat16, the upper half of binary32; accumulates in binary32, rounds once */
    PIPC_I8 = 5,
    PIPC_U8 = 6,
    PIPC_U32 = 7,
    PIPC_I64 = 8,
    PIPC_U64 = 9,
    PIPC_DTYPE_COUNT
} pipc_dtype_t;

/* Reduction operations. The values are part of the ABI: append, never renumber. */
typedef enum pipc_redop {
    PIPC_SUM = 0,
    PIPC_PROD = 1,
    PIPC_MIN = 2, /* a lone NaN is dropped; -0 is less than +0 */
    PIPC_MAX = 3,
    PIPC_AVG = 4, /* floats: sum of inputs times 1/n; integers: sum, which may wrap, then divided by
                     n towards zero */
    PIPC_REDOP_COUNT
} pipc_redop_t;

/* Size of one element in bytes; 0 for a value outside the enumeration. */
PIPC_EXPORT size_t pipc_dtype_bytes(pipc_dtype_t dtype);

/* nccl-tests' names: "float", "half", "int32", "sum", "avg". Never NULL ("?" when unknown); static. */
PIPC_EXPORT const char *pipc_dtype_string(pipc_dtype_t dtype);
PIPC_EXPORT const char *pipc_redop_string(pipc_redop_t op);

#ifdef __cplusplus
}
#endif
#endif
