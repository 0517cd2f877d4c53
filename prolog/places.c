/* prolog/places.c - see places.h */
#include "prolog/places.h"

#include <stdio.h>
#include <string.h>

#define VENDOR_AMD 0x1002
#define VENDOR_INTEL 0x8086

static const pipc__fact_t *parent_of(const pipc__facts_t *facts, const pipc__fact_t *f)
{
    return f->parent >= 0 ? &facts->dev[f->parent] : NULL;
}

/* Where config space does not say it, the place does: root port, upstream port, downstream port,
 * upstream port of the next switch, ... */
int pipc__port_type(const pipc__facts_t *facts, const pipc__fact_t *f)
{
    const pipc__fact_t *p = parent_of(facts, f);
    int above;

    if (f->link.port >= 0)
        return f->link.port;
    if (f->gpu)
        return PIPC__EXPRESS_ENDPOINT;
    if (!p)
        return PIPC__EXPRESS_ROOT;
    above = pipc__port_type(facts, p); /* ways up end: facts.h */
    return above == PIPC__EXPRESS_ROOT || above == PIPC__EXPRESS_DOWNSTREAM
               ? PIPC__EXPRESS_UPSTREAM
               : PIPC__EXPRESS_DOWNSTREAM;
}

bool pipc__has_link(const pipc__facts_t *facts, const pipc__fact_t *f)
{
    const pipc__fact_t *p = parent_of(facts, f);
    int own = pipc__port_type(facts, f), above = p ? pipc__port_type(facts, p) : -1;

    if (above != PIPC__EXPRESS_ROOT && above != PIPC__EXPRESS_DOWNSTREAM)
        return false;
    return own != PIPC__EXPRESS_ROOT && own != PIPC__EXPRESS_DOWNSTREAM &&
           own != PIPC__EXPRESS_INTEGRATED;
}

/* Such switches and what is below them are of one maker. */
bool pipc__inside_card(const pipc__facts_t *facts, const pipc__fact_t *f)
{
    const pipc__fact_t *p = parent_of(facts, f);

    return p && p->vendor == f->vendor && (f->vendor == VENDOR_AMD || f->vendor == VENDOR_INTEL) &&
           pipc__port_type(facts, p) == PIPC__EXPRESS_DOWNSTREAM;
}

void pipc__place(const pipc__facts_t *facts, const pipc__fact_t *f, char out[PIPC__PLACE_MAX])
{
    const pipc__fact_t *p = parent_of(facts, f);
    const char *name = strrchr(f->name, ':');
    size_t used;

    if (!p) {
        snprintf(out, PIPC__PLACE_MAX, "%s", f->name);
        return;
    }
    pipc__place(facts, p, out); /* ways up end: facts.h */
    used = strlen(out);
    snprintf(out + used, PIPC__PLACE_MAX - used, "/%s", name ? name + 1 : f->name);
}

int pipc__min_known(int a, int b)
{
    if (a < 0 || b < 0)
        return a < 0 ? b : a;
    return a < b ? a : b;
}

int pipc__link_wanted_mts(const pipc__fact_t *p, const pipc__fact_t *f)
{
    if (!p)
        return f->link.max_mts;
    return pipc__min_known(pipc__min_known(p->link.max_mts, f->link.max_mts), p->link.target_mts);
}
