/* tests/unit/topo_nccl_text.h - NCCL's XML, piece by piece */
#ifndef PIPC_TESTS_TOPO_NCCL_TEXT_H
#define PIPC_TESTS_TOPO_NCCL_TEXT_H

#define SYSTEM(inner) "<system version=\"1\">" inner "</system>"
#define CPU(numa, mask, inner) "<cpu numaid=\"" numa "\" affinity=\"" mask "\">" inner "</cpu>"
#define PCI(busid, class, inner)                                                                   \
    "<pci busid=\"" busid "\" class=\"" class "\" link_speed=\"16.0 GT/s PCIe\" "                  \
                                              "link_width=\"16\">" inner "</pci>"
#define SWITCH(busid, inner) PCI(busid, "0x060400", inner)
#define GPU(bus) PCI("0000:" bus ":00.0", "0x030200", "<gpu dev=\"0\" rank=\"0\"/>")
#define NIC(bus, name)                                                                             \
    PCI("0000:" bus ":00.0", "0x020700", "<nic><net name=\"" name "\" port=\"1\"/></nic>")
#define LINKED(bus, links) PCI("0000:" bus ":00.0", "0x030200", "<gpu>" links "</gpu>")
#define NVLINK(target, count) "<nvlink target=\"" target "\" count=\"" count "\"/>"
#define CLASS_LINK(target, count, class)                                                           \
    "<nvlink target=\"" target "\" count=\"" count "\" tclass=\"" class "\"/>"

#endif
