/* topo/build.h - how a source makes a tree; only sources include it, those of this folder and NVML
 * (tools/topo/nvml.c).
 *
 * Objects are added in preorder (topo.h): first an object, then all that is below it.
 */
#ifndef PIPC_TOPO_BUILD_H
#define PIPC_TOPO_BUILD_H

#include "runtime/topo/topo.h"

/* No real fabric is deeper (256 buses, and each hop takes one), and none of what reads a tree has
 * to guard against deeper ones: every source cuts or refuses there. */
#define PIPC__TOPO_DEPTH_MAX 64

/* An object of which nothing is known. */
extern const pipc__topo_obj_t pipc__topo_nothing_known;

/* A tree that holds the machine only. */
pipc_status_t pipc__topo_new(pipc__topo_t **topo, const char *source, pipc__error_t *err);

/* Add an object with every fact unknown below @parent; its index, or PIPC__UNKNOWN without memory.
 * Pointers into topo->objs are not valid any more afterwards. */
int pipc__topo_add(pipc__topo_t *topo, int parent, pipc__topo_kind_t kind);

/* Add a NUMA node, or a core, without CPUs; the set to fill, NULL without memory. */
hwloc_bitmap_t pipc__topo_add_numa(pipc__topo_t *topo, int os_index);
hwloc_bitmap_t pipc__topo_add_core(pipc__topo_t *topo);

/* For a source that tells the CPUs of nodes and not their cores: two ranges of one length are taken as
 * the two threads of each core. False without memory. In libpipc-topofiles.la. */
bool pipc__topo_guess_cores(pipc__topo_t *topo);

/* Say how many NVLinks two GPUs have, after the last GPU was added; false without memory. What was
 * said of no pair is unknown. */
bool pipc__topo_set_nvlinks(pipc__topo_t *topo, int a, int b, int links);

/* Order of siblings: <0, 0, >0 as strcmp(). */
int pipc__pci_compare(pipc__pci_addr_t a, pipc__pci_addr_t b);

/* Store an address and the name that goes with it. */
void pipc__topo_set_addr(pipc__topo_obj_t *obj, pipc__pci_addr_t addr);

/* The PCI part of the machine below @root ("" is the live one), added to @topo, whose NUMA nodes
 * stand already. PIPC_ERR_NOT_FOUND without sys/bus/pci/devices. */
pipc_status_t pipc__topo_add_pci(pipc__topo_t *topo, const char *root, pipc__error_t *err);

/* NUMA nodes and cores below @root, added to @topo; absent files are no error. */
pipc_status_t pipc__topo_add_cpus(pipc__topo_t *topo, const char *root, pipc__error_t *err);

#endif
