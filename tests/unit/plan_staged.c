/* tests/unit/plan_staged.c - see plan_staged.h */
#include "tests/unit/plan_staged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPS_MAX 128

/* Flags of a rank, q pieces an owner, by who sets them and for which piece or chunk. */
static int push_flag(int q, int sender, int piece)
{
    return sender * q + piece;
}
static int spread_flag(const pipc__plan_t *p, int chunk)
{
    return p->nchunks + chunk;
}
static int read_flag(const pipc__plan_t *p, int q, int owner, int piece)
{
    return 2 * p->nchunks + owner * q + piece;
}
static int sum_flag(const pipc__plan_t *p, int piece)
{
    return 3 * p->nchunks + piece;
}
static int join_flag(const pipc__plan_t *p, int q)
{
    return 3 * p->nchunks + q;
}

static pipc__op_t *append(pipc__plan_t *p, int rank, int stage, pipc__op_kind_t kind)
{
    pipc__program_t *g = &p->program[rank][stage];

    if (!g->ops)
        g->ops = calloc(OPS_MAX, sizeof(*g->ops));
    if (!g->ops || g->nops == OPS_MAX)
        abort();
    g->ops[g->nops].kind = (uint8_t)kind;
    return &g->ops[g->nops++];
}

static void move(pipc__plan_t *p, int rank, int stage, int chunk, pipc__ref_t src, pipc__ref_t dst)
{
    pipc__op_t *op = append(p, rank, stage, PIPC__COPY);

    op->chunk = (uint16_t)chunk;
    op->nsrc = 1;
    op->src[0] = src;
    op->dst = dst;
}

static void flag(pipc__plan_t *p, int rank, int stage, pipc__op_kind_t kind, int peer, int index,
                 bool host)
{
    pipc__op_t *op = append(p, rank, stage, kind);

    op->peer = (uint16_t)peer;
    op->flag = (uint16_t)index;
    op->dst.place = host && peer != rank && peer < 2 && rank < 2 ? PIPC__HOST : PIPC__SLOT;
}

static pipc__ref_t slot(int reader, int index, int writer, bool host)
{
    return (pipc__ref_t){host && reader < 2 && writer < 2 ? PIPC__HOST : PIPC__SLOT,
                         (uint8_t)reader, (uint16_t)index};
}

static pipc__ref_t user(pipc__place_t place, int rank)
{
    return (pipc__ref_t){(uint8_t)place, (uint8_t)rank, 0};
}

static void push(pipc__plan_t *p, int r, int q, bool host)
{
    int n = p->nranks;

    for (int i = 0; i < q; i++)
        for (int k = 1; k < n; k++) {
            int owner = (r + k) % n;
            if (i)
                flag(p, r, 0, PIPC__WAIT, owner, read_flag(p, q, owner, i - 1), host);
            move(p, r, 0, owner * q + i, user(PIPC__INPUT, r), slot(owner, r, r, host));
            flag(p, r, 0, PIPC__SIGNAL, owner, push_flag(q, r, i), host);
        }
}

static void sum(pipc__plan_t *p, int r, int q, bool host)
{
    int n = p->nranks;

    for (int i = 0; i < q; i++) {
        for (int k = 1; k < n; k++)
            flag(p, r, 1, PIPC__WAIT, (r + k) % n, push_flag(q, (r + k) % n, i), host);
        pipc__op_t *op = append(p, r, 1, PIPC__REDUCE);
        op->chunk = (uint16_t)(r * q + i);
        op->nsrc = (uint8_t)n;
        op->pre = (uint16_t)((1u << n) - 1);
        op->post = 1;
        op->dst = user(PIPC__OUTPUT, r);
        for (int s = 0; s < n; s++)
            op->src[s] = s == r ? user(PIPC__INPUT, r) : slot(r, s, s, host);
        for (int k = 1; k < n && i < q - 1; k++)
            flag(p, r, 1, PIPC__SIGNAL, (r + k) % n, read_flag(p, q, r, i), host);
        if (p->collective == PIPC__ALLREDUCE)
            flag(p, r, 1, PIPC__SIGNAL, r, sum_flag(p, i), host);
    }
}

static void spread(pipc__plan_t *p, int r, int q, bool host)
{
    bool gather = p->collective == PIPC__ALLGATHER;
    int n = p->nranks, stage = staged_stage(p, 2);

    for (int i = 0; i < q; i++) {
        if (!gather)
            flag(p, r, stage, PIPC__WAIT, r, sum_flag(p, i), host);
        for (int k = 1; k < n; k++) {
            int peer = (r + k) % n, c = r * q + i;
            move(p, r, stage, c, user(gather ? PIPC__INPUT : PIPC__OUTPUT, r),
                 slot(peer, n + c, r, host));
            flag(p, r, stage, PIPC__SIGNAL, peer, spread_flag(p, c), host);
        }
        if (gather)
            move(p, r, stage, r * q + i, user(PIPC__INPUT, r), user(PIPC__OUTPUT, r));
    }
}

static void receive(pipc__plan_t *p, int r, int q, bool host)
{
    int n = p->nranks, stage = staged_stage(p, 3);

    for (int i = 0; i < q; i++)
        for (int k = 1; k < n; k++) {
            int owner = (r + n - k) % n, c = owner * q + i;
            flag(p, r, stage, PIPC__WAIT, owner, spread_flag(p, c), host);
            move(p, r, stage, c, slot(r, n + c, owner, host), user(PIPC__OUTPUT, r));
        }
}

/* Stage 0 waits for the last one. The others can't run ahead: what they wait for comes, by way of
 * peers, from stage 0. In a reduce-scatter of several pieces stage 0 can't either: the owner tells
 * that it has read the first piece after it has read all of the round before. */
static void join_stages(pipc__plan_t *p, int r, int q)
{
    int last = p->nstages - 1;

    if (q > 1 && p->collective == PIPC__REDUCE_SCATTER)
        return;
    flag(p, r, last, PIPC__SIGNAL, r, join_flag(p, q), false);
    flag(p, r, 0, PIPC__WAIT, r, join_flag(p, q), false);
}

int staged_stage(const pipc__plan_t *p, int stage)
{
    return p->collective == PIPC__ALLGATHER ? stage - 2 : stage;
}

pipc__plan_t *staged_plan(pipc__collective_t collective, int nranks, int pieces, bool host)
{
    pipc__plan_t *p = calloc(1, sizeof(*p));

    if (!p)
        abort();
    snprintf(p->name, sizeof(p->name), "staged");
    p->collective = collective;
    p->nranks = nranks;
    p->nchunks = nranks * pieces;
    p->nslots = nranks + p->nchunks;
    p->nflags = 3 * p->nchunks + pieces + 1;
    p->nstages = collective == PIPC__ALLREDUCE ? 4 : 2;
    for (int r = 0; r < nranks; r++) {
        if (collective != PIPC__ALLGATHER) {
            push(p, r, pieces, host);
            sum(p, r, pieces, host);
        }
        if (collective != PIPC__REDUCE_SCATTER) {
            spread(p, r, pieces, host);
            receive(p, r, pieces, host);
        }
        join_stages(p, r, pieces);
    }
    return p;
}

pipc__op_t *find_op(pipc__plan_t *p, int rank, int stage, pipc__op_kind_t kind, int nth)
{
    pipc__program_t *g = &p->program[rank][stage];

    for (int i = 0; i < g->nops; i++)
        if (g->ops[i].kind == kind && nth-- == 0)
            return &g->ops[i];
    return NULL;
}

void remove_op(pipc__plan_t *p, int rank, int stage, pipc__op_t *op)
{
    pipc__program_t *g = &p->program[rank][stage];

    memmove(op, op + 1, (size_t)(g->ops + g->nops - (op + 1)) * sizeof(*op));
    g->nops--;
}

pipc__plan_t *clone_plan(const pipc__plan_t *p)
{
    pipc__plan_t *copy = calloc(1, sizeof(*copy));

    if (!copy)
        abort();
    *copy = *p;
    for (int r = 0; r < p->nranks; r++)
        for (int s = 0; s < p->nstages; s++) {
            const pipc__program_t *g = &p->program[r][s];
            copy->program[r][s].ops = calloc(OPS_MAX, sizeof(*g->ops));
            if (!copy->program[r][s].ops || g->nops > OPS_MAX)
                abort();
            if (g->nops)
                memcpy(copy->program[r][s].ops, g->ops, (size_t)g->nops * sizeof(*g->ops));
        }
    return copy;
}
