/* tools/bench/measure.c - see measure.h
 *
 * A sample is a burst of calls, issued back to back between a barrier of all ranks and the burst's
 * end; its time is divided by the number of calls. Own and peer take turns sample by sample, so that
 * both see the same weather. With -G the burst is captured once, and a sample is some replays of it.
 */
#include "config.h"
#include "runtime/tools/bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/tools/bench/data.h"

#define BURST_BYTES ((size_t)4 << 20) /* a burst moves about this much, 1 to BURST_MAX calls */
#define BURST_MAX 20
#define GATHER_DOUBLES ((int)(PIPC__GATHER_MAX / sizeof(double)))

typedef struct message {
    size_t count, bytes;
    pipc_dtype_t dtype;
    pipc_redop_t op;
    bool in_place;
} message_t;

static pipc_status_t own_error(pipc_status_t st, pipc__error_t *err)
{
    return st ? pipc__fail(err, st, "%s", pipc_last_error()) : PIPC_OK;
}

static pipc_status_t call(bench_t *b, const message_t *m, bool peer, pipc__error_t *err)
{
    const void *in = m->in_place ? b->recv : b->send;

    if (peer)
        return b->options.peer->allreduce(in, b->recv, m->count, m->dtype, m->op, b->device.stream,
                                          err);
    return own_error(pipc_allreduce(b->comm, in, b->recv, m->count, m->dtype, m->op,
                                    b->device.stream), err);
}

/* What a sample runs: @calls calls, or a graph that holds them, @replays times. */
typedef struct burst {
    bool peer;
    int calls, replays;
    void *graph;
} burst_t;

static pipc_status_t issue(bench_t *b, const message_t *m, const burst_t *u, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    if (u->graph)
        return b->device.replay(u->graph, err);
    for (int i = 0; !st && i < u->calls; i++)
        st = call(b, m, u->peer, err);
    return st;
}

/* One sample; *usec gets the time of a call. */
static pipc_status_t sample(bench_t *b, const message_t *m, const burst_t *u, double *usec,
                            pipc__error_t *err)
{
    pipc_status_t async, st = pipc__control_gather(b->comm->ctl, NULL, 0, NULL, err);

    if (!st)
        st = b->device.begin(err);
    for (int i = 0; !st && i < u->replays; i++)
        st = issue(b, m, u, err);
    if (!st)
        st = b->device.end(usec, err);
    *usec /= u->calls * u->replays;
    if (!st && !pipc_comm_async_error(b->comm, &async) && async)
        st = own_error(async, err);
    return st;
}

static pipc_status_t capture(bench_t *b, const message_t *m, burst_t *u, pipc__error_t *err)
{
    pipc__error_t also;
    pipc_status_t st = b->device.capture(err);

    if (st)
        return st;
    st = issue(b, m, u, err);
    pipc_status_t ended = b->device.captured(&u->graph, st ? &also : err);
    return st ? st : ended;
}

/* A burst of about BURST_BYTES; with -G its graph, which close_burst() releases. */
static pipc_status_t open_burst(bench_t *b, const message_t *m, bool peer, burst_t *u,
                                pipc__error_t *err)
{
    size_t fit = m->bytes ? BURST_BYTES / m->bytes : BURST_MAX;

    *u = (burst_t){peer, fit < 1 ? 1 : fit > BURST_MAX ? BURST_MAX : (int)fit, 1, NULL};
    if (!b->options.graph)
        return PIPC_OK;
    u->replays = b->options.graph;
    return capture(b, m, u, err);
}

static void close_burst(const bench_t *b, burst_t *u)
{
    if (u->graph)
        b->device.free_graph(u->graph);
}

/* --- correctness ---------------------------------------------------------------------------- */

/* Fill, poison, call, read the output back into b->host. */
static pipc_status_t one_result(bench_t *b, const message_t *m, bench_pattern_t pattern,
                                pipc__error_t *err)
{
    burst_t one = {false, 1, 1, NULL};
    double unused = 0;
    pipc_status_t st;

    memset(b->host, 0xa5, m->bytes);
    st = b->device.write(b->recv, b->host, m->bytes, err);
    bench_fill(b->host, m->count, m->dtype, m->op, pattern, b->comm->rank, b->comm->size);
    if (!st)
        st = b->device.write(m->in_place ? b->recv : b->send, b->host, m->bytes, err);
    if (!st && b->options.graph)
        st = capture(b, m, &one, err);
    if (!st)
        st = sample(b, m, &one, &unused, err);
    close_burst(b, &one);
    return st ? st : b->device.read(b->host, b->recv, m->bytes, err);
}

#define BLOCKS 64 /* the output is hashed in this many parts, so that #wrong says how much differs */

/* Parts of the output that differ from rank 0's, in elements. */
static pipc_status_t compare_ranks(bench_t *b, const message_t *m, uint64_t *wrong,
                                   pipc__error_t *err)
{
    uint64_t mine[BLOCKS], all[PIPC__RANKS_MAX][BLOCKS];
    size_t elem = pipc_dtype_bytes(m->dtype), part = (m->count + BLOCKS - 1) / BLOCKS;

    for (size_t i = 0; i < BLOCKS; i++) {
        size_t at = i * part, n = at >= m->count ? 0 : m->count - at < part ? m->count - at : part;
        mine[i] = pipc__hash(PIPC__HASH_INIT, b->host + at * elem, n * elem);
    }
    pipc_status_t st = pipc__control_gather(b->comm->ctl, mine, sizeof(mine), all, err);
    for (int i = 0; !st && i < BLOCKS; i++)
        if (all[b->comm->rank][i] != all[0][i])
            *wrong += part;
    return st;
}

static pipc_status_t check(bench_t *b, const message_t *m, uint64_t *wrong, pipc__error_t *err)
{
    uint64_t mine = 0, all[PIPC__RANKS_MAX];
    pipc_status_t st = one_result(b, m, BENCH_EXACT, err);

    if (!st) {
        mine = bench_count_wrong(b->host, m->count, m->dtype, m->op, b->comm->size);
        st = one_result(b, m, BENCH_RANDOM, err);
    }
    if (!st)
        st = compare_ranks(b, m, &mine, err);
    if (!st)
        st = pipc__control_gather(b->comm->ctl, &mine, sizeof(mine), all, err);
    *wrong = 0;
    for (int r = 0; !st && r < b->comm->size; r++)
        *wrong += all[r];
    return st;
}

/* --- time ----------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Replace each sample by the slowest rank's. */
static pipc_status_t slowest_rank(bench_t *b, double *samples, int n, pipc__error_t *err)
{
    double all[PIPC__RANKS_MAX * GATHER_DOUBLES];

    for (int at = 0; at < n; at += GATHER_DOUBLES) {
        int some = n - at < GATHER_DOUBLES ? n - at : GATHER_DOUBLES;
        pipc_status_t st = pipc__control_gather(b->comm->ctl, samples + at,
                                                (size_t)some * sizeof(double), all, err);
        if (st)
            return st;
        for (int i = 0; i < some; i++)
            for (int r = 0; r < b->comm->size; r++)
                if (all[r * some + i] > samples[at + i])
                    samples[at + i] = all[r * some + i];
    }
    return PIPC_OK;
}

/* Draw how far a row has come, where a person looks on. */
static void show_progress(const bench_t *b, const message_t *m, int done, int of)
{
    if (b->progress)
        fprintf(stderr, "\r%zu bytes %s: %d of %d\033[K%s", m->bytes,
                m->in_place ? "in place" : "out of place", done, of, done == of ? "\r\033[K" : "");
}

/* Own and peer in turns; samples[who * n + i]. */
static pipc_status_t take_samples(bench_t *b, const message_t *m, const burst_t *u, int peers,
                                  double *samples, pipc__error_t *err)
{
    int n = b->options.iterations;
    pipc_status_t st = PIPC_OK;
    double unused = 0;

    for (int i = 0; !st && i < b->options.warmup; i++)
        for (int who = 0; !st && who < peers; who++) {
            burst_t once = {who > 0, 1, 1, NULL};
            st = sample(b, m, &once, &unused, err);
        }
    for (int i = 0; !st && i < n; i++) {
        for (int who = 0; !st && who < peers; who++)
            st = sample(b, m, &u[who], &samples[who * n + i], err);
        show_progress(b, m, i + 1, n);
    }
    for (int who = 0; !st && who < peers; who++)
        st = slowest_rank(b, samples + who * n, n, err);
    return st;
}

static pipc_status_t time_it(bench_t *b, const message_t *m, bench_cell_t *cell, pipc__error_t *err)
{
    int n = b->options.iterations, peers = b->options.peer ? 2 : 1;
    double *samples = calloc((size_t)n * 2, sizeof(*samples));
    burst_t u[2] = {{0}};
    pipc_status_t st = PIPC_OK;

    if (!samples)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d samples; use a smaller -n", n);
    for (int who = 0; !st && who < peers; who++)
        st = open_burst(b, m, who > 0, &u[who], err);
    if (!st)
        st = take_samples(b, m, u, peers, samples, err);
    if (!st) {
        cell->usec = median(samples, n); /* sorts them */
        cell->p99_usec = samples[(99 * n + 99) / 100 - 1];
        cell->peer_usec = peers > 1 ? median(samples + n, n) : 0;
    }
    for (int who = 0; who < peers; who++)
        close_burst(b, &u[who]);
    free(samples);
    return st;
}

pipc_status_t bench_measure(bench_t *b, size_t count, pipc_dtype_t dtype, pipc_redop_t op,
                            bench_row_t *row, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    memset(row, 0, sizeof(*row));
    for (int i = 0; !st && i < 2; i++) {
        message_t m = {count, count * pipc_dtype_bytes(dtype), dtype, op, i == 1};
        if (b->options.check)
            st = check(b, &m, &row->cell[i].wrong, err);
        if (!st)
            st = time_it(b, &m, &row->cell[i], err);
    }
    return st;
}

/* --- several nodes --------------------------------------------------------------------------- */

static void merge(bench_cell_t *into, const bench_cell_t *from)
{
    if (from->usec > into->usec)
        into->usec = from->usec;
    if (from->p99_usec > into->p99_usec)
        into->p99_usec = from->p99_usec;
    if (from->peer_usec > into->peer_usec)
        into->peer_usec = from->peer_usec;
    into->wrong += from->wrong;
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
    if (!st) {
        memset(mine, 0, sizeof(*mine));
        for (int r = 0; r < g.size; r++)
            for (int i = 0; i < 2; i++)
                merge(&mine->cell[i], &all[r].cell[i]);
    }
    free(all);
    return st;
}
#else
static pipc_status_t exchange_rows(bench_row_t *mine, pipc__error_t *err)
{
    (void)mine;
    (void)merge;
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
