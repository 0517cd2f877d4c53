/* bind/map.c - bind:map: an explicit list
 *
 * The list counts the GPUs in PCI bus order, as CUDA does under CUDA_DEVICE_ORDER=PCI_BUS_ID and
 * nvidia-smi: whoever writes a map by hand has one of these in front of him. Not in tree order,
 * which may follow NUMA nodes.
 */
#include "runtime/bind/parts.h"

static bool before(const pipc__topo_t *topo, int a, int b)
{
    const pipc__pci_addr_t x = topo->objs[a].addr, y = topo->objs[b].addr;
    const int p[] = {x.domain < 0, x.domain, x.bus, x.device, x.function, a};
    const int q[] = {y.domain < 0, y.domain, y.bus, y.device, y.function, b};

    for (size_t i = 0; i < sizeof(p) / sizeof(p[0]); i++)
        if (p[i] != q[i])
            return p[i] < q[i];
    return false;
}

/* Those without an address stand at the end, in tree order. */
static void sort(const pipc__topo_t *topo, int *gpus, int n)
{
    for (int i = 1; i < n; i++) {
        int gpu = gpus[i], at = i;
        for (; at > 0 && before(topo, gpu, gpus[at - 1]); at--)
            gpus[at] = gpus[at - 1];
        gpus[at] = gpu;
    }
}

static void add(pipc__binding_t *b, int gpu)
{
    for (int i = 0; i < b->norder; i++)
        if (b->order[i] == gpu)
            return;
    b->order[b->norder++] = gpu;
}

pipc_status_t pipc__bind_map(const pipc__topo_t *topo, const pipc__bind_request_t *req,
                             pipc__binding_t *out, pipc__error_t *err)
{
    int sorted[PIPC__BIND_MAX], n = out->norder, used = req->nranks;

    if (req->nmap < 1 || req->nmap > PIPC__BIND_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID, "bind:map: %d entries; 1 to %d can be given",
                          req->nmap, PIPC__BIND_MAX);
    if (used > req->nmap || used == 1) /* one task hands its GPUs on to its workers */
        used = req->nmap;
    for (int i = 0; i < n; i++)
        sorted[i] = out->order[i];
    sort(topo, sorted, n);
    out->norder = 0;
    for (int i = 0; i < used; i++) {
        if (req->map[i] < 0 || req->map[i] >= n)
            return pipc__fail(err, PIPC_ERR_INVALID,
                              "bind:map: no GPU %d; the step has %d here, counted from 0 to %d in "
                              "bus order",
                              req->map[i], n, n - 1);
        add(out, sorted[req->map[i]]);
    }
    for (int i = 0; i < n; i++)
        add(out, sorted[i]);
    for (int r = 0; r < out->nranks; r++) {
        out->rank[r].gpu = sorted[req->map[r % req->nmap]];
        out->crossed |= out->rank[r].gpu != out->order[r % n];
    }
    return PIPC_OK;
}
