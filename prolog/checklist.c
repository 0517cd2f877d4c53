/* prolog/checklist.c - see checklist.h: the list, and what its lines share */
#include "prolog/checklist.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "prolog/checklist_lines.h"

const char *pipc__line_state_name(pipc__line_state_t state)
{
    static const char *const names[] = {"yes", "unknown", "no"};

    return names[state];
}

const char *pipc__date_text(int64_t seconds, char out[32])
{
    time_t t = (time_t)seconds;
    struct tm tm;

    if (seconds <= 0 || !gmtime_r(&t, &tm) || !strftime(out, 32, "%Y-%m-%d %H:%M UTC", &tm))
        strcpy(out, "no date");
    return out;
}

void pipc__line_say(pipc__line_t *line, pipc__line_state_t state, const char *fmt, ...)
{
    va_list ap;

    line->state = state;
    va_start(ap, fmt);
    vsnprintf(line->evidence, sizeof(line->evidence), fmt, ap);
    va_end(ap);
}

void pipc__tally_add(pipc__tally_t *t, const char *name, pipc__line_state_t state)
{
    if (state == PIPC__LINE_YES)
        t->yes++;
    else if (state == PIPC__LINE_NO && !t->no)
        t->no = name;
    else if (state == PIPC__LINE_UNKNOWN && !t->unknown)
        t->unknown = name;
}

static void judge_check(const pipc__list_t *l, pipc__line_t *line)
{
    const pipc__findings_t *f = l->r->findings;
    const pipc__finding_t *worst = f->n > 0 ? &f->list[0] : NULL;

    if (!worst || f->verdict == PIPC__OK)
        pipc__line_say(line, PIPC__LINE_YES, "it finds nothing");
    else
        pipc__line_say(line,
                       f->verdict >= PIPC__WARN          ? PIPC__LINE_NO
                       : f->verdict == PIPC__SEV_UNKNOWN ? PIPC__LINE_UNKNOWN
                                                         : PIPC__LINE_YES,
                       "the worst of %d is a %s: %s: %s (%s)", f->n,
                       pipc__severity_name(f->verdict), worst->object, worst->seen,
                       pipc__codes[worst->code].name);
}

/* ---- all of them --------------------------------------------------------------------------- */

static const struct {
    const char *item, *what;
    void (*judge)(const pipc__list_t *l, pipc__line_t *line);
} lines[] = {
    {"check", "check finds no fault", judge_check},
    {"gpus", "all GPUs are where they were", pipc__line_gpus},
    {"links", "every link is at its baseline", pipc__line_links},
    {"aspm", "ASPM is off on every GPU's way to the root", pipc__line_aspm},
    {"generation", "every port aims at the highest speed of its link", pipc__line_generation},
    {"p2p", "the P2P matrix is the accepted one", pipc__line_p2p},
    {"persistence", "persistence mode is on", pipc__line_persistence},
    {"stress", "24 hours of stress since firmware or driver changed", pipc__line_stress},
    {"acs", "ACS and IOMMU are as wanted", pipc__line_acs},
    {"gate", "prolog and epilog are installed", pipc__line_gate},
};
_Static_assert(sizeof(lines) / sizeof(lines[0]) == PIPC__CHECKLIST_LINES, "a line each");

pipc_status_t pipc__checklist(const pipc__readiness_t *r, pipc__line_t out[PIPC__CHECKLIST_LINES],
                              pipc__error_t *err)
{
    pipc__list_t l = {.r = r, .facts = r->facts};
    pipc_status_t st = pipc__baseline_learn(r->facts, r->baseline->class, &l.now, err);

    for (int i = 0; i < PIPC__CHECKLIST_LINES && !st; i++) {
        out[i] = (pipc__line_t){.item = lines[i].item, .what = lines[i].what, .date = r->now};
        lines[i].judge(&l, &out[i]);
    }
    pipc__baseline_free(&l.now);
    return st;
}
