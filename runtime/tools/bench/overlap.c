/* tools/bench/overlap.c - see overlap.h */
#include "runtime/tools/bench/overlap.h"

#include <stdlib.h>

#include "runtime/tools/bench/fold.h"

#define WAVES_MAX 100000

/* Which of a sample's two sides run. */
enum { CALLS = 1, COMPUTE = 2 };

typedef struct times {
    double calls, compute; /* us */
} times_t;

/* The kernel is launched first: calls are a queue of short kernels, and with the other order the
 * first of them would be over before there is anything beside it. */
static pipc_status_t sample(bench_t *b, const bench_message_t *m, const bench_burst_t *u, int sides,
                            int waves, times_t *t, pipc__error_t *err)
{
    double unused;
    pipc_status_t st = bench_meet(b->comm, err);

    if (!st && (sides & COMPUTE))
        st = b->device.compute(waves, err);
    if (!st && (sides & CALLS))
        st = b->device.begin(err);
    if (!st && (sides & CALLS))
        st = bench_burst_issue(b, m, u, &unused, err);
    if (!st && (sides & CALLS))
        st = b->device.end(&t->calls, err);
    if (!st && (sides & COMPUTE))
        st = b->device.computed(&t->compute, err);
    return st;
}

/* As many waves as take about as long as the burst, on the rank where that is longest. */
static pipc_status_t choose_waves(bench_t *b, const bench_message_t *m, const bench_burst_t *u,
                                  int *waves, pipc__error_t *err)
{
    const int some = 64;
    times_t t = {0, 0};
    pipc_status_t st = PIPC_OK;

    for (int i = 0; !st && i < 2; i++) { /* the first one warms up */
        st = sample(b, m, u, COMPUTE, some, &t, err);
        if (!st)
            st = sample(b, m, u, CALLS, 0, &t, err);
    }
    double want = t.compute > 0 ? t.calls / (t.compute / some) : 1;
    if (!st)
        st = bench_greatest(b->comm, &want, 1, err);
    *waves = want < 1 ? 1 : want > WAVES_MAX ? WAVES_MAX : (int)(want + 0.5);
    return st;
}

/* samples[4][n]: calls alone, compute alone, calls beside, compute beside. */
static pipc_status_t take_samples(bench_t *b, const bench_message_t *m, const bench_burst_t *u,
                                  int waves, double *samples, int n, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    for (int i = 0; !st && i < n; i++) {
        times_t alone = {0, 0}, both = {0, 0};
        st = sample(b, m, u, CALLS, 0, &alone, err);
        if (!st)
            st = sample(b, m, u, COMPUTE, waves, &alone, err);
        if (!st)
            st = sample(b, m, u, CALLS | COMPUTE, waves, &both, err);
        samples[i] = alone.calls;
        samples[n + i] = alone.compute;
        samples[2 * n + i] = both.calls;
        samples[3 * n + i] = both.compute;
    }
    return st ? st : bench_greatest(b->comm, samples, 4 * n, err);
}

pipc_status_t bench_overlap(bench_t *b, const bench_message_t *m, int who, bench_overlap_t *out,
                            pipc__error_t *err)
{
    int n = b->options.iterations, waves = 1;
    double *samples = calloc((size_t)n * 4, sizeof(*samples));
    bench_burst_t u = {0};
    pipc_status_t st = PIPC_OK;

    if (!samples)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d samples; use a smaller -n", n);
    st = bench_burst_open(b, m, who, &u, err);
    if (!st)
        st = choose_waves(b, m, &u, &waves, err);
    if (!st)
        st = take_samples(b, m, &u, waves, samples, n, err);
    if (!st)
        *out =
            (bench_overlap_t){bench_median(samples, n), bench_median(samples + n, n),
                              bench_median(samples + 2 * n, n), bench_median(samples + 3 * n, n)};
    bench_burst_close(b, &u);
    free(samples);
    return st;
}
