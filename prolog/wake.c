/* prolog/wake.c - which links are looked at, and what becomes of their findings; see wake.h
 */
#include "prolog/wake.h"

#include <stdio.h>
#include <string.h>

#include "prolog/places.h"
#include "runtime/base/ask.h"

#define VENDOR_NVIDIA 0x10de
#define LINKS_MAX 64

const char *const pipc__wake_names[] = {"never", "nvml", "copy", NULL};

int pipc__wake_parse(const char *name)
{
    for (int i = 0; pipc__wake_names[i]; i++)
        if (strcmp(pipc__wake_names[i], name) == 0)
            return i;
    return -1;
}

/* ---- which links --------------------------------------------------------------------------- */

static bool is_wanted(const pipc__wake_t *wake, const char *gpu)
{
    if (!wake->gpus)
        return true;
    for (const char *const *g = wake->gpus; *g; g++)
        if (strcmp(*g, gpu) == 0)
            return true;
    return false;
}

static bool is_noted(const pipc__findings_t *findings, const char *name)
{
    for (int i = 0; i < findings->n; i++)
        if (findings->list[i].code == PIPC__CODE_SPEED &&
            strcmp(findings->list[i].object, name) == 0)
            return true;
    return false;
}

static int choose(const pipc__wake_t *wake, const pipc__facts_t *facts,
                  const pipc__findings_t *findings, pipc__wake_link_t *links)
{
    int n = 0;

    for (int i = 0; i < facts->n && n < LINKS_MAX; i++) {
        const pipc__fact_t *f = &facts->dev[i];
        const pipc__fact_t *p = pipc__has_link(facts, f) ? &facts->dev[f->parent] : NULL;
        if (!f->gpu || f->vendor != VENDOR_NVIDIA || !is_wanted(wake, f->name) ||
            !is_noted(findings, f->name))
            continue;
        links[n] = (pipc__wake_link_t){.want_mts = pipc__link_wanted_mts(p, f), .mode = wake->mode};
        memcpy(links[n].gpu, f->name, sizeof(f->name));
        /* A port that says nothing of its link is as good as none. */
        if (p && p->link.mts >= 0)
            memcpy(links[n].port, p->name, sizeof(p->name));
        n++;
    }
    return n;
}

/* ---- the question -------------------------------------------------------------------------- */

typedef struct record {
    int i;
    pipc__wake_link_t link;
} record_t;

typedef struct question {
    const pipc__wake_t *wake;
    pipc__wake_link_t *links;
    int n, fd;
} question_t;

static void put(void *arg, int i, const pipc__wake_link_t *link)
{
    record_t r = {.i = i, .link = *link};

    pipc__ask_put(((const question_t *)arg)->fd, &r, sizeof(r));
}

static bool answer(void *arg, int fd)
{
    question_t *q = arg;

    q->fd = fd;
    pipc__wake_look(q->wake, q->links, q->n, put, q);
    return true;
}

/* Those that got no answer stay as they are: nothing is known. */
static void look(const pipc__wake_t *wake, pipc__wake_link_t *links, int n)
{
    question_t q = {wake, links, n, -1};
    record_t records[LINKS_MAX];
    bool all;
    int got = pipc__ask_some(answer, &q, wake->deadline_ms, records, sizeof(records[0]), n, &all);

    for (int i = 0; i < got; i++)
        links[records[i].i] = records[i].link;
}

/* ---- the findings -------------------------------------------------------------------------- */

static pipc_status_t confirm(const pipc__wake_link_t *link, const char *why,
                             const pipc__limits_t *limits, pipc__findings_t *findings, int at,
                             pipc__error_t *err)
{
    pipc__finding_t f = findings->list[at];
    char is[24];

    f.code = PIPC__CODE_STAYS_SLOW;
    f.severity = limits->severity[f.code];
    snprintf(f.seen, sizeof(f.seen), "link stays at %s, %s", pipc__speed_text(link->mts[0], is),
             why);
    snprintf(f.remedy, sizeof(f.remedy), "%s", pipc__codes[f.code].remedy);
    if (f.severity == PIPC__OK)
        return PIPC_OK; /* the note says as much */
    pipc__findings_remove(findings, at);
    return pipc__findings_add(findings, &f, err);
}

static pipc_status_t apply(const pipc__wake_link_t *link, const pipc__facts_t *facts,
                           const pipc__limits_t *limits, pipc__findings_t *findings,
                           pipc__error_t *err)
{
    char why[96], should[24];
    pipc__wake_verdict_t verdict = pipc__wake_judge(link, facts->virtual_machine, why);
    size_t used;

    for (int i = 0; i < findings->n; i++) {
        pipc__finding_t *f = &findings->list[i];
        if (f->code != PIPC__CODE_SPEED || strcmp(f->object, link->gpu) != 0)
            continue;
        if (verdict == PIPC__WAKE_SLOW)
            return confirm(link, why, limits, findings, i, err);
        used = strlen(f->seen);
        if (verdict == PIPC__WAKE_FAST) {
            snprintf(f->seen + used, sizeof(f->seen) - used, " and reached %s %s",
                     pipc__speed_text(link->want_mts, should), why);
            f->expected[0] = '\0';
        } else {
            snprintf(f->seen + used, sizeof(f->seen) - used, " (%s)", why);
        }
        return PIPC_OK;
    }
    return PIPC_OK;
}

pipc_status_t pipc__wake(const pipc__wake_t *wake, const pipc__facts_t *facts,
                         const pipc__limits_t *limits, pipc__findings_t *findings,
                         pipc__error_t *err)
{
    pipc__wake_link_t links[LINKS_MAX];
    pipc_status_t st = PIPC_OK;
    int n = wake->mode == PIPC__WAKE_NEVER ? 0 : choose(wake, facts, findings, links);

    if (n > 0)
        look(wake, links, n);
    for (int i = 0; i < n && !st; i++)
        st = apply(&links[i], facts, limits, findings, err);
    return st;
}
