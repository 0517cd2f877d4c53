/* prolog/places.c - see places.h */
#include "prolog/places.h"

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
