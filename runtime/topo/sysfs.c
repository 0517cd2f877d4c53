/* topo/sysfs.c - the PCI part of a tree from sys/bus/pci/devices below a root
 *
 *   sys/bus/pci/devices/0000:1b:00.0 ->
 *       ../../../devices/pci0000:17/0000:17:00.0/0000:18:00.0/0000:19:08.0/0000:1b:00.0
 *                        host bridge  root port    upstream     downstream   GPU
 *
 * The text of the link says who is above whom. It is only read, never walked, so that links which
 * loop cost nothing. Where a captured tree holds folders instead of links, the bus below each
 * bridge says it. Ancestors that are in a link but not in the list are bridges of which nothing is
 * known.
 *
 * Steps: list -> find parents -> tell switches from bridges -> add what leads to a GPU or NIC.
 */
#include "runtime/topo/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/topo/device.h"
#include "runtime/topo/dir.h"

#define DEVICES "sys/bus/pci/devices"
#define DEVICES_MAX 32768
#define ENDPOINTS_MAX 4096 /* GPUs and NICs */

typedef enum part {
    PART_UNSEEN,
    PART_OTHER,
    PART_BRIDGE,
    PART_SWITCH,     /* an upstream port: the switch */
    PART_DOWNSTREAM, /* no object: what is below it is below the switch */
    PART_GPU,
    PART_NIC
} part_t;

typedef struct device {
    pipc__pci_addr_t addr, above; /* above.domain PIPC__UNKNOWN: none is known */
    int parent;                   /* index, or PIPC__UNKNOWN: on a root bus */
    int first, next;              /* children, siblings: indexes, ascending by address */
    int depth;
    int port, secondary;     /* of bridges: Express port type, bus below */
    int places, last_device; /* devices, functions aside, on the bus below it */
    part_t part;
    bool listed; /* false: known as an ancestor only */
    bool linked; /* its link could be read: @above is all there is to know */
    bool virtual;
    bool bridge_below, downstream_below;
    bool keep; /* is, or leads to, a GPU or NIC */
} device_t;

typedef struct scan {
    const char *root;
    device_t *dev;
    int n, cap;
} scan_t;

static int by_addr(const void *a, const void *b)
{
    const device_t *x = a, *y = b;
    int order = pipc__pci_compare(x->addr, y->addr);

    return order ? order : y->listed - x->listed;
}

static int find(const scan_t *s, pipc__pci_addr_t addr)
{
    device_t key = {.addr = addr, .listed = true};
    int low = 0, high = s->n;

    while (low < high) {
        int mid = low + (high - low) / 2;
        if (pipc__pci_compare(s->dev[mid].addr, key.addr) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low < s->n && pipc__pci_compare(s->dev[low].addr, addr) == 0 ? low : PIPC__UNKNOWN;
}

/* ---- list ------------------------------------------------------------------------------------ */

static pipc_status_t append(scan_t *s, device_t d, pipc__error_t *err)
{
    if (s->n >= DEVICES_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "%s/" DEVICES ": more than %d devices; is this a sysfs tree?", s->root,
                          DEVICES_MAX);
    if (s->n == s->cap) {
        int cap = s->cap ? 2 * s->cap : 64;
        device_t *more = realloc(s->dev, sizeof(*more) * (size_t)cap);
        if (!more)
            return pipc__fail(err, PIPC_ERR_NOMEM, "%s/" DEVICES ": out of memory", s->root);
        s->dev = more;
        s->cap = cap;
    }
    s->dev[s->n++] = d;
    return PIPC_OK;
}

static device_t make_device(pipc__pci_addr_t addr, bool listed)
{
    return (device_t){.addr = addr,
                      .above = {PIPC__UNKNOWN, 0, 0, 0},
                      .parent = PIPC__UNKNOWN,
                      .first = PIPC__UNKNOWN,
                      .next = PIPC__UNKNOWN,
                      .port = PIPC__UNKNOWN,
                      .secondary = PIPC__UNKNOWN,
                      .last_device = PIPC__UNKNOWN,
                      .listed = listed};
}

/* "0000:41:00.0", with the domain, which all names in sysfs have. */
static bool full_address(const char *name, pipc__pci_addr_t *addr)
{
    const char *colon = strchr(name, ':');

    return colon && strchr(colon + 1, ':') && pipc__pci_parse(name, addr);
}

/* Sort by address; of equal ones the first, a listed one if there is any, stays. */
static void sort_unique(scan_t *s)
{
    int kept = 0;

    if (s->n > 0) /* qsort(NULL, 0, ...) is undefined */
        qsort(s->dev, (size_t)s->n, sizeof(*s->dev), by_addr);
    for (int i = 0; i < s->n; i++)
        if (kept == 0 || pipc__pci_compare(s->dev[kept - 1].addr, s->dev[i].addr))
            s->dev[kept++] = s->dev[i];
    s->n = kept;
}

static pipc_status_t list_devices(scan_t *s, pipc__error_t *err)
{
    DIR *dir = pipc__dir_open(s->root, DEVICES);
    pipc_status_t st = PIPC_OK;
    pipc__pci_addr_t addr;
    const char *name;

    if (!dir && errno == ENOMEM)
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s/" DEVICES ": out of memory", s->root);
    if (!dir)
        return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                          "%s/" DEVICES ": %s; the root is the folder that holds sys", s->root,
                          strerror(errno));
    while (!st && (name = pipc__dir_next(dir)))
        if (full_address(name, &addr))
            st = append(s, make_device(addr, true), err);
    pipc__dir_close(dir);
    sort_unique(s);
    return st;
}

/* ---- parents --------------------------------------------------------------------------------- */

/* The devices named in a link, root bus first; 0 when its last one is not @self or it is too long.
 * A new "pciDDDD:BB" starts again: Intel VMD hangs a whole domain below a device of another. */
static int parse_link(char *link, pipc__pci_addr_t self, pipc__pci_addr_t chain[])
{
    char *save = NULL;
    int n = 0;

    for (char *part = strtok_r(link, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
        if (strncmp(part, "pci", 3) == 0 && strchr(part, ':'))
            n = 0;
        else if (n == PIPC__TOPO_DEPTH_MAX)
            return 0;
        else if (full_address(part, &chain[n]))
            n++;
    }
    return n > 0 && pipc__pci_compare(chain[n - 1], self) == 0 ? n : 0;
}

/* Note the device above each listed device, and append ancestors that are not listed. */
static pipc_status_t read_links(scan_t *s, pipc__error_t *err)
{
    int listed = s->n;
    pipc__pci_addr_t chain[PIPC__TOPO_DEPTH_MAX + 1];
    char name[PIPC__NAME_MAX], link[PIPC__DEVICE_DIR_MAX];

    for (int i = 0; i < listed; i++) {
        pipc__pci_format(s->dev[i].addr, name);
        if (!pipc__file_link(s->root, link, sizeof(link), DEVICES "/%s", name))
            continue;
        int n = parse_link(link, s->dev[i].addr, chain);
        s->dev[i].linked = n > 0;
        if (n > 1)
            s->dev[i].above = chain[n - 2];
        for (int k = 0; k < n - 1; k++) {
            scan_t only_listed = {.dev = s->dev, .n = listed};
            if (find(&only_listed, chain[k]) >= 0)
                continue;
            device_t ghost = make_device(chain[k], false);
            ghost.linked = true;
            if (k > 0)
                ghost.above = chain[k - 1];
            pipc_status_t st = append(s, ghost, err);
            if (st)
                return st;
        }
    }
    sort_unique(s);
    return PIPC_OK;
}

static part_t part_of_role(pipc__device_role_t role)
{
    switch (role) {
    case PIPC__ROLE_BRIDGE:
        return PART_BRIDGE;
    case PIPC__ROLE_GPU:
        return PART_GPU;
    case PIPC__ROLE_NIC:
        return PART_NIC;
    case PIPC__ROLE_OTHER:
        break;
    }
    return PART_OTHER;
}

/* The name and the folder of a device. */
static void locate(const scan_t *s, const device_t *d, char name[PIPC__NAME_MAX],
                   char dir[PIPC__DEVICE_DIR_MAX])
{
    char link[PIPC__DEVICE_DIR_MAX];

    pipc__pci_format(d->addr, name);
    bool linked = pipc__file_link(s->root, link, sizeof(link), DEVICES "/%s", name);
    pipc__device_dir(name, linked ? link : NULL, dir);
}

static void read_roles(scan_t *s)
{
    char name[PIPC__NAME_MAX], dir[PIPC__DEVICE_DIR_MAX];

    for (int i = 0; i < s->n; i++) {
        device_t *d = &s->dev[i];
        d->part = PART_BRIDGE;
        if (!d->listed)
            continue;
        locate(s, d, name, dir);
        d->part = part_of_role(pipc__device_role(s->root, dir, name));
        if (d->part == PART_BRIDGE) {
            d->port = pipc__device_port(s->root, dir);
            d->secondary = pipc__device_secondary_bus(s->root, dir);
        } else if (pipc__device_is_virtual(s->root, dir)) {
            d->part = PART_OTHER;
            d->virtual = true;
        }
    }
}

/* For a device without a link: the bridge to its bus. */
static int bridge_to(const scan_t *s, int i)
{
    const device_t *d = &s->dev[i];

    for (int b = 0; b < s->n; b++)
        if (s->dev[b].secondary == d->addr.bus && s->dev[b].addr.domain == d->addr.domain &&
            s->dev[b].addr.bus != d->addr.bus)
            return b;
    return PIPC__UNKNOWN;
}

/* Steps from @i up to a root bus; more than the limit when there is a loop. */
static int steps_up(const scan_t *s, int i)
{
    int steps = 0;

    while (s->dev[i].parent >= 0 && steps <= PIPC__TOPO_DEPTH_MAX) {
        i = s->dev[i].parent;
        steps++;
    }
    return steps;
}

/* Parents as indexes. Two links can contradict each other (a below b, b below a): a device from
 * which the way up does not end loses its parent, which ends the ways of the others in the loop. */
static void find_parents(scan_t *s)
{
    for (int i = 0; i < s->n; i++) {
        device_t *d = &s->dev[i];
        if (d->above.domain >= 0)
            d->parent = find(s, d->above);
        else if (!d->linked)
            d->parent = bridge_to(s, i);
    }
    for (int i = 0; i < s->n; i++)
        if (steps_up(s, i) > PIPC__TOPO_DEPTH_MAX - 4) /* 4: machine, host bridge, and some air */
            s->dev[i].parent = PIPC__UNKNOWN;
    for (int i = 0; i < s->n; i++)
        s->dev[i].depth = steps_up(s, i);
}

/* ---- switches -------------------------------------------------------------------------------- */

/* What is right below each bridge. Virtual functions do not count: with them a plain downstream
 * port would look like a bus with many devices on it. */
static void look_below(scan_t *s)
{
    for (int i = 0; i < s->n; i++) {
        const device_t *d = &s->dev[i];
        if (d->parent < 0 || d->virtual)
            continue;
        device_t *p = &s->dev[d->parent];
        int device = d->addr.bus << 5 | d->addr.device;
        p->places += device != p->last_device;
        p->last_device = device;
        if (p->part != PART_GPU && p->part != PART_NIC)
            p->part = PART_BRIDGE;
        p->bridge_below |= d->part == PART_BRIDGE;
        p->downstream_below |= d->port == PIPC__PORT_DOWNSTREAM;
    }
}

/* Which part a bridge plays, its parent's being known. Config space says it; without its
 * capabilities (64 bytes are all that an unprivileged capture has) the shape does: below a root
 * port or below a downstream port there is one link, so a bridge there that leads to bridges, or to
 * several devices, is an upstream port, and the bridges on its bus are its downstream ports. */
static part_t bridge_part(const scan_t *s, const device_t *d)
{
    part_t above = d->parent < 0 ? PART_UNSEEN : s->dev[d->parent].part;

    if (d->port == PIPC__PORT_UPSTREAM || d->downstream_below)
        return PART_SWITCH;
    if (d->port == PIPC__PORT_DOWNSTREAM || d->port == PIPC__UNKNOWN)
        if (above == PART_SWITCH)
            return PART_DOWNSTREAM;
    if (d->port != PIPC__UNKNOWN || above == PART_UNSEEN)
        return PART_BRIDGE;
    return d->bridge_below || d->places > 1 ? PART_SWITCH : PART_BRIDGE;
}

static void find_switches(scan_t *s)
{
    look_below(s);
    for (int depth = 0; depth <= PIPC__TOPO_DEPTH_MAX; depth++) /* parents before children */
        for (int i = 0; i < s->n; i++)
            if (s->dev[i].depth == depth && s->dev[i].part == PART_BRIDGE)
                s->dev[i].part = bridge_part(s, &s->dev[i]);
    for (int i = 0; i < s->n; i++)
        while (s->dev[i].parent >= 0 && s->dev[s->dev[i].parent].part == PART_DOWNSTREAM)
            s->dev[i].parent = s->dev[s->dev[i].parent].parent;
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* A second function of a GPU's device is no second GPU (old cards have one for a second head). */
static bool second_gpu_function(const scan_t *s, int i)
{
    const pipc__pci_addr_t *a = &s->dev[i].addr, *b = i > 0 ? &s->dev[i - 1].addr : a;

    return s->dev[i].part == PART_GPU && i > 0 && s->dev[i - 1].part == PART_GPU &&
           a->domain == b->domain && a->bus == b->bus && a->device == b->device;
}

/* Mark what leads to GPUs and NICs, link children, and count the endpoints. */
static int choose(scan_t *s)
{
    int endpoints = 0;

    for (int i = s->n - 1; i >= 0; i--) { /* backwards, so that lists of children ascend */
        device_t *d = &s->dev[i];
        if (d->parent >= 0) {
            d->next = s->dev[d->parent].first;
            s->dev[d->parent].first = i;
        }
        if ((d->part != PART_GPU && d->part != PART_NIC) || second_gpu_function(s, i))
            continue;
        endpoints++;
        for (int k = i; k >= 0 && !s->dev[k].keep; k = s->dev[k].parent)
            s->dev[k].keep = true;
    }
    return endpoints;
}

static pipc__topo_kind_t kind_of(part_t part)
{
    switch (part) {
    case PART_SWITCH:
        return PIPC__TOPO_SWITCH;
    case PART_GPU:
        return PIPC__TOPO_GPU;
    case PART_NIC:
        return PIPC__TOPO_NIC;
    default:
        return PIPC__TOPO_BRIDGE;
    }
}

/* Add device @i and what is below it; recursion is bounded by find_parents(). */
static bool add_device(const scan_t *s, pipc__topo_t *topo, int i, int parent)
{
    char name[PIPC__NAME_MAX], dir[PIPC__DEVICE_DIR_MAX];
    const device_t *d = &s->dev[i];
    int index = pipc__topo_add(topo, parent, kind_of(d->part));

    if (index < 0)
        return false;
    pipc__topo_set_addr(&topo->objs[index], d->addr);
    if (d->listed) {
        locate(s, d, name, dir);
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

static bool add_host_bridges(const scan_t *s, pipc__topo_t *topo)
{
    int bridge = PIPC__UNKNOWN;

    for (int i = 0; i < s->n; i++) { /* sorted: the devices of one root bus follow each other */
        pipc__pci_addr_t bus = {s->dev[i].addr.domain, s->dev[i].addr.bus, PIPC__UNKNOWN,
                                PIPC__UNKNOWN};
        if (!s->dev[i].keep || s->dev[i].parent >= 0)
            continue;
        if (bridge < 0 || pipc__pci_compare(topo->objs[bridge].addr, bus)) {
            bridge = pipc__topo_add(topo, 0, PIPC__TOPO_HOST_BRIDGE);
            if (bridge < 0)
                return false;
            pipc__topo_set_addr(&topo->objs[bridge], bus);
        }
        if (!add_device(s, topo, i, bridge))
            return false;
        set_host_numa(topo, bridge);
    }
    return true;
}

pipc_status_t pipc__topo_add_pci(pipc__topo_t *topo, const char *root, pipc__error_t *err)
{
    scan_t s = {.root = root};
    pipc_status_t st = list_devices(&s, err);

    if (!st)
        st = read_links(&s, err);
    if (!st) {
        read_roles(&s);
        find_parents(&s);
        find_switches(&s);
        if (choose(&s) > ENDPOINTS_MAX)
            st = pipc__fail(err, PIPC_ERR_INVALID,
                            "%s/" DEVICES ": more than %d GPUs and NICs; is this a sysfs tree?",
                            root, ENDPOINTS_MAX);
        else if (!add_host_bridges(&s, topo))
            st = pipc__fail(err, PIPC_ERR_NOMEM, "%s/" DEVICES ": out of memory", root);
    }
    free(s.dev);
    return st;
}

pipc_status_t pipc__topo_sysroot(pipc__topo_t **topo, const char *root, pipc__error_t *err)
{
    pipc_status_t st = pipc__topo_new(topo, "sysroot", err);

    if (!st)
        st = pipc__topo_add_cpus(*topo, root, err);
    if (!st)
        st = pipc__topo_add_pci(*topo, root, err);
    if (st) {
        pipc__topo_free(*topo);
        *topo = NULL;
    }
    return st;
}
