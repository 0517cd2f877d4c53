/* bind/choose.c - which GPUs the ranks take, and in which order
 *
 * The GPUs of the job hang on a tree of choices:
 *
 *     all - NUMA node - host bridge - switch group - nested switch group - GPU
 *
 * Wanted are k of the n GPUs with the least cost, in this order of importance:
 *   1. outermost switches used (a GPU below none counts as one), which never exceeds what k needs;
 *   2. pairs of chosen GPUs, weighted by the level where their ways part: every rank talks to every
 *      other in an AllReduce, and each such pair puts traffic on the links between;
 *   3. GPUs left idle in what is used: a job of two takes the pair, not half of the four.
 *
 * With bind:numa the two levels between NUMA node and GPU fall away (way.c), and every GPU counts
 * as a switch: then NUMA nodes decide alone.
 *
 * All three add up over the tree, so the best choice of k is found exactly: cost[k] of a node comes
 * from its children one after the other (a knapsack on a tree). Greedy rules (largest switch first,
 * best fit first) are right on one level and wrong on nested ones. Ties go to tree order, so the
 * result is stable.
 */
#include "runtime/bind/parts.h"

#include <stdlib.h>
#include <string.h>

/* Costs 1, 2, 3 side by side in one number: at most 64 switches; at most 64*63/2 pairs of weight
 * 4096, which is less than 2^23; idle GPUs beside the chosen under a switch (64 a level, less than
 * 2^12 on all), and less important, in the same host bridge or NUMA node (at most 128). */
#define COST_SWITCH ((uint64_t)1 << 56)
#define COST_PAIR ((uint64_t)1 << 24)
#define COST_IDLE_SWITCH ((uint64_t)1 << 8)
#define COST_IDLE_NODE ((uint64_t)1)

/* Weight of a pair whose ways part at ... */
enum { PART_ALL = 4096, PART_NUMA = 512, PART_HOST_BRIDGE = 256, PART_GROUP = 1 };

typedef struct choice {
    int parent;      /* index; the root's is PIPC__UNKNOWN */
    int key;         /* what it stands for at its level: NUMA index or object index */
    int size;        /* GPUs below; while children are being merged, those merged so far */
    int level, near; /* 1: NUMA node; see take_back() */
    bool leaf;       /* a GPU */
    int want;        /* on the way back: how many are still to be taken from here */
    uint64_t weight; /* of a pair that parts here, in COST_PAIR */
    uint64_t entry;  /* cost of taking anything from here: COST_SWITCH for an outermost switch */
    uint64_t idle;   /* cost of each GPU here that is not taken, if any is */
    uint64_t cost[PIPC__BIND_MAX + 1]; /* cost[k]: the least cost of taking k from here */
    unsigned char
        take[PIPC__BIND_MAX + 1]; /* take[k]: of k from here and the later siblings, here */
} choice_t;

/* The node for level @level of way @w below @parent. */
static choice_t make_choice(const pipc__way_t *w, int level, int parent)
{
    static const uint64_t weights[] = {PART_NUMA, PART_HOST_BRIDGE};
    choice_t c = {.parent = parent, .key = w->key[level]};
    int depth =
        level - 2; /* below the host bridge: 0 is an outermost switch, or a GPU below none */

    /* Outer switches weigh more than the inner ones, all less than a host bridge. */
    c.weight = level < 2 ? weights[level] : (uint64_t)(PART_GROUP + PIPC__WAY_MAX - level);
    c.entry = depth == 0 ? COST_SWITCH : 0;
    c.idle = level < 2 ? COST_IDLE_NODE : COST_IDLE_SWITCH;
    c.level = level + 1;
    c.leaf = level == w->len - 1;
    c.size = c.leaf;
    return c;
}

/* Build the tree in preorder: each way shares with the one before it the nodes down to where they
 * part. @tree has room for 1 + n * PIPC__WAY_MAX at most; NULL counts only. Returns how many. */
static int build(choice_t *tree, const pipc__way_t *ways, int n)
{
    int count = 1, path[PIPC__WAY_MAX + 1] = {0};

    if (tree)
        tree[0] = (choice_t){.parent = PIPC__UNKNOWN, .weight = PART_ALL};
    for (int i = 0; i < n; i++) {
        int level = 0;
        while (i > 0 && level < ways[i].len - 1 && level < ways[i - 1].len - 1 &&
               ways[i].key[level] == ways[i - 1].key[level])
            level++;
        for (; level < ways[i].len; level++) {
            if (tree)
                tree[count] = make_choice(&ways[i], level, path[level]);
            path[level + 1] = count++;
        }
    }
    return count;
}

/* The cost of taking @k from @c, seen from its parent. */
static uint64_t cost_of(const choice_t *c, int k)
{
    if (k == 0)
        return 0;
    return c->cost[k] + c->entry + c->idle * (uint64_t)(c->size - k);
}

/* Merge child @c into @p, which holds @c's later siblings already: of k taken from both, t from @c
 * make t * (k - t) pairs that part at @p. Of equal costs the largest t wins: tree order. */
static void merge(choice_t *p, choice_t *c, int want)
{
    uint64_t best[PIPC__BIND_MAX + 1] = {0};
    int most = p->size + c->size < want ? p->size + c->size : want;

    for (int k = 0; k <= most; k++) {
        best[k] = UINT64_MAX;
        for (int t = k < c->size ? k : c->size; t >= 0 && k - t <= p->size; t--) {
            uint64_t pairs = (uint64_t)t * (uint64_t)(k - t);
            uint64_t cost = p->cost[k - t] + cost_of(c, t) + COST_PAIR * p->weight * pairs;
            if (cost < best[k]) {
                best[k] = cost;
                c->take[k] = (unsigned char)t;
            }
        }
    }
    memcpy(p->cost, best, sizeof(best[0]) * (size_t)(most + 1));
    p->size += c->size;
}

/* From the root down: how many each node gives, and how near it is to the chosen GPUs: the level of
 * the deepest node above it that gives any, most for the chosen themselves. */
static void take_back(choice_t *tree, int count, int k)
{
    tree[0].want = k;
    for (int i = 1; i < count; i++) {
        choice_t *c = &tree[i], *p = &tree[c->parent];
        c->want = c->take[p->want];
        p->want -= c->want;
        c->near = c->want ? c->level : p->near;
        if (c->want && c->leaf)
            c->near = PIPC__WAY_MAX;
    }
}

/* The chosen GPUs in tree order, then the idle ones, nearest first: so the whole list fills one
 * switch before the next too, as one task with many GPUs wants it. */
static void write_order(const choice_t *tree, int count, int *gpus)
{
    int out = 0;

    for (int near = PIPC__WAY_MAX; near >= 0; near--)
        for (int i = 1; i < count; i++)
            if (tree[i].leaf && tree[i].near == near)
                gpus[out++] = tree[i].key;
}

pipc_status_t pipc__bind_choose(const pipc__topo_t *topo, pipc__bind_mode_t mode, int *gpus, int n,
                                int k, pipc__error_t *err)
{
    pipc__way_t *ways = calloc((size_t)n, sizeof(*ways));
    choice_t *tree = NULL;
    pipc_status_t st = PIPC_OK;

    if (ways) {
        pipc__bind_ways(topo, mode, ways, gpus, n);
        tree = malloc(sizeof(*tree) * (size_t)build(NULL, ways, n));
    }
    if (!tree) {
        st = pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory");
        goto done;
    }
    int count = build(tree, ways, n);
    for (int i = count - 1; i > 0; i--)
        merge(&tree[tree[i].parent], &tree[i], k);
    take_back(tree, count, k);
    write_order(tree, count, gpus);
done:
    free(tree);
    free(ways);
    return st;
}
