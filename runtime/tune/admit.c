/* tune/admit.c - see admit.h */
#include "runtime/tune/admit.h"

#include <stdlib.h>

#define LEVEL                                                                                      \
    1.03 /* own median / NCCL's median, up to which a neighbour does not speak against it */
#define GROWTH 1.1 /* time at a size / at the one before, from which on it grows with the size */
#define STAY 1.01  /* the choice of the row below stays while it is this close to the fastest */

/* What was measured, for one mode. */
typedef struct view {
    const pipc__table_time_t *times;
    int n;
    bool in_graph; /* whose times are looked at */
    bool
        for_graphs; /* whose choices are made of them: not copy engines, which stay out of graphs */
    const size_t *sizes;
    int nsizes;
} view_t;

static const pipc__choice_t nccl = {PIPC__ALGO_NCCL, PIPC__PROTO_SIMPLE, 0};

const pipc__table_time_t *pipc__time_find(const pipc__table_time_t *times, int n, size_t bytes,
                                          bool in_graph, pipc__choice_t choice)
{
    for (int i = 0; i < n; i++)
        if (times[i].bytes == bytes && times[i].in_graph == in_graph && !*times[i].variant &&
            pipc__choice_equal(times[i].choice, choice))
            return &times[i];
    return NULL;
}

const pipc__table_time_t *pipc__time_best(const pipc__table_time_t *times, int n, size_t bytes,
                                          bool in_graph, bool of_nccl)
{
    const pipc__table_time_t *best = NULL;

    for (int i = 0; i < n; i++)
        if (times[i].bytes == bytes && times[i].in_graph == in_graph &&
            (times[i].choice.algo == PIPC__ALGO_NCCL) == of_nccl &&
            (!best || times[i].median_usec < best->median_usec))
            best = &times[i];
    return best;
}

/* Far behind the best own one at sizes[at], and falling back. */
static bool far_behind(const pipc__table_time_t *times, int n, const size_t *sizes, int at,
                       bool in_graph, pipc__choice_t choice)
{
    const pipc__table_time_t *now, *before, *best, *best_before;

    if (at < 1)
        return false;
    now = pipc__time_find(times, n, sizes[at], in_graph, choice);
    before = pipc__time_find(times, n, sizes[at - 1], in_graph, choice);
    best = pipc__time_best(times, n, sizes[at], in_graph, false);
    best_before = pipc__time_best(times, n, sizes[at - 1], in_graph, false);
    return now && before && now->median_usec >= PIPC__HOPELESS * best->median_usec &&
           now->median_usec >= GROWTH * before->median_usec &&
           now->median_usec - before->median_usec >= best->median_usec - best_before->median_usec;
}

bool pipc__time_hopeless(const pipc__table_time_t *times, int n, const size_t *sizes, int at,
                         bool in_graph, pipc__choice_t choice)
{
    int last = at - 1;

    while (last >= 0 && !pipc__time_find(times, n, sizes[last], in_graph, choice))
        last--;
    return last > 0 && far_behind(times, n, sizes, last, in_graph, choice) &&
           far_behind(times, n, sizes, last - 1, in_graph, choice);
}

static int by_size(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x > y) - (x < y);
}

int pipc__time_sizes(const pipc__table_time_t *times, int n, size_t sizes[PIPC__TABLE_ROWS])
{
    size_t *all = calloc(n > 0 ? (size_t)n : 1, sizeof(*all));
    int found = 0;

    for (int i = 0; all && i < n; i++)
        all[i] = times[i].bytes;
    if (all)
        qsort(all, (size_t)n, sizeof(*all), by_size);
    for (int i = 0; all && i < n; i++)
        if (!i || all[i] != all[i - 1]) {
            if (found < PIPC__TABLE_ROWS)
                sizes[found] = all[i];
            found++;
        }
    free(all);
    return found;
}

static const pipc__table_time_t *find(const view_t *v, int at, pipc__choice_t choice)
{
    return pipc__time_find(v->times, v->n, v->sizes[at], v->in_graph, choice);
}

/* Does @own beat NCCL at its size? Also where NCCL was not measured. */
static bool wins(const view_t *v, int at, const pipc__table_time_t *own)
{
    const pipc__table_time_t *other = find(v, at, nccl);

    return !other || (own->median_usec * PIPC__ADMIT_GAIN <= other->median_usec &&
                      own->tail_usec <= other->tail_usec);
}

/* A win, or level with NCCL: no evidence against a win at the size beside. */
static bool holds(const view_t *v, int at, const pipc__table_time_t *own)
{
    const pipc__table_time_t *other = find(v, at, nccl);

    return !other || own->median_usec <= LEVEL * other->median_usec;
}

static bool any_holds(const view_t *v, int at)
{
    for (int i = 0; i < v->n; i++)
        if (v->times[i].bytes == v->sizes[at] && v->times[i].in_graph == v->in_graph &&
            v->times[i].choice.algo != PIPC__ALGO_NCCL && holds(v, at, &v->times[i]))
            return true;
    return false;
}

static bool holds_beside(const view_t *v, int at, pipc__choice_t choice)
{
    if (at < 0 || at >= v->nsizes)
        return true;
    const pipc__table_time_t *own = find(v, at, choice);
    return own ? holds(v, at, own) : any_holds(v, at);
}

static bool beyond_doubt(const view_t *v, int at, const pipc__table_time_t *own)
{
    const pipc__table_time_t *other = find(v, at, nccl);

    return !other || own->tail_usec < other->median_usec;
}

static bool admitted(const view_t *v, int at, const pipc__table_time_t *own)
{
    return wins(v, at, own) && (beyond_doubt(v, at, own) || (holds_beside(v, at - 1, own->choice) &&
                                                             holds_beside(v, at + 1, own->choice)));
}

/* The fastest of the admitted at size @at, without LL and LL128 where @endless; NULL for none. */
static const pipc__table_time_t *fastest(const view_t *v, int at, bool endless)
{
    const pipc__table_time_t *best = NULL;

    for (int i = 0; i < v->n; i++) {
        const pipc__table_time_t *t = &v->times[i];
        if (t->bytes == v->sizes[at] && t->in_graph == v->in_graph &&
            t->choice.algo != PIPC__ALGO_NCCL && !(endless && pipc__proto_ends(t->choice.proto)) &&
            !(v->for_graphs && t->choice.proto == PIPC__PROTO_CE) &&
            (!best || t->median_usec < best->median_usec) && admitted(v, at, t))
            best = t;
    }
    return best;
}

/* The choice for size @at; @below is the row's below, NULL for none. */
static bool choose(const view_t *v, int at, bool endless, const pipc__choice_t *below,
                   pipc__choice_t *choice)
{
    const pipc__table_time_t *best = fastest(v, at, endless), *same;

    if (!best && !find(v, at, nccl))
        return false;
    *choice = best ? best->choice : nccl;
    if (!best || !below || below->algo == PIPC__ALGO_NCCL ||
        (endless && pipc__proto_ends(below->proto)))
        return true;
    same = find(v, at, *below);
    if (same && same->median_usec <= STAY * best->median_usec && admitted(v, at, same))
        *choice = *below;
    return true;
}

static bool measured(const pipc__table_time_t *times, int n, bool in_graph)
{
    int i = 0;

    while (i < n && times[i].in_graph != in_graph)
        i++;
    return i < n;
}

static bool row_equal(const pipc__table_row_t *a, const pipc__table_row_t *b)
{
    return pipc__choice_equal(a->eager, b->eager) && pipc__choice_equal(a->graph, b->graph);
}

/* Neighbours that say the same become one row; the last one has no end. */
static void merge(pipc__table_t *t)
{
    int kept = 0;

    t->row[t->nrows - 1].max_bytes = SIZE_MAX;
    for (int i = 0; i < t->nrows; i++) {
        if (kept && row_equal(&t->row[kept - 1], &t->row[i]))
            kept--;
        t->row[kept++] = t->row[i];
    }
    t->nrows = kept;
}

/* Choose for the next row, which ends at size @at or, @endless, not at all. */
static pipc_status_t add_row(pipc__table_t *table, const view_t modes[2], int at, bool endless,
                             pipc__error_t *err)
{
    pipc__table_row_t *row = &table->row[table->nrows];
    const pipc__table_row_t *below = table->nrows ? row - 1 : NULL;

    row->max_bytes = modes[0].sizes[at];
    if (choose(&modes[0], at, endless, below ? &below->eager : NULL, &row->eager) &&
        choose(&modes[1], at, endless, below ? &below->graph : NULL, &row->graph)) {
        table->nrows++;
        return PIPC_OK;
    }
    return pipc__fail(err, PIPC_ERR_INVALID,
                      "nothing that could be used was measured at %zu bytes%s; measure more",
                      row->max_bytes, endless ? " and more" : "");
}

pipc_status_t pipc__admit(pipc__table_t *table, const pipc__table_time_t *times, int n,
                          pipc__error_t *err)
{
    size_t sizes[PIPC__TABLE_ROWS];
    int nsizes = pipc__time_sizes(times, n, sizes);
    bool eager = measured(times, n, false), graph = measured(times, n, true);
    const view_t modes[2] = {{times, n, !eager, false, sizes, nsizes},
                             {times, n, graph, true, sizes, nsizes}};
    pipc_status_t st = PIPC_OK;

    table->nrows = 0;
    if (nsizes < 1 || nsizes >= PIPC__TABLE_ROWS)
        return pipc__fail(err, PIPC_ERR_INVALID, "%d sizes were measured; a table takes 1 to %d",
                          nsizes, PIPC__TABLE_ROWS - 1);
    for (int at = 0; !st && at < nsizes; at++)
        st = add_row(table, modes, at, false, err);
    if (!st) /* all that is larger */
        st = add_row(table, modes, nsizes - 1, true, err);
    if (!st)
        merge(table);
    return st;
}
