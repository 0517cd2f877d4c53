/* topo/match.h - which object of one tree is which of another one; the rule is in compare.h */
#ifndef PIPC_TOPO_MATCH_H
#define PIPC_TOPO_MATCH_H

#include "runtime/topo/topo.h"

/* Fill to[a->nobjs]: the object of @b for each of @a, or PIPC__UNKNOWN. GPUs and NICs by
 * themselves; groups by what is below them; other switches and root ports by what is below, where
 * the ways up have as many. No object of @b stands twice. False without memory. */
bool pipc__topo_match(const pipc__topo_t *a, const pipc__topo_t *b, int *to);

#endif
