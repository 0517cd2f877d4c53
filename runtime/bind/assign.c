/* bind/assign.c - ranks that have CPUs of their own
 *
 * Slurm may have given each rank its own CPUs. Then the parts of the tree are not alike in every
 * order: of those that cost the same, wanted is the one in which most ranks are near their GPU.
 *
 *     CPUs of rank   0  1  2  3          order of the ways   0 1 2 3    all ranks far
 *     at node        1  1  0  0          order found         2 3 0 1    all near
 *     2 GPUs at each of two nodes
 *
 * Every order of least cost walks the tree part by part (choose.c), so only the parts of each place
 * are to be put in order, and how many GPUs each gives, once for each rank it may begin with:
 *
 *     cost[node][first][t] = the least cost of taking t GPUs from node for t ranks from first on
 *
 * from its children's by going through all sets of children: for a set and a number of GPUs taken
 * it does not matter any more in which order the set was gone through. That is at most 2^16 states,
 * in a place with 16 GPUs side by side. Assigning GPUs to ranks one by one (the Hungarian method)
 * would tear groups apart.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/bind/parts.h"

#define WIDTH (PIPC__ASSIGN_MAX + 1)

typedef struct state { /* a set of children, of which so many GPUs are taken */
    pipc__sum_t cost;
    unsigned char child, t; /* the last of them, and what it gives */
} state_t;

typedef struct assign {
    const pipc__topo_t *topo;
    const pipc__bind_request_t *req;
    pipc__choice_t *tree;
    int k;
    pipc__sum_t (*cost)[WIDTH][WIDTH]; /* [node][first][t] */
    state_t *states;
    /* of the place that is being worked on: */
    int node, first;
    int child[PIPC__ASSIGN_MAX], children;
} assign_t;

#define NONE ((pipc__sum_t){UINT64_MAX, UINT64_MAX})

static bool is_none(pipc__sum_t s)
{
    return s.set == UINT64_MAX;
}

/* Each child of a set gives one GPU at least, so of @set only the GPUs beyond that are counted. */
static state_t *state_of(const assign_t *a, unsigned int set, int taken)
{
    int beyond = a->tree[a->node].size - a->children + 1;

    return &a->states[set * (unsigned int)beyond + (unsigned int)(taken - __builtin_popcount(set))];
}

/* From @set with @taken GPUs on to each further child with each number of GPUs. */
static void extend(const assign_t *a, unsigned int set, int taken)
{
    const state_t *from = state_of(a, set, taken);

    for (int i = 0; i < a->children && !is_none(from->cost); i++) {
        const pipc__choice_t *c = &a->tree[a->child[i]];
        int most = a->k - a->first - taken < c->size ? a->k - a->first - taken : c->size;
        for (int t = most; t > 0 && !(set >> i & 1); t--) {
            pipc__sum_t inside = a->cost[a->child[i]][a->first + taken][t];
            pipc__sum_t cost = pipc__sum_add(
                from->cost, pipc__choice_cost(&a->tree[a->node], c, inside, t, taken));
            state_t *to = state_of(a, set | 1u << i, taken + t);
            if (pipc__sum_less(cost, to->cost))
                *to = (state_t){cost, (unsigned char)i, (unsigned char)t};
        }
    }
}

static void go_through_sets(assign_t *a, int node, int count, int first)
{
    int size = a->tree[node].size;

    a->node = node;
    a->first = first;
    a->children = 0;
    for (int i = node + 1; i < count; i++)
        if (a->tree[i].parent == node)
            a->child[a->children++] = i;
    unsigned int sets = 1u << a->children;
    for (unsigned int i = 0; i < sets * (unsigned int)(size - a->children + 1); i++)
        a->states[i].cost = NONE;
    state_of(a, 0, 0)->cost = (pipc__sum_t){0, 0};
    for (unsigned int set = 0; set < sets; set++)
        for (int beyond = 0; beyond <= size - a->children; beyond++)
            extend(a, set, __builtin_popcount(set) + beyond);
}

/* The cheapest set with @taken GPUs; NULL when there is none. */
static const state_t *best_of(const assign_t *a, int taken, unsigned int *set)
{
    const state_t *best = NULL;

    for (unsigned int s = 0; s < 1u << a->children; s++) {
        int beyond = taken - __builtin_popcount(s);
        if (beyond < 0 || beyond > a->tree[a->node].size - a->children)
            continue;
        const state_t *here = state_of(a, s, taken);
        if (!is_none(here->cost) && (!best || pipc__sum_less(here->cost, best->cost))) {
            best = here;
            *set = s;
        }
    }
    return best;
}

/* Fill in cost[node][first] for all numbers of GPUs. */
static void solve(assign_t *a, int node, int count, int first)
{
    const pipc__choice_t *c = &a->tree[node];
    unsigned int set;

    if (c->leaf) {
        a->cost[node][first][1].order =
            (uint64_t)pipc__bind_own(a->topo, a->req, first, a->k, c->key);
        return;
    }
    go_through_sets(a, node, count, first);
    for (int t = 1; t <= c->size && first + t <= a->k; t++) {
        const state_t *best = best_of(a, t, &set);
        a->cost[node][first][t] = best ? best->cost : NONE;
    }
}

/* Write down the choice behind cost[node][first][t]. The sets are gone through again: keeping all
 * of them would take a table a hundred times as large. */
static void take_back(assign_t *a, int node, int count, int first, int t, int *chosen)
{
    int child[PIPC__ASSIGN_MAX], gives[PIPC__ASSIGN_MAX], n = 0;
    unsigned int set = 0;

    a->tree[node].want = t;
    if (a->tree[node].leaf) {
        chosen[first] = a->tree[node].key;
        return;
    }
    go_through_sets(a, node, count, first);
    best_of(a, t, &set);
    for (int taken = t; set;) { /* from the last child back; each state is the best of its kind */
        const state_t *s = state_of(a, set, taken);
        child[n] = a->child[s->child];
        gives[n++] = s->t;
        set &= ~(1u << s->child);
        taken -= s->t;
    }
    while (n-- > 0) {
        take_back(a, child[n], count, first, gives[n], chosen);
        first += gives[n];
    }
}

static uint64_t own_of(const assign_t *a, const int *chosen)
{
    uint64_t own = 0;

    for (int i = 0; i < a->k; i++)
        own += (uint64_t)pipc__bind_own(a->topo, a->req, i, a->k, chosen[i]);
    return own;
}

/* Only a smaller cost changes anything: else the order of the ways stays. */
static void assign(assign_t *a, int count, int *chosen)
{
    uint64_t before = a->tree[0].cost[a->k].order + own_of(a, chosen);

    for (int node = count - 1; node >= 0; node--)
        for (int first = 0; first + a->tree[node].size <= a->tree[0].size && first < a->k; first++)
            solve(a, node, count, first);
    if (a->cost[0][0][a->k].order >= before)
        return;
    for (int i = 0; i < count; i++)
        a->tree[i].want = 0;
    take_back(a, 0, count, 0, a->k, chosen);
}

pipc_status_t pipc__bind_assign(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                                pipc__choice_t *tree, int count, int *chosen, int k,
                                pipc__error_t *err)
{
    assign_t a = {.topo = topo, .req = req, .tree = tree, .k = k};
    pipc_status_t st = PIPC_OK;

    a.cost = calloc((size_t)count, sizeof(*a.cost));
    a.states = malloc(sizeof(*a.states) << PIPC__ASSIGN_MAX);
    if (a.cost && a.states)
        assign(&a, count, chosen);
    else
        st = pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory");
    free(a.cost);
    free(a.states);
    return st;
}
