/* topo/tree.c - a tree from devices and who is above whom: tell switches from other bridges, then
 * add what leads to a GPU or NIC
 */
#include "runtime/topo/scan.h"

#include <stdlib.h>

#include "runtime/topo/build.h"

#define ENDPOINTS_MAX 4096 /* GPUs and NICs */

/* What is right below each bridge. Virtual functions do not count: with them a plain downstream
 * port would look like a bus with many devices on it. */
static void look_below(pipc__scan_t *s)
{
    for (int i = 0; i < s->n; i++) {
        const pipc__scan_device_t *d = &s->dev[i];
        if (d->parent < 0 || d->virtual)
            continue;
        pipc__scan_device_t *p = &s->dev[d->parent];
        int device = d->addr.bus << 5 | d->addr.device;
        p->places += device != p->last_device;
        p->last_device = device;
        if (p->part != PIPC__PART_GPU && p->part != PIPC__PART_NIC)
            p->part = PIPC__PART_BRIDGE;
        p->bridge_below |= d->part == PIPC__PART_BRIDGE;
        p->downstream_below |= d->port == PIPC__PORT_DOWNSTREAM;
    }
}

/* Which part a bridge plays, its parent's being known. Config space says it; without its
 * capabilities (64 bytes are all that an unprivileged capture has) the shape does: below a root
 * port or below a downstream port there is one link, so a bridge there that leads to bridges, or to
 * several devices, is an upstream port, and the bridges on its bus are its downstream ports. */
static pipc__part_t bridge_part(const pipc__scan_t *s, const pipc__scan_device_t *d)
{
    pipc__part_t above = d->parent < 0 ? PIPC__PART_UNSEEN : s->dev[d->parent].part;

    if (d->port == PIPC__PORT_UPSTREAM || d->downstream_below)
        return PIPC__PART_SWITCH;
    if (d->port == PIPC__PORT_DOWNSTREAM || d->port == PIPC__UNKNOWN)
        if (above == PIPC__PART_SWITCH)
            return PIPC__PART_DOWNSTREAM;
    if (d->port != PIPC__UNKNOWN || above == PIPC__PART_UNSEEN)
        return PIPC__PART_BRIDGE;
    return d->bridge_below || d->places > 1 ? PIPC__PART_SWITCH : PIPC__PART_BRIDGE;
}

static void find_switches(pipc__scan_t *s)
{
    look_below(s);
    for (int depth = 0; depth <= PIPC__TOPO_DEPTH_MAX; depth++) /* parents before children */
        for (int i = 0; i < s->n; i++)
            if (s->dev[i].depth == depth && s->dev[i].part == PIPC__PART_BRIDGE)
                s->dev[i].part = bridge_part(s, &s->dev[i]);
    for (int i = 0; i < s->n; i++)
        while (s->dev[i].parent >= 0 && s->dev[s->dev[i].parent].part == PIPC__PART_DOWNSTREAM)
            s->dev[i].parent = s->dev[s->dev[i].parent].parent;
}

/* A second function of a GPU's device is no second GPU (old cards have one for a second head). */
static bool second_gpu_function(const pipc__scan_t *s, int i)
{
    const pipc__pci_addr_t *a = &s->dev[i].addr, *b = i > 0 ? &s->dev[i - 1].addr : a;

    return s->dev[i].part == PIPC__PART_GPU && i > 0 && s->dev[i - 1].part == PIPC__PART_GPU &&
           a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

/* Mark what leads to GPUs and NICs, link children, and count the endpoints. */
static int choose(pipc__scan_t *s)
{
    int endpoints = 0;

    for (int i = s->n - 1; i >= 0; i--) { /* backwards, so that lists of children ascend */
        pipc__scan_device_t *d = &s->dev[i];
        if (d->parent >= 0) {
            d->next = s->dev[d->parent].first;
            s->dev[d->parent].first = i;
        }
        if ((d->part != PIPC__PART_GPU && d->part != PIPC__PART_NIC) || second_gpu_function(s, i))
            continue;
        endpoints++;
        for (int k = i; k >= 0 && !s->dev[k].keep; k = s->dev[k].parent)
            s->dev[k].keep = true;
    }
    return endpoints;
}

static pipc__topo_kind_t kind_of(pipc__part_t part)
{
    switch (part) {
    case PIPC__PART_SWITCH:
        return PIPC__TOPO_SWITCH;
    case PIPC__PART_GPU:
        return PIPC__TOPO_GPU;
    case PIPC__PART_NIC:
        return PIPC__TOPO_NIC;
    default:
        return PIPC__TOPO_BRIDGE;
    }
}

/* Add device @i and what is below it; recursion is bounded by pipc__scan_link(). */
static bool add_device(const pipc__scan_t *s, pipc__topo_t *topo, int i, int parent)
{
    char name[PIPC__NAME_MAX], dir[PIPC__DEVICE_DIR_MAX];
    const pipc__scan_device_t *d = &s->dev[i];
    int index = pipc__topo_add(topo, parent, kind_of(d->part));

    if (index < 0)
        return false;
    if (d->known)
        topo->objs[index] = *d->known;
    topo->objs[index].kind = kind_of(d->part);
    topo->objs[index].parent = parent;
    pipc__topo_set_addr(&topo->objs[index], d->addr);
    if (d->listed && !d->known) {
        pipc__scan_locate(s, d, name, dir);
        if (!pipc__device_facts(topo, s->root, dir, &topo->objs[index]))
            return false;
    }
    for (int c = d->first; c >= 0; c = s->dev[c].next)
        if (s->dev[c].keep && !add_device(s, topo, c, index))
            return false;
    return true;
}

/* A host bridge has no device of its own: its node is the one that all right below it name. */
static void set_host_numa(pipc__topo_t *topo, int bridge)
{
    int numa = PIPC__UNKNOWN;

    for (int i = bridge + 1; i < topo->nobjs; i++) {
        if (topo->objs[i].parent != bridge || topo->objs[i].numa < 0)
            continue;
        if (numa >= 0 && topo->objs[i].numa != numa)
            return;
        numa = topo->objs[i].numa;
    }
    topo->objs[bridge].numa = numa;
}

/* The host bridge of a root bus; where the source does not tell (roots_apart), an unnamed one. */
static int add_host_bridge(const pipc__scan_t *s, pipc__topo_t *topo, pipc__pci_addr_t bus, int n)
{
    int bridge = pipc__topo_add(topo, 0, PIPC__TOPO_HOST_BRIDGE);

    if (bridge < 0)
        return bridge;
    if (s->roots_apart)
        snprintf(topo->objs[bridge].name, PIPC__NAME_MAX, "host%d", n);
    else
        pipc__topo_set_addr(&topo->objs[bridge], bus);
    return bridge;
}

static bool add_host_bridges(const pipc__scan_t *s, pipc__topo_t *topo)
{
    int bridge = PIPC__UNKNOWN, n = 0;

    for (int i = 0; i < s->n; i++) { /* sorted: the devices of one root bus follow each other */
        pipc__pci_addr_t bus = {s->dev[i].addr.domain, s->dev[i].addr.bus, PIPC__UNKNOWN,
                                PIPC__UNKNOWN};
        if (!s->dev[i].keep || s->dev[i].parent >= 0)
            continue;
        if (bridge < 0 || s->roots_apart || pipc__pci_compare(topo->objs[bridge].addr, bus)) {
            bridge = add_host_bridge(s, topo, bus, n++);
            if (bridge < 0)
                return false;
        }
        if (!add_device(s, topo, i, bridge))
            return false;
        set_host_numa(topo, bridge);
    }
    return true;
}

pipc_status_t pipc__topo_add_scan(pipc__topo_t *topo, pipc__scan_t *scan, pipc__error_t *err)
{
    find_switches(scan);
    if (choose(scan) > ENDPOINTS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%s%s: more than %d GPUs and NICs; is this one "
                          "machine?",
                          scan->root, scan->folder, ENDPOINTS_MAX);
    if (!add_host_bridges(scan, topo))
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s%s: out of memory", scan->root, scan->folder);
    return PIPC_OK;
}
