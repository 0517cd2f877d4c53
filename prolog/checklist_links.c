/* prolog/checklist_links.c - lines of the list that registers answer: GPUs, links, ASPM, speeds */
#include <stdio.h>
#include <string.h>

#include "prolog/checklist_lines.h"
#include "prolog/places.h"

static bool has_baseline(const pipc__list_t *l, pipc__line_t *line)
{
    if (!l->r->baseline->there)
        pipc__line_say(line, PIPC__LINE_UNKNOWN,
                       "there is no baseline; \"baseline learn\" makes it");
    return l->r->baseline->there;
}

/* A GPU of one list that is not in the other, or is another one; NULL: they are the same. */
static const pipc__baseline_entry_t *odd_gpu(const pipc__baseline_t *a, const pipc__baseline_t *b,
                                             int *gpus)
{
    char what[2 * PIPC__BASELINE_VALUE_MAX + 32];

    *gpus = 0;
    for (int i = 0; i < a->n; i++) {
        const pipc__baseline_entry_t *e = &a->list[i], *other;
        if (e->kind != PIPC__KIND_GPU)
            continue;
        other = pipc__baseline_at(b, e->path);
        if (!other || pipc__baseline_is_another(e, other, what, sizeof(what)))
            return e;
        ++*gpus;
    }
    return NULL;
}

void pipc__line_gpus(const pipc__list_t *l, pipc__line_t *line)
{
    const pipc__baseline_entry_t *gone, *new;
    char date[32];
    int n;

    if (!has_baseline(l, line))
        return;
    gone = odd_gpu(l->r->baseline, &l->now, &n);
    new = gone ? NULL : odd_gpu(&l->now, l->r->baseline, &n);
    if (gone)
        pipc__line_say(line, l->facts->excerpt ? PIPC__LINE_UNKNOWN : PIPC__LINE_NO,
                       "%s of the baseline is not at its place, or another GPU is", gone->name);
    else if (new)
        pipc__line_say(line, PIPC__LINE_NO, "%s is not in the baseline", new->name);
    else if (n == 0)
        pipc__line_say(line, PIPC__LINE_UNKNOWN, "the baseline has no GPU");
    else
        pipc__line_say(line, PIPC__LINE_YES, "%d GPUs, as in the baseline of %s", n,
                       pipc__date_text(l->r->baseline_time, date));
}

/* A link of the baseline as it is now. */
static pipc__line_state_t link_state(const pipc__baseline_entry_t *then,
                                     const pipc__baseline_entry_t *now)
{
    const int pairs[3][2] = {{then->width, now ? now->width : -1},
                             {then->max_mts, now ? now->max_mts : -1},
                             {then->target_mts, now ? now->target_mts : -1}};
    pipc__line_state_t state = PIPC__LINE_YES;

    for (int i = 0; i < 3; i++) {
        if (pairs[i][0] < 0)
            continue;
        if (pairs[i][1] >= 0 && pairs[i][1] < pairs[i][0])
            return PIPC__LINE_NO;
        if (pairs[i][1] < 0)
            state = PIPC__LINE_UNKNOWN;
    }
    return state;
}

void pipc__line_links(const pipc__list_t *l, pipc__line_t *line)
{
    const pipc__baseline_t *then = l->r->baseline;
    const char *odd[] = {"", "", ""};
    int count[3] = {0, 0, 0};
    char date[32];

    if (!has_baseline(l, line))
        return;
    for (int i = 0; i < then->n; i++) {
        const pipc__baseline_entry_t *e = &then->list[i];
        pipc__line_state_t state;
        if (e->width < 0 && e->max_mts < 0 && e->target_mts < 0)
            continue;
        state = link_state(e, pipc__baseline_at(&l->now, e->path));
        count[state]++;
        odd[state] = e->name;
    }
    pipc__date_text(l->r->baseline_time, date);
    if (count[PIPC__LINE_NO] > 0)
        pipc__line_say(line, PIPC__LINE_NO,
                       "%s can do less than in the baseline of %s, or has fewer lanes",
                       odd[PIPC__LINE_NO], date);
    else if (count[PIPC__LINE_UNKNOWN] > 0)
        pipc__line_say(line, PIPC__LINE_UNKNOWN, "%s cannot be told", odd[PIPC__LINE_UNKNOWN]);
    else if (count[PIPC__LINE_YES] == 0)
        pipc__line_say(line, PIPC__LINE_UNKNOWN, "the baseline has no link");
    else
        pipc__line_say(line, PIPC__LINE_YES, "%d links, as in the baseline of %s",
                       count[PIPC__LINE_YES], date);
}

/* Is it a GPU, or a port on the way from one to the root? Within a card there are no lanes. */
static bool is_on_way(const pipc__facts_t *facts, int i)
{
    for (int g = 0; g < facts->n; g++)
        for (int k = g; facts->dev[g].gpu && k >= 0; k = facts->dev[k].parent)
            if (k == i)
                return !pipc__inside_card(facts, &facts->dev[i]);
    return false;
}

void pipc__line_aspm(const pipc__list_t *l, pipc__line_t *line)
{
    const char *policy = l->facts->aspm_policy[0] ? l->facts->aspm_policy : "not known";
    pipc__tally_t t = {0};

    for (int i = 0; i < l->facts->n; i++) {
        const pipc__fact_t *f = &l->facts->dev[i];
        if (is_on_way(l->facts, i) && pipc__port_type(l->facts, f) != PIPC__EXPRESS_INTEGRATED)
            pipc__tally_add(&t, f->name,
                            f->link.aspm < 0   ? PIPC__LINE_UNKNOWN
                            : f->link.aspm > 0 ? PIPC__LINE_NO
                                               : PIPC__LINE_YES);
    }
    if (t.no)
        pipc__line_say(line, PIPC__LINE_NO, "%s has it on; the kernel's policy is %s", t.no,
                       policy);
    else if (t.unknown)
        pipc__line_say(line, PIPC__LINE_UNKNOWN, "%s does not tell; root sees more", t.unknown);
    else if (t.yes == 0)
        pipc__line_say(line, PIPC__LINE_UNKNOWN, "there is no link to a GPU in view");
    else
        pipc__line_say(line, PIPC__LINE_YES, "off at %d devices; the kernel's policy is %s", t.yes,
                       policy);
}

/* The register that a firmware's setting of a generation ends in is the port's target speed. */
void pipc__line_generation(const pipc__list_t *l, pipc__line_t *line)
{
    pipc__tally_t t = {0};
    char target[24] = "", most[24] = "";

    for (int i = 0; i < l->facts->n; i++) {
        const pipc__fact_t *f = &l->facts->dev[i];
        const pipc__fact_t *p = f->parent >= 0 ? &l->facts->dev[f->parent] : NULL;
        if (!is_on_way(l->facts, i) || !p || !pipc__has_link(l->facts, f))
            continue;
        bool known = p->link.target_mts > 0 && p->link.max_mts > 0 && f->link.max_mts > 0;
        int can = pipc__min_known(p->link.max_mts, f->link.max_mts);
        bool low = known && p->link.target_mts < can;
        if (low && !t.no) {
            pipc__speed_text(p->link.target_mts, target);
            pipc__speed_text(can, most);
        }
        pipc__tally_add(&t, f->name,
                        !known ? PIPC__LINE_UNKNOWN
                        : low  ? PIPC__LINE_NO
                               : PIPC__LINE_YES);
    }
    if (t.no)
        pipc__line_say(line, PIPC__LINE_NO, "the port above %s aims at %s, both ends can do %s",
                       t.no, target, most);
    else if (t.unknown)
        pipc__line_say(line, PIPC__LINE_UNKNOWN, "the link of %s does not tell; root sees more",
                       t.unknown);
    else if (t.yes == 0)
        pipc__line_say(line, PIPC__LINE_UNKNOWN, "there is no link to a GPU in view");
    else
        pipc__line_say(line, PIPC__LINE_YES, "%d links may train as high as both ends can do",
                       t.yes);
}
