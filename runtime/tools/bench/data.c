/* tools/bench/data.c - see data.h */
#include "runtime/tools/bench/data.h"

#include <string.h>

#include "runtime/base/half.h"

typedef union period {
    float f[BENCH_PERIOD];
    uint16_t h[BENCH_PERIOD];
    uint32_t u[BENCH_PERIOD];
} period_t;

static int exact_value(size_t i, int rank)
{
    return (int)((i * 7 + (size_t)rank * 13) % 31) - 15; /* 16 ranks: at most 240, exact in f16 */
}

static uint32_t random_bits(size_t i, int rank)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull ^ (uint64_t)(rank + 1) * 0xd1342543de82ef95ull;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull; /* splitmix64's finaliser */
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((x ^ x >> 31) >> 16);
}

static void put(period_t *p, size_t i, pipc_dtype_t dtype, float f, uint32_t u)
{
    if (dtype == PIPC_F32)
        p->f[i] = f;
    else if (dtype == PIPC_F16)
        p->h[i] = pipc__float_to_half(f);
    else
        p->u[i] = u;
}

static void make_period(period_t *p, pipc_dtype_t dtype, bench_pattern_t pattern, int rank)
{
    for (size_t i = 0; i < BENCH_PERIOD; i++) {
        uint32_t bits = random_bits(i, rank);
        int v = exact_value(i, rank);
        if (pattern == BENCH_EXACT)
            put(p, i, dtype, (float)v, (uint32_t)v);
        else
            put(p, i, dtype, (float)(int32_t)bits * 0x1p-28f, bits); /* -8 .. 8, 24 bits */
    }
}

void bench_fill(void *dst, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                bench_pattern_t pattern, int rank, int nranks)
{
    static period_t p;
    size_t elem = pipc_dtype_bytes(dtype);

    (void)op; /* sums alone so far; the values stay small for any number of ranks */
    (void)nranks;
    make_period(&p, dtype, pattern, rank);
    for (size_t i = 0; i < count; i += BENCH_PERIOD)
        memcpy((char *)dst + i * elem, &p, (count - i < BENCH_PERIOD ? count - i : BENCH_PERIOD) * elem);
}

uint64_t bench_count_wrong(const void *out, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                           int nranks)
{
    static period_t want;
    size_t elem = pipc_dtype_bytes(dtype);
    uint64_t wrong = 0;

    (void)op;
    for (size_t i = 0; i < BENCH_PERIOD; i++) {
        int sum = 0;
        for (int r = 0; r < nranks; r++)
            sum += exact_value(i, r);
        put(&want, i, dtype, (float)sum, (uint32_t)sum);
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
