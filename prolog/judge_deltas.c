/* prolog/judge_deltas.c - what is said of what changed with time: errors between two looks, lanes
 * that went, and may have come back. It warns; limits.conf may say that it drains.
 */
#include "prolog/check_time.h"

#include <stdio.h>
#include <string.h>

#include "prolog/judging.h"

#define HOUR 3600.0

static const pipc__fact_t *find_fact(const pipc__facts_t *facts, const char *name)
{
    for (int i = 0; i < facts->n; i++)
        if (strcmp(facts->dev[i].name, name) == 0)
            return &facts->dev[i];
    return NULL;
}

/* "0000:00:01.0 and 0000:01:00.0", or one end alone. */
static const char *ends(const pipc__delta_t *d, char out[112])
{
    snprintf(out, 112, "%s%s%s", d->upper, d->upper[0] ? " and " : "", d->lower);
    return out;
}

/* More than the limit of an hour within a shorter time is too many too; fewer in a minute say
 * nothing of the hour. */
static double hours(double seconds)
{
    return seconds > HOUR ? seconds / HOUR : 1;
}

static void judge_growth(judge_t *j, const pipc__delta_t *d, double seconds, const pipc__fact_t *f)
{
    double most = j->limits->errors_per_hour * hours(seconds);
    char text[150], span[32], both[112], expected[64];
    int64_t sick = pipc__delta_sick(d), receiver = d->count[PIPC__COUNT_RECEIVER];
    pipc__delta_t shown = *d;

    if ((double)sick <= most && (sick > 0 || (double)receiver <= most))
        return;
    for (int k = PIPC__COUNT_UNSUPPORTED; k < PIPC__COUNTS; k++)
        shown.count[k] = -1;
    snprintf(expected, sizeof(expected), "%d an hour at most", j->limits->errors_per_hour);
    pipc__judge_find(j, PIPC__CODE_GROWING, sick > 0 ? PIPC__DRAIN : PIPC__NOTE, f, expected,
                     "in %s %s counted %s", pipc__span_text(seconds, span), ends(d, both),
                     pipc__delta_text(shown.count, text, sizeof(text)));
}

static void judge_uncorrected(judge_t *j, const pipc__delta_t *d, double seconds,
                              const pipc__fact_t *f)
{
    char text[100], span[32], both[112];
    pipc__delta_t shown = *d;

    if (pipc__delta_uncorrected(d) == 0)
        return;
    for (int k = 0; k < PIPC__COUNT_NONFATAL; k++)
        shown.count[k] = -1;
    pipc__judge_find(j, PIPC__CODE_UNCORRECTED, PIPC__DRAIN, f, "", "in %s %s counted %s",
                     pipc__span_text(seconds, span), ends(d, both),
                     pipc__delta_text(shown.count, text, sizeof(text)));
}

static void judge_lanes(judge_t *j, const pipc__delta_t *d, double seconds, const pipc__fact_t *f)
{
    char expected[24], span[32];

    if (d->width[0] < 0 || d->width[1] < 0 || d->width[1] >= d->width[0] || seconds <= 0)
        return;
    snprintf(expected, sizeof(expected), "x%d", d->width[0]);
    pipc__judge_find(j, PIPC__CODE_CHANGED, PIPC__DRAIN, f, expected,
                     "link went to x%d in the last %s", d->width[1],
                     pipc__span_text(seconds, span));
}

pipc_status_t pipc__judge_deltas(const pipc__facts_t *facts, const pipc__limits_t *limits,
                                 const pipc__deltas_t *deltas, pipc__findings_t *out,
                                 pipc__error_t *err)
{
    judge_t j = {.facts = facts, .limits = limits, .out = out, .err = err};

    for (int i = 0; i < deltas->n && !j.status; i++) {
        const pipc__delta_t *d = &deltas->link[i];
        const pipc__fact_t *f = find_fact(facts, d->lower);
        if (!f)
            continue;
        judge_growth(&j, d, deltas->seconds, f);
        judge_uncorrected(&j, d, deltas->seconds, f);
        judge_lanes(&j, d, deltas->seconds, f);
    }
    return j.status;
}

pipc_status_t pipc__judge_dips(const pipc__facts_t *facts, const pipc__limits_t *limits,
                               const pipc__dips_list_t *dips, pipc__findings_t *out,
                               pipc__error_t *err)
{
    judge_t j = {.facts = facts, .limits = limits, .out = out, .err = err};

    for (int i = 0; i < dips->n && !j.status; i++) {
        const pipc__dips_t *d = &dips->link[i];
        const pipc__fact_t *f = find_fact(facts, d->lower);
        char span[32], last[32], expected[96];
        if (!f || d->narrowed == 0)
            continue;
        /* What was seen can be acknowledged: it changes with the next loss, and else not. */
        snprintf(expected, sizeof(expected), "no change (%d in the last day, down to x%d%s%s)",
                 d->narrowed, d->lowest_width, d->period > 0 ? ", every " : "",
                 d->period > 0 ? pipc__span_text(d->period, span) : "");
        pipc__judge_find(&j, PIPC__CODE_CHANGED, PIPC__DRAIN, f, expected,
                         "lost lanes, the last time at %s", pipc__time_text(d->last_ms, last));
    }
    return j.status;
}
