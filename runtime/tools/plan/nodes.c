/* tools/plan/nodes.c - --nodes: the plan over 2, 4, 8 ... nodes, beside what knows no nodes */
#include <jansson.h>
#include <stdio.h>

#include "runtime/tools/chart.h"
#include "runtime/tools/plan/plan.h"

#define ROWS_MAX 11 /* 2 to 1024, and the number that was asked for */

typedef struct row {
    int nodes, kind;
    pipc__sim_result_t result;
    double ring, ring_nic, tree, tree_nic; /* us, and bytes of a NIC */
} row_t;

/* A rank's link, as its GPU's is; of processes on cores what copies take. */
static double link_rate(const plan_machine_t *m, double bytes)
{
    return m->fabric->profile == PIPC__PROFILE_CPU
               ? 1e9 * pipc__curve_at(&m->fabric->exec.copy_gbps, bytes)
               : pipc__pcie_rate(&m->costs, (int)(m->costs.speed_gts * 1000), (int)m->costs.width);
}

/* Is @kind to be looked at? nodes-lean where it is asked for alone: no shipped table has it. */
static bool is_wanted(const plan_wants_t *w, int kind)
{
    return w->kind >= 0 ? w->kind == kind : kind != PIPC__NODES_LEAN;
}

/* The faster one of the plans over @nodes nodes. */
static pipc_status_t fill_row(row_t *row, const plan_machine_t *m, const plan_wants_t *w,
                              const plan_set_t *set, int nodes, pipc__error_t *err)
{
    const pipc__sim_net_t net = pipc__sim_net(&m->costs, nodes);
    int n = m->binding.nranks;

    *row = (row_t){.nodes = nodes, .kind = -1};
    for (int k = PIPC__PLAN_KINDS_LOCAL; k < PIPC__PLAN_KINDS; k++) {
        pipc__sim_result_t result;
        if (!set->of[k].plan || !is_wanted(w, k))
            continue;
        pipc__sim_call_t call = plan_call(w, set->of[k].plan, w->bytes);
        call.net = &net;
        pipc_status_t st = pipc__simulate(&result, m->fabric, &call, err);
        if (st)
            return st;
        pipc__sim_release(&result); /* the links of the node are for --simulate without nodes */
        if (row->kind >= 0 && result.usec >= row->result.usec)
            continue;
        row->result = result;
        row->kind = k;
    }
    if (row->kind < 0)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "--plan: %s is for one node; use nodes, nodes-one "
                          "or nodes-lean",
                          pipc__plan_name((pipc__plan_kind_t)w->kind));
    double bytes = (double)w->bytes, link = link_rate(m, bytes);
    row->ring = 1e6 * pipc__sim_flat_ring(&net, n, link, bytes, &row->ring_nic);
    row->tree = 1e6 * pipc__sim_flat_doubling(&net, n, link, bytes, &row->tree_nic);
    return PIPC_OK;
}

/* ---- what is printed ------------------------------------------------------------------------- */

static void print_rows(const row_t *row, int n, const plan_machine_t *m, const plan_wants_t *w)
{
    char size[16];

    printf("%s of each of %d ranks a node on %s, profile %s; NICs of %g GB/s, %g us a message, one "
           "for "
           "%g rank%s; costs %s\n",
           plan_size_text(w->bytes, size), m->binding.nranks, m->topo->source,
           pipc__profile_name(m->fabric->profile), m->costs.nic_gbps, m->costs.nic_usec,
           m->costs.nic_ranks, m->costs.nic_ranks > 1 ? "s" : "", m->costs_from);
    printf("%-6s %-10s %11s %8s %11s %5s  %11s %11s  %11s %11s\n", "nodes", "plan", "us", "busbw",
           "NIC MB", "busy", "flat ring", "NIC MB", "flat log2", "NIC MB");
    for (int i = 0; i < n; i++)
        printf("%-6d %-10s %11.1f %8.2f %11.3f %3.0f %%  %11.1f %11.3f  %11.1f %11.3f\n",
               row[i].nodes, pipc__plan_name((pipc__plan_kind_t)row[i].kind), row[i].result.usec,
               row[i].result.busbw, row[i].result.nic_bytes * 1e-6, 100 * row[i].result.nic_busy,
               row[i].ring, row[i].ring_nic * 1e-6, row[i].tree, row[i].tree_nic * 1e-6);
}

static int print_json(const row_t *row, int n, const plan_machine_t *m, const plan_wants_t *w)
{
    json_t *rows = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(
            rows,
            json_pack("{s:i, s:s, s:f, s:f, s:f, s:f, s:{s:f, s:f}, s:{s:f, s:f}}", "nodes",
                      row[i].nodes, "plan", pipc__plan_name((pipc__plan_kind_t)row[i].kind), "usec",
                      row[i].result.usec, "busbw_gbps", row[i].result.busbw, "nic_bytes",
                      row[i].result.nic_bytes, "nic_busy", row[i].result.nic_busy, "flat_ring",
                      "usec", row[i].ring, "nic_bytes", row[i].ring_nic, "flat_log2", "usec",
                      row[i].tree, "nic_bytes", row[i].tree_nic));
    json_t *o = json_pack("{s:i, s:i, s:I, s:o}", "version", 1, "ranks", m->binding.nranks, "bytes",
                          (json_int_t)w->bytes, "rows", rows);
    int failed = !o || json_dumpf(o, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    printf("\n");
    json_decref(o);
    return failed ? PLAN_UNREADABLE : 0;
}

static int write_svg(const row_t *row, int n, const plan_machine_t *m, const plan_wants_t *w)
{
    size_t nodes[ROWS_MAX];
    double y[3][ROWS_MAX];
    char title[160], size[16];
    pipc__error_t err;
    chart_t c = {.title = title, .axis = "nodes", .n = n, .bytes = nodes, .npanels = 1};
    chart_panel_t *p = &c.panel[0];
    FILE *f = fopen(w->svg, "we");

    snprintf(title, sizeof(title), "all-reduce of %s, nodes of %d ranks%s%.60s",
             plan_size_text(w->bytes, size), m->binding.nranks, w->source.text ? ", " : "",
             w->source.text ? w->source.text : "");
    for (int i = 0; i < n; i++) {
        nodes[i] = (size_t)row[i].nodes;
        y[0][i] = row[i].result.usec;
        y[1][i] = row[i].ring;
        y[2][i] = row[i].tree;
    }
    *p = (chart_panel_t){.unit = "us", .what = "predicted time", .logarithmic = true, .ncurves = 3};
    p->curve[0] = (chart_curve_t){"nodes", y[0], false};
    p->curve[1] = (chart_curve_t){"flat ring", y[1], true};
    p->curve[2] = (chart_curve_t){"flat log2", y[2], true};
    if (f)
        chart_svg(&c, f);
    if (!f || ferror(f) || fclose(f)) {
        pipc__fail_errno(&err, "--svg %s", w->svg);
        return plan_error(&err, PLAN_UNREADABLE);
    }
    return 0;
}

int plan_nodes(const plan_machine_t *m, const plan_wants_t *w)
{
    pipc__error_t err = {PIPC_OK, ""};
    plan_set_t set;
    row_t row[ROWS_MAX];
    int n = 0, status = 0;
    pipc_status_t st = plan_set_make(&set, m, w->collective, &err);

    for (int nodes = w->action == PLAN_SIMULATE ? w->nodes : 2; !st && nodes && n < ROWS_MAX;
         nodes = nodes == w->nodes      ? 0
                 : 2 * nodes < w->nodes ? 2 * nodes
                                        : w->nodes)
        st = fill_row(&row[n++], m, w, &set, nodes, &err);
    plan_set_free(&set);
    if (st)
        return plan_error(&err, PLAN_REFUSED);
    if (w->svg)
        status = write_svg(row, n, m, w);
    if (!status && w->json)
        status = print_json(row, n, m, w);
    else if (!status)
        print_rows(row, n, m, w);
    return status;
}
