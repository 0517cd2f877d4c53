/* tools/bench/plot.c - see plot.h */
#include "runtime/tools/bench/plot.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/outfile.h"
#include "runtime/tools/chart.h"

#define PARTIES_MAX CHART_CURVES_MAX /* own ways, the peer's best, its variants */
#define OWN(k) (-2 - (k))            /* 0 is the run itself; beside BENCH_BEST and variants */

/* The curves' numbers: usec[p * n + i] is party p's time at size i. */
typedef struct curves {
    int n, nparties;
    int party[PARTIES_MAX];
    char name[PARTIES_MAX][64];
    size_t *bytes;
    double *usec, *busbw;
} curves_t;

static void add(curves_t *c, int party, const char *name, const char *more)
{
    if (c->nparties == PARTIES_MAX)
        return;
    c->party[c->nparties] = party;
    snprintf(c->name[c->nparties++], sizeof(c->name[0]), "%s%s", name, more);
}

/* The peer's variants are there once more, thin, where there are several. */
static void choose_parties(const bench_t *b, curves_t *c)
{
    const bench_peer_t *peer = b->options.peer;
    bool several = peer && bench_peer_usable(peer) > 1;

    add(c, OWN(0), "pcie-ipc", "");
    if (peer)
        add(c, BENCH_BEST, peer->name, several ? ", best of all" : "");
    for (int k = 1; k < b->nways; k++)
        add(c, OWN(k), "pcie-ipc ", b->own[k].name);
    for (int v = 0; several && v < peer->variants(); v++)
        if (peer->usable(v)) {
            char name[48];
            snprintf(name, sizeof(name), "%s ", peer->name);
            add(c, v, name, peer->variant(v));
        }
}

static bench_figures_t figures_of(const bench_cell_t *cell, int party)
{
    return party == OWN(0) ? cell->own
           : party < -2    ? cell->beside[-3 - party]
                           : bench_peer_figures(cell, party);
}

static bool take_numbers(const bench_t *b, const bench_results_t *results, curves_t *c)
{
    size_t all = (size_t)c->nparties * (size_t)results->n;

    c->n = results->n;
    c->bytes = calloc((size_t)c->n, sizeof(*c->bytes));
    c->usec = calloc(all, sizeof(*c->usec));
    c->busbw = calloc(all, sizeof(*c->busbw));
    if (!c->bytes || !c->usec || !c->busbw)
        return false;
    for (int i = 0; i < c->n; i++)
        for (int p = 0; p < c->nparties; p++) {
            const bench_result_t *r = &results->v[i];
            const bench_cell_t *cell = &r->row.cell[0];
            bench_figures_t f = figures_of(cell, c->party[p]);
            c->bytes[i] = r->bytes;
            c->usec[p * c->n + i] = f.usec;
            c->busbw[p * c->n + i] = bench_busbw(&f, r->bytes, b->comm->size);
        }
    return true;
}

static void draw(const bench_t *b, const bench_results_t *results, const curves_t *c, FILE *out)
{
    const bench_options_t *o = &b->options;
    char title[256], limit[48];
    chart_t chart = {.title = title, .n = c->n, .bytes = c->bytes, .npanels = 2};
    chart_panel_t *bw = &chart.panel[0], *time = &chart.panel[1];

    snprintf(title, sizeof(title), "AllReduce of %d ranks on %s, %s %s, out of place%s%s%s%s",
             b->comm->size, b->device.name, pipc_dtype_string(results->v[0].dtype),
             pipc_redop_string(results->v[0].op), o->graph ? ", in graphs" : "",
             b->comm->recs[0].path == PIPC_PATH_HOST ? ", through host memory" : "",
             o->peer ? "; " : "", o->peer ? o->peer->version() : "");
    snprintf(limit, sizeof(limit), "limit %g GB/s", o->limit_gbps);
    *bw = (chart_panel_t){
        .unit = "GB/s", .what = "busbw", .limit = o->limit_gbps, .limit_name = limit};
    *time = (chart_panel_t){.unit = "us", .what = "time of a call", .logarithmic = true};
    for (int p = 0; p < c->nparties; p++) {
        bool faint = c->party[p] >= 0;
        bw->curve[bw->ncurves++] = (chart_curve_t){c->name[p], c->busbw + p * c->n, faint};
        time->curve[time->ncurves++] = (chart_curve_t){c->name[p], c->usec + p * c->n, faint};
    }
    chart_svg(&chart, out);
}

static pipc_status_t write_file(const bench_t *b, const bench_results_t *results, const curves_t *c,
                                pipc__error_t *err)
{
    pipc__outfile_t out;
    pipc_status_t st = pipc__outfile_open(&out, b->options.plot_path, 0, err);

    if (st)
        return st;
    draw(b, results, c, out.f);
    return pipc__outfile_close(&out, err);
}

pipc_status_t bench_plot(const bench_t *b, const bench_results_t *results, pipc__error_t *err)
{
    curves_t c = {0};
    pipc_status_t st;

    if (!b->options.plot_path || !results->n)
        return PIPC_OK;
    choose_parties(b, &c);
    st = take_numbers(b, results, &c) ? write_file(b, results, &c, err)
                                      : pipc__fail(err, PIPC_ERR_NOMEM, "no memory for --plot");
    free(c.bytes);
    free(c.usec);
    free(c.busbw);
    return st;
}
