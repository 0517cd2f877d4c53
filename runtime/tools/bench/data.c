/* tools/bench/data.c - see data.h */
#include "runtime/tools/bench/data.h"

#include <string.h>

#include "runtime/base/bfloat16.h"
#include "runtime/base/half.h"

typedef union period {
    float f[BENCH_PERIOD];
    double d[BENCH_PERIOD];
    uint16_t h[BENCH_PERIOD];
    uint8_t b[BENCH_PERIOD];
    uint32_t u[BENCH_PERIOD];
    uint64_t w[BENCH_PERIOD];
} period_t;

static int is_signed(pipc_dtype_t t)
{
    return t == PIPC_I8 || t == PIPC_I32 || t == PIPC_I64;
}

static int is_unsigned(pipc_dtype_t t)
{
    return t == PIPC_U8 || t == PIPC_U32 || t == PIPC_U64;
}

/* Integers so small that every partial result of 16 ranks is exact in 8 bits of mantissa; none is
 * negative where the type can't be. Factors are 1, 2, 3 and 6, and no more than four of 16 ranks
 * have a 2 and two a 3: a product never becomes 0. A float's average multiplies by 1/n, which is
 * not exact for most n: there one rank alone, another one for each element, has not 0. */
static int exact_value(size_t i, pipc_dtype_t t, pipc_redop_t op, int rank, int nranks)
{
    size_t at = i + (size_t)rank;
    int v = (int)((i * 7 + (size_t)rank * 13) % 31) - 15;

    if (op == PIPC_PROD) {
        v = (at % 4 ? 1 : 2) * ((i / 4 + (size_t)rank) % 8 ? 1 : 3);
        return !is_unsigned(t) && (at * 5 + i / 3) % 2 ? -v : v;
    }
    if (op == PIPC_AVG && !is_signed(t) && !is_unsigned(t))
        return at % (size_t)nranks ? 0 : v + 16;
    return is_unsigned(t) ? v + 15 : v;
}

static uint64_t random_bits(size_t i, int rank)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull ^ (uint64_t)(rank + 1) * 0xd1342543de82ef95ull;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull; /* splitmix64's finaliser */
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Element @i is @d in a float type, @w, cut to its width, in an integer type. */
static void put(period_t *p, size_t i, pipc_dtype_t dtype, double d, uint64_t w)
{
    size_t elem = pipc_dtype_bytes(dtype);

    if (dtype == PIPC_F32)
        p->f[i] = (float)d;
    else if (dtype == PIPC_F64)
        p->d[i] = d;
    else if (dtype == PIPC_F16)
        p->h[i] = pipc__float_to_half((float)d);
    else if (dtype == PIPC_BF16)
        p->h[i] = pipc__float_to_bfloat16((float)d);
    else if (elem == 1)
        p->b[i] = (uint8_t)w;
    else if (elem == 4)
        p->u[i] = (uint32_t)w;
    else
        p->w[i] = w;
}

static void make_period(period_t *p, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                        bench_pattern_t pattern, int rank, int nranks)
{
    for (size_t i = 0; i < BENCH_PERIOD && i < count; i++) {
        uint64_t bits = random_bits(i, rank);
        int v = exact_value(i, dtype, op, rank, nranks);
        if (pattern == BENCH_EXACT)
            put(p, i, dtype, v, (uint64_t)(int64_t)v);
        else
            put(p, i, dtype, (double)(int64_t)bits * 0x1p-60, bits); /* -8 .. 8, all bits */
    }
}

void bench_fill(void *dst, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                bench_pattern_t pattern, int rank, int nranks)
{
    static period_t p;
    size_t elem = pipc_dtype_bytes(dtype);

    make_period(&p, count, dtype, op, pattern, rank, nranks);
    for (size_t i = 0; i < count; i += BENCH_PERIOD)
        memcpy((char *)dst + i * elem, &p,
               (count - i < BENCH_PERIOD ? count - i : BENCH_PERIOD) * elem);
}

/* An integer's average: the sum as the type can hold it, divided towards zero. */
static int64_t average(int64_t sum, pipc_dtype_t dtype, int nranks)
{
    unsigned int shift = 64 - 8 * (unsigned int)pipc_dtype_bytes(dtype);

    if (is_signed(dtype))
        return ((int64_t)((uint64_t)sum << shift) >> shift) / nranks;
    return (int64_t)(((uint64_t)sum << shift >> shift) / (uint64_t)nranks);
}

/* What a float's average makes of its one input; a product of binary32, where those accumulate. */
static double scaled(int64_t v, pipc_dtype_t dtype, int nranks)
{
    return dtype == PIPC_F64 ? (double)v * (1.0 / nranks)
                             : (double)((float)v * (float)(1.0 / nranks));
}

static int64_t exact_result(size_t i, pipc_dtype_t dtype, pipc_redop_t op, int nranks)
{
    int64_t acc = exact_value(i, dtype, op, 0, nranks);

    for (int r = 1; r < nranks; r++) {
        int v = exact_value(i, dtype, op, r, nranks);
        if (op == PIPC_PROD)
            acc *= v;
        else if (op == PIPC_MIN || op == PIPC_MAX)
            acc = (v < acc) == (op == PIPC_MIN) ? v : acc;
        else
            acc += v;
    }
    if (op == PIPC_AVG && (is_signed(dtype) || is_unsigned(dtype)))
        acc = average(acc, dtype, nranks);
    return acc;
}

uint64_t bench_count_wrong(const void *out, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                           int nranks)
{
    static period_t want;
    size_t elem = pipc_dtype_bytes(dtype);
    uint64_t wrong = 0;

    for (size_t i = 0; i < BENCH_PERIOD && i < count; i++) {
        int64_t v = exact_result(i, dtype, op, nranks);
        put(&want, i, dtype, op == PIPC_AVG ? scaled(v, dtype, nranks) : (double)v, (uint64_t)v);
    }
    for (size_t i = 0; i < count; i += BENCH_PERIOD) {
        size_t n = count - i < BENCH_PERIOD ? count - i : BENCH_PERIOD;
        const char *got = (const char *)out + i * elem;
        if (!memcmp(got, &want, n * elem))
            continue;
        for (size_t k = 0; k < n; k++)
            wrong += memcmp(got + k * elem, (const char *)&want + k * elem, elem) != 0;
    }
    return wrong;
}
