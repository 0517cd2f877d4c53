/* tools/bench/bench.c - pcie-ipc-bench: AllReduce in the manner of nccl-tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "runtime/base/log.h"
#include "runtime/tools/bench/measure.h"
#include "runtime/tools/bench/peer.h"

static int complain(const bench_t *b, const pipc__error_t *err)
{
    if (b->comm)
        fprintf(stderr, "pcie-ipc-bench: rank %d: %s\n", b->comm->recs[b->comm->rank].rank, err->text);
    else
        fprintf(stderr, "pcie-ipc-bench: %s\n", err->text);
    return 2;
}

static void log_line(void *arg, pipc__log_level_t level, const char *line)
{
    (void)arg;
    if (level <= PIPC__LOG_WARN)
        fprintf(stderr, "pcie-ipc-bench: %s\n", line);
}

/* --- set-up --------------------------------------------------------------------------------- */

/* The local rank: what the plugin exported, else what Slurm did. Numbers only choose a device. */
static int local_rank(void)
{
    const char *text = getenv("PCIE_IPC_LOCAL_RANK");

    if (!text)
        text = getenv("SLURM_LOCALID");
    return text ? atoi(text) : 0;
}

static pipc_status_t open_device(bench_t *b, pipc__error_t *err)
{
    b->device = bench_cpu;
#ifdef HAVE_CUDA
    if (b->options.backend == PIPC_BACKEND_CUDA ||
        (b->options.backend == PIPC_BACKEND_AUTO && bench_cuda_present()))
        return bench_cuda_open(&b->device, local_rank(), err);
#else
    (void)local_rank;
    if (b->options.backend == PIPC_BACKEND_CUDA)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "built without CUDA; configure --with-cuda");
#endif
    return PIPC_OK;
}

static pipc_status_t open_comm(bench_t *b, pipc__error_t *err)
{
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;

    config.backend = b->device.stream ? PIPC_BACKEND_CUDA : PIPC_BACKEND_CPU;
    config.scope = b->options.per_node ? PIPC_SCOPE_NODE : PIPC_SCOPE_JOB;
    config.plan = b->options.plan;
    pipc_status_t st = pipc_comm_create(&b->comm, &config);
    return st ? pipc__fail(err, st, "%s", pipc_last_error()) : PIPC_OK;
}

static pipc_status_t open_buffers(bench_t *b, pipc__error_t *err)
{
    size_t bytes = b->options.max_bytes;

    b->host = malloc(bytes ? bytes : 1);
    if (!b->host)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %zu bytes; use a smaller -e", bytes);
    b->send = b->device.alloc(bytes, err);
    b->recv = b->send ? b->device.alloc(bytes, err) : NULL;
    return b->recv ? PIPC_OK : err->status;
}

static pipc_status_t open_all(bench_t *b, pipc__error_t *err)
{
    pipc_status_t st = open_device(b, err);

    if (!st)
        st = open_comm(b, err);
    if (!st)
        st = open_buffers(b, err);
    if (!st && b->options.peer_nccl && !b->device.stream)
        st = pipc__fail(err, PIPC_ERR_INVALID, "--peer nccl needs GPUs; leave it out, or use --backend "
                        "cuda on a machine that has them");
    if (!st && b->options.peer_nccl)
        st = bench_nccl_open(b->options.nccl_path, b->comm, err);
    return st;
}

static void close_all(bench_t *b)
{
    bench_nccl_close();
    if (b->send)
        b->device.release(b->send);
    if (b->recv)
        b->device.release(b->recv);
    free(b->host);
    pipc_comm_destroy(b->comm);
    if (b->device.close)
        b->device.close();
}

/* --- table ---------------------------------------------------------------------------------- */

static bool prints(const bench_t *b)
{
    return b->comm->recs[b->comm->rank].rank == 0;
}

static void print_head(const bench_t *b)
{
    const bench_options_t *o = &b->options;
    const pipc__record_t *r = b->comm->recs;

    printf("# pcie-ipc-bench %s  backend %s  ranks %d of %d%s  minbytes %zu maxbytes %zu step %d (factor)"
           "  warmup %d iters %d  check %d%s%s\n", PACKAGE_VERSION, b->device.name, b->comm->size,
           r[0].size, o->per_node ? " (one communicator a node)" : "", o->min_bytes, o->max_bytes,
           o->factor, o->warmup, o->iterations, o->check, o->peer_nccl ? "  peer " : "",
           o->peer_nccl ? bench_nccl_version() : "");
    for (int i = 0; i < b->comm->size; i++)
        printf("#  rank %3d  pid %7d  on %s%s%s\n", r[i].rank, r[i].pid, r[i].host,
               r[i].bdf[0] ? "  GPU " : "", r[i].bdf);
    const char *more = o->peer_nccl ? "     nccl  ratio" : "";
    printf("#\n#%45s  %-35s%*s  %s\n", "", "out-of-place", (int)strlen(more), "", "in-place");
    for (int line = 0; line < 2; line++) {
        printf("#%12s %12s %7s %6s %8s", line ? "(B)" : "size", line ? "(elements)" : "count",
               line ? "" : "type", line ? "" : "redop", line ? "" : "plan");
        for (int i = 0; i < 2; i++)
            printf(" %9s %7s %7s %7s%s", line ? "(us)" : "time", line ? "(GB/s)" : "algbw",
                   line ? "(GB/s)" : "busbw", line ? "" : "#wrong",
                   !o->peer_nccl ? "" : line ? "     (us)       " : more);
        printf("\n");
    }
    fflush(stdout);
}

static void print_cell(const bench_t *b, const bench_cell_t *c, size_t bytes)
{
    double n = b->comm->size, algbw = c->usec > 0 ? (double)bytes / c->usec * 1e-3 : 0;

    printf(" %9.2f %7.2f %7.2f", c->usec, algbw, algbw * 2 * (n - 1) / n);
    if (b->options.check)
        printf(" %7llu", (unsigned long long)c->wrong);
    else
        printf(" %7s", "N/A");
    if (b->options.peer_nccl)
        printf(" %8.2f %6.2f", c->peer_usec, c->usec > 0 ? c->peer_usec / c->usec : 0);
}

static void print_row(const bench_t *b, size_t count, pipc_dtype_t dtype, const bench_row_t *row)
{
    size_t bytes = count * pipc_dtype_bytes(dtype);

    printf(" %12zu %12zu %7s %6s %8s", bytes, count, pipc_dtype_string(dtype), "sum",
           pipc__comm_plan(b->comm, bytes)->name);
    for (int i = 0; i < 2; i++)
        print_cell(b, &row->cell[i], bytes);
    printf("\n");
    fflush(stdout);
}

/* All sizes of one type. *wrong counts over rows and placements. */
static pipc_status_t run_type(bench_t *b, pipc_dtype_t dtype, uint64_t *wrong, pipc__error_t *err)
{
    size_t bytes = b->options.min_bytes, elem = pipc_dtype_bytes(dtype);

    for (;;) {
        bench_row_t row;
        size_t count = bytes / elem;
        pipc_status_t st = bench_measure(b, count, dtype, PIPC_SUM, &row, err);
        if (!st)
            st = bench_slowest_node(b, &row, err);
        if (st)
            return st;
        *wrong += row.cell[0].wrong + row.cell[1].wrong;
        if (prints(b))
            print_row(b, count, dtype, &row);
        if (!bytes || bytes > b->options.max_bytes / (size_t)b->options.factor)
            return PIPC_OK;
        bytes *= (size_t)b->options.factor;
    }
}

int main(int argc, char **argv)
{
    bench_t b = {0};
    pipc__error_t err = {PIPC_OK, ""};
    uint64_t wrong = 0;
    int rc = bench_options_parse(&b.options, argc, argv);

    if (rc >= 0)
        return rc;
    pipc__log_set(log_line, NULL);
    pipc_status_t st = open_all(&b, &err);
    if (!st && prints(&b))
        print_head(&b);
    for (int d = 0; !st && d < PIPC_DTYPE_COUNT; d++)
        if (b.options.dtype < 0 || b.options.dtype == d)
            st = run_type(&b, (pipc_dtype_t)d, &wrong, &err);
    rc = st ? complain(&b, &err) : wrong ? 1 : 0;
    if (!st && prints(&b))
        printf("# %s\n", !b.options.check ? "results were not checked (-c 0)"
                         : wrong          ? "WRONG VALUES: see #wrong"
                                          : "all results are right");
    fflush(NULL);
    if (st)
        _Exit(rc); /* a peer is lost: nothing may wait for it, no exit handler either */
    close_all(&b);
    return rc;
}
