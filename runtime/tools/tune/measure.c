/* tools/tune/measure.c - see tune.h
 *
 * All candidates of a size take turns, a sample each, so that all see the same weather. After a
 * quarter of the rounds own candidates that are far behind the fastest own one drop out: they could
 * not come back, and the others need the time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tools/bench/check.h"
#include "runtime/tools/tune/tune.h"

#define REPLAYS 5                       /* of a graph, a sample */
#define BEHIND 1.25                     /* times the fastest own candidate's least sample */
#define CHECKED_BYTES ((size_t)4 << 20) /* larger results take the host longer than the GPU */

typedef struct runner {
    tune_candidate_t is;
    bench_burst_t burst;
    double *samples; /* [rounds]; of the slowest rank once they are merged */
    int taken;
    bool out;
} runner_t;

size_t tune_size(const tune_t *t, int i)
{
    for (size_t power = 8; power && power <= t->max_bytes; power *= 2)
        for (int half = 0; half < 2; half++) {
            size_t bytes = power + (half ? power / 2 : 0);
            if (bytes >= t->min_bytes && bytes <= t->max_bytes && i-- == 0)
                return bytes;
        }
    return 0;
}

/* From here on the communicator does what @is says. */
static void become(tune_t *t, const tune_candidate_t *is)
{
    pipc__table_t *table = &t->bench.comm->table;

    if (is->who != BENCH_OWN)
        return;
    *table = pipc__table_fixed(is->choice.algo);
    table->row[0].eager = table->row[0].graph = is->choice;
}

static pipc_status_t check(tune_t *t, const bench_message_t *m, const tune_candidate_t *is,
                           pipc__error_t *err)
{
    char text[PIPC__CHOICE_TEXT];
    uint64_t wrong = 0;

    if (!t->check || is->who != BENCH_OWN || m->bytes > CHECKED_BYTES)
        return PIPC_OK;
    pipc_status_t st = bench_check(&t->bench, m, BENCH_OWN, &wrong, err);
    if (!st && wrong)
        st = pipc__fail(err, PIPC_ERR_INTERNAL,
                        "%s gives wrong values (%llu elements) at %zu bytes; no "
                        "table is written; report it",
                        pipc__choice_text(is->choice, text), (unsigned long long)wrong, m->bytes);
    return st;
}

/* Open each burst; a candidate that can't be had is out, on every rank alike. */
static pipc_status_t open_all(tune_t *t, const bench_message_t *m, runner_t *r, int n,
                              pipc__error_t *err)
{
    for (int i = 0; i < n; i++) {
        bench_burst_t once;
        bench_sample_t unused;
        become(t, &r[i].is);
        pipc_status_t st = check(t, m, &r[i].is, err);
        if (!st)
            st = bench_burst_open(&t->bench, m, r[i].is.who, &r[i].burst, err);
        for (int k = 0; !st && k < t->bench.options.warmup; k++) {
            st = bench_burst_single(&t->bench, m, r[i].is.who, false, &once, err);
            if (!st)
                st = bench_burst_sample(&t->bench, m, &once, &unused, err);
        }
        if (st)
            return st;
    }
    return PIPC_OK;
}

static pipc_status_t take_rounds(tune_t *t, const bench_message_t *m, runner_t *r, int n,
                                 int rounds, pipc__error_t *err)
{
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < n; i++) {
            bench_sample_t s;
            if (r[i].out)
                continue;
            become(t, &r[i].is);
            pipc_status_t st = bench_burst_sample(&t->bench, m, &r[i].burst, &s, err);
            if (st)
                return st;
            r[i].samples[r[i].taken++] = s.usec;
        }
    return PIPC_OK;
}

/* The slowest rank's samples from @from on. */
static pipc_status_t merge(tune_t *t, runner_t *r, int n, int from, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    for (int i = 0; !st && i < n; i++)
        if (r[i].taken > from)
            st = bench_slowest_rank(&t->bench, r[i].samples + from, r[i].taken - from, err);
    return st;
}

static double median_of(const runner_t *r, double *scratch)
{
    memcpy(scratch, r->samples, (size_t)r->taken * sizeof(*scratch));
    return bench_median(scratch, r->taken);
}

static double least_of(const runner_t *r)
{
    double least = r->samples[0];

    for (int i = 1; i < r->taken; i++)
        if (r->samples[i] < least)
            least = r->samples[i];
    return least;
}

/* By the least sample: of a few, the median may be a hiccup of the machine's. */
static void drop_the_slow(runner_t *r, int n)
{
    double best = 0;

    for (int i = 0; i < n; i++)
        if (r[i].is.who == BENCH_OWN && (best == 0 || least_of(&r[i]) < best))
            best = least_of(&r[i]);
    for (int i = 0; i < n; i++)
        r[i].out = r[i].is.who == BENCH_OWN && least_of(&r[i]) > BEHIND * best;
}

static pipc_status_t keep(tune_t *t, const runner_t *r, size_t bytes, bool graph, double *scratch,
                          pipc__error_t *err)
{
    if (t->ntimes == t->room) {
        int room = t->room ? 2 * t->room : 512;
        pipc__table_time_t *more = realloc(t->times, (size_t)room * sizeof(*more));
        if (!more)
            return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d times", room);
        t->times = more;
        t->room = room;
    }
    pipc__table_time_t *k = &t->times[t->ntimes++];
    *k = (pipc__table_time_t){.bytes = bytes,
                              .in_graph = graph,
                              .choice = r->is.choice,
                              .median_usec = median_of(r, scratch),
                              .samples = r->taken};
    snprintf(k->variant, sizeof(k->variant), "%s", r->is.variant);
    k->p99_usec = scratch[(99 * r->taken + 99) / 100 - 1]; /* median_of() sorted it */
    return PIPC_OK;
}

/* All candidates of one size in one mode. */
static pipc_status_t run(tune_t *t, const bench_message_t *m, runner_t *r, int n, double *scratch,
                         pipc__error_t *err)
{
    int first = t->rounds / 4 > 5 ? t->rounds / 4 : 5;
    bool graph = t->bench.options.graph > 0;

    first = first < t->rounds ? first : t->rounds;
    pipc_status_t st = open_all(t, m, r, n, err);
    if (!st)
        st = take_rounds(t, m, r, n, first, err);
    if (!st)
        st = merge(t, r, n, 0, err);
    if (!st) {
        drop_the_slow(r, n);
        st = take_rounds(t, m, r, n, t->rounds - first, err);
    }
    if (!st)
        st = merge(t, r, n, first, err);
    for (int i = 0; !st && i < n; i++)
        st = keep(t, &r[i], m->bytes, graph, scratch, err);
    return st;
}

static pipc_status_t measure(tune_t *t, size_t bytes, bool graph, pipc__error_t *err)
{
    bench_message_t m = {bytes / sizeof(float), bytes, PIPC_F32, PIPC_SUM, false};
    tune_candidate_t list[TUNE_CANDIDATES_MAX];
    runner_t r[TUNE_CANDIDATES_MAX];
    int n = tune_candidates(t, bytes, list);
    size_t rounds = (size_t)t->rounds;
    double *samples = calloc(rounds * (size_t)(n + 1), sizeof(*samples));

    if (!samples)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d rounds; use fewer", t->rounds);
    memset(r, 0, sizeof(r));
    for (int i = 0; i < n; i++) {
        r[i].is = list[i];
        r[i].samples = samples + (size_t)(i + 1) * rounds;
    }
    t->bench.options.graph = graph ? REPLAYS : 0;
    pipc_status_t st = run(t, &m, r, n, samples, err);
    for (int i = 0; i < n; i++)
        bench_burst_close(&t->bench, &r[i].burst);
    free(samples);
    return st;
}

/* A line a size, where a person looks on. */
static void show_progress(const tune_t *t, size_t bytes, bool graph)
{
    char own[PIPC__CHOICE_TEXT];
    const pipc__table_time_t *best = pipc__time_best(t->times, t->ntimes, bytes, graph, false);
    const pipc__table_time_t *nccl = pipc__time_best(t->times, t->ntimes, bytes, graph, true);

    if (!t->bench.progress || !best)
        return;
    fprintf(stderr, "%10zu bytes %s: %s %.2f us", bytes, graph ? "graph" : "eager",
            pipc__choice_text(best->choice, own), best->median_usec);
    if (nccl)
        fprintf(stderr, ", nccl%s%s %.2f us", *nccl->variant ? ":" : "", nccl->variant,
                nccl->median_usec);
    fprintf(stderr, "\n");
}

pipc_status_t tune_measure(tune_t *t, pipc__error_t *err)
{
    int modes = t->graphs && t->bench.device.capture ? 2 : 1;
    pipc_status_t st = PIPC_OK;

    for (int i = 0; !st && tune_size(t, i); i++)
        for (int graph = 0; !st && graph < modes; graph++) {
            st = measure(t, tune_size(t, i), graph, err);
            if (!st)
                show_progress(t, tune_size(t, i), graph);
        }
    return st;
}
