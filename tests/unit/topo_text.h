/* tests/unit/topo_text.h - what a topology test compares: a tree's groups as one line */
#ifndef PIPC_TESTS_TOPO_TEXT_H
#define PIPC_TESTS_TOPO_TEXT_H

#include "runtime/topo/topo.h"

/* The switch groups, GPUs and NICs by their bus number in hex or, without an address, by name, children
 * in brackets of their own: "[03 04 05 | 06]" or "[03 04 07 08 [03 04] [07 08]]"; "" for none. A static
 * buffer. */
const char *groups_text(const pipc__topo_t *topo);

/* A synthetic tree; the test fails when the text is refused. */
pipc__topo_t *synthetic(const char *text);

/* Is the tree what topo.h promises: parents before children, preorder, siblings in order, sane
 * indexes? Fails the test when not. */
void assert_well_formed(const pipc__topo_t *topo);

#endif
