/* plan/check_rail.c - sums over the nodes: what a job of a rail takes, how long it holds it, and
 * that no two nodes can wait for each other
 */
#include "runtime/plan/check_state.h"

static pipc__actor_t *rail_of(const pipc__check_t *c, int rank, int lane)
{
    return &c->actor[(rank * c->nstages + c->rail_stage) * c->nlanes + lane];
}

static uint32_t *railed(const pipc__check_t *c, int round, int chunk, int lane)
{
    return &c->railed[(round * c->nchunks + chunk) * c->nlanes + lane];
}

/* What is summed over the nodes must be all that this node has, and no more. */
static pipc_status_t judge_node_sum(const pipc__check_t *c, const pipc__value_t *v)
{
    if (v->railed)
        return pipc__check_wrong(c, "is summed over the nodes already");
    if (v->progress == PIPC__COMPLETE)
        return pipc__check_wrong(c, "sums what has had its post-op already");
    if (v->progress == PIPC__RAW)
        return pipc__check_wrong(c, "takes in a contribution without pre-op");
    for (int r = 0; r < c->nranks; r++)
        if (!(v->ranks >> r & 1))
            return pipc__check_wrong(c, "sums over the nodes what lacks a contribution: rank %d's",
                                     r);
    return PIPC_OK;
}

/* Who begins this job must not have waited for the end of a job of a later chunk, on any rail. Were
 * that allowed, another node, whose plan has another order, could do it the other way round, and
 * each would wait for the other's job. So no node's plan can do that whatever the other's is. */
static pipc_status_t judge_rail_order(const pipc__check_t *c, int chunk)
{
    const pipc__plan_t *p = c->call->plan;
    const pipc__actor_t *a = c->now;

    for (int at = a->round * p->nchunks + chunk + 1; at < c->call->rounds * p->nchunks; at++) {
        int later = at % p->nchunks;
        int rank = pipc__rail_owner(p->nrails, p->nranks, pipc__rail_of(p->nrails, later));
        uint32_t ended = *railed(c, at / p->nchunks, later, a->lane);
        if (ended && a->clock[rail_of(c, rank, a->lane) - c->actor] >= ended)
            return pipc__check_wrong(c,
                                     "waits for the sum of the later chunk %d over the nodes: "
                                     "nodes could wait for each other for ever",
                                     later);
    }
    return PIPC_OK;
}

/* It may begin when this actor may touch the chunk: jobs that are on their way are not ordered
 * among each other but for their ends. */
pipc_status_t pipc__check_rail(pipc__check_t *c, const pipc__op_t *op, const pipc__actor_t **by)
{
    pipc__actor_t *rail = rail_of(c, c->now->rank, c->now->lane);
    pipc__value_t v;
    pipc_status_t st = pipc__check_read(c, op->dst, op->chunk, &v);

    if (!st)
        st = judge_node_sum(c, &v);
    if (!st)
        st = judge_rail_order(c, op->chunk);
    if (st)
        return st;
    v.railed = true;
    v.progress = op->post ? PIPC__COMPLETE : PIPC__PARTIAL;
    st = pipc__check_write(c, op->dst, op->chunk, &v);
    pipc__clock_join(rail->clock, c->now->clock, c->nactors);
    rail->clock[rail - c->actor]++;
    *railed(c, c->now->round, op->chunk, c->now->lane) = rail->clock[rail - c->actor];
    pipc__check_outlast(c, op->dst, op->chunk, rail);
    *by = rail;
    return st;
}
