/* prolog/places.h - where a device stands, and so which links there are. Pure.
 */
#ifndef PIPC_PROLOG_PLACES_H
#define PIPC_PROLOG_PLACES_H

#include "prolog/facts.h"

/* PIPC__EXPRESS_... */
int pipc__port_type(const pipc__facts_t *facts, const pipc__fact_t *f);

/* Is there a link between @f and the port above it? Inside a switch there is none: there, what both
 * ports say is about two other links. */
bool pipc__has_link(const pipc__facts_t *facts, const pipc__fact_t *f);

#endif
