/* prolog/stress/links.c - see links.h */
#include "prolog/stress/links.h"

#include <stdlib.h>
#include <string.h>

#include "prolog/places.h"

static void open_link(stress_link_t *s, const pipc__facts_t *facts, const pipc__counter_t *c)
{
    *s = (stress_link_t){.want_width = -1,
                         .want_mts = -1,
                         .width = c->width,
                         .least_width = -1,
                         .least_mts = -1,
                         .most_mts = -1};
    memcpy(s->lower, c->name, sizeof(s->lower));
    for (int i = 0; i < facts->n; i++) {
        const pipc__fact_t *f = &facts->dev[i];
        if (strcmp(f->name, c->name) != 0 || !pipc__has_link(facts, f))
            continue;
        const pipc__fact_t *p = &facts->dev[f->parent];
        memcpy(s->upper, p->name, sizeof(s->upper));
        if (!facts->virtual_machine && p->link.max_width >= 0 && f->link.max_width >= 0) {
            s->want_width = pipc__min_known(p->link.max_width, f->link.max_width);
            s->want_mts = pipc__link_wanted_mts(p, f);
        }
    }
}

pipc_status_t stress_links_open(stress_links_t *l, const pipc__facts_t *facts, const char *root,
                                pipc__error_t *err)
{
    memset(l, 0, sizeof(*l));
    pipc_status_t st = pipc__counters_take(facts, root, &l->begin, err);
    if (!st)
        st = pipc__counters_copy(&l->begin, &l->now, err);
    if (st)
        return st;
    l->counting = l->begin.counting;
    l->link = calloc((size_t)l->begin.n + 1, sizeof(*l->link));
    if (!l->link)
        return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    for (int i = 0; i < l->begin.n; i++)
        if (l->begin.dev[i].link)
            open_link(&l->link[l->n++], facts, &l->begin.dev[i]);
    return PIPC_OK;
}

/* Is @lower a GPU, or above one, that has such a lane? Between GPUs a lane may turn at any port, so
 * that what is sure to be loaded by it is the GPU's own link. */
static bool has_lane(const pipc__facts_t *facts, int lower, const stress_traffic_t *t, bool host)
{
    for (int i = 0; i < t->lanes; i++) {
        const stress_done_t *d = &t->lane[i];
        int end[2] = {d->x, d->y};
        for (int e = 0; e < (host ? 1 : 2) && host == (d->y == STRESS_HOST); e++)
            for (int k = 0; k < facts->n && !d->nvlink; k++) {
                if (strcmp(facts->dev[k].name, t->gpu[end[e]].bdf) != 0)
                    continue;
                for (int up = k; up >= 0; up = host ? facts->dev[up].parent : -1)
                    if (up == lower)
                        return true;
            }
    }
    return false;
}

static bool is_above_gpu(const pipc__facts_t *facts, int lower, const stress_traffic_t *t)
{
    for (int g = 0; g < t->ngpus; g++)
        for (int k = 0; k < facts->n; k++)
            for (int up = strcmp(facts->dev[k].name, t->gpu[g].bdf) == 0 ? k : -1; up >= 0;
                 up = facts->dev[up].parent)
                if (up == lower)
                    return true;
    return false;
}

void stress_links_keep(stress_links_t *l, const pipc__facts_t *facts,
                       const stress_traffic_t *traffic)
{
    int n = 0;

    for (int i = 0; i < l->n; i++) {
        int lower = 0;
        while (lower < facts->n && strcmp(facts->dev[lower].name, l->link[i].lower) != 0)
            lower++;
        if (lower == facts->n || !is_above_gpu(facts, lower, traffic))
            continue;
        l->link[n] = l->link[i];
        l->link[n++].loaded =
            has_lane(facts, lower, traffic, true) || has_lane(facts, lower, traffic, false);
    }
    l->n = n;
}

/* A value that was lower than any before under load. */
static void note_least(int value, int *least)
{
    if (value >= 0 && (*least < 0 || value < *least))
        *least = value;
}

static void note(stress_link_t *s, const pipc__delta_t *last, const pipc__delta_t *all)
{
    bool narrower = last->width[1] >= 0 && last->width[1] < last->width[0];
    bool slower = last->mts[1] >= 0 && last->mts[1] < last->mts[0];

    if (narrower || slower)
        s->drops++;
    note_least(last->width[1], &s->least_width);
    note_least(last->mts[1], &s->least_mts);
    if (last->mts[1] > s->most_mts)
        s->most_mts = last->mts[1];
    s->gone = s->gone || (s->width >= 0 && last->width[0] < 0 && last->width[1] < 0);
    memcpy(s->count, all->count, sizeof(s->count));
}

pipc_status_t stress_links_look(stress_links_t *l, const char *root, pipc__error_t *err)
{
    pipc__counters_t before = {.n = 0};
    pipc__deltas_t last = {.n = 0}, all = {.n = 0};
    pipc_status_t st = pipc__counters_copy(&l->now, &before, err);

    if (!st) {
        pipc__counters_sample(&l->now, root);
        st = pipc__deltas(&before, &l->now, &last, err);
    }
    if (!st)
        st = pipc__deltas(&l->begin, &l->now, &all, err);
    for (int i = 0; !st && i < l->n; i++)
        for (int k = 0; k < last.n && k < all.n; k++)
            if (strcmp(last.link[k].lower, l->link[i].lower) == 0)
                note(&l->link[i], &last.link[k], &all.link[k]);
    pipc__counters_free(&before);
    pipc__deltas_free(&last);
    pipc__deltas_free(&all);
    return st;
}

void stress_links_close(stress_links_t *l)
{
    free(l->link);
    pipc__counters_free(&l->begin);
    pipc__counters_free(&l->now);
    memset(l, 0, sizeof(*l));
}
