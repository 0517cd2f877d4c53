/* topo/device.h - the facts of one PCI device below a root: what its files say, nothing about where
 * it is. Absent and unreadable files, and values that make no sense, are unknown.
 */
#ifndef PIPC_TOPO_DEVICE_H
#define PIPC_TOPO_DEVICE_H

#include "runtime/topo/topo.h"

#define PIPC__DEVICE_DIR_MAX 1024

typedef enum pipc__device_role {
    PIPC__ROLE_OTHER,
    PIPC__ROLE_BRIDGE,
    PIPC__ROLE_GPU,
    PIPC__ROLE_NIC
} pipc__device_role_t;

/* Express port types as the capability has them; the others are of no interest. */
enum { PIPC__PORT_ROOT = 4, PIPC__PORT_UPSTREAM = 5, PIPC__PORT_DOWNSTREAM = 6 };

/* The folder of a device below @root. @link (may be NULL) is the text of its symbolic link: an
 * absolute one is followed below @root, where the kernel would leave a captured tree. */
void pipc__device_dir(const char *name, const char *link, char dir[PIPC__DEVICE_DIR_MAX]);

/* What the device at @addr is; PIPC__UNKNOWN for what is not known of it. */
pipc__device_role_t pipc__device_role_of(pipc__pci_addr_t addr, int class_code, int vendor,
                                         int device);

/* The same by the files of a device; GPUs without a class file are known by their driver's. */
pipc__device_role_t pipc__device_role(const char *root, const char *dir, const char *name);

/* Is it a virtual function whose physical function is here? It is the same card, no second one. */
bool pipc__device_is_virtual(const char *root, const char *dir);

/* Express port type from config space, or PIPC__UNKNOWN: with 64 bytes, as without privilege, there
 * are no capabilities to read. */
int pipc__device_port(const char *root, const char *dir);

/* The bus below a bridge, or PIPC__UNKNOWN. */
int pipc__device_secondary_bus(const char *root, const char *dir);

/* Fill in all facts of @obj except kind, parent, address and name. A NUMA node that only the device
 * knows of is added to @topo. False without memory. */
bool pipc__device_facts(pipc__topo_t *topo, const char *root, const char *dir,
                        pipc__topo_obj_t *obj);

/* "8 GT/s", "8.0 GT/s PCIe", "2.5 GT/s" -> 8000, 8000, 2500; "", "Unknown speed" -> unknown. */
int pipc__link_speed_mts(const char *text);

/* A width that PCIe has, or PIPC__UNKNOWN: 0 is "no link", and 63 and 255 are what a device that is
 * gone seems to say. */
int pipc__link_width(int width);

/* The NUMA node that all CPUs in @near belong to, if it is one; nodes without CPUs can't be. Index
 * into topo->numas, or PIPC__UNKNOWN. */
int pipc__numa_of_cpus(const pipc__topo_t *topo, hwloc_const_bitmap_t near);

/* A name that came from outside goes to terminals and into JSON: make it printable ASCII. */
void pipc__make_printable(char *name);

#endif
