/* plan/direct.c - plans in which everybody sends to everybody: one-shot, two-shot, permuted
 *
 * Peers are taken in rotated order (rank + 1, rank + 2, ...), so that no rank is everybody's first
 * target. On every rank the sum is made in rank order, which makes results bit-identical.
 */
#include "runtime/plan/build.h"

/* Box @from is for what comes from that rank, in the second half it is this one. */
static int second_box(const pipc__build_t *b, int from)
{
    return from + (b->plan->collective == PIPC__ALLREDUCE ? b->plan->nranks : 0);
}

/* output(r) = slot 0 op .. input(r) .. op slot n-1 */
static void reduce_in_rank_order(pipc__pen_t pen, int chunk)
{
    pipc__op_t *op = pipc__add_reduce(pen, chunk, pipc__output(pen.rank));

    for (int q = 0; q < pen.build->plan->nranks; q++)
        pipc__add_source(op, q == pen.rank ? pipc__input(q) : pipc__slot(pen.rank, q), true);
    op->post = 1;
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
void pipc__build_one_shot(pipc__build_t *b)
{
    int n = b->plan->nranks;

    b->plan->nchunks = 1;
    for (int r = 0; r < n; r++) {
        pipc__pen_t pen = {b, r, 0};
        for (int i = 1; i < n; i++)
            pipc__add_push(pen, 0, pipc__input(r), (r + i) % n, r);
        for (int i = 1; i < n; i++)
            pipc__add_wait(pen, (r + n - i) % n, (r + n - i) % n);
        reduce_in_rank_order(pen, 0);
    }
}

/* Direct reduce-scatter, the first shot; chunk c belongs to rank c, box q to sender q:
 *
 *     input(r)[c] --push--> slot r of rank c                  every c != r
 *     output(r)[r] = slot 0 op .. input(r)[r] .. op slot n-1
 *
 * @stepwise: nobody sends to r + i + 1 before it has what r - i sends in the same step.
 */
static void reduce_scatter(pipc__pen_t pen, bool stepwise)
{
    int r = pen.rank, n = pen.build->plan->nranks;

    for (int i = 1; i < n; i++) {
        pipc__add_push(pen, (r + i) % n, pipc__input(r), (r + i) % n, r);
        if (stepwise)
            pipc__add_wait(pen, (r + n - i) % n, (r + n - i) % n);
    }
    for (int i = 1; i < n && !stepwise; i++)
        pipc__add_wait(pen, (r + n - i) % n, (r + n - i) % n);
    reduce_in_rank_order(pen, r);
}

/* Direct all-gather, the second shot; box q, behind those of the first shot, is for the chunk of q:
 *
 *     own(r)[r] --push--> slot r of every peer         the owner's own bits
 *     output(r)[c] = slot c                            every c != r
 *
 * The own chunk lies in the output when the first shot has made it, in the input of an all-gather.
 */
static void all_gather(pipc__pen_t pen, bool stepwise)
{
    int r = pen.rank, n = pen.build->plan->nranks;
    bool alone = pen.build->plan->collective == PIPC__ALLGATHER;

    for (int i = 1; i < n; i++) {
        pipc__add_push(pen, r, alone ? pipc__input(r) : pipc__output(r), (r + i) % n,
                       second_box(pen.build, r));
        if (stepwise)
            pipc__add_wait(pen, (r + n - i) % n, second_box(pen.build, (r + n - i) % n));
    }
    if (alone)
        pipc__add_copy(pen, r, pipc__input(r), pipc__output(r));
    for (int i = 1; i < n; i++) {
        int c = (r + n - i) % n;
        if (!stepwise)
            pipc__add_wait(pen, c, second_box(pen.build, c));
        pipc__add_copy(pen, c, pipc__slot(r, second_box(pen.build, c)), pipc__output(r));
    }
}

static void build_halves(pipc__build_t *b, bool stepwise)
{
    b->plan->nchunks = b->plan->nranks;
    for (int r = 0; r < b->plan->nranks; r++) {
        pipc__pen_t pen = {b, r, 0};
        if (b->plan->collective != PIPC__ALLGATHER)
            reduce_scatter(pen, stepwise);
        if (b->plan->collective != PIPC__REDUCE_SCATTER)
            all_gather(pen, stepwise);
    }
}

/* Two-shot: one after the other, both of the above.
 *
 * Sends 2 (n - 1) / n S, two latencies. In place is safe: chunk c of input is read by the push of
 * the first shot, long before the second shot overwrites it.
 */
void pipc__build_two_shot(pipc__build_t *b)
{
    build_halves(b, false);
}

/* Permuted: two-shot in 2 (n - 1) steps, each a permutation of the ranks:
 *
 *     step 1   0 -> 1   1 -> 2   2 -> 3   3 -> 0        wait for r - 1
 *     step 2   0 -> 2   1 -> 3   2 -> 0   3 -> 1        wait for r - 2
 *     step 3   0 -> 3   1 -> 0   2 -> 1   3 -> 2        wait for r - 3, sum; the same once more
 *
 * Each port of a switch has one flow in and one out at a time, give or take a step, for switches
 * that collapse when all send to all. The bytes of two-shot, 2 (n - 1) latencies.
 */
void pipc__build_permuted(pipc__build_t *b)
{
    build_halves(b, true);
}
