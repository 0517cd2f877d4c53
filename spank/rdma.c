/* spank/rdma.c - see rdma.h */
#include "spank/rdma.h"

#include <stdio.h>
#include <string.h>

#define NICS_MAX 64

/* A set of NICs, by object index. */
typedef struct nics {
    int nic[NICS_MAX], n;
    bool broken; /* something is missing in it */
} nics_t;

static void add(nics_t *set, int nic)
{
    for (int i = 0; i < set->n; i++)
        if (set->nic[i] == nic)
            return;
    if (set->n == NICS_MAX)
        set->broken = true;
    else
        set->nic[set->n++] = nic;
}

static void add_near(const pipc__topo_t *topo, int gpu, nics_t *set)
{
    int near[NICS_MAX], n = pipc__bind_nics_near(topo, gpu, near, NICS_MAX);

    set->broken |= n == 0 || n == NICS_MAX;
    for (int i = 0; i < n; i++)
        add(set, near[i]);
}

/* Tree order, whatever order they were found in: NCCL numbers its devices by the list, and all
 * ranks of a node have to number them alike. */
static void put(const pipc__topo_t *topo, const nics_t *set, char out[PIPC__NAMES_MAX])
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; !set->broken && i < topo->nobjs; i++) {
        bool in = false;
        for (int k = 0; k < set->n; k++)
            in |= set->nic[k] == i;
        if (!in)
            continue;
        used += (size_t)snprintf(out + used, PIPC__NAMES_MAX - used, "%s%s", used ? "," : "",
                                 topo->objs[i].netdev);
        if (!*topo->objs[i].netdev || used >= PIPC__NAMES_MAX) {
            out[0] = '\0';
            return;
        }
    }
}

void pipc__rdma(const pipc__topo_t *topo, const pipc__binding_t *b, int rank,
                pipc__place_out_t *out)
{
    nics_t own = {.n = 0}, node = {.n = 0};

    /* One task with several GPUs: its workers inherit what it has, so one list for all. */
    if (out->shown == PIPC__SHOWN_ONE)
        for (int i = 0; i < b->norder; i++)
            add_near(topo, b->order[i], &node);
    else
        for (int r = 0; r < b->nranks; r++)
            add_near(topo, b->rank[r].gpu, &node);
    put(topo, &node, out->rdma_node);
    add_near(topo, b->rank[rank].gpu, &own);
    if (out->shown == PIPC__SHOWN_ONE && b->norder > 1)
        own = node;
    put(topo, &own, out->rdma);
}
