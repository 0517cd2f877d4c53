/* plan/build.c - see build.h */
#include "runtime/plan/build.h"

#include <stdlib.h>
#include <string.h>

#define OPS_MIN 16 /* a power of 2 */

int pipc__new_box(pipc__build_t *b, int rank)
{
    return b->nboxes[rank]++;
}

int pipc__new_flag(pipc__build_t *b, int rank)
{
    return PIPC__SLOTS_MAX + b->nflags[rank]++;
}

/* Room for one more op: there are OPS_MIN, and twice as many whenever a power of 2 is full. */
static bool has_room(pipc__program_t *to)
{
    size_t n = (size_t)to->nops;
    pipc__op_t *more;

    if (n && (n < OPS_MIN || (n & (n - 1))))
        return true;
    more = realloc(to->ops, (n ? 2 * n : OPS_MIN) * sizeof(*more));
    if (more)
        to->ops = more;
    return more != NULL;
}

static pipc__op_t *append(pipc__pen_t pen, pipc__op_kind_t kind)
{
    pipc__program_t *to = &pen.build->plan->program[pen.rank][pen.stage];
    pipc__op_t *op = &pen.build->dropped;

    if (pen.build->nomem || !has_room(to))
        pen.build->nomem = true;
    else
        op = &to->ops[to->nops++];
    memset(op, 0, sizeof(*op));
    op->kind = (uint8_t)kind;
    return op;
}

void pipc__add_copy(pipc__pen_t pen, int chunk, pipc__ref_t src, pipc__ref_t dst)
{
    pipc__op_t *op = append(pen, PIPC__COPY);

    op->chunk = (uint16_t)chunk;
    op->dst = dst;
    op->nsrc = 1;
    op->src[0] = src;
}

pipc__op_t *pipc__add_reduce(pipc__pen_t pen, int chunk, pipc__ref_t dst)
{
    pipc__op_t *op = append(pen, PIPC__REDUCE);

    op->chunk = (uint16_t)chunk;
    op->dst = dst;
    return op;
}

void pipc__add_source(pipc__op_t *op, pipc__ref_t src, bool raw)
{
    op->pre |= (uint16_t)(raw << op->nsrc);
    op->src[op->nsrc++] = src;
}

static void add_flag_op(pipc__pen_t pen, pipc__op_kind_t kind, int peer, int flag)
{
    pipc__op_t *op = append(pen, kind);

    op->peer = (uint16_t)peer;
    op->flag = (uint16_t)flag;
    op->dst.place = PIPC__SLOT;
}

void pipc__add_signal(pipc__pen_t pen, int peer, int flag)
{
    add_flag_op(pen, PIPC__SIGNAL, peer, flag);
}

void pipc__add_wait(pipc__pen_t pen, int peer, int flag)
{
    add_flag_op(pen, PIPC__WAIT, peer, flag);
}

void pipc__add_rail(pipc__pen_t pen, int chunk, pipc__ref_t at, int flag)
{
    pipc__op_t *op = append(pen, PIPC__RAIL);

    op->chunk = (uint16_t)chunk;
    op->dst = op->src[0] = at;
    op->nsrc = 1;
    op->peer = (uint16_t)pen.rank;
    op->flag = (uint16_t)flag;
    op->post = 1;
}

void pipc__add_push(pipc__pen_t pen, int chunk, pipc__ref_t src, int peer, int box)
{
    pipc__add_copy(pen, chunk, src, pipc__slot(peer, box));
    pipc__add_signal(pen, peer, box);
}

/* The last stage, which ends last anyhow, hears from all others and then lets them go:
 *
 *     stage 0   ... | tell last .............. wait | next round
 *     stage 1     ... | tell last ............ wait | next round
 *     last            ... | wait for all | tell all | next round
 */
void pipc__add_join(pipc__build_t *b, int rank)
{
    const pipc__program_t *program = b->plan->program[rank];
    int last = b->plan->nstages - 1;

    while (last > 0 && !program[last].nops)
        last--;
    for (int s = 0; s < last; s++) {
        if (!program[s].nops)
            continue;
        int ended = pipc__new_flag(b, rank);
        pipc__add_signal((pipc__pen_t){b, rank, s}, rank, ended);
        pipc__add_wait((pipc__pen_t){b, rank, last}, rank, ended);
    }
    for (int s = 0; s < last; s++) {
        if (!program[s].nops)
            continue;
        int go = pipc__new_flag(b, rank);
        pipc__add_signal((pipc__pen_t){b, rank, last}, rank, go);
        pipc__add_wait((pipc__pen_t){b, rank, s}, rank, go);
    }
}
