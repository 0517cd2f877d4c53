/* exec/reduce_avx2.c - reductions for x86 with AVX2 and F16C. See reduce_level.h
 *
 * AVX-512 was tried: what is summed comes from the second-level cache at best, where it gains 6 %,
 * and processors that slow down for it do so for the program, too.
 */
#include "runtime/exec/reduce_table.h"

#ifdef PIPC__REDUCE_AVX2

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,f16c"))), apply_to = function)
#else
#pragma GCC target("avx2,f16c")
#endif
#include <immintrin.h>

#define LEVEL pipc__reduce_avx2

/* The instructions round to nearest even and keep a NaN's payload, as base/half.h does; they make a
 * signalling NaN quiet, which any operation on it would do. */
static void widen_f16(float *to, const void *from, size_t n)
{
    const char *s = from;
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(s + 2 * i))));
    for (; i < n; i++) {
        uint16_t h;
        memcpy(&h, s + 2 * i, sizeof(h));
        to[i] = pipc__half_to_float(h);
    }
}

static void narrow_f16(void *to, const float *from, size_t n)
{
    char *d = to;
    size_t i = 0;

    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((void *)(d + 2 * i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), 0));
    for (; i < n; i++) {
        uint16_t h = pipc__float_to_half(from[i]);
        memcpy(d + 2 * i, &h, sizeof(h));
    }
}

#include "runtime/exec/reduce_level.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
