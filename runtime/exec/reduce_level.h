/* exec/reduce_level.h - every type and operation for one level of the processor: reduce_base.c and
 * reduce_avx2.c include it, with LEVEL as the name of its table and their own widen_f16() and
 * narrow_f16().
 *
 * Loops are plain C, which the compiler vectorises for the level; each element goes through the
 * same operations in the same order at each, so that all levels give the same bits. No product and
 * sum may become one fused operation, which would round once and differ from the GPU's: -std=c11
 * forbids it.
 */
#include <math.h>

#include "runtime/exec/reduce_table.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#define NO_LOOP_CARRIES _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic") /* as -O3 does */
#define NO_LOOP_CARRIES _Pragma("GCC ivdep")
#else
#define NO_LOOP_CARRIES
#endif

#define BLOCK PIPC__REDUCE_BLOCK

/* NCCL's minimum and maximum: a lone NaN is dropped, -0 is less than +0. */
#define LESS(a, b) ((a) < (b) || ((a) == (b) && signbit(a)))
#define FLOAT_MIN(a, b) (LESS(a, b) || (b) != (b) ? (a) : (b))
#define FLOAT_MAX(a, b) (LESS(b, a) || (b) != (b) ? (a) : (b))

/* ELEM is what is computed with: integers without sign, so that wrapping is defined; VALUE is what
 * its bits mean. */
#define SUFFIX f32
#define ELEM float
#define FLOATING 1
#include "runtime/exec/reduce_type.h"

#define SUFFIX f64
#define ELEM double
#define FLOATING 1
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

/* --- types of two bytes ------------------------------------------------------------------------
 *
 * They are widened to floats, reduced as floats and narrowed, rounding once, block by block in the
 * first-level cache. */

static void widen_bf16(float *to, const void *from, size_t n)
{
    const pipc__mem_u16_t *s = from;

    for (size_t i = 0; i < n; i++)
        to[i] = pipc__bfloat16_to_float(s[i]);
}

static void narrow_bf16(void *to, const float *from, size_t n)
{
    pipc__mem_u16_t *d = to;

    for (size_t i = 0; i < n; i++)
        d[i] = pipc__float_to_bfloat16(from[i]);
}

#define SMALL_BLOCK 256

/* The sources lie side by side in @wide, and the sum takes the first one's place. */
#define SMALL(op, type)                                                                            \
    static void op##_##type(const pipc__reduction_t *how, void *dst, const void *const *src,       \
                            size_t n)                                                              \
    {                                                                                              \
        float wide[PIPC__RANKS_MAX][SMALL_BLOCK];                                                  \
        const void *list[PIPC__RANKS_MAX];                                                         \
                                                                                                   \
        for (size_t at = 0; at < n; at += SMALL_BLOCK) {                                           \
            size_t some = n - at < SMALL_BLOCK ? n - at : SMALL_BLOCK;                             \
            for (int k = 0; k < how->nsrc; k++) {                                                  \
                widen_##type(wide[k], (const pipc__mem_u16_t *)src[k] + at, some);                 \
                list[k] = wide[k];                                                                 \
            }                                                                                      \
            op##_f32(how, wide[0], list, some);                                                    \
            narrow_##type((pipc__mem_u16_t *)dst + at, wide[0], some);                             \
        }                                                                                          \
    }

SMALL(sum, f16)
SMALL(prod, f16)
SMALL(min, f16)
SMALL(max, f16)
SMALL(avg, f16)
SMALL(sum, bf16)
SMALL(prod, bf16)
SMALL(min, bf16)
SMALL(max, bf16)
SMALL(avg, bf16)

#define OPS(type)                                                                                  \
    {                                                                                              \
        [PIPC_SUM] = sum_##type, [PIPC_PROD] = prod_##type, [PIPC_MIN] = min_##type,               \
        [PIPC_MAX] = max_##type, [PIPC_AVG] = avg_##type                                           \
    }

const pipc__reduce_table_t LEVEL = {{
    [PIPC_F32] = OPS(f32),
    [PIPC_F64] = OPS(f64),
    [PIPC_F16] = OPS(f16),
    [PIPC_BF16] = OPS(bf16),
    [PIPC_I8] = OPS(i8),
    [PIPC_U8] = OPS(u8),
    [PIPC_I32] = OPS(i32),
    [PIPC_U32] = OPS(u32),
    [PIPC_I64] = OPS(i64),
    [PIPC_U64] = OPS(u64),
}};
