/* tools/bench/results.c - see results.h */
#include "runtime/tools/bench/results.h"

#include <math.h>
#include <stdlib.h>

const bench_range_t bench_ranges[BENCH_RANGES] = {
    {"up to 4M", 0, (size_t)4 << 20},
    {"16M to 256M", (size_t)16 << 20, (size_t)256 << 20},
    {"all", 0, SIZE_MAX},
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* The median of medians: what disturbs one turn alone, whatever its length, moves one value. The
 * turns' medians are put at the array's beginning, over samples whose turn is over; p99 wants all
 * of them and comes first. */
bench_figures_t bench_figures(double *usec, double *cpu_usec, int turns, int per_turn)
{
    int n = turns * per_turn;
    double *all = cpu_usec; /* a place for the sorted copy, once the CPU's median is known */
    bench_figures_t f = {.cpu_usec = bench_median(cpu_usec, n), .samples = n};

    for (int i = 0; i < n; i++)
        all[i] = usec[i];
    bench_median(all, n);
    f.p99_usec = all[(99 * n + 99) / 100 - 1];
    for (int t = 0; t < turns; t++)
        usec[t] = bench_median(usec + t * per_turn, per_turn);
    f.usec = bench_median(usec, turns);
    f.min_usec = usec[0];
    return f;
}

bool bench_results_add(bench_results_t *r, const bench_result_t *result)
{
    bench_result_t *more = realloc(r->v, (size_t)(r->n + 1) * sizeof(*more));

    if (!more)
        return false;
    more[r->n] = *result;
    r->v = more;
    r->n++;
    return true;
}

double bench_algbw(const bench_figures_t *f, size_t bytes)
{
    return f->usec > 0 ? (double)bytes / f->usec * 1e-3 : 0;
}

/* nccl-tests, doc/PERFORMANCE.md. */
double bench_busbw(const bench_figures_t *f, size_t bytes, int ranks)
{
    return bench_algbw(f, bytes) * 2 * (ranks - 1) / ranks;
}

int bench_best(const bench_cell_t *c)
{
    int best = -1;

    for (int v = 0; v < BENCH_VARIANTS_MAX; v++)
        if (c->peer[v].usec > 0 && (best < 0 || c->peer[v].usec < c->peer[best].usec))
            best = v;
    return best;
}

bench_figures_t bench_peer_figures(const bench_cell_t *c, int variant)
{
    static const bench_figures_t none;
    int v = variant == BENCH_BEST ? bench_best(c) : variant;

    return v < 0 ? none : c->peer[v];
}

double bench_ratio(const bench_cell_t *c, int variant)
{
    return c->own.usec > 0 ? bench_peer_figures(c, variant).usec / c->own.usec : 0;
}

double bench_mean_ratio(const bench_results_t *r, const bench_range_t *range, int placement,
                        int variant, int *sizes)
{
    double sum = 0;
    int n = 0;

    for (int i = 0; i < r->n; i++) {
        double ratio = bench_ratio(&r->v[i].row.cell[placement], variant);
        if (r->v[i].bytes < range->min_bytes || r->v[i].bytes > range->max_bytes || ratio <= 0)
            continue;
        sum += log(ratio);
        n++;
    }
    *sizes = n;
    return n ? exp(sum / n) : 0;
}
