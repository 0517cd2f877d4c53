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

/* In which order the plan under test may reduce. */
typedef enum test_order {
    TEST_DIRECT, /* in rank order, rounded once */
    TEST_RING, /* from some rank on round the ring, rounded at every hop; which rank is for the plan
                  to choose, and may differ from chunk to chunk */
    TEST_ANY /* in any order, rounded anywhere: floats are right up to rounding, all else exactly */
} test_order_t;

/* Index of the first element of @got that is wrong, @count when none is. got[0] is element @first
 * of what the ranks gave. */
size_t test_wrong(const void *got, size_t first, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                  int nranks, unsigned int call, test_order_t order);

#endif
