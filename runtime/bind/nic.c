/* bind/nic.c - the NIC of each rank */
#include "runtime/bind/parts.h"

#include <limits.h>
#include <stdlib.h>

enum { AT_HOST_BRIDGE = 1000, AT_NUMA = 2000, ELSEWHERE = 3000 };

/* The nearest place that @gpu has in common with @nic, which is one of @gpu's ancestors, and how
 * many steps up from @gpu it is. Steps down to the NIC don't count: one inside a card with a switch
 * of its own is as near as any other below the switch that both share. */
static int meet(const pipc__topo_t *topo, int gpu, int nic, int *steps)
{
    int at = gpu;

    for (*steps = 0; nic < at || nic >= pipc__topo_end(topo, at); ++*steps)
        at = topo->objs[at].parent;
    return at;
}

/* How far a NIC is for a rank: the steps up to where the ways meet below the host bridge. From
 * there on only whether host bridge or NUMA node are the same. */
static int nic_distance(const pipc__topo_t *topo, int gpu, int numa, int nic)
{
    int steps = 0, at = gpu >= 0 ? meet(topo, gpu, nic, &steps) : 0;

    if (topo->objs[at].kind == PIPC__TOPO_HOST_BRIDGE)
        return AT_HOST_BRIDGE;
    if (topo->objs[at].kind != PIPC__TOPO_MACHINE)
        return steps < AT_HOST_BRIDGE ? steps : AT_HOST_BRIDGE - 1;
    return numa >= 0 && pipc__topo_numa_of(topo, nic) == numa ? AT_NUMA : ELSEWHERE;
}

int pipc__bind_nic_far(const pipc__topo_t *topo, int gpu)
{
    int best = INT_MAX, numa = pipc__topo_numa_of(topo, gpu), group, steps;

    for (int i = 0; i < topo->nobjs; i++) {
        if (topo->objs[i].kind != PIPC__TOPO_NIC || !topo->objs[i].rdma)
            continue;
        int d = nic_distance(topo, gpu, numa, i);
        best = d < best ? d : best;
    }
    if (best == INT_MAX)
        return 0;
    if (best == AT_HOST_BRIDGE)
        return PIPC__FAR_NIC_HOST_BRIDGE;
    if (best > AT_HOST_BRIDGE)
        return best == AT_NUMA ? PIPC__FAR_NIC_NUMA : PIPC__FAR_NIC;
    /* Inside the innermost switch that GPUs share? The steps to it are those to meet itself. */
    group = pipc__topo_switch_of(topo, gpu);
    if (group < 0)
        return PIPC__FAR_NIC_SWITCH;
    meet(topo, gpu, group, &steps);
    return best <= steps ? 0 : PIPC__FAR_NIC_SWITCH;
}

/* Which function of its device: second ports come after all first ports, so that two ranks take
 * two cards before they take the two ports of one. */
static int port_of(const pipc__topo_t *topo, const int *nics, int i)
{
    int port = 0;

    while (i - port > 0 && pipc__topo_same_place(topo, nics[i], nics[i - port - 1]))
        port++;
    return port;
}

/* Keep the RDMA devices if there are any. Without this a management port beside a GPU would beat
 * the InfiniBand card of the other socket. */
static int keep_rdma(const pipc__topo_t *topo, int *nics, int n)
{
    int kept = 0;

    for (int i = 0; i < n; i++)
        if (topo->objs[nics[i]].rdma)
            nics[kept++] = nics[i];
    return kept ? kept : n;
}

pipc_status_t pipc__bind_nics(const pipc__topo_t *topo, pipc__binding_t *binding,
                              pipc__error_t *err)
{
    int n = pipc__topo_list(topo, PIPC__TOPO_NIC, NULL, 0);
    int *nics = n ? malloc(sizeof(*nics) * (size_t)n) : NULL;
    int *used = n ? calloc((size_t)n, sizeof(*used)) : NULL;

    if (n && (!nics || !used)) {
        free(nics);
        free(used);
        return pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory");
    }
    pipc__topo_list(topo, PIPC__TOPO_NIC, nics, n);
    n = keep_rdma(topo, nics, n);
    for (int r = 0; r < binding->nranks; r++) {
        const pipc__bind_rank_t *rank = &binding->rank[r];
        int best = PIPC__UNKNOWN;
        long best_cost = 0;
        for (int i = 0; i < n;
             i++) { /* nearest, then least used, then first ports, then tree order */
            long cost = (long)nic_distance(topo, rank->gpu, rank->numa, nics[i]) * 1000000 +
                        used[i] * 1000L + port_of(topo, nics, i);
            if (best < 0 || cost < best_cost) {
                best = i;
                best_cost = cost;
            }
        }
        if (best >= 0) {
            used[best]++;
            binding->rank[r].nic = nics[best];
        }
    }
    free(nics);
    free(used);
    return PIPC_OK;
}

int pipc__bind_nics_near(const pipc__topo_t *topo, int gpu, int *out, int cap)
{
    int found = 0, best = INT_MAX, numa = gpu >= 0 ? pipc__topo_numa_of(topo, gpu) : PIPC__UNKNOWN;

    for (int i = 0; gpu >= 0 && i < topo->nobjs; i++) {
        if (topo->objs[i].kind != PIPC__TOPO_NIC || !topo->objs[i].rdma)
            continue;
        int d = nic_distance(topo, gpu, numa, i);
        if (d < best) {
            best = d;
            found = 0;
        }
        if (d == best && found < cap)
            out[found++] = i;
    }
    return found;
}
