/* plan/generate.c - see generate.h
 *
 * All plans push: the user's buffer is only ever touched by its own rank, so it needs no
 * registration, may have any alignment and may be the output as well. The direct plans take peers
 * in rotated order (rank + 1, rank + 2, ...), so that no rank is everybody's first target.
 */
#include "runtime/plan/generate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[PIPC__PLAN_KINDS_ALL] = {
    [PIPC__ONE_SHOT] = "one-shot", [PIPC__TWO_SHOT] = "two-shot", [PIPC__RING] = "ring",
    [PIPC__ISLAND] = "island",     [PIPC__PERMUTED] = "permuted",
};

const char *pipc__plan_name(pipc__plan_kind_t kind)
{
    return (unsigned int)kind < PIPC__PLAN_KINDS_ALL ? names[kind] : NULL;
}

static pipc__ref_t input(int rank)
{
    return (pipc__ref_t){PIPC__INPUT, (uint8_t)rank, 0};
}

static pipc__ref_t output(int rank)
{
    return (pipc__ref_t){PIPC__OUTPUT, (uint8_t)rank, 0};
}

static pipc__ref_t slot(int rank, int index)
{
    return (pipc__ref_t){PIPC__SLOT, (uint8_t)rank, (uint16_t)index};
}

/* The next op of @rank's program; room was made by plan_alloc(). */
static pipc__op_t *append(pipc__plan_t *p, int rank, pipc__op_kind_t kind)
{
    pipc__program_t *to = &p->program[rank][0];
    pipc__op_t *op = &to->ops[to->nops++];

    op->kind = (uint8_t)kind;
    return op;
}

static void copy(pipc__plan_t *p, int rank, int chunk, pipc__ref_t src, pipc__ref_t dst)
{
    pipc__op_t *op = append(p, rank, PIPC__COPY);

    op->chunk = (uint16_t)chunk;
    op->dst = dst;
    op->nsrc = 1;
    op->src[0] = src;
}

static void signal_peer(pipc__plan_t *p, int rank, int peer, int flag)
{
    pipc__op_t *op = append(p, rank, PIPC__SIGNAL);

    op->peer = (uint16_t)peer;
    op->flag = (uint16_t)flag;
    op->dst.place = PIPC__SLOT;
}

static void wait_peer(pipc__plan_t *p, int rank, int peer, int flag)
{
    pipc__op_t *op = append(p, rank, PIPC__WAIT);

    op->peer = (uint16_t)peer;
    op->flag = (uint16_t)flag;
    op->dst.place = PIPC__SLOT;
}

/* output(rank) = slot 0 op .. input .. op slot n-1, in rank order on every rank: that order is what
 * makes the result bit-identical everywhere. */
static void reduce_in_rank_order(pipc__plan_t *p, int rank, int chunk)
{
    pipc__op_t *op = append(p, rank, PIPC__REDUCE);

    op->chunk = (uint16_t)chunk;
    op->dst = output(rank);
    op->nsrc = (uint8_t)p->nranks;
    op->pre = (uint16_t)((1u << p->nranks) - 1);
    op->post = 1;
    for (int q = 0; q < p->nranks; q++)
        op->src[q] = q == rank ? input(rank) : slot(rank, q);
}

/* One-shot, rank r of n; slot q and flag q of a rank belong to sender q:
 *
 *     input(r) --push--> slot r of every peer        then signal flag r there
 *     wait for all flags
 *     output(r) = slot 0 op .. input(r) .. op slot n-1
 *
 * Sends (n - 1) S, one latency. In place is safe: the push has read input before the reduction
 * writes.
 */
static void one_shot(pipc__plan_t *p)
{
    int n = p->nranks;

    p->nchunks = 1;
    p->nslots = p->nflags = n;
    for (int r = 0; r < n; r++) {
        for (int i = 1; i < n; i++) {
            int peer = (r + i) % n;
            copy(p, r, 0, input(r), slot(peer, r));
            signal_peer(p, r, peer, r);
        }
        for (int i = 1; i < n; i++)
            wait_peer(p, r, (r + n - i) % n, (r + n - i) % n);
        reduce_in_rank_order(p, r, 0);
    }
}

/* Two-shot, rank r of n, chunk c belongs to rank c; slots and flags 0..n-1 are for the first shot,
 * n..2n-1 for the second:
 *
 *     input(r)[c] --push--> slot r of rank c                  every c != r
 *     output(r)[r] = slot 0 op .. input(r)[r] .. op slot n-1
 *     output(r)[r] --push--> slot n + r of every peer         the owner's own bits
 *     output(r)[c] = slot n + c                               every c != r
 *
 * Sends 2 (n - 1) / n S, two latencies. In place is safe: chunk c of input is read by the push of
 * the first shot, long before the second shot overwrites it.
 */
static void two_shot(pipc__plan_t *p)
{
    int n = p->nranks;

    p->nchunks = n;
    p->nslots = p->nflags = 2 * n;
    for (int r = 0; r < n; r++) {
        for (int i = 1; i < n; i++) {
            int c = (r + i) % n;
            copy(p, r, c, input(r), slot(c, r));
            signal_peer(p, r, c, r);
        }
        for (int i = 1; i < n; i++)
            wait_peer(p, r, (r + n - i) % n, (r + n - i) % n);
        reduce_in_rank_order(p, r, r);
        for (int i = 1; i < n; i++) {
            int peer = (r + i) % n;
            copy(p, r, r, output(r), slot(peer, n + r));
            signal_peer(p, r, peer, n + r);
        }
        for (int i = 1; i < n; i++) {
            int c = (r + n - i) % n;
            wait_peer(p, r, c, n + c);
            copy(p, r, c, slot(r, n + c), output(r));
        }
    }
}

/* Ring, first half, rank r of n: chunk c sets out at rank c and grows by a contribution a hop. Slot
 * and flag s are for what comes from r - 1 in step s:
 *
 *     input(r)[r] --push--> slot 0 of r + 1
 *     slot s-1 op input(r)[r - s] --push--> slot s of r + 1      s = 1 .. n-2
 *     output(r)[r + 1] = slot n-2 op input(r)[r + 1]             complete
 */
static void ring_reduce_scatter(pipc__plan_t *p, int r)
{
    int n = p->nranks, next = (r + 1) % n, prev = (r + n - 1) % n;

    copy(p, r, r, input(r), slot(next, 0));
    signal_peer(p, r, next, 0);
    for (int s = 1; s < n; s++) {
        bool last = s == n - 1;
        wait_peer(p, r, prev, s - 1);
        pipc__op_t *op = append(p, r, PIPC__REDUCE);
        op->chunk = (uint16_t)((r + n - s) % n);
        op->dst = last ? output(r) : slot(next, s);
        op->nsrc = 2;
        op->src[0] = slot(r, s - 1);
        op->src[1] = input(r);
        op->pre = s == 1 ? 3 : 2; /* in slot 0 lies an input, in the others lies a partial result */
        op->post = last;
        if (!last)
            signal_peer(p, r, next, s);
    }
}

/* Ring, second half: the complete chunks go round, from the rank that completed them on. Slots and
 * flags n-1 .. 2n-3; the neighbour comes first, the own output second:
 *
 *     output(r)[r + 1] --push--> slot n-1 of r + 1
 *     slot n-2+s --push--> slot n-1+s of r + 1                   s = 1 .. n-2
 *     output(r)[r + 1 - s] = slot n-2+s                          s = 1 .. n-1
 */
static void ring_all_gather(pipc__plan_t *p, int r)
{
    int n = p->nranks, next = (r + 1) % n, prev = (r + n - 1) % n;

    for (int s = 0; s < n; s++) {
        int chunk = (r + 1 + n - s) % n;
        pipc__ref_t from = s ? slot(r, n - 2 + s) : output(r);
        if (s)
            wait_peer(p, r, prev, n - 2 + s);
        if (s < n - 1) {
            copy(p, r, chunk, from, slot(next, n - 1 + s));
            signal_peer(p, r, next, n - 1 + s);
        }
        if (s)
            copy(p, r, chunk, from, output(r));
    }
}

/* Sends 2 (n - 1) / n S like two-shot, to one neighbour alone, with 2 (n - 1) latencies. A partial
 * result is rounded to the type at every hop; each chunk is reduced once, so that all ranks get the
 * same bits. In place is safe: all of input is read in the first half, and what that half writes to
 * the output is the chunk that it reads for it. */
static void ring(pipc__plan_t *p)
{
    int n = p->nranks;

    p->nchunks = n;
    p->nslots = p->nflags = n > 1 ? 2 * n - 2 : 1; /* staging is divided by it */
    if (n == 1) {
        reduce_in_rank_order(p, 0, 0);
        return;
    }
    for (int r = 0; r < n; r++) {
        ring_reduce_scatter(p, r);
        ring_all_gather(p, r);
    }
}

static pipc__plan_t *plan_alloc(int nranks, int ops_each)
{
    pipc__plan_t *p = calloc(1, sizeof(*p));

    if (!p)
        return NULL;
    p->nranks = nranks;
    p->nstages = 1;
    for (int r = 0; r < nranks; r++) {
        p->program[r][0].ops = calloc((size_t)ops_each, sizeof(pipc__op_t));
        if (!p->program[r][0].ops) {
            pipc__plan_free(p);
            return NULL;
        }
    }
    return p;
}

pipc_status_t pipc__plan_make(pipc__plan_t **plan, pipc__plan_kind_t kind, int nranks,
                              pipc__error_t *err)
{
    *plan = NULL;
    if (nranks < 1 || nranks > PIPC__RANKS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "a plan for %d ranks: 1 to %d are possible",
                          nranks, PIPC__RANKS_MAX);
    if ((unsigned int)kind >= PIPC__PLAN_KINDS)
        return pipc__fail(err, PIPC_ERR_INVALID, "no plan has the number %d", (int)kind);

    pipc__plan_t *p = plan_alloc(nranks, 1 + 7 * (nranks - 1)); /* two-shot's and the ring's */
    if (!p)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for a plan of %d ranks", nranks);
    p->collective = PIPC__ALLREDUCE;
    snprintf(p->name, sizeof(p->name), "%s", pipc__plan_name(kind));
    static void (*const generators[PIPC__PLAN_KINDS])(pipc__plan_t *) = {one_shot, two_shot, ring};
    generators[kind](p);
    *plan = p;
    return PIPC_OK;
}

pipc_status_t pipc__plan_make_for(pipc__plan_t **plan, pipc__plan_kind_t kind,
                                  pipc__collective_t collective, const pipc__shape_t *shape,
                                  pipc__error_t *err)
{
    *plan = NULL;
    if (kind >= PIPC__PLAN_KINDS || collective != PIPC__ALLREDUCE)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "plan %s has no such collective",
                          pipc__plan_name(kind));
    return pipc__plan_make(plan, kind, shape->nranks, err);
}

void pipc__plan_free(pipc__plan_t *plan)
{
    int saved = errno;

    if (!plan)
        return;
    for (int r = 0; r < PIPC__RANKS_MAX; r++)
        for (int s = 0; s < PIPC__STAGES_MAX; s++)
            free(plan->program[r][s].ops);
    free(plan);
    errno = saved;
}
