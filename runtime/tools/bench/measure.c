/* tools/bench/measure.c - see measure.h
 *
 * Own ways and the peer's variants take turns, so that all see the same weather:
 *
 *     turn 1: own own .. A A .. B B ..   turn 2: own own .. A A .. B B ..   ...
 *
 * with one sample each a turn, or with --rounds as many as -n says. With --time or --drop a trial
 * comes first: it tells for how many samples there is time, and which variant is out of the race.
 */
#include "runtime/tools/bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tools/bench/beside.h"
#include "runtime/tools/bench/burst.h"
#include "runtime/tools/bench/check.h"
#include "runtime/tools/bench/fold.h"
#include "runtime/tools/bench/overlap.h"

#define PARTIES_MAX (1 + BENCH_BESIDE_MAX + BENCH_VARIANTS_MAX)
#define TRIALS 2 /* the least counts: a graph's first launch takes longer */

/* Who is timed, and the samples: usec[p * n + i] is party p's i-th, n = turns * per_turn. */
typedef struct run {
    int nparties, turns, per_turn;
    bench_burst_t burst[PARTIES_MAX];
    double trial[PARTIES_MAX]; /* of a call, us */
    bool out[PARTIES_MAX];     /* the trial is all there is of it */
    double *usec, *cpu_usec;
} run_t;

/* Draw how far a row has come, where a person looks on. */
static void show_progress(const bench_t *b, const bench_message_t *m, int done, int of)
{
    if (b->progress)
        fprintf(stderr, "\r%zu bytes %s: %d of %d\033[K%s", m->bytes,
                m->in_place ? "in place" : "out of place", done, of, done == of ? "\r\033[K" : "");
}

static pipc_status_t warm_up(bench_t *b, const bench_message_t *m, const run_t *run,
                             pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;
    bench_sample_t unused;

    for (int i = 0; !st && i < b->options.warmup; i++)
        for (int p = 0; !st && p < run->nparties; p++) {
            bench_burst_t once;
            st = bench_burst_single(b, m, run->burst[p].who, false, &once, err);
            if (!st)
                st = bench_burst_sample(b, m, &once, &unused, err);
        }
    return st;
}

/* Decided from the slowest rank's times, so that all ranks go on with the same. */
static void judge_trial(const bench_options_t *o, run_t *run)
{
    double best = run->trial[0], turn_usec = 0;

    for (int p = 1; p < run->nparties; p++)
        best = run->trial[p] < best ? run->trial[p] : best;
    for (int p = 0; p < run->nparties; p++) {
        const bench_burst_t *u = &run->burst[p];
        run->out[p] = o->drop > 0 && u->who >= 0 && run->trial[p] > o->drop * best;
        if (!run->out[p])
            turn_usec += run->trial[p] * u->calls * u->replays;
    }
    double fit = o->time_msec * 1e3 / run->turns / turn_usec;
    if (o->time_msec && turn_usec > 0 && fit < run->per_turn)
        run->per_turn = fit < 1 ? 1 : (int)fit;
}

static pipc_status_t try_all(bench_t *b, const bench_message_t *m, run_t *run, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    if (!b->options.time_msec && b->options.drop <= 0)
        return PIPC_OK;
    for (int p = 0; p < run->nparties; p++)
        for (int i = 0; !st && i < TRIALS; i++) {
            bench_sample_t s;
            st = bench_burst_sample(b, m, &run->burst[p], &s, err);
            if (!i || s.usec < run->trial[p])
                run->trial[p] = s.usec;
        }
    if (!st)
        st = bench_greatest(b->comm, run->trial, run->nparties, err);
    if (!st)
        judge_trial(&b->options, run);
    return st;
}

static pipc_status_t take_turns(bench_t *b, const bench_message_t *m, run_t *run,
                                pipc__error_t *err)
{
    int n = run->turns * run->per_turn;
    pipc_status_t st = PIPC_OK;

    for (int t = 0; !st && t < run->turns; t++) {
        for (int p = 0; !st && p < run->nparties; p++)
            for (int i = 0; !st && !run->out[p] && i < run->per_turn; i++) {
                bench_sample_t s;
                st = bench_burst_sample(b, m, &run->burst[p], &s, err);
                run->usec[p * n + t * run->per_turn + i] = s.usec;
                run->cpu_usec[p * n + t * run->per_turn + i] = s.cpu_usec;
            }
        show_progress(b, m, t + 1, run->turns);
    }
    if (!st)
        st = bench_greatest(b->comm, run->usec, run->nparties * n, err);
    return st ? st : bench_greatest(b->comm, run->cpu_usec, run->nparties * n, err);
}

static void take_figures(const run_t *run, bench_cell_t *cell)
{
    int n = run->turns * run->per_turn;

    for (int p = 0; p < run->nparties; p++) {
        int who = run->burst[p].who;
        double t = run->trial[p];
        bench_figures_t *f = who >= 0           ? &cell->peer[who]
                             : who == BENCH_OWN ? &cell->own
                                                : &cell->beside[BENCH_BESIDE(who)];
        *f = run->out[p] ? (bench_figures_t){t, t, t, 0, 1}
                         : bench_figures(run->usec + p * n, run->cpu_usec + p * n, run->turns,
                                         run->per_turn);
    }
}

bool bench_checked(const bench_t *b, size_t bytes)
{
    return b->options.check && (!b->options.check_max || bytes <= b->options.check_max);
}

/* Own first, then what is beside it and possible. */
static pipc_status_t choose_own(bench_t *b, const bench_message_t *m, run_t *run,
                                pipc__error_t *err)
{
    pipc_status_t st = bench_burst_open(b, m, BENCH_OWN, &run->burst[run->nparties++], err);

    for (int k = 0; !st && k < b->nways - 1; k++)
        if (bench_beside_can(b, BENCH_BESIDE(k), m->bytes))
            st = bench_burst_open(b, m, BENCH_BESIDE(k), &run->burst[run->nparties++], err);
    return st;
}

/* Then every variant that can be had and whose results are right. */
static pipc_status_t choose_parties(bench_t *b, const bench_message_t *m, run_t *run,
                                    pipc__error_t *err)
{
    const bench_peer_t *peer = b->options.peer;
    pipc_status_t st = choose_own(b, m, run, err);

    for (int v = 0; !st && peer && v < peer->variants(); v++) {
        bool right = true;
        if (!peer->usable(v))
            continue;
        if (bench_checked(b, m->bytes))
            st = bench_check_peer(b, m, v, &right, err);
        if (!st && right)
            st = bench_burst_open(b, m, v, &run->burst[run->nparties++], err);
        else if (!st && b->comm->recs[b->comm->local_rank].rank == 0)
            printf("# %s %s: wrong values at %zu bytes %s; not timed\n", peer->name,
                   peer->variant(v), m->bytes, m->in_place ? "in place" : "out of place");
    }
    return st;
}

static pipc_status_t time_it(bench_t *b, const bench_message_t *m, bench_cell_t *cell,
                             pipc__error_t *err)
{
    const bench_options_t *o = &b->options;
    run_t run = {.turns = o->rounds ? o->rounds : o->iterations,
                 .per_turn = o->rounds ? o->iterations : 1};
    size_t samples = (size_t)run.turns * (size_t)run.per_turn * PARTIES_MAX;
    pipc_status_t st = PIPC_OK;

    run.usec = calloc(samples, sizeof(double));
    run.cpu_usec = calloc(samples, sizeof(double));
    if (!run.usec || !run.cpu_usec)
        st = pipc__fail(err, PIPC_ERR_NOMEM,
                        "no memory for %zu samples; use a smaller -n or --rounds", samples);
    if (!st)
        st = choose_parties(b, m, &run, err);
    if (!st)
        st = warm_up(b, m, &run, err);
    if (!st)
        st = try_all(b, m, &run, err);
    b->rail_times = (pipc__rail_times_t){0, 0, 0, 0};
    if (!st)
        st = take_turns(b, m, &run, err);
    if (!st)
        st = bench_mean_rails(b->comm, &b->rail_times, &cell->rails, err);
    if (!st)
        take_figures(&run, cell);
    for (int p = 0; p < run.nparties; p++)
        bench_burst_close(b, &run.burst[p]);
    bench_become(b, BENCH_OWN);
    free(run.usec);
    free(run.cpu_usec);
    return st;
}

/* Own, and the variant that has just been the fastest. */
static pipc_status_t overlap_both(bench_t *b, const bench_message_t *m, bench_row_t *row,
                                  pipc__error_t *err)
{
    int best = bench_best(&row->cell[0]); /* of figures that all ranks have alike */
    pipc_status_t st = bench_overlap(b, m, BENCH_OWN, &row->overlap[0], err);

    return st || best < 0 ? st : bench_overlap(b, m, best, &row->overlap[1], err);
}

/* Wrong elements of all own ways together. */
static pipc_status_t check_own(bench_t *b, const bench_message_t *m, uint64_t *wrong,
                               pipc__error_t *err)
{
    pipc_status_t st = bench_check(b, m, BENCH_OWN, wrong, err);

    for (int k = 0; !st && k < b->nways - 1; k++) {
        uint64_t more = 0;
        if (bench_beside_can(b, BENCH_BESIDE(k), m->bytes))
            st = bench_check(b, m, BENCH_BESIDE(k), &more, err);
        *wrong += more;
    }
    return st;
}

pipc_status_t bench_measure(bench_t *b, bench_result_t *r, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    r->bytes = r->count * pipc_dtype_bytes(r->dtype);
    memset(&r->row, 0, sizeof(r->row));
    for (int i = 0; !st && i < 2; i++) {
        bench_message_t m = {r->count, r->bytes, r->dtype, r->op, i == 1};
        if (bench_checked(b, m.bytes))
            st = check_own(b, &m, &r->row.cell[i].wrong, err);
        if (!st)
            st = time_it(b, &m, &r->row.cell[i], err);
        if (!st && i == 0 && b->options.overlap)
            st = overlap_both(b, &m, &r->row, err);
    }
    return st;
}
