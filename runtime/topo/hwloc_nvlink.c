/* topo/hwloc_nvlink.c - NVLinks from hwloc's matrix NVLinkBandwidth, which its NVML part writes
 *
 * The matrix has MB/s from one object to another. Its objects are GPUs (their NVML devices),
 * NVSwitches (PCI devices) and on POWER the packages, whose links are of no interest here. hwloc
 * counts 20 GB/s a link for NVLink 1, 25 for 2 to 4 and 50 for 5, and does not write which one it
 * is. No GPU has more than 18 links, which tells 5; and 20 is told by what 25 does not divide, or
 * by 4 links of 20 (80).
 */
#include "runtime/topo/hwloc_xml.h"

#include <stdlib.h>

#include "runtime/topo/build.h"

#define LINKS_MAX 18
#define GPUS_MAX 256 /* more are no machine; the pairs are looked at one by one */

typedef struct links {
    const struct hwloc_distances_s *mbps;
    const pipc__topo_t *topo;
    unsigned int n;
    int *gpu; /* of each object of the matrix: its index in topo, or unknown */
} links_t;

/* The PCI device that an object of the matrix is, or is of; NULL: it is none. */
static hwloc_obj_t pci_device(hwloc_obj_t o)
{
    while (o && o->type == HWLOC_OBJ_OS_DEVICE)
        o = o->parent;
    return o && o->type == HWLOC_OBJ_PCI_DEVICE ? o : NULL;
}

static int gpu_of(const pipc__topo_t *topo, hwloc_obj_t o)
{
    hwloc_obj_t pci = pci_device(o);
    int obj = pci ? pipc__topo_by_addr(topo, pipc__hwloc_addr(&pci->attr->pcidev)) : PIPC__UNKNOWN;

    return obj >= 0 && topo->objs[obj].kind == PIPC__TOPO_GPU ? obj : PIPC__UNKNOWN;
}

static uint64_t mbps(const links_t *l, unsigned int from, unsigned int to)
{
    return l->mbps->values[from * l->n + to];
}

/* From @from to @to, or with @to l->n to all NVSwitches: PCI devices that are no GPUs. */
static uint64_t mbps_to(const links_t *l, unsigned int from, unsigned int to)
{
    uint64_t sum = 0;

    if (to < l->n)
        return mbps(l, from, to);
    for (unsigned int i = 0; i < l->n; i++)
        if (l->gpu[i] < 0 && pci_device(l->mbps->objs[i]))
            sum += mbps(l, from, i);
    return sum;
}

/* What a link is counted as. */
static uint64_t mbps_a_link(const links_t *l)
{
    uint64_t unit = 25000;

    for (unsigned int i = 0; i < l->n; i++) {
        uint64_t sum = 0;
        for (unsigned int j = 0; j < l->n && l->gpu[i] >= 0; j++) {
            if (i == j)
                continue;
            sum += mbps(l, i, j);
            if (mbps(l, i, j) % 25000)
                unit = 20000;
        }
        if (sum > (uint64_t)LINKS_MAX * 25000)
            return 50000;
    }
    return unit;
}

static bool add_pairs(const links_t *l, pipc__topo_t *topo)
{
    uint64_t unit = mbps_a_link(l);

    for (unsigned int i = 0; i < l->n; i++)
        for (unsigned int j = 0; j < i; j++) {
            if (l->gpu[i] < 0 || l->gpu[j] < 0 || l->gpu[i] == l->gpu[j])
                continue;
            uint64_t a = mbps_to(l, i, l->n), b = mbps_to(l, j, l->n);
            uint64_t links = (mbps_to(l, i, j) + (a < b ? a : b)) / unit;
            if (links <= LINKS_MAX &&
                !pipc__topo_set_nvlinks(topo, l->gpu[i], l->gpu[j], (int)links))
                return false;
        }
    return true;
}

bool pipc__hwloc_nvlinks(hwloc_topology_t hw, pipc__topo_t *topo)
{
    struct hwloc_distances_s *found = NULL;
    unsigned int n = 1;
    bool ok = true;

    if (hwloc_distances_get_by_name(hw, "NVLinkBandwidth", &n, &found, 0) || n == 0 || !found)
        return true;
    links_t l = {found, topo, found->nbobjs, malloc(sizeof(int) * (found->nbobjs + 1))};
    for (unsigned int i = 0; i < l.n && l.gpu; i++)
        l.gpu[i] = gpu_of(topo, found->objs[i]);
    ok = l.gpu && (l.n > GPUS_MAX || add_pairs(&l, topo));
    free(l.gpu);
    hwloc_distances_release(hw, found);
    return ok;
}
