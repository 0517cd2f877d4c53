/* tools/bench/table.c - see table.h */
#include "config.h"

#include "runtime/tools/bench/table.h"

#include <stdio.h>

#include "runtime/comm/plans.h"
#include "runtime/tools/bench/beside.h"
#include "runtime/tune/file.h"

const char *bench_choice_name(const bench_t *b, size_t bytes)
{
    return pipc__comm_choice_name(b->comm, bytes, b->options.graph > 0);
}

#define RAIL_ENDS 8 /* that are printed of a rail */

/* --- head ------------------------------------------------------------------------------------- */

static void print_ranks(const bench_t *b)
{
    const pipc__record_t *r = b->comm->recs;

    for (int i = 0; i < b->comm->local_size; i++)
        printf("#  rank %3d  pid %7d  on %s%s%s\n", r[i].rank, r[i].pid, r[i].host,
               r[i].bdf[0] ? "  GPU " : "", r[i].bdf);
}

/* How the ranks stand, as plans see it, and by which memory they reach each other. */
static void print_shape(const bench_t *b)
{
    char text[128];

    printf("#  groups  %s%s\n", pipc__plans_describe(&b->comm->shape, text, sizeof(text)),
           b->comm->recs[0].path == PIPC_PATH_HOST ? "  path host" : "");
    if (b->comm->local_size > 1)
        printf("#  paths  %s\n", pipc__paths_describe(&b->comm->paths, text, sizeof(text)));
}

/* The rails between nodes: their ends, and by which device each goes. */
static void print_rails(const bench_t *b)
{
    const pipc__rails_t *r = &b->comm->rails;
    char text[128];

    if (!pipc__rails_needed(r))
        return;
    printf("#  nodes  %s; created in %.1f ms\n", pipc__rails_describe(r, text, sizeof(text)),
           b->create_usec * 1e-3);
    for (int l = 0; l < r->nodes.nrails; l++) {
        printf("#  rail %2d ", l);
        for (int node = 0; node < r->nodes.n && node < RAIL_ENDS; node++) {
            const pipc__rail_end_t *e = &r->end[node * r->nodes.nrails + l];
            printf("%s rank %d on %s (%s)", node ? " -" : "", e->rank, e->host,
                   *e->nic ? e->nic : "any device");
        }
        printf("%s\n", r->nodes.n > RAIL_ENDS ? "  - ..." : "");
    }
}

static void print_choices(const bench_t *b)
{
    const bench_options_t *o = &b->options;

    if (o->sms)
        printf("#  SMs  %s\n", o->sms);
    if (o->overlap)
        printf("#  overlap  beside blocks of %d threads, 1024 FMAs each; a wave is %d blocks\n",
               b->device.wave_threads, b->device.wave_blocks);
    for (int v = 0; o->peer && v < o->peer->variants(); v++)
        if (o->peer->why_not(v))
            printf("#  %s %s is not timed: %s\n", o->peer->name, o->peer->variant(v),
                   o->peer->why_not(v));
}

static void print_columns(const bench_t *b)
{
    const char *peer = b->options.peer ? b->options.peer->name : NULL;
    bool several = peer && bench_peer_usable(b->options.peer) > 1;

    printf("#\n#%56s %33s %33s %17s %17s%s\n", "", "out-of-place            ",
           "in-place              ", "p99      ", "CPU time    ",
           peer ? "  peer, and its time / ours: out, in" : "");
    printf("#%12s %12s %8s %6s %14s", "size", "count", "type", "redop", "plan");
    for (int i = 0; i < 2; i++)
        printf(" %9s %7s %7s %7s", "time", "algbw", "busbw", "#wrong");
    printf(" %8s %8s %8s %8s", "out", "in", "out", "in");
    for (int i = 0; peer && i < 2; i++)
        printf(several ? " %9s %6s %-12s" : " %9s %6s", peer, "ratio", "best");
    printf("\n#%12s %12s %8s %6s %14s", "(B)", "(elements)", "", "", "");
    for (int i = 0; i < 2; i++)
        printf(" %9s %7s %7s %7s", "(us)", "(GB/s)", "(GB/s)", "");
    printf(" %8s %8s %8s %8s", "(us)", "(us)", "(us)", "(us)");
    for (int i = 0; peer && i < 2; i++)
        printf(several ? " %9s %6s %12s" : " %9s %6s", "(us)", i ? "in" : "out", "");
    printf("\n");
}

void bench_print_head(const bench_t *b)
{
    const bench_options_t *o = &b->options;

    printf("# pcie-ipc-bench %s  backend %s  ranks %d of %d%s  minbytes %zu maxbytes %zu",
           PACKAGE_VERSION, b->device.name, b->comm->size, b->comm->recs[0].size,
           o->per_node ? " (one communicator a node)" : "", o->min_bytes, o->max_bytes);
    if (o->step_bytes)
        printf(" step %zu (bytes)", o->step_bytes);
    else
        printf(" step %d (factor)", o->factor);
    printf("  warmup %d iters %d", o->warmup, o->iterations);
    if (o->rounds)
        printf(" rounds %d", o->rounds);
    printf("  check %d", o->check);
    if (o->graph)
        printf("  graph replays %d", o->graph);
    if (o->time_msec)
        printf("  time %d ms", o->time_msec);
    if (o->drop > 0)
        printf("  drop %g", o->drop);
    if (o->burst)
        printf("  burst %d", o->burst);
    if (o->burst_bytes)
        printf("  burst of %zu bytes", o->burst_bytes);
    printf("%s%s\n", o->peer ? "  peer " : "", o->peer ? o->peer->version() : "");
    print_ranks(b);
    print_shape(b);
    print_rails(b);
    print_choices(b);
    print_columns(b);
    fflush(stdout);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void print_peer(const bench_t *b, const bench_cell_t *c)
{
    const bench_peer_t *peer = b->options.peer;
    int best = bench_best(c);

    if (best < 0)
        printf(" %9s %6s", "N/A", "N/A");
    else
        printf(" %9.2f %6.2f", c->peer[best].usec, bench_ratio(c, best));
    if (bench_peer_usable(peer) > 1)
        printf(" %-12s", best < 0 ? "N/A" : peer->variant(best));
}

static void print_overlap(const char *who, const char *variant, const bench_overlap_t *o)
{
    if (o->calls_alone <= 0 || o->compute_alone <= 0)
        return;
    printf("#   overlap  %-22s calls %.2f us alone, %.2f beside (x %.3f); compute %.2f us alone, "
           "%.2f beside (x %.3f)\n",
           variant ? variant : who, o->calls_alone, o->calls_beside,
           o->calls_beside / o->calls_alone, o->compute_alone, o->compute_beside,
           o->compute_beside / o->compute_alone);
}

/* Each of --beside: what it does at this size, and its time against ours. */
static void print_beside(const bench_t *b, const bench_result_t *r)
{
    char text[PIPC__CHOICE_TEXT];

    for (int k = 0; k < b->nways - 1; k++) {
        pipc__choice_t choice = bench_beside_choice(b, BENCH_BESIDE(k), r->bytes);
        printf("#   beside  %-22s %-20s", b->own[k + 1].name, pipc__choice_text(choice, text));
        for (int i = 0; i < 2; i++) {
            const bench_cell_t *c = &r->row.cell[i];
            if (c->beside[k].usec > 0)
                printf("  %s %.2f us (x %.2f)", i ? "in" : "out", c->beside[k].usec,
                       c->beside[k].usec / c->own.usec);
            else
                printf("  %s -", i ? "in" : "out");
        }
        printf("\n");
    }
}

/* Where the time over nodes goes. */
static void print_rail_times(const bench_cell_t *cell)
{
    if (cell[0].rails.busy_usec <= 0)
        return;
    printf("#   nodes ");
    for (int i = 0; i < 2; i++)
        printf("%s %s intra %.2f us, inter %.2f us, rail busy %.2f us", i ? ";" : "",
               i ? "in" : "out", cell[i].rails.intra_usec, cell[i].rails.inter_usec,
               cell[i].rails.busy_usec);
    printf("\n");
}

void bench_print_row(const bench_t *b, const bench_result_t *r)
{
    const bench_cell_t *c = r->row.cell;
    int best = bench_best(&c[0]);
    char name[48];

    printf(" %12zu %12zu %8s %6s %14s", r->bytes, r->count, pipc_dtype_string(r->dtype),
           pipc_redop_string(r->op), bench_choice_name(b, r->bytes));
    for (int i = 0; i < 2; i++) {
        printf(" %9.2f %7.2f %7.2f", c[i].own.usec, bench_algbw(&c[i].own, r->bytes),
               bench_busbw(&c[i].own, r->bytes, b->comm->size));
        if (bench_checked(b, r->bytes))
            printf(" %7llu", (unsigned long long)c[i].wrong);
        else
            printf(" %7s", "N/A");
    }
    printf(" %8.2f %8.2f %8.2f %8.2f", c[0].own.p99_usec, c[1].own.p99_usec, c[0].own.cpu_usec,
           c[1].own.cpu_usec);
    for (int i = 0; b->options.peer && i < 2; i++)
        print_peer(b, &c[i]);
    printf("\n");
    print_rail_times(c);
    print_beside(b, r);
    print_overlap("pcie-ipc", NULL, &r->row.overlap[0]);
    if (best >= 0) {
        snprintf(name, sizeof(name), "%s %s", b->options.peer->name,
                 b->options.peer->variant(best));
        print_overlap(NULL, name, &r->row.overlap[1]);
    }
    fflush(stdout);
}

/* --- foot ------------------------------------------------------------------------------------- */

static void print_mean(const bench_results_t *results, const char *who, int variant)
{
    printf("#  %-22s", who);
    for (int k = 0; k < BENCH_RANGES; k++)
        for (int i = 0; i < 2; i++) {
            int sizes;
            double mean = bench_mean_ratio(results, &bench_ranges[k], i, variant, &sizes);
            if (sizes)
                printf(" %9.3f", mean);
            else
                printf(" %9s", "-");
        }
    printf("\n");
}

/* A line for what was best size by size, and one for each variant where there are several. */
void bench_print_means(const bench_t *b, const bench_results_t *results)
{
    const bench_peer_t *peer = b->options.peer;
    bool several = peer && bench_peer_usable(peer) > 1;
    char name[48];

    if (!peer)
        return;
    printf("#\n#  %-22s", "time / ours, geom. mean");
    for (int k = 0; k < BENCH_RANGES; k++)
        printf(" %19s", bench_ranges[k].name);
    printf("\n#  %-22s", "");
    for (int k = 0; k < 2 * BENCH_RANGES; k++)
        printf(" %9s", k % 2 ? "in" : "out");
    printf("\n");
    snprintf(name, sizeof(name), "%s%s", peer->name, several ? " best" : "");
    print_mean(results, name, BENCH_BEST);
    for (int v = 0; several && v < peer->variants(); v++)
        if (peer->usable(v)) {
            snprintf(name, sizeof(name), "%s %s", peer->name, peer->variant(v));
            print_mean(results, name, v);
        }
}
