/* bind/parts.h - the parts of pipc__bind(); only this folder includes it */
#ifndef PIPC_BIND_PARTS_H
#define PIPC_BIND_PARTS_H

#include "runtime/bind/bind.h"

#define PIPC__WAY_MAX 64 /* deeper groups than this count as one */

typedef struct pipc__way { /* of a GPU: the keys (NUMA index, object indexes) from the top down */
    int key[PIPC__WAY_MAX], len; /* the last one is the GPU */
    int cpu, first; /* of its NUMA node: smallest CPU, then smallest object index: their order */
} pipc__way_t;

/* way.c: the ways of gpus[n], sorted so that what shares a key at a level stands together: NUMA
 * nodes by their first CPU (those without by their first GPU, behind the others), inside them tree
 * order, in which host bridges and switches are contiguous.
 * @mode NUMA leaves out all between NUMA node and GPU. */
void pipc__bind_ways(const pipc__topo_t *topo, pipc__bind_mode_t mode, pipc__way_t *ways,
                     const int *gpus, int n);

/* The level at which two ways part: 0 at the machine; key[0] to key[level - 1] are common. */
int pipc__way_parts(const pipc__way_t *a, const pipc__way_t *b);

/* The weight of a pair that parts at @level, PIPC__PART_... */
int pipc__way_weight(int level);

/* cost.c: PIPC__FAR_... of one GPU. */
int pipc__bind_far(const pipc__topo_t *topo, const pipc__bind_request_t *req, int gpu);

/* cost.c: PIPC__OWN_... over the ranks that have the GPU at @place of @k in the order. */
int pipc__bind_own(const pipc__topo_t *topo, const pipc__bind_request_t *req, int place, int k,
                   int gpu);

/* A cost in choosing: the fields of pipc__bind_cost_t side by side. Bounds for 64 GPUs and ranks:
 * switches 64, pairs 64 * 63 / 2 * 4096 < 2^23, distance 64 * 14 < 2^10; idle < 2^20 (64 a level of
 * switches, less than 2^12 on all, and 128), neighbours 63 * 4096 < 2^18, own 64 * 2. */
typedef struct pipc__sum {
    uint64_t set;   /* switches << 40, pairs << 16, distance */
    uint64_t order; /* idle << 40, neighbours << 16, own */
} pipc__sum_t;

#define PIPC__SUM_HIGH 40
#define PIPC__SUM_MIDDLE 16

static inline bool pipc__sum_less(pipc__sum_t a, pipc__sum_t b)
{
    return a.set != b.set ? a.set < b.set : a.order < b.order;
}

static inline pipc__sum_t pipc__sum_add(pipc__sum_t a, pipc__sum_t b)
{
    return (pipc__sum_t){a.set + b.set, a.order + b.order};
}

/* A place in the tree of choices: NUMA node, host bridge, switch, GPU; see choose.c. */
typedef struct pipc__choice {
    int parent;      /* index; the root's is PIPC__UNKNOWN */
    int key;         /* what it stands for at its level: NUMA index or object index */
    int size;        /* GPUs below; while children are being merged, those merged so far */
    int level;       /* 1: NUMA node */
    bool leaf;       /* a GPU */
    int want;        /* once chosen: how many are taken from here ... */
    int left;        /* ... and, on the way back, how many of them by children still to come */
    uint64_t weight; /* of a pair that parts here */
    pipc__sum_t
        entry;     /* cost of taking anything from here: an outermost switch, a GPU's distance */
    uint64_t idle; /* cost of each GPU here that is not taken, if any is */
    pipc__sum_t cost[PIPC__BIND_MAX + 1]; /* cost[k]: the least cost of taking k from here */
    unsigned char
        take[PIPC__BIND_MAX + 1]; /* take[k]: of k from here and the later siblings, here */
} pipc__choice_t;

/* choose.c: what taking @t from @c adds where @before are taken from its siblings. @inside is the
 * cost below @c. */
pipc__sum_t pipc__choice_cost(const pipc__choice_t *parent, const pipc__choice_t *c,
                              pipc__sum_t inside, int t, int before);

/* choose.c: put gpus[n] of @req in order: first the @k that ranks take, then the idle ones, nearest
 * first. 1 <= k <= n <= PIPC__BIND_MAX. */
pipc_status_t pipc__bind_choose(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                                int *gpus, int n, int k, pipc__error_t *err);

#define PIPC__ASSIGN_MAX 16 /* GPUs of the job */

/* assign.c: where ranks have CPUs of their own: the set and order of the least cost with all its
 * fields into chosen[k], and its want into the tree, if it is less than that of chosen[k].
 * At most PIPC__ASSIGN_MAX GPUs. @tree is as choose.c leaves it. */
pipc_status_t pipc__bind_assign(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                                pipc__choice_t *tree, int count, int *chosen, int k,
                                pipc__error_t *err);

/* spread.c: put gpus[n] in the order of bind:spread. 1 <= n <= PIPC__BIND_MAX. */
pipc_status_t pipc__bind_spread(const pipc__topo_t *topo, int *gpus, int n, pipc__error_t *err);

/* map.c: order[] and rank[].gpu of bind:map. out->order is the request's. */
pipc_status_t pipc__bind_map(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                             pipc__binding_t *out, pipc__error_t *err);

/* nic.c: fill in binding->rank[].nic from rank[].gpu and rank[].numa. */
pipc_status_t pipc__bind_nics(const pipc__topo_t *topo, pipc__binding_t *binding,
                              pipc__error_t *err);

/* nic.c: how far the nearest RDMA device is from @gpu, PIPC__FAR_NIC... */
int pipc__bind_nic_far(const pipc__topo_t *topo, int gpu);

#endif
