/* tools/bench/peer.c - see peer.h */
#include "runtime/tools/bench/peer.h"

#include "runtime/tools/bench/fold.h"

int bench_peer_usable(const bench_peer_t *peer)
{
    int n = 0;

    for (int v = 0; v < peer->variants(); v++)
        n += peer->usable(v);
    return n;
}

pipc_status_t bench_peer_agree(pipc_comm_t *comm, const char *name, const pipc__error_t *own,
                               pipc__error_t *err)
{
    int mine = (int)own->status, all[PIPC__RANKS_MAX];
    double worst = mine;
    pipc_status_t st = pipc__control_gather(comm->ctl, &mine, sizeof(mine), all, err);

    if (!st)
        st = bench_greatest(comm, &worst, 1, err);
    if (st)
        return st;
    if (mine)
        return pipc__fail(err, own->status, "%s", own->text);
    for (int r = 0; r < comm->local_size; r++)
        if (all[r])
            return pipc__fail(err, (pipc_status_t)all[r], "rank %d could not open %s",
                              comm->recs[r].rank, name);
    return (int)worst == PIPC_OK ? PIPC_OK
                                 : pipc__fail(err, (pipc_status_t)worst,
                                              "a rank of another node could not open %s", name);
}
