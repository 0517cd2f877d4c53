/* topo/link.h - what the link above an object can do, judged from both of its ends.
 *
 * The upper end of a link is a port. The tree has root ports (bridges below host bridges); the
 * downstream ports of switches it has not, and what they can do is not known.
 */
#ifndef PIPC_TOPO_LINK_H
#define PIPC_TOPO_LINK_H

#include "runtime/topo/topo.h"

/* Lanes, and mega-transfers a second, that both ends can do; PIPC__UNKNOWN when the device's end is
 * not known. A card in a slot with fewer lanes has lost none. */
int pipc__link_possible_width(const pipc__topo_t *topo, int obj);
int pipc__link_possible_mts(const pipc__topo_t *topo, int obj);

/* Has the link fewer lanes now than both ends can do? Speed is not judged: an idle device lowers
 * it. */
bool pipc__link_is_degraded(const pipc__topo_t *topo, int obj);

#endif
