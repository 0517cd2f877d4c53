/* topo/hwloc_xml.c - a tree from lstopo's XML, by hwloc itself
 *
 * hwloc keeps every bridge, so switches are found by their shape as in a capture without config
 * space. Two things in its XML are no facts of the link as it is:
 *
 * - the link speed of an NVIDIA GPU is what card and slot could do at most (hwloc's NVML part
 * writes the maximum over what config space said), so it is left unknown;
 * - that of others is a bandwidth: 15.75 GB/s is Gen3 x16 as well as Gen4 x8. Speed and width are
 *   told only where no second pair of them gives the same.
 */
#include "runtime/topo/hwloc_xml.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/topo/build.h"
#include "runtime/topo/device.h"
#include "runtime/topo/files.h"
#include "runtime/topo/scan.h"
#include "runtime/topo/text.h"
#include "runtime/topo/xml.h"

#define VENDOR_NVIDIA 0x10de
#define VENDOR_CRAY 0x17db

typedef struct reader {
    hwloc_topology_t hw;
    pipc__topo_t *topo;
    pipc__scan_t scan;
    pipc__topo_obj_t *facts; /* one for each PCI device and bridge; the scan points into it */
    int n, numbered;
} reader_t;

/* ---- reading the text ---------------------------------------------------------------------- */

/* The version that the first element says it has: "3.0"; "" without one, as hwloc 1 wrote it. */
static void version_of(const char *text, char out[16])
{
    const char *tag = strstr(text, "<topology"), *end = tag ? strchr(tag, '>') : NULL;
    const char *v = tag ? strstr(tag, "version=\"") : NULL;

    out[0] = '\0';
    if (v && end && v < end)
        snprintf(out, 16, "%.*s", (int)strcspn(v + 9, "\">"), v + 9);
    pipc__make_printable(out);
}

/* What hwloc, which does not tell, may have against the text. */
static pipc_status_t refused(const char *path, const char *text, pipc__error_t *err)
{
    unsigned int here = hwloc_get_api_version();
    char version[16];

    version_of(text, version);
    if (!strstr(text, "<topology"))
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: not hwloc's XML: it has no <topology>%s",
                          path,
                          strstr(text, "<system") ? "; NCCL's XML is read with --nccl-xml" : "");
    if (strtoul(version, NULL, 10) > here >> 16)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "%s: hwloc XML of version %s, which the hwloc here (API %u.%u) can't "
                          "read; let lstopo write it with --export-xml-flags 2",
                          path, version, here >> 16, here >> 8 & 0xff);
    return pipc__fail(
        err, PIPC_ERR_INVALID,
        "%s: the hwloc here (API %u.%u) can't make a topology of it (version %s); is it "
        "as lstopo wrote it?",
        path, here >> 16, here >> 8 & 0xff, version[0] ? version : "1");
}

/* Let hwloc fill @hw; false when it does not like the text. */
static bool hwloc_loads(hwloc_topology_t hw, const char *text, size_t len)
{
    return !hwloc_topology_set_xmlbuffer(hw, text, (int)len + 1) &&
           !hwloc_topology_set_flags(hw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) &&
           !hwloc_topology_set_io_types_filter(hw, HWLOC_TYPE_FILTER_KEEP_ALL) &&
           !hwloc_topology_load(hw);
}

/* What happens when hwloc reads the text, in a process that may die of it. Never returns. */
static void try_in_child(const char *text, size_t len)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    const struct rlimit no_core = {0, 0}, cpu = {30, 30};
    hwloc_topology_t hw;

    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
        signal(signals[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &no_core);
    setrlimit(RLIMIT_CPU, &cpu);
    _exit(hwloc_topology_init(&hw) || !hwloc_loads(hw, text, len));
}

/* Can hwloc read the text? It trusts it: with some that are damaged it crashes (hwloc 2.9, where
 * sets of CPUs are missing or a normal object stands below a device), and a tool must not. */
static bool hwloc_can_read(const char *text, size_t len)
{
    pid_t pid = fork();
    int status = 0;

    if (pid == 0)
        try_in_child(text, len);
    if (pid < 0)
        return true; /* no process to be had: then in this one */
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return true; /* somebody else took the status (SIGCHLD ignored) */
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static pipc_status_t load(hwloc_topology_t hw, const char *path, pipc__error_t *err)
{
    const pipc__xml_t look = {.path = path};
    size_t len;
    char *text;
    pipc_status_t st = pipc__text_read(&text, path, &len, err);

    if (st)
        return st;
    /* hwloc says no more than that it failed: let the other parser name the line. */
    if (pipc__xml_can_parse())
        st = pipc__xml_parse(&look, text, len, err);
    else if (strstr(text, "<!ENTITY"))
        st = pipc__fail(err, PIPC_ERR_INVALID, "%s: it defines entities, which no topology needs",
                        path);
    if (!st && (!hwloc_can_read(text, len) || !hwloc_loads(hw, text, len)))
        st = refused(path, text, err);
    free(text);
    return st;
}

/* ---- NUMA nodes and cores ------------------------------------------------------------------ */

/* Where memory of a GPU, fast memory beside the CPUs or CXL memory is a node, hwloc gives it the
 * CPUs that it is near to: the first node that has a CPU is the one where the CPU is. */
static bool memory_only(const pipc__topo_t *topo, hwloc_obj_t node)
{
    if (hwloc_bitmap_iszero(node->cpuset) || (node->subtype && !strcmp(node->subtype, "GPUMemory")))
        return true;
    for (int i = 0; i < topo->nnumas; i++)
        if (hwloc_bitmap_intersects(topo->numas[i].cpus, node->cpuset))
            return true;
    return false;
}

static bool add_cpus(reader_t *r)
{
    unsigned int index;

    hwloc_bitmap_foreach_begin(index, hwloc_topology_get_complete_nodeset(r->hw))
    {
        hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(r->hw, index);
        if (!node)
            continue;
        bool memory = memory_only(r->topo, node);
        hwloc_bitmap_t cpus = pipc__topo_add_numa(r->topo, (int)index);
        if (!cpus || (!memory && hwloc_bitmap_copy(cpus, node->cpuset)))
            return false;
        r->topo->numas[r->topo->nnumas - 1].memory_only = memory;
    }
    hwloc_bitmap_foreach_end();
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(r->hw, HWLOC_OBJ_CORE, o));) {
        hwloc_bitmap_t core = pipc__topo_add_core(r->topo);
        if (!core || hwloc_bitmap_copy(core, o->cpuset))
            return false;
    }
    return true;
}

/* ---- devices ------------------------------------------------------------------------------- */

static void keep_first(char out[PIPC__NAME_MAX], const char *name)
{
    if (out[0] && strncmp(name, out, PIPC__NAME_MAX - 1) >= 0)
        return;
    snprintf(out, PIPC__NAME_MAX, "%s", name);
    pipc__make_printable(out);
}

/* What the operating system's devices of a PCI device tell. */
static void os_facts(hwloc_obj_t pci, pipc__topo_obj_t *o)
{
    char net[PIPC__NAME_MAX] = "", verbs[PIPC__NAME_MAX] = "";

    for (hwloc_obj_t os = pci->io_first_child; os; os = os->next_sibling) {
        if (os->type != HWLOC_OBJ_OS_DEVICE)
            continue;
        const char *uuid = hwloc_obj_get_info_by_name(os, "NVIDIAUUID");
        if (os->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS && os->name)
            keep_first(verbs, os->name);
        if (os->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK && os->name)
            keep_first(net, os->name);
        if (uuid)
            keep_first(o->uuid, uuid);
    }
    snprintf(o->netdev, sizeof(o->netdev), "%s", verbs[0] ? verbs : net);
    o->rdma = verbs[0] || o->class_code >> 8 == 0x0207 || o->class_code >> 8 == 0x0208 ||
              o->vendor == VENDOR_CRAY;
}

/* Speed and width from GB/s, where only one pair gives them. */
static void link_of_bandwidth(double gb_per_s, pipc__link_t *link)
{
    static const struct {
        int mts;
        double gb_per_lane;
    } speeds[] = {{2500, .25},
                  {5000, .5},
                  {8000, 8. * 128 / 130 / 8},
                  {16000, 2. * 128 / 130},
                  {32000, 4. * 128 / 130},
                  {64000, 8. * 242 / 256}};
    int found = 0;

    for (size_t s = 0; s < sizeof(speeds) / sizeof(speeds[0]); s++)
        for (int width = 1; width <= 16; width *= 2) {
            double off = speeds[s].gb_per_lane * width / gb_per_s - 1;
            if (off < -.01 || off > .01)
                continue;
            link->speed_mts = found ? PIPC__UNKNOWN : speeds[s].mts;
            link->width = found ? PIPC__UNKNOWN : width;
            found++;
        }
}

pipc__pci_addr_t pipc__hwloc_addr(const struct hwloc_pcidev_attr_s *a)
{
    return (pipc__pci_addr_t){(int)(a->domain & 0x7fffffff), a->bus, a->dev, a->func};
}

/* The PCI side of a device or bridge; NULL for a host bridge and what is no PCI object. */
static const struct hwloc_pcidev_attr_s *pci_of(hwloc_obj_t o)
{
    if (o && o->type == HWLOC_OBJ_PCI_DEVICE)
        return &o->attr->pcidev;
    if (o && o->type == HWLOC_OBJ_BRIDGE && o->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI)
        return &o->attr->bridge.upstream.pci;
    return NULL;
}

/* Devices and bridges are numbered from 1 in the order in which they are added: by their place in
 * hwloc's tree, not by their address, which need not be unique. 0: it is none. */
static int number_of(hwloc_obj_t o)
{
    return pci_of(o) ? (int)(intptr_t)o->userdata : 0;
}

static void number(reader_t *r, hwloc_obj_t o)
{
    if (pci_of(o))
        o->userdata = (void *)(intptr_t)++r->numbered;
}

static pipc_status_t add_pci(reader_t *r, hwloc_obj_t obj, pipc__error_t *err)
{
    const struct hwloc_pcidev_attr_s *a = pci_of(obj);
    hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(r->hw, obj);
    pipc__topo_obj_t *o;

    if (!a)
        return PIPC_OK;
    o = &r->facts[r->n++];
    *o = pipc__topo_nothing_known;
    o->vendor = a->vendor_id;
    o->device = a->device_id;
    o->class_code = a->class_id << 8;
    if (near && near->cpuset)
        o->numa = pipc__numa_of_cpus(r->topo, near->cpuset);
    if (a->linkspeed > 0 && (obj->type == HWLOC_OBJ_BRIDGE || o->vendor != VENDOR_NVIDIA))
        link_of_bandwidth((double)a->linkspeed, &o->link);
    pipc__scan_device_t d = pipc__scan_device(pipc__hwloc_addr(a));
    d.part = pipc__part_of_role(
        pipc__device_role_of(pipc__hwloc_addr(a), o->class_code, o->vendor, o->device));
    if (obj->type == HWLOC_OBJ_BRIDGE)
        d.part = PIPC__PART_BRIDGE;
    if (d.part == PIPC__PART_GPU || d.part == PIPC__PART_NIC)
        os_facts(obj, o);
    d.parent = number_of(obj->parent) - 1;
    d.known = o;
    return pipc__scan_append(&r->scan, d, err);
}

static pipc_status_t add_devices(reader_t *r, const char *path, pipc__error_t *err)
{
    int n = hwloc_get_nbobjs_by_type(r->hw, HWLOC_OBJ_PCI_DEVICE) +
            hwloc_get_nbobjs_by_type(r->hw, HWLOC_OBJ_BRIDGE);
    pipc_status_t st = PIPC_OK;

    r->facts = calloc((size_t)n + 1, sizeof(*r->facts));
    if (!r->facts)
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_bridge(r->hw, o));)
        number(r, o);
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_pcidev(r->hw, o));)
        number(r, o);
    for (hwloc_obj_t o = NULL; !st && (o = hwloc_get_next_bridge(r->hw, o));)
        st = add_pci(r, o, err);
    for (hwloc_obj_t o = NULL; !st && (o = hwloc_get_next_pcidev(r->hw, o));)
        st = add_pci(r, o, err);
    if (!st) {
        pipc__scan_link(&r->scan);
        st = pipc__topo_add_scan(r->topo, &r->scan, err);
    }
    if (!st && !pipc__hwloc_nvlinks(r->hw, r->topo))
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    return st;
}

pipc_status_t pipc__topo_hwloc_xml(pipc__topo_t **topo, const char *path, pipc__error_t *err)
{
    reader_t r = {.scan = {.root = path, .folder = ""}};
    pipc_status_t st = pipc__topo_new(topo, "hwloc XML", err);

    r.topo = *topo;
    if (!st && hwloc_topology_init(&r.hw))
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    if (!st)
        st = load(r.hw, path, err);
    if (!st && !add_cpus(&r))
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    if (!st)
        st = add_devices(&r, path, err);
    free(r.scan.dev);
    free(r.facts);
    if (r.hw)
        hwloc_topology_destroy(r.hw);
    if (st) {
        pipc__topo_free(*topo);
        *topo = NULL;
    }
    return st;
}
