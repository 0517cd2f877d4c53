/* spank/own.c - see own.h */
#include "spank/own.h"

#include <string.h>

/* Where in the step's GPUs those of @rank begin, as Slurm hands them out: a block for each task
 * (--gpus-per-task), or each GPU to a block of tasks (--ntasks-per-gpu). PIPC__UNKNOWN: neither
 * (--gpu-bind=map_gpu and the like). */
static int first_of(int rank, int nranks, int ngpus, int nstep)
{
    if (nranks * ngpus == nstep)
        return rank * ngpus;
    if (ngpus == 1 && nranks > nstep && nstep > 0 && nranks % nstep == 0)
        return rank / (nranks / nstep);
    return PIPC__UNKNOWN;
}

static bool same_gpus(const int *a, const int *b, int n)
{
    for (int i = 0; i < n; i++) {
        int j = 0;
        while (j < n && b[j] != a[i])
            j++;
        if (j == n)
            return false;
    }
    return true;
}

/* What pipc__bind() says of a task that is alone with gpus[n]. */
static pipc_status_t bind_one(const pipc__topo_t *topo, const int *gpus, int n,
                              pipc__binding_t *out, pipc__error_t *err)
{
    pipc__bind_request_t req = {.mode = PIPC__BIND_SWITCH, .nranks = 1, .ngpus = n};

    memcpy(req.gpus, gpus, sizeof(gpus[0]) * (size_t)n);
    return pipc__bind(topo, &req, out, err);
}

static void mark_shared(pipc__binding_t *b)
{
    for (int i = 0; i < b->nranks; i++)
        for (int j = 0; j < b->nranks; j++)
            if (i != j && b->rank[i].gpu >= 0 && b->rank[i].gpu == b->rank[j].gpu)
                b->rank[i].shared = true;
}

pipc_status_t pipc__own_bind(const pipc__topo_t *topo, int rank, int nranks, const int *own,
                             int ngpus, const int *step, int nstep, pipc__binding_t *out,
                             pipc__error_t *err)
{
    int first = first_of(rank, nranks, ngpus, nstep);
    bool peers = first >= 0 && same_gpus(own, step + first, ngpus);
    pipc__binding_t one;
    /* The request of bind:none: every rank unknown, the order as it is. */
    pipc__bind_request_t req = {.mode = PIPC__BIND_NONE, .nranks = nranks};
    pipc_status_t st = pipc__bind(topo, &req, out, err);

    for (int r = 0; !st && r < nranks; r++) {
        if (r != rank && !peers)
            continue;
        st = bind_one(topo, r == rank ? own : step + first_of(r, nranks, ngpus, nstep), ngpus, &one,
                      err);
        if (st)
            return st;
        out->rank[r] = one.rank[0];
        if (r == rank) { /* the order of the list that this task sees */
            memcpy(out->order, one.order, sizeof(out->order));
            out->norder = one.norder;
        }
    }
    mark_shared(out);
    return st;
}
