/* tests/unit/bench_results.c - figures of samples, the peer's best, and means of ratios */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/tools/bench/results.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * (1 + fabs(want))))
        fail_msg("%.12g is not %.12g", got, want);
}

static void figures(void **state)
{
    static const struct {
        int turns, per_turn;
        double usec[12];
        double median, least, p99;
    } cases[] = {
        {1, 1, {7}, 7, 7, 7},
        {3, 1, {9, 1, 2}, 2, 1, 9},
        {4, 1, {4, 1, 3, 2}, 2.5, 1, 4},
        /* a turn that was disturbed moves one median of three; over all samples it would be 5.5 */
        {3, 4, {5, 5, 5, 5, 90, 90, 90, 90, 6, 6, 6, 6}, 6, 5, 90},
        /* a sample that was disturbed moves no turn's median, but p99 */
        {2, 3, {1, 2, 80, 3, 2, 1}, 2, 2, 80},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        double usec[12], cpu[12];
        for (int k = 0; k < 12; k++)
            cpu[k] = k;
        memcpy(usec, cases[i].usec, sizeof(usec));
        bench_figures_t f = bench_figures(usec, cpu, cases[i].turns, cases[i].per_turn);
        assert_near(f.usec, cases[i].median);
        assert_near(f.min_usec, cases[i].least);
        assert_near(f.p99_usec, cases[i].p99);
        assert_near(f.cpu_usec, (cases[i].turns * cases[i].per_turn - 1) / 2.0);
    }
}

/* Of 100 samples one may be slower than p99, of 200 two. */
static void p99_leaves_out_one_of_a_hundred(void **state)
{
    double usec[200], cpu[200];

    (void)state;
    for (int n = 100; n <= 200; n += 100) {
        for (int i = 0; i < n; i++)
            usec[i] = cpu[i] = n - i;
        assert_near(bench_figures(usec, cpu, n, 1).p99_usec, n * 0.99);
    }
}

static void the_best_is_the_fastest_that_was_timed(void **state)
{
    bench_cell_t c = {.own = {.usec = 10}};

    (void)state;
    assert_int_equal(bench_best(&c), -1);
    assert_near(bench_ratio(&c, BENCH_BEST), 0);
    assert_near(bench_peer_figures(&c, BENCH_BEST).usec, 0);
    c.peer[1].usec = 30;
    c.peer[4].usec = 15;
    c.peer[5].usec = 20;
    assert_int_equal(bench_best(&c), 4);
    assert_near(bench_ratio(&c, BENCH_BEST), 1.5);
    assert_near(bench_ratio(&c, 1), 3);
    assert_near(bench_ratio(&c, 0), 0);
    c.own.usec = 0;
    assert_near(bench_ratio(&c, BENCH_BEST), 0);
}

static void bandwidths(void **state)
{
    bench_figures_t f = {.usec = 100}, none = {0};

    (void)state;
    assert_near(bench_algbw(&f, 1000000), 10);
    assert_near(bench_busbw(&f, 1000000, 2), 10);
    assert_near(bench_busbw(&f, 1000000, 4), 15);
    assert_near(bench_busbw(&f, 1000000, 1), 0);
    assert_near(bench_algbw(&none, 1000000), 0);
}

static void means_of_ratios(void **state)
{
    static const struct {
        size_t bytes;
        double own, peer;
    } rows[] = {{1024, 1, 2},     {4 << 20, 1, 8},   {8 << 20, 1, 100},
                {16 << 20, 4, 2}, {256 << 20, 1, 2}, {512 << 20, 1, 0}};
    static const struct {
        double mean;
        int sizes;
    } want[BENCH_RANGES] = {{4, 2}, {1, 2}, {4.3734482957731124, 5}}; /* (2 8 100 1/2 2)^(1/5) */
    bench_results_t r = {0, NULL};
    int sizes;

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        bench_result_t one = {.bytes = rows[i].bytes};
        one.row.cell[1].own.usec = rows[i].own;
        one.row.cell[1].peer[3].usec = rows[i].peer;
        assert_true(bench_results_add(&r, &one));
    }
    for (int k = 0; k < BENCH_RANGES; k++) {
        assert_near(bench_mean_ratio(&r, &bench_ranges[k], 1, BENCH_BEST, &sizes), want[k].mean);
        assert_int_equal(sizes, want[k].sizes);
        assert_near(bench_mean_ratio(&r, &bench_ranges[k], 1, 3, &sizes), want[k].mean);
        assert_near(bench_mean_ratio(&r, &bench_ranges[k], 0, BENCH_BEST, &sizes), 0);
        assert_int_equal(sizes, 0);
    }
    free(r.v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures),
        cmocka_unit_test(p99_leaves_out_one_of_a_hundred),
        cmocka_unit_test(the_best_is_the_fastest_that_was_timed),
        cmocka_unit_test(bandwidths),
        cmocka_unit_test(means_of_ratios),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
