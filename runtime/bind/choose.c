/* bind/choose.c - which GPUs the ranks take, and in which order
 *
 * The GPUs of the job hang on a tree of choices:
 *
 *     all - NUMA node - host bridge - switch group - nested switch group - GPU
 *
 * Wanted are k of the n GPUs, and an order of them, with the least pipc__bind_cost(). With
 * bind:numa the two levels between NUMA node and GPU fall away (way.c), and every GPU counts as a
 * switch: then NUMA nodes decide alone.
 *
 * An order that walks the tree, each part to its end before the next, parts at every place once
 * less than it has parts in use; no order parts less often above any level, so none costs less in
 * neighbours. With this the cost adds up over the tree, and the best choice of k is found exactly:
 * cost[k] of a node comes from its children one after the other (a knapsack on a tree). Greedy
 * rules (largest switch first, best fit first) are right on one level and wrong on nested ones.
 * Ties go to the first in the order of the ways, so the result is stable.
 *
 * Only the last field of the cost, ranks near their own CPUs, is not a matter of sets: see
 * assign.c.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/bind/parts.h"

/* The node for level @level of way @w below @parent. */
static pipc__choice_t make_choice(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                                  const pipc__way_t *w, int level, int parent)
{
    pipc__choice_t c = {.parent = parent, .key = w->key[level], .level = level + 1};

    c.leaf = level == w->len - 1;
    c.size = c.leaf;
    c.weight = (uint64_t)pipc__way_weight(level + 1);
    c.idle = level < 2 ? PIPC__IDLE_NODE : PIPC__IDLE_SWITCH;
    if (level == 2) /* an outermost switch, or a GPU below none */
        c.entry.set = (uint64_t)1 << PIPC__SUM_HIGH;
    if (c.leaf)
        c.entry.set += (uint64_t)pipc__bind_far(topo, req, c.key);
    return c;
}

/* Build the tree in preorder: each way shares with the one before it the nodes down to where they
 * part. @tree has room for 1 + n * PIPC__WAY_MAX at most; NULL counts only. Returns how many. */
static int build(pipc__choice_t *tree, const pipc__topo_t *topo, const pipc__bind_request_t *req,
                 const pipc__way_t *ways, int n)
{
    int count = 1, path[PIPC__WAY_MAX + 1] = {0};

    if (tree)
        tree[0] = (pipc__choice_t){.parent = PIPC__UNKNOWN, .weight = PIPC__PART_MACHINE};
    for (int i = 0; i < n; i++) {
        int level = i > 0 ? pipc__way_parts(&ways[i], &ways[i - 1]) : 0;
        for (; level < ways[i].len; level++) {
            if (tree)
                tree[count] = make_choice(topo, req, &ways[i], level, path[level]);
            path[level + 1] = count++;
        }
    }
    return count;
}

pipc__sum_t pipc__choice_cost(const pipc__choice_t *parent, const pipc__choice_t *c,
                              pipc__sum_t inside, int t, int before)
{
    pipc__sum_t here = {.set = 0};

    if (t == 0)
        return here;
    here.set = parent->weight * (uint64_t)t * (uint64_t)before << PIPC__SUM_MIDDLE;
    here.order = c->idle * (uint64_t)(c->size - t) << PIPC__SUM_HIGH;
    if (before > 0) /* the last of these and the first of those are neighbours */
        here.order += parent->weight << PIPC__SUM_MIDDLE;
    return pipc__sum_add(pipc__sum_add(inside, c->entry), here);
}

/* Merge child @c into @p, which holds @c's later siblings already: of k taken from both, t are from
 * @c. Of equal costs the largest t wins: tree order. */
static void merge(pipc__choice_t *p, pipc__choice_t *c, int want)
{
    pipc__sum_t best[PIPC__BIND_MAX + 1] = {{0, 0}};
    int most = p->size + c->size < want ? p->size + c->size : want;

    for (int k = 0; k <= most; k++) {
        best[k].set = UINT64_MAX;
        for (int t = k < c->size ? k : c->size; t >= 0 && k - t <= p->size; t--) {
            pipc__sum_t cost =
                pipc__sum_add(p->cost[k - t], pipc__choice_cost(p, c, c->cost[t], t, k - t));
            if (pipc__sum_less(cost, best[k])) {
                best[k] = cost;
                c->take[k] = (unsigned char)t;
            }
        }
    }
    memcpy(p->cost, best, sizeof(best[0]) * (size_t)(most + 1));
    p->size += c->size;
}

/* From the root down: how many each node gives. The chosen GPUs, in tree order, into chosen[k]. */
static void take_back(pipc__choice_t *tree, int count, int k, int *chosen)
{
    int n = 0;

    tree[0].want = tree[0].left = k;
    for (int i = 1; i < count; i++) {
        pipc__choice_t *c = &tree[i], *p = &tree[c->parent];
        c->want = c->left = c->take[p->left];
        p->left -= c->want;
        if (c->want && c->leaf)
            chosen[n++] = c->key;
    }
}

/* The idle GPUs behind the chosen ones, nearest first: by the level of the deepest place that they
 * share with any of these. So the whole list fills one switch before the next too, as one task with
 * many GPUs wants it. */
static void add_idle(const pipc__choice_t *tree, int count, int *gpus, int k)
{
    for (int near = PIPC__WAY_MAX; near >= 0; near--)
        for (int i = 1; i < count; i++) {
            int used = tree[i].parent;
            if (!tree[i].leaf || tree[i].want)
                continue;
            while (tree[used].want == 0)
                used = tree[used].parent;
            if (tree[used].level == near)
                gpus[k++] = tree[i].key;
        }
}

pipc_status_t pipc__bind_choose(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                                int *gpus, int n, int k, pipc__error_t *err)
{
    pipc__way_t *ways = calloc((size_t)n, sizeof(*ways));
    pipc__choice_t *tree = NULL;
    pipc_status_t st = PIPC_OK;

    if (ways) {
        pipc__bind_ways(topo, req->mode, ways, gpus, n);
        tree = malloc(sizeof(*tree) * (size_t)build(NULL, topo, req, ways, n));
    }
    if (!tree) {
        st = pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory");
        goto done;
    }
    int count = build(tree, topo, req, ways, n);
    for (int i = count - 1; i > 0; i--)
        merge(&tree[tree[i].parent], &tree[i], k);
    take_back(tree, count, k, gpus);
    if (req->rank_cpus && n <= PIPC__ASSIGN_MAX)
        st = pipc__bind_assign(topo, req, tree, count, gpus, k, err);
    add_idle(tree, count, gpus, k);
done:
    free(tree);
    free(ways);
    return st;
}
