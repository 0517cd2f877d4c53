/* exec/reduce.h - element-wise reduction on the CPU.
 */
#ifndef PIPC_EXEC_REDUCE_H
#define PIPC_EXEC_REDUCE_H

#include <pcie-ipc/types.h>
#include <stddef.h>

/* dst[i] = src[0][i] op src[1][i] op ..., from left to right, i < n. f16 accumulates in binary32
 * and rounds once, at the end; i32 wraps. Any alignment; dst may be one of the sources, and may not
 * overlap one otherwise. nsrc >= 1. */
void pipc__reduce(pipc_dtype_t dtype, pipc_redop_t op, void *dst, const void *const *src, int nsrc,
                  size_t n);

int pipc__reduce_has(pipc_dtype_t dtype, pipc_redop_t op);

#endif
