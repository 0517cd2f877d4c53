/* prolog/changes.c - see changes.h */
#include "prolog/changes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT_MAX 999999      /* so that all of them fit into a record */
#define MS_MAX 99999999999999 /* a year that is no year */
#define CHANGES_MAX PIPC__RING_PLACES_MAX

static const char letters[] = {'+', '-', 'w', 's', 'e'}; /* by kind */

/* ---- from two looks ------------------------------------------------------------------------ */

static pipc__change_t change_of(const pipc__delta_t *d, int64_t ms, pipc__change_kind_t kind)
{
    pipc__change_t c = {.ms = ms, .kind = kind};

    memcpy(c.lower, d->lower, sizeof(c.lower));
    memcpy(c.upper, d->upper, sizeof(c.upper));
    return c;
}

void pipc__changes_of_links(const pipc__deltas_t *deltas, int64_t ms, pipc__change_each_t *each,
                            void *arg)
{
    for (int i = 0; i < deltas->n; i++) {
        const pipc__delta_t *d = &deltas->link[i];
        if (d->width[0] != d->width[1]) {
            pipc__change_t c = change_of(d, ms, PIPC__CHANGE_WIDTH);
            c.from = d->width[0];
            c.to = d->width[1];
            each(arg, &c);
        }
        if (d->mts[0] != d->mts[1] && d->mts[0] >= 0 && d->mts[1] >= 0) {
            pipc__change_t c = change_of(d, ms, PIPC__CHANGE_SPEED);
            c.from = d->mts[0];
            c.to = d->mts[1];
            each(arg, &c);
        }
    }
}

void pipc__changes_of_errors(const pipc__deltas_t *deltas, int64_t ms, pipc__change_each_t *each,
                             void *arg)
{
    for (int i = 0; i < deltas->n; i++) {
        if (!pipc__delta_has_errors(&deltas->link[i]))
            continue;
        pipc__change_t c = change_of(&deltas->link[i], ms, PIPC__CHANGE_ERRORS);
        for (int k = 0; k < PIPC__COUNTS; k++)
            c.count[k] = deltas->link[i].count[k] > 0 ? deltas->link[i].count[k] : 0;
        each(arg, &c);
    }
}

/* ---- as a record --------------------------------------------------------------------------- */

static const char *or_dash(const char *name)
{
    return name[0] ? name : "-";
}

static int put_numbers(const pipc__change_t *c, char *out, size_t cap)
{
    int used = 0;

    if (c->kind != PIPC__CHANGE_ERRORS)
        return snprintf(out, cap, " %d %d", c->from, c->to);
    for (int k = 0; k < PIPC__COUNTS; k++)
        used += snprintf(out + used, cap - (size_t)used, " %lld",
                         (long long)(c->count[k] > COUNT_MAX ? COUNT_MAX : c->count[k]));
    return used;
}

void pipc__change_format(const pipc__change_t *c, char out[PIPC__RING_TEXT_MAX])
{
    char numbers[80];
    int n = put_numbers(c, numbers, sizeof(numbers));
    int room = PIPC__RING_TEXT_MAX - n;
    int used = snprintf(out, (size_t)room, "%c %lld %s %s", letters[c->kind], (long long)c->ms,
                        or_dash(c->lower), or_dash(c->upper));

    if (used >= room)
        used = snprintf(out, (size_t)room, "%c %lld %.20s -", letters[c->kind], (long long)c->ms,
                        or_dash(c->lower));
    memcpy(out + used, numbers, (size_t)n + 1);
}

static bool parse_numbers(const char *text, pipc__change_t *c)
{
    char *end;

    if (c->kind != PIPC__CHANGE_ERRORS)
        return sscanf(text, "%d %d", &c->from, &c->to) == 2 && c->from >= -1 && c->to >= -1;
    for (int k = 0; k < PIPC__COUNTS; k++, text = end) {
        c->count[k] = strtoll(text, &end, 10);
        if (end == text || c->count[k] < 0 || c->count[k] > COUNT_MAX)
            return false;
    }
    return true;
}

bool pipc__change_parse(const char *text, pipc__change_t *c)
{
    const char *letter = *text ? memchr(letters, *text, sizeof(letters)) : NULL;
    long long ms;
    int used = 0;

    memset(c, 0, sizeof(*c));
    if (!letter || sscanf(text + 1, " %18lld %47s %47s%n", &ms, c->lower, c->upper, &used) != 3 ||
        ms < 0 || ms > MS_MAX)
        return false;
    c->kind = (pipc__change_kind_t)(letter - letters);
    c->ms = ms;
    if (strcmp(c->lower, "-") == 0)
        c->lower[0] = '\0';
    if (strcmp(c->upper, "-") == 0)
        c->upper[0] = '\0';
    return parse_numbers(text + 1 + used, c);
}

/* ---- for people ---------------------------------------------------------------------------- */

const char *pipc__time_text(int64_t ms, char out[32])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    size_t n = 0;

    if (gmtime_r(&seconds, &tm))
        n = strftime(out, 24, "%Y-%m-%dT%H:%M:%S", &tm);
    if (n == 0)
        snprintf(out, 32, "at no time");
    else if (ms % 1000)
        snprintf(out + n, 32 - n, ".%03dZ", (int)(ms % 1000));
    else
        snprintf(out + n, 32 - n, "Z");
    return out;
}

static const char *width_text(int width, char out[24])
{
    if (width < 0)
        snprintf(out, 24, "unknown");
    else
        snprintf(out, 24, "x%d", width);
    return out;
}

const char *pipc__change_line(const pipc__change_t *c, char *out, size_t cap)
{
    char when[32], a[24], b[24], what[240];

    switch (c->kind) {
    case PIPC__CHANGE_START:
        snprintf(what, sizeof(what), "the watch begins, a look every %d.%d s", c->from / 1000,
                 c->from % 1000 / 100);
        break;
    case PIPC__CHANGE_STOP:
        snprintf(what, sizeof(what), "the watch ends");
        break;
    case PIPC__CHANGE_WIDTH:
        snprintf(what, sizeof(what), "link %s -> %s", width_text(c->from, a), width_text(c->to, b));
        break;
    case PIPC__CHANGE_SPEED:
        snprintf(what, sizeof(what), "%s -> %s", pipc__speed_text(c->from, a),
                 pipc__speed_text(c->to, b));
        break;
    case PIPC__CHANGE_ERRORS:
        pipc__delta_text(c->count, what, sizeof(what));
        break;
    }
    snprintf(out, cap, "%s %s%s%s%s: %s", pipc__time_text(c->ms, when),
             c->lower[0] ? c->lower : "node", c->upper[0] ? " (port " : "", c->upper,
             c->upper[0] ? ")" : "", what);
    return out;
}

/* ---- a list -------------------------------------------------------------------------------- */

bool pipc__changes_add(pipc__changes_t *changes, const pipc__change_t *change)
{
    if (changes->n == changes->cap) {
        int cap = changes->cap ? 2 * changes->cap : 64;
        pipc__change_t *more = NULL;
        if (cap <= CHANGES_MAX)
            more = realloc(changes->list, sizeof(*more) * (size_t)cap);
        if (!more)
            return false;
        changes->list = more;
        changes->cap = cap;
    }
    changes->list[changes->n++] = *change;
    return true;
}

void pipc__changes_free(pipc__changes_t *changes)
{
    free(changes->list);
    memset(changes, 0, sizeof(*changes));
}
