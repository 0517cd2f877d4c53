/* topo/json_read.c - a tree from what pipc__topo_print_json() wrote
 *
 * Of the whole text "source", "numa_nodes", "objects", "cores" and the "nvlinks" of "pairs" make
 * the tree; the rest follows from them and is not looked at. Anyone may have written the file: what
 * is no tree as topo.h promises it is refused with the place.
 */
#include "runtime/topo/files.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topo/build.h"
#include "runtime/topo/cpuset.h"
#include "runtime/topo/json.h"
#include "runtime/topo/text.h"

#define OBJECTS_MAX 16384
#define NUMAS_MAX 4096

typedef struct reader {
    const char *path, *part; /* the array that is read now, and the element of it */
    size_t at;
    pipc__topo_t *topo;
    pipc__error_t *err;
} reader_t;

static bool wrong(reader_t *r, const char *what)
{
    pipc__fail(r->err, PIPC_ERR_INVALID, "%s: %s[%zu]: %s", r->path, r->part, r->at, what);
    return false;
}

static bool bad(reader_t *r, const char *key)
{
    pipc__fail(r->err, PIPC_ERR_INVALID,
               "%s: %s[%zu]: \"%s\" is missing, of a wrong type or out of range", r->path, r->part,
               r->at, key);
    return false;
}

static bool no_memory(reader_t *r)
{
    pipc__fail(r->err, PIPC_ERR_NOMEM, "%s: out of memory", r->path);
    return false;
}

/* A member that is not there or null is unknown; one of another type or out of range is wrong. */
static bool number(reader_t *r, json_t *from, const char *key, int max, int *out)
{
    json_t *v = json_object_get(from, key);

    *out = PIPC__UNKNOWN;
    if (!v || json_is_null(v))
        return true;
    if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > max)
        return bad(r, key);
    *out = (int)json_integer_value(v);
    return true;
}

/* Printable ASCII that fits: names go to terminals and into pictures. */
static bool name(reader_t *r, json_t *from, const char *key, char out[PIPC__NAME_MAX])
{
    json_t *v = json_object_get(from, key);
    const char *text = json_string_value(v);

    out[0] = '\0';
    if (!v || json_is_null(v))
        return true;
    if (!text || strlen(text) >= PIPC__NAME_MAX)
        return bad(r, key);
    for (const char *p = text; *p; p++)
        if (*p < ' ' || *p > '~')
            return bad(r, key);
    snprintf(out, PIPC__NAME_MAX, "%s", text);
    return true;
}

/* "0x10de" */
static bool id(reader_t *r, json_t *from, const char *key, int max, int *out)
{
    char text[PIPC__NAME_MAX], *end = text;

    *out = PIPC__UNKNOWN;
    if (!name(r, from, key, text))
        return false;
    if (!text[0])
        return true;
    long v = strncmp(text, "0x", 2) ? -1 : strtol(text + 2, &end, 16);
    if (end == text || *end || v < 0 || v > max)
        return bad(r, key);
    *out = (int)v;
    return true;
}

static bool speed(reader_t *r, json_t *from, const char *key, int *mts)
{
    json_t *v = json_object_get(from, key);
    double gts = json_number_value(v);

    *mts = PIPC__UNKNOWN;
    if (!v || json_is_null(v))
        return true;
    if (!json_is_number(v) || !(gts >= 0 && gts < 1000))
        return bad(r, key);
    *mts = (int)(gts * 1000 + 0.5);
    return true;
}

static bool read_link(reader_t *r, json_t *from, pipc__link_t *l)
{
    json_t *v = json_object_get(from, "link");

    if (!v || json_is_null(v))
        return true;
    if (!json_is_object(v))
        return bad(r, "link");
    return number(r, v, "width", 32, &l->width) && number(r, v, "max_width", 32, &l->max_width) &&
           speed(r, v, "speed_gts", &l->speed_mts) &&
           speed(r, v, "max_speed_gts", &l->max_speed_mts);
}

static bool cpus(reader_t *r, json_t *v, hwloc_bitmap_t set)
{
    if (!set)
        return no_memory(r);
    if (!v || json_is_null(v))
        return true;
    if (!json_is_string(v) || !pipc__cpuset_from_list(json_string_value(v), set))
        return wrong(r, "not a list of CPUs as in 0-7,16");
    return true;
}

/* ---- the parts --------------------------------------------------------------------------- */

static bool read_numa(reader_t *r, json_t *node)
{
    int os_index;

    if (!number(r, node, "numa", 65535, &os_index))
        return false;
    if (os_index < 0 || r->topo->nnumas >= NUMAS_MAX)
        return wrong(r, "a NUMA node needs its number in \"numa\"");
    for (int i = 0; i < r->topo->nnumas; i++)
        if (r->topo->numas[i].os_index == os_index)
            return wrong(r, "this NUMA node stands there twice");
    if (!cpus(r, json_object_get(node, "cpus"), pipc__topo_add_numa(r->topo, os_index)))
        return false;
    r->topo->numas[r->topo->nnumas - 1].memory_only =
        json_is_true(json_object_get(node, "memory_only"));
    return true;
}

static bool read_core(reader_t *r, json_t *core)
{
    return cpus(r, core, pipc__topo_add_core(r->topo));
}

static bool find_numa(reader_t *r, json_t *from, int *numa)
{
    int os_index;

    *numa = PIPC__UNKNOWN;
    if (!number(r, from, "numa", 65535, &os_index))
        return false;
    for (int i = 0; i < r->topo->nnumas && os_index >= 0; i++)
        if (r->topo->numas[i].os_index == os_index)
            *numa = i;
    return os_index < 0 || *numa >= 0 || wrong(r, "its NUMA node is not in \"numa_nodes\"");
}

/* "0000:41" of a host bridge, "0000:41:00.0"; any other name is the source's own. */
static void set_addr(pipc__topo_obj_t *o)
{
    char full[PIPC__NAME_MAX + 8];
    pipc__pci_addr_t addr;

    snprintf(full, sizeof(full), "%s%s", o->name, o->kind == PIPC__TOPO_HOST_BRIDGE ? ":00.0" : "");
    if (!strchr(o->name, ':') || !pipc__pci_parse(full, &addr))
        return;
    if (o->kind == PIPC__TOPO_HOST_BRIDGE)
        addr.device = addr.function = PIPC__UNKNOWN;
    pipc__topo_set_addr(o, addr);
}

/* Does a next object below @parent keep the preorder, the depth, and the order of siblings? */
static bool fits(reader_t *r, int parent)
{
    int above = r->topo->nobjs - 1, depth = 1;

    while (above >= 0 && above != parent)
        above = r->topo->objs[above].parent;
    if (above < 0)
        return wrong(r, "\"parent\" has to be the object before it or one above that");
    for (int i = parent; i > 0; i = r->topo->objs[i].parent)
        depth++;
    return depth < PIPC__TOPO_DEPTH_MAX || wrong(r, "too deep");
}

/* Only switches may have one address: in NCCL's XML it is no more than a name. */
static bool in_order(const pipc__topo_t *topo, int obj)
{
    const pipc__topo_obj_t *o = &topo->objs[obj];
    int before = obj - 1, order;

    while (before > o->parent && topo->objs[before].parent != o->parent)
        before = topo->objs[before].parent;
    if (before <= o->parent || o->addr.domain < 0 || topo->objs[before].addr.domain < 0)
        return true;
    order = pipc__pci_compare(topo->objs[before].addr, o->addr);
    return order < 0 || (order == 0 && o->kind == PIPC__TOPO_SWITCH &&
                         topo->objs[before].kind == PIPC__TOPO_SWITCH);
}

static bool find_kind(reader_t *r, json_t *from, pipc__topo_kind_t *kind)
{
    char text[PIPC__NAME_MAX];

    if (!name(r, from, "kind", text))
        return false;
    for (int k = 0; k <= PIPC__TOPO_NIC; k++)
        if (!strcmp(text, pipc__json_kinds[k])) {
            *kind = (pipc__topo_kind_t)k;
            return (k == PIPC__TOPO_MACHINE) == (r->at == 0) ||
                   wrong(r, "the first object, and no other, is the machine");
        }
    return bad(r, "kind");
}

static bool read_object(reader_t *r, json_t *from)
{
    pipc__topo_kind_t kind;
    int parent, obj = 0;

    /* The machine, object 0, stands already. */
    if (!find_kind(r, from, &kind) || !number(r, from, "parent", OBJECTS_MAX, &parent))
        return false;
    if (r->at > 0 && !fits(r, parent))
        return false;
    if (r->at > 0 && (obj = pipc__topo_add(r->topo, parent, kind)) < 0)
        return no_memory(r);
    pipc__topo_obj_t *o = &r->topo->objs[obj];
    if (!name(r, from, "name", o->name) || !find_numa(r, from, &o->numa) ||
        !id(r, from, "vendor", 0xffff, &o->vendor) || !id(r, from, "device", 0xffff, &o->device) ||
        !id(r, from, "class", 0xffffff, &o->class_code) || !read_link(r, from, &o->link) ||
        !number(r, from, "minor", 65535, &o->minor) || !name(r, from, "uuid", o->uuid) ||
        !name(r, from, "netdev", o->netdev))
        return false;
    if (!o->name[0])
        return bad(r, "name");
    o->rdma = json_is_true(json_object_get(from, "rdma"));
    set_addr(o);
    return in_order(r->topo, obj) || wrong(r, "siblings have to stand in order of their addresses");
}

static int by_name(const pipc__topo_t *topo, json_t *value)
{
    const char *text = json_string_value(value);

    for (int i = 0; i < topo->nobjs && text; i++)
        if (topo->objs[i].kind == PIPC__TOPO_GPU && !strcmp(topo->objs[i].name, text))
            return i;
    return PIPC__UNKNOWN;
}

static bool read_pair(reader_t *r, json_t *pair)
{
    int links, a, b;

    if (!number(r, pair, "nvlinks", 1000, &links))
        return false;
    if (links < 0)
        return true;
    a = by_name(r->topo, json_object_get(pair, "a"));
    b = by_name(r->topo, json_object_get(pair, "b"));
    if (a < 0 || b < 0 || a == b)
        return wrong(r, "\"a\" and \"b\" have to be names of two GPUs where there are NVLinks");
    return pipc__topo_set_nvlinks(r->topo, a, b, links) || no_memory(r);
}

/* ---- the whole --------------------------------------------------------------------------- */

static bool read_part(reader_t *r, json_t *all, const char *part, size_t max,
                      bool (*read)(reader_t *, json_t *))
{
    json_t *list = json_object_get(all, part), *element;

    r->part = part;
    r->at = 0;
    if (!json_is_array(list) || json_array_size(list) > max) {
        pipc__fail(r->err, PIPC_ERR_INVALID,
                   "%s: no array \"%s\"; is it what pcie-ipc-topo --json wrote?", r->path, part);
        return false;
    }
    json_array_foreach(list, r->at, element)
    {
        if (!read(r, element))
            return false;
    }
    return true;
}

static bool read_all(reader_t *r, json_t *all)
{
    json_t *pairs = json_object_get(all, "pairs");

    if (!read_part(r, all, "numa_nodes", NUMAS_MAX, read_numa) ||
        !read_part(r, all, "objects", OBJECTS_MAX, read_object) ||
        !read_part(r, all, "cores", PIPC__CPU_MAX, read_core))
        return false;
    return !pairs || json_is_null(pairs) || read_part(r, all, "pairs", 1 << 16, read_pair);
}

/* The source that the first reader had, so that a tree read twice prints the same. */
static void set_source(pipc__topo_t *topo, json_t *all)
{
    const char *text = json_string_value(json_object_get(all, "source"));
    bool good = text && *text && strlen(text) < sizeof(topo->source);

    for (const char *p = text; good && *p; p++)
        good = *p >= ' ' && *p <= '~';
    if (good)
        snprintf(topo->source, sizeof(topo->source), "%s", text);
}

static pipc_status_t make(pipc__topo_t **topo, json_t *all, const char *path, pipc__error_t *err)
{
    pipc__error_t why = {PIPC_OK, ""};
    pipc_status_t st = pipc__topo_new(topo, "json", err);
    reader_t r = {.path = path, .topo = *topo, .err = &why};

    if (st)
        return st;
    set_source(*topo, all);
    if (read_all(&r, all))
        return PIPC_OK;
    pipc__topo_free(*topo);
    *topo = NULL;
    return pipc__fail(err, why.status, "%s", why.text);
}

pipc_status_t pipc__topo_json_file(pipc__topo_t **topo, const char *path, pipc__error_t *err)
{
    json_error_t where;
    size_t len;
    char *text;
    json_t *all;
    pipc_status_t st = pipc__text_read(&text, path, &len, err);

    *topo = NULL;
    if (st)
        return st;
    all = json_loadb(text, len, JSON_REJECT_DUPLICATES, &where);
    free(text);
    if (all)
        st = make(topo, all, path, err);
    else
        st = pipc__fail(err, PIPC_ERR_INVALID, "%s: line %d: %s", path, where.line, where.text);
    json_decref(all);
    return st;
}
