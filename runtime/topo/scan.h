/* topo/scan.h - the PCI devices of a machine, and which is above which: read from the files below a
 * root (scan.c) or told by another source. tree.c makes a tree of them.
 */
#ifndef PIPC_TOPO_SCAN_H
#define PIPC_TOPO_SCAN_H

#include "runtime/topo/device.h"
#include "runtime/topo/topo.h"

#define PIPC__SCAN_DEVICES "sys/bus/pci/devices"

typedef enum pipc__part {
    PIPC__PART_UNSEEN,
    PIPC__PART_OTHER,
    PIPC__PART_BRIDGE,
    PIPC__PART_SWITCH,     /* an upstream port: the switch */
    PIPC__PART_DOWNSTREAM, /* no object: what is below it is below the switch */
    PIPC__PART_GPU,
    PIPC__PART_NIC
} pipc__part_t;

typedef struct pipc__scan_device {
    pipc__pci_addr_t addr, above; /* above.domain PIPC__UNKNOWN: none is known */
    int parent;                   /* index, or PIPC__UNKNOWN: on a root bus */
    int appended;                 /* the index it had before sorting */
    int first, next;              /* children, siblings: indexes, ascending by address */
    int depth;
    int port, secondary;     /* of bridges: Express port type, bus below */
    int places, last_device; /* devices, functions aside, on the bus below it */
    pipc__part_t part;
    bool listed; /* false: known as an ancestor only */
    bool linked; /* its link could be read: @above is all there is to know */
    bool virtual;
    bool bridge_below, downstream_below;
    bool keep;                     /* is, or leads to, a GPU or NIC */
    const pipc__topo_obj_t *known; /* the facts; NULL: they are in files below the root */
} pipc__scan_device_t;

typedef struct pipc__scan {
    const char *root, *folder; /* together what error texts name: the root or a file, and "/" and
                                  the folder below it or "" */
    bool roots_apart; /* the source shows no host bridges: each device on top gets one of its own */
    pipc__scan_device_t *dev;
    int n, cap;
} pipc__scan_t;

/* Fill @scan, zeroed but for its root and folder, in order of address: who is above whom, and which
 * part each device plays; bridges are all PIPC__PART_BRIDGE yet. The caller frees scan->dev, also
 * on failure. PIPC_ERR_NOT_FOUND without sys/bus/pci/devices. */
pipc_status_t pipc__scan(pipc__scan_t *scan, pipc__error_t *err);

/* The same for another source, device by device: nothing is known of @addr yet but what the caller
 * fills in (part, port, known; parent: its index in order of appending). Then bring all into
 * order. Two devices may have one address: a file may invent it. */
pipc__scan_device_t pipc__scan_device(pipc__pci_addr_t addr);
pipc_status_t pipc__scan_append(pipc__scan_t *scan, pipc__scan_device_t device, pipc__error_t *err);
void pipc__scan_link(pipc__scan_t *scan);

/* Add to @topo, which holds nothing but the machine, what @scan holds. No way up is longer than
 * PIPC__TOPO_DEPTH_MAX - 4 by then. */
pipc_status_t pipc__topo_add_scan(pipc__topo_t *topo, pipc__scan_t *scan, pipc__error_t *err);

/* The part that a role plays. */
pipc__part_t pipc__part_of_role(pipc__device_role_t role);

/* The name of a device, and its folder below the root. */
void pipc__scan_locate(const pipc__scan_t *scan, const pipc__scan_device_t *d,
                       char name[PIPC__NAME_MAX], char dir[PIPC__DEVICE_DIR_MAX]);

#endif
