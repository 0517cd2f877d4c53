/* tests/unit/plan_meet.c - see plan_meet.h */
#include "tests/unit/plan_meet.h"

#include <stdlib.h>
#include <string.h>

#define JOB_OPS 6 /* of the rail's stage */

/* Where a plan rails a chunk. */
static const pipc__op_t *rail_of(const pipc__plan_t *p, int rank, int nth)
{
    for (int s = 0; s < p->nstages; s++)
        for (int i = 0; i < p->program[rank][s].nops; i++) {
            const pipc__op_t *op = &p->program[rank][s].ops[i];
            if (op->kind == PIPC__RAIL && !nth--)
                return op;
        }
    abort();
}

static const pipc__op_t *rail_of_chunk(const pipc__plan_t *p, int rank, int chunk)
{
    for (int i = 0;; i++)
        if (rail_of(p, rank, i)->chunk == chunk)
            return rail_of(p, rank, i);
}

static int owner(const pipc__plan_t *p, int chunk)
{
    return pipc__rail_owner(p->nrails, p->nranks, pipc__rail_of(p->nrails, chunk));
}

/* An op of a rank, whose node's ranks begin at @first; a RAIL tells the rail, at rank @rail, by
 * @flag. */
static pipc__op_t moved(const pipc__op_t *from, int first, int rail, int flag)
{
    pipc__op_t op = *from;

    if (op.kind == PIPC__RAIL)
        return (pipc__op_t){.kind = PIPC__SIGNAL,
                            .peer = (uint16_t)rail,
                            .flag = (uint16_t)flag,
                            .dst = {PIPC__SLOT, 0, 0}};
    op.peer = (uint16_t)(op.peer + first);
    op.dst.rank = (uint8_t)(op.dst.rank + first);
    for (int i = 0; i < op.nsrc; i++)
        op.src[i].rank = (uint8_t)(op.src[i].rank + first);
    return op;
}

static pipc__op_t *room(pipc__program_t *g, int nops)
{
    g->ops = calloc((size_t)nops + 1, sizeof(*g->ops));
    if (!g->ops)
        abort();
    return g->ops;
}

/* Flags of the rail's own: c that chunk c may go for @a, nchunks + c for @b. */
static void add_node(pipc__plan_t *to, const pipc__plan_t *a, const pipc__plan_t *p, int first)
{
    for (int r = 0; r < p->nranks; r++)
        for (int s = 0; s < p->nstages; s++) {
            const pipc__program_t *from = &p->program[r][s];
            pipc__program_t *g = &to->program[first + r][s];
            if (!from->nops)
                continue;
            room(g, from->nops);
            for (int i = 0; i < from->nops; i++) {
                int c = from->ops[i].chunk % p->nchunks;
                g->ops[g->nops++] = moved(&from->ops[i], first, owner(a, c),
                                          to->nflags + (first ? p->nchunks : 0) + c);
            }
        }
}

static void add_job(pipc__program_t *g, const pipc__op_t *a, const pipc__op_t *b, int flags,
                    int nchunks, int first)
{
    int c = a->chunk;
    const pipc__ref_t flag = {PIPC__SLOT, 0, 0};
    pipc__ref_t its = b->dst;

    its.rank = (uint8_t)(its.rank + first);
    g->ops[g->nops++] = (pipc__op_t){
        .kind = PIPC__WAIT, .peer = a->peer, .flag = (uint16_t)(flags + c), .dst = flag};
    g->ops[g->nops++] = (pipc__op_t){.kind = PIPC__WAIT,
                                     .peer = (uint16_t)(b->peer + first),
                                     .flag = (uint16_t)(flags + nchunks + c),
                                     .dst = flag};
    g->ops[g->nops++] = (pipc__op_t){.kind = PIPC__REDUCE,
                                     .nsrc = 2,
                                     .chunk = a->chunk,
                                     .post = a->post,
                                     .dst = a->dst,
                                     .src = {a->dst, its}};
    g->ops[g->nops++] =
        (pipc__op_t){.kind = PIPC__COPY, .nsrc = 1, .chunk = a->chunk, .dst = its, .src = {a->dst}};
    g->ops[g->nops++] =
        (pipc__op_t){.kind = PIPC__SIGNAL, .peer = a->peer, .flag = a->flag, .dst = flag};
    g->ops[g->nops++] = (pipc__op_t){
        .kind = PIPC__SIGNAL, .peer = (uint16_t)(b->peer + first), .flag = b->flag, .dst = flag};
}

pipc__plan_t *plan_meet(const pipc__plan_t *a, const pipc__plan_t *b)
{
    pipc__plan_t *p = calloc(1, sizeof(*p));
    int each = a->nchunks / a->nrails;

    if (!p)
        abort();
    strcpy(p->name, "meet");
    p->nranks = a->nranks + b->nranks;
    p->nchunks = a->nchunks;
    p->nslots = a->nslots > b->nslots ? a->nslots : b->nslots;
    p->nflags = a->nflags > b->nflags ? a->nflags : b->nflags;
    p->nstages = 1 + (a->nstages > b->nstages ? a->nstages : b->nstages);
    if (p->nstages > PIPC__STAGES_MAX || a->nchunks != b->nchunks || a->nrails != b->nrails)
        abort();
    add_node(p, a, a, 0);
    add_node(p, a, b, a->nranks);
    for (int l = 0; l < a->nrails; l++) {
        int mine = pipc__rail_owner(a->nrails, a->nranks, l);
        pipc__program_t *g = &p->program[mine][p->nstages - 1];
        room(g, each * JOB_OPS);
        for (int i = 0; i < each; i++) {
            const pipc__op_t *job = rail_of(a, mine, i);
            add_job(g, job, rail_of_chunk(b, owner(b, job->chunk), job->chunk), p->nflags,
                    a->nchunks, a->nranks);
        }
    }
    p->nflags += 2 * a->nchunks;
    return p;
}
