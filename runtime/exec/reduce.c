/* exec/reduce.c - see reduce.h
 *
 * Works in blocks that stay in the first-level cache: a block's accumulators are private, so that
 * the compiler may vectorise although dst can be one of the sources.
 */
#include "runtime/exec/reduce.h"

#include <stdint.h>

#include "runtime/base/half.h"

#define BLOCK 1024 /* elements; 4 KB of accumulators */

/* User buffers may have any alignment; these types say so to the compiler. */
typedef float f32_t __attribute__((aligned(1), may_alias));
typedef uint16_t f16_t __attribute__((aligned(1), may_alias));
typedef uint32_t u32_t __attribute__((aligned(1), may_alias));

static void sum_f32(char *dst, const void *const *src, int nsrc, size_t at, size_t n)
{
    float acc[BLOCK];
    const f32_t *s = (const f32_t *)src[0] + at;

    for (size_t i = 0; i < n; i++)
        acc[i] = s[i];
    for (int k = 1; k < nsrc; k++) {
        s = (const f32_t *)src[k] + at;
        for (size_t i = 0; i < n; i++)
            acc[i] += s[i];
    }
    f32_t *d = (f32_t *)(void *)dst + at;
    for (size_t i = 0; i < n; i++)
        d[i] = acc[i];
}

static void sum_f16(char *dst, const void *const *src, int nsrc, size_t at, size_t n)
{
    float acc[BLOCK];
    const f16_t *s = (const f16_t *)src[0] + at;

    for (size_t i = 0; i < n; i++)
        acc[i] = pipc__half_to_float(s[i]);
    for (int k = 1; k < nsrc; k++) {
        s = (const f16_t *)src[k] + at;
        for (size_t i = 0; i < n; i++)
            acc[i] += pipc__half_to_float(s[i]);
    }
    f16_t *d = (f16_t *)(void *)dst + at;
    for (size_t i = 0; i < n; i++)
        d[i] = pipc__float_to_half(acc[i]);
}

static void sum_i32(char *dst, const void *const *src, int nsrc, size_t at, size_t n)
{
    uint32_t acc[BLOCK]; /* unsigned: wrapping is defined */
    const u32_t *s = (const u32_t *)src[0] + at;

    for (size_t i = 0; i < n; i++)
        acc[i] = s[i];
    for (int k = 1; k < nsrc; k++) {
        s = (const u32_t *)src[k] + at;
        for (size_t i = 0; i < n; i++)
            acc[i] += s[i];
    }
    u32_t *d = (u32_t *)(void *)dst + at;
    for (size_t i = 0; i < n; i++)
        d[i] = acc[i];
}

typedef void (*reduce_fn_t)(char *dst, const void *const *src, int nsrc, size_t at, size_t n);

static const reduce_fn_t functions[PIPC_REDOP_COUNT][PIPC_DTYPE_COUNT] = {
    [PIPC_SUM] = {[PIPC_F32] = sum_f32, [PIPC_F16] = sum_f16, [PIPC_I32] = sum_i32},
};

void pipc__reduce(pipc_dtype_t dtype, pipc_redop_t op, void *dst, const void *const *src, int nsrc,
                  size_t n)
{
    reduce_fn_t f = functions[op][dtype];

    for (size_t at = 0; at < n; at += BLOCK)
        f(dst, src, nsrc, at, n - at < BLOCK ? n - at : BLOCK);
}

int pipc__reduce_has(pipc_dtype_t dtype, pipc_redop_t op)
{
    return functions[op][dtype] != NULL;
}
