/* topo/compare.h - what changed between two trees of one machine
 *
 * Pure. A device of A is the same as one of B when both tell the same UUID; else when kind, vendor
 * and device are the same and the address is; else, where a firmware has renumbered buses, when as
 * many of that kind, vendor and device are left in A as in B: then the first is the first, and so
 * on. So it is where one of the trees has names in place of addresses, whatever the model.
 *
 * A fact that one of the trees does not tell is no difference, nor is a link's current speed, which
 * an idle device lowers.
 */
#ifndef PIPC_TOPO_COMPARE_H
#define PIPC_TOPO_COMPARE_H

#include "runtime/topo/topo.h"

typedef enum pipc__change_kind {
    PIPC__CHANGE_GONE,  /* device in A only; @was is its name */
    PIPC__CHANGE_NEW,   /* in B only; @now is its name */
    PIPC__CHANGE_MOVED, /* the same card at another address */
    PIPC__CHANGE_MINOR, /* GPU: another N of /dev/nvidiaN */
    PIPC__CHANGE_NETDEV,
    PIPC__CHANGE_NUMA,
    PIPC__CHANGE_SWITCH,    /* it shares another switch than before, or none */
    PIPC__CHANGE_DEPTH,     /* another number of switches above it */
    PIPC__CHANGE_WIDTH,     /* lanes now */
    PIPC__CHANGE_MAX_WIDTH, /* lanes that it can do */
    PIPC__CHANGE_MAX_SPEED,
    PIPC__CHANGE_NVLINKS, /* between two GPUs: @device and @peer */
    PIPC__CHANGE_CPUS     /* of a NUMA node: @device is "NUMA 0" */
} pipc__change_kind_t;
#define PIPC__CHANGE_KINDS (PIPC__CHANGE_CPUS + 1)

typedef struct pipc__change {
    pipc__change_kind_t kind;
    char device[PIPC__NAME_MAX]; /* its name in A; in B if it is new */
    char uuid[PIPC__NAME_MAX];   /* of a GPU, or "" */
    char peer[PIPC__NAME_MAX];
    char was[128], now[128]; /* "" where there is none */
} pipc__change_t;

/* The changes in order of the tree of A, what is new last, into an array *out of *n that the caller
 * frees. PIPC_ERR_NOMEM is the only failure. */
pipc_status_t pipc__topo_compare(const pipc__topo_t *a, const pipc__topo_t *b, pipc__change_t **out,
                                 int *n, pipc__error_t *err);

/* "gone", "new", "moved", "minor", ... and what a reader is told: "lanes", ... */
const char *pipc__change_name(pipc__change_kind_t kind);
const char *pipc__change_words(pipc__change_kind_t kind);

#endif
