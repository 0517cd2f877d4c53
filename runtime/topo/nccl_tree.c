/* topo/nccl_tree.c - see nccl_xml.h
 *
 * NCCL goes up two ports at a time: a pci with others below it is an upstream port, which is a
 * switch, and neither root ports nor downstream ports are in the file. So it can't tell which
 * devices share a host bridge: each pci right below a cpu gets a host bridge of its own. Ids of
 * switches may be invented ("ffff:ff:01.0").
 */
#include "runtime/topo/nccl_xml.h"

#include <stdlib.h>

#include "runtime/topo/build.h"
#include "runtime/topo/device.h"
#include "runtime/topo/scan.h"

#define NVLINK_GPUS_MAX 256 /* more are no machine; the pairs are looked at one by one */

/* What it is by its class; what the class does not say, by the elements in it. */
static pipc__part_t part_of(const pipc__nccl_pci_t *n)
{
    pipc__part_t part = pipc__part_of_role(
        pipc__device_role_of(n->facts.addr, n->facts.class_code, n->facts.vendor, n->facts.device));

    if (n->gpu)
        return PIPC__PART_GPU;
    return part == PIPC__PART_OTHER && n->nic ? PIPC__PART_NIC : part;
}

static bool is_endpoint(const pipc__nccl_pci_t *n)
{
    pipc__part_t part = part_of(n);

    return part == PIPC__PART_GPU || part == PIPC__PART_NIC;
}

static int by_addr(const void *a, const void *b)
{
    const pipc__nccl_pci_t *x = *(const pipc__nccl_pci_t *const *)a,
                           *y = *(const pipc__nccl_pci_t *const *)b;
    int order = pipc__pci_compare(x->facts.addr, y->facts.addr);

    /* Endpoints of one address stand together, and so do all others. */
    if (order == 0)
        order = is_endpoint(x) - is_endpoint(y);
    return order ? order : x->line - y->line;
}

/* A GPU or NIC can't be at two places. Switches can, in files that people have edited: their ids
 * are no more than names there, and what counts is which element stands in which. */
static pipc_status_t refuse_twins(const pipc__nccl_xml_t *r, const char *path, pipc__error_t *err)
{
    const pipc__nccl_pci_t **sorted = malloc(sizeof(*sorted) * (size_t)(r->n + 1));
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

/* Files that a cloud gives for NCCL_TOPO_FILE may hold ids alone, for NCCL asks the machine for
 * what it does not find. They say where devices are, not which. */
static pipc_status_t refuse_nameless(const pipc__nccl_xml_t *r, const char *path,
                                     pipc__error_t *err)
{
    int nameless = 0;

    for (int i = 0; i < r->n; i++) {
        if (is_endpoint(&r->nodes[i]))
            return PIPC_OK;
        nameless += !r->nodes[i].pci_below && r->nodes[i].facts.class_code < 0;
    }
    if (nameless == 0)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_INVALID,
                      "%s: it has no class of any device, and NCCL asks the machine for them; read "
                      "what NCCL writes there to NCCL_TOPO_DUMP_FILE",
                      path);
}

static pipc_status_t add_devices(pipc__nccl_xml_t *r, pipc__scan_t *scan, pipc__error_t *err)
{
    for (int i = 0; i < r->n; i++) {
        pipc__nccl_pci_t *n = &r->nodes[i];
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

static void resolve_links(pipc__nccl_xml_t *r)
{
    const pipc__topo_t *t = r->topo;

    for (int i = 0; i < r->nnvlinks; i++) {
        pipc__nccl_nvlink_t *l = &r->nvlinks[i];
        l->from = pipc__topo_by_addr(t, l->gpu);
        l->to = pipc__topo_by_addr(t, l->target);
        if (l->to >= 0 && t->objs[l->to].kind != PIPC__TOPO_GPU)
            l->to = PIPC__UNKNOWN;
        if (l->to < 0 && l->to_gpu) /* a GPU that the file does not hold */
            l->count = 0;
    }
}

/* The links of @gpu to @other; with @other unknown those to NVSwitches, which are no GPUs. */
static int count_links(const pipc__nccl_xml_t *r, int gpu, int other)
{
    int links = 0;

    for (int i = 0; i < r->nnvlinks; i++)
        if (r->nvlinks[i].from == gpu && r->nvlinks[i].to == other)
            links += r->nvlinks[i].count;
    return links;
}

/* Every GPU that reaches an NVSwitch reaches every other that does, with the links that both have.
 */
static bool add_nvlinks(pipc__nccl_xml_t *r)
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

pipc_status_t pipc__nccl_tree(pipc__nccl_xml_t *r, const char *path, pipc__error_t *err)
{
    pipc__scan_t scan = {.root = path, .folder = "", .roots_apart = true};
    pipc_status_t st;

    if (r->n == 0)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s: it holds no <pci>", path);
    st = refuse_twins(r, path, err);
    if (!st)
        st = refuse_nameless(r, path, err);
    if (!st)
        st = add_devices(r, &scan, err);
    if (!st && (!pipc__topo_guess_cores(r->topo) || !add_nvlinks(r)))
        st = pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", path);
    free(scan.dev);
    return st;
}
