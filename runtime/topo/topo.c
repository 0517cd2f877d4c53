/* topo/topo.c - the tree: make, add, free, list, look up, measure */
#include "runtime/topo/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const pipc__topo_obj_t pipc__topo_nothing_known = {
    .parent = PIPC__UNKNOWN,
    .addr = {PIPC__UNKNOWN, PIPC__UNKNOWN, PIPC__UNKNOWN, PIPC__UNKNOWN},
    .vendor = PIPC__UNKNOWN,
    .device = PIPC__UNKNOWN,
    .class_code = PIPC__UNKNOWN,
    .numa = PIPC__UNKNOWN,
    .link = {PIPC__UNKNOWN, PIPC__UNKNOWN, PIPC__UNKNOWN, PIPC__UNKNOWN},
    .minor = PIPC__UNKNOWN,
};

/* Room for one more element in *array of @n. It has room up to the next power of two, so it grows
 * exactly when @n is one: no field for the capacity, and 0 to 1, 1 to 2, 2 to 4 cost nothing. */
static bool grow(void **array, int n, size_t size)
{
    if (n & (n - 1))
        return true;
    void *more = realloc(*array, (n ? 2 * (size_t)n : 1) * size);
    if (!more)
        return false;
    *array = more;
    return true;
}

pipc_status_t pipc__topo_new(pipc__topo_t **topo, const char *source, pipc__error_t *err)
{
    pipc__topo_t *t = calloc(1, sizeof(*t));

    *topo = NULL;
    if (!t || pipc__topo_add(t, PIPC__UNKNOWN, PIPC__TOPO_MACHINE) < 0) {
        free(t);
        return pipc__fail(err, PIPC_ERR_NOMEM, "topology (%s): out of memory", source);
    }
    snprintf(t->objs[0].name, sizeof(t->objs[0].name), "machine");
    snprintf(t->source, sizeof(t->source), "%s", source);
    *topo = t;
    return PIPC_OK;
}

int pipc__topo_add(pipc__topo_t *topo, int parent, pipc__topo_kind_t kind)
{
    void *objs = topo->objs;

    if (!grow(&objs, topo->nobjs, sizeof(*topo->objs)))
        return PIPC__UNKNOWN;
    topo->objs = objs;
    topo->objs[topo->nobjs] = pipc__topo_nothing_known;
    topo->objs[topo->nobjs].parent = parent;
    topo->objs[topo->nobjs].kind = kind;
    return topo->nobjs++;
}

hwloc_bitmap_t pipc__topo_add_numa(pipc__topo_t *topo, int os_index)
{
    void *numas = topo->numas;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    if (!set || !grow(&numas, topo->nnumas, sizeof(*topo->numas))) {
        hwloc_bitmap_free(set);
        return NULL;
    }
    topo->numas = numas;
    topo->numas[topo->nnumas++] = (pipc__topo_numa_t){os_index, set, false};
    return set;
}

hwloc_bitmap_t pipc__topo_add_core(pipc__topo_t *topo)
{
    void *cores = topo->cores;
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    if (!set || !grow(&cores, topo->ncores, sizeof(*topo->cores))) {
        hwloc_bitmap_free(set);
        return NULL;
    }
    topo->cores = cores;
    topo->cores[topo->ncores++] = set;
    return set;
}

void pipc__topo_set_addr(pipc__topo_obj_t *obj, pipc__pci_addr_t addr)
{
    obj->addr = addr;
    pipc__pci_format(addr, obj->name);
}

void pipc__topo_free(pipc__topo_t *topo)
{
    int saved = errno;

    if (!topo)
        return;
    for (int i = 0; i < topo->nnumas; i++)
        hwloc_bitmap_free(topo->numas[i].cpus);
    for (int i = 0; i < topo->ncores; i++)
        hwloc_bitmap_free(topo->cores[i]);
    free(topo->cores);
    free(topo->nvlinks);
    free(topo->numas);
    free(topo->objs);
    free(topo);
    errno = saved;
}

int pipc__topo_end(const pipc__topo_t *topo, int top)
{
    int end = top + 1;

    /* Preorder: the part below @top ends at the first object whose parent stands before @top. */
    while (end < topo->nobjs && topo->objs[end].parent >= top)
        end++;
    return end;
}

int pipc__topo_list_below(const pipc__topo_t *topo, int top, pipc__topo_kind_t kind, int *out,
                          int cap)
{
    int n = 0, end = pipc__topo_end(topo, top);

    for (int i = top; i < end; i++) {
        if (topo->objs[i].kind != kind)
            continue;
        if (n < cap)
            out[n] = i;
        n++;
    }
    return n;
}

int pipc__topo_list(const pipc__topo_t *topo, pipc__topo_kind_t kind, int *out, int cap)
{
    return pipc__topo_list_below(topo, 0, kind, out, cap);
}

int pipc__topo_gpu_by_minor(const pipc__topo_t *topo, int minor)
{
    for (int i = 0; i < topo->nobjs && minor >= 0; i++)
        if (topo->objs[i].kind == PIPC__TOPO_GPU && topo->objs[i].minor == minor)
            return i;
    return PIPC__UNKNOWN;
}

int pipc__topo_by_addr(const pipc__topo_t *topo, pipc__pci_addr_t addr)
{
    for (int i = 0; i < topo->nobjs && addr.domain >= 0; i++)
        if (pipc__pci_compare(topo->objs[i].addr, addr) == 0)
            return i;
    return PIPC__UNKNOWN;
}

int pipc__topo_bus_index(const pipc__topo_t *topo, int gpu)
{
    const pipc__pci_addr_t a = topo->objs[gpu].addr;
    int before = 0;

    for (int i = 0; i < topo->nobjs; i++) {
        const pipc__topo_obj_t *o = &topo->objs[i];
        bool known = o->addr.domain >= 0;
        if (o->kind != PIPC__TOPO_GPU || i == gpu)
            continue;
        if (a.domain >= 0)
            before += known && pipc__pci_compare(o->addr, a) < 0;
        else
            before += known || i < gpu;
    }
    return before;
}

int pipc__topo_numa_of(const pipc__topo_t *topo, int obj)
{
    for (; obj >= 0; obj = topo->objs[obj].parent) {
        int n = topo->objs[obj].numa;
        if (n >= 0 && !topo->numas[n].memory_only)
            return n;
    }
    return PIPC__UNKNOWN;
}

int pipc__topo_distance(const pipc__topo_t *topo, int a, int b)
{
    int steps = 0;

    /* A parent stands before its children, so the later of two different objects is never an
     * ancestor of the other: step up from it. Ends at the machine, index 0, at the latest. */
    for (; a != b; steps++) {
        if (a > b)
            a = topo->objs[a].parent;
        else
            b = topo->objs[b].parent;
    }
    if (topo->objs[a].kind == PIPC__TOPO_MACHINE)
        return steps + 1000;
    return topo->objs[a].kind == PIPC__TOPO_HOST_BRIDGE ? steps + 100 : steps;
}

/* Place of a pair in topo->nvlinks, an ngpus x ngpus matrix of the GPUs in tree order. */
static size_t pair_of(const pipc__topo_t *topo, int a, int b, size_t *ngpus)
{
    size_t row = 0, column = 0;

    *ngpus = 0;
    for (int i = 0; i < topo->nobjs; i++) {
        row = i == a ? *ngpus : row;
        column = i == b ? *ngpus : column;
        *ngpus += topo->objs[i].kind == PIPC__TOPO_GPU;
    }
    return row * *ngpus + column;
}

int pipc__topo_nvlinks(const pipc__topo_t *topo, int a, int b)
{
    size_t ngpus;

    if (!topo->nvlinks || a == b || topo->objs[a].kind != PIPC__TOPO_GPU ||
        topo->objs[b].kind != PIPC__TOPO_GPU)
        return PIPC__UNKNOWN;
    return topo->nvlinks[pair_of(topo, a, b, &ngpus)];
}

bool pipc__topo_set_nvlinks(pipc__topo_t *topo, int a, int b, int links)
{
    size_t ngpus, pair = pair_of(topo, a, b, &ngpus);

    if (!topo->nvlinks) {
        topo->nvlinks = malloc(ngpus * ngpus * sizeof(*topo->nvlinks));
        for (size_t i = 0; topo->nvlinks && i < ngpus * ngpus; i++)
            topo->nvlinks[i] = PIPC__UNKNOWN;
    }
    if (!topo->nvlinks)
        return false;
    topo->nvlinks[pair] = links;
    topo->nvlinks[pair_of(topo, b, a, &ngpus)] = links;
    return true;
}
