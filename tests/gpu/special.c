/* tests/gpu/special.c - see special.h */
#include "tests/gpu/special.h"

#include <math.h>
#include <string.h>

#include "runtime/base/bfloat16.h"
#include "runtime/base/half.h"
#include "runtime/exec/reduce.h"

typedef struct format {
    unsigned int mantissa; /* bits of it; 0: an integer */
    uint64_t infinity;
} format_t;

static const format_t formats[PIPC_DTYPE_COUNT] = {
    [PIPC_F32] = {23, 0x7f800000},
    [PIPC_F64] = {52, 0x7ff0000000000000},
    [PIPC_F16] = {10, 0x7c00},
    [PIPC_BF16] = {7, 0x7f80},
};

static uint64_t sign_of(pipc_dtype_t t)
{
    return 1ull << (8 * pipc_dtype_bytes(t) - 1);
}

/* Magnitudes; each stands with either sign. */
static size_t float_specials(pipc_dtype_t t, uint64_t *v)
{
    uint64_t inf = formats[t].infinity, unit = 1ull << formats[t].mantissa;
    uint64_t one = (inf >> 1) / unit * unit; /* exponent 0 */
    const uint64_t magnitudes[] = {
        0, /* zero */
        1,
        2,
        3,
        unit - 1, /* the least subnormals, the greatest */
        unit,
        unit + 1, /* the least normals */
        one,
        one + 1,               /* 1 and a little more */
        one + unit + unit / 2, /* 3 */
        inf - unit,
        inf - 1, /* the greatest power of two, the greatest finite */
        inf,
        inf + unit / 2, /* infinity, a quiet NaN */
    };
    size_t n = sizeof(magnitudes) / sizeof(magnitudes[0]);

    for (size_t i = 0; i < n; i++) {
        v[2 * i] = magnitudes[i];
        v[2 * i + 1] = magnitudes[i] | sign_of(t);
    }
    return 2 * n;
}

static size_t integer_specials(pipc_dtype_t t, uint64_t *v)
{
    uint64_t top = sign_of(t);
    const uint64_t values[] = {0,           1,           2,           3,          5,
                               top - 1,     top - 2,     top,         top + 1,    top / 2,
                               top / 2 + 1, top * 2 - 1, top * 2 - 2, top * 2 - 3};
    size_t n = sizeof(values) / sizeof(values[0]);

    memcpy(v, values, sizeof(values));
    return n;
}

static uint64_t random_bits(size_t i, int rank)
{
    uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull ^ (uint64_t)(rank + 1) * 0xd1342543de82ef95ull;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull; /* splitmix64's finaliser */
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

size_t special_fill(void *dst, pipc_dtype_t t, int rank)
{
    uint64_t v[32];
    size_t n = formats[t].mantissa ? float_specials(t, v) : integer_specials(t, v);
    size_t elem = pipc_dtype_bytes(t);

    for (size_t i = 0; i < SPECIAL_PERIOD; i++) {
        uint64_t bits = i >= n * n ? random_bits(i, rank) : v[rank ? i / n : i % n];
        memcpy((char *)dst + i * elem, &bits, elem); /* little-endian */
    }
    return n * n;
}

void special_expect(void *dst, pipc_dtype_t t, pipc_redop_t op)
{
    static char in[2][8 * SPECIAL_PERIOD];
    const void *src[2] = {in[0], in[1]};
    pipc__reduction_t how = {t, op, 2, 2, 3, true};

    special_fill(in[0], t, 0);
    special_fill(in[1], t, 1);
    pipc__reduce(&how, dst, src, SPECIAL_PERIOD);
}

static uint64_t load(const void *p, pipc_dtype_t t)
{
    uint64_t bits = 0;

    memcpy(&bits, p, pipc_dtype_bytes(t));
    return bits;
}

static bool is_nan(pipc_dtype_t t, uint64_t bits)
{
    return formats[t].mantissa && (bits & ~sign_of(t)) > formats[t].infinity;
}

bool special_same(const void *a, const void *b, pipc_dtype_t t)
{
    uint64_t x = load(a, t), y = load(b, t);

    return x == y || (is_nan(t, x) && is_nan(t, y));
}

static double to_double(pipc_dtype_t t, uint64_t bits)
{
    double d;
    float f;
    uint32_t low = (uint32_t)bits;

    memcpy(&d, &bits, sizeof(d));
    memcpy(&f, &low, sizeof(f));
    return t == PIPC_F64   ? d
           : t == PIPC_F32 ? f
           : t == PIPC_F16 ? pipc__half_to_float((uint16_t)bits)
                           : pipc__bfloat16_to_float((uint16_t)bits);
}

/* Of a binary32, for the types up to it. */
static uint64_t to_bits(pipc_dtype_t t, float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return t == PIPC_F16    ? pipc__float_to_half(f)
           : t == PIPC_BF16 ? pipc__float_to_bfloat16(f)
                            : bits;
}

/* @fused: the input whose product is fused with the sum, or -1. */
static uint64_t nccl_average(pipc_dtype_t t, const double x[2], int fused)
{
    double half[2], d;
    uint64_t bits;
    float f;

    for (int r = 0; r < 2; r++) {
        d = x[r] * 0.5;
        half[r] = t == PIPC_F64 ? d : to_double(t, to_bits(t, (float)d));
    }
    d = fused < 0 ? half[0] + half[1] : fma(x[fused], 0.5, half[!fused]);
    f = fused < 0 ? (float)half[0] + (float)half[1]
                  : fmaf((float)x[fused], 0.5f, (float)half[!fused]);
    memcpy(&bits, &d, sizeof(bits));
    return t == PIPC_F64 ? bits : to_bits(t, f);
}

bool special_is_nccl_average(const void *nccl, pipc_dtype_t t, size_t i)
{
    static char in[2][8 * SPECIAL_PERIOD];
    static pipc_dtype_t have = PIPC_DTYPE_COUNT;
    double x[2];
    bool is = false;

    for (int r = 0; r < 2; r++) {
        if (have != t)
            special_fill(in[r], t, r);
        x[r] = to_double(t, load(in[r] + i * pipc_dtype_bytes(t), t));
    }
    have = t;
    for (int fused = -1; formats[t].mantissa && fused < 2; fused++) {
        uint64_t bits = nccl_average(t, x, fused);
        is |= special_same(nccl, &bits, t);
    }
    return is;
}
