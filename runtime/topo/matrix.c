/* topo/matrix.c - a tree from "nvidia-smi topo -m"
 *
 * The matrix tells how near two devices are, not what is between them; a tree is what fits. Devices
 * that are PIX, or linked by others that are, make a switch; with PXB one above it; with PHB a host
 * bridge.
 *
 *        GPU0 GPU1 GPU2 GPU3          host0
 *     0   X   PIX  PXB  PXB              switch0
 *     1  PIX   X   PXB  PXB      ->         switch1: GPU0 GPU1
 *     2  PXB  PXB   X   PIX                 switch2: GPU2 GPU3
 *     3  PXB  PXB  PIX   X
 *
 * NV# hides how a pair is connected over PCIe. Third devices often tell: two GPUs that are both PXB
 * to a NIC are below one switch. If none does, the two are taken as apart.
 *
 * Objects have no addresses, and names of our own where nvidia-smi names none (host0, port0,
 * switch0). So have NUMA nodes of which old versions show the CPUs and not the number.
 */
#include "runtime/topo/matrix.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/topo/build.h"
#include "runtime/topo/files.h"
#include "runtime/topo/text.h"

typedef struct builder {
    const pipc__matrix_t *m;
    pipc__topo_t *topo;
    int obj[PIPC__MATRIX_MAX];                     /* of each device */
    int numa[PIPC__MATRIX_MAX];                    /* of each device, or unknown */
    int set[PIPC__NEAR_SYS + 1][PIPC__MATRIX_MAX]; /* first device that is as near as that, by any
                                                      way: devices with the same are a set */
    int hosts, ports, switches;
} builder_t;

/* ---- sets ---------------------------------------------------------------------------------- */

static bool within(const pipc__matrix_t *m, int i, int j, pipc__near_t level)
{
    return m->near[i][j] >= PIPC__NEAR_PIX && m->near[i][j] <= level;
}

static void find_sets(builder_t *b, pipc__near_t level)
{
    int *set = b->set[level], n = b->m->n;

    for (int i = 0; i < n; i++)
        set[i] = i;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            int from = set[i] > set[j] ? set[i] : set[j], to = set[i] > set[j] ? set[j] : set[i];
            if (!within(b->m, i, j, level) || from == to)
                continue;
            for (int k = 0; k < n; k++)
                set[k] = set[k] == from ? to : set[k];
        }
}

/* A pair in a set of @level that is farther apart, by its own cell. */
static bool contradicts(const builder_t *b, int i, int j, pipc__near_t level)
{
    return b->set[level][i] == b->set[level][j] && b->m->near[i][j] > level;
}

/* No tree fits when two devices are below one switch, or one host bridge, and are not. */
static pipc_status_t check_sets(const builder_t *b, const char *path, pipc__error_t *err)
{
    static const struct {
        pipc__near_t level;
        const char *what;
    } levels[] = {{PIPC__NEAR_PXB, "PIX and PXB put both below one switch"},
                  {PIPC__NEAR_PHB, "PIX, PXB and PHB put both below one host bridge"}};

    for (size_t l = 0; l < sizeof(levels) / sizeof(levels[0]); l++)
        for (int i = 0; i < b->m->n; i++)
            for (int j = 0; j < i; j++)
                if (contradicts(b, i, j, levels[l].level))
                    return pipc__fail(err, PIPC_ERR_INVALID,
                                      "%s: line %d: row %s, column %s: farther apart than other "
                                      "cells allow: %s",
                                      path, b->m->dev[i].line, b->m->dev[i].name, b->m->dev[j].name,
                                      levels[l].what);
    return PIPC_OK;
}

/* Where PIX links devices that are PXB to each other, what they share is the switch above. */
static void dissolve_contradictions(builder_t *b)
{
    int *set = b->set[PIPC__NEAR_PIX], n = b->m->n;
    bool wrong[PIPC__MATRIX_MAX] = {false};

    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            wrong[set[i]] |= contradicts(b, i, j, PIPC__NEAR_PIX);
    for (int i = n - 1; i >= 0; i--) /* down, so that set[i] <= i is looked at last */
        if (wrong[set[i]])
            set[i] = i;
}

/* ---- NUMA nodes ---------------------------------------------------------------------------- */

static int find_numa(const pipc__topo_t *topo, const pipc__matrix_device_t *d)
{
    for (int i = 0; i < topo->nnumas; i++)
        if (d->numa >= 0 ? topo->numas[i].os_index == d->numa
                         : hwloc_bitmap_isequal(topo->numas[i].cpus, d->cpus))
            return i;
    return PIPC__UNKNOWN;
}

/* The node of a device that names it, or whose CPUs old versions show without its number. */
static bool own_numa(builder_t *b, int i)
{
    const pipc__matrix_device_t *d = &b->m->dev[i];
    hwloc_bitmap_t cpus;

    b->numa[i] = PIPC__UNKNOWN;
    if (d->numa < 0 && hwloc_bitmap_iszero(d->cpus))
        return true;
    b->numa[i] = find_numa(b->topo, d);
    if (b->numa[i] < 0) {
        if (!pipc__topo_add_numa(b->topo, d->numa))
            return false;
        b->numa[i] = b->topo->nnumas - 1;
    }
    cpus = b->topo->numas[b->numa[i]].cpus;
    return hwloc_bitmap_or(cpus, cpus, d->cpus) == 0;
}

/* In some virtual machines, and where firmware tells no locality, every pair is SYS, also two GPUs
 * that name the same node: then SYS puts nothing on another node. */
static bool sys_tells_nothing(const builder_t *b)
{
    const pipc__matrix_device_t *d = b->m->dev;

    for (int i = 0; i < b->m->n; i++)
        for (int j = 0; j < i; j++)
            if (b->m->near[i][j] == PIPC__NEAR_SYS && d[i].numa >= 0 && d[i].numa == d[j].numa)
                return true;
    return false;
}

/* The node of a device that names none: that of one on the same node, or a new one of which no more
 * is known than who is on it. */
static bool shared_numa(builder_t *b, int i)
{
    const int *set = b->set[PIPC__NEAR_NODE];
    bool told = false;

    for (int j = 0; j < b->m->n && b->numa[i] < 0; j++) {
        told |= b->m->near[i][j] >= PIPC__NEAR_PIX;
        if (set[j] == set[i])
            b->numa[i] = b->numa[j];
    }
    if (b->numa[i] >= 0 || !told || sys_tells_nothing(b))
        return true;
    if (!pipc__topo_add_numa(b->topo, PIPC__UNKNOWN))
        return false;
    b->numa[i] = b->topo->nnumas - 1;
    return true;
}

static bool has_number(const pipc__topo_t *topo, int os_index)
{
    for (int i = 0; i < topo->nnumas; i++)
        if (topo->numas[i].os_index == os_index)
            return true;
    return false;
}

static bool memory_numa(builder_t *b, int os_index)
{
    if (has_number(b->topo, os_index))
        return true;
    if (!pipc__topo_add_numa(b->topo, os_index))
        return false;
    b->topo->numas[b->topo->nnumas - 1].memory_only = true;
    return true;
}

/* Numbers for the nodes that have none: the lowest free ones, in order of their first CPU, as Linux
 * numbers them; those whose CPUs are not known come last. */
static void number_numas(pipc__topo_t *topo)
{
    for (int next = 0;;) {
        int first = PIPC__UNKNOWN;
        for (int i = 0; i < topo->nnumas; i++) {
            unsigned int cpu = (unsigned int)hwloc_bitmap_first(topo->numas[i].cpus); /* -1: last */
            if (topo->numas[i].os_index < 0 &&
                (first < 0 || cpu < (unsigned int)hwloc_bitmap_first(topo->numas[first].cpus)))
                first = i;
        }
        if (first < 0)
            return;
        while (has_number(topo, next))
            next++;
        topo->numas[first].os_index = next;
    }
}

static bool add_numas(builder_t *b)
{
    bool ok = true;

    for (int i = 0; i < b->m->n && ok; i++)
        ok = own_numa(b, i);
    for (int i = 0; i < b->m->n && ok; i++)
        ok = shared_numa(b, i);
    for (int i = 0; i < b->m->n && ok; i++)
        ok = b->m->dev[i].gpu_numa < 0 || memory_numa(b, b->m->dev[i].gpu_numa);
    number_numas(b->topo);
    return ok;
}

/* ---- objects ------------------------------------------------------------------------------- */

/* An object that nvidia-smi does not name, for the devices that are as near to @first as @level. */
static int add_above(builder_t *b, int parent, pipc__topo_kind_t kind, int first,
                     pipc__near_t level)
{
    const int *set = b->set[level];
    int index = pipc__topo_add(b->topo, parent, kind), numa = b->numa[first];

    if (index < 0)
        return index;
    for (int i = 0; i < b->m->n; i++)
        if (set[i] == set[first] && b->numa[i] != numa)
            numa = PIPC__UNKNOWN;
    b->topo->objs[index].numa = numa;
    if (kind == PIPC__TOPO_HOST_BRIDGE)
        snprintf(b->topo->objs[index].name, PIPC__NAME_MAX, "host%d", b->hosts++);
    else if (kind == PIPC__TOPO_BRIDGE)
        snprintf(b->topo->objs[index].name, PIPC__NAME_MAX, "port%d", b->ports++);
    else
        snprintf(b->topo->objs[index].name, PIPC__NAME_MAX, "switch%d", b->switches++);
    return index;
}

static bool add_device(builder_t *b, int parent, int i)
{
    const pipc__matrix_device_t *d = &b->m->dev[i];
    pipc__topo_obj_t *o;

    b->obj[i] = pipc__topo_add(b->topo, parent, d->gpu ? PIPC__TOPO_GPU : PIPC__TOPO_NIC);
    if (b->obj[i] < 0)
        return false;
    o = &b->topo->objs[b->obj[i]];
    memcpy(o->name, d->name, sizeof(o->name));
    memcpy(o->netdev, d->netdev, sizeof(o->netdev));
    o->numa = b->numa[i];
    o->rdma = !d->gpu; /* nvidia-smi lists RDMA devices only */
    return true;
}

/* The devices of a set, how many, and whether there is a GPU among them. */
static int count(const builder_t *b, int first, pipc__near_t level, bool *gpu)
{
    int n = 0;

    *gpu = false;
    for (int i = first; i < b->m->n; i++)
        if (b->set[level][i] == first) {
            n++;
            *gpu |= b->m->dev[i].gpu;
        }
    return n;
}

/* The devices that are PIX to each other, with their switch if there is one to tell from @above, of
 * which they are a part. NICs alone that are PIX are the ports of one card. */
static bool add_pix(builder_t *b, int parent, int first, bool is_all_of_above)
{
    bool gpu;
    int n = count(b, first, PIPC__NEAR_PIX, &gpu);

    /* A device alone stands below a bridge of its own as well: PXB is more than one bridge. */
    if (!is_all_of_above && (n == 1 || gpu))
        parent = add_above(b, parent, PIPC__TOPO_SWITCH, first, PIPC__NEAR_PIX);
    for (int i = first; i < b->m->n && parent >= 0; i++)
        if (b->set[PIPC__NEAR_PIX][i] == first && !add_device(b, parent, i))
            return false;
    return parent >= 0;
}

/* What is below one root port. */
static bool add_pxb(builder_t *b, int parent, int first)
{
    bool gpu;
    int n = count(b, first, PIPC__NEAR_PXB, &gpu);
    int pix = count(b, first, PIPC__NEAR_PIX, &gpu);

    parent = add_above(b, parent, PIPC__TOPO_BRIDGE, first, PIPC__NEAR_PXB);
    if (parent >= 0 && n > 1 && (gpu || pix < n))
        parent = add_above(b, parent, PIPC__TOPO_SWITCH, first, PIPC__NEAR_PXB);
    for (int i = first; i < b->m->n && parent >= 0; i++)
        if (b->set[PIPC__NEAR_PXB][i] == first && b->set[PIPC__NEAR_PIX][i] == i &&
            !add_pix(b, parent, i, pix == n))
            return false;
    return parent >= 0;
}

static bool add_hosts(builder_t *b)
{
    for (int first = 0; first < b->m->n; first++) {
        if (b->set[PIPC__NEAR_PHB][first] != first)
            continue;
        int host = add_above(b, 0, PIPC__TOPO_HOST_BRIDGE, first, PIPC__NEAR_PHB);
        for (int i = first; i < b->m->n && host >= 0; i++)
            if (b->set[PIPC__NEAR_PHB][i] == first && b->set[PIPC__NEAR_PXB][i] == i &&
                !add_pxb(b, host, i))
                return false;
        if (host < 0)
            return false;
    }
    return true;
}

/* What is not NV# has no NVLink; only N/A says nothing. */
static bool add_nvlinks(builder_t *b)
{
    const pipc__matrix_t *m = b->m;

    for (int i = 0; i < m->n; i++)
        for (int j = 0; j < i; j++)
            if (m->dev[i].gpu && m->dev[j].gpu && (m->near[i][j] || m->nvlinks[i][j]) &&
                !pipc__topo_set_nvlinks(b->topo, b->obj[i], b->obj[j], m->nvlinks[i][j]))
                return false;
    return true;
}

static pipc_status_t build(builder_t *b, const char *path, pipc__error_t *err)
{
    pipc_status_t st;

    for (pipc__near_t level = PIPC__NEAR_PIX; level <= PIPC__NEAR_NODE; level++)
        find_sets(b, level);
    st = check_sets(b, path, err);
    if (st)
        return st;
    dissolve_contradictions(b);
    if (!add_numas(b) || !pipc__topo_guess_cores(b->topo) || !add_hosts(b) || !add_nvlinks(b))
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    return PIPC_OK;
}

pipc_status_t pipc__topo_matrix(pipc__topo_t **topo, const char *path, pipc__error_t *err)
{
    pipc_status_t st = pipc__topo_new(topo, "nvidia-smi topo -m", err);
    pipc__matrix_t *m = calloc(1, sizeof(*m));
    builder_t *b = calloc(1, sizeof(*b));
    size_t len;
    char *text = NULL;

    if (!st && (!m || !b))
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    if (!st)
        st = pipc__text_read(&text, path, &len, err);
    if (!st) {
        pipc__text_clean(text, len);
        st = pipc__matrix_read(m, path, text, err);
    }
    if (!st) {
        b->m = m;
        b->topo = *topo;
        st = build(b, path, err);
    }
    if (m)
        pipc__matrix_release(m);
    free(m);
    free(b);
    free(text);
    if (st) {
        pipc__topo_free(*topo);
        *topo = NULL;
    }
    return st;
}
