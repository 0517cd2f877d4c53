/* plan/stream.c - one-shot in two stages, so that the link is busy while sums are made:
 *
 *     stage 0   push chunk 0 | push 1 | push 2 | push 3      to every peer, as one-shot
 *     stage 1                | sum 0  | sum 1  | sum 2 | sum 3
 *
 * Few chunks: each costs a signal, which waits until all that was pushed has arrived, about 2 us
 * over NVLink, and only the last one's sum is not hidden. (Two H200, 16 MB: 63 us with 4 chunks, 72
 * with 8, 89 with 16.) Sends (n - 1) S, one latency.
 *
 * In place is safe: stage 1 writes output chunk c when stage 0 has told that input chunk c is
 * pushed.
 */
#include "runtime/plan/build.h"

#define CHUNKS 4 /* 15 peers' chunks fit PIPC__SLOTS_MAX */

/* The box of chunk @c from @sender at @receiver: the senders in rank order. */
static int box_of(int receiver, int sender, int c)
{
    return (sender < receiver ? sender : sender - 1) * CHUNKS + c;
}

static void push_chunk(pipc__pen_t pen, int c)
{
    int r = pen.rank, n = pen.build->plan->nranks;

    for (int i = 1; i < n; i++) {
        int to = (r + i) % n;
        pipc__add_push(pen, c, pipc__input(r), to, box_of(to, r, c));
    }
}

static void sum_chunk(pipc__pen_t pen, int c)
{
    int r = pen.rank, n = pen.build->plan->nranks;

    for (int i = 1; i < n; i++) {
        int from = (r + n - i) % n;
        pipc__add_wait(pen, from, box_of(r, from, c));
    }
    pipc__op_t *op = pipc__add_reduce(pen, c, pipc__output(r));
    for (int q = 0; q < n; q++)
        pipc__add_source(op, q == r ? pipc__input(r) : pipc__slot(r, box_of(r, q, c)), true);
    op->post = 1;
}

void pipc__build_stream(pipc__build_t *b)
{
    b->plan->nchunks = CHUNKS;
    b->plan->nstages = 2;
    for (int r = 0; r < b->plan->nranks; r++) {
        pipc__pen_t push = {b, r, 0}, sum = {b, r, 1};
        for (int c = 0; c < CHUNKS; c++) {
            int pushed = pipc__new_flag(b, r);
            push_chunk(push, c);
            pipc__add_signal(push, r, pushed);
            pipc__add_wait(sum, r, pushed);
            sum_chunk(sum, c);
        }
        pipc__add_join(b, r);
    }
}
