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

/* From the card's own switch to its chip there are no lanes, so that what the registers say there
 * may be anything. Is @f on that way? */
bool pipc__inside_card(const pipc__facts_t *facts, const pipc__fact_t *f);

#define PIPC__PLACE_MAX 160

/* The way from the root to @f, as lspci -P has it: "0000:40:01.0/00.0/08.0/00.0". The numbers of
 * the buses below the root are not in it: they change when a card is added elsewhere. */
void pipc__place(const pipc__facts_t *facts, const pipc__fact_t *f, char out[PIPC__PLACE_MAX]);

/* The least of two numbers; of a known and an unknown one (-1) the known. */
int pipc__min_known(int a, int b);

/* The speed that the link between @f and the port @p above it (NULL: not in view) should have under
 * load: what both ends can do, or less if the port's target is lower. -1: cannot be told. */
int pipc__link_wanted_mts(const pipc__fact_t *p, const pipc__fact_t *f);

#endif
