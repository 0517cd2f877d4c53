/* tools/tune/measure.c - see tune.h
 *
 * All candidates of a size take turns, a sample each, so that all see the same weather. Those that
 * are far behind the fastest one of their side, own or NCCL, drop out after a few rounds, and after
 * some more those that are behind: they could not come back, and the others need the time. NCCL's
 * own choice always stays. How many rounds there are is a matter of the time that is left, which is
 * shared among the sizes that are left.
 *
 *     all: TRIAL_ROUNDS | not TRIAL_BEHIND: a quarter, FIRST_ROUNDS at least | not BEHIND: the rest
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/tools/bench/check.h"
#include "runtime/tools/bench/fold.h"
#include "runtime/tools/tune/tune.h"

#define REPLAYS 2                      /* of a graph, a sample */
#define BURST_BYTES ((size_t)64 << 20) /* a sample moves about this, by 20 calls at most */
#define TRIAL_ROUNDS 3
#define TRIAL_BEHIND 1.5 /* times the fastest one's least sample */
#define FIRST_ROUNDS 5
#define BEHIND 1.25
#define SAMPLE_USEC 40                  /* that a sample takes beside its calls */
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

/* Eager, and in graphs where there are some. */
static int modes_of(const tune_t *t)
{
    return t->graphs && t->bench.device.capture ? 2 : 1;
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
            st = bench_greatest(t->bench.comm, r[i].samples + from, r[i].taken - from, err);
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
static void drop_the_slow(runner_t *r, int n, double behind)
{
    double best[2] = {0, 0};

    for (int i = 0; i < n; i++) {
        double *b = &best[r[i].is.who == BENCH_OWN];
        if (*b == 0 || least_of(&r[i]) < *b)
            *b = least_of(&r[i]);
    }
    for (int i = 0; i < n; i++) {
        bool called = r[i].is.who != BENCH_OWN && !*r[i].is.variant; /* by the runtime */
        r[i].out |= !called && least_of(&r[i]) > behind * best[r[i].is.who == BENCH_OWN];
    }
}

/* --- time ------------------------------------------------------------------------------------ */

static double now_usec(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Size times modes that are to come, this one included. */
static int cells_left(const tune_t *t, size_t bytes, bool graph)
{
    int modes = modes_of(t), n = modes - graph;

    for (int i = 0; tune_size(t, i); i++)
        n += tune_size(t, i) > bytes ? modes : 0;
    return n;
}

/* Rounds of all that are not out yet, those taken included, that this size's share of the time is
 * good for. The clocks differ from rank to rank, so the one that says least counts. */
static pipc_status_t fit_rounds(tune_t *t, const runner_t *r, int n, size_t bytes, double began,
                                int taken, int *rounds, pipc__error_t *err)
{
    bool graph = t->bench.options.graph > 0;
    double now = now_usec(), round = 0, used[2] = {began - t->began_usec, now - began};
    pipc_status_t st = bench_greatest(t->bench.comm, used, 2, err);

    for (int i = 0; i < n; i++)
        if (!r[i].out)
            round += SAMPLE_USEC + least_of(&r[i]) * r[i].burst.calls * r[i].burst.replays;
    double share = (t->time_sec * 1e6 - used[0]) / cells_left(t, bytes, graph) - used[1];
    double fit = taken + share / round;
    *rounds = fit < FIRST_ROUNDS ? FIRST_ROUNDS : fit < t->rounds ? (int)fit : t->rounds;
    if (*rounds > t->rounds)
        *rounds = t->rounds;
    return st;
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
    k->tail_usec = scratch[(pipc__table_tail(r->taken) * r->taken + 99) / 100 - 1]; /* sorted now */
    return PIPC_OK;
}

/* A quarter of all, but some. */
static int first_rounds(int all, int taken)
{
    int first = all / 4 > FIRST_ROUNDS ? all / 4 : FIRST_ROUNDS;

    first = first < all ? first : all;
    return first < taken ? taken : first;
}

/* All candidates of one size in one mode. */
static pipc_status_t run(tune_t *t, const bench_message_t *m, runner_t *r, int n, double *scratch,
                         pipc__error_t *err)
{
    static const double behind[] = {TRIAL_BEHIND, BEHIND};
    double began = now_usec();
    bool graph = t->bench.options.graph > 0;
    int goal[3] = {TRIAL_ROUNDS < t->rounds ? TRIAL_ROUNDS : t->rounds, 0, 0}, taken = 0;
    pipc_status_t st = open_all(t, m, r, n, err);

    for (int stage = 0; !st && stage < 3; stage++) {
        st = take_rounds(t, m, r, n, goal[stage] - taken, err);
        if (!st)
            st = merge(t, r, n, taken, err);
        taken = goal[stage];
        if (st || stage == 2)
            break;
        drop_the_slow(r, n, behind[stage]);
        st = fit_rounds(t, r, n, m->bytes, began, taken, &goal[2], err);
        goal[2] = goal[2] < taken ? taken : goal[2];
        if (!stage)
            goal[1] = first_rounds(goal[2], taken);
    }
    for (int i = 0; !st && i < n; i++)
        st = keep(t, &r[i], m->bytes, graph, scratch, err);
    return st;
}

static pipc_status_t measure(tune_t *t, size_t bytes, bool graph, pipc__error_t *err)
{
    bench_message_t m = {bytes / sizeof(float), bytes, PIPC_F32, PIPC_SUM, false};
    tune_candidate_t list[TUNE_CANDIDATES_MAX];
    runner_t r[TUNE_CANDIDATES_MAX];
    int n = tune_candidates(t, bytes, graph, list);
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
    int modes = modes_of(t);
    pipc_status_t st = PIPC_OK;

    t->bench.options.burst_bytes = BURST_BYTES;
    t->began_usec = now_usec();
    for (int i = 0; !st && tune_size(t, i); i++)
        for (int graph = 0; !st && graph < modes; graph++) {
            st = measure(t, tune_size(t, i), graph, err);
            if (!st)
                show_progress(t, tune_size(t, i), graph);
        }
    return st;
}
