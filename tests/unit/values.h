/* tests/unit/values.h - deterministic inputs for every type and operation, and the right results,
 * computed one element at a time and independently of what is under test.
 */
#ifndef TESTS_UNIT_VALUES_H
#define TESTS_UNIT_VALUES_H

#include <pcie-ipc/types.h>
#include <stdbool.h>
#include <stddef.h>

/* Rank @rank's input in call @call: all bits of integers; moderate floats of full precision, so
 * that sums round and another order shows. */
void test_fill(void *dst, size_t count, pipc_dtype_t dtype, pipc_redop_t op, int rank,
               unsigned int call);

/* Index of the first element of @got that is wrong, @count when none is.
 *
 * Direct plans: the result in rank order with one rounding. @ring: in the order from some rank on
 * round the ring, rounded at every hop; which rank is for the plan to choose, and may differ from
 * chunk to chunk. */
size_t test_wrong(const void *got, size_t count, pipc_dtype_t dtype, pipc_redop_t op, int nranks,
                  unsigned int call, bool ring);

#endif
