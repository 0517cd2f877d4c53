/* topo/json.c - a tree for programs
 *
 * {"source": "live",
 *  "groups":     [{"switch": BDF, "gpus": [BDF...], "nics": [BDF...], "children": [group...]}],
 *  "gpus":       [{"bdf", "minor", "uuid", "numa", "switch", "vendor", "device", "link": {...}}],
 *  "nics":       [{"bdf", "name", "rdma", "numa", "switch", "vendor", "device", "link": {...}}],
 *  "numa_nodes": [{"numa", "cpus": "0-31", "memory_only"}]}
 *
 * A group lists all GPUs below its switch, those of its children too; of a NIC with several
 * functions the first, as it is one place. What is not known is null.
 */
#include "runtime/topo/topo.h"

#include <jansson.h>
#include <stdlib.h>

/* Jansson's *_new() functions take over the value, also when they fail, and fail for NULL: so only
 * the last result of a chain has to be looked at. */

static json_t *number_or_null(int v)
{
    return v < 0 ? json_null() : json_integer(v);
}

static json_t *text_or_null(const char *s)
{
    return *s ? json_string(s) : json_null();
}

static json_t *id_or_null(int v)
{
    char text[16];

    if (v < 0)
        return json_null();
    snprintf(text, sizeof(text), "0x%04x", (unsigned int)v);
    return json_string(text);
}

static json_t *speed_or_null(int mts)
{
    return mts < 0 ? json_null() : json_real(mts / 1000.0);
}

static json_t *numa_or_null(const pipc__topo_t *topo, int numa)
{
    return numa < 0 ? json_null() : json_integer(topo->numas[numa].os_index);
}

static json_t *name_or_null(const pipc__topo_t *topo, int obj)
{
    return obj < 0 ? json_null() : json_string(topo->objs[obj].name);
}

static json_t *make_link(const pipc__link_t *l)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "width", number_or_null(l->width), "max_width",
                     number_or_null(l->max_width), "speed_gts", speed_or_null(l->speed_mts),
                     "max_speed_gts", speed_or_null(l->max_speed_mts));
}

static json_t *make_gpu(const pipc__topo_t *topo, int obj)
{
    const pipc__topo_obj_t *o = &topo->objs[obj];

    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "bdf", o->name, "minor",
                     number_or_null(o->minor), "uuid", text_or_null(o->uuid), "numa",
                     numa_or_null(topo, o->numa), "switch",
                     name_or_null(topo, pipc__topo_switch_of(topo, obj)), "vendor",
                     id_or_null(o->vendor), "device", id_or_null(o->device), "link",
                     make_link(&o->link));
}

static json_t *make_nic(const pipc__topo_t *topo, int obj)
{
    const pipc__topo_obj_t *o = &topo->objs[obj];

    return json_pack("{s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "bdf", o->name, "name",
                     text_or_null(o->netdev), "rdma", o->rdma, "numa", numa_or_null(topo, o->numa),
                     "switch", name_or_null(topo, pipc__topo_switch_of(topo, obj)), "vendor",
                     id_or_null(o->vendor), "device", id_or_null(o->device), "link",
                     make_link(&o->link));
}

static json_t *make_list(const pipc__topo_t *topo, pipc__topo_kind_t kind)
{
    json_t *list = json_array();

    for (int i = 0; i < topo->nobjs && list; i++) {
        if (topo->objs[i].kind != kind)
            continue;
        if (json_array_append_new(list,
                                  kind == PIPC__TOPO_GPU ? make_gpu(topo, i) : make_nic(topo, i))) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

/* Names of the GPUs, or of the NIC places, below a switch. */
static json_t *make_members(const pipc__topo_t *topo, int group, pipc__topo_kind_t kind)
{
    json_t *list = json_array();
    int end = pipc__topo_end(topo, group), last = PIPC__UNKNOWN;

    for (int i = group + 1; i < end && list; i++) {
        if (topo->objs[i].kind != kind || (last >= 0 && pipc__topo_same_place(topo, last, i)))
            continue;
        last = i;
        if (json_array_append_new(list, json_string(topo->objs[i].name))) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

/* The groups right below group @above (PIPC__UNKNOWN: the outermost). Recursion goes down a level
 * of switches each time, and the sources bound these. */
static json_t *make_groups(const pipc__topo_t *topo, int above)
{
    int begin = above < 0 ? 0 : above + 1, end = pipc__topo_end(topo, above < 0 ? 0 : above);
    json_t *list = json_array();

    for (int i = begin; i < end && list; i++) {
        if (!pipc__topo_is_group(topo, i) || pipc__topo_group_above(topo, i) != above)
            continue;
        json_t *group =
            json_pack("{s:s, s:o, s:o, s:o}", "switch", topo->objs[i].name, "gpus",
                      make_members(topo, i, PIPC__TOPO_GPU), "nics",
                      make_members(topo, i, PIPC__TOPO_NIC), "children", make_groups(topo, i));
        if (json_array_append_new(list, group)) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static json_t *make_cpus(const pipc__topo_numa_t *n)
{
    char *text = NULL;
    json_t *cpus;

    if (!n->memory_only && hwloc_bitmap_iszero(n->cpus))
        return json_null();
    if (hwloc_bitmap_list_asprintf(&text, n->cpus) < 0)
        return NULL;
    cpus = json_string(text);
    free(text);
    return cpus;
}

static json_t *make_numas(const pipc__topo_t *topo)
{
    json_t *list = json_array();

    for (int i = 0; i < topo->nnumas && list; i++) {
        const pipc__topo_numa_t *n = &topo->numas[i];
        if (json_array_append_new(list, json_pack("{s:i, s:o, s:b}", "numa", n->os_index, "cpus",
                                                  make_cpus(n), "memory_only", n->memory_only))) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

pipc_status_t pipc__topo_print_json(const pipc__topo_t *topo, FILE *out, pipc__error_t *err)
{
    json_t *all =
        json_pack("{s:s, s:o, s:o, s:o, s:o}", "source", topo->source, "groups",
                  make_groups(topo, PIPC__UNKNOWN), "gpus", make_list(topo, PIPC__TOPO_GPU), "nics",
                  make_list(topo, PIPC__TOPO_NIC), "numa_nodes", make_numas(topo));
    bool dumped;

    if (!all)
        return pipc__fail(err, PIPC_ERR_NOMEM, "topology (%s): out of memory for JSON",
                          topo->source);
    dumped = json_dumpf(all, out, JSON_INDENT(2)) == 0;
    json_decref(all);
    if (dumped && fputc('\n', out) != EOF)
        return PIPC_OK;
    if (ferror(out))
        return pipc__fail_errno(err, "output");
    return pipc__fail(err, PIPC_ERR_NOMEM, "topology (%s): out of memory for JSON", topo->source);
}
