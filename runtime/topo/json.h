/* topo/json.h - the JSON of a tree, as a value that tools add to; only they include it */
#ifndef PIPC_TOPO_JSON_H
#define PIPC_TOPO_JSON_H

#include <jansson.h>

#include "runtime/topo/topo.h"

/* What a number that is not known, an empty text, an object index that is none become: null. */
json_t *pipc__json_number(int v);
json_t *pipc__json_text(const char *s);
json_t *pipc__json_name(const pipc__topo_t *topo, int obj);
json_t *pipc__json_cpus(hwloc_const_bitmap_t cpus);          /* "0-7,16"; NULL without memory */
json_t *pipc__json_numa(const pipc__topo_t *topo, int numa); /* the kernel's number of the node */

/* The members "objects", "cores" and "pairs" (json_tree.c). NULL without memory. */
json_t *pipc__json_objects(const pipc__topo_t *topo);
json_t *pipc__json_cores(const pipc__topo_t *topo);
json_t *pipc__json_pairs(const pipc__topo_t *topo);
json_t *pipc__json_link(const pipc__link_t *link);
json_t *pipc__json_id(int v, int digits); /* "0x10de" */

/* The words for pipc__topo_kind_t in "objects": "machine", "host_bridge", ... */
extern const char *const pipc__json_kinds[PIPC__TOPO_NIC + 1];

/* The whole object that pipc__topo_print_json() prints; the caller releases it. NULL without
 * memory. */
json_t *pipc__topo_json(const pipc__topo_t *topo);

/* Print @all (NULL: there was no memory for it) and release it. */
pipc_status_t pipc__json_print(json_t *all, FILE *out, pipc__error_t *err);

#endif
