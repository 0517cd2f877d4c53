/* tools/tune/show.c - see tune.h */
#include <stdio.h>
#include <string.h>

#include "runtime/tools/tune/tune.h"
#include "runtime/tune/told.h"

static const pipc__choice_t nccl = {PIPC__ALGO_NCCL, PIPC__PROTO_SIMPLE, 0};

/* What is known of one size in one mode. */
typedef struct view {
    const pipc__table_time_t *chosen, *own, *other, *best_nccl; /* NULL: not measured */
    pipc__choice_t choice;
} view_t;

static view_t look(const pipc__table_file_t *f, size_t bytes, bool graph)
{
    view_t v = {.choice = pipc__table_choose(&f->table, bytes, graph)};

    v.chosen = pipc__time_find(f->times, f->ntimes, bytes, graph, v.choice);
    v.own = pipc__time_best(f->times, f->ntimes, bytes, graph, false);
    v.other = pipc__time_find(f->times, f->ntimes, bytes, graph, nccl);
    v.best_nccl = pipc__time_best(f->times, f->ntimes, bytes, graph, true);
    return v;
}

/* Per cent by which @a is faster than @b. */
static double ahead(const pipc__table_time_t *a, const pipc__table_time_t *b)
{
    return a->median_usec > 0 ? 100 * (b->median_usec / a->median_usec - 1) : 0;
}

/* The fastest own candidate of another plan or protocol than @than. */
static const pipc__table_time_t *second(const pipc__table_file_t *f, const pipc__table_time_t *than)
{
    const pipc__table_time_t *best = NULL;

    for (int i = 0; i < f->ntimes; i++) {
        const pipc__table_time_t *t = &f->times[i];
        bool same = t->choice.algo == than->choice.algo && t->choice.proto == than->choice.proto;
        if (t->bytes == than->bytes && t->in_graph == than->in_graph && !same &&
            t->choice.algo != PIPC__ALGO_NCCL && (!best || t->median_usec < best->median_usec))
            best = t;
    }
    return best;
}

/* Without NCCL: against the next own plan. */
static void explain_alone(const pipc__table_file_t *f, const view_t *v, FILE *out)
{
    const pipc__table_time_t *next = v->chosen ? second(f, v->chosen) : NULL;
    char text[PIPC__CHOICE_TEXT];

    if (next)
        fprintf(out, "%.0f %% ahead of %s, without NCCL", ahead(v->chosen, next),
                pipc__choice_text(next->choice, text));
    else
        fprintf(out, "nothing else was measured");
}

/* Why this and not the other. */
static void explain(const pipc__table_file_t *f, const view_t *v, FILE *out)
{
    char own[PIPC__CHOICE_TEXT];

    if (v->choice.algo != PIPC__ALGO_NCCL && v->chosen && v->other)
        fprintf(out, "%.0f %% ahead of nccl", ahead(v->chosen, v->other));
    else if (v->choice.algo != PIPC__ALGO_NCCL)
        explain_alone(f, v, out);
    else if (!v->own || !v->other)
        fprintf(out, "nothing else was measured");
    else if (ahead(v->own, v->other) < 0)
        fprintf(out, "%s is %.0f %% behind", pipc__choice_text(v->own->choice, own),
                ahead(v->other, v->own));
    else if (v->own->median_usec * PIPC__ADMIT_GAIN > v->other->median_usec)
        fprintf(out, "%s is only %.1f %% ahead", pipc__choice_text(v->own->choice, own),
                ahead(v->own, v->other));
    else if (v->own->tail_usec > v->other->tail_usec)
        fprintf(out, "%s is %.0f %% ahead, but its p%d is worse (%.2f us)",
                pipc__choice_text(v->own->choice, own), ahead(v->own, v->other),
                pipc__table_tail(v->own->samples), v->own->tail_usec);
    else
        fprintf(out, "%s is %.0f %% ahead here, but not at the sizes beside",
                pipc__choice_text(v->own->choice, own), ahead(v->own, v->other));
    if (v->best_nccl && v->chosen && *v->best_nccl->variant &&
        v->best_nccl->median_usec < v->chosen->median_usec)
        fprintf(out, "; nccl told to use %s takes %.2f us", v->best_nccl->variant,
                v->best_nccl->median_usec);
}

/* What the tuner plugin makes of it, also where calls are ours: those of programs without the hook.
 */
static void print_told(const pipc__table_file_t *f, size_t bytes, bool graph, FILE *out)
{
    pipc__told_t told;

    if (pipc__told(&told, f->times, f->ntimes, bytes, graph))
        fprintf(out, "; the tuner tells nccl %s", pipc__told_name(&told));
}

static void print_time(const pipc__table_time_t *t, FILE *out)
{
    if (t)
        fprintf(out, " %10.2f %10.2f", t->median_usec, t->tail_usec);
    else
        fprintf(out, " %10s %10s", "-", "-");
}

static bool has_mode(const pipc__table_file_t *f, bool graph)
{
    for (int i = 0; i < f->ntimes; i++)
        if (f->times[i].in_graph == graph)
            return true;
    return false;
}

static void print_head(const pipc__table_file_t *f, FILE *out)
{
    const pipc__table_key_t *k = &f->key;

    fprintf(out, "# topology %016llx  %s%s%s%s%s  pcie-ipc %s\n", (unsigned long long)k->topology,
            k->gpu, *k->driver ? "  driver " : "", k->driver, *k->nccl ? "  NCCL " : "", k->nccl,
            k->build);
    if (!f->ntimes) {
        fprintf(out, "# no times in this file: its rows alone\n");
        pipc__table_write(f, out, NULL);
        return;
    }
    fprintf(out, "#%11s %-5s %-22s %10s %10s %10s %10s  %s\n", "bytes", "mode", "choice", "us",
            "tail", "nccl us", "tail", "why");
}

/* From which size on a candidate was not measured any more. */
static void print_left_out(const pipc__table_file_t *f, const size_t *sizes, int n, FILE *out)
{
    char text[PIPC__CHOICE_TEXT];

    for (int i = 0; i < f->ntimes; i++) {
        const pipc__table_time_t *t = &f->times[i];
        int at = 0;
        while (at < n && sizes[at] <= t->bytes)
            at++;
        if (at == n || t->choice.algo == PIPC__ALGO_NCCL ||
            pipc__time_find(f->times, f->ntimes, sizes[at], t->in_graph, t->choice) ||
            !pipc__time_hopeless(f->times, f->ntimes, sizes, at, t->in_graph, t->choice))
            continue;
        double best =
            pipc__time_best(f->times, f->ntimes, t->bytes, t->in_graph, false)->median_usec;
        fprintf(out,
                "# %s %s: left out above %zu bytes, where it took %.1f times the best's %.2f us\n",
                t->in_graph ? "graph" : "eager", pipc__choice_text(t->choice, text), t->bytes,
                t->median_usec / best, best);
    }
}

void tune_show(const pipc__table_file_t *f, FILE *out)
{
    size_t sizes[PIPC__TABLE_ROWS];
    int n = pipc__time_sizes(f->times, f->ntimes, sizes);
    char text[PIPC__CHOICE_TEXT];

    print_head(f, out);
    for (int i = 0; i < n && i < PIPC__TABLE_ROWS; i++)
        for (int graph = 0; graph < 2; graph++) {
            if (!has_mode(f, graph))
                continue;
            view_t v = look(f, sizes[i], graph);
            fprintf(out, " %11zu %-5s %-22s", sizes[i], graph ? "graph" : "eager",
                    pipc__choice_text(v.choice, text));
            print_time(v.chosen, out);
            print_time(v.other, out);
            fprintf(out, "  ");
            explain(f, &v, out);
            print_told(f, sizes[i], graph, out);
            fprintf(out, "\n");
        }
    print_left_out(f, sizes, n < PIPC__TABLE_ROWS ? n : PIPC__TABLE_ROWS, out);
}

void tune_note(const pipc__table_file_t *f, int row, FILE *out)
{
    size_t sizes[PIPC__TABLE_ROWS], bytes = f->table.row[row].max_bytes;
    int n = pipc__time_sizes(f->times, f->ntimes, sizes);

    if (bytes == SIZE_MAX && n > 0 && n <= PIPC__TABLE_ROWS)
        bytes = sizes[n - 1];
    for (int graph = 0; graph < 2; graph++) {
        if (!has_mode(f, graph))
            continue;
        view_t v = look(f, bytes, graph);
        fprintf(out, "  # %s: ", graph ? "graph" : "eager");
        explain(f, &v, out);
    }
}
