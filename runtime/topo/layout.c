/* topo/layout.c - see layout.h */
#include "runtime/topo/layout.h"

#include <stdlib.h>

static bool is_endpoint(const pipc__topo_obj_t *o)
{
    return o->kind == PIPC__TOPO_GPU || o->kind == PIPC__TOPO_NIC;
}

static bool is_drawn(const pipc__topo_t *topo, int obj)
{
    const pipc__topo_obj_t *o = &topo->objs[obj];

    if (o->kind == PIPC__TOPO_BRIDGE || o->kind == PIPC__TOPO_MACHINE)
        return false;
    return !is_endpoint(o) || !is_endpoint(&topo->objs[obj - 1]) ||
           !pipc__topo_same_place(topo, obj - 1, obj);
}

/* Add @top, right below the machine, and all below it. @node_of has a place for each object. */
static void add_nodes(const pipc__topo_t *topo, int top, pipc__layout_t *out, int *node_of)
{
    int end = pipc__topo_end(topo, top);

    for (int i = top; i < end; i++) {
        int above = topo->objs[i].parent;
        node_of[i] = above > 0 ? node_of[above] : PIPC__UNKNOWN; /* of what is not drawn: above */
        if (!is_drawn(topo, i))
            continue;
        pipc__layout_node_t *node = &out->nodes[out->nnodes];
        *node = (pipc__layout_node_t){.obj = i, .parent = node_of[i]};
        if (node->parent >= 0) {
            node->row = out->nodes[node->parent].row + 1;
            out->nodes[node->parent].children++;
        }
        out->rows = node->row >= out->rows ? node->row + 1 : out->rows;
        node_of[i] = out->nnodes++;
    }
}

/* Everything of one NUMA node, at x from @left on; where it ends. */
static int place_leaves(pipc__layout_t *out, int first, int left)
{
    for (int i = first; i < out->nnodes; i++) {
        pipc__layout_node_t *node = &out->nodes[i];
        node->left = node->right = PIPC__UNKNOWN;
        if (node->children > 0)
            continue;
        node->left = left;
        node->right = left + PIPC__LEAF_WIDTH;
        node->x = left + PIPC__LEAF_WIDTH / 2;
        left = node->right + PIPC__LEAF_GAP;
    }
    return left - PIPC__LEAF_GAP;
}

/* Children are behind their parents, so from the end on each node's children are complete. */
static void centre_parents(pipc__layout_t *out, int first)
{
    for (int i = out->nnodes - 1; i >= first; i--) {
        pipc__layout_node_t *node = &out->nodes[i];
        if (node->children > 0)
            node->x = (node->left + node->right) / 2;
        if (node->parent < 0)
            continue;
        pipc__layout_node_t *p = &out->nodes[node->parent];
        p->left = p->left < 0 || node->left < p->left ? node->left : p->left;
        p->right = node->right > p->right ? node->right : p->right;
    }
}

static void add_numa(const pipc__topo_t *topo, int numa, pipc__layout_t *out, int *node_of)
{
    int first = out->nnodes, left = out->nnumas ? out->width + PIPC__NUMA_GAP : PIPC__MARGIN;

    for (int i = 1; i < topo->nobjs; i = pipc__topo_end(topo, i))
        if (pipc__topo_numa_of(topo, i) == numa)
            add_nodes(topo, i, out, node_of);
    if (out->nnodes == first)
        return;
    out->width = place_leaves(out, first, left);
    centre_parents(out, first);
    out->numas[out->nnumas++] = (pipc__layout_numa_t){numa, left, out->width};
}

bool pipc__layout(const pipc__topo_t *topo, pipc__layout_t *out)
{
    int *node_of = malloc(sizeof(*node_of) * (size_t)topo->nobjs);

    *out = (pipc__layout_t){0};
    out->nodes = malloc(sizeof(*out->nodes) * (size_t)topo->nobjs);
    out->numas = malloc(sizeof(*out->numas) * (size_t)(topo->nnumas + 1));
    if (!node_of || !out->nodes || !out->numas) {
        free(node_of);
        free(out->nodes);
        free(out->numas);
        return false;
    }
    for (int n = 0; n <= topo->nnumas; n++) /* what is on no node that is known comes last */
        add_numa(topo, n < topo->nnumas ? n : PIPC__UNKNOWN, out, node_of);
    for (int i = 0; i < out->nnodes; i++)
        if (out->nodes[i].children == 0)
            out->nodes[i].row = out->rows - 1;
    out->width += PIPC__MARGIN;
    free(node_of);
    return true;
}
