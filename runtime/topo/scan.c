/* topo/scan.c - see scan.h
 *
 *   sys/bus/pci/devices/0000:1b:00.0 ->
 *       ../../../devices/pci0000:17/0000:17:00.0/0000:18:00.0/0000:19:08.0/0000:1b:00.0
 *                        host bridge  root port    upstream     downstream   GPU
 *
 * The text of the link says who is above whom. It is only read, never walked, so that links which
 * loop cost nothing. Where a captured tree holds folders instead of links, the bus below each
 * bridge says it. Ancestors that are in a link but not in the list are bridges of which nothing is
 * known.
 */
#include "runtime/topo/scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/topo/build.h"
#include "runtime/topo/dir.h"

#define DEVICES_MAX 32768

static int by_addr(const void *a, const void *b)
{
    const pipc__scan_device_t *x = a, *y = b;
    int order = pipc__pci_compare(x->addr, y->addr);

    return order ? order : y->listed - x->listed;
}

static int find(const pipc__scan_t *s, pipc__pci_addr_t addr)
{
    pipc__scan_device_t key = {.addr = addr, .listed = true};
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

pipc_status_t pipc__scan_append(pipc__scan_t *s, pipc__scan_device_t d, pipc__error_t *err)
{
    if (s->n >= DEVICES_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s%s: more than %d devices; is this one machine?",
                          s->root, s->folder, DEVICES_MAX);
    if (s->n == s->cap) {
        int cap = s->cap ? 2 * s->cap : 64;
        pipc__scan_device_t *more = realloc(s->dev, sizeof(*more) * (size_t)cap);
        if (!more)
            return pipc__fail(err, PIPC_ERR_NOMEM, "%s%s: out of memory", s->root, s->folder);
        s->dev = more;
        s->cap = cap;
    }
    s->dev[s->n++] = d;
    return PIPC_OK;
}

static pipc__scan_device_t make_device(pipc__pci_addr_t addr, bool listed)
{
    return (pipc__scan_device_t){.addr = addr,
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
static void sort_unique(pipc__scan_t *s)
{
    int kept = 0;

    if (s->n > 0) /* qsort(NULL, 0, ...) is undefined */
        qsort(s->dev, (size_t)s->n, sizeof(*s->dev), by_addr);
    for (int i = 0; i < s->n; i++)
        if (kept == 0 || pipc__pci_compare(s->dev[kept - 1].addr, s->dev[i].addr))
            s->dev[kept++] = s->dev[i];
    s->n = kept;
}

/* Append the devices that a folder names; PIPC_ERR_NOT_FOUND when it can't be read. */
static pipc_status_t list_folder(pipc__scan_t *s, const char *folder, pipc__error_t *err)
{
    DIR *dir = pipc__dir_open(s->root, "%s", folder);
    pipc_status_t st = PIPC_OK;
    pipc__pci_addr_t addr;
    const char *name;

    if (!dir && errno == ENOMEM)
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s/%s: out of memory", s->root, folder);
    if (!dir)
        return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                          "%s/%s: %s; the root is the folder that holds sys", s->root, folder,
                          strerror(errno));
    while (!st && (name = pipc__dir_next(dir)))
        if (full_address(name, &addr))
            st = pipc__scan_append(s, make_device(addr, true), err);
    pipc__dir_close(dir);
    return st;
}

/* What the bus lists, and GPUs that only their driver does: a container or a sandbox may show no
 * sysfs, or an empty one, and still hand out GPUs. */
static pipc_status_t list_devices(pipc__scan_t *s, pipc__error_t *err)
{
    pipc__error_t bus, driver; /* an absence alone is no error: keep it from @err */
    pipc_status_t st = list_folder(s, PIPC__SCAN_DEVICES, &bus);
    bool absent = st == PIPC_ERR_NOT_FOUND;

    if (!st || absent)
        st = list_folder(s, "proc/driver/nvidia/gpus", &driver);
    else
        driver = bus;
    if (st && st != PIPC_ERR_NOT_FOUND)
        return pipc__fail(err, st, "%s", driver.text);
    if (absent && s->n == 0)
        return pipc__fail(err, PIPC_ERR_NOT_FOUND, "%s", bus.text);
    sort_unique(s);
    return PIPC_OK;
}

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
static pipc_status_t read_links(pipc__scan_t *s, pipc__error_t *err)
{
    int listed = s->n;
    pipc__pci_addr_t chain[PIPC__TOPO_DEPTH_MAX + 1];
    char name[PIPC__NAME_MAX], link[PIPC__DEVICE_DIR_MAX];

    for (int i = 0; i < listed; i++) {
        pipc__pci_format(s->dev[i].addr, name);
        if (!pipc__file_link(s->root, link, sizeof(link), PIPC__SCAN_DEVICES "/%s", name))
            continue;
        int n = parse_link(link, s->dev[i].addr, chain);
        s->dev[i].linked = n > 0;
        if (n > 1)
            s->dev[i].above = chain[n - 2];
        for (int k = 0; k < n - 1; k++) {
            pipc__scan_t only_listed = {.dev = s->dev, .n = listed};
            if (find(&only_listed, chain[k]) >= 0)
                continue;
            pipc__scan_device_t ghost = make_device(chain[k], false);
            ghost.linked = true;
            if (k > 0)
                ghost.above = chain[k - 1];
            pipc_status_t st = pipc__scan_append(s, ghost, err);
            if (st)
                return st;
        }
    }
    sort_unique(s);
    return PIPC_OK;
}

pipc__part_t pipc__part_of_role(pipc__device_role_t role)
{
    switch (role) {
    case PIPC__ROLE_BRIDGE:
        return PIPC__PART_BRIDGE;
    case PIPC__ROLE_GPU:
        return PIPC__PART_GPU;
    case PIPC__ROLE_NIC:
        return PIPC__PART_NIC;
    case PIPC__ROLE_OTHER:
        break;
    }
    return PIPC__PART_OTHER;
}

/* The name and the folder of a device. */
void pipc__scan_locate(const pipc__scan_t *s, const pipc__scan_device_t *d,
                       char name[PIPC__NAME_MAX], char dir[PIPC__DEVICE_DIR_MAX])
{
    char link[PIPC__DEVICE_DIR_MAX];

    pipc__pci_format(d->addr, name);
    bool linked = pipc__file_link(s->root, link, sizeof(link), PIPC__SCAN_DEVICES "/%s", name);
    pipc__device_dir(name, linked ? link : NULL, dir);
}

/* A device without a link is a folder; the devices in it are below it, as where links were followed
 * when the capture was made. */
static void read_folder(pipc__scan_t *s, const pipc__scan_device_t *d, const char *dir)
{
    DIR *folder = pipc__dir_open(s->root, "%s", dir);
    pipc__pci_addr_t addr;
    const char *name;

    while (folder && (name = pipc__dir_next(folder))) {
        int below = full_address(name, &addr) ? find(s, addr) : PIPC__UNKNOWN;
        if (below >= 0 && !s->dev[below].linked)
            s->dev[below].above = d->addr;
    }
    pipc__dir_close(folder);
}

static void read_roles(pipc__scan_t *s)
{
    char name[PIPC__NAME_MAX], dir[PIPC__DEVICE_DIR_MAX];

    for (int i = 0; i < s->n; i++) {
        pipc__scan_device_t *d = &s->dev[i];
        d->part = PIPC__PART_BRIDGE;
        if (!d->listed)
            continue;
        pipc__scan_locate(s, d, name, dir);
        if (!d->linked)
            read_folder(s, d, dir);
        d->part = pipc__part_of_role(pipc__device_role(s->root, dir, name));
        if (d->part == PIPC__PART_BRIDGE) {
            d->port = pipc__device_port(s->root, dir);
            d->secondary = pipc__device_secondary_bus(s->root, dir);
        } else if (pipc__device_is_virtual(s->root, dir)) {
            d->part = PIPC__PART_OTHER;
            d->virtual = true;
        }
    }
}

/* For a device without a link: the bridge to its bus. */
static int bridge_to(const pipc__scan_t *s, int i)
{
    const pipc__scan_device_t *d = &s->dev[i];

    for (int b = 0; b < s->n; b++)
        if (s->dev[b].secondary == d->addr.bus && s->dev[b].addr.domain == d->addr.domain &&
            s->dev[b].addr.bus != d->addr.bus)
            return b;
    return PIPC__UNKNOWN;
}

/* Steps from @i up to a root bus; more than the limit when there is a loop. */
static int steps_up(const pipc__scan_t *s, int i)
{
    int steps = 0;

    while (s->dev[i].parent >= 0 && steps <= PIPC__TOPO_DEPTH_MAX) {
        i = s->dev[i].parent;
        steps++;
    }
    return steps;
}

/* A device from which the way up does not end, or is too long, loses its parent, which ends the
 * ways of the others in a loop. */
static void cut_long_ways(pipc__scan_t *s)
{
    for (int i = 0; i < s->n; i++)
        if (steps_up(s, i) > PIPC__TOPO_DEPTH_MAX - 4) /* 4: machine, host bridge, and some air */
            s->dev[i].parent = PIPC__UNKNOWN;
    for (int i = 0; i < s->n; i++)
        s->dev[i].depth = steps_up(s, i);
}

/* Parents as indexes. Two links can contradict each other (a below b, b below a). */
static void find_parents(pipc__scan_t *s)
{
    for (int i = 0; i < s->n; i++) {
        pipc__scan_device_t *d = &s->dev[i];
        if (d->above.domain >= 0)
            d->parent = find(s, d->above);
        else if (!d->linked)
            d->parent = bridge_to(s, i);
    }
    cut_long_ways(s);
}

pipc__scan_device_t pipc__scan_device(pipc__pci_addr_t addr)
{
    pipc__scan_device_t d = make_device(addr, true);

    d.linked = true;
    return d;
}

static int by_addr_then_appended(const void *a, const void *b)
{
    const pipc__scan_device_t *x = a, *y = b;
    int order = pipc__pci_compare(x->addr, y->addr);

    return order ? order : x->appended - y->appended;
}

void pipc__scan_link(pipc__scan_t *s)
{
    for (int i = 0; i < s->n; i++)
        s->dev[i].appended = i;
    if (s->n > 0)
        qsort(s->dev, (size_t)s->n, sizeof(*s->dev), by_addr_then_appended);
    for (int i = 0; i < s->n; i++) /* first: where the device appended as number i is now */
        s->dev[s->dev[i].appended].first = i;
    for (int i = 0; i < s->n; i++)
        if (s->dev[i].parent >= 0)
            s->dev[i].parent = s->dev[s->dev[i].parent].first;
    for (int i = 0; i < s->n; i++)
        s->dev[i].first = PIPC__UNKNOWN;
    cut_long_ways(s);
}

pipc_status_t pipc__scan(pipc__scan_t *scan, pipc__error_t *err)
{
    pipc_status_t st = list_devices(scan, err);

    if (!st)
        st = read_links(scan, err);
    if (st)
        return st;
    read_roles(scan);
    find_parents(scan);
    return PIPC_OK;
}
