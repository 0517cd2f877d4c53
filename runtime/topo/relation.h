/* topo/relation.h - what lies between two devices, in the words of "nvidia-smi topo -m".
 *
 *        host bridge            host bridge       a-b  PIX   one switch
 *          |      |                  |            a-c  PXB   several switches, no host bridge
 *        port    port              port           a-d  PHB   the host bridge
 *          |      |                  |            a-e  NODE  two host bridges of one NUMA node, or
 *        switch   d                  e                 SYS   of two
 *        |    |
 *     switch  switch
 *      |  |     |  |
 *      a  b     c  c'
 *
 * Pure. What the tree can't tell is PIPC__REL_UNKNOWN: a device right below a host bridge has no
 * port above it, as a virtual machine shows it; whatever it shares outside is not seen. Only NUMA
 * nodes that differ say something then.
 */
#ifndef PIPC_TOPO_RELATION_H
#define PIPC_TOPO_RELATION_H

#include "runtime/topo/topo.h"

typedef enum pipc__relation { /* nearest first */
                              PIPC__REL_SELF,
                              PIPC__REL_PIX,
                              PIPC__REL_PXB,
                              PIPC__REL_PHB,
                              PIPC__REL_NODE,
                              PIPC__REL_SYS,
                              PIPC__REL_UNKNOWN
} pipc__relation_t;
#define PIPC__RELATIONS (PIPC__REL_UNKNOWN + 1)

/* Of two GPUs or NICs, whatever their order. Functions of one device are PIX. A switch inside a
 * card is not counted. NVLinks are no part of it: pipc__topo_nvlinks(). */
pipc__relation_t pipc__topo_relation(const pipc__topo_t *topo, int a, int b);

/* Is nothing seen between a device and its host bridge, where a real one has at least a port? */
bool pipc__topo_is_flat(const pipc__topo_t *topo, int obj);

/* "X", "PIX", ..., "?", and what it means in some words. */
const char *pipc__relation_name(pipc__relation_t relation);
const char *pipc__relation_words(pipc__relation_t relation);

/* What a matrix says of a pair: "NV4" where there are NVLinks, else the relation's name. */
void pipc__topo_pair_name(const pipc__topo_t *topo, int a, int b, char out[16]);

/* The NICs nearest to @gpu, in tree order, into out[cap]; returns how many there are. RDMA devices,
 * of any kind if there is none; among those below its host bridge the fewest steps away, else all
 * of its NUMA node. None that is at another node or one that is not known. */
int pipc__topo_nics_near(const pipc__topo_t *topo, int gpu, int *out, int cap);

/* A short name, unique on most machines, for columns: "gpu3" by minor, "mlx5_0", "41:00.0" without
 * its domain where that is 0, or the source's own name. */
void pipc__topo_short_name(const pipc__topo_t *topo, int obj, char out[PIPC__NAME_MAX]);

/* For people: what is near each GPU, and the matrix of all pairs with its legend (not for more than
 * PIPC__MATRIX_MAX devices: nobody can read it). False without memory. */
#define PIPC__MATRIX_MAX 64
bool pipc__topo_print_near(const pipc__topo_t *topo, FILE *out);
void pipc__topo_print_matrix(const pipc__topo_t *topo, FILE *out);

#endif
