/* prolog/dips.c - see dips.h */
#include "prolog/dips.h"

#include <stdlib.h>
#include <string.h>

#define TOGETHER 60.0 /* seconds: one dip makes several links fall, and one link several times */
#define EVENTS_MIN 5
#define TOLERANCE 0.05
#define MISSED_MAX 8 /* periods in a row that nobody saw */

/* ---- periods ------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Those close to each other are one, at the time of the first. */
static int gather(double *seconds, int n)
{
    int kept = 0;

    for (int i = 0; i < n; i++)
        if (kept == 0 || seconds[i] - seconds[kept - 1] > TOGETHER)
            seconds[kept++] = seconds[i];
    return kept;
}

double pipc__period(double *seconds, int n)
{
    double sum = 0, periods = 0;
    int fit = 0;

    n = gather(seconds, n);
    if (n < EVENTS_MIN)
        return 0;
    double *sorted = malloc(sizeof(*sorted) * (size_t)n);
    if (!sorted)
        return 0;
    for (int i = 0; i + 1 < n; i++)
        sorted[i] = seconds[i + 1] - seconds[i];
    qsort(sorted, (size_t)n - 1, sizeof(*sorted), by_size);
    double median = sorted[(n - 2) / 2]; /* the lower: a gap that somebody missed is longer */
    free(sorted);
    for (int i = 0; i + 1 < n; i++) {
        double gap = seconds[i + 1] - seconds[i], times = (double)(long)(gap / median + 0.5),
               off = gap - times * median;
        if (times < 1 || times > MISSED_MAX || off > TOLERANCE * median ||
            -off > TOLERANCE * median)
            continue;
        sum += gap;
        periods += times;
        fit++;
    }
    return fit * 5 >= (n - 1) * 4 ? sum / periods : 0;
}

const char *pipc__span_text(double seconds, char out[32])
{
    if (seconds < 90)
        snprintf(out, 32, "%.3g s", seconds);
    else if (seconds < 5400)
        snprintf(out, 32, "%.3g min", seconds / 60);
    else
        snprintf(out, 32, "%.3g h", seconds / 3600);
    return out;
}

/* ---- one link, and the node ---------------------------------------------------------------- */

static bool is_of(const pipc__change_t *c, const char *lower)
{
    return !lower || strcmp(c->lower, lower) == 0;
}

static bool is_narrowing(const pipc__change_t *c)
{
    return c->kind == PIPC__CHANGE_WIDTH && c->to >= 0 && c->to < c->from;
}

static bool is_slowing(const pipc__change_t *c)
{
    return c->kind == PIPC__CHANGE_SPEED && c->to >= 0 && c->to < c->from;
}

/* @lower NULL: of all links. */
static double period_of(const pipc__changes_t *changes, const char *lower,
                        bool (*is)(const pipc__change_t *))
{
    double *seconds = malloc(sizeof(*seconds) * ((size_t)changes->n + 1)), period = 0;
    int n = 0;

    for (int i = 0; seconds && i < changes->n; i++)
        if (is(&changes->list[i]) && is_of(&changes->list[i], lower))
            seconds[n++] = (double)changes->list[i].ms / 1000;
    if (seconds)
        period = pipc__period(seconds, n);
    free(seconds);
    return period;
}

static int least(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void add(pipc__dips_t *d, const pipc__change_t *c)
{
    switch (c->kind) {
    case PIPC__CHANGE_WIDTH:
        d->narrowed += is_narrowing(c);
        d->gone += c->to < 0;
        if (is_narrowing(c)) {
            d->lowest_width = least(d->lowest_width, c->to);
            d->last_ms = c->ms;
        }
        break;
    case PIPC__CHANGE_SPEED:
        d->speeds++;
        d->slowed += is_slowing(c);
        d->lowest_mts = least(d->lowest_mts, c->to);
        break;
    case PIPC__CHANGE_ERRORS:
        for (int k = 0; k < PIPC__COUNTS; k++)
            d->count[k] += c->count[k];
        break;
    default:
        break;
    }
}

static pipc__dips_t *find_link(pipc__dips_list_t *out, const pipc__change_t *c)
{
    pipc__dips_t *more;
    int i = 0;

    while (i < out->n && strcmp(out->link[i].lower, c->lower) != 0)
        i++;
    if (i < out->n)
        return &out->link[i];
    more = realloc(out->link, sizeof(*more) * ((size_t)out->n + 1));
    if (!more)
        return NULL;
    out->link = more;
    more[i] = (pipc__dips_t){.lowest_width = -1, .lowest_mts = -1};
    memcpy(more[i].lower, c->lower, sizeof(more[i].lower));
    memcpy(more[i].upper, c->upper, sizeof(more[i].upper));
    out->n++;
    return &more[i];
}

bool pipc__dips(const pipc__changes_t *changes, pipc__dips_list_t *out)
{
    memset(out, 0, sizeof(*out));
    out->node = (pipc__dips_t){.lowest_width = -1, .lowest_mts = -1};
    for (int i = 0; i < changes->n; i++) {
        const pipc__change_t *c = &changes->list[i];
        if (!c->lower[0])
            continue;
        pipc__dips_t *d = find_link(out, c);
        if (!d)
            return false;
        add(d, c);
        add(&out->node, c);
    }
    for (int i = 0; i <= out->n; i++) {
        pipc__dips_t *d = i < out->n ? &out->link[i] : &out->node;
        const char *lower = i < out->n ? d->lower : NULL;
        d->period = period_of(changes, lower, is_narrowing);
        d->slow_period = period_of(changes, lower, is_slowing);
    }
    return true;
}

void pipc__dips_free(pipc__dips_list_t *dips)
{
    free(dips->link);
    memset(dips, 0, sizeof(*dips));
}

/* ---- printing ------------------------------------------------------------------------------ */

static const char *every(double period, char out[48])
{
    char span[32];

    out[0] = '\0';
    if (period > 0)
        snprintf(out, 48, ", every %s", pipc__span_text(period, span));
    return out;
}

static void print_link(const pipc__dips_t *d, FILE *out)
{
    char text[240], name[120], period[48];

    snprintf(name, sizeof(name), "%s%s%s%s", d->lower, d->upper[0] ? " (port " : "", d->upper,
             d->upper[0] ? ")" : "");
    if (d->narrowed)
        fprintf(out, "%s: fewer lanes %d times, down to x%d%s\n", name, d->narrowed,
                d->lowest_width, every(d->period, period));
    if (d->gone)
        fprintf(out, "%s: not to be read %d times\n", name, d->gone);
    if (*pipc__delta_text(d->count, text, sizeof(text)))
        fprintf(out, "%s: %s\n", name, text);
}

static void print_speeds(const pipc__dips_t *d, FILE *out)
{
    char speed[24], period[48];

    if (d->speeds)
        fprintf(out, "%s: %d changes of speed, down to %s%s; idle GPUs make them\n", d->lower,
                d->speeds, pipc__speed_text(d->lowest_mts, speed), every(d->slow_period, period));
}

void pipc__dips_print(const pipc__dips_list_t *dips, FILE *out)
{
    char span[32];

    for (int i = 0; i < dips->n; i++)
        print_link(&dips->link[i], out);
    for (int i = 0; i < dips->n; i++)
        print_speeds(&dips->link[i], out);
    if (dips->node.period > 0)
        fprintf(out, "node: links lose lanes every %s: look at its power and cooling\n",
                pipc__span_text(dips->node.period, span));
    if (dips->n == 0)
        fprintf(out, "node: no link changed\n");
}
