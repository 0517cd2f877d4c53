/* tools/bench/nodes.c - rows of several nodes become one: bench_slowest_node(). See measure.h */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/tools/bench/measure.h"

static void merge_usec(double *into, double from)
{
    if (from > *into)
        *into = from;
}

static void merge_figures(bench_figures_t *into, const bench_figures_t *from)
{
    merge_usec(&into->usec, from->usec);
    merge_usec(&into->min_usec, from->min_usec);
    merge_usec(&into->p99_usec, from->p99_usec);
    merge_usec(&into->cpu_usec, from->cpu_usec);
    if (from->samples > into->samples)
        into->samples = from->samples;
}

/* Rails join nodes inside of a communicator; here each node has one of its own. */
static void merge_cell(bench_cell_t *into, const bench_cell_t *from)
{
    merge_figures(&into->own, &from->own);
    for (int k = 0; k < BENCH_BESIDE_MAX; k++)
        merge_figures(&into->beside[k], &from->beside[k]);
    for (int v = 0; v < BENCH_VARIANTS_MAX; v++)
        merge_figures(&into->peer[v], &from->peer[v]);
    into->wrong += from->wrong;
}

static void merge_overlap(bench_overlap_t *into, const bench_overlap_t *from)
{
    merge_usec(&into->calls_alone, from->calls_alone);
    merge_usec(&into->calls_beside, from->calls_beside);
    merge_usec(&into->compute_alone, from->compute_alone);
    merge_usec(&into->compute_beside, from->compute_beside);
}

/* What a node lacks has no time of the job. */
static void drop_unmeasured(bench_cell_t *into, const bench_cell_t *from)
{
    for (int v = 0; v < BENCH_VARIANTS_MAX; v++)
        if (from->peer[v].usec <= 0)
            into->peer[v] = (bench_figures_t){0};
    for (int k = 0; k < BENCH_BESIDE_MAX; k++)
        if (from->beside[k].usec <= 0)
            into->beside[k] = (bench_figures_t){0};
}

static void merge_rows(bench_row_t *into, const bench_row_t *all, int n)
{
    memset(into, 0, sizeof(*into));
    for (int r = 0; r < n; r++)
        for (int i = 0; i < 2; i++) {
            merge_cell(&into->cell[i], &all[r].cell[i]);
            merge_overlap(&into->overlap[i], &all[r].overlap[i]);
        }
    for (int r = 0; r < n; r++)
        for (int i = 0; i < 2; i++)
            drop_unmeasured(&into->cell[i], &all[r].cell[i]);
}

#ifdef HAVE_PMIX
static pipc_status_t exchange_rows(bench_row_t *mine, pipc__error_t *err)
{
    pipc__xchg_t *x;
    pipc__group_t g;
    pipc_status_t st = pipc__xchg_pmix.open(&x, NULL, &g, err);

    if (st)
        return st;
    bench_row_t *all = calloc((size_t)g.size, sizeof(*all));
    st = all ? pipc__xchg_pmix.exchange(x, mine, sizeof(*mine), all, err)
             : pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d rows", g.size);
    pipc__xchg_pmix.close(x);
    if (!st)
        merge_rows(mine, all, g.size);
    free(all);
    return st;
}
#else
static pipc_status_t exchange_rows(bench_row_t *mine, pipc__error_t *err)
{
    (void)mine;
    (void)merge_rows;
    return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "built without PMIx");
}
#endif

pipc_status_t bench_slowest_node(const bench_t *b, bench_row_t *row, pipc__error_t *err)
{
    if (b->comm->recs[0].size == b->comm->size)
        return PIPC_OK;
    /* Every rank of a node has the same row: let one of them count the wrong values. */
    for (int i = 0; i < 2 && b->comm->rank > 0; i++)
        row->cell[i].wrong = 0;
    return exchange_rows(row, err);
}
