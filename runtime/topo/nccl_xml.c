/* topo/nccl_xml.c - a tree from NCCL's topology XML: what NCCL wrote to NCCL_TOPO_DUMP_FILE, or
 * what a cloud's machines come with for NCCL_TOPO_FILE
 *
 *     <system version="1">
 *       <cpu numaid="0" affinity="00000000,0000ffff">
 *         <pci busid="0000:18:00.0" class="0x060400" link_speed="16 GT/s" link_width="16">
 *           <pci busid="0000:1b:00.0" class="0x030200" ...><gpu dev="0" .../></pci>
 *           <pci busid="0000:1a:00.0" class="0x020700" ...><nic><net name="mlx5_0"
 * .../></nic></pci>
 *
 * NCCL goes up two ports at a time: a pci with others below it is an upstream port, which is a
 * switch, and neither root ports nor downstream ports are in the file. So it can't tell which
 * devices share a host bridge: each pci right below a cpu gets a host bridge of its own. Its speeds
 * and widths are the most that both ends of a link can do, not the link's state. Ids of switches
 * may be invented
 * ("ffff:ff:01.0").
 */
#include "runtime/topo/build.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/topo/cpuset.h"
#include "runtime/topo/device.h"
#include "runtime/topo/files.h"
#include "runtime/topo/scan.h"
#include "runtime/topo/text.h"
#include "runtime/topo/xml.h"

#define NODES_MAX 4096
#define CPUS_MAX 4096 /* elements */
#define PCI_DEPTH_MAX (PIPC__TOPO_DEPTH_MAX - 4)
#define NVLINKS_MAX 16384
#define NVLINK_GPUS_MAX 256 /* more are no machine; the pairs are looked at one by one */

typedef struct node { /* a <pci> */
    pipc__topo_obj_t facts;
    int parent, line, depth;
    bool gpu, nic; /* has such an element */
    bool pci_below;
} node_t;

typedef struct nvlink {
    pipc__pci_addr_t gpu, target;
    int from, to; /* the same as objects; to unknown: a switch */
    int count;
} nvlink_t;

typedef struct reader {
    pipc__topo_t *topo;
    node_t *nodes;
    int n;
    nvlink_t *nvlinks;
    int nnvlinks;
    int stack[PIPC__XML_DEPTH_MAX + 1]; /* the pci at or above each open element, or unknown */
    int depth;
    int numa;                  /* of the cpu that is open */
    int cpus;                  /* elements so far */
    char host[PIPC__NAME_MAX]; /* which machine the cpus are of */
} reader_t;

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
static pipc_status_t check_host(reader_t *r, const char **attributes, int line, pipc__error_t *err)
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

static pipc_status_t start_cpu(reader_t *r, const char **attributes, int line, pipc__error_t *err)
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

static pipc_status_t start_pci(reader_t *r, const char **attributes, int line, int above,
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
    r->nodes[r->n] = (node_t){.facts = pipc__topo_nothing_known,
                              .parent = above,
                              .line = line,
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

static void start_net(node_t *nic, const char **attributes)
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

static pipc_status_t start_nvlink(reader_t *r, const node_t *gpu, const char **attributes, int line,
                                  pipc__error_t *err)
{
    const char *target = pipc__xml_get(attributes, "target");
    void *nvlinks = r->nvlinks;
    nvlink_t l = {gpu->facts.addr, pipc__topo_nothing_known.addr, PIPC__UNKNOWN, PIPC__UNKNOWN,
                  decimal(pipc__xml_get(attributes, "count"), 1024)};

    if (l.count <= 0 || !target)
        return PIPC_OK;
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
    reader_t *r = user;
    int above = r->stack[r->depth];

    r->stack[++r->depth] = above;
    if (r->depth == 1)
        return start_system(name, line, err);
    if (strcmp(name, "cpu") == 0)
        return start_cpu(r, attributes, line, err);
    if (strcmp(name, "pci") == 0)
        return start_pci(r, attributes, line, above, err);
    if (above < 0) /* a network device that is no PCI device: a virtual machine's, a tunnel */
        return PIPC_OK;
    if (strcmp(name, "gpu") == 0)
        r->nodes[above].gpu = true;
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
    reader_t *r = user;

    r->depth--;
    if (strcmp(name, "cpu") == 0)
        r->numa = PIPC__UNKNOWN;
}

/* ---- from elements to a tree --------------------------------------------------------------- */

/* What it is by its class; what the class does not say, by the elements in it. */
static pipc__part_t part_of(const node_t *n)
{
    pipc__part_t part = pipc__part_of_role(
        pipc__device_role_of(n->facts.class_code, n->facts.vendor, n->facts.device));

    if (n->gpu)
        return PIPC__PART_GPU;
    return part == PIPC__PART_OTHER && n->nic ? PIPC__PART_NIC : part;
}

static bool is_endpoint(const node_t *n)
{
    pipc__part_t part = part_of(n);

    return part == PIPC__PART_GPU || part == PIPC__PART_NIC;
}

static int by_addr(const void *a, const void *b)
{
    const node_t *x = *(const node_t *const *)a, *y = *(const node_t *const *)b;
    int order = pipc__pci_compare(x->facts.addr, y->facts.addr);

    /* Endpoints of one address stand together, and so do all others. */
    if (order == 0)
        order = is_endpoint(x) - is_endpoint(y);
    return order ? order : x->line - y->line;
}

/* A GPU or NIC can't be at two places. Switches can, in files that people have edited: their ids
 * are no more than names there, and what counts is which element stands in which. */
static pipc_status_t refuse_twins(const reader_t *r, const char *path, pipc__error_t *err)
{
    const node_t **sorted = malloc(sizeof(*sorted) * (size_t)(r->n + 1));
    pipc_status_t st = PIPC_OK;

    if (!sorted)
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    for (int i = 0; i < r->n; i++)
        sorted[i] = &r->nodes[i];
    qsort(sorted, (size_t)r->n, sizeof(*sorted), by_addr);
    for (int i = 1; i < r->n && !st; i++)
        if (pipc__pci_compare(sorted[i - 1]->facts.addr, sorted[i]->facts.addr) == 0 &&
            is_endpoint(sorted[i - 1]) && is_endpoint(sorted[i]))
            st = pipc__fail(err, PIPC_ERR_INVALID, "%s: line %d: %s is on line %d already", path,
                            sorted[i]->line, sorted[i]->facts.name, sorted[i - 1]->line);
    free(sorted);
    return st;
}

static pipc_status_t add_devices(reader_t *r, pipc__scan_t *scan, pipc__error_t *err)
{
    for (int i = 0; i < r->n; i++) {
        node_t *n = &r->nodes[i];
        pipc__scan_device_t d = pipc__scan_device(n->facts.addr);
        d.part = part_of(n);
        if (n->pci_below)
            d.port = PIPC__PORT_UPSTREAM;
        d.parent = n->parent;
        n->facts.rdma |= d.part == PIPC__PART_NIC &&
                         (n->facts.class_code >> 8 == 0x0207 || n->facts.class_code >> 8 == 0x0208);
        d.known = &n->facts;
        pipc_status_t st = pipc__scan_append(scan, d, err);
        if (st)
            return st;
    }
    pipc__scan_link(scan);
    return pipc__topo_add_scan(r->topo, scan, err);
}

static void resolve_links(reader_t *r)
{
    const pipc__topo_t *t = r->topo;

    for (int i = 0; i < r->nnvlinks; i++) {
        nvlink_t *l = &r->nvlinks[i];
        l->from = pipc__topo_by_addr(t, l->gpu);
        l->to = pipc__topo_by_addr(t, l->target);
        if (l->to >= 0 && t->objs[l->to].kind != PIPC__TOPO_GPU)
            l->to = PIPC__UNKNOWN;
    }
}

/* The links of @gpu to @other; with @other unknown those to NVSwitches, which are no GPUs. */
static int count_links(const reader_t *r, int gpu, int other)
{
    int links = 0;

    for (int i = 0; i < r->nnvlinks; i++)
        if (r->nvlinks[i].from == gpu && r->nvlinks[i].to == other)
            links += r->nvlinks[i].count;
    return links;
}

/* Every GPU that reaches an NVSwitch reaches every other that does, with the links that both have.
 */
static bool add_nvlinks(reader_t *r)
{
    int gpus[NVLINK_GPUS_MAX], switched[NVLINK_GPUS_MAX];
    int n = pipc__topo_list(r->topo, PIPC__TOPO_GPU, gpus, NVLINK_GPUS_MAX);

    if (r->nnvlinks == 0 || n > NVLINK_GPUS_MAX)
        return true;
    resolve_links(r);
    for (int i = 0; i < n; i++)
        switched[i] = count_links(r, gpus[i], PIPC__UNKNOWN);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++) {
            int links = count_links(r, gpus[i], gpus[j]);
            links += switched[i] < switched[j] ? switched[i] : switched[j];
            if (!pipc__topo_set_nvlinks(r->topo, gpus[i], gpus[j], links))
                return false;
        }
    return true;
}

static pipc_status_t build(reader_t *r, const char *path, pipc__error_t *err)
{
    pipc__scan_t scan = {.root = path, .folder = "", .roots_apart = true};
    pipc_status_t st;

    if (r->n == 0)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: it holds no <pci>", path);
    st = refuse_twins(r, path, err);
    if (!st)
        st = add_devices(r, &scan, err);
    if (!st && !add_nvlinks(r))
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    free(scan.dev);
    return st;
}

pipc_status_t pipc__topo_nccl_xml(pipc__topo_t **topo, const char *path, pipc__error_t *err)
{
    pipc_status_t st = pipc__topo_new(topo, "NCCL XML", err);
    reader_t r = {.topo = *topo, .stack = {PIPC__UNKNOWN}, .numa = PIPC__UNKNOWN};
    const pipc__xml_t xml = {path, start, end, &r};
    size_t len;
    char *text;

    if (st)
        return st;
    st = pipc__text_read(&text, path, &len, err);
    if (!st)
        st = pipc__xml_parse(&xml, text, len, err);
    if (!st)
        st = build(&r, path, err);
    free(text);
    free(r.nodes);
    free(r.nvlinks);
    if (st) {
        pipc__topo_free(*topo);
        *topo = NULL;
    }
    return st;
}
