/* tests/unit/reduce.c - special values: what NCCL makes of them on a GPU, as tables of bits.
 *
 * From NCCL's device functions: minimum and maximum are those of PTX (a lone NaN is dropped, -0 is
 * less than +0), a float's average multiplies each input by 1/n and adds, integers wrap, an integer
 * average divides the wrapped sum towards zero. tests/gpu/nccl_values compares with NCCL itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/exec/reduce_table.h"

#define NAN32 0x7fc00000
#define NAN64 0x7ff8000000000000
#define NAN16 0x7e00 /* f16 */
#define NANB 0x7fc0  /* bf16 */

typedef struct row {
    pipc_redop_t op;
    uint64_t a, b, want; /* bits */
} row_t;

static const row_t rows_f32[] = {
    {PIPC_SUM, NAN32, 0x3f800000, NAN32},
    {PIPC_SUM, 0x7f800000, 0xff800000, NAN32},      /* inf - inf */
    {PIPC_SUM, 0x80000000, 0x80000000, 0x80000000}, /* -0 + -0 */
    {PIPC_SUM, 0x80000000, 0x00000000, 0x00000000}, /* -0 + +0 */
    {PIPC_SUM, 0x00000001, 0x00000001, 0x00000002}, /* subnormals are not flushed */
    {PIPC_SUM, 0x007fffff, 0x00000001, 0x00800000}, /* to the least normal */
    {PIPC_SUM, 0x7f7fffff, 0x7f7fffff, 0x7f800000}, /* overflow */
    {PIPC_PROD, 0x7f800000, 0x00000000, NAN32},     /* inf times 0 */
    {PIPC_PROD, 0x80000000, 0x3f800000, 0x80000000},
    {PIPC_PROD, 0x00800000, 0x3f000000, 0x00400000}, /* into the subnormals */
    {PIPC_PROD, 0x7f7fffff, 0xc0000000, 0xff800000},
    {PIPC_MIN, NAN32, 0x3f800000, 0x3f800000},
    {PIPC_MIN, 0x3f800000, NAN32, 0x3f800000},
    {PIPC_MIN, NAN32, NAN32, NAN32},
    {PIPC_MIN, NAN32, 0x7f800000, 0x7f800000},
    {PIPC_MIN, 0x00000000, 0x80000000, 0x80000000},
    {PIPC_MIN, 0x80000000, 0x00000000, 0x80000000},
    {PIPC_MIN, 0x00000001, 0x00000002, 0x00000001},
    {PIPC_MIN, 0xff800000, 0xff7fffff, 0xff800000},
    {PIPC_MAX, NAN32, 0xbf800000, 0xbf800000},
    {PIPC_MAX, 0xbf800000, NAN32, 0xbf800000},
    {PIPC_MAX, NAN32, NAN32, NAN32},
    {PIPC_MAX, 0x00000000, 0x80000000, 0x00000000},
    {PIPC_MAX, 0x80000000, 0x00000000, 0x00000000},
    {PIPC_MAX, 0x80000001, 0x80000002, 0x80000001},
    {PIPC_AVG, 0x7f7fffff, 0x7f7fffff, 0x7f7fffff}, /* scaled first: no overflow */
    {PIPC_AVG, 0x00000001, 0x00000001, 0x00000000}, /* half of it rounds to 0, twice */
    {PIPC_AVG, 0x00000003, 0x00000000, 0x00000002}, /* 1.5 of it ties to even */
    {PIPC_AVG, 0x80000000, 0x80000000, 0x80000000},
    {PIPC_AVG, NAN32, 0x3f800000, NAN32},
};
static const row_t rows_f64[] = {
    {PIPC_SUM, 0x7fefffffffffffff, 0x7fefffffffffffff, 0x7ff0000000000000},
    {PIPC_SUM, 1, 1, 2},
    {PIPC_PROD, 0x0010000000000000, 0x3fe0000000000000, 0x0008000000000000},
    {PIPC_MIN, NAN64, 0x3ff0000000000000, 0x3ff0000000000000},
    {PIPC_MIN, 0, 0x8000000000000000, 0x8000000000000000},
    {PIPC_MIN, 0x8000000000000000, 0, 0x8000000000000000},
    {PIPC_MAX, 0x3ff0000000000000, NAN64, 0x3ff0000000000000},
    {PIPC_MAX, 0x8000000000000000, 0, 0},
    {PIPC_MAX, NAN64, NAN64, NAN64},
    {PIPC_AVG, 0x7fefffffffffffff, 0x7fefffffffffffff, 0x7fefffffffffffff},
    {PIPC_AVG, 3, 0, 2},
};
static const row_t rows_f16[] = {
    {PIPC_SUM, NAN16, 0x3c00, NAN16},
    {PIPC_SUM, 0x7bff, 0x7bff, 0x7c00},
    {PIPC_SUM, 0x7bff, 0x4c00, 0x7c00}, /* 65504 + 16: the tie goes to infinity */
    {PIPC_SUM, 0x7bff, 0x4bff, 0x7bff}, /* a little less does not */
    {PIPC_SUM, 0x0001, 0x03ff, 0x0400},
    {PIPC_SUM, 0x8000, 0x8000, 0x8000},
    {PIPC_PROD, 0x0400, 0x3800, 0x0200},
    {PIPC_PROD, 0x0001, 0x3800, 0x0000}, /* half of the least: to even */
    {PIPC_MIN, NAN16, 0x3c00, 0x3c00},
    {PIPC_MIN, 0x0000, 0x8000, 0x8000},
    {PIPC_MAX, 0x3c00, NAN16, 0x3c00},
    {PIPC_MAX, 0x8000, 0x0000, 0x0000},
    {PIPC_MAX, NAN16, NAN16, NAN16},
    {PIPC_AVG, 0x7bff, 0x7bff, 0x7bff},
    {PIPC_AVG, 0x0001, 0x0001, 0x0001}, /* on purpose not NCCL's 0, which rounds each half of it */
};
static const row_t rows_bf16[] = {
    {PIPC_SUM, NANB, 0x3f80, NANB},      {PIPC_SUM, 0x7f7f, 0x7f7f, 0x7f80},
    {PIPC_SUM, 0x3f80, 0x3b80, 0x3f80}, /* 1 + 2^-8: the tie goes to even */
    {PIPC_SUM, 0x3f81, 0x3b80, 0x3f82},  {PIPC_SUM, 0x0001, 0x007f, 0x0080},
    {PIPC_PROD, 0x0080, 0x3f00, 0x0040}, {PIPC_MIN, NANB, 0x3f80, 0x3f80},
    {PIPC_MIN, 0x0000, 0x8000, 0x8000},  {PIPC_MAX, 0x3f80, NANB, 0x3f80},
    {PIPC_MAX, 0xbf80, 0xc000, 0xbf80},  {PIPC_AVG, 0x7f7f, 0x7f7f, 0x7f7f},
    {PIPC_AVG, 0x0001, 0x0001, 0x0001}, /* as for f16 */
};
static const row_t rows_i8[] = {
    {PIPC_SUM, 127, 1, 0x80},      {PIPC_SUM, 0x80, 0x80, 0},   {PIPC_PROD, 16, 16, 0},
    {PIPC_PROD, 0xff, 0x80, 0x80}, {PIPC_MIN, 0x80, 127, 0x80}, {PIPC_MAX, 0x80, 0xff, 0xff},
    {PIPC_AVG, 127, 1, 0xc0},      {PIPC_AVG, 0xff, 0, 0},      {PIPC_AVG, 0xfd, 0, 0xff},
    {PIPC_AVG, 0x80, 0, 0xc0},
};
static const row_t rows_u8[] = {
    {PIPC_SUM, 255, 1, 0},      {PIPC_PROD, 16, 17, 16},   {PIPC_MIN, 0x80, 127, 127},
    {PIPC_MAX, 0x80, 127, 128}, {PIPC_AVG, 255, 255, 127}, {PIPC_AVG, 255, 0, 127},
};
static const row_t rows_i32[] = {
    {PIPC_SUM, 0x7fffffff, 1, 0x80000000},
    {PIPC_SUM, 0x80000000, 0x80000000, 0},
    {PIPC_PROD, 0x80000000, 0xffffffff, 0x80000000},
    {PIPC_MIN, 0x80000000, 0x7fffffff, 0x80000000},
    {PIPC_MAX, 0x80000000, 0xffffffff, 0xffffffff},
    {PIPC_AVG, 0x80000000, 0x80000000, 0}, /* the sum wraps */
    {PIPC_AVG, 0x80000000, 0, 0xc0000000},
    {PIPC_AVG, 0xffffffff, 0, 0},                   /* -1 / 2 */
    {PIPC_AVG, 0xfffffffd, 0, 0xffffffff},          /* -3 / 2 */
    {PIPC_AVG, 0x7fffffff, 0x7fffffff, 0xffffffff}, /* wraps to -2 */
};
static const row_t rows_u32[] = {
    {PIPC_SUM, 0xffffffff, 1, 0},
    {PIPC_PROD, 0x10000, 0x10001, 0x10000},
    {PIPC_MIN, 0x80000000, 0x7fffffff, 0x7fffffff},
    {PIPC_MAX, 0x80000000, 0x7fffffff, 0x80000000},
    {PIPC_AVG, 0xffffffff, 0, 0x7fffffff},
    {PIPC_AVG, 0xffffffff, 0xffffffff, 0x7fffffff},
};
static const row_t rows_i64[] = {
    {PIPC_SUM, INT64_MAX, 1, (uint64_t)INT64_MIN},
    {PIPC_PROD, (uint64_t)INT64_MIN, UINT64_MAX, (uint64_t)INT64_MIN},
    {PIPC_MIN, (uint64_t)INT64_MIN, 0, (uint64_t)INT64_MIN},
    {PIPC_MAX, (uint64_t)INT64_MIN, UINT64_MAX, UINT64_MAX},
    {PIPC_AVG, (uint64_t)INT64_MIN, 0, 0xc000000000000000},
    {PIPC_AVG, UINT64_MAX, 0, 0},
};
static const row_t rows_u64[] = {
    {PIPC_SUM, UINT64_MAX, 1, 0},         {PIPC_PROD, 1ull << 32, 1ull << 32, 0},
    {PIPC_MIN, 1ull << 63, 1, 1},         {PIPC_MAX, 1ull << 63, 1, 1ull << 63},
    {PIPC_AVG, UINT64_MAX, 0, INT64_MAX},
};

#define TABLE(rows) rows, sizeof(rows) / sizeof((rows)[0])
static const struct {
    const row_t *rows;
    size_t n;
    uint64_t infinity; /* magnitudes above are NaN; 0: an integer */
} tables[PIPC_DTYPE_COUNT] = {
    [PIPC_F32] = {TABLE(rows_f32), 0x7f800000},
    [PIPC_F64] = {TABLE(rows_f64), 0x7ff0000000000000},
    [PIPC_F16] = {TABLE(rows_f16), 0x7c00},
    [PIPC_BF16] = {TABLE(rows_bf16), 0x7f80},
    [PIPC_I8] = {TABLE(rows_i8), 0},
    [PIPC_U8] = {TABLE(rows_u8), 0},
    [PIPC_I32] = {TABLE(rows_i32), 0},
    [PIPC_U32] = {TABLE(rows_u32), 0},
    [PIPC_I64] = {TABLE(rows_i64), 0},
    [PIPC_U64] = {TABLE(rows_u64), 0},
};

/* NaNs of any sign and payload are one. */
static uint64_t canonical(pipc_dtype_t t, uint64_t bits)
{
    uint64_t sign = 1ull << (8 * pipc_dtype_bytes(t) - 1);

    return tables[t].infinity && (bits & ~sign) > tables[t].infinity ? sign * 2 - 1 : bits;
}

static void check_row(pipc_dtype_t t, const row_t *row)
{
    const void *src[2] = {&row->a, &row->b};
    pipc__reduction_t how = {t, row->op, 2, 2, 3, true};
    uint64_t got = 0;

    pipc__reduce(&how, &got, src, 1); /* little-endian: the low bytes come first */
    if (canonical(t, got) != canonical(t, row->want))
        fail_msg("%s of %s: %llx and %llx gave %llx, not %llx", pipc_redop_string(row->op),
                 pipc_dtype_string(t), (unsigned long long)row->a, (unsigned long long)row->b,
                 (unsigned long long)got, (unsigned long long)row->want);
}

static void special_values_are_nccls(void **state)
{
    (void)state;
    for (int t = 0; t < PIPC_DTYPE_COUNT; t++)
        for (size_t i = 0; i < tables[t].n; i++)
            check_row((pipc_dtype_t)t, &tables[t].rows[i]);
}

/* --- three ranks: order, one rounding, where pre- and post-op belong ----------------------------
 */

static void small_floats_round_once(void **state)
{
    /* 1 + 2^-11 + 2^-11: rounding at each step would stay at 1 */
    static const uint16_t f16[3] = {0x3c00, 0x1000, 0x1000}, bf16[3] = {0x3f80, 0x3b80, 0x3b80};
    const void *a[3] = {&f16[0], &f16[1], &f16[2]}, *b[3] = {&bf16[0], &bf16[1], &bf16[2]};
    uint16_t got;

    (void)state;
    pipc__reduce(&(pipc__reduction_t){PIPC_F16, PIPC_SUM, 3, 3, 7, true}, &got, a, 1);
    assert_int_equal(got, 0x3c01);
    pipc__reduce(&(pipc__reduction_t){PIPC_BF16, PIPC_SUM, 3, 3, 7, true}, &got, b, 1);
    assert_int_equal(got, 0x3f81);
}

static void the_order_is_from_left_to_right(void **state)
{
    static const float v[3] = {1e30f, -1e30f, 1};
    const void *left[3] = {&v[0], &v[1], &v[2]}, *right[3] = {&v[2], &v[0], &v[1]};
    float got;

    (void)state;
    pipc__reduce(&(pipc__reduction_t){PIPC_F32, PIPC_SUM, 3, 3, 7, true}, &got, left, 1);
    assert_true(got == 1);
    pipc__reduce(&(pipc__reduction_t){PIPC_F32, PIPC_SUM, 3, 3, 7, true}, &got, right, 1);
    assert_true(got == 0);
}

static void pre_and_post_are_applied_where_the_plan_says(void **state)
{
    static const float f[2] = {8, 4};
    static const int32_t k[2] = {9, -20};
    const void *fs[2] = {&f[0], &f[1]}, *ks[2] = {&k[0], &k[1]};
    float sum;
    int32_t total;

    (void)state;
    pipc__reduce(&(pipc__reduction_t){PIPC_F32, PIPC_AVG, 4, 2, 2, false}, &sum, fs, 1);
    assert_true(sum == 9); /* a partial result and an input */
    pipc__reduce(&(pipc__reduction_t){PIPC_F32, PIPC_AVG, 4, 2, 0, true}, &sum, fs, 1);
    assert_true(sum == 12);
    pipc__reduce(&(pipc__reduction_t){PIPC_I32, PIPC_AVG, 4, 2, 3, false}, &total, ks, 1);
    assert_int_equal(total, -11);
    pipc__reduce(&(pipc__reduction_t){PIPC_I32, PIPC_AVG, 4, 2, 2, true}, &total, ks, 1);
    assert_int_equal(total, -2);
    pipc__reduce(&(pipc__reduction_t){PIPC_I32, PIPC_SUM, 4, 2, 3, true}, &total, ks, 1);
    assert_int_equal(total, -11);
}

static void a_destination_may_be_a_source(void **state)
{
    static char raw[3][8 * 5000 + 9];

    (void)state;
    for (int t = 0; t < PIPC_DTYPE_COUNT; t++) {
        size_t elem = pipc_dtype_bytes((pipc_dtype_t)t), n = 4999;
        const void *src[2] = {raw[0] + 1, raw[1] + 3};
        for (size_t i = 0; i < sizeof(raw[0]); i++) {
            raw[0][i] = (char)(i * 7 % 60);
            raw[1][i] = (char)(i * 5 % 60);
        }
        pipc__reduction_t how = {(pipc_dtype_t)t, PIPC_SUM, 2, 2, 3, true};
        pipc__reduce(&how, raw[2] + 5, src, n);
        pipc__reduce(&how, raw[0] + 1, src, n);
        assert_memory_equal(raw[0] + 1, raw[2] + 5, n * elem);
    }
}

/* --- levels of the processor ------------------------------------------------------------------ */

static uint64_t random_bits(uint64_t i)
{
    uint64_t x = i * 0x9e3779b97f4a7c15ull + 1;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull; /* splitmix64's finaliser */
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* Element @i of @a, NaNs made one. */
static uint64_t element(pipc_dtype_t t, const char *a, size_t i)
{
    size_t elem = pipc_dtype_bytes(t);
    uint64_t bits = 0;

    memcpy(&bits, a + i * elem, elem);
    return canonical(t, bits);
}

#define ODD 1013 /* elements: whole vectors of any width and a rest */

static void compare_levels(pipc_dtype_t t, pipc_redop_t op, int nsrc)
{
    static char raw[PIPC__RANKS_MAX][8 * ODD + 16], base[8 * ODD], best[8 * ODD + 1];
    pipc__reduction_t how = {t, op, nsrc, nsrc, 0x5555, nsrc % 2};
    const void *src[PIPC__RANKS_MAX];

    for (int k = 0; k < nsrc; k++) {
        src[k] = raw[k] + k;
        for (size_t i = 0; i < ODD; i++) {
            uint64_t bits = random_bits(i + ODD * (size_t)k);
            memcpy(raw[k] + k + i * pipc_dtype_bytes(t), &bits, pipc_dtype_bytes(t));
        }
    }
    pipc__reduce_base.fn[t][op](&how, base, src, ODD);
    pipc__reduce_best()->fn[t][op](&how, best + 1, src, ODD);
    for (size_t i = 0; i < ODD; i++)
        if (element(t, base, i) != element(t, best + 1, i))
            fail_msg("%s of %d %s, element %zu", pipc_redop_string(op), nsrc, pipc_dtype_string(t),
                     i);
}

static void every_level_gives_the_same_bits(void **state)
{
    (void)state;
    for (int t = 0; t < PIPC_DTYPE_COUNT; t++)
        for (int op = 0; op < PIPC_REDOP_COUNT; op++)
            for (int nsrc = 1; nsrc <= PIPC__RANKS_MAX; nsrc += nsrc < 4 ? 1 : 6)
                compare_levels((pipc_dtype_t)t, (pipc_redop_t)op, nsrc);
}

static uint16_t product(pipc_dtype_t t, uint16_t a, uint16_t b)
{
    if (t == PIPC_F16)
        return pipc__float_to_half(pipc__half_to_float(a) * pipc__half_to_float(b));
    return pipc__float_to_bfloat16(pipc__bfloat16_to_float(a) * pipc__bfloat16_to_float(b));
}

/* Products of all numbers with random ones: subnormals, ties and overflow are among them.
 * Instructions that convert must do what base/half.h does. */
static void small_floats_are_converted_as_base_does(void **state)
{
    static uint16_t a[65536], b[65536], got[65536];
    const void *src[2] = {a, b};

    (void)state;
    for (int t = PIPC_F16; t != -1; t = t == PIPC_F16 ? PIPC_BF16 : -1)
        for (uint64_t turn = 0; turn < 64; turn++) {
            pipc__reduction_t how = {(pipc_dtype_t)t, PIPC_PROD, 2, 2, 3, true};
            for (size_t i = 0; i < 65536; i++) {
                a[i] = (uint16_t)i;
                b[i] = (uint16_t)random_bits(turn << 16 | i);
            }
            pipc__reduce(&how, got, src, 65536);
            for (size_t i = 0; i < 65536; i++) {
                uint64_t want = canonical((pipc_dtype_t)t, product((pipc_dtype_t)t, a[i], b[i]));
                if (canonical((pipc_dtype_t)t, got[i]) != want)
                    fail_msg("%s: %x times %x gave %x", pipc_dtype_string((pipc_dtype_t)t), a[i],
                             b[i], got[i]);
            }
        }
}

/* So many ranks that their number is none of the type: no division by what is left of it. */
static void an_average_of_many_ranks_divides_by_all_of_them(void **state)
{
    static const int ranks[] = {127, 128, 255, 256, 16384};
    int8_t i8[3] = {-128, 127, -127};
    uint8_t u8[3] = {255, 254, 0};

    (void)state;
    for (int i = 0; i < 5; i++) {
        pipc__reduction_t how = {PIPC_I8, PIPC_AVG, ranks[i], 1, 0, true};
        const void *src[] = {i8};
        int8_t got[3];
        uint8_t ugot[3];
        pipc__reduce(&how, got, src, 3);
        how.dtype = PIPC_U8;
        src[0] = u8;
        pipc__reduce(&how, ugot, src, 3);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(got[k], i8[k] / ranks[i]);
            assert_int_equal(ugot[k], u8[k] / ranks[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_values_are_nccls),
        cmocka_unit_test(small_floats_round_once),
        cmocka_unit_test(the_order_is_from_left_to_right),
        cmocka_unit_test(pre_and_post_are_applied_where_the_plan_says),
        cmocka_unit_test(a_destination_may_be_a_source),
        cmocka_unit_test(an_average_of_many_ranks_divides_by_all_of_them),
        cmocka_unit_test(every_level_gives_the_same_bits),
        cmocka_unit_test(small_floats_are_converted_as_base_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
