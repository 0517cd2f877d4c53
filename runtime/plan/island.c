/* plan/island.c - inside the groups of the shape first, then across, pipelined over chunks
 *
 * Two switches of four, one chunk that 1 and 5 own:
 *
 *     switch {0 1 2 3}            switch {4 5 6 7}
 *       0 2 3 --push--> 1           4 6 7 --push--> 5        stage 0
 *       1 sums                      5 sums                   stage 1
 *                   1 <--exchange--> 5
 *       1 sums both                 5 sums both              stage 2
 *       1 --push--> 0 2 3           5 --push--> 4 6 7
 *       0 2 3 copy it out           4 6 7 copy it out        stage 3
 *
 * The four ranks of a switch own different chunks. Each group sends every chunk across once and
 * gets it once: S bytes on an uplink each way, where the ring sends 1.75 S and two-shot 4 S. The
 * longest chain of signals is 3, as everything of one kind is in a stage and stages run at the same
 * time:
 *
 *     stage 0   push 0 | push 1   | push 2    | push 3     | ...
 *     stage 1          | sum 0    | sum 1     | sum 2      | ...
 *     stage 2                     | far sum 0 | far sum 1  | ...
 *     stage 3                                 | copy 0     | ...
 *
 * All-reduce of groups that are uneven, or stand in groups, goes by chains instead (chains.c). Here
 * each chunk has a tree of ranks (owners.h). A rank sums what its neighbours below gave
 * it and hands the sum to the one above; the root sums too, and the result goes the same way down.
 * Two roots exchange their sums and add them up in the same order, so that both get the same bits.
 * On a flat shape this is two-shot, pipelined. Reduce-scatter is the way up, all-gather the way
 * down.
 *
 * Nobody waits in a circle: job (turn, rank) of a stage has the time piece + phase, where phase is
 * the rank's height (way up) or depth (way down) in the turn's tree. It waits for jobs of an
 * earlier stage, or for jobs of its own stage with a smaller phase of the same turn, and every
 * stage does its jobs in order of time. The tempting order, turns rotated by the rank's place and
 * nothing else, has circles: two ranks may each wait for what the other would forward later.
 *
 * Over several nodes (nodes.c) the root's sum is the node's. It begins the rail's job in stage 2,
 * and a stage of its own hands the result down when that has ended: what waits for a rail holds up
 * neither sums nor what comes from other roots.
 *
 * In place is safe: a rank writes a chunk of its output when it owns it, and has read it for that
 * sum itself, or when the complete chunk comes, which holds its own contribution and so came after
 * the push that read it.
 */
#include <stdlib.h>

#include "runtime/plan/build.h"
#include "runtime/plan/chains.h"
#include "runtime/plan/owners.h"

enum { PUSH, SUM, TOP, SPREAD, TAKE }; /* the stages; those without jobs are left out */

typedef struct island {
    pipc__build_t *b;
    pipc__owners_t o;
    int pieces;
    uint8_t depth[PIPC__CHUNKS_MAX][PIPC__RANKS_MAX];  /* [turn][rank]: steps up to a root */
    uint8_t height[PIPC__CHUNKS_MAX][PIPC__RANKS_MAX]; /* and down to the deepest one below */
    int place[PIPC__RANKS_MAX];                        /* of a rank in tree order */
    int stage[PIPC__STAGES_MAX];                       /* number in the plan of PUSH, SUM, ... */
    uint8_t up[PIPC__CHUNKS_MAX][PIPC__RANKS_MAX];     /* [turn][from], at the rank above or twin */
    uint8_t down[PIPC__CHUNKS_MAX][PIPC__RANKS_MAX];   /* [turn][to], at @to */
    uint8_t summed[PIPC__CHUNKS_MAX][PIPC__RANKS_MAX]; /* flag of a twin: its own sum is made */
    uint8_t railed[PIPC__CHUNKS_MAX]; /* flag of the root: the sum of all nodes is there */
} island_t;

/* --- where a rank stands in a turn's tree ----------------------------------------------------- */

static int above(const island_t *k, int turn, int rank)
{
    return k->o.above[turn][rank];
}

static int twin(const island_t *k, int turn, int rank)
{
    return k->o.twin[turn][rank];
}

static bool is_root(const island_t *k, int turn, int rank)
{
    return above(k, turn, rank) == PIPC__NOBODY;
}

static bool has_rails(const island_t *k)
{
    return k->b->plan->nrails > 0;
}

/* Has it nobody below it? Then what it hands up is as it was given. */
static bool is_leaf(const island_t *k, int turn, int rank)
{
    return !k->height[turn][rank];
}

/* The chunk of a turn: of all-reduce the same number; else chunks are blocks of the ranks. */
static int chunk(const island_t *k, int turn)
{
    if (k->b->plan->collective == PIPC__ALLREDUCE)
        return turn;
    return turn % k->o.breadth * k->pieces + turn / k->o.breadth;
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* Its own contribution goes up. */
static void push_input(const island_t *k, pipc__pen_t pen, int turn)
{
    pipc__add_push(pen, chunk(k, turn), pipc__input(pen.rank), above(k, turn, pen.rank),
                   k->up[turn][pen.rank]);
}

/* Wait for all below and sum, in tree order, the own contribution at its place. */
static pipc__op_t *sum(const island_t *k, pipc__pen_t pen, int turn, pipc__ref_t dst)
{
    int n = k->b->plan->nranks, r = pen.rank;

    for (int i = 1; i < n; i++) {
        int q = k->b->shape->order[(k->place[r] + n - i) % n];
        if (above(k, turn, q) == r)
            pipc__add_wait(pen, q, k->up[turn][q]);
    }
    pipc__op_t *op = pipc__add_reduce(pen, chunk(k, turn), dst);
    for (int i = 0; i < n; i++) {
        int q = k->b->shape->order[i];
        if (q == r)
            pipc__add_source(op, pipc__input(r), true);
        else if (above(k, turn, q) == r)
            pipc__add_source(op, pipc__slot(r, k->up[turn][q]), is_leaf(k, turn, q));
    }
    return op;
}

/* The sum of what is below goes up, straight into the slot there; a twin needs its own, too. */
static void sum_and_hand_up(const island_t *k, pipc__pen_t pen, int turn)
{
    int r = pen.rank, to = above(k, turn, r);

    if (is_root(k, turn, r)) {
        sum(k, pen, turn, pipc__output(r));
        pipc__add_push(pen, chunk(k, turn), pipc__output(r), twin(k, turn, r), k->up[turn][r]);
        pipc__add_signal(pen, r, k->summed[turn][r]); /* last: then the sum may be overwritten */
        return;
    }
    sum(k, pen, turn, pipc__slot(to, k->up[turn][r]));
    pipc__add_signal(pen, to, k->up[turn][r]);
}

/* Hand the complete chunk down: first to those who keep it, who are near. By the simulator four
 * switches of four take 1.7 ms for 16 MB so, and 1.9 ms the other way round, which keeps uplinks
 * busier than the links of GPUs. */
static void push_down(const island_t *k, pipc__pen_t pen, int turn, pipc__ref_t from)
{
    int n = k->b->plan->nranks, r = pen.rank;

    for (int leaves = 1; leaves >= 0; leaves--)
        for (int i = 1; i < n; i++) {
            int q = k->b->shape->order[(k->place[r] + i) % n];
            if (above(k, turn, q) == r && is_leaf(k, turn, q) == leaves)
                pipc__add_push(pen, chunk(k, turn), from, q, k->down[turn][q]);
        }
}

/* The root makes the result. Twins add up their two sums, the first group's first. */
static void complete(const island_t *k, pipc__pen_t pen, int turn)
{
    int r = pen.rank, other = twin(k, turn, r);
    pipc__op_t *op;

    if (other == PIPC__NOBODY) {
        op = sum(k, pen, turn, pipc__output(r));
    } else {
        pipc__ref_t mine = pipc__output(r), its = pipc__slot(r, k->up[turn][other]);
        bool first = k->place[r] < k->place[other];
        pipc__add_wait(pen, r, k->summed[turn][r]);
        pipc__add_wait(pen, other, k->up[turn][other]);
        op = pipc__add_reduce(pen, chunk(k, turn), mine);
        pipc__add_source(op, first ? mine : its, false);
        pipc__add_source(op, first ? its : mine, false);
    }
    op->post = !has_rails(k);
    if (has_rails(k))
        pipc__add_rail(pen, chunk(k, turn), pipc__output(r), k->railed[turn]);
    else if (k->b->plan->collective == PIPC__ALLREDUCE)
        push_down(k, pen, turn, pipc__output(r));
}

static void spread(const island_t *k, pipc__pen_t pen, int turn)
{
    pipc__add_wait(pen, pen.rank, k->railed[turn]);
    push_down(k, pen, turn, pipc__output(pen.rank));
}

/* All-gather begins at the root's input. */
static void give(const island_t *k, pipc__pen_t pen, int turn)
{
    push_down(k, pen, turn, pipc__input(pen.rank));
    pipc__add_copy(pen, chunk(k, turn), pipc__input(pen.rank), pipc__output(pen.rank));
}

static void take(const island_t *k, pipc__pen_t pen, int turn)
{
    pipc__ref_t slot = pipc__slot(pen.rank, k->down[turn][pen.rank]);

    pipc__add_wait(pen, above(k, turn, pen.rank), k->down[turn][pen.rank]);
    push_down(k, pen, turn, slot);
    pipc__add_copy(pen, chunk(k, turn), slot, pipc__output(pen.rank));
}

/* --- stages ----------------------------------------------------------------------------------- */

typedef void job_t(const island_t *k, pipc__pen_t pen, int turn);

/* What @rank does for @turn in @stage, and in which phase; NULL: nothing. */
static job_t *job_of(const island_t *k, int stage, int rank, int turn, int *phase)
{
    bool up = k->b->plan->collective != PIPC__ALLGATHER;
    bool down = k->b->plan->collective != PIPC__REDUCE_SCATTER;
    bool root = is_root(k, turn, rank), twins = twin(k, turn, rank) != PIPC__NOBODY;

    *phase = 0;
    switch (stage) {
    case PUSH:
        if (!up)
            return root ? give : NULL;
        return is_leaf(k, turn, rank) ? push_input : NULL;
    case SUM:
        *phase = k->height[turn][rank];
        return up && !is_leaf(k, turn, rank) && (!root || twins) ? sum_and_hand_up : NULL;
    case TOP:
        *phase = has_rails(k) ? 0 : k->height[turn][rank]; /* rails: in ascending order */
        return up && root ? complete : NULL;
    case SPREAD:
        return has_rails(k) && root ? spread : NULL;
    default:
        *phase = k->depth[turn][rank];
        return down && !root ? take : NULL;
    }
}

/* A job of one stage of one rank, and when it is due. */
typedef struct due {
    int time, order, phase, turn;
    job_t *job;
} due_t;

static int by_time(const void *a, const void *b)
{
    const due_t *x = a, *y = b;

    if (x->time != y->time)
        return x->time - y->time;
    if (x->phase != y->phase)
        return y->phase - x->phase; /* the older piece first */
    return x->order - y->order;
}

/* To whom a rank hands what it has: the rank above, or the twin. */
static int receiver(const island_t *k, int turn, int rank)
{
    return is_root(k, turn, rank) ? twin(k, turn, rank) : above(k, turn, rank);
}

/* How far behind @from, in tree order, @to stands. */
static int way(const island_t *k, int from, int to)
{
    int n = k->b->plan->nranks;

    return to == PIPC__NOBODY ? 0 : (k->place[to] + n - k->place[from]) % n;
}

/* The order of jobs of the same time: senders begin with the rank behind their own, and with what
 * that one hands to the rank behind it; takers with the chunk before their own. So ranks of a group
 * have different peers at a time. */
static int order_of(const island_t *k, int stage, int rank, int turn)
{
    int n = k->o.breadth, at = turn % n, to = receiver(k, turn, rank);
    int own = k->b->plan->collective == PIPC__ALLREDUCE ? k->place[rank] % n : rank;

    if (stage == TAKE)
        return (own + n - at + n - 1) % n;
    if (stage == PUSH && to != PIPC__NOBODY)
        return way(k, rank, to) * k->b->plan->nranks + way(k, to, receiver(k, turn, to));
    return at;
}

/* Pieces that pass from one phase to the next. In the last stage four: nothing but copies comes
 * after it, and forwarding is not to wait for what others forward. */
static const int skew[PIPC__STAGES_MAX] = {[PUSH] = 1, [SUM] = 1, [TOP] = 1, [TAKE] = 4};

/* Write @stage of @rank; returns whether there was something to do. */
static bool write_stage(const island_t *k, int stage, int rank)
{
    pipc__pen_t pen = {k->b, rank, k->stage[stage]};
    due_t due[PIPC__CHUNKS_MAX];
    int n = 0;

    for (int turn = 0; turn < k->o.nturns; turn++) {
        due_t *d = &due[n];
        d->job = job_of(k, stage, rank, turn, &d->phase);
        d->time = turn / k->o.breadth + d->phase * skew[stage];
        d->order = order_of(k, stage, rank, turn);
        d->turn = turn;
        n += d->job != NULL;
    }
    if (n > 1)
        qsort(due, (size_t)n, sizeof(due[0]), by_time);
    for (int i = 0; i < n; i++)
        due[i].job(k, pen, due[i].turn);
    return n > 0;
}

static void hand_out_boxes(island_t *k)
{
    bool up = k->b->plan->collective != PIPC__ALLGATHER;
    bool down = k->b->plan->collective != PIPC__REDUCE_SCATTER;

    for (int turn = 0; turn < k->o.nturns; turn++)
        for (int r = 0; r < k->b->plan->nranks; r++) {
            bool twins = twin(k, turn, r) != PIPC__NOBODY;
            if (up && (twins || !is_root(k, turn, r)))
                k->up[turn][r] =
                    (uint8_t)pipc__new_box(k->b, twins ? twin(k, turn, r) : above(k, turn, r));
            if (down && !is_root(k, turn, r))
                k->down[turn][r] = (uint8_t)pipc__new_box(k->b, r);
            if (twins)
                k->summed[turn][r] = (uint8_t)pipc__new_flag(k->b, r);
            if (has_rails(k) && is_root(k, turn, r))
                k->railed[turn] = (uint8_t)pipc__new_flag(k->b, r);
        }
}

static void measure(island_t *k, int turn)
{
    for (int r = 0; r < k->b->plan->nranks; r++)
        for (int q = r, steps = 0; q != PIPC__NOBODY; q = above(k, turn, q), steps++) {
            k->depth[turn][r] = (uint8_t)steps;
            if (k->height[turn][q] < steps)
                k->height[turn][q] = (uint8_t)steps;
        }
}

/* The owners are chosen: the rest. */
static void build(island_t *k)
{
    pipc__build_t *b = k->b;
    int nstages = 0;

    k->pieces = (k->o.nturns + k->o.breadth - 1) / k->o.breadth;
    b->plan->nchunks = k->o.nturns;
    for (int i = 0; i < b->plan->nranks; i++)
        k->place[b->shape->order[i]] = i;
    for (int turn = 0; turn < k->o.nturns; turn++)
        measure(k, turn);
    hand_out_boxes(k);
    for (int stage = PUSH; stage <= TAKE; stage++) {
        bool any = false;
        k->stage[stage] = nstages;
        for (int r = 0; r < b->plan->nranks; r++)
            any |= write_stage(k, stage, r);
        nstages += any;
    }
    b->plan->nstages = nstages;
    for (int r = 0; r < b->plan->nranks; r++)
        pipc__add_join(b, r);
}

void pipc__build_island(pipc__build_t *b)
{
    island_t k = {.b = b};
    pipc__parts_t parts;

    pipc__parts_make(&parts, b->shape);
    pipc__parts_pair(&parts);
    if (b->plan->collective == PIPC__ALLREDUCE && pipc__chains_suit(&parts)) {
        pipc__build_chains(b, &parts);
        return;
    }
    pipc__owners_make(&k.o, b->shape, b->plan->collective);
    build(&k);
}

void pipc__build_island_over_rails(pipc__build_t *b)
{
    island_t k = {.b = b};

    pipc__owners_make_rails(&k.o, b->shape, b->plan->nrails, b->plan->nchunks);
    build(&k);
}
