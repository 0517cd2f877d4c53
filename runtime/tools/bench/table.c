/* tools/bench/table.c - see table.h */
#include "runtime/tools/bench/table.h"

#include <stdio.h>

#include "config.h"
#include "runtime/comm/plans.h"

double bench_algbw(const bench_cell_t *c, size_t bytes)
{
    return c->usec > 0 ? (double)bytes / c->usec * 1e-3 : 0;
}

/* What crosses each rank's link both ways: nccl-tests, doc/PERFORMANCE.md. */
double bench_busbw(const bench_cell_t *c, size_t bytes, int ranks)
{
    return bench_algbw(c, bytes) * 2 * (ranks - 1) / ranks;
}

double bench_ratio(const bench_cell_t *c)
{
    return c->usec > 0 ? c->peer_usec / c->usec : 0;
}

static void print_ranks(const bench_t *b)
{
    const pipc__record_t *r = b->comm->recs;

    for (int i = 0; i < b->comm->size; i++)
        printf("#  rank %3d  pid %7d  on %s%s%s\n", r[i].rank, r[i].pid, r[i].host,
               r[i].bdf[0] ? "  GPU " : "", r[i].bdf);
}

/* How the ranks stand, as plans see it, and by which memory they reach each other. */
static void print_shape(const bench_t *b)
{
    char text[128];

    printf("#  groups  %s%s\n", pipc__plans_describe(&b->comm->shape, text, sizeof(text)),
           b->comm->recs[0].path == PIPC_PATH_HOST ? "  path host" : "");
}

/* Two lines: names, units. */
static void print_columns(const bench_t *b)
{
    const char *peer = b->options.peer ? b->options.peer->name : NULL;

    printf("#\n#%50s %33s %33s %17s%s\n", "", "out-of-place            ", "in-place              ",
           "p99      ", peer ? "     peer, and its time / ours" : "");
    printf("#%12s %12s %8s %6s %8s", "size", "count", "type", "redop", "plan");
    for (int i = 0; i < 2; i++)
        printf(" %9s %7s %7s %7s", "time", "algbw", "busbw", "#wrong");
    printf(" %8s %8s", "out", "in");
    for (int i = 0; peer && i < 2; i++)
        printf(" %8s %6s", peer, "ratio");
    printf("\n#%12s %12s %8s %6s %8s", "(B)", "(elements)", "", "", "");
    for (int i = 0; i < 2; i++)
        printf(" %9s %7s %7s %7s", "(us)", "(GB/s)", "(GB/s)", "");
    printf(" %8s %8s", "(us)", "(us)");
    for (int i = 0; peer && i < 2; i++)
        printf(" %8s %6s", "(us)", i ? "in" : "out");
    printf("\n");
}

void bench_print_head(const bench_t *b)
{
    const bench_options_t *o = &b->options;

    printf("# pcie-ipc-bench %s  backend %s  ranks %d of %d%s  minbytes %zu maxbytes %zu", PACKAGE_VERSION,
           b->device.name, b->comm->size, b->comm->recs[0].size,
           o->per_node ? " (one communicator a node)" : "", o->min_bytes, o->max_bytes);
    if (o->step_bytes)
        printf(" step %zu (bytes)", o->step_bytes);
    else
        printf(" step %d (factor)", o->factor);
    printf("  warmup %d iters %d  check %d", o->warmup, o->iterations, o->check);
    if (o->graph)
        printf("  graph replays %d", o->graph);
    printf("%s%s\n", o->peer ? "  peer " : "", o->peer ? o->peer->version() : "");
    print_ranks(b);
    print_shape(b);
    print_columns(b);
    fflush(stdout);
}

void bench_print_row(const bench_t *b, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                     const bench_row_t *row)
{
    size_t bytes = count * pipc_dtype_bytes(dtype);
    const bench_cell_t *c = row->cell;

    printf(" %12zu %12zu %8s %6s %8s", bytes, count, pipc_dtype_string(dtype), pipc_redop_string(op),
           pipc__comm_choice_name(b->comm, bytes, b->options.graph > 0));
    for (int i = 0; i < 2; i++) {
        printf(" %9.2f %7.2f %7.2f", c[i].usec, bench_algbw(&c[i], bytes),
               bench_busbw(&c[i], bytes, b->comm->size));
        if (b->options.check)
            printf(" %7llu", (unsigned long long)c[i].wrong);
        else
            printf(" %7s", "N/A");
    }
    printf(" %8.2f %8.2f", c[0].p99_usec, c[1].p99_usec);
    for (int i = 0; b->options.peer && i < 2; i++)
        printf(" %8.2f %6.2f", c[i].peer_usec, bench_ratio(&c[i]));
    printf("\n");
    fflush(stdout);
}
