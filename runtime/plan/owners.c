/* plan/owners.c - see owners.h */
#include "runtime/plan/owners.h"

#include <stdbool.h>
#include <string.h>

/* A round has so many pieces for each level of groups, where slots allow it. Fewer overlap less;
 * with more, small messages pay for signals: on two switches of four, 8 pieces instead of 4 gain
 * 0.2 % at 16 MB by the simulator and lose 8 % at 1 MB; on two of two pairs they gain 10 %. */
#define PIECES_MIN 4
#define PIECES_MAX 8

/* Flags that a rank may have between stages for chunks that it exchanges with its twin; a round's
 * end takes six. */
#define FLAGS_MAX (PIPC__FLAGS_MAX - PIPC__SLOTS_MAX - 2 * (PIPC__STAGES_MAX - 1))

/* --- the tree of a shape ---------------------------------------------------------------------- */

/* The ranks of @among that are in one group of @level with @rank. */
static uint16_t group_of(const pipc__shape_t *s, int level, int rank, uint16_t among)
{
    uint16_t with = (uint16_t)(1u << rank);

    for (int q = 0; q < s->nranks && level < s->nlevels; q++)
        if (s->group[level][q] == s->group[level][rank])
            with |= (uint16_t)(1u << q);
    return with & among;
}

/* The part that has @ranks, cut by @level and what lies below it. A cut that leaves all in one
 * group makes no part: it is skipped. */
static int make_part(pipc__parts_t *t, const pipc__shape_t *s, uint16_t ranks, int level)
{
    pipc__part_t made = {.ranks = ranks};
    uint16_t left = ranks;

    for (int i = 0; i < s->nranks; i++) {
        int r = s->order[i];
        if (!(left >> r & 1))
            continue;
        uint16_t together = group_of(s, level, r, ranks);
        if (together == ranks)
            return ranks & (ranks - 1) ? make_part(t, s, ranks, level + 1) : r;
        made.part[made.nparts++] = make_part(t, s, together, level + 1);
        left &= (uint16_t)~together;
    }
    made.nranks = __builtin_popcount(ranks);
    t->part[t->n] = made;
    return t->n++;
}

void pipc__parts_make(pipc__parts_t *parts, const pipc__shape_t *shape)
{
    memset(parts, 0, sizeof(*parts));
    for (int r = 0; r < shape->nranks; r++)
        parts->part[r] = (pipc__part_t){.nranks = 1, .ranks = (uint16_t)(1u << r)};
    parts->n = shape->nranks;
    parts->root = make_part(parts, shape, (uint16_t)((1u << shape->nranks) - 1), 0);
}

/* Part @at of the root and the next one become one. */
static int pair(pipc__parts_t *t, int at)
{
    const pipc__part_t *root = &t->part[t->root];
    int a = root->part[at], b = root->part[at + 1];

    t->part[t->n] = (pipc__part_t){2,
                                   {a, b},
                                   t->part[a].nranks + t->part[b].nranks,
                                   (uint16_t)(t->part[a].ranks | t->part[b].ranks)};
    return t->n++;
}

/* With four groups a root would get from three at the same time; in pairs everybody has one peer at
 * a time, over as many bytes. */
void pipc__parts_pair(pipc__parts_t *t)
{
    pipc__part_t *root = &t->part[t->root];

    while (root->nparts > 2 && root->nparts % 2 == 0 && root->nparts < root->nranks) {
        for (int i = 0; i < root->nparts; i += 2)
            root->part[i / 2] = pair(t, i);
        root->nparts /= 2;
    }
}

/* --- the choice of owners --------------------------------------------------------------------- */

typedef struct choice {
    const pipc__parts_t *t;
    bool even; /* a root is who was one least often, and not who has the least load */
    int edges[PIPC__RANKS_MAX];      /* a rank's neighbours in the trees so far: its load */
    int roots[PIPC__RANKS_MAX];      /* chunks that it was the root of */
    int part_roots[PIPC__RANKS_MAX]; /* and that the i-th part of the whole had the root of */
} choice_t;

/* The least loaded rank of part @p, the first in tree order; to be a @root. */
static int least_loaded(const choice_t *c, int p, bool root)
{
    const pipc__part_t *part = &c->t->part[p];
    int best = part->nparts ? -1 : p;

    for (int i = 0; i < part->nparts; i++) {
        int r = least_loaded(c, part->part[i], root);
        int more = best < 0 ? -1 : root && c->even ? c->roots[r] - c->roots[best] : 0;
        if (more < 0 || (more == 0 && c->edges[r] < c->edges[best]))
            best = r;
    }
    return best;
}

static void hand(choice_t *c, int from, int to, uint8_t *above)
{
    above[from] = (uint8_t)to;
    c->edges[from]++;
    c->edges[to]++;
}

/* @owner owns part @p for one chunk: choose the owners of what is in it, and note who hands to
 * whom.
 */
static void choose_inside(choice_t *c, int p, int owner, uint8_t *above)
{
    const pipc__part_t *part = &c->t->part[p];
    int of[PIPC__RANKS_MAX];

    for (int i = 0; i < part->nparts; i++) {
        bool in_it = c->t->part[part->part[i]].ranks >> owner & 1;
        of[i] = in_it ? owner : least_loaded(c, part->part[i], false);
        if (!in_it)
            hand(c, of[i], owner, above);
    }
    for (int i = 0; i < part->nparts; i++)
        choose_inside(c, part->part[i], of[i], above);
}

/* The part of the root that the next chunk's root is in. Each part has one link to the others,
 * whatever its size, so they take turns. But of two, one of them a single rank, it is the group: a
 * root there makes the way of the chunk shorter, and both links carry the same. */
static int part_of_root(choice_t *c)
{
    const pipc__part_t *root = &c->t->part[c->t->root];
    int best = 0;

    for (int i = 1; i < root->nparts; i++) {
        const pipc__part_t *x = &c->t->part[root->part[i]], *y = &c->t->part[root->part[best]];
        bool one_rank = root->nparts == 2 && (x->nranks == 1) != (y->nranks == 1);
        if (one_rank ? y->nranks == 1 : c->part_roots[i] < c->part_roots[best])
            best = i;
    }
    c->part_roots[best]++;
    return root->part[best];
}

/* Do two groups stand at the top, so that two roots exchange? */
static bool has_twins(const pipc__parts_t *t, pipc__collective_t collective)
{
    const pipc__part_t *root = &t->part[t->root];

    return collective == PIPC__ALLREDUCE && root->nparts == 2 && t->part[root->part[0]].nparts &&
           t->part[root->part[1]].nparts;
}

/* A root in part @p, and the owners in it. */
static int choose_root(choice_t *c, int p, uint8_t *above)
{
    int r = least_loaded(c, p, true);

    c->roots[r]++;
    choose_inside(c, p, r, above);
    return r;
}

static void choose_whole(choice_t *c, int root, uint8_t *above)
{
    c->roots[root]++;
    choose_inside(c, c->t->root, root, above);
}

static void choose_twins(choice_t *c, uint8_t *above, uint8_t *twin)
{
    const pipc__part_t *root = &c->t->part[c->t->root];
    int a = choose_root(c, root->part[0], above), b = choose_root(c, root->part[1], above);

    hand(c, a, b, twin);
    twin[b] = (uint8_t)a;
}

static void choose_turn(pipc__owners_t *o, choice_t *c, pipc__collective_t collective)
{
    uint8_t *above = o->above[o->nturns], *twin = o->twin[o->nturns];
    int n = c->t->part[c->t->root].nranks;

    memset(above, PIPC__NOBODY, sizeof(o->above[0]));
    memset(twin, PIPC__NOBODY, sizeof(o->twin[0]));
    if (has_twins(c->t, collective))
        choose_twins(c, above, twin);
    else if (collective == PIPC__ALLREDUCE)
        choose_whole(c, least_loaded(c, part_of_root(c), true), above);
    else
        choose_whole(c, o->nturns % n, above);
    o->nturns++;
}

/* --- how many turns --------------------------------------------------------------------------- */

typedef struct load {
    int part[PIPC__PARTS_MAX];                          /* edges that leave a group */
    int boxes[PIPC__RANKS_MAX], flags[PIPC__RANKS_MAX]; /* flags: between stages */
} load_t;

/* Add the last turn of @o. */
static void add_load(load_t *load, const pipc__owners_t *o, const pipc__parts_t *t,
                     pipc__collective_t collective)
{
    int turn = o->nturns - 1;

    for (int r = 0; r < t->part[t->root].nranks; r++) {
        bool twins = o->twin[turn][r] != PIPC__NOBODY;
        int to = twins ? o->twin[turn][r] : o->above[turn][r];
        load->flags[r] += twins;
        if (to == PIPC__NOBODY)
            continue;
        if (collective != PIPC__ALLGATHER)
            load->boxes[to]++;
        if (collective != PIPC__REDUCE_SCATTER && !twins)
            load->boxes[r]++;
        for (int p = t->part[t->root].nranks; p < t->n; p++)
            load->part[p] += (t->part[p].ranks >> r & 1) != (t->part[p].ranks >> to & 1);
    }
}

static int most(const int *of, int n)
{
    int m = 0;

    for (int i = 0; i < n; i++)
        m = of[i] > m ? of[i] : m;
    return m;
}

static bool fits(const load_t *load, int nranks)
{
    for (int r = 0; r < nranks; r++)
        if (load->boxes[r] > PIPC__SLOTS_MAX || load->flags[r] > FLAGS_MAX)
            return false;
    return true;
}

/* Turns whose roots are in different ranks, or in different groups where that is what counts. */
static int breadth(const pipc__parts_t *t, pipc__collective_t collective)
{
    const pipc__part_t *root = &t->part[t->root];
    const pipc__part_t *a = &t->part[root->part[0]], *b = &t->part[root->part[1]];

    if (collective != PIPC__ALLREDUCE || root->nparts == root->nranks)
        return root->nranks;
    if (root->nparts > 2)
        return root->nparts;
    return a->nranks > b->nranks ? a->nranks : b->nranks;
}

/* How deep part @p is: 0 a rank, 1 a group of ranks, ... */
static int depth(const pipc__parts_t *t, int p)
{
    int deepest = -1;

    for (int i = 0; i < t->part[p].nparts; i++) {
        int inside = depth(t, t->part[p].part[i]);
        deepest = inside > deepest ? inside : deepest;
    }
    return deepest + 1;
}

/* The best number of turns; costs[n] is what the busiest rank and the busiest group send in n of
 * them, 0 where n is not possible. From @enough on the fewest of the best; if there are not so
 * many, the most that are hardly worse than the best. Less than a @piece only if nothing else is
 * possible: a single turn may look good and put all work on one rank. */
static int best_turns(const int *costs, int piece, int enough)
{
    int best = 0;

    for (int n = 1; n <= PIPC__CHUNKS_MAX; n++)
        if (costs[n] && (!best || costs[n] * best < costs[best] * n ||
                         (best < enough && n >= enough) || (best < piece && n >= piece)))
            best = n;
    if (best >= enough)
        return best;
    for (int n = PIPC__CHUNKS_MAX; n > best; n--)
        if (costs[n] && costs[n] * best * 64 <= costs[best] * n * 65)
            return n;
    return best;
}

/* Choose owners and the number of turns; returns what the busiest rank and group send in them. */
static int make_owners(pipc__owners_t *o, const pipc__parts_t *t, pipc__collective_t collective,
                       bool even)
{
    choice_t choice = {.t = t, .even = even};
    load_t load = {.part = {0}};
    int nranks = t->part[t->root].nranks, costs[PIPC__CHUNKS_MAX + 1] = {0};
    int levels = depth(t, t->root) > 1 ? depth(t, t->root) - 1 : 1; /* of groups */

    memset(o, 0, sizeof(*o));
    o->breadth = breadth(t, collective);
    int piece = t->part[t->root].nparts > 2 ? nranks : o->breadth;
    while (o->nturns < PIECES_MAX * piece * levels && o->nturns < PIPC__CHUNKS_MAX) {
        choose_turn(o, &choice, collective);
        add_load(&load, o, t, collective);
        if (!fits(&load, nranks))
            break;
        if (collective == PIPC__ALLREDUCE || o->nturns % nranks == 0)
            costs[o->nturns] = most(choice.edges, nranks) + most(load.part, t->n);
    }
    o->nturns = best_turns(costs, piece, PIECES_MIN * piece * levels);
    return costs[o->nturns];
}

/* Two ways to choose roots, for neither is best for every shape: by load alone, ranks of four fours
 * are roots as the other owners' loads happen to be; evenly, one that stands alone between others
 * gets more than they. */
void pipc__owners_make(pipc__owners_t *o, const pipc__shape_t *shape, pipc__collective_t collective)
{
    pipc__parts_t parts;
    pipc__owners_t other;

    pipc__parts_make(&parts, shape);
    if (collective == PIPC__ALLREDUCE)
        pipc__parts_pair(&parts);
    int cost = make_owners(o, &parts, collective, false);
    int other_cost = make_owners(&other, &parts, collective, true);
    if (other_cost * o->nturns < cost * other.nturns)
        *o = other;
}

/* False when it takes more boxes than there are. */
static bool make_rail_owners(pipc__owners_t *o, const pipc__parts_t *t, int nrails, int nchunks)
{
    choice_t choice = {.t = t};
    load_t load = {.part = {0}};
    int nranks = t->part[t->root].nranks;

    memset(o, 0, sizeof(*o));
    memset(o->above, PIPC__NOBODY, sizeof(o->above));
    memset(o->twin, PIPC__NOBODY, sizeof(o->twin));
    o->breadth = nrails;
    while (o->nturns < nchunks) {
        int rail = pipc__rail_of(nrails, o->nturns);
        choose_whole(&choice, pipc__rail_owner(nrails, nranks, rail), o->above[o->nturns++]);
        add_load(&load, o, t, PIPC__ALLREDUCE);
    }
    return fits(&load, nranks);
}

/* The number of chunks is for nodes.c to choose, and the same on every node: what gives way is the
 * way through the groups. */
void pipc__owners_make_rails(pipc__owners_t *o, const pipc__shape_t *shape, int nrails, int nchunks)
{
    pipc__shape_t flat;
    pipc__parts_t parts;

    pipc__parts_make(&parts, shape);
    if (make_rail_owners(o, &parts, nrails, nchunks))
        return;
    pipc__shape_flat(&flat, shape->nranks);
    pipc__parts_make(&parts, &flat);
    make_rail_owners(o, &parts, nrails, nchunks);
}
