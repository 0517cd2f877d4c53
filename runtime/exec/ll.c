/* exec/ll.c - see ll.h */
#include "runtime/exec/ll.h"

#include <string.h>

static bool is_staging(int place)
{
    return place == PIPC__SLOT || place == PIPC__HOST;
}

/* A step's part in it; false for what a one-shot does not do. *pushed, *waited: a bit a rank. */
static bool take_push(pipc__ll_wiring_t *w, const pipc__op_t *op, int rank, uint32_t *pushed)
{
    if (op->src[0].place != PIPC__INPUT || !is_staging(op->dst.place) || op->dst.rank == rank ||
        *pushed >> op->dst.rank & 1)
        return false;
    w->to[op->dst.rank] = op->dst.place;
    *pushed |= 1u << op->dst.rank;
    return true;
}

static bool take_sum(pipc__ll_wiring_t *w, const pipc__op_t *op, int rank, int nranks)
{
    if (op->dst.place != PIPC__OUTPUT || op->nsrc != nranks || !op->post ||
        op->pre != (uint16_t)((1u << nranks) - 1))
        return false;
    for (int q = 0; q < nranks; q++) {
        bool own = q == rank;
        if (own ? op->src[q].place != PIPC__INPUT : !is_staging(op->src[q].place))
            return false;
        w->from[q] = own ? 0 : op->src[q].place;
    }
    return true;
}

/* Slots are named after their senders in plans of this kind, or the sum would be in another order:
 * wait and slot of rank q are both number q. */
static bool slots_are_senders(const pipc__op_t *op, int rank)
{
    for (int q = 0; q < op->nsrc; q++)
        if (q != rank && op->src[q].slot != q)
            return false;
    return true;
}

bool pipc__ll_wire(pipc__ll_wiring_t *w, const pipc__plan_t *plan, int rank)
{
    const pipc__program_t *p = &plan->program[rank][0];
    const uint32_t others = ((1u << plan->nranks) - 1) & ~(1u << rank);
    uint32_t pushed = 0, waited = 0;
    int sums = 0;

    memset(w, 0, sizeof(*w));
    if (plan->collective != PIPC__ALLREDUCE || plan->nranks < 2 || plan->nstages != 1 ||
        plan->nchunks != 1)
        return false;
    for (int i = 0; i < p->nops; i++) {
        const pipc__op_t *op = &p->ops[i];
        if (op->kind == PIPC__WAIT) {
            w->wait_step[op->peer] = (uint16_t)i;
            waited |= 1u << op->peer;
        } else if (op->kind == PIPC__COPY && !take_push(w, op, rank, &pushed)) {
            return false;
        } else if (op->kind == PIPC__REDUCE && (sums++ || !take_sum(w, op, rank, plan->nranks) ||
                                                !slots_are_senders(op, rank))) {
            return false;
        }
    }
    return sums == 1 && pushed == others && waited == others;
}
