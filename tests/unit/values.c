/* tests/unit/values.c - see values.h */
#include "tests/unit/values.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/bfloat16.h"
#include "runtime/base/half.h"

/* A value of any type: f64 in d; f32, f16 and bf16 in f; integers in u, sign-extended. */
typedef struct number {
    double d;
    float f;
    uint64_t u;
} number_t;

static bool is_float(pipc_dtype_t t)
{
    return t == PIPC_F32 || t == PIPC_F64 || t == PIPC_F16 || t == PIPC_BF16;
}

static bool is_signed(pipc_dtype_t t)
{
    return t == PIPC_I8 || t == PIPC_I32 || t == PIPC_I64;
}

static uint64_t random_bits(size_t i, int rank, unsigned int call)
{
    uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15ull + (uint64_t)rank * 0xd1342543de82ef95ull +
                 (uint64_t)call * 0xaf251af3b0f025b5ull + 1;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull; /* splitmix64's finaliser */
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* As the element's bits say: cut to the type's precision or width. */
static number_t cut(pipc_dtype_t t, number_t v)
{
    unsigned int shift = 64 - 8 * (unsigned int)pipc_dtype_bytes(t);

    if (t == PIPC_F16)
        v.f = pipc__half_to_float(pipc__float_to_half(v.f));
    else if (t == PIPC_BF16)
        v.f = pipc__bfloat16_to_float(pipc__float_to_bfloat16(v.f));
    else if (!is_float(t))
        v.u = is_signed(t) ? (uint64_t)((int64_t)(v.u << shift) >> shift) : v.u << shift >> shift;
    return v;
}

static number_t input(size_t i, pipc_dtype_t t, pipc_redop_t op, int rank, unsigned int call)
{
    uint64_t bits = random_bits(i, rank, call);
    number_t v = {.u = bits};

    v.d = (double)(int64_t)bits * 0x1p-60; /* -8 .. 8 */
    if (op == PIPC_PROD)                   /* 0.5 .. 1.5 either side: 16 of them stay in range */
        v.d = copysign(0.5 + fabs(v.d) * 0.125, v.d);
    v.f = (float)v.d;
    return cut(t, v);
}

static void put(void *dst, pipc_dtype_t t, number_t v)
{
    uint16_t h = t == PIPC_F16 ? pipc__float_to_half(v.f) : pipc__float_to_bfloat16(v.f);

    if (t == PIPC_F64)
        memcpy(dst, &v.d, 8);
    else if (t == PIPC_F32)
        memcpy(dst, &v.f, 4);
    else if (is_float(t))
        memcpy(dst, &h, 2);
    else
        memcpy(dst, &v.u, pipc_dtype_bytes(t)); /* little-endian, as every GPU host */
}

static number_t both(pipc_dtype_t t, pipc_redop_t op, number_t a, number_t b)
{
    bool less = is_float(t)    ? (t == PIPC_F64 ? b.d < a.d : b.f < a.f)
                : is_signed(t) ? (int64_t)b.u < (int64_t)a.u
                               : b.u < a.u;

    if (op == PIPC_MIN || op == PIPC_MAX)
        return less == (op == PIPC_MIN) ? b : a;
    if (op == PIPC_PROD)
        return (number_t){a.d * b.d, a.f * b.f, a.u * b.u};
    return (number_t){a.d + b.d, a.f + b.f, a.u + b.u};
}

/* Element @i reduced from rank @first on, round the ring. */
static void expect(void *dst, size_t i, pipc_dtype_t t, pipc_redop_t op, int nranks,
                   unsigned int call, int first, bool round_each)
{
    number_t acc = {0, 0, 0};

    for (int k = 0; k < nranks; k++) {
        number_t x = input(i, t, op, (first + k) % nranks, call);
        if (op == PIPC_AVG) {
            x.d *= 1.0 / nranks;
            x.f *= (float)(1.0 / nranks);
        }
        acc = k ? both(t, op, acc, x) : x;
        if (!is_float(t) || (round_each && k))
            acc = cut(t, acc);
    }
    if (op == PIPC_AVG)
        acc.u = is_signed(t) ? (uint64_t)((int64_t)acc.u / nranks) : acc.u / (uint64_t)nranks;
    put(dst, t, acc);
}

void test_fill(void *dst, size_t count, pipc_dtype_t dtype, pipc_redop_t op, int rank,
               unsigned int call)
{
    for (size_t i = 0; i < count; i++)
        put((char *)dst + i * pipc_dtype_bytes(dtype), dtype, input(i, dtype, op, rank, call));
}

/* --- any order ---------------------------------------------------------------------------------
 */

static double value(pipc_dtype_t t, const void *from)
{
    uint16_t h;
    float f;
    double d;

    if (t == PIPC_F64)
        return memcpy(&d, from, 8), d;
    if (t == PIPC_F32)
        return memcpy(&f, from, 4), (double)f;
    memcpy(&h, from, 2);
    return (double)(t == PIPC_F16 ? pipc__half_to_float(h) : pipc__bfloat16_to_float(h));
}

/* One rounding in the type, of a value of size 1. */
static double rounding(pipc_dtype_t t)
{
    return t == PIPC_F64 ? 0x1p-53 : t == PIPC_F32 ? 0x1p-24 : t == PIPC_F16 ? 0x1p-11 : 0x1p-8;
}

/* Is a float's sum, product or average right but for roundings? Each rank's value may cost two, and
 * no partial result is larger than the sum of all sizes. */
static bool is_near(const void *got, size_t i, pipc_dtype_t t, pipc_redop_t op, int nranks,
                    unsigned int call)
{
    double sum = 0, size = 0, product = 1;

    for (int r = 0; r < nranks; r++) {
        number_t x = input(i, t, op, r, call);
        double v = t == PIPC_F64 ? x.d : (double)x.f;
        sum += v;
        size += fabs(v);
        product *= v;
    }
    if (op == PIPC_AVG) {
        sum /= nranks;
        size /= nranks;
    }
    if (op == PIPC_PROD) {
        sum = product;
        size = fabs(product);
    }
    return fabs(value(t, got) - sum) <= (2 * nranks + 2) * rounding(t) * size + 0x1p-24;
}

static bool is_exact(const void *got, size_t i, pipc_dtype_t t, pipc_redop_t op, int nranks,
                     unsigned int call, int first, bool round_each)
{
    char want[8];

    expect(want, i, t, op, nranks, call, first, round_each);
    return !memcmp(want, got, pipc_dtype_bytes(t));
}

size_t test_wrong(const void *got, size_t first, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                  int nranks, unsigned int call, test_order_t order)
{
    const char *at = got;
    bool near = order == TEST_ANY && is_float(dtype) && op != PIPC_MIN && op != PIPC_MAX;
    bool ring = order == TEST_RING;
    int start = 0; /* of the element before: mostly of this one, too */

    for (size_t i = 0; i < count; i++, at += pipc_dtype_bytes(dtype)) {
        int tried = 0, most = ring ? nranks : 1;
        if (near && is_near(at, first + i, dtype, op, nranks, call))
            continue;
        while (!near && tried < most &&
               !is_exact(at, first + i, dtype, op, nranks, call, start, ring)) {
            start = ring ? (start + 1) % nranks : 0;
            tried++;
        }
        if (near || tried == most)
            return i;
    }
    return count;
}
