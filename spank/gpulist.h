/* spank/gpulist.h - CUDA_VISIBLE_DEVICES as CUDA reads it
 *
 * A number i is the i-th device in PCI bus order of those that the process may open: with the
 * device cgroup (ConstrainDevices=yes) that makes 0..n-1 of the task's own, without it the index on
 * the node. One rule serves both, and it is CUDA's own (under CUDA_DEVICE_ORDER=PCI_BUS_ID, which
 * the plugin exports). Minors are never numbers of this list: drivers hand them out in any order.
 *
 * The text comes from the job's environment. It can only pick from what the kernel grants.
 */
#ifndef PIPC_SPANK_GPULIST_H
#define PIPC_SPANK_GPULIST_H

#include "runtime/bind/bind.h"
#include "runtime/topo/topo.h"
#include "spank/ops.h"

typedef enum pipc__gpulist_kind {
    PIPC__LIST_ABSENT, /* no list: CUDA sees all that can be opened */
    PIPC__LIST_NONE,   /* a list that shows no device */
    PIPC__LIST_KNOWN,  /* every entry is a GPU of the tree that can be opened, and stands once */
    PIPC__LIST_OPAQUE  /* anything else, MIG included: to be left exactly as it is */
} pipc__gpulist_kind_t;

typedef struct pipc__gpulist {
    pipc__gpulist_kind_t kind;
    int count;               /* entries of the text, also of an opaque one; 0 when absent */
    int gpu[PIPC__BIND_MAX]; /* KNOWN: object index of each entry */
    const char *text[PIPC__BIND_MAX]; /* KNOWN: its text, inside the view's; len bytes */
    int len[PIPC__BIND_MAX];
} pipc__gpulist_t;

/* The GPUs that @minors opens, in PCI bus order, into out[PIPC__MINORS]; returns how many, or
 * PIPC__UNKNOWN when the tree does not hold one of them: then no number means anything. */
int pipc__gpulist_granted(const pipc__topo_t *topo, uint64_t minors, int *out);

/* Read view->list. @list points into @view afterwards. */
void pipc__gpulist_read(const pipc__topo_t *topo, const pipc__view_t *view, pipc__gpulist_t *list);

/* Write the entries of a KNOWN list in the order of order[list->count], a permutation of its GPUs,
 * each with its own text. False, and buf "", when it does not fit. */
bool pipc__gpulist_write(const pipc__gpulist_t *list, const int *order, char *buf, size_t cap);

#endif
