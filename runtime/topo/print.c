/* topo/print.c - a tree for people
 *
 *   host bridge 0000:17
 *     0000:17:00.0 root port     x16 8 GT/s            NUMA 0
 *       0000:18:00.0 switch      x16 8 GT/s            NUMA 0
 *         0000:1b:00.0 gpu 0     x16 8 GT/s (now x8)   NUMA 0
 */
#include "runtime/topo/topo.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topo/build.h"
#include "runtime/topo/relation.h"

#define LABEL_MAX (2 * PIPC__TOPO_DEPTH_MAX + PIPC__NAME_MAX + 32)

/* Address, or the source's own name, and what it is, indented by its place in the tree. */
static void label(const pipc__topo_t *topo, int obj, char out[LABEL_MAX])
{
    static const char *const words[] = {
        [PIPC__TOPO_MACHINE] = "",      [PIPC__TOPO_HOST_BRIDGE] = "host bridge",
        [PIPC__TOPO_BRIDGE] = "bridge", [PIPC__TOPO_SWITCH] = "switch",
        [PIPC__TOPO_GPU] = "gpu",       [PIPC__TOPO_NIC] = "nic"};
    const pipc__topo_obj_t *o = &topo->objs[obj];
    const char *word = words[o->kind];
    int depth = 0;

    for (int i = o->parent; i > 0; i = topo->objs[i].parent)
        depth++;
    if (o->kind == PIPC__TOPO_BRIDGE && topo->objs[o->parent].kind == PIPC__TOPO_HOST_BRIDGE)
        word = "root port";
    if (o->kind == PIPC__TOPO_GPU && o->minor >= 0)
        snprintf(out, LABEL_MAX, "%*s%s gpu %d", 2 * depth, "", o->name, o->minor);
    else
        snprintf(out, LABEL_MAX, "%*s%s %s", 2 * depth, "", o->name, word);
}

/* What the link can do; a speed below that is normal for an idle device, a width is not. */
static void link_text(const pipc__link_t *l, char out[64])
{
    int width = l->max_width >= 0 ? l->max_width : l->width;
    int mts = l->max_speed_mts >= 0 ? l->max_speed_mts : l->speed_mts;
    char w[16] = "", s[24] = "", now[24] = "";

    if (width >= 0)
        snprintf(w, sizeof(w), "x%d", width);
    if (mts >= 0)
        snprintf(s, sizeof(s), "%s%g GT/s", width >= 0 ? " " : "", mts / 1000.0);
    if (l->width >= 0 && l->width < l->max_width)
        snprintf(now, sizeof(now), " (now x%d)", l->width);
    snprintf(out, 64, "%s%s%s", w, s, now);
}

static void widen(int *width, const char *text)
{
    if ((int)strlen(text) > *width)
        *width = (int)strlen(text);
}

/* Three columns: label, link, then NUMA node and NIC name; no blanks at the end of a line. */
static void print_tree(const pipc__topo_t *topo, FILE *out)
{
    char head[LABEL_MAX], link[64], numa[32];
    int head_width = 0, link_width = 0;

    for (int i = 1; i < topo->nobjs; i++) {
        label(topo, i, head);
        link_text(&topo->objs[i].link, link);
        widen(&head_width, head);
        widen(&link_width, link);
    }
    for (int i = 1; i < topo->nobjs; i++) {
        const pipc__topo_obj_t *o = &topo->objs[i];
        label(topo, i, head);
        link_text(&o->link, link);
        numa[0] = '\0';
        if (o->numa >= 0)
            snprintf(numa, sizeof(numa), "  NUMA %d", topo->numas[o->numa].os_index);
        int more = numa[0] || o->netdev[0]; /* pad what something follows */
        fprintf(out, "%-*s", more || link[0] ? head_width : 0, head);
        if (link_width > 0 && (more || link[0]))
            fprintf(out, "  %-*s", more ? link_width : 0, link);
        fprintf(out, "%s%s%s\n", numa, o->netdev[0] ? "  " : "", o->netdev);
    }
}

static bool print_numas(const pipc__topo_t *topo, FILE *out)
{
    for (int i = 0; i < topo->nnumas; i++) {
        const pipc__topo_numa_t *n = &topo->numas[i];
        char *cpus = NULL;
        if (n->memory_only)
            fprintf(out, "NUMA %d: memory only\n", n->os_index);
        else if (hwloc_bitmap_iszero(n->cpus))
            fprintf(out, "NUMA %d: CPUs not known\n", n->os_index);
        else if (hwloc_bitmap_list_asprintf(&cpus, n->cpus) < 0)
            return false;
        else
            fprintf(out, "NUMA %d: CPUs %s\n", n->os_index, cpus);
        free(cpus);
    }
    return true;
}

/* The GPUs, or the NICs (a place once), of a group. */
static void print_members(const pipc__topo_t *topo, int group, pipc__topo_kind_t kind, FILE *out)
{
    int end = pipc__topo_end(topo, group), last = PIPC__UNKNOWN, n = 0;

    for (int i = group + 1; i < end; i++) {
        const pipc__topo_obj_t *o = &topo->objs[i];
        if (o->kind != kind || (last >= 0 && pipc__topo_same_place(topo, last, i)))
            continue;
        last = i;
        if (n++ == 0)
            fprintf(out, "%s", kind == PIPC__TOPO_GPU ? " gpus" : "; nics");
        fprintf(out, " %s", o->name);
    }
}

static int print_groups(const pipc__topo_t *topo, FILE *out)
{
    int groups = 0;

    for (int i = 0; i < topo->nobjs; i++) {
        int depth = 0;
        if (!pipc__topo_is_group(topo, i))
            continue;
        for (int up = i; (up = pipc__topo_group_above(topo, up)) >= 0;)
            depth++;
        fprintf(out, "%*sgroup %s:", 2 * depth, "", topo->objs[i].name);
        print_members(topo, i, PIPC__TOPO_GPU, out);
        print_members(topo, i, PIPC__TOPO_NIC, out);
        fputc('\n', out);
        groups++;
    }
    return groups;
}

/* Why there are no groups, as far as the tree tells. */
static const char *why_no_groups(const pipc__topo_t *topo)
{
    int above_gpus = 0;

    if (pipc__topo_list(topo, PIPC__TOPO_GPU, NULL, 0) == 0)
        return "no GPU was found";
    for (int i = 1; i < topo->nobjs; i++)
        above_gpus += topo->objs[i].kind == PIPC__TOPO_GPU &&
                      topo->objs[topo->objs[i].parent].kind != PIPC__TOPO_HOST_BRIDGE;
    return above_gpus ? "no GPU shares a switch with another GPU or a NIC"
                      : "nothing is seen above the GPUs; a virtual machine hides it, or "
                        "the capture does not hold it";
}

pipc_status_t pipc__topo_print(const pipc__topo_t *topo, FILE *out, pipc__error_t *err)
{
    fprintf(out, "machine (%s): GPUs %d, NICs %d, NUMA nodes %d\n", topo->source,
            pipc__topo_list(topo, PIPC__TOPO_GPU, NULL, 0),
            pipc__topo_list(topo, PIPC__TOPO_NIC, NULL, 0), topo->nnumas);
    if (!print_numas(topo, out))
        return pipc__fail(err, PIPC_ERR_NOMEM, "topology (%s): out of memory", topo->source);
    print_tree(topo, out);
    if (print_groups(topo, out) == 0)
        fprintf(out, "no switch groups: %s\n", why_no_groups(topo));
    if (!pipc__topo_print_near(topo, out))
        return pipc__fail(err, PIPC_ERR_NOMEM, "topology (%s): out of memory", topo->source);
    pipc__topo_print_matrix(topo, out);
    if (ferror(out))
        return pipc__fail_errno(err, "output");
    return PIPC_OK;
}
