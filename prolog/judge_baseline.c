/* prolog/judge_baseline.c - see judge_baseline.h */
#include "prolog/judge_baseline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/judging.h"

typedef struct past {
    judge_t j;
    const pipc__baseline_t *then;
    pipc__baseline_t now;
    const pipc__fact_t **fact; /* of each entry of now */
    bool *known;               /* this entry of now has been spoken of */
    bool stale;                /* the whole baseline is: of another BIOS */
    pipc__look_t look;
} past_t;

/* ---- one link ------------------------------------------------------------------------------ */

/* One fault, one line: what judge.c has told by the ends of the link is not told again, unless
 * it is worse here. */
static bool is_told(const past_t *p, const pipc__fact_t *f, pipc__severity_t most)
{
    pipc__severity_t own = p->j.limits->severity[PIPC__CODE_LANES];

    for (int i = 0; i < p->j.out->n; i++) {
        const pipc__finding_t *x = &p->j.out->list[i];
        if (x->code == PIPC__CODE_WIDTH && x->severity >= (own < most ? own : most) &&
            strcmp(x->object, f->name) == 0)
            return true;
    }
    return false;
}

/* Is it a GPU, or above one? Else its node has GPUs that are well. */
static bool serves_gpu(const pipc__facts_t *facts, const pipc__fact_t *f)
{
    for (int i = 0; i < facts->n; i++)
        for (int k = i; facts->dev[i].gpu && k >= 0; k = facts->dev[k].parent)
            if (&facts->dev[k] == f)
                return true;
    return false;
}

static void judge_lanes(past_t *p, const pipc__baseline_entry_t *then,
                        const pipc__baseline_entry_t *now, const pipc__fact_t *f)
{
    const pipc__fact_t *port = f->parent >= 0 ? &p->j.facts->dev[f->parent] : NULL;
    pipc__severity_t most = PIPC__DRAIN;
    char want[64];

    if (now->width < 0 || then->width < 0 || now->width >= then->width ||
        pipc__judge_excused(&p->j, port, f, now->width))
        return;
    /* A hypervisor's port may say anything; a NIC is told, not acted upon. */
    if (p->j.facts->virtual_machine || !serves_gpu(p->j.facts, f))
        most = PIPC__WARN;
    if (is_told(p, f, most))
        return;
    snprintf(want, sizeof(want), "x%d as in the baseline", then->width);
    pipc__judge_find(&p->j, PIPC__CODE_LANES, most, f, want, "link is x%d", now->width);
}

static void judge_speed(past_t *p, int then, int now, const pipc__fact_t *f, const char *what)
{
    char is[24], was[24], want[64];

    if (now < 0 || then < 0 || now >= then)
        return;
    snprintf(want, sizeof(want), "%s as in the baseline", pipc__speed_text(then, was));
    pipc__judge_find(&p->j, PIPC__CODE_ABILITY, PIPC__DRAIN, f, want, "%s %s", what,
                     pipc__speed_text(now, is));
}

static void judge_bar(past_t *p, int64_t then, int64_t now, const pipc__fact_t *f)
{
    char want[64];

    if (now < 0 || then < 0 || now >= then)
        return;
    snprintf(want, sizeof(want), "%lld MiB as in the baseline", (long long)(then >> 20));
    pipc__judge_find(&p->j, PIPC__CODE_ABILITY, PIPC__DRAIN, f, want,
                     "shows %lld MiB of its memory (BAR1)", (long long)(now >> 20));
}

static void judge_entry(past_t *p, const pipc__baseline_entry_t *then,
                        const pipc__baseline_entry_t *now, const pipc__fact_t *f)
{
    char what[2 * PIPC__BASELINE_VALUE_MAX + 32];

    if (pipc__baseline_is_another(then, now, what, sizeof(what))) {
        pipc__judge_find(&p->j, PIPC__CODE_STALE, PIPC__WARN, f, "", "%s", what);
        return;
    }
    if (p->stale)
        return;
    judge_lanes(p, then, now, f);
    judge_speed(p, then->max_mts, now->max_mts, f, "both ends of the link can do");
    judge_speed(p, then->target_mts, now->target_mts, f, "the target speed of the port above is");
    judge_bar(p, then->bar, now->bar, f);
}

/* ---- who is there -------------------------------------------------------------------------- */

static int count_gpus(const pipc__baseline_t *b)
{
    int n = 0;

    for (int i = 0; i < b->n; i++)
        n += b->list[i].kind == PIPC__KIND_GPU;
    return n;
}

/* For what is said of a device that is not there. */
static pipc__fact_t fact_of(const pipc__baseline_entry_t *e)
{
    pipc__fact_t f = {.parent = -1, .vendor = e->vendor, .device = e->device};

    snprintf(f.name, sizeof(f.name), "%s", e->name);
    return f;
}

/* The same card at another place; told once. */
static bool is_moved(past_t *p, const pipc__baseline_entry_t *then)
{
    pipc__fact_t f = fact_of(then);

    for (int i = 0; i < p->now.n; i++) {
        if (p->known[i] || !pipc__baseline_is_same_card(then, &p->now.list[i]))
            continue;
        p->known[i] = true;
        pipc__judge_find(&p->j, PIPC__CODE_STALE, PIPC__WARN, &f, "", "is at another place now: %s",
                         p->now.list[i].name);
        return true;
    }
    return false;
}

/* GPUs that are not where they were. When there are as many as before the baseline is of other
 * places, and none is lost. When only some of those that were not found are lost, which of them
 * cannot be told: their number is. */
static void judge_absent(past_t *p)
{
    int lost = count_gpus(p->then) - count_gpus(&p->now), absent = 0;
    pipc__severity_t most = p->stale ? PIPC__WARN : PIPC__DRAIN;
    bool *away = calloc((size_t)p->then->n + 1, sizeof(*away));
    char want[64];

    if (!away) {
        p->j.status = pipc__fail(p->j.err, PIPC_ERR_NOMEM, "out of memory");
        return;
    }
    if (p->j.facts->excerpt)
        most = PIPC__SEV_UNKNOWN;
    for (int i = 0; i < p->then->n; i++) {
        const pipc__baseline_entry_t *e = &p->then->list[i];
        away[i] =
            e->kind == PIPC__KIND_GPU && !pipc__baseline_at(&p->now, e->path) && !is_moved(p, e);
        absent += away[i];
    }
    for (int i = 0; i < p->then->n; i++) {
        pipc__fact_t f = fact_of(&p->then->list[i]);
        if (away[i] && lost <= 0)
            pipc__judge_find(&p->j, PIPC__CODE_STALE, PIPC__WARN, &f, "",
                             "no GPU is at its place, and none is missing");
        else if (away[i] && absent <= lost)
            pipc__judge_find(&p->j, PIPC__CODE_GONE, most, &f, "a GPU, as in the baseline",
                             "is not there");
    }
    snprintf(want, sizeof(want), "%d as in the baseline", count_gpus(p->then));
    if (lost > 0 && absent > lost)
        pipc__judge_find(&p->j, PIPC__CODE_GONE, most, NULL, want, "GPUs in view: %d",
                         count_gpus(&p->now));
    free(away);
}

/* A NIC is in view when a GPU beside it is: with a GPU gone nothing is said of NICs. */
static void judge_nics(past_t *p)
{
    if (p->look != PIPC__LOOK_ALL || count_gpus(p->then) > count_gpus(&p->now))
        return;
    for (int i = 0; i < p->then->n; i++) {
        const pipc__baseline_entry_t *e = &p->then->list[i];
        pipc__fact_t f = fact_of(e);
        if (e->kind == PIPC__KIND_NIC && !pipc__baseline_at(&p->now, e->path) && !is_moved(p, e))
            pipc__judge_find(&p->j, PIPC__CODE_GONE, PIPC__WARN, &f, "a NIC, as in the baseline",
                             "is not there");
    }
}

static void judge_new(past_t *p)
{
    for (int i = 0; i < p->now.n; i++)
        if (!p->known[i] && p->now.list[i].kind == PIPC__KIND_GPU)
            pipc__judge_find(&p->j, PIPC__CODE_STALE, PIPC__NOTE, p->fact[i], "",
                             "is not in the baseline");
}

/* ---- all of it ----------------------------------------------------------------------------- */

static bool is_of_another_bios(past_t *p)
{
    const char *then = p->then->bios, *now = p->now.bios;

    if (!*then || !*now || strcmp(then, now) == 0)
        return false;
    pipc__judge_find(&p->j, PIPC__CODE_STALE, PIPC__WARN, NULL, "", "the BIOS is %s, was %s", now,
                     then);
    return true;
}

static void judge_all(past_t *p)
{
    int k = 0;

    for (int i = 0; i < p->j.facts->n; i++) /* one entry a fact, companions aside, in their order */
        if (!p->j.facts->dev[i].companion)
            p->fact[k++] = &p->j.facts->dev[i];
    p->stale = is_of_another_bios(p);
    for (int i = 0; i < p->now.n && !p->j.status; i++) {
        const pipc__baseline_entry_t *then = pipc__baseline_at(p->then, p->now.list[i].path);
        if (!then)
            continue;
        p->known[i] = true;
        judge_entry(p, then, &p->now.list[i], p->fact[i]);
    }
    judge_absent(p);
    judge_nics(p);
    judge_new(p);
}

pipc_status_t pipc__judge_baseline(const pipc__facts_t *facts, const pipc__limits_t *limits,
                                   const pipc__baseline_t *baseline, pipc__look_t look,
                                   pipc__findings_t *out, pipc__error_t *err)
{
    past_t p = {.j = {.facts = facts, .limits = limits, .out = out, .err = err},
                .then = baseline,
                .look = look};

    if (!baseline->there)
        return PIPC_OK;
    p.j.status = pipc__baseline_learn(facts, false, &p.now, err);
    p.known = calloc((size_t)facts->n + 1, sizeof(*p.known));
    p.fact = calloc((size_t)facts->n + 1, sizeof(*p.fact));
    if (!p.known || !p.fact)
        p.j.status = pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    if (!p.j.status)
        judge_all(&p);
    pipc__baseline_free(&p.now);
    free(p.known);
    free(p.fact);
    return p.j.status;
}
