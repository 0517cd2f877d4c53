/* plan/ring.c - from neighbour to neighbour, in tree order
 *
 * The ring goes through shape->order, so it leaves each group of the shape once and enters it once:
 *
 *     {0 1 2 3} {4 5 6 7}        0 - 1 - 2 - 3 = 4 - 5 - 6 - 7 = 0       = crosses a switch
 *
 * Below, ranks and chunks are named by their place in the ring: i + 1 is the next one, and chunk i
 * belongs to rank i. Box s is for what comes from i - 1 in step s.
 */
#include "runtime/plan/build.h"

typedef struct ring {
    pipc__pen_t pen;
    int i, n;
    int first; /* box of the all-gather's first step */
} ring_t;

/* The rank, and the chunk, at place i + @by. */
static int at(const ring_t *k, int by)
{
    return k->pen.build->shape->order[(k->i + by + 2 * k->n) % k->n];
}

/* Chunk i sets out at rank i + 1, grows by a contribution a hop, and is complete at rank i:
 *
 *     input(i)[i - 1] --push--> box 0 of i + 1
 *     box s-1 op input(i)[i - 1 - s] --push--> box s of i + 1      s = 1 .. n-2
 *     output(i)[i] = box n-2 op input(i)[i]
 */
static void reduce_scatter(const ring_t *k)
{
    int r = k->pen.rank, last = k->n - 1;

    pipc__add_push(k->pen, at(k, -1), pipc__input(r), at(k, 1), 0);
    for (int s = 1; s <= last; s++) {
        pipc__add_wait(k->pen, at(k, -1), s - 1);
        pipc__op_t *op = pipc__add_reduce(k->pen, at(k, -1 - s),
                                          s == last ? pipc__output(r) : pipc__slot(at(k, 1), s));
        pipc__add_source(op, pipc__slot(r, s - 1), s == 1); /* an input, then partial results */
        pipc__add_source(op, pipc__input(r), true);
        op->post = s == last;
        if (s < last)
            pipc__add_signal(k->pen, at(k, 1), s);
    }
}

/* The chunks go round, each from its own rank on. The neighbour comes first, the own output second;
 * boxes f .. f + n-2, behind those of the first half:
 *
 *     own(i)[i] --push--> box f of i + 1
 *     box f+s-1 --push--> box f+s of i + 1                          s = 1 .. n-2
 *     output(i)[i - s] = box f+s-1                                  s = 1 .. n-1
 */
static void all_gather(const ring_t *k)
{
    bool alone = k->pen.build->plan->collective == PIPC__ALLGATHER;
    pipc__ref_t from = alone ? pipc__input(k->pen.rank) : pipc__output(k->pen.rank);

    for (int s = 0; s < k->n; s++) {
        if (s) {
            from = pipc__slot(k->pen.rank, k->first + s - 1);
            pipc__add_wait(k->pen, at(k, -1), k->first + s - 1);
        }
        if (s < k->n - 1)
            pipc__add_push(k->pen, at(k, -s), from, at(k, 1), k->first + s);
        if (s || alone)
            pipc__add_copy(k->pen, at(k, -s), from, pipc__output(k->pen.rank));
    }
}

/* Sends 2 (n - 1) / n S like two-shot, to one neighbour alone, with 2 (n - 1) latencies. A partial
 * result is rounded to the type at every hop; each chunk is reduced once, so that all ranks get the
 * same bits. In place is safe: all of input is read in the first half, and what that half writes to
 * the output is the chunk that it reads for it. */
void pipc__build_ring(pipc__build_t *b)
{
    int n = b->plan->nranks;

    b->plan->nchunks = n;
    for (int i = 0; i < n; i++) {
        ring_t k = {{b, b->shape->order[i], 0}, i, n, 0};
        if (b->plan->collective != PIPC__ALLGATHER)
            reduce_scatter(&k);
        k.first = b->plan->collective == PIPC__ALLREDUCE ? n - 1 : 0;
        if (b->plan->collective != PIPC__REDUCE_SCATTER)
            all_gather(&k);
    }
}
