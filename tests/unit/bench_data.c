/* tests/unit/bench_data.c - the benchmark's exact inputs have the results that it expects, in any
 * order of reduction and with every partial result rounded; and a wrong element is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/exec/reduce.h"
#include "runtime/tools/bench/data.h"

#define RANKS 16
#define COUNT 2000

static char in[RANKS][8 * COUNT], out[8 * COUNT];

static void reduce_direct(pipc_dtype_t t, pipc_redop_t op, int n)
{
    pipc__reduction_t how = {t, op, n, n, (1u << n) - 1, true};
    const void *src[RANKS];

    for (int r = 0; r < n; r++)
        src[r] = in[r];
    pipc__reduce(&how, out, src, COUNT);
}

/* From rank @first on, round the ring. */
static void reduce_ring(pipc_dtype_t t, pipc_redop_t op, int n, int first)
{
    const void *src[2] = {in[first], NULL};

    for (int k = 1; k < n; k++) {
        pipc__reduction_t how = {t, op, n, 2, k == 1 ? 3 : 2, k == n - 1};
        src[1] = in[(first + k) % n];
        pipc__reduce(&how, out, src, COUNT);
        src[0] = out;
    }
}

static void check(pipc_dtype_t t, pipc_redop_t op, int n, const char *how)
{
    uint64_t wrong = bench_count_wrong(out, COUNT, t, op, n);

    if (wrong)
        fail_msg("%s of %s, %d ranks, %s: %d wrong", pipc_redop_string(op), pipc_dtype_string(t), n,
                 how, (int)wrong);
}

static void check_combination(pipc_dtype_t t, pipc_redop_t op, int n)
{
    for (int r = 0; r < n; r++)
        bench_fill(in[r], COUNT, t, op, BENCH_EXACT, r, n);
    reduce_direct(t, op, n);
    check(t, op, n, "direct");
    for (int first = 0; n > 1 && first < n; first += 3) {
        reduce_ring(t, op, n, first);
        check(t, op, n, "ring");
    }
    out[pipc_dtype_bytes(t) * (COUNT - 1)] ^= 1;
    assert_int_equal(bench_count_wrong(out, COUNT, t, op, n), 1);
}

static void exact_inputs_have_the_expected_results(void **state)
{
    static const int ranks[] = {1, 2, 3, 4, 5, 7, 8, 11, 13, 16};

    (void)state;
    for (int t = 0; t < PIPC_DTYPE_COUNT; t++)
        for (int op = 0; op < PIPC_REDOP_COUNT; op++)
            for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
                check_combination((pipc_dtype_t)t, (pipc_redop_t)op, ranks[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_inputs_have_the_expected_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
