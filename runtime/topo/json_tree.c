/* topo/json_tree.c - the parts of a tree's JSON from which a reader can make the tree again
 * (json_read.c), and the relation of every pair
 *
 *  "objects": [{"kind": "machine" | "host_bridge" | "bridge" | "switch" | "gpu" | "nic",
 *               "name", "parent": index into this array, "numa", "vendor", "device", "class",
 *               "link": {...}, "minor", "uuid", "netdev", "rdma"}]
 *  "cores":   ["0,8", "1,9", ...]           the logical CPUs of each core
 *  "pairs":   [{"a", "b", "relation": "PIX", "nvlinks": 4}]   each pair once, GPUs before NICs
 */
#include "runtime/topo/json.h"

#include <stdlib.h>

#include "runtime/topo/relation.h"

#define PAIRS_MAX 256 /* devices; more would be megabytes that nobody reads */

const char *const pipc__json_kinds[PIPC__TOPO_NIC + 1] = {
    [PIPC__TOPO_MACHINE] = "machine", [PIPC__TOPO_HOST_BRIDGE] = "host_bridge",
    [PIPC__TOPO_BRIDGE] = "bridge",   [PIPC__TOPO_SWITCH] = "switch",
    [PIPC__TOPO_GPU] = "gpu",         [PIPC__TOPO_NIC] = "nic",
};

/* Append to *list, or give it up: only the last result has to be looked at. */
static void append(json_t **list, json_t *value)
{
    if (*list && json_array_append_new(*list, value) == 0)
        return;
    if (!*list)
        json_decref(value);
    json_decref(*list);
    *list = NULL;
}

static json_t *make_object(const pipc__topo_t *topo, const pipc__topo_obj_t *o)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "kind",
                     pipc__json_kinds[o->kind], "name", o->name, "parent",
                     pipc__json_number(o->parent), "numa", pipc__json_numa(topo, o->numa), "vendor",
                     pipc__json_id(o->vendor, 4), "device", pipc__json_id(o->device, 4), "class",
                     pipc__json_id(o->class_code, 6), "link", pipc__json_link(&o->link), "minor",
                     pipc__json_number(o->minor), "uuid", pipc__json_text(o->uuid), "netdev",
                     pipc__json_text(o->netdev), "rdma", o->rdma);
}

json_t *pipc__json_objects(const pipc__topo_t *topo)
{
    json_t *list = json_array();

    for (int i = 0; i < topo->nobjs && list; i++)
        append(&list, make_object(topo, &topo->objs[i]));
    return list;
}

json_t *pipc__json_cores(const pipc__topo_t *topo)
{
    json_t *list = json_array();

    for (int i = 0; i < topo->ncores && list; i++)
        append(&list, pipc__json_cpus(topo->cores[i]));
    return list;
}

static json_t *make_pair(const pipc__topo_t *topo, int a, int b)
{
    pipc__relation_t r = pipc__topo_relation(topo, a, b);
    const char *name = r == PIPC__REL_UNKNOWN ? "" : pipc__relation_name(r);

    return json_pack("{s:s, s:s, s:o, s:o}", "a", topo->objs[a].name, "b", topo->objs[b].name,
                     "relation", pipc__json_text(name), "nvlinks",
                     pipc__json_number(pipc__topo_nvlinks(topo, a, b)));
}

json_t *pipc__json_pairs(const pipc__topo_t *topo)
{
    int dev[PAIRS_MAX], n = pipc__topo_list(topo, PIPC__TOPO_GPU, dev, PAIRS_MAX);
    json_t *list;

    if (n <= PAIRS_MAX)
        n += pipc__topo_list(topo, PIPC__TOPO_NIC, dev + n, PAIRS_MAX - n);
    if (n > PAIRS_MAX)
        return json_null();
    list = json_array();
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n && list; j++)
            append(&list, make_pair(topo, dev[i], dev[j]));
    return list;
}
