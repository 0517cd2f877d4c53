/* tests/unit/bench_overlap.c - calls beside compute: as many waves as take about as long as the
 * calls, what runs alone and what beside, and which is launched first; on a device whose times are
 * known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/tools/bench/overlap.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define WAVE_USEC 10.0

/* A burst takes calls_usec, a wave WAVE_USEC; beside each other 1.5 and 1.25 times as long. */
static double calls_usec;
static int waves, most_waves; /* of the kernel that runs, 0: none; of any */
static bool calls_run;        /* between begin and end */
static int beside, wrong_order;

static pipc_status_t compute(int n, pipc__error_t *err)
{
    (void)err;
    wrong_order += calls_run;
    waves = n;
    if (n > most_waves)
        most_waves = n;
    return PIPC_OK;
}

static pipc_status_t computed(double *usec, pipc__error_t *err)
{
    (void)err;
    *usec = waves * WAVE_USEC * (calls_run ? 1.25 : 1);
    waves = 0;
    calls_run = false;
    return PIPC_OK;
}

static pipc_status_t begin(pipc__error_t *err)
{
    (void)err;
    calls_run = true;
    beside += waves > 0;
    return PIPC_OK;
}

/* Beside a kernel the calls stay marked as run until that is asked for its time. */
static pipc_status_t end(double *usec, pipc__error_t *err)
{
    (void)err;
    *usec = calls_usec * (waves ? 1.5 : 1);
    calls_run = waves > 0;
    return PIPC_OK;
}

static int alone(void *ctx, const void *mine, size_t bytes, void *all)
{
    (void)ctx;
    memcpy(all, mine, bytes);
    return 0;
}

static void waves_fit_the_calls(void **state)
{
    static const pipc_callbacks_t callbacks = {sizeof(callbacks), 0, 1, alone, NULL};
    static const struct {
        double calls_usec;
        int waves; /* more than the 64 of the first try, or those */
    } cases[] = {{1, 1}, {16, 2}, {640, 64}, {1234, 123}, {5e5, 50000}, {5e7, 100000}};
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;
    float send[4] = {0}, recv[4];
    bench_t b = {.options = {.iterations = 3}, .send = send, .recv = recv};
    bench_message_t m = {4, sizeof(send), PIPC_F32, PIPC_SUM, false};

    (void)state;
    config.backend = PIPC_BACKEND_CPU;
    config.callbacks = &callbacks;
    assert_int_equal(pipc_comm_create(&b.comm, &config), PIPC_OK);
    b.device =
        (bench_device_t){.begin = begin, .end = end, .compute = compute, .computed = computed};
    for (size_t i = 0; i < COUNT(cases); i++) {
        bench_overlap_t o;
        pipc__error_t err;
        calls_usec = cases[i].calls_usec;
        most_waves = beside = wrong_order = 0;
        assert_int_equal(bench_overlap(&b, &m, BENCH_OWN, &o, &err), PIPC_OK);
        assert_int_equal((int)(o.compute_alone / WAVE_USEC + 0.5), cases[i].waves);
        assert_int_equal(most_waves, cases[i].waves > 64 ? cases[i].waves : 64);
        assert_true(o.calls_alone == calls_usec);
        assert_true(o.calls_beside == calls_usec * 1.5);
        assert_true(o.compute_beside == o.compute_alone * 1.25);
        assert_int_equal(beside, b.options.iterations);
        assert_int_equal(wrong_order, 0);
    }
    pipc_comm_destroy(b.comm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(waves_fit_the_calls)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
