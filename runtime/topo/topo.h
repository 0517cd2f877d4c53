/* topo/topo.h - one tree of a machine's PCIe fabric, whatever source it was read from.
 *
 *     machine
 *     +- host bridge 0000:00          one per PCI domain and root bus
 *     |  +- bridge 0000:00:01.0       a root port
 *     |     +- switch 0000:01:00.0    upstream port and its downstream ports, as one object
 *     |        +- gpu  0000:03:00.0
 *     |        +- nic  0000:05:00.0
 *     +- host bridge 0000:80 ...
 *
 * NUMA nodes and cores are no part of the PCI tree: they stand in a table of their own, and each
 * host bridge and device names its node. The topology knows no ranks.
 *
 * What a source can't tell is unknown, never zero: PIPC__UNKNOWN (-1) for numbers, an empty string
 * for names.
 */
#ifndef PIPC_TOPO_TOPO_H
#define PIPC_TOPO_TOPO_H

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/base/error.h"

#define PIPC__UNKNOWN (-1)
#define PIPC__NAME_MAX 48

typedef enum pipc__topo_kind {
    PIPC__TOPO_MACHINE,
    PIPC__TOPO_HOST_BRIDGE,
    PIPC__TOPO_BRIDGE, /* a root port, or a bridge that fans out to nothing we need */
    PIPC__TOPO_SWITCH, /* one upstream port with its downstream ports */
    PIPC__TOPO_GPU,    /* display, co-processor, processing accelerator (PCI 03, 0b40, 1200) */
    PIPC__TOPO_NIC     /* network controller (PCI class 02). Each function is an object, as it has a
                          name of its own; the functions of one device are one place */
} pipc__topo_kind_t;

typedef struct pipc__pci_addr {
    int domain, bus, device, function; /* domain PIPC__UNKNOWN: the object has no address;
                                          device PIPC__UNKNOWN: a host bridge, which is a bus */
} pipc__pci_addr_t;

typedef struct pipc__link {
    int width, max_width;         /* lanes */
    int speed_mts, max_speed_mts; /* mega-transfers a second and lane: 2500, 8000, 16000, ... */
} pipc__link_t;

typedef struct pipc__topo_obj {
    pipc__topo_kind_t kind;
    int parent; /* index into topo->objs; PIPC__UNKNOWN for the machine */
    pipc__pci_addr_t addr;
    char name[PIPC__NAME_MAX]; /* "0000:41:00.0", or the source's own name without an address */
    int vendor, device, class_code; /* class_code is 24 bits: base, sub, interface */
    int numa;                       /* index into topo->numas, or PIPC__UNKNOWN */
    pipc__link_t link;              /* the link above this object */
    int minor;                      /* GPU: N of /dev/nvidiaN, or PIPC__UNKNOWN */
    char uuid[PIPC__NAME_MAX];      /* GPU: "GPU-...", or "" */
    char netdev[PIPC__NAME_MAX];    /* NIC: "mlx5_0" or "eth0", or "" */
    bool rdma; /* NIC: InfiniBand, RoCE, Omni-Path or Slingshot, not plain Ethernet */
} pipc__topo_obj_t;

typedef struct pipc__topo_numa {
    int os_index;
    hwloc_bitmap_t cpus; /* owned by the tree; OS indexes of logical CPUs. Empty: memory only, or
                            not known */
    bool memory_only;    /* the source says so: GPU or CXL memory, no place for ranks */
} pipc__topo_numa_t;

typedef struct pipc__topo {
    pipc__topo_obj_t *objs; /* objs[0] is the machine. Preorder: an object is followed by all that
                               is below it; siblings in order of (domain, bus, device, function) */
    int nobjs;
    pipc__topo_numa_t *numas;
    int nnumas;
    hwloc_bitmap_t *cores; /* the logical CPUs of each core; a CPU in none is a core by itself */
    int ncores;
    int *nvlinks;    /* a number for each pair of GPUs, see pipc__topo_nvlinks(); NULL: not told */
    char source[64]; /* "live", "sysroot", "synthetic" */
} pipc__topo_t;

/* Each source makes a tree that the caller releases with pipc__topo_free(); on failure *topo is
 * NULL and @err names the file or the place in the text. */

/* The machine this runs on: cores and NUMA nodes by hwloc (without its I/O discovery, which costs
 * hundreds of milliseconds and has been seen to hang), PCI by sysfs. */
pipc_status_t pipc__topo_live(pipc__topo_t **topo, pipc__error_t *err);

/* A captured machine: sys/bus/pci, sys/devices, proc/driver/nvidia below @root. Files that are
 * missing make facts unknown, not errors; no sys/bus/pci/devices at all is PIPC_ERR_NOT_FOUND. */
pipc_status_t pipc__topo_sysroot(pipc__topo_t **topo, const char *root, pipc__error_t *err);

/* A one-line description, for plans and tests without the machine:
 *
 *     text  := group {"+" group}
 *     group := [N "x"] "[" [kind ":"] item {"+" item} "]"      kind := "sw" | "numa" (default)
 *     item  := group | [N] ("gpu" | "nic" | "core")
 *
 * A top-level group is one NUMA node with a host bridge of its own; "sw" puts a switch under it.
 * Groups inside a group are switches. "2x[sw:4gpu+1nic]", "[sw:5gpu]+[sw:3gpu]",
 * "2x[2x[sw:2gpu]+1nic]", "[4gpu+16core]". 8 cores a NUMA node unless said; "0core" makes a node
 * that is memory only. NICs are RDMA devices. GPUs are numbered (minor) in order; addresses are
 * invented but stable. A wrong text is PIPC_ERR_INVALID, and @err names the place in it. */
pipc_status_t pipc__topo_synthetic(pipc__topo_t **topo, const char *text, pipc__error_t *err);

void pipc__topo_free(pipc__topo_t *topo); /* NULL is allowed; keeps errno */

/* GPUs or NICs in tree order: fills out[cap] with object indexes, returns how many there are. */
int pipc__topo_list(const pipc__topo_t *topo, pipc__topo_kind_t kind, int *out, int cap);

/* The object with this minor, or with this address; PIPC__UNKNOWN when there is none. */
int pipc__topo_gpu_by_minor(const pipc__topo_t *topo, int minor);
int pipc__topo_by_addr(const pipc__topo_t *topo, pipc__pci_addr_t addr);

/* The place of a GPU among all in PCI bus order, from 0, as nvidia-smi counts and CUDA under
 * CUDA_DEVICE_ORDER=PCI_BUS_ID. GPUs without an address come last, in tree order. */
int pipc__topo_bus_index(const pipc__topo_t *topo, int gpu);

/* Switch groups. The group of a GPU is the deepest switch at or above its parent that it shares
 * with another GPU or NIC of another device; a switch inside a card is not shared. Returns an
 * object index, or PIPC__UNKNOWN for a GPU that shares no switch. */
int pipc__topo_switch_of(const pipc__topo_t *topo, int obj);

/* Do two objects belong to one device (functions of it)? It is one place for sharing. */
bool pipc__topo_same_place(const pipc__topo_t *topo, int a, int b);

/* Is @obj a switch that makes a group: GPUs share it with something, and no switch below it holds
 * the same things? pipc__topo_switch_of() only returns such. Nested switches make nested groups. */
bool pipc__topo_is_group(const pipc__topo_t *topo, int obj);

/* The nearest group above @obj, or PIPC__UNKNOWN. */
int pipc__topo_group_above(const pipc__topo_t *topo, int obj);

/* One past the last object below @top: [top, end) is the part of the tree at and below it. */
int pipc__topo_end(const pipc__topo_t *topo, int top);

/* As pipc__topo_list(), below @top only. */
int pipc__topo_list_below(const pipc__topo_t *topo, int top, pipc__topo_kind_t kind, int *out,
                          int cap);

/* The NUMA node to place ranks on for @obj: its own, else its ancestors', skipping nodes that
 * are memory only (GPU memory and CXL memory are NUMA nodes too). Index into topo->numas or
 * PIPC__UNKNOWN. */
int pipc__topo_numa_of(const pipc__topo_t *topo, int obj);

/* Steps up from @a and @b to their lowest common ancestor, added; a host-bridge or machine
 * ancestor counts 100 or 1000 more, so that any path below a switch is nearer. */
int pipc__topo_distance(const pipc__topo_t *topo, int a, int b);

/* NVLinks between two GPUs, directly or through NVSwitches; 0: none, PIPC__UNKNOWN: not told. */
int pipc__topo_nvlinks(const pipc__topo_t *topo, int a, int b);

/* "0000:41:00.0" <-> address. Parse also takes "41:00.0" and the driver's "00000000:41:00.0"; false
 * when it is none of them. Format gives "0000:41" for a host bridge, "" for no address. */
bool pipc__pci_parse(const char *text, pipc__pci_addr_t *addr);
void pipc__pci_format(pipc__pci_addr_t addr, char out[PIPC__NAME_MAX]);

/* Print for people (a tree with names, links, NUMA nodes) and for programs (JSON: "groups" is an
 * array of {"gpus": [...], "nics": [...], "children": [...]}). */
pipc_status_t pipc__topo_print(const pipc__topo_t *topo, FILE *out, pipc__error_t *err);
pipc_status_t pipc__topo_print_json(const pipc__topo_t *topo, FILE *out, pipc__error_t *err);

#endif
