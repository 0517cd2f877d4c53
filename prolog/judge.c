/* prolog/judge.c - see judge.h */
#include "prolog/judging.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/places.h"

#define LITTLE (2L * 5000) /* lanes by mega-transfers: who can do no more carries no GPU's data */
#define SLOWEST 2500       /* every link begins at it */
#define STARVED                                                                                    \
    16 /* a slot with a sixteenth of what the card can do, or less, is the wrong slot              \
        */

/* ---- saying it ----------------------------------------------------------------------------- */

/* Of a text or a dump more of it is what helps, where it was cut. */
static const char *remedy(const judge_t *j, pipc__code_t code)
{
    if (j->facts->excerpt && !j->facts->virtual_machine &&
        (code == PIPC__CODE_UNCONFIRMED || code == PIPC__CODE_NO_LINK))
        return "show all of lspci -vvv, as root: the port above it tells what it should be";
    return pipc__codes[code].remedy;
}

void pipc__judge_advise(judge_t *j, pipc__code_t code, pipc__severity_t most, const pipc__fact_t *f,
                        const char *advice, const char *expected, const char *fmt, ...)
{
    pipc__finding_t x = {.code = code, .severity = j->limits->severity[code]};
    va_list ap;

    if (x.severity > most)
        x.severity = most;
    if (x.severity == PIPC__OK || j->status || (f && pipc__limits_ignores(j->limits, f, code)))
        return;
    /* The hypervisor's ports and what it lets through are not this node's to repair; the GPU is. */
    if (j->facts->virtual_machine && code != PIPC__CODE_LOST && code != PIPC__CODE_DRIVER &&
        x.severity == PIPC__WARN)
        x.severity = PIPC__NOTE;
    va_start(ap, fmt);
    vsnprintf(x.seen, sizeof(x.seen), fmt, ap);
    va_end(ap);
    snprintf(x.object, sizeof(x.object), "%s", f ? f->name : "node");
    snprintf(x.expected, sizeof(x.expected), "%s", expected ? expected : "");
    snprintf(x.remedy, sizeof(x.remedy), "%s", advice ? advice : remedy(j, code));
    /* A record is read in the boot after the error, and tells no time. */
    if (code == PIPC__CODE_RECORD)
        snprintf(x.event, sizeof(x.event), "%s", j->facts->boot);
    j->status = pipc__findings_add(j->out, &x, j->err);
}

#define find(j, code, f, ...) pipc__judge_find(j, code, PIPC__DRAIN, f, __VA_ARGS__)

/* ---- what a device is ---------------------------------------------------------------------- */

static const pipc__fact_t *parent_of(const judge_t *j, const pipc__fact_t *f)
{
    return f->parent >= 0 ? &j->facts->dev[f->parent] : NULL;
}

/* ---- one link ------------------------------------------------------------------------------ */

/* The same part elsewhere in this machine has all its lanes, and this one has not even got past the
 * speeds that need no equalization: its link never trained. Narrow alone is no fault where the port
 * is not in view: slots with few lanes are common, and links in them are equalized. One that runs
 * at 5 GT/s has trained, in a slot that can do no more: nothing is equalized there. */
static bool never_trained(const judge_t *j, const pipc__fact_t *f)
{
    if (f->link.equalized != 0 || f->link.max_mts < 8000 || f->vendor < 0 || f->device < 0)
        return false;
    if (f->link.mts != SLOWEST)
        return false;
    for (int i = 0; i < j->facts->n; i++) {
        const pipc__fact_t *o = &j->facts->dev[i];
        if (o->vendor == f->vendor && o->device == f->device &&
            o->link.width == o->link.max_width && o->link.width > f->link.width)
            return true;
    }
    return false;
}

bool pipc__judge_excused(const judge_t *j, const pipc__fact_t *p, const pipc__fact_t *f, int width)
{
    int a = p ? pipc__limits_width(j->limits, p) : 0, b = pipc__limits_width(j->limits, f);

    return (a > 0 && width >= a) || (b > 0 && width >= b);
}

/* A GPU, or the switch of its card, whose port is not in view: what it can do itself is all there
 * is to compare with. */
static void judge_alone(judge_t *j, const pipc__fact_t *f)
{
    const pipc__express_t *l = &f->link;
    const char *where = j->facts->virtual_machine ? " (a virtual machine shows no port)" : "";
    char want[192];

    if (l->port == PIPC__EXPRESS_INTEGRATED)
        return;
    if (l->width < 0 || l->max_width < 0) {
        if (l->width >= 0)
            find(j, PIPC__CODE_NO_LINK, f, "", "link is x%d, of a width that is not known",
                 l->width);
        else
            find(j, PIPC__CODE_NO_LINK, f, "", "the link's width is not known%s", where);
        return;
    }
    if (l->width >= l->max_width || pipc__judge_excused(j, NULL, f, l->width)) {
        find(j, PIPC__CODE_NO_PORT, f, "", "link is x%d, and its port is not in view%s", l->width,
             where);
        return;
    }
    if (!j->facts->virtual_machine && never_trained(j, f)) {
        snprintf(want, sizeof(want), "x%d, as the same card has elsewhere in this machine",
                 l->max_width);
        find(j, PIPC__CODE_WIDTH, f, want, "link is x%d and never trained to its speed", l->width);
        return;
    }
    snprintf(want, sizeof(want), "x%d by the card, if the port can do it", l->max_width);
    find(j, PIPC__CODE_UNCONFIRMED, f, want, "link is x%d, and its port is not in view%s", l->width,
         where);
}

/* Is it a GPU, or above one? In an excerpt what is below a port may be missing. */
static bool is_of_gpu(const judge_t *j, const pipc__fact_t *f)
{
    const pipc__below_t *below = &j->below[f - j->facts->dev];
    bool end = f->nic || f->companion || f->link.port == PIPC__EXPRESS_ENDPOINT ||
               f->link.port == PIPC__EXPRESS_LEGACY || f->link.port == PIPC__EXPRESS_INTEGRATED;

    return below->gpus > 0 || (j->facts->excerpt && !end && below->nics == 0);
}

/* How much lost lanes of a link are at most. A NIC is told, not acted upon: its node has GPUs that
 * are well. The gigabit ports of a board often have fewer lanes than their chip could use. */
static pipc__severity_t width_most(const judge_t *j, const pipc__fact_t *f)
{
    bool little = f->link.max_mts >= 0 && (long)f->link.max_width * f->link.max_mts <= LITTLE;

    if (is_of_gpu(j, f))
        return PIPC__DRAIN;
    return f->nic && little ? PIPC__NOTE : PIPC__WARN;
}

/* The link is what both ends can do: does the slot hold the card back? */
static void judge_slot(judge_t *j, const pipc__fact_t *p, const pipc__fact_t *f)
{
    const pipc__express_t *a = &p->link, *b = &f->link;
    char speed[24], want[192];
    int width = pipc__min_known(a->max_width, b->max_width),
        mts = pipc__min_known(a->max_mts, b->max_mts);

    if (j->facts->virtual_machine || mts < 0 || b->max_mts < 0)
        return;
    if (a->max_width >= b->max_width && a->max_mts >= b->max_mts)
        return;
    bool starved = (long)width * mts * STARVED <= (long)b->max_width * b->max_mts;
    snprintf(want, sizeof(want), "x%d at %s by the card", b->max_width,
             pipc__speed_text(b->max_mts, speed));
    find(j, starved ? PIPC__CODE_STARVED : PIPC__CODE_SLOT, f, want,
         "limited by slot: %s has x%d at %s", p->name, width, pipc__speed_text(mts, speed));
}

/* Whatever is seen, both ends of a true link say the same: ends that differ are not of one link,
 * but of what a hypervisor or a card made up. */
static void judge_width(judge_t *j, const pipc__fact_t *p, const pipc__fact_t *f)
{
    int a = p->link.width, b = f->link.width, now = a >= 0 ? a : b;
    int can = pipc__min_known(p->link.max_width, f->link.max_width);
    bool both = p->link.max_width >= 0 && f->link.max_width >= 0;
    char want[192];

    if (now < 0 || can < 0) {
        if (f->gpu)
            find(j, PIPC__CODE_NO_LINK, f, "", "the link's width is not known");
        return;
    }
    if (pipc__min_known(a, b) >= can) {
        if (both)
            judge_slot(j, p, f);
        return;
    }
    if (pipc__judge_excused(j, p, f, pipc__min_known(a, b)))
        return;
    snprintf(want, sizeof(want), "x%d by %s and %s", can, p->name, f->name);
    if (f->gpu && f->link.d_state == 3)
        find(j, PIPC__CODE_ASLEEP, f, want, "is in D3, where its link of x%d says nothing", now);
    else if (a >= 0 && b >= 0 && a != b)
        find(j, PIPC__CODE_UNCONFIRMED, f, want, "link is x%d at one end and x%d at the other", a,
             b);
    else if (!both || j->facts->virtual_machine)
        find(j, PIPC__CODE_UNCONFIRMED, f, want, "link is x%d", now);
    else
        pipc__judge_find(j, PIPC__CODE_WIDTH, width_most(j, f), f, want, "link is x%d", now);
}

static void judge_speed(judge_t *j, const pipc__fact_t *p, const pipc__fact_t *f)
{
    int now = p && p->link.mts >= 0 ? p->link.mts : f->link.mts;
    int can = p ? pipc__min_known(p->link.max_mts, f->link.max_mts) : f->link.max_mts;
    int target = p ? p->link.target_mts : -1, want = pipc__link_wanted_mts(p, f);
    char is[24], should[24];

    if (now >= 0 && want >= 0 && now < want)
        find(j, PIPC__CODE_SPEED, f, pipc__speed_text(want, should), "link runs at %s%s",
             pipc__speed_text(now, is), p ? "" : ": it is idle, or limited by its slot");
    if (p && target >= 0 && can >= 0 && target < can)
        find(j, PIPC__CODE_TARGET, p, pipc__speed_text(can, should), "target speed is %s",
             pipc__speed_text(target, is));
}

static void judge_aspm(judge_t *j, const pipc__fact_t *f)
{
    static const char *const names[] = {"off", "L0s", "L1", "L0s and L1"};

    if (f->link.aspm > 0)
        pipc__judge_find(j, PIPC__CODE_ASPM, f->companion ? PIPC__NOTE : PIPC__DRAIN, f, "off",
                         "ASPM %s is on%s%s", names[f->link.aspm & 3],
                         j->facts->aspm_policy[0] ? "; the kernel's policy: " : "",
                         j->facts->aspm_policy);
    else if (f->gpu && f->link.aspm < 0 && f->answer != PIPC__SILENT &&
             f->link.port != PIPC__EXPRESS_INTEGRATED)
        pipc__judge_advise(
            j, PIPC__CODE_HIDDEN, PIPC__DRAIN, f,
            j->facts->excerpt ? "show all that lspci -vvv says of it, as root" : NULL, "", "%s",
            j->facts->excerpt ? "its ASPM is not told" : "its capabilities cannot be read");
}

/* What a text shows several times, with more lanes and with fewer, or lost and well: which is so
 * now it does not tell. */
static void judge_widths(judge_t *j, const pipc__fact_t *f)
{
    if (f->was_lost)
        pipc__judge_advise(j, PIPC__CODE_CHANGED, PIPC__DRAIN, f,
                           "look at the machine itself; if it is lost again, reseat or replace it",
                           "", "did not answer in one place of the text, and answers further down");
    if (f->narrowest == 0)
        return;
    pipc__judge_advise(
        j, PIPC__CODE_CHANGED, PIPC__DRAIN, f,
        "look at the machine itself; if it has fewer lanes now, reseat the card and its riser", "",
        "link is x%d in one place of the text and x%d in another", f->narrowest, f->link.width);
}

static void judge_link(judge_t *j, const pipc__fact_t *p, const pipc__fact_t *f)
{
    if (pipc__inside_card(j->facts, f))
        return;
    judge_width(j, p, f);
    if (is_of_gpu(j, f))
        judge_speed(j, p, f);
}

/* A port that is lost does not tell what was below it: where no GPU was, it is no more than told.
 */
static void judge_lost(judge_t *j, const pipc__fact_t *p, const pipc__fact_t *f)
{
    bool gpu = f->bridge ? j->below[f - j->facts->dev].gpus > 0 : is_of_gpu(j, f);

    if (!p || p->answer != PIPC__LOST) /* what is below a lost port is lost with it */
        pipc__judge_find(j, PIPC__CODE_LOST, gpu ? PIPC__DRAIN : PIPC__WARN, f, "",
                         "does not answer%s%s", p ? ", below " : "", p ? p->name : "");
}

/* Is it a further function of the NIC before it? They share one link. */
static bool is_second_port(const judge_t *j, const pipc__fact_t *f)
{
    const pipc__fact_t *first = f - j->facts->dev > 0 ? f - 1 : NULL;
    const char *dot = strrchr(f->name, '.');

    return f->nic && first && first->nic && dot &&
           strncmp(f->name, first->name, (size_t)(dot - f->name) + 1) == 0;
}

/* Sound and USB of a card share the GPU's link: where the GPU is in view that is judged, and the
 * function only told about. */
static void judge_companion(judge_t *j, const pipc__fact_t *f)
{
    if (f->answer == PIPC__LOST || f->answer == PIPC__ASLEEP)
        return; /* it may be switched off for itself */
    judge_aspm(j, f);
    if (j->gpus > 0)
        return;
    if (f->link.d_state == 3)
        find(j, PIPC__CODE_ASLEEP, f, "", "is in D3: its link says nothing");
    else
        judge_alone(j, f);
}

/* What came up without a link is in no list of devices; the port above it knows of it. It may be a
 * card of any kind. */
static void judge_dead_slot(judge_t *j, const pipc__fact_t *f)
{
    if (f->dead_slot && !j->facts->virtual_machine)
        pipc__judge_find(j, PIPC__CODE_LOST, PIPC__WARN, f, "",
                         "the card in its slot has no link (x0)");
}

static void judge_device(judge_t *j, const pipc__fact_t *f)
{
    const pipc__fact_t *p = parent_of(j, f);

    judge_dead_slot(j, f);
    if (f->companion) {
        judge_companion(j, f);
        return;
    }
    if (f->answer == PIPC__LOST) {
        judge_lost(j, p, f);
        return;
    }
    if (f->answer == PIPC__ASLEEP) {
        find(j, PIPC__CODE_ASLEEP, f, "", "is powered off (D3cold)");
        return;
    }
    if (is_of_gpu(j, f))
        judge_aspm(j, f);
    if (p || f->gpu)
        judge_widths(j, f);
    if (p && pipc__has_link(j->facts, f)) {
        if (!is_second_port(j, f))
            judge_link(j, p, f);
    } else if (f->gpu || (!p && f->link.port == PIPC__EXPRESS_UPSTREAM)) {
        judge_alone(j, f);
        judge_speed(j, NULL, f);
    }
}

/* How many GPUs and NICs are at or below each device. */
static void count_below(judge_t *j)
{
    for (int i = 0; i < j->facts->n; i++) {
        const pipc__fact_t *f = &j->facts->dev[i];
        j->gpus += f->gpu;
        for (int k = i; (f->gpu || f->nic) && k >= 0; k = j->facts->dev[k].parent) {
            j->below[k].gpus += f->gpu;
            j->below[k].nics += f->nic;
        }
    }
}

static void judge_number(judge_t *j)
{
    char want[32];

    if (j->gpus == 0)
        find(j, PIPC__CODE_NO_GPU, NULL, "", "no GPU is here");
    snprintf(want, sizeof(want), "%d", j->limits->gpus);
    if (j->limits->gpus > j->gpus)
        find(j, PIPC__CODE_MISSING, NULL, want, "GPUs in view: %d", j->gpus);
}

pipc_status_t pipc__judge(const pipc__facts_t *facts, const pipc__limits_t *limits,
                          pipc__findings_t *out, pipc__error_t *err)
{
    judge_t j = {.facts = facts, .limits = limits, .out = out, .err = err};

    memset(out, 0, sizeof(*out));
    j.below = calloc((size_t)facts->n + 1, sizeof(*j.below));
    if (!j.below)
        return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    count_below(&j);
    judge_number(&j);
    for (int i = 0; i < facts->n && !j.status; i++) {
        judge_device(&j, &facts->dev[i]);
        pipc__judge_errors(&j, &facts->dev[i]);
        pipc__judge_memory(&j, &facts->dev[i]);
    }
    pipc__judge_node(&j);
    pipc__judge_nvml(&j);
    pipc__judge_events(&j);
    free(j.below);
    return j.status;
}
