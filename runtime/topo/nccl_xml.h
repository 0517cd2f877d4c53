/* topo/nccl_xml.h - the elements of NCCL's XML: nccl_xml.c reads them, nccl_tree.c makes a tree of
 * them
 */
#ifndef PIPC_TOPO_NCCL_XML_H
#define PIPC_TOPO_NCCL_XML_H

#include "runtime/topo/topo.h"
#include "runtime/topo/xml.h"

typedef struct pipc__nccl_pci { /* a <pci> */
    pipc__topo_obj_t facts;
    int parent, line, depth;
    bool gpu, nic; /* has such an element */
    int dev;       /* of its <gpu>, or unknown */
    bool pci_below;
} pipc__nccl_pci_t;

typedef struct pipc__nccl_nvlink {
    pipc__pci_addr_t gpu, target;
    bool to_gpu;  /* the file says that the target is one */
    int from, to; /* the same as objects; to unknown: a switch */
    int count;
} pipc__nccl_nvlink_t;

typedef struct pipc__nccl_xml {
    pipc__topo_t *topo; /* gets the NUMA nodes, and then all else */
    pipc__nccl_pci_t *nodes;
    int n;
    pipc__nccl_nvlink_t *nvlinks;
    int nnvlinks;
    int stack[PIPC__XML_DEPTH_MAX + 1]; /* the pci at or above each open element, or unknown */
    int depth;
    int numa;                  /* of the cpu that is open */
    int cpus;                  /* elements so far */
    char host[PIPC__NAME_MAX]; /* which machine the cpus are of */
} pipc__nccl_xml_t;

/* All elements are read: add to x->topo what they tell. @path is for errors: PIPC_ERR_INVALID when
 * a device stands twice or nothing tells what any of them is. */
pipc_status_t pipc__nccl_tree(pipc__nccl_xml_t *x, const char *path, pipc__error_t *err);

#endif
