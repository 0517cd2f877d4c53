/* topo/device.c - see device.h */
#include "runtime/topo/device.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/file.h"
#include "runtime/topo/build.h"
#include "runtime/topo/cpuset.h"
#include "runtime/topo/dir.h"

enum {
    VENDOR_AMD = 0x1002,
    VENDOR_NVIDIA = 0x10de,
    VENDOR_CRAY = 0x17db,
    VENDOR_HYGON = 0x1d94,
    VENDOR_MOORE_THREADS = 0x1ed5,
    VENDOR_INTEL = 0x8086
};

void pipc__device_dir(const char *name, const char *link, char dir[PIPC__DEVICE_DIR_MAX])
{
    if (link && link[0] == '/' && strlen(link) < PIPC__DEVICE_DIR_MAX)
        snprintf(dir, PIPC__DEVICE_DIR_MAX, "%s", link + strspn(link, "/"));
    else
        snprintf(dir, PIPC__DEVICE_DIR_MAX, "sys/bus/pci/devices/%s", name);
}

/* A number between 0 and @max from a file of the device, or PIPC__UNKNOWN. */
static int number(const char *root, const char *dir, const char *file, int max)
{
    int64_t v;

    if (!pipc__file_int(root, &v, "%s/%s", dir, file) || v < 0 || v > max)
        return PIPC__UNKNOWN;
    return (int)v;
}

/* ATI, whose vendor number is AMD's now, made the VGA of many servers until 2010 or so: ES1000,
 * Radeon 7000 and Rage XL (device ids as in pci.ids). */
static bool is_ati_console(int device)
{
    return device == 0x515e || device == 0x5969 || device == 0x5159 || device == 0x4752;
}

/* Intel's processors have theirs at 00:02.0, older ones a second display at .1. It drives a screen,
 * and no rank wants it; cards have ports above them and are never there. */
static bool is_in_the_processor(pipc__pci_addr_t addr, int class_code, int vendor)
{
    bool display = class_code >> 8 == 0x0300 || (class_code >> 8 == 0x0380 && addr.function == 1);

    return vendor == VENDOR_INTEL && display && addr.domain == 0 && addr.bus == 0 &&
           addr.device == 2;
}

/* A display controller (class 03) that is a GPU. The VGA of a management controller (ASPEED,
 * Matrox) and of a virtual machine is none. There are more makers of these than of GPUs, so this
 * lists the GPU makers; a 3D controller (0302) drives no display, so it needs no list. An unknown
 * vendor is given the benefit of the doubt: a sparse tree may hold no more than the class. */
static bool display_is_gpu(int class_code, int vendor, int device)
{
    if (vendor == VENDOR_AMD && is_ati_console(device))
        return false;
    return class_code >> 8 == 0x0302 || vendor == PIPC__UNKNOWN || vendor == VENDOR_NVIDIA ||
           vendor == VENDOR_AMD || vendor == VENDOR_INTEL || vendor == VENDOR_MOORE_THREADS ||
           vendor == VENDOR_HYGON;
}

/* Co-processors (class 0b40) are vector engines and Xeon Phi, but also Intel's QuickAssist crypto
 * engines, which most of its servers have several of. */
static bool coprocessor_is_gpu(int vendor, int device)
{
    return vendor != VENDOR_INTEL || (device >= 0x2250 && device <= 0x226f);
}

pipc__device_role_t pipc__device_role_of(pipc__pci_addr_t addr, int class_code, int vendor,
                                         int device)
{
    if (class_code >> 8 == 0x0604 || class_code >> 8 == 0x0609)
        return PIPC__ROLE_BRIDGE;
    if (class_code >> 16 == 0x03 && display_is_gpu(class_code, vendor, device) &&
        !is_in_the_processor(addr, class_code, vendor))
        return PIPC__ROLE_GPU;
    if (class_code >> 8 == 0x0b40 && coprocessor_is_gpu(vendor, device))
        return PIPC__ROLE_GPU;
    if (class_code >> 8 == 0x1200)
        return PIPC__ROLE_GPU;
    return class_code >> 16 == 0x02 ? PIPC__ROLE_NIC : PIPC__ROLE_OTHER;
}

pipc__device_role_t pipc__device_role(const char *root, const char *dir, const char *name)
{
    int class_code = number(root, dir, "class", 0xffffff);
    pipc__pci_addr_t addr = pipc__topo_nothing_known.addr;

    if (class_code < 0 && pipc__dir_exists(root, "proc/driver/nvidia/gpus/%s", name))
        return PIPC__ROLE_GPU;
    pipc__pci_parse(name, &addr);
    return pipc__device_role_of(addr, class_code, number(root, dir, "vendor", 0xffff),
                                number(root, dir, "device", 0xffff));
}

bool pipc__device_is_virtual(const char *root, const char *dir)
{
    return pipc__dir_exists(root, "%s/physfn", dir);
}

/* Config space, as much of the first 256 bytes as can be read; 0 when it is not a device's. */
static size_t read_config(const char *root, const char *dir, unsigned char config[256])
{
    char text[256 + 1]; /* the reader ends it with a 0 */
    size_t len;

    if (!pipc__file_read(root, text, sizeof(text), &len, "%s/config", dir) || len < 64)
        return 0;
    memcpy(config, text, len);
    return config[0] == 0xff && config[1] == 0xff ? 0 : len; /* all ones: it does not answer */
}

/* Where the Express capability is in @c, with @size bytes of it; 0 when it can't be seen. */
static size_t express(const unsigned char c[256], size_t len, size_t size)
{
    size_t at;

    if (len < 64 || !(c[6] & 0x10)) /* status: has a capability list */
        return 0;
    at = c[0x34] & 0xfcu;
    for (int hops = 0; hops < 48 && at >= 0x40 && at + 4 <= len; hops++) { /* 48 fit; else a loop */
        if (c[at] == 0x10)
            return at + size <= len ? at : 0;
        at = c[at + 1] & 0xfcu;
    }
    return 0;
}

int pipc__device_port(const char *root, const char *dir)
{
    unsigned char c[256];
    size_t at = express(c, read_config(root, dir, c), 4);

    return at ? c[at + 2] >> 4 : PIPC__UNKNOWN;
}

int pipc__device_secondary_bus(const char *root, const char *dir)
{
    unsigned char c[256];
    int bus = number(root, dir, "secondary_bus_number", 255);

    if (bus < 0 && read_config(root, dir, c) && (c[0x0e] & 0x7f) == 1)
        bus = c[0x19];
    return bus > 0 ? bus : PIPC__UNKNOWN; /* 0: not set up */
}

int pipc__link_speed_mts(const char *text)
{
    int mts = 0, fraction = 100;

    if (!isdigit((unsigned char)*text))
        return PIPC__UNKNOWN;
    for (; isdigit((unsigned char)*text) && mts < 1000000; text++)
        mts = mts * 10 + (*text - '0') * 1000;
    if (*text == '.')
        for (text++; isdigit((unsigned char)*text); text++, fraction /= 10)
            mts += (*text - '0') * fraction;
    return strncmp(text, " GT/s", 5) == 0 && mts >= 2500 && mts < 1000000 ? mts : PIPC__UNKNOWN;
}

static int link_speed(const char *root, const char *dir, const char *file)
{
    char text[64];

    return pipc__file_line(root, text, sizeof(text), "%s/%s", dir, file)
               ? pipc__link_speed_mts(text)
               : PIPC__UNKNOWN;
}

int pipc__link_width(int w)
{
    return w == 1 || w == 2 || w == 4 || w == 8 || w == 12 || w == 16 || w == 32 ? w
                                                                                 : PIPC__UNKNOWN;
}

static int link_width(const char *root, const char *dir, const char *file)
{
    return pipc__link_width(number(root, dir, file, 32));
}

/* Speed and width from the low half of a Link Capabilities or Link Status register. */
static void decode_link(const unsigned char *reg, int *speed_mts, int *width)
{
    static const int mts[] = {PIPC__UNKNOWN, 2500, 5000, 8000, 16000, 32000, 64000};
    int word = reg[0] | reg[1] << 8, code = word & 0xf;

    *speed_mts = code < (int)(sizeof(mts) / sizeof(mts[0])) ? mts[code] : PIPC__UNKNOWN;
    *width = pipc__link_width(word >> 4 & 0x3f);
}

static void link_of_config(const char *root, const char *dir, pipc__link_t *link)
{
    unsigned char c[256];
    size_t at = express(c, read_config(root, dir, c), 0x14);

    if (!at)
        return;
    decode_link(c + at + 0x0c, &link->max_speed_mts, &link->max_width);
    decode_link(c + at + 0x12, &link->speed_mts, &link->width);
}

/* The link by the files of sysfs. Config space, which a dump has in their place, is read only where
 * they are missing: on a live machine reading it wakes a device that sleeps. */
static void link_facts(const char *root, const char *dir, pipc__link_t *link)
{
    link->width = link_width(root, dir, "current_link_width");
    link->max_width = link_width(root, dir, "max_link_width");
    link->speed_mts = link_speed(root, dir, "current_link_speed");
    link->max_speed_mts = link_speed(root, dir, "max_link_speed");
    if (link->width < 0 && link->max_width < 0 && link->speed_mts < 0 && link->max_speed_mts < 0)
        link_of_config(root, dir, link);
}

int pipc__numa_of_cpus(const pipc__topo_t *topo, hwloc_const_bitmap_t near)
{
    int found = PIPC__UNKNOWN;

    for (int i = 0; i < topo->nnumas; i++) {
        if (!hwloc_bitmap_intersects(topo->numas[i].cpus, near))
            continue;
        if (found >= 0)
            return PIPC__UNKNOWN;
        found = i;
    }
    return found;
}

/* The CPUs that the kernel calls local to a device; empty when it does not tell. */
static void local_cpus(const char *root, const char *dir, hwloc_bitmap_t set)
{
    char text[PIPC__CPUSET_TEXT_MAX];

    if (pipc__file_line(root, text, sizeof(text), "%s/local_cpulist", dir) &&
        pipc__cpuset_from_list(text, set))
        return;
    if (pipc__file_line(root, text, sizeof(text), "%s/local_cpus", dir) &&
        pipc__cpuset_from_mask(text, set))
        return;
    hwloc_bitmap_zero(set);
}

/* A node that a device names and that sys/devices/system/node does not show, as in a capture of the
 * PCI part alone. The local CPUs of its devices are its CPUs. */
static bool add_named_node(pipc__topo_t *topo, int os_index, hwloc_const_bitmap_t local, int *numa)
{
    hwloc_bitmap_t cpus = pipc__topo_add_numa(topo, os_index);

    if (!cpus || hwloc_bitmap_copy(cpus, local))
        return false;
    *numa = topo->nnumas - 1;
    return true;
}

/* The node that the device names, if it has CPUs; else the one that its local CPUs belong to, which
 * is all that a sparse tree has, and right where numa_node is -1 or names GPU memory. On a machine
 * of one node that is always the one. False without memory. */
static bool find_numa(pipc__topo_t *topo, const char *root, const char *dir, int *numa)
{
    int os_index = number(root, dir, "numa_node", 65535), by_cpus;
    hwloc_bitmap_t local;
    bool ok = true;

    *numa = PIPC__UNKNOWN;
    for (int i = 0; i < topo->nnumas && os_index >= 0; i++)
        if (topo->numas[i].os_index == os_index)
            *numa = i;
    if (*numa >= 0 && !topo->numas[*numa].memory_only)
        return true;
    local = hwloc_bitmap_alloc();
    if (!local)
        return false;
    local_cpus(root, dir, local);
    by_cpus = pipc__numa_of_cpus(topo, local);
    if (by_cpus >= 0)
        *numa = by_cpus;
    else if (*numa < 0 && os_index >= 0)
        ok = add_named_node(topo, os_index, local, numa);
    hwloc_bitmap_free(local);
    return ok;
}

void pipc__make_printable(char *name)
{
    for (char *p = name; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
}

/* The first name, in alphabetical order, in <dir>/<class>/; false when there is none. */
static bool first_name(const char *root, const char *dir, const char *class,
                       char out[PIPC__NAME_MAX])
{
    DIR *d = pipc__dir_open(root, "%s/%s", dir, class);
    const char *name;
    bool found = false;

    while (d && (name = pipc__dir_next(d))) {
        if (!found || strncmp(name, out, PIPC__NAME_MAX - 1) < 0)
            snprintf(out, PIPC__NAME_MAX, "%s", name);
        found = true;
    }
    pipc__dir_close(d);
    if (found)
        pipc__make_printable(out);
    return found;
}

static void nic_facts(const char *root, const char *dir, pipc__topo_obj_t *obj)
{
    bool verbs = first_name(root, dir, "infiniband", obj->netdev);

    if (!verbs)
        first_name(root, dir, "net", obj->netdev);
    /* 0207 InfiniBand and 0208 fabric say it without a driver; Slingshot has a class of its own in
     * sysfs and calls itself Ethernet. */
    obj->rdma = verbs || obj->class_code >> 8 == 0x0207 || obj->class_code >> 8 == 0x0208 ||
                obj->vendor == VENDOR_CRAY;
}

/* The value of "Key: <blanks> value" in the driver's text; false when it is not there. */
static bool driver_value(const char *text, const char *key, char out[PIPC__NAME_MAX])
{
    const char *p = strstr(text, key);

    if (!p)
        return false;
    p += strlen(key);
    p += strspn(p, " \t");
    size_t n = strcspn(p, "\n");
    if (n == 0 || n >= PIPC__NAME_MAX)
        return false;
    memcpy(out, p, n);
    out[n] = '\0';
    return true;
}

static void nvidia_facts(const char *root, pipc__topo_obj_t *obj)
{
    char text[4096], value[PIPC__NAME_MAX], *end;

    if (!pipc__file_read(root, text, sizeof(text), NULL, "proc/driver/nvidia/gpus/%s/information",
                         obj->name))
        return;
    if (driver_value(text, "Device Minor:", value)) {
        long minor = strtol(value, &end, 10);
        if (end != value && minor >= 0 && minor < 65536)
            obj->minor = (int)minor;
    }
    /* Before the device is first opened the driver writes question marks. */
    if (driver_value(text, "GPU UUID:", value) && !strchr(value, '?')) {
        pipc__make_printable(value);
        memcpy(obj->uuid, value, sizeof(value));
    }
}

bool pipc__device_facts(pipc__topo_t *topo, const char *root, const char *dir,
                        pipc__topo_obj_t *obj)
{
    obj->vendor = number(root, dir, "vendor", 0xffff);
    obj->device = number(root, dir, "device", 0xffff);
    obj->class_code = number(root, dir, "class", 0xffffff);
    link_facts(root, dir, &obj->link);
    if (obj->kind == PIPC__TOPO_NIC)
        nic_facts(root, dir, obj);
    if (obj->kind == PIPC__TOPO_GPU)
        nvidia_facts(root, obj);
    return find_numa(topo, root, dir, &obj->numa);
}
