/* tools/bench/bench.c - pcie-ipc-bench: AllReduce in the manner of nccl-tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "runtime/base/log.h"
#include "runtime/base/outfile.h"
#include "runtime/tools/bench/beside.h"
#include "runtime/tools/bench/fold.h"
#include "runtime/tools/bench/json.h"
#include "runtime/tools/bench/measure.h"
#include "runtime/tools/bench/plot.h"
#include "runtime/tools/bench/table.h"

static int complain(const bench_t *b, const pipc__error_t *err)
{
    if (b->comm)
        fprintf(stderr, "pcie-ipc-bench: rank %d: %s\n", b->comm->recs[b->comm->local_rank].rank,
                err->text);
    else
        fprintf(stderr, "pcie-ipc-bench: %s\n", err->text);
    return 2;
}

static void log_line(void *arg, pipc__log_level_t level, const char *line)
{
    (void)arg;
    if (level <= (pipc__log_is_verbose() ? PIPC__LOG_INFO : PIPC__LOG_WARN))
        fprintf(stderr, "pcie-ipc-bench: %s\n", line);
}

/* --- set-up --------------------------------------------------------------------------------- */

static double clock_usec(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static pipc_status_t open_comm(bench_t *b, pipc__error_t *err)
{
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;

    config.backend = b->device.stream ? PIPC_BACKEND_CUDA : PIPC_BACKEND_CPU;
    config.scope = b->options.per_node ? PIPC_SCOPE_NODE : PIPC_SCOPE_JOB;
    config.plan = b->options.plan;
    config.path = b->options.path;
    if (b->options.sms) /* judged by the library, which compares it across ranks */
        setenv("PCIE_IPC_SMS", b->options.sms, 1);
    double begun = clock_usec();
    pipc_status_t st = pipc_comm_create(&b->comm, &config);
    b->create_usec = clock_usec() - begun;
    if (st)
        return pipc__fail(err, st, "%s", pipc_last_error());
    st = bench_fold_open(b->comm, &b->device, err);
    return st ? st : bench_greatest(b->comm, &b->create_usec, 1, err);
}

static void force(pipc__choice_t *choice, const bench_options_t *o)
{
    if (choice->algo == PIPC__ALGO_NCCL)
        return;
    if (o->proto >= 0)
        choice->proto = (pipc__proto_t)o->proto;
    if (o->blocks)
        choice->blocks = o->blocks;
}

/* --proto and --blocks, in every row of the table that is not NCCL's: the same on every rank, as
 * the options are. */
static pipc_status_t force_choices(bench_t *b, pipc__error_t *err)
{
    pipc__table_t table = b->comm->table;

    if (b->options.proto < 0 && !b->options.blocks)
        return PIPC_OK;
    for (int i = 0; i < table.nrows; i++) {
        force(&table.row[i].eager, &b->options);
        force(&table.row[i].graph, &b->options);
    }
    return pipc__comm_prepare(b->comm, &table, err);
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

/* What only GPUs have. */
static pipc_status_t needs_gpu(const bench_options_t *o, pipc__error_t *err)
{
    const char *option = o->graph                        ? "-G"
                         : o->overlap                    ? "--overlap"
                         : o->sms                        ? "--sms"
                         : o->blocks                     ? "--blocks"
                         : o->proto > PIPC__PROTO_SIMPLE ? "--proto"
                                                         : NULL;

    if (!option)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_INVALID,
                      "%s needs GPUs; leave it out, or use --backend cuda on a "
                      "machine that has them",
                      option);
}

/* Options that do not go together, known once the device is. */
static pipc_status_t judge_wishes(const bench_t *b, pipc__error_t *err)
{
    const bench_peer_t *peer = b->options.peer;
    bool on_gpu = b->device.stream;

    if (peer && peer->on_gpu && !on_gpu)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "--peer %s needs GPUs; leave it out, or use --backend "
                          "cuda on a machine that has them",
                          peer->name);
    if (peer && !peer->on_gpu && on_gpu)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "--peer %s works on host memory; use --backend cpu", peer->name);
    return on_gpu ? PIPC_OK : needs_gpu(&b->options, err);
}

static bool prints(const bench_t *b)
{
    return b->comm->recs[b->comm->local_rank].rank == 0;
}

/* Can the files be written? The measurement may take an hour. */
static pipc_status_t try_files(const bench_t *b, pipc__error_t *err)
{
    const char *paths[] = {b->options.json_path, b->options.plot_path};
    pipc_status_t st = PIPC_OK;

    for (size_t i = 0; !st && prints(b) && i < sizeof(paths) / sizeof(paths[0]); i++)
        if (paths[i])
            st = pipc__outfile_try(paths[i], 0, err);
    return st;
}

static pipc_status_t open_all(bench_t *b, pipc__error_t *err)
{
    pipc_status_t st = bench_open_device(&b->device, b->options.backend, b->options.overlap, err);

    if (!st)
        st = judge_wishes(b, err);
    if (!st && b->options.peer)
        b->options.peer->start();
    if (!st)
        st = open_comm(b, err);
    if (!st)
        st = try_files(b, err);
    if (!st)
        st = force_choices(b, err);
    if (!st)
        st = bench_beside_open(b, err);
    if (!st)
        st = open_buffers(b, err);
    if (!st && b->options.peer)
        st = b->options.peer->open(b->comm, &b->device, b->options.max_bytes, err);
    return st;
}

static void close_all(bench_t *b)
{
    if (b->options.peer)
        b->options.peer->close();
    if (b->send)
        b->device.release(b->send);
    if (b->recv)
        b->device.release(b->recv);
    free(b->host);
    bench_fold_close();
    pipc_comm_destroy(b->comm);
    if (b->device.close)
        b->device.close();
}

/* --- rows ----------------------------------------------------------------------------------- */

/* The size after @bytes; 0 behind the last one. */
static size_t next_size(const bench_options_t *o, size_t bytes)
{
    if (o->step_bytes)
        return bytes <= o->max_bytes && o->max_bytes - bytes >= o->step_bytes
                   ? bytes + o->step_bytes
                   : 0;
    return bytes <= o->max_bytes / (size_t)o->factor ? bytes * (size_t)o->factor : 0;
}

/* All sizes of one type and operation. */
static pipc_status_t run_sizes(bench_t *b, pipc_dtype_t dtype, pipc_redop_t op,
                               bench_results_t *results, pipc__error_t *err)
{
    size_t bytes = b->options.min_bytes;

    do {
        bench_result_t r = {.count = bytes / pipc_dtype_bytes(dtype), .dtype = dtype, .op = op};
        pipc_status_t st = bench_measure(b, &r, err);
        if (!st)
            st = bench_slowest_node(b, &r.row, err);
        if (st)
            return st;
        if (prints(b))
            bench_print_row(b, &r);
        if (!bench_results_add(results, &r))
            return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d results", results->n + 1);
        bytes = next_size(&b->options, bytes);
    } while (bytes);
    return PIPC_OK;
}

static pipc_status_t run_all(bench_t *b, bench_results_t *results, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    for (int d = 0; d < PIPC_DTYPE_COUNT; d++)
        for (int op = 0; !st && op < PIPC_REDOP_COUNT; op++)
            if ((b->options.dtype < 0 || b->options.dtype == d) &&
                (b->options.op < 0 || b->options.op == op))
                st = run_sizes(b, (pipc_dtype_t)d, (pipc_redop_t)op, results, err);
    return st;
}

static bool any_wrong(const bench_results_t *results)
{
    for (int i = 0; i < results->n; i++)
        if (results->v[i].row.cell[0].wrong || results->v[i].row.cell[1].wrong)
            return true;
    return false;
}

/* The table, from rank 0; the work, on all. */
static pipc_status_t run(bench_t *b, bench_results_t *results, pipc__error_t *err)
{
    if (prints(b)) {
        b->progress = isatty(STDERR_FILENO);
        bench_print_head(b);
    }
    pipc_status_t st = run_all(b, results, err);
    if (st || !prints(b))
        return st;
    bench_print_means(b, results);
    printf("# %s\n", !b->options.check    ? "results were not checked (-c 0)"
                     : any_wrong(results) ? "WRONG VALUES: see #wrong"
                                          : "all results are right");
    return PIPC_OK;
}

/* The files, from rank 0: a wrong one does not keep the other from being written. */
static int write_files(const bench_t *b, const bench_results_t *results)
{
    pipc__error_t err = {PIPC_OK, ""};
    int rc = 0;

    if (!prints(b))
        return 0;
    if (bench_json(b, results, &err))
        rc = complain(b, &err);
    if (bench_plot(b, results, &err))
        rc = complain(b, &err);
    return rc;
}

int main(int argc, char **argv)
{
    bench_t b = {0};
    bench_results_t results = {0, NULL};
    pipc__error_t err = {PIPC_OK, ""};
    int rc = bench_options_parse(&b.options, argc, argv);

    if (rc >= 0)
        return rc;
    pipc__log_set(log_line, NULL);
    pipc_status_t st = open_all(&b, &err);
    if (!st)
        st = run(&b, &results, &err);
    if (st) { /* the others may wait for this rank: only its end tells them, so no exit handler
                 either */
        rc = complain(&b, &err);
        fflush(NULL);
        _Exit(rc);
    }
    rc = write_files(&b, &results);
    if (!rc && any_wrong(&results))
        rc = 1;
    if (prints(&b))
        rc = bench_options_finish(rc);
    free(results.v);
    close_all(&b);
    return rc;
}
