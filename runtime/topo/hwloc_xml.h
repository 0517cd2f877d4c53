/* topo/hwloc_xml.h - what the files that read hwloc's XML share */
#ifndef PIPC_TOPO_HWLOC_XML_H
#define PIPC_TOPO_HWLOC_XML_H

#include "runtime/topo/topo.h"

pipc__pci_addr_t pipc__hwloc_addr(const struct hwloc_pcidev_attr_s *a);

/* Add to @topo, whose devices stand, the NVLinks that @hw tells; false without memory. */
bool pipc__hwloc_nvlinks(hwloc_topology_t hw, pipc__topo_t *topo);

#endif
