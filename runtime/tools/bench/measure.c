/* tools/bench/measure.c - see measure.h
 *
 * Own and the peer's variants take turns, so that all see the same weather:
 *
 *     turn 1: own own .. A A .. B B ..   turn 2: own own .. A A .. B B ..   ...
 *
 * with one sample each a turn, or with --rounds as many as -n says.
 */
#include "runtime/tools/bench/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tools/bench/burst.h"
#include "runtime/tools/bench/check.h"
#include "runtime/tools/bench/overlap.h"

#define GATHER_DOUBLES ((int)(PIPC__GATHER_MAX / sizeof(double)))
#define PARTIES_MAX (1 + BENCH_VARIANTS_MAX)

/* Who is timed, and the samples: usec[p * n + i] is party p's i-th, n = turns * per_turn. */
typedef struct run {
    int nparties, turns, per_turn;
    bench_burst_t burst[PARTIES_MAX];
    double *usec, *cpu_usec;
} run_t;

pipc_status_t bench_slowest_rank(bench_t *b, double *values, int n, pipc__error_t *err)
{
    double all[PIPC__RANKS_MAX * GATHER_DOUBLES];

    for (int at = 0; at < n; at += GATHER_DOUBLES) {
        int some = n - at < GATHER_DOUBLES ? n - at : GATHER_DOUBLES;
        pipc_status_t st = pipc__control_gather(b->comm->ctl, values + at,
                                                (size_t)some * sizeof(double), all, err);
        if (st)
            return st;
        for (int i = 0; i < some; i++)
            for (int r = 0; r < b->comm->size; r++)
                if (all[r * some + i] > values[at + i])
                    values[at + i] = all[r * some + i];
    }
    return PIPC_OK;
}

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

static pipc_status_t take_turns(bench_t *b, const bench_message_t *m, run_t *run,
                                pipc__error_t *err)
{
    int n = run->turns * run->per_turn;
    pipc_status_t st = PIPC_OK;

    for (int t = 0; !st && t < run->turns; t++) {
        for (int p = 0; !st && p < run->nparties; p++)
            for (int i = 0; !st && i < run->per_turn; i++) {
                bench_sample_t s;
                st = bench_burst_sample(b, m, &run->burst[p], &s, err);
                run->usec[p * n + t * run->per_turn + i] = s.usec;
                run->cpu_usec[p * n + t * run->per_turn + i] = s.cpu_usec;
            }
        show_progress(b, m, t + 1, run->turns);
    }
    if (!st)
        st = bench_slowest_rank(b, run->usec, run->nparties * n, err);
    return st ? st : bench_slowest_rank(b, run->cpu_usec, run->nparties * n, err);
}

static void take_figures(const run_t *run, bench_cell_t *cell)
{
    int n = run->turns * run->per_turn;

    for (int p = 0; p < run->nparties; p++) {
        int who = run->burst[p].who;
        bench_figures_t f =
            bench_figures(run->usec + p * n, run->cpu_usec + p * n, run->turns, run->per_turn);
        *(who == BENCH_OWN ? &cell->own : &cell->peer[who]) = f;
    }
}

/* Own first, then every variant that can be had and whose results are right. */
static pipc_status_t choose_parties(bench_t *b, const bench_message_t *m, run_t *run,
                                    pipc__error_t *err)
{
    const bench_peer_t *peer = b->options.peer;
    pipc_status_t st = bench_burst_open(b, m, BENCH_OWN, &run->burst[run->nparties++], err);

    for (int v = 0; !st && peer && v < peer->variants(); v++) {
        bool right = true;
        if (!peer->usable(v))
            continue;
        if (b->options.check)
            st = bench_check_peer(b, m, v, &right, err);
        if (!st && right)
            st = bench_burst_open(b, m, v, &run->burst[run->nparties++], err);
        else if (!st && b->comm->recs[b->comm->rank].rank == 0)
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
        st = take_turns(b, m, &run, err);
    if (!st)
        take_figures(&run, cell);
    for (int p = 0; p < run.nparties; p++)
        bench_burst_close(b, &run.burst[p]);
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

pipc_status_t bench_measure(bench_t *b, bench_result_t *r, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    r->bytes = r->count * pipc_dtype_bytes(r->dtype);
    memset(&r->row, 0, sizeof(r->row));
    for (int i = 0; !st && i < 2; i++) {
        bench_message_t m = {r->count, r->bytes, r->dtype, r->op, i == 1};
        if (b->options.check)
            st = bench_check(b, &m, &r->row.cell[i].wrong, err);
        if (!st)
            st = time_it(b, &m, &r->row.cell[i], err);
        if (!st && i == 0 && b->options.overlap)
            st = overlap_both(b, &m, &r->row, err);
    }
    return st;
}
