/* topo/nccl_xml.c - a tree from NCCL's topology XML: what NCCL wrote to NCCL_TOPO_DUMP_FILE, or
 * what a cloud's machines come with for NCCL_TOPO_FILE
 *
 *     <system version="1">
 *       <cpu numaid="0" affinity="00000000,0000ffff">
 *         <pci busid="0000:18:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
 *           <pci busid="0000:1b:00.0" class="0x030200" ...><gpu dev="0" .../></pci>
 *           <pci busid="0000:1a:00.0" class="0x020700" ...><nic><net name="mlx5_0".../></nic></pci>
 *
 * Its speeds and widths are the most that both ends of a link can do, not the link's state.
 */
#include "runtime/topo/nccl_xml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topo/build.h"
#include "runtime/topo/cpuset.h"
#include "runtime/topo/device.h"
#include "runtime/topo/files.h"
#include "runtime/topo/text.h"

#define NODES_MAX 4096
#define CPUS_MAX 4096 /* elements */
#define PCI_DEPTH_MAX (PIPC__TOPO_DEPTH_MAX - 4)
#define NVLINKS_MAX 16384

/* Room for one more in an array of @n; doubles as topo.c's does. */
static bool grow(void **array, int n, size_t size)
{
    void *more;

    if (n & (n - 1))
        return true;
    more = realloc(*array, (n ? 2 * (size_t)n : 1) * size);
    if (more)
        *array = more;
    return more != NULL;
}

static pipc_status_t no_memory(pipc__error_t *err)
{
    return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
}

/* ---- elements ------------------------------------------------------------------------------ */

/* "0x10de" of at most @digits, absent or empty: unknown. NCCL compares classes by their beginning,
 * so that "0x03" means 0x030000: with @pad short ones are filled up. */
static pipc_status_t hex(const char **attributes, const char *name, int digits, bool pad, int line,
                         int *out, pipc__error_t *err)
{
    const char *text = pipc__xml_get(attributes, name);
    int n;

    *out = PIPC__UNKNOWN;
    if (!text || !*text)
        return PIPC_OK;
    const char *p = text + (strncmp(text, "0x", 2) == 0 ? 2 : 0);
    n = (int)strspn(p, "0123456789abcdefABCDEF");
    if (n == 0 || n > digits || p[n])
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "line %d: %s=\"%.40s\": not a number of %d hex digits", line, name, text,
                          digits);
    *out = (int)strtoul(p, NULL, 16);
    if (pad)
        *out <<= 4 * (digits - n);
    return PIPC_OK;
}

static int decimal(const char *text, int max)
{
    char *end;
    long v;

    if (!text || !isdigit((unsigned char)*text))
        return PIPC__UNKNOWN;
    v = strtol(text, &end, 10);
    return *end || v > max ? PIPC__UNKNOWN : (int)v;
}

static pipc_status_t start_system(const char *name, int line, pipc__error_t *err)
{
    if (strcmp(name, "system") == 0)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_INVALID, "line %d: <%.40s>, where NCCL's XML has <system>%s",
                      line, name,
                      strcmp(name, "topology") ? "" : "; hwloc's XML is read with --hwloc-xml");
}

/* NCCL can write the XML of all machines of an NVLink domain into one file. */
static pipc_status_t check_host(pipc__nccl_xml_t *r, const char **attributes, int line,
                                pipc__error_t *err)
{
    const char *host = pipc__xml_get(attributes, "host_hash");

    if (!host)
        return PIPC_OK;
    if (r->host[0] && strncmp(r->host, host, sizeof(r->host) - 1))
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "line %d: <cpu> of a second machine (host_hash); one machine at a time",
                          line);
    snprintf(r->host, sizeof(r->host), "%s", host);
    return PIPC_OK;
}

static pipc_status_t start_cpu(pipc__nccl_xml_t *r, const char **attributes, int line,
                               pipc__error_t *err)
{
    const char *id = pipc__xml_get(attributes, "numaid");
    const char *affinity = pipc__xml_get(attributes, "affinity");
    int os_index = decimal(id, 65535);
    hwloc_bitmap_t cpus;
    pipc_status_t st = PIPC_OK;

    r->numa = PIPC__UNKNOWN;
    if (check_host(r, attributes, line, err))
        return PIPC_ERR_INVALID;
    if (++r->cpus > CPUS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "line %d: more than %d <cpu>", line, CPUS_MAX);
    if (id && *id && os_index < 0 && strcmp(id, "-1"))
        return pipc__fail(err, PIPC_ERR_INVALID, "line %d: numaid=\"%.40s\": not a NUMA node", line,
                          id);
    if (os_index < 0)
        return PIPC_OK;
    for (int i = 0; i < r->topo->nnumas; i++)
        if (r->topo->numas[i].os_index == os_index)
            r->numa = i;
    cpus = hwloc_bitmap_alloc();
    if (!cpus || (r->numa < 0 && !pipc__topo_add_numa(r->topo, os_index)))
        st = no_memory(err);
    else if (affinity && !pipc__cpuset_from_mask(affinity, cpus))
        st = pipc__fail(err, PIPC_ERR_INVALID, "line %d: affinity=\"%.40s\": not a mask of CPUs",
                        line, affinity);
    if (!st && r->numa < 0)
        r->numa = r->topo->nnumas - 1;
    if (!st && hwloc_bitmap_or(r->topo->numas[r->numa].cpus, r->topo->numas[r->numa].cpus, cpus))
        st = no_memory(err);
    hwloc_bitmap_free(cpus);
    return st;
}

static pipc_status_t start_pci(pipc__nccl_xml_t *r, const char **attributes, int line, int above,
                               pipc__error_t *err)
{
    const char *busid = pipc__xml_get(attributes, "busid");
    const char *speed = pipc__xml_get(attributes, "link_speed");
    void *nodes = r->nodes;
    pipc__pci_addr_t addr;
    pipc__topo_obj_t *o;

    if (!busid || !pipc__pci_parse(busid, &addr))
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "line %d: <pci> busid=\"%.40s\": not a PCI address", line,
                          busid ? busid : "");
    if (above >= 0 && r->nodes[above].depth == PCI_DEPTH_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "line %d: <pci> %.40s: nested deeper than %d",
                          line, busid, PCI_DEPTH_MAX);
    if (r->n == NODES_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "line %d: more than %d devices", line, NODES_MAX);
    if (!grow(&nodes, r->n, sizeof(*r->nodes)))
        return no_memory(err);
    r->nodes = nodes;
    r->nodes[r->n] = (pipc__nccl_pci_t){.facts = pipc__topo_nothing_known,
                                        .parent = above,
                                        .line = line,
                                        .dev = PIPC__UNKNOWN,
                                        .depth = above >= 0 ? r->nodes[above].depth + 1 : 1};
    o = &r->nodes[r->n].facts;
    pipc__topo_set_addr(o, addr);
    o->numa = r->numa;
    o->link.max_speed_mts = speed ? pipc__link_speed_mts(speed) : PIPC__UNKNOWN;
    o->link.max_width = pipc__link_width(decimal(pipc__xml_get(attributes, "link_width"), 1024));
    if (above >= 0)
        r->nodes[above].pci_below = true;
    r->stack[r->depth] = r->n++;
    if (hex(attributes, "class", 6, true, line, &o->class_code, err) ||
        hex(attributes, "vendor", 4, false, line, &o->vendor, err))
        return PIPC_ERR_INVALID;
    return hex(attributes, "device", 4, false, line, &o->device, err);
}

/* Names that the kernel's RDMA drivers give; NCCL also lists plain network devices. */
static bool is_rdma_name(const char *name)
{
    static const char *const starts[] = {"mlx",  "bnxt_re", "irdma", "hfi",   "qedr", "efa",
                                         "rdma", "roce",    "ib",    "erdma", "hns_", "cxi"};

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

static void start_net(pipc__nccl_pci_t *nic, const char **attributes)
{
    const char *name = pipc__xml_get(attributes, "name");
    pipc__topo_obj_t *o = &nic->facts;

    nic->nic = true;
    if (!name || (o->netdev[0] && strncmp(name, o->netdev, PIPC__NAME_MAX - 1) >= 0))
        return;
    snprintf(o->netdev, sizeof(o->netdev), "%s", name);
    pipc__make_printable(o->netdev);
    o->rdma = is_rdma_name(o->netdev);
}

/* One <gpu> a <pci>, or one for each rank or part (mlopart) of it: these have the same number. */
static pipc_status_t start_gpu(pipc__nccl_pci_t *pci, const char **attributes, int line,
                               pipc__error_t *err)
{
    int dev = decimal(pipc__xml_get(attributes, "dev"), 65535);

    if (pci->gpu && pci->dev != dev)
        return pipc__fail(
            err, PIPC_ERR_INVALID,
            "line %d: <gpu>: %s on line %d holds another GPU already; each has a <pci> "
            "of its own",
            line, pci->facts.name, pci->line);
    pci->gpu = true;
    pci->dev = dev;
    return PIPC_OK;
}

/* What a link leads to, by the class that NCCL notes: 0x03... or 0x12... is a GPU, which need not
 * be in the file, since a program may see a part of them; 0x068001 is a CPU of POWER9; all else are
 * NVSwitches. */
static pipc_status_t start_nvlink(pipc__nccl_xml_t *r, const pipc__nccl_pci_t *gpu,
                                  const char **attributes, int line, pipc__error_t *err)
{
    const char *target = pipc__xml_get(attributes, "target");
    const char *class = pipc__xml_get(attributes, "tclass");
    void *nvlinks = r->nvlinks;
    pipc__nccl_nvlink_t l = {.gpu = gpu->facts.addr,
                             .target = pipc__topo_nothing_known.addr,
                             .from = PIPC__UNKNOWN,
                             .to = PIPC__UNKNOWN,
                             .count = decimal(pipc__xml_get(attributes, "count"), 1024)};

    if (l.count <= 0 || !target || (class && strcmp(class, "0x068001") == 0))
        return PIPC_OK;
    l.to_gpu = class && (strncmp(class, "0x03", 4) == 0 || strncmp(class, "0x12", 4) == 0);
    if (!pipc__pci_parse(target, &l.target)) /* a switch may have any name */
        l.target = pipc__topo_nothing_known.addr;
    if (r->nnvlinks == NVLINKS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "line %d: more than %d NVLinks", line,
                          NVLINKS_MAX);
    if (!grow(&nvlinks, r->nnvlinks, sizeof(*r->nvlinks)))
        return no_memory(err);
    r->nvlinks = nvlinks;
    r->nvlinks[r->nnvlinks++] = l;
    return PIPC_OK;
}

static pipc_status_t start(void *user, const char *name, const char **attributes, int line,
                           pipc__error_t *err)
{
    pipc__nccl_xml_t *r = user;
    int above = r->stack[r->depth];

    r->stack[++r->depth] = above;
    if (r->depth == 1)
        return start_system(name, line, err);
    if (strcmp(name, "cpu") == 0)
        return start_cpu(r, attributes, line, err);
    if (strcmp(name, "pci") == 0)
        return start_pci(r, attributes, line, above, err);
    if (above < 0 && strcmp(name, "gpu") == 0)
        return pipc__fail(err, PIPC_ERR_INVALID, "line %d: <gpu> that is in no <pci>", line);
    if (above < 0) /* a network device that is no PCI device: a virtual machine's, a tunnel */
        return PIPC_OK;
    if (strcmp(name, "gpu") == 0)
        return start_gpu(&r->nodes[above], attributes, line, err);
    if (strcmp(name, "nic") == 0)
        r->nodes[above].nic = true;
    if (strcmp(name, "net") == 0)
        start_net(&r->nodes[above], attributes);
    if (strcmp(name, "nvlink") == 0)
        return start_nvlink(r, &r->nodes[above], attributes, line, err);
    return PIPC_OK;
}

static void end(void *user, const char *name)
{
    pipc__nccl_xml_t *r = user;

    r->depth--;
    if (strcmp(name, "cpu") == 0)
        r->numa = PIPC__UNKNOWN;
}

pipc_status_t pipc__topo_nccl_xml(pipc__topo_t **topo, const char *path, pipc__error_t *err)
{
    pipc_status_t st = pipc__topo_new(topo, "NCCL XML", err);
    pipc__nccl_xml_t r = {.topo = *topo, .stack = {PIPC__UNKNOWN}, .numa = PIPC__UNKNOWN};
    const pipc__xml_t xml = {path, start, end, &r};
    size_t len;
    char *text;

    if (st)
        return st;
    st = pipc__text_read(&text, path, &len, err);
    if (!st)
        st = pipc__xml_parse(&xml, text, len, err);
    if (!st)
        st = pipc__nccl_tree(&r, path, err);
    free(text);
    free(r.nodes);
    free(r.nvlinks);
    if (st) {
        pipc__topo_free(*topo);
        *topo = NULL;
    }
    return st;
}
