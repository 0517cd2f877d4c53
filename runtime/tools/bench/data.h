/* tools/bench/data.h - inputs whose sums are known, and the comparison of outputs.
 *
 * Both patterns repeat after BENCH_PERIOD elements. It is a prime, so no chunk, lane or slot length
 * is a multiple of it: data that landed at a wrong place does not look right by accident.
 */
#ifndef PIPC_BENCH_DATA_H
#define PIPC_BENCH_DATA_H

#include <pcie-ipc/types.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_PERIOD 65521

typedef enum bench_pattern {
    BENCH_EXACT, /* small integers: every result of @op is exact in every type, whatever the order
                  */
    BENCH_RANDOM /* all bits used: another order of summation shows in the last bit */
} bench_pattern_t;

/* Fill host memory with rank @rank's input of @nranks to operation @op. */
void bench_fill(void *dst, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                bench_pattern_t pattern, int rank, int nranks);

/* Elements of host memory that differ from @op over ranks 0..nranks-1 of BENCH_EXACT. */
uint64_t bench_count_wrong(const void *out, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                           int nranks);

#endif
