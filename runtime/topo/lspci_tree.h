/* topo/lspci_tree.h - the text of lspci -tv: lspci_tree.c reads it, lspci_names.c knows its words
 */
#ifndef PIPC_TOPO_LSPCI_TREE_H
#define PIPC_TOPO_LSPCI_TREE_H

#include <stdbool.h>

#include "runtime/topo/scan.h"

/* PIPC__PART_GPU, PIPC__PART_NIC or PIPC__PART_OTHER, by the name of a device that is no bridge.
 * *rdma: a NIC for RDMA. */
pipc__part_t pipc__lspci_part(const char *name, bool *rdma);

#endif
