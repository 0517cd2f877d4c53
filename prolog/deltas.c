/* prolog/deltas.c - see deltas.h */
#include "prolog/deltas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pipc__counter_t *find(const pipc__counters_t *c, const char *name, int guess)
{
    if (guess < c->n && strcmp(c->dev[guess].name, name) == 0)
        return &c->dev[guess];
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->dev[i].name, name) == 0)
            return &c->dev[i];
    return NULL;
}

static bool is_same_boot(const pipc__counters_t *a, const pipc__counters_t *b)
{
    return a->boot_id[0] && strcmp(a->boot_id, b->boot_id) == 0 && b->uptime > a->uptime;
}

/* Add what @b counted since @a; false when that is not known: then the link's count is not. */
static bool add_device(const pipc__counter_t *a, const pipc__counter_t *b,
                       int64_t count[PIPC__COUNTS])
{
    if (!a || a->vendor != b->vendor || a->device != b->device)
        return false;
    for (int k = 0; k < PIPC__COUNTS; k++) {
        if (a->count[k] < 0 || b->count[k] < 0)
            continue;
        if (b->count[k] < a->count[k])
            return false;
        count[k] = (count[k] < 0 ? 0 : count[k]) + b->count[k] - a->count[k];
    }
    return true;
}

static void clear(int64_t count[PIPC__COUNTS])
{
    for (int k = 0; k < PIPC__COUNTS; k++)
        count[k] = -1;
}

/* A card's functions share its link, whose counters are the port's and all of theirs. */
static bool is_on_link(const pipc__counters_t *c, int lower, int i)
{
    int port = c->dev[lower].parent;

    return i == lower || (port >= 0 && (i == port || (c->dev[i].link && c->dev[i].parent == port)));
}

static void count_errors(const pipc__counters_t *before, const pipc__counters_t *after, int lower,
                         int64_t count[PIPC__COUNTS])
{
    const pipc__counter_t *then = find(before, after->dev[lower].name, lower);
    bool known = true, counts = then && then->counts && after->dev[lower].counts;

    clear(count);
    for (int i = 0; known && i < after->n; i++)
        if (is_on_link(after, lower, i))
            known = add_device(find(before, after->dev[i].name, i), &after->dev[i], count);
    if (!known)
        clear(count);
    /* Without the service 0 is no count; more than that somebody has counted. */
    for (int k = 0; k < PIPC__COUNTS; k++)
        if (count[k] == 0 && !counts)
            count[k] = -1;
}

/* The port's word goes first: the lower end of a link in training reads all ones. */
static void look(const pipc__counters_t *c, const pipc__counter_t *lower, int *width, int *mts)
{
    const pipc__counter_t *upper = lower && lower->parent >= 0 ? &c->dev[lower->parent] : NULL;

    *width = upper && upper->width >= 0 ? upper->width : lower ? lower->width : -1;
    *mts = upper && upper->mts >= 0 ? upper->mts : lower ? lower->mts : -1;
}

/* Of several functions of a card the first stands for the link. */
static bool stands_for_link(const pipc__counters_t *c, int i)
{
    if (!c->dev[i].link)
        return false;
    for (int k = 0; k < i && c->dev[i].parent >= 0; k++)
        if (c->dev[k].link && c->dev[k].parent == c->dev[i].parent)
            return false;
    return true;
}

pipc_status_t pipc__deltas(const pipc__counters_t *before, const pipc__counters_t *after,
                           pipc__deltas_t *out, pipc__error_t *err)
{
    bool same = is_same_boot(before, after);

    memset(out, 0, sizeof(*out));
    out->link = calloc((size_t)after->n + 1, sizeof(*out->link));
    if (!out->link)
        return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    out->seconds = same ? after->uptime - before->uptime : 0;
    for (int i = 0; i < after->n; i++) {
        const pipc__counter_t *lower = &after->dev[i];
        pipc__delta_t *d = &out->link[out->n];
        if (!stands_for_link(after, i))
            continue;
        memcpy(d->lower, lower->name, sizeof(d->lower));
        if (lower->parent >= 0)
            memcpy(d->upper, after->dev[lower->parent].name, sizeof(d->upper));
        d->gpu = lower->gpu;
        look(before, find(before, lower->name, i), &d->width[0], &d->mts[0]);
        look(after, lower, &d->width[1], &d->mts[1]);
        if (same)
            count_errors(before, after, i, d->count);
        else
            clear(d->count);
        out->n++;
    }
    return PIPC_OK;
}

void pipc__deltas_free(pipc__deltas_t *deltas)
{
    free(deltas->link);
    memset(deltas, 0, sizeof(*deltas));
}

/* ---- sums and words ------------------------------------------------------------------------ */

static int64_t sum(const pipc__delta_t *d, pipc__count_t first, pipc__count_t last)
{
    int64_t n = 0;

    for (int k = (int)first; k <= (int)last; k++)
        n += d->count[k] > 0 ? d->count[k] : 0;
    return n;
}

int64_t pipc__delta_sick(const pipc__delta_t *d)
{
    return sum(d, PIPC__COUNT_BAD_TLP, PIPC__COUNT_TIMEOUT);
}

int64_t pipc__delta_uncorrected(const pipc__delta_t *d)
{
    return sum(d, PIPC__COUNT_NONFATAL, PIPC__COUNT_FATAL);
}

bool pipc__delta_has_errors(const pipc__delta_t *d)
{
    return sum(d, PIPC__COUNT_RECEIVER, PIPC__COUNT_TIMEOUT) + pipc__delta_uncorrected(d) > 0;
}

const char *pipc__delta_text(const int64_t count[PIPC__COUNTS], char *out, size_t cap)
{
    size_t used = 0;

    out[0] = '\0';
    for (int k = 0; k < PIPC__COUNTS && used < cap; k++)
        if (count[k] > 0)
            used += (size_t)snprintf(out + used, cap - used, "%s%lld %s", used ? ", " : "",
                                     (long long)count[k], pipc__count_names[k]);
    return out;
}
