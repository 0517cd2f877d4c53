/* tests/unit/random_values.h - inputs and right results of random calls, element by element, for
 * the CPU and for the GPU: every rank can compute what every other one gave. Shares nothing with
 * the kernels and loops under test. An element is the low bytes of a uint64_t.
 *
 * Compile it without contraction (nvcc -fmad=false): an average is a product and then a sum.
 */
#ifndef TESTS_UNIT_RANDOM_VALUES_H
#define TESTS_UNIT_RANDOM_VALUES_H

#include <stdint.h>
#include <string.h>

#include <pcie-ipc/types.h>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define RANDOM_FN static __device__ inline
#else
#include "runtime/base/bfloat16.h"
#include "runtime/base/half.h"
#define RANDOM_FN static inline
#endif

/* One call's buffers, as what fills and checks them sees them. Each allocation is
 *
 *     | poison | data, at any address | poison |
 *     from     in or out              end
 */
typedef struct random_buffers {
    uint64_t in, in_from, in_end;    /* addresses; of the output's, in place */
    uint64_t out, out_from, out_end; /* in place the same */
    uint64_t count;                  /* elements */
    uint64_t key;                    /* of the call */
    int32_t dtype, op;
    int32_t fuzzy; /* the plan may sum floats in any order */
} random_buffers_t;

/* What a look at a batch's outputs found. */
typedef struct random_verdict {
    uint64_t wrong;  /* elements, and bytes beyond them */
    uint64_t first;  /* the least call and place: call << 40 | byte from the allocation's start */
    uint64_t digest; /* of all outputs; the same on every rank */
} random_verdict_t;

#define RANDOM_POISON 0xa5
#define RANDOM_NONE UINT64_MAX

RANDOM_FN uint64_t random_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull; /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

RANDOM_FN uint64_t random_bytes_of(int t)
{
    return t == PIPC_I8 || t == PIPC_U8                      ? 1
           : t == PIPC_F16 || t == PIPC_BF16                 ? 2
           : t == PIPC_F32 || t == PIPC_I32 || t == PIPC_U32 ? 4
                                                             : 8;
}

RANDOM_FN int random_is_float(int t)
{
    return t == PIPC_F32 || t == PIPC_F64 || t == PIPC_F16 || t == PIPC_BF16;
}

/* --- bits and values ------------------------------------------------------------------------- */

RANDOM_FN uint64_t random_from_double(double d)
{
    uint64_t u;

    memcpy(&u, &d, sizeof(u));
    return u;
}

RANDOM_FN double random_to_double(uint64_t u)
{
    double d;

    memcpy(&d, &u, sizeof(d));
    return d;
}

RANDOM_FN uint64_t random_from_float(int t, float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof(u));
#ifdef __CUDACC__
    return t == PIPC_F32   ? u
           : t == PIPC_F16 ? __half_as_ushort(__float2half_rn(f))
                           : __bfloat16_as_ushort(__float2bfloat16_rn(f));
#else
    return t == PIPC_F32 ? u : t == PIPC_F16 ? pipc__float_to_half(f) : pipc__float_to_bfloat16(f);
#endif
}

RANDOM_FN float random_to_float(int t, uint64_t bits)
{
    uint32_t u = (uint32_t)bits;
    float f;

    memcpy(&f, &u, sizeof(f));
#ifdef __CUDACC__
    return t == PIPC_F32   ? f
           : t == PIPC_F16 ? __half2float(__ushort_as_half((unsigned short)u))
                           : __bfloat162float(__ushort_as_bfloat16((unsigned short)u));
#else
    return t == PIPC_F32   ? f
           : t == PIPC_F16 ? pipc__half_to_float((uint16_t)u)
                           : pipc__bfloat16_to_float((uint16_t)u);
#endif
}

/* An integer's low bytes, and back with its sign. */
RANDOM_FN int64_t random_to_int(int t, uint64_t bits)
{
    unsigned int shift = 64 - 8 * (unsigned int)random_bytes_of(t);
    int is_signed = t == PIPC_I8 || t == PIPC_I32 || t == PIPC_I64;

    return is_signed ? (int64_t)(bits << shift) >> shift : (int64_t)(bits << shift >> shift);
}

/* --- inputs and results ---------------------------------------------------------------------- */

/* Element @i of rank @rank: any integer; floats of full precision between -8 and 8, so that another
 * order shows, and for products between 0.5 and 1.5, so that they stay in range. */
RANDOM_FN uint64_t random_input(int t, int op, uint64_t key, uint64_t rank, uint64_t i)
{
    uint64_t bits = random_mix(random_mix(key + rank) + i);
    double d = (double)(int64_t)bits * 0x1p-60;

    if (!random_is_float(t))
        return (uint64_t)random_to_int(t, bits);
    if (op == PIPC_PROD)
        d = d < 0 ? d * 0.125 - 0.5 : d * 0.125 + 0.5;
    return t == PIPC_F64 ? random_from_double(d) : random_from_float(t, (float)d);
}

#define RANDOM_REDUCE(op, acc, x)                                                                  \
    ((op) == PIPC_MIN    ? ((x) < (acc) ? (x) : (acc))                                             \
     : (op) == PIPC_MAX  ? ((acc) < (x) ? (x) : (acc))                                             \
     : (op) == PIPC_PROD ? (acc) * (x)                                                             \
                         : (acc) + (x))

RANDOM_FN uint64_t random_double_result(int op, uint64_t key, int n, uint64_t i)
{
    double part = op == PIPC_AVG ? 1.0 / n : 1, acc = 0;

    for (int r = 0; r < n; r++) {
        double x = random_to_double(random_input(PIPC_F64, op, key, (uint64_t)r, i)) * part;
        acc = r ? RANDOM_REDUCE(op, acc, x) : x;
    }
    return random_from_double(acc);
}

RANDOM_FN uint64_t random_float_result(int t, int op, uint64_t key, int n, uint64_t i)
{
    float part = op == PIPC_AVG ? (float)(1.0 / n) : 1, acc = 0;

    for (int r = 0; r < n; r++) {
        float x = random_to_float(t, random_input(t, op, key, (uint64_t)r, i)) * part;
        acc = r ? RANDOM_REDUCE(op, acc, x) : x;
    }
    return random_from_float(t, acc);
}

/* Wrapping: in 64 bits, cut to the type after each step, or what is below the cut would be lost to
 * a comparison and an average. */
RANDOM_FN uint64_t random_int_result(int t, int op, uint64_t key, int n, uint64_t i)
{
    int is_signed = t == PIPC_I8 || t == PIPC_I32 || t == PIPC_I64;
    uint64_t acc = 0;

    for (int r = 0; r < n; r++) {
        uint64_t x = random_input(t, op, key, (uint64_t)r, i);
        if (r && is_signed && (op == PIPC_MIN || op == PIPC_MAX))
            x = (uint64_t)RANDOM_REDUCE(op, (int64_t)acc, (int64_t)x);
        else if (r)
            x = RANDOM_REDUCE(op, acc, x);
        acc = (uint64_t)random_to_int(t, x);
    }
    if (op != PIPC_AVG)
        return acc;
    return is_signed ? (uint64_t)((int64_t)acc / n) : acc / (uint64_t)n;
}

/* What all ranks must have at @i: summed in rank order, rounded once. */
RANDOM_FN uint64_t random_result(int t, int op, uint64_t key, int n, uint64_t i)
{
    if (t == PIPC_F64)
        return random_double_result(op, key, n, i);
    if (random_is_float(t))
        return random_float_result(t, op, key, n, i);
    return random_int_result(t, op, key, n, i);
}

RANDOM_FN int random_same(int t, uint64_t a, uint64_t b)
{
    unsigned int shift = 64 - 8 * (unsigned int)random_bytes_of(t);

    return a << shift == b << shift;
}

/* Right but for roundings, which another order puts elsewhere: at most two a rank, each half a unit
 * in the last place of what is at most the sum of all sizes. */
RANDOM_FN int random_near(int t, int op, uint64_t key, int n, uint64_t i, uint64_t got)
{
    double unit = t == PIPC_F64   ? 0x1p-53
                  : t == PIPC_F32 ? 0x1p-24
                  : t == PIPC_F16 ? 0x1p-11
                                  : 0x1p-8;
    double sum = 0, size = 0, product = 1, is;

    for (int r = 0; r < n; r++) {
        uint64_t bits = random_input(t, op, key, (uint64_t)r, i);
        double x = t == PIPC_F64 ? random_to_double(bits) : (double)random_to_float(t, bits);
        sum += x;
        size += x < 0 ? -x : x;
        product *= x;
    }
    is = t == PIPC_F64 ? random_to_double(got) : (double)random_to_float(t, got);
    if (op == PIPC_AVG)
        sum /= n, size /= n;
    if (op == PIPC_PROD)
        sum = product, size = product < 0 ? -product : product;
    is -= sum;
    return (is < 0 ? -is : is) <= (2 * n + 2) * unit * size + 0x1p-24;
}

RANDOM_FN int random_right(const random_buffers_t *b, int n, uint64_t i, uint64_t got)
{
    int exact = !b->fuzzy || !random_is_float(b->dtype) || b->op == PIPC_MIN || b->op == PIPC_MAX;

    return exact ? random_same(b->dtype, got, random_result(b->dtype, b->op, b->key, n, i))
                 : random_near(b->dtype, b->op, b->key, n, i, got);
}

#endif
