/* tests/gpu/special.h - inputs of two ranks in which every pair of a type's special values occurs,
 * and random bits after them.
 */
#ifndef TESTS_GPU_SPECIAL_H
#define TESTS_GPU_SPECIAL_H

#include <pcie-ipc/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPECIAL_PERIOD 65521 /* elements; a prime, so that no part's length is a multiple of it */

/* Fill one period of rank @rank (0, 1); returns how many pairs of special values it begins with. */
size_t special_fill(void *dst, pipc_dtype_t dtype, int rank);

/* One period of right results of two ranks, as the executors on the CPU compute them. */
void special_expect(void *dst, pipc_dtype_t dtype, pipc_redop_t op);

/* Are two elements the same bits, NaNs of any sign and payload being the same? */
bool special_same(const void *a, const void *b, pipc_dtype_t dtype);

/* Is @nccl the average that NCCL makes of the inputs at @i of a period? It rounds halves to the
 * type before it adds them, or fuses one of the products with the sum; both show in subnormals
 * alone. */
bool special_is_nccl_average(const void *nccl, pipc_dtype_t dtype, size_t i);

#endif
