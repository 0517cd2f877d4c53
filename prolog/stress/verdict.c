/* prolog/stress/verdict.c - a run -> is it well? Pure.
 *
 * A fault is what a job would be hurt by: wrong bytes, a link with fewer lanes than it began with,
 * a GPU that stops. What only costs speed, or may be a sign, is a warning.
 */
#include <stdarg.h>
#include <string.h>

#include "prolog/stress/stress.h"

#define LONG_ENOUGH (2 * SERIES_MINUTE) /* the first and the last minute are two */
#define LESS 0.9                        /* of the first minute's rate */

static void say(stress_verdict_t *v, pipc__severity_t severity, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Worst first; the order of the calls else. */
static void say(stress_verdict_t *v, pipc__severity_t severity, const char *fmt, ...)
{
    int at = v->n;
    va_list ap;

    if (severity > v->worst)
        v->worst = severity;
    while (at > 0 && v->reason[at - 1].severity < severity)
        at--;
    if (at == STRESS_REASONS_MAX)
        return;
    if (v->n < STRESS_REASONS_MAX)
        v->n++;
    memmove(&v->reason[at + 1], &v->reason[at], sizeof(v->reason[0]) * (size_t)(v->n - 1 - at));
    v->reason[at].severity = severity;
    va_start(ap, fmt);
    vsnprintf(v->reason[at].text, sizeof(v->reason[at].text), fmt, ap);
    va_end(ap);
}

uint64_t stress_wrong(const stress_traffic_t *t)
{
    uint64_t n = 0;

    for (int i = 0; i < t->lanes; i++)
        n += atomic_load(&t->lane[i].wrong);
    return n;
}

uint64_t stress_verified(const stress_traffic_t *t)
{
    uint64_t n = 0;

    for (int i = 0; i < t->lanes; i++)
        n += atomic_load(&t->lane[i].verified);
    return n;
}

static void judge_bytes(const stress_run_t *run, stress_verdict_t *v)
{
    char name[64];

    for (int i = 0; i < run->traffic.lanes; i++) {
        const stress_done_t *d = &run->traffic.lane[i];
        uint64_t wrong = atomic_load(&d->wrong);
        if (wrong > 0)
            say(v, PIPC__DRAIN,
                "%s: %llu wrong bytes, the first at offset %zu: 0x%02x, expected 0x%02x",
                stress_lane_name(&run->traffic, i, name), (unsigned long long)wrong,
                d->first_wrong.first, (unsigned int)d->first_wrong.seen,
                (unsigned int)d->first_wrong.expected);
    }
}

static void judge_end(const stress_run_t *run, stress_verdict_t *v)
{
    if (run->hung)
        say(v, PIPC__DRAIN, "the copies hang: look for Xid and AER lines in the kernel's log");
    else if (run->traffic.err.status)
        say(v, PIPC__DRAIN, "the copies ended with an error: %.150s", run->traffic.err.text);
}

static void judge_errors(const stress_link_t *l, const char *of, stress_verdict_t *v)
{
    pipc__delta_t d;
    char text[128];

    memcpy(d.count, l->count, sizeof(d.count));
    if (!pipc__delta_has_errors(&d))
        return;
    pipc__delta_text(d.count, text, sizeof(text));
    say(v, d.count[PIPC__COUNT_FATAL] > 0 ? PIPC__DRAIN : PIPC__WARN, "%s: errors: %s", of, text);
}

static void judge_speed(const stress_link_t *l, const char *of, stress_verdict_t *v)
{
    char is[24], should[24];

    if (l->want_mts >= 0 && l->least_mts >= 0 && l->least_mts < l->want_mts)
        say(v, PIPC__WARN, "%s: ran at %s under load, %s is possible", of,
            pipc__speed_text(l->least_mts, is), pipc__speed_text(l->want_mts, should));
    else if (l->most_mts > 0 && l->least_mts < l->most_mts)
        say(v, PIPC__WARN, "%s: fell from %s to %s under load", of,
            pipc__speed_text(l->most_mts, should), pipc__speed_text(l->least_mts, is));
}

static void judge_link(const stress_link_t *l, stress_verdict_t *v)
{
    char of[2 * PIPC__FACT_NAME_MAX + 16];

    if (l->upper[0])
        snprintf(of, sizeof(of), "link of %s to %s", l->lower, l->upper);
    else
        snprintf(of, sizeof(of), "link of %s", l->lower);
    if (l->gone)
        say(v, PIPC__DRAIN, "%s: stopped to answer", of);
    if (l->width >= 0 && l->least_width >= 0 && l->least_width < l->width)
        say(v, PIPC__DRAIN, "%s: fell from x%d to x%d", of, l->width, l->least_width);
    else if (l->want_width >= 0 && l->least_width >= 0 && l->least_width < l->want_width)
        say(v, PIPC__WARN, "%s: is x%d, both ends can do x%d", of, l->least_width, l->want_width);
    if (l->loaded) /* else it may be as slow as it likes */
        judge_speed(l, of, v);
    judge_errors(l, of, v);
}

static void judge_rate(const stress_run_t *run, stress_verdict_t *v)
{
    char name[64];

    for (int i = 0; i < run->traffic.lanes; i++) {
        const stress_series_t *s = &run->rate[i];
        double first = stress_series_first(s), last = stress_series_last(s);
        if (s->n >= LONG_ENOUGH && last < LESS * first)
            say(v, PIPC__WARN, "%s: %.1f GB/s in the last minute, %.1f in the first",
                stress_lane_name(&run->traffic, i, name), last, first);
        if (run->traffic.lane[i].nvlink)
            say(v, PIPC__NOTE, "%s: goes over NVLink: it says nothing of PCIe",
                stress_lane_name(&run->traffic, i, name));
    }
}

static void judge_view(const stress_run_t *run, stress_verdict_t *v)
{
    const stress_traffic_t *t = &run->traffic;

    if (t->unreached > 0)
        say(v, PIPC__NOTE,
            "%d pairs of GPUs do not reach each other's memory (%s and %s): only their ways to the "
            "host had traffic",
            t->unreached, t->a, t->b);
    if (run->links.why[0])
        say(v, PIPC__NOTE, "links were not watched: %.150s", run->links.why);
    else if (run->links.n == 0)
        say(v, PIPC__NOTE, "no link is in view: there was none to watch");
    else if (!run->links.counting)
        say(v, PIPC__NOTE, "the kernel counts no PCIe errors here (AER is not bound to a port)");
    if (run->interrupted)
        say(v, PIPC__NOTE, "stopped early, after %.0f of %ld s", run->seconds,
            run->options->seconds);
}

void stress_judge(const stress_run_t *run, stress_verdict_t *out)
{
    memset(out, 0, sizeof(*out));
    judge_bytes(run, out);
    judge_end(run, out);
    for (int i = 0; i < run->links.n; i++)
        judge_link(&run->links.link[i], out);
    judge_rate(run, out);
    judge_view(run, out);
}

const char *stress_verdict_name(pipc__severity_t worst)
{
    return worst >= PIPC__DRAIN ? "fault" : worst >= PIPC__WARN ? "warn" : "ok";
}

int stress_exit_status(pipc__severity_t worst)
{
    return worst >= PIPC__DRAIN  ? STRESS_EXIT_FAULT
           : worst >= PIPC__WARN ? STRESS_EXIT_WARN
                                 : STRESS_EXIT_OK;
}

double stress_lane_bytes(const stress_run_t *run, int lane)
{
    return 2.0 * (double)atomic_load(&run->traffic.lane[lane].copies) *
           (double)run->traffic.wants->bytes;
}
