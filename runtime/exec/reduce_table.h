/* exec/reduce_table.h - a function for each type and operation, once for each level of the
 * processor. All levels give the same bits.
 */
#ifndef PIPC_EXEC_REDUCE_TABLE_H
#define PIPC_EXEC_REDUCE_TABLE_H

#include "runtime/base/bfloat16.h"
#include "runtime/base/half.h"
#include "runtime/exec/reduce.h"
#include "runtime/plan/plan.h"

#define PIPC__REDUCE_BLOCK 1024 /* elements that one call of a function takes at most */

/* As pipc__reduce(), of at most PIPC__REDUCE_BLOCK elements. */
typedef void pipc__reduce_fn_t(const pipc__reduction_t *how, void *dst, const void *const *src,
                               size_t n);

typedef struct pipc__reduce_table {
    pipc__reduce_fn_t *fn[PIPC_DTYPE_COUNT][PIPC_REDOP_COUNT];
} pipc__reduce_table_t;

/* Elements of two bytes in a buffer of any alignment. */
typedef uint16_t pipc__mem_u16_t __attribute__((aligned(1), may_alias));

extern const pipc__reduce_table_t pipc__reduce_base; /* what every processor can do */
#if defined(__x86_64__)
#define PIPC__REDUCE_AVX2 1
extern const pipc__reduce_table_t pipc__reduce_avx2;
#endif

/* The best table for this processor. */
const pipc__reduce_table_t *pipc__reduce_best(void);

#endif
