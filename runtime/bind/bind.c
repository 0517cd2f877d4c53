/* bind/bind.c - the binding of a node */
#include "runtime/bind/parts.h"

#include <string.h>

static pipc_status_t check(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                           pipc__error_t *err)
{
    if (req->nranks < 1 || req->nranks > PIPC__BIND_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "binding: %d ranks on the node; 1 to %d can be bound, use bind:none",
                          req->nranks, PIPC__BIND_MAX);
    if (req->ngpus < 0 || req->ngpus > PIPC__BIND_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "binding: %d GPUs on the node; 0 to %d can be bound, use bind:none",
                          req->ngpus, PIPC__BIND_MAX);
    for (int i = 0; i < req->ngpus; i++) {
        int g = req->gpus[i];
        if (g < 0 || g >= topo->nobjs || topo->objs[g].kind != PIPC__TOPO_GPU)
            return pipc__fail(err, PIPC_ERR_INVALID,
                              "binding: object %d is no GPU of the topology (%s)", g, topo->source);
        for (int j = 0; j < i; j++)
            if (req->gpus[j] == g)
                return pipc__fail(err, PIPC_ERR_INVALID, "binding: GPU %s is listed twice",
                                  topo->objs[g].name);
    }
    return PIPC_OK;
}

/* Ranks without GPUs: blocks of consecutive ranks over the NUMA nodes that have CPUs. */
static void spread_over_numa(const pipc__topo_t *topo, pipc__binding_t *b)
{
    int nodes = 0;

    for (int i = 0; i < topo->nnumas; i++)
        nodes += !hwloc_bitmap_iszero(topo->numas[i].cpus);
    for (int r = 0; r < b->nranks && nodes > 0; r++) {
        int nth = (int)((long)r * nodes / b->nranks);
        for (int i = 0; i < topo->nnumas; i++)
            if (!hwloc_bitmap_iszero(topo->numas[i].cpus) && nth-- == 0)
                b->rank[r].numa = i;
    }
}

static void take_in_turn(pipc__binding_t *b)
{
    for (int r = 0; r < b->nranks; r++)
        b->rank[r].gpu = b->order[r % b->norder];
}

/* What goes with each rank's GPU. */
static void place_ranks(const pipc__topo_t *topo, pipc__binding_t *b)
{
    for (int r = 0; r < b->nranks; r++) {
        pipc__bind_rank_t *rank = &b->rank[r];
        rank->numa = pipc__topo_numa_of(topo, rank->gpu);
        rank->group = pipc__topo_switch_of(topo, rank->gpu);
        for (int other = 0; other < b->nranks; other++)
            rank->shared |= other != r && b->rank[other].gpu == rank->gpu;
    }
}

pipc_status_t pipc__bind(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                         pipc__binding_t *out, pipc__error_t *err)
{
    static const pipc__bind_rank_t unbound = {PIPC__UNKNOWN, PIPC__UNKNOWN, PIPC__UNKNOWN,
                                              PIPC__UNKNOWN, false};
    pipc_status_t st = check(topo, req, err);

    if (st)
        return st;
    memset(out, 0, sizeof(*out));
    out->nranks = req->nranks;
    out->norder = req->ngpus;
    memcpy(out->order, req->gpus, sizeof(out->order[0]) * (size_t)req->ngpus);
    for (int r = 0; r < out->nranks; r++)
        out->rank[r] = unbound;
    if (req->mode == PIPC__BIND_NONE)
        return PIPC_OK;
    if (req->ngpus == 0) {
        spread_over_numa(topo, out);
        return pipc__bind_nics(topo, out, err);
    }
    int taken = req->nranks < req->ngpus ? req->nranks : req->ngpus;
    if (req->mode == PIPC__BIND_MAP)
        st = pipc__bind_map(topo, req, out, err);
    else if (req->mode == PIPC__BIND_SPREAD)
        st = pipc__bind_spread(topo, out->order, out->norder, err);
    else
        st = pipc__bind_choose(topo, req, out->order, out->norder, taken, err);
    if (st)
        return st;
    if (req->mode != PIPC__BIND_MAP)
        take_in_turn(out);
    place_ranks(topo, out);
    return pipc__bind_nics(topo, out, err);
}
