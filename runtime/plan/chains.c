/* plan/chains.c - the island plan of machines whose groups are uneven, or stand in groups
 *
 * Inside a group of k each chunk goes from neighbour to neighbour, as in a ring, and ends at its
 * owner; the owners of the groups hand it on in the same way; then the result goes back. Three
 * chunks of {0 1 2}, owned by 2, 0 and 1:
 *
 *     step 0    chunk a: 0 -> 1     chunk b: 1 -> 2     chunk c: 2 -> 0
 *     step 1    chunk a: 1 -> 2     chunk b: 2 -> 0     chunk c: 0 -> 1     each owner has its sum
 *               ... across and back ...
 *     step 2    chunk a: 2 -> 0     chunk b: 0 -> 1     chunk c: 1 -> 2
 *     step 3    chunk a: 0 -> 1     chunk b: 1 -> 2     chunk c: 2 -> 0
 *
 * As many bytes over each link as with stars (island.c): a tree of n ranks has n - 1 edges,
 * whatever its form. But inside a group a rank has one neighbour that writes to it and one that it
 * writes to, so nobody is in another one's way, whether groups are even or not; and all that is
 * near is done by one stage, one thing at a time, so that links are as busy while the way up has
 * begun and the way down has not as they are later:
 *
 *     stage NEAR      up 0 | up 1 | up 2 | up 3 | down 0 | up 4 | down 1 | ...   pieces, in a group
 *     stage FAR              | up 0 | up 1 | up 2 | ...                          between groups
 *     stage FARTHER                 | up 0 | up 1 | ...                          between those
 *     stage BACK                           | end 0, down 0 | end 1, down 1 | ... from outside in
 *     stage TAKE                                           | copy 0 | copy 1 ... to the output
 *
 * The price is latency, one signal a rank and not one a level, and a sum that is rounded at each
 * rank, as in the ring. With stars it takes two even groups to keep in step: elsewhere several
 * ranks write to one while others write to nobody.
 *
 * Two groups at the top exchange, as in island.c: all owners of a group send and receive across at
 * the same time. If one of two sent first and got the result later, one owner at a time would use
 * the way across, and its neighbours would wait for it: by the simulator 8 % on [5]+[3].
 *
 * Nobody waits in a circle. A job's time is its turn, rounded down to a whole piece where its group
 * begins anew after each piece, and stages do their jobs in order of time. FAR waits for the way up
 * in NEAR, FARTHER for both of them, BACK for all three, TAKE for any: and no stage waits for a
 * later one or for its own later jobs, but for the way down in NEAR, which waits for BACK. It
 * stands so many turns behind (delay) that all that BACK does until then has its way up behind it
 * in every stage NEAR.
 */
#include "runtime/plan/chains.h"

#include <stdlib.h>

#include "runtime/plan/build.h"

#define TURNS_MOST 32  /* chunks of a round. More would pay for steps */
#define TURNS_LEAST 15 /* with two levels of groups; with more, as many as there may be */
#define DELAY 16 /* least turns that the way down is behind, in stage NEAR: half of the most */
/* Flags between stages that a round's end leaves. */
#define FLAGS_MOST (PIPC__FLAGS_MAX - PIPC__SLOTS_MAX - 2 * (PIPC__STAGES_MAX - 1))
#define HEIGHT_MOST 8 /* of the tree of groups, pairs included */

enum { NEAR, FAR, FARTHER, BACK, TAKE }; /* the stages */

/* What one rank has to do for one chunk. Heights are those of groups: 1 a group of ranks. */
typedef struct role {
    uint8_t up_to, up_height, up_step;   /* PIPC__NOBODY: it makes the result */
    uint8_t twin;                        /* ... together with this one */
    uint8_t nfrom, from[HEIGHT_MOST];    /* who hands up to it */
    uint8_t down_from, down_step;        /* PIPC__NOBODY: nobody, it has the result */
    uint8_t ndown, down_to[HEIGHT_MOST]; /* to whom it hands the result */
    uint8_t to_height[HEIGHT_MOST], to_step[HEIGHT_MOST];
    uint8_t up_box, down_box;     /* at up_to or the twin; at the own rank */
    uint8_t summed, complete;     /* own flags: the sum may be overwritten; is made */
    uint8_t up_piece, down_piece; /* turns after which the group begins anew */
    uint8_t to_piece[HEIGHT_MOST];
} role_t;

typedef struct chains {
    pipc__build_t *b;
    pipc__parts_t parts;
    int place[PIPC__RANKS_MAX];               /* of a rank in tree order */
    int height;                               /* of the whole: 2 or more */
    int delay;                                /* turns */
    int stage[TAKE + 1];                      /* number in the plan of NEAR, FAR, ... */
    role_t role[TURNS_MOST][PIPC__RANKS_MAX]; /* [turn][rank]; a turn is a chunk */
} chains_t;

/* --- owners ----------------------------------------------------------------------------------- */

static int height_of(const pipc__parts_t *t, int p)
{
    int most = -1;

    for (int i = 0; i < t->part[p].nparts; i++) {
        int h = height_of(t, t->part[p].part[i]);
        most = h > most ? h : most;
    }
    return most + 1;
}

static int largest_part(const pipc__parts_t *t, const pipc__part_t *part)
{
    int most = 1;

    for (int i = 0; i < part->nparts; i++)
        if (t->part[part->part[i]].nranks > most)
            most = t->part[part->part[i]].nranks;
    return most;
}

/* The part of @part whose owner owns it: by turns, and so that over the turns each rank has been
 * the owner of its group with each group having been the owner of what is around it. But of a group
 * and a single rank at the top it is the group: then the rank has nothing to sum. */
static int owning(const chains_t *k, int p, int turn)
{
    const pipc__part_t *part = &k->parts.part[p];
    const pipc__part_t *a = &k->parts.part[part->part[0]], *b = &k->parts.part[part->part[1]];
    int largest = largest_part(&k->parts, part);

    if (p == k->parts.root && part->nparts == 2 && (a->nranks == 1) != (b->nranks == 1))
        return a->nranks == 1;
    return largest == 1 ? turn % part->nparts : (turn + turn / largest) % part->nparts;
}

static int owner_of(const chains_t *k, int p, int turn)
{
    while (k->parts.part[p].nparts)
        p = k->parts.part[p].part[owning(k, p, turn)];
    return p;
}

static bool has_twins(const pipc__parts_t *t)
{
    const pipc__part_t *root = &t->part[t->root];

    return root->nparts == 2 && t->part[root->part[0]].nparts && t->part[root->part[1]].nparts;
}

/* --- who hands to whom ------------------------------------------------------------------------ */

typedef struct edge {
    int from, to, height, step, piece;
} edge_t;

static void add_up(role_t *role, edge_t e)
{
    role_t *from = &role[e.from], *to = &role[e.to];

    from->up_to = (uint8_t)e.to;
    from->up_height = (uint8_t)e.height;
    from->up_step = (uint8_t)e.step;
    from->up_piece = (uint8_t)e.piece;
    to->from[to->nfrom++] = (uint8_t)e.from;
}

static void add_down(role_t *role, edge_t e)
{
    role_t *from = &role[e.from], *to = &role[e.to];

    to->down_from = (uint8_t)e.from;
    from->to_height[from->ndown] = (uint8_t)e.height;
    from->to_step[from->ndown] = (uint8_t)e.step;
    from->to_piece[from->ndown] = to->down_piece = (uint8_t)e.piece;
    from->down_to[from->ndown++] = (uint8_t)e.to;
    to->down_step = (uint8_t)e.step;
}

/* The ways through part @p and all that is in it. Both begin with the part behind the owner's or
 * with the owner's, and go on to the next one in tree order, so that each rank of a group always
 * writes to the same neighbour. */
static void link_part(chains_t *k, int p, int turn)
{
    const pipc__part_t *part = &k->parts.part[p];
    role_t *role = k->role[turn];
    int n = part->nparts, owner[PIPC__RANKS_MAX];

    if (!n)
        return;
    for (int i = 0; i < n; i++)
        owner[i] = owner_of(k, part->part[i], turn);
    edge_t e = {.height = height_of(&k->parts, p), .piece = n * largest_part(&k->parts, part)};
    if (p == k->parts.root && has_twins(&k->parts)) {
        role[owner[0]].twin = (uint8_t)owner[1];
        role[owner[1]].twin = (uint8_t)owner[0];
    } else {
        int last = owning(k, p, turn);
        for (e.step = 0; e.step < n - 1; e.step++) {
            e.from = owner[(last + 1 + e.step) % n];
            e.to = owner[(last + 2 + e.step) % n];
            add_up(role, e);
            e.from = owner[(last + e.step) % n];
            e.to = owner[(last + 1 + e.step) % n];
            add_down(role, e);
        }
    }
    for (int i = 0; i < n; i++)
        link_part(k, part->part[i], turn);
}

static void link_turn(chains_t *k, int turn)
{
    const pipc__part_t *root = &k->parts.part[k->parts.root];

    for (int r = 0; r < root->nranks; r++)
        k->role[turn][r] =
            (role_t){.up_to = PIPC__NOBODY,
                     .twin = PIPC__NOBODY,
                     .down_from = PIPC__NOBODY,
                     .up_height = (uint8_t)k->height,
                     .up_step = (uint8_t)(root->nparts - 1),
                     .up_piece = (uint8_t)(root->nparts * largest_part(&k->parts, root))};
    link_part(k, k->parts.root, turn);
}

static void hand_out_boxes(chains_t *k, int turn)
{
    for (int r = 0; r < k->b->plan->nranks; r++) {
        role_t *w = &k->role[turn][r];
        bool twins = w->twin != PIPC__NOBODY;
        if (twins || w->up_to != PIPC__NOBODY)
            w->up_box = (uint8_t)pipc__new_box(k->b, twins ? w->twin : w->up_to);
        if (w->down_from != PIPC__NOBODY)
            w->down_box = (uint8_t)pipc__new_box(k->b, r);
        if (twins)
            w->summed = (uint8_t)pipc__new_flag(k->b, r);
        if (w->down_from == PIPC__NOBODY)
            w->complete = (uint8_t)pipc__new_flag(k->b, r);
    }
}

/* --- jobs ------------------------------------------------------------------------------------- */

typedef struct job {
    int time, order, turn; /* stages do their jobs in this order */
    int to;                /* of a job of the way down */
    void (*write)(const chains_t *k, pipc__pen_t pen, const struct job *job);
} job_t;

static const role_t *role_of(const chains_t *k, int turn, int rank)
{
    return &k->role[turn][rank];
}

/* Wait for all who hand up and sum, the own contribution first. */
static pipc__op_t *sum(const chains_t *k, pipc__pen_t pen, int turn, pipc__ref_t dst)
{
    const role_t *w = role_of(k, turn, pen.rank);

    for (int i = 0; i < w->nfrom; i++)
        pipc__add_wait(pen, w->from[i], role_of(k, turn, w->from[i])->up_box);
    pipc__op_t *op = pipc__add_reduce(pen, turn, dst);
    pipc__add_source(op, pipc__input(pen.rank), true);
    for (int i = 0; i < w->nfrom; i++) {
        const role_t *its = role_of(k, turn, w->from[i]);
        pipc__add_source(op, pipc__slot(pen.rank, its->up_box), !its->nfrom);
    }
    return op;
}

static void hand_up(const chains_t *k, pipc__pen_t pen, const job_t *job)
{
    const role_t *w = role_of(k, job->turn, pen.rank);

    if (!w->nfrom) {
        pipc__add_push(pen, job->turn, pipc__input(pen.rank), w->up_to, w->up_box);
        return;
    }
    sum(k, pen, job->turn, pipc__slot(w->up_to, w->up_box));
    pipc__add_signal(pen, w->up_to, w->up_box);
}

/* The way up ends here: at the only root, or at one of two, which exchange. */
static void end_up(const chains_t *k, pipc__pen_t pen, const job_t *job)
{
    const role_t *w = role_of(k, job->turn, pen.rank);
    pipc__op_t *op = sum(k, pen, job->turn, pipc__output(pen.rank));

    if (w->twin == PIPC__NOBODY) {
        op->post = 1;
        pipc__add_signal(pen, pen.rank, w->complete);
        return;
    }
    pipc__add_push(pen, job->turn, pipc__output(pen.rank), w->twin, w->up_box);
    pipc__add_signal(pen, pen.rank, w->summed);
}

/* Twins add up their two sums, the first group's first. */
static void add_twin(const chains_t *k, pipc__pen_t pen, const job_t *job)
{
    const role_t *w = role_of(k, job->turn, pen.rank);
    pipc__ref_t mine = pipc__output(pen.rank);
    pipc__ref_t its = pipc__slot(pen.rank, role_of(k, job->turn, w->twin)->up_box);
    bool first = k->place[pen.rank] < k->place[w->twin];

    pipc__add_wait(pen, pen.rank, w->summed);
    pipc__add_wait(pen, w->twin, role_of(k, job->turn, w->twin)->up_box);
    pipc__op_t *op = pipc__add_reduce(pen, job->turn, mine);
    pipc__add_source(op, first ? mine : its, false);
    pipc__add_source(op, first ? its : mine, false);
    op->post = 1;
    pipc__add_signal(pen, pen.rank, w->complete);
}

/* Wait until the result is here; returns where. */
static pipc__ref_t result(const chains_t *k, pipc__pen_t pen, int turn)
{
    const role_t *w = role_of(k, turn, pen.rank);

    if (w->down_from == PIPC__NOBODY) {
        if (pen.stage != k->stage[BACK] || w->twin == PIPC__NOBODY) /* else made there, before */
            pipc__add_wait(pen, pen.rank, w->complete);
        return pipc__output(pen.rank);
    }
    pipc__add_wait(pen, w->down_from, w->down_box);
    return pipc__slot(pen.rank, w->down_box);
}

static void hand_down(const chains_t *k, pipc__pen_t pen, const job_t *job)
{
    pipc__ref_t from = result(k, pen, job->turn);

    pipc__add_push(pen, job->turn, from, job->to, role_of(k, job->turn, job->to)->down_box);
}

static void take(const chains_t *k, pipc__pen_t pen, const job_t *job)
{
    pipc__ref_t from = result(k, pen, job->turn);

    pipc__add_copy(pen, job->turn, from, pipc__output(pen.rank));
}

/* --- stages ----------------------------------------------------------------------------------- */

/* The first turn of the piece that @turn is in. Where the far stages serve several heights it is
 * the turn itself: then all steps of a turn stand together, and its heights in their order. */
static int time_of(const chains_t *k, int stage, int turn, int piece)
{
    return (stage == FARTHER && k->height > 3) || (stage == BACK && k->height > 2)
               ? turn
               : turn / piece * piece;
}

static int add_jobs(const chains_t *k, int stage, int rank, int turn, job_t *job)
{
    const role_t *w = role_of(k, turn, rank);
    bool root = w->up_to == PIPC__NOBODY;
    int n = 0;

    if (stage == (w->up_height == 1 ? NEAR : w->up_height == 2 ? FAR : FARTHER))
        job[n++] = (job_t){time_of(k, stage, turn, w->up_piece), w->up_height * 16 + w->up_step,
                           turn, 0, root ? end_up : hand_up};
    if (stage == BACK && w->twin != PIPC__NOBODY)
        job[n++] = (job_t){time_of(k, stage, turn, w->up_piece), 0, turn, 0, add_twin};
    for (int i = 0; i < w->ndown; i++)
        if (stage == (w->to_height[i] == 1 ? NEAR : BACK))
            job[n++] =
                (job_t){time_of(k, stage, turn, w->to_piece[i]) + (stage == NEAR ? k->delay : 0),
                        (stage == NEAR ? 1 : HEIGHT_MOST - w->to_height[i]) * 16 + w->to_step[i],
                        turn, w->down_to[i], hand_down};
    if (stage == TAKE && w->down_from != PIPC__NOBODY)
        job[n++] = (job_t){time_of(k, stage, turn, w->down_piece), w->down_step, turn, 0, take};
    return n;
}

static int by_time(const void *a, const void *b)
{
    const job_t *x = a, *y = b;

    if (x->time != y->time)
        return x->time - y->time;
    return x->order != y->order ? x->order - y->order : x->turn - y->turn;
}

static void write_stage(const chains_t *k, int stage, int rank)
{
    job_t job[TURNS_MOST * (HEIGHT_MOST + 2)];
    int n = 0;

    for (int turn = 0; turn < k->b->plan->nchunks; turn++)
        n += add_jobs(k, stage, rank, turn, &job[n]);
    if (n > 1)
        qsort(job, (size_t)n, sizeof(job[0]), by_time);
    for (int i = 0; i < n; i++)
        job[i].write(k, (pipc__pen_t){k->b, rank, k->stage[stage]}, &job[i]);
}

/* --- how many turns --------------------------------------------------------------------------- */

static int common_multiple(int a, int b)
{
    int x = a, y = b;

    while (y) {
        int rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* Turns after which all ranks have had the same to do, as far as that comes soon enough. */
static int period(const chains_t *k)
{
    int all = 1;

    for (int p = k->b->plan->nranks; p < k->parts.n; p++) {
        const pipc__part_t *part = &k->parts.part[p];
        if (p == k->parts.root && part->nparts == 2)
            continue; /* twins, or the group has it always */
        int more = common_multiple(all, part->nparts * largest_part(&k->parts, part));
        all = more <= TURNS_MOST ? more : all;
    }
    return all;
}

/* Do the first @nturns turns fit the slots and flags of every rank? */
static bool fits(const chains_t *k, int nturns)
{
    int boxes[PIPC__RANKS_MAX] = {0}, flags[PIPC__RANKS_MAX] = {0};

    for (int turn = 0; turn < nturns; turn++)
        for (int r = 0; r < k->b->plan->nranks; r++) {
            const role_t *w = &k->role[turn][r];
            boxes[r] += w->nfrom + (w->twin != PIPC__NOBODY) + (w->down_from != PIPC__NOBODY);
            flags[r] += (w->twin != PIPC__NOBODY) + (w->down_from == PIPC__NOBODY);
            if (boxes[r] > PIPC__SLOTS_MAX || flags[r] > FLAGS_MOST)
                return false;
        }
    return true;
}

static int choose_turns(const chains_t *k)
{
    int each = period(k), n = TURNS_MOST / each * each;

    while (k->height == 2 && n - each >= TURNS_LEAST)
        n -= each;
    while (n > each && !fits(k, n))
        n -= each;
    while (n > 1 && !fits(k, n))
        n--;
    return n;
}

/* Where three or more groups make a group, the far stages take whole pieces of it, step by step,
 * and so do turns that are up to a piece ahead of the one that NEAR waits for; NEAR itself may have
 * begun a piece of its own group. Two more pieces are for the way across. */
static int choose_delay(const chains_t *k)
{
    int ahead[HEIGHT_MOST + 1] = {0}, near = 0;

    for (int p = k->b->plan->nranks; p < k->parts.n; p++) {
        const pipc__part_t *part = &k->parts.part[p];
        int height = height_of(&k->parts, p), piece = part->nparts * largest_part(&k->parts, part);
        if (height == 1)
            near = piece > near ? piece : near;
        else if (part->nparts > 2 && piece > ahead[height])
            ahead[height] = piece;
    }
    int delay = 3 * near;
    for (int height = 2; height <= k->height; height++)
        delay += ahead[height];
    return delay > DELAY ? delay : DELAY;
}

/* --- the plan --------------------------------------------------------------------------------- */

bool pipc__chains_suit(const pipc__parts_t *parts)
{
    const pipc__part_t *root = &parts->part[parts->root];
    int height = height_of(parts, parts->root);

    if (height < 2 || height > HEIGHT_MOST)
        return false;
    return height > 2 || root->nparts > 2 ||
           parts->part[root->part[0]].nranks != parts->part[root->part[1]].nranks;
}

static void write_all(chains_t *k)
{
    int nstages = 0;

    for (int stage = NEAR; stage <= TAKE; stage++) {
        k->stage[stage] = nstages;
        nstages += stage != FARTHER || k->height > 2;
    }
    k->b->plan->nstages = nstages;
    for (int r = 0; r < k->b->plan->nranks; r++) {
        for (int stage = NEAR; stage <= TAKE; stage++)
            write_stage(k, stage, r);
        pipc__add_join(k->b, r);
    }
}

void pipc__build_chains(pipc__build_t *b, const pipc__parts_t *parts)
{
    chains_t *k = calloc(1, sizeof(*k));

    if (!k) {
        b->nomem = true;
        return;
    }
    k->b = b;
    k->parts = *parts;
    k->height = height_of(parts, parts->root);
    for (int i = 0; i < b->plan->nranks; i++)
        k->place[b->shape->order[i]] = i;
    for (int turn = 0; turn < TURNS_MOST; turn++)
        link_turn(k, turn);
    b->plan->nchunks = choose_turns(k);
    k->delay = choose_delay(k);
    for (int turn = 0; turn < b->plan->nchunks; turn++)
        hand_out_boxes(k, turn);
    write_all(k);
    free(k);
}
