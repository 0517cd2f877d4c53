/* prolog/judge_log.c - what is said of a kernel's log. Its lines are of the past, so that none of
 * them drains but the record of a fatal error, which an administrator accepts or repairs.
 */
#include <stdio.h>
#include <string.h>

#include "prolog/judging.h"
#include "prolog/xid.h"

#define XID_OFF_BUS 79

static const pipc__fact_t *device_of(const judge_t *j, const pipc__event_t *e)
{
    for (int i = 0; i < j->facts->n; i++)
        if (strcmp(j->facts->dev[i].name, e->name) == 0)
            return &j->facts->dev[i];
    return NULL;
}

/* ", 3 times, last 1234 s after boot" */
static const char *often(const pipc__event_t *e, char out[96])
{
    size_t used = 0;

    out[0] = '\0';
    if (e->count > 1)
        used = (size_t)snprintf(out, 96, ", %d times", e->count);
    if (e->last.wall[0])
        snprintf(out + used, 96 - used, ", last %s", e->last.wall);
    else if (e->last.seconds >= 0)
        snprintf(out + used, 96 - used, ", last %ld s after boot", e->last.seconds);
    return out;
}

/* Errors whose bits were not told are taken for those that matter. */
static void judge_bus(judge_t *j, const pipc__fact_t *f, const pipc__event_t *e,
                      pipc__severity_t most)
{
    bool corrected = e->kind == PIPC__EVENT_CORRECTED;
    pipc__severity_t own = f->companion ? PIPC__NOTE : PIPC__WARN;
    char text[110], when[96];

    if (e->told)
        own = corrected ? pipc__corrected_most(e->bits, f->companion)
                        : pipc__uncorrected_most(e->bits, f->companion);
    pipc__judge_advise(j, PIPC__CODE_LOG, own < most ? own : most, f,
                       own > PIPC__NOTE ? PIPC__ADVICE_LINK : NULL, "",
                       "the log has %s errors: %s%s", corrected ? "corrected" : "uncorrected",
                       !e->told    ? "of a kind not told"
                       : corrected ? pipc__corrected_names(e->bits, text, sizeof(text))
                                   : pipc__uncorrected_names(e->bits, text, sizeof(text)),
                       often(e, when));
}

static void judge_xid(judge_t *j, const pipc__fact_t *f, const pipc__event_t *e)
{
    const pipc__xid_t *x = pipc__xid(e->xid);
    char when[96];

    if (x->kind != PIPC__XID_PROGRAM)
        pipc__judge_find(j, PIPC__CODE_DRIVER,
                         x->kind == PIPC__XID_HARDWARE ? PIPC__WARN : PIPC__NOTE, f, "",
                         "the log has Xid %d (%s)%s", e->xid, x->what, often(e, when));
}

/* What enumeration saw counts only where nobody else says how wide the link is. */
static void judge_narrow(judge_t *j, const pipc__fact_t *f, const pipc__event_t *e)
{
    const pipc__fact_t *known = device_of(j, e);
    char want[64];

    if (known ? known->link.width >= 0 : !j->facts->excerpt)
        return;
    snprintf(want, sizeof(want), "x%d by the card, if its slot can do it", e->can);
    pipc__judge_find(j, PIPC__CODE_UNCONFIRMED, PIPC__SEV_UNKNOWN, f, want,
                     "link was x%d when the machine started%s%s", e->width,
                     e->at[0] ? ", below " : "", e->at);
}

#define LOST "power the node off and on; if it is lost again, reseat or replace it"

static const struct {
    pipc__code_t code;
    pipc__severity_t most;
    const char *text;
    const char *advice; /* NULL: the code's remedy */
} said[PIPC__EVENT_KINDS] = {
    [PIPC__EVENT_LOST] = {PIPC__CODE_LOG, PIPC__WARN, "it did not answer, says the log", LOST},
    [PIPC__EVENT_OFF_BUS] = {PIPC__CODE_LOG, PIPC__WARN, "its driver lost it, says the log", LOST},
    [PIPC__EVENT_UNRECOVERED] = {PIPC__CODE_LOG, PIPC__WARN,
                                 "the kernel could not recover from an error below it", LOST},
    [PIPC__EVENT_LINK_DOWN] = {PIPC__CODE_LOG, PIPC__WARN, "the link below it was down",
                               "see whether the card below it is there; if it comes back, reseat "
                               "the card and its riser or cable"},
    [PIPC__EVENT_RETRAINED] = {PIPC__CODE_LOG, PIPC__WARN, "its link had to be trained anew",
                               "if it comes back, reseat the card and its riser or cable"},
    [PIPC__EVENT_REFUSED] = {PIPC__CODE_LOG, PIPC__WARN,
                             "the IOMMU refused what it wanted to read or write",
                             "on a node without virtual machines boot with iommu=pt, or switch the "
                             "IOMMU off; else look at the driver"},
    [PIPC__EVENT_NO_START] = {PIPC__CODE_DRIVER, PIPC__WARN, "its driver could not start it"},
    [PIPC__EVENT_HARDWARE] = {PIPC__CODE_DRIVER, PIPC__WARN,
                              "its driver counted errors of the chip"},
    [PIPC__EVENT_GIVEN_UP] = {PIPC__CODE_DRIVER, PIPC__WARN, "its driver could not reset it"},
};

/* A machine's log tells of all its devices: of one that is neither on a GPU's path nor beside a
 * GPU, an SSD's port for one, no more than a note is made. In a text that people chose all counts.
 * What GPUs' drivers say is of a GPU, which may no longer be there. */
static pipc__severity_t most_of(const judge_t *j, const pipc__event_t *e)
{
    if (j->facts->excerpt || device_of(j, e) || said[e->kind].code == PIPC__CODE_DRIVER)
        return PIPC__DRAIN;
    return PIPC__NOTE;
}

static bool is_loss(const pipc__event_t *e)
{
    return e->kind == PIPC__EVENT_OFF_BUS || (e->kind == PIPC__EVENT_XID && e->xid == XID_OFF_BUS);
}

/* In a text where the driver's word is all there is: the GPU is lost, until something shows that it
 * is back. On a machine the GPU itself is asked. */
static bool is_lost_now(const judge_t *j, const pipc__event_t *e)
{
    return j->facts->excerpt && is_loss(e) && !e->before_boot && !device_of(j, e);
}

/* The driver says it in several ways: told once. */
static bool is_first_loss(const judge_t *j, const pipc__event_t *e)
{
    for (const pipc__event_t *o = j->facts->event; o < e; o++)
        if (is_lost_now(j, o) && strcmp(o->name, e->name) == 0)
            return false;
    return true;
}

static void judge_event(judge_t *j, const pipc__event_t *e)
{
    const pipc__fact_t *known = device_of(j, e);
    pipc__fact_t f = {.companion = e->companion || (known && known->companion),
                      .vendor = known ? known->vendor : -1,
                      .device = known ? known->device : -1};
    pipc__severity_t most = most_of(j, e);
    char text[110], when[96];

    snprintf(f.name, sizeof(f.name), "%s", e->name);
    if (is_lost_now(j, e)) {
        if (is_first_loss(j, e))
            pipc__judge_find(j, PIPC__CODE_LOST, PIPC__DRAIN, &f, "",
                             "does not answer any more, says its driver%s%s",
                             e->kind == PIPC__EVENT_XID ? " (Xid 79)" : "", often(e, when));
        return;
    }
    switch (e->kind) {
    case PIPC__EVENT_RECORD:
        pipc__judge_find(j, PIPC__CODE_RECORD, most, &f, "", "fatal error: %s",
                         pipc__uncorrected_names(e->bits, text, sizeof(text)));
        break;
    case PIPC__EVENT_CORRECTED:
    case PIPC__EVENT_UNCORRECTED:
        if (e->count > 0)
            judge_bus(j, &f, e, most);
        break;
    case PIPC__EVENT_XID:
        judge_xid(j, &f, e);
        break;
    case PIPC__EVENT_NARROW:
        judge_narrow(j, &f, e);
        break;
    default:
        if (f.companion || said[e->kind].most < most)
            most = f.companion ? PIPC__NOTE : said[e->kind].most;
        pipc__judge_advise(j, said[e->kind].code, most, &f, said[e->kind].advice, "", "%s%s",
                           said[e->kind].text, often(e, when));
    }
}

void pipc__judge_events(judge_t *j)
{
    if (j->facts->log_unread && !j->facts->log)
        pipc__judge_advise(j, PIPC__CODE_LOG, PIPC__SEV_UNKNOWN, NULL,
                           "see why, and look at dmesg yourself", "",
                           "the kernel's log could not be read");
    for (int i = 0; i < j->facts->events && !j->status; i++)
        judge_event(j, &j->facts->event[i]);
}
