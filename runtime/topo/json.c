/* topo/json.c - a tree for programs
 *
 * {"source": "live",
 *  "groups":     [{"switch": BDF, "gpus": [BDF...], "nics": [BDF...], "children": [group...]}],
 *  "gpus":       [{"bdf", "minor", "uuid", "numa", "switch", "vendor", "device", "link": {...},
 *                  "near_cpus": "0-15", "near_nics": [BDF...]}],
 *  "nics":       [{"bdf", "name", "rdma", "numa", "switch", "vendor", "device", "link": {...}}],
 *  "numa_nodes": [{"numa", "cpus": "0-31", "memory_only"}],
 *  "pairs", "objects", "cores":  see json_tree.c}
 *
 * A group lists all GPUs below its switch, those of its children too; of a NIC with several
 * functions the first, as it is one place. What is not known is null. Where the source has no
 * addresses, BDFs are its own names.
 */
#include "runtime/topo/json.h"

#include <stdlib.h>

#include "runtime/topo/relation.h"

#define NICS_MAX 64 /* near a GPU */

/* Jansson's *_new() functions take over the value, also when they fail, and fail for NULL: so only
 * the last result of a chain has to be looked at. */

json_t *pipc__json_number(int v)
{
    return v < 0 ? json_null() : json_integer(v);
}

json_t *pipc__json_text(const char *s)
{
    return *s ? json_string(s) : json_null();
}

json_t *pipc__json_id(int v, int digits)
{
    char text[16];

    if (v < 0)
        return json_null();
    snprintf(text, sizeof(text), "0x%0*x", digits, (unsigned int)v);
    return json_string(text);
}

static json_t *speed_or_null(int mts)
{
    return mts < 0 ? json_null() : json_real(mts / 1000.0);
}

json_t *pipc__json_numa(const pipc__topo_t *topo, int numa)
{
    return numa < 0 ? json_null() : json_integer(topo->numas[numa].os_index);
}

json_t *pipc__json_name(const pipc__topo_t *topo, int obj)
{
    return obj < 0 ? json_null() : json_string(topo->objs[obj].name);
}

json_t *pipc__json_link(const pipc__link_t *l)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "width", pipc__json_number(l->width), "max_width",
                     pipc__json_number(l->max_width), "speed_gts", speed_or_null(l->speed_mts),
                     "max_speed_gts", speed_or_null(l->max_speed_mts));
}

json_t *pipc__json_cpus(hwloc_const_bitmap_t cpus)
{
    char *text = NULL;
    json_t *value;

    if (hwloc_bitmap_list_asprintf(&text, cpus) < 0)
        return NULL;
    value = json_string(text);
    free(text);
    return value;
}

static json_t *make_cpus(const pipc__topo_numa_t *n)
{
    return !n->memory_only && hwloc_bitmap_iszero(n->cpus) ? json_null() : pipc__json_cpus(n->cpus);
}

static json_t *make_near_cpus(const pipc__topo_t *topo, int gpu)
{
    int numa = pipc__topo_numa_of(topo, gpu);

    return numa < 0 ? json_null() : make_cpus(&topo->numas[numa]);
}

static json_t *make_near_nics(const pipc__topo_t *topo, int gpu)
{
    int nics[NICS_MAX], n = pipc__topo_nics_near(topo, gpu, nics, NICS_MAX);
    json_t *list = json_array();

    for (int i = 0; i < n && i < NICS_MAX && list; i++) {
        if (json_array_append_new(list, json_string(topo->objs[nics[i]].name))) {
            json_decref(list);
            list = NULL;
        }
    }
    return list;
}

static json_t *make_gpu(const pipc__topo_t *topo, int obj)
{
    const pipc__topo_obj_t *o = &topo->objs[obj];

    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "bdf", o->name, "minor",
                     pipc__json_number(o->minor), "uuid", pipc__json_text(o->uuid), "numa",
                     pipc__json_numa(topo, o->numa), "switch",
                     pipc__json_name(topo, pipc__topo_switch_of(topo, obj)), "vendor",
                     pipc__json_id(o->vendor, 4), "device", pipc__json_id(o->device, 4), "link",
                     pipc__json_link(&o->link), "near_cpus", make_near_cpus(topo, obj), "near_nics",
                     make_near_nics(topo, obj));
}

static json_t *make_nic(const pipc__topo_t *topo, int obj)
{
    const pipc__topo_obj_t *o = &topo->objs[obj];

    return json_pack("{s:s, s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "bdf", o->name, "name",
                     pipc__json_text(o->netdev), "rdma", o->rdma, "numa",
                     pipc__json_numa(topo, o->numa), "switch",
                     pipc__json_name(topo, pipc__topo_switch_of(topo, obj)), "vendor",
                     pipc__json_id(o->vendor, 4), "device", pipc__json_id(o->device, 4), "link",
                     pipc__json_link(&o->link));
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

json_t *pipc__topo_json(const pipc__topo_t *topo)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "source", topo->source, "groups",
                     make_groups(topo, PIPC__UNKNOWN), "gpus", make_list(topo, PIPC__TOPO_GPU),
                     "nics", make_list(topo, PIPC__TOPO_NIC), "numa_nodes", make_numas(topo),
                     "pairs", pipc__json_pairs(topo), "objects", pipc__json_objects(topo), "cores",
                     pipc__json_cores(topo));
}

pipc_status_t pipc__json_print(json_t *all, FILE *out, pipc__error_t *err)
{
    bool dumped = all && json_dumpf(all, out, JSON_INDENT(2)) == 0;

    json_decref(all);
    if (dumped && fputc('\n', out) != EOF)
        return PIPC_OK;
    if (ferror(out))
        return pipc__fail_errno(err, "output");
    return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory for JSON");
}

pipc_status_t pipc__topo_print_json(const pipc__topo_t *topo, FILE *out, pipc__error_t *err)
{
    return pipc__json_print(pipc__topo_json(topo), out, err);
}
