/* spank/place.h - what becomes of one task: its GPU, the order of its list, its cores
 *
 * Pure: facts and a tree in, texts and masks out. Every task of a node decides by itself and they
 * all come to the same binding.
 */
#ifndef PIPC_SPANK_PLACE_H
#define PIPC_SPANK_PLACE_H

#include "runtime/topo/topo.h"
#include "spank/ops.h"

/* Fills all of @out. On failure nothing is to be changed; out->shown and the counts still hold. */
pipc_status_t pipc__place(const pipc__topo_t *topo, const pipc__place_in_t *in,
                          pipc__place_out_t *out, pipc__error_t *err);

#endif
