/* topo/svg.h - a tree as a picture for a ticket: plain SVG 1.1, no scripts, fonts or links */
#ifndef PIPC_TOPO_SVG_H
#define PIPC_TOPO_SVG_H

#include "runtime/topo/topo.h"

/* @title stands above the picture (a host's name), @made below it (program, date). A link with
 * fewer lanes than both of its ends have is red. PIPC_ERR_NOMEM, or PIPC_ERR_SYSTEM when @out
 * can't be written. */
pipc_status_t pipc__topo_print_svg(const pipc__topo_t *topo, const char *title, const char *made,
                                   FILE *out, pipc__error_t *err);

#endif
