/* bind/visible.c - the order in which a task sees its GPUs */
#include "runtime/bind/bind.h"

#include <string.h>

/* Where @gpu stands in the binding's order; behind all others when it does not. */
static int place(const pipc__binding_t *b, int gpu)
{
    int i = 0;

    while (i < b->norder && b->order[i] != gpu)
        i++;
    return i;
}

static bool holds(const int *list, int n, int gpu)
{
    for (int i = 0; i < n; i++)
        if (list[i] == gpu)
            return true;
    return false;
}

/* Stable insertion sort by place, @first (PIPC__UNKNOWN: none) before everything. */
static void sort(const pipc__binding_t *b, int first, int *list, int n)
{
    for (int i = 1; i < n; i++) {
        int gpu = list[i], key = gpu == first ? -1 : place(b, gpu), j = i;
        for (; j > 0 && list[j - 1] != first && place(b, list[j - 1]) > key; j--)
            list[j] = list[j - 1];
        list[j] = gpu;
    }
}

/* SAME where no one order serves all: the own at the place that the rank's number picks. */
static pipc_status_t put_own(const pipc__binding_t *b, int rank, int *list, int n,
                             pipc__error_t *err)
{
    int own = b->rank[rank].gpu, at = n ? rank % n : 0;

    if (!holds(list, n, own))
        return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                          "bind:map: rank %d's GPU is not in the list that it sees; use "
                          "--gpus-per-node instead of --gpus-per-task",
                          rank);
    sort(b, own, list, n);
    for (int i = 0; i < at; i++)
        list[i] = list[i + 1];
    list[at] = own;
    return PIPC_OK;
}

pipc_status_t pipc__bind_visible(const pipc__binding_t *binding, int rank, pipc__show_t show,
                                 int *list, int n, pipc__error_t *err)
{
    int fixed, own;

    if (rank < 0 || rank >= binding->nranks)
        return pipc__fail(err, PIPC_ERR_INVALID, "binding: rank %d of %d ranks", rank,
                          binding->nranks);
    own = binding->rank[rank].gpu;
    if (own < 0)
        return PIPC_OK;
    /* SAME: entry r is order[r] for every rank only if all of order[0..ranks) are in the list. With
     * one missing, all that follow would move up, each onto the GPU of the next rank. */
    if (show == PIPC__SHOW_SAME && binding->crossed)
        return put_own(binding, rank, list, n, err);
    fixed = binding->nranks < binding->norder ? binding->nranks : binding->norder;
    for (int r = 0; show == PIPC__SHOW_SAME && r < fixed; r++)
        if (!holds(list, n, binding->order[r]))
            return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                              "binding: rank %d's GPU is not in the list that all tasks see; "
                              "use --gpus-per-node instead of a list for each task",
                              r);
    if (show == PIPC__SHOW_OWN && !holds(list, n, own))
        return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                          "binding: rank %d's GPU is not in the list that it sees; "
                          "use --gpus-per-node instead of --gpus-per-task",
                          rank);
    sort(binding, show == PIPC__SHOW_OWN ? own : PIPC__UNKNOWN, list, n);
    return PIPC_OK;
}
