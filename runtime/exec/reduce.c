/* exec/reduce.c - see reduce.h
 *
 * Five functions a type, made by including reduce_type.h once for each. No product and sum may
 * become one fused operation, which would round once and differ from the GPU's: -std=c11 forbids
 * it.
 */
#include "runtime/exec/reduce.h"

#include <math.h>

#include "runtime/base/bfloat16.h"
#include "runtime/base/half.h"

#define BLOCK 1024 /* elements: 8 KB of accumulators at most */

typedef struct work {
    const pipc__reduction_t *how;
    char *dst;
    const char *const *src;
} work_t;

/* NCCL's minimum and maximum: a lone NaN is dropped, -0 is less than +0. */
#define LESS(a, b) ((a) < (b) || ((a) == (b) && signbit(a)))
#define FLOAT_MIN(a, b) (LESS(a, b) || (b) != (b) ? (a) : (b))
#define FLOAT_MAX(a, b) (LESS(b, a) || (b) != (b) ? (a) : (b))
#define SAME(x) (x)

/* ELEM lies in memory, ACC accumulates: integers without sign, so that wrapping is defined; VALUE
 * is what the bits of ACC mean. */
#define SUFFIX f32
#define ELEM float
#define ACC float
#define FLOATING 1
#define LOAD SAME
#define STORE SAME
#include "runtime/exec/reduce_type.h"

#define SUFFIX f64
#define ELEM double
#define ACC double
#define FLOATING 1
#define LOAD SAME
#define STORE SAME
#include "runtime/exec/reduce_type.h"

#define SUFFIX f16
#define ELEM uint16_t
#define ACC float
#define FLOATING 1
#define LOAD pipc__half_to_float
#define STORE pipc__float_to_half
#include "runtime/exec/reduce_type.h"

#define SUFFIX bf16
#define ELEM uint16_t
#define ACC float
#define FLOATING 1
#define LOAD pipc__bfloat16_to_float
#define STORE pipc__float_to_bfloat16
#include "runtime/exec/reduce_type.h"

#define SUFFIX i8
#define ELEM uint8_t
#define VALUE int8_t
#include "runtime/exec/reduce_type.h"

#define SUFFIX u8
#define ELEM uint8_t
#define VALUE uint8_t
#include "runtime/exec/reduce_type.h"

#define SUFFIX i32
#define ELEM uint32_t
#define VALUE int32_t
#include "runtime/exec/reduce_type.h"

#define SUFFIX u32
#define ELEM uint32_t
#define VALUE uint32_t
#include "runtime/exec/reduce_type.h"

#define SUFFIX i64
#define ELEM uint64_t
#define VALUE int64_t
#include "runtime/exec/reduce_type.h"

#define SUFFIX u64
#define ELEM uint64_t
#define VALUE uint64_t
#include "runtime/exec/reduce_type.h"

typedef void (*reduce_fn_t)(const work_t *w, size_t at, size_t n);

#define OPS(type)                                                                                  \
    {                                                                                              \
        [PIPC_SUM] = sum_##type, [PIPC_PROD] = prod_##type, [PIPC_MIN] = min_##type,               \
        [PIPC_MAX] = max_##type, [PIPC_AVG] = avg_##type                                           \
    }

static const reduce_fn_t functions[PIPC_DTYPE_COUNT][PIPC_REDOP_COUNT] = {
    [PIPC_F32] = OPS(f32), [PIPC_F64] = OPS(f64), [PIPC_F16] = OPS(f16), [PIPC_BF16] = OPS(bf16),
    [PIPC_I8] = OPS(i8),   [PIPC_U8] = OPS(u8),   [PIPC_I32] = OPS(i32), [PIPC_U32] = OPS(u32),
    [PIPC_I64] = OPS(i64), [PIPC_U64] = OPS(u64),
};

void pipc__reduce(const pipc__reduction_t *how, void *dst, const void *const *src, size_t n)
{
    work_t w = {how, dst, (const char *const *)src};
    reduce_fn_t f = functions[how->dtype][how->op];

    for (size_t at = 0; at < n; at += BLOCK)
        f(&w, at, n - at < BLOCK ? n - at : BLOCK);
}
