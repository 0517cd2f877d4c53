/* tools/topo/nvml.c - see nvml.h */
#include "runtime/tools/topo/nvml.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/ask.h"
#include "runtime/topo/build.h"

#define VENDOR_NVIDIA 0x10de
#define GPUS_MAX 64
#define LINKS_MAX 36 /* of a GPU; more than any has so far */

/* The part of NVML's interface that is used; it is stable, and no header of it is needed to build.
 */
enum { NVML_SUCCESS = 0, NVML_P2P_CAPS_INDEX_NVLINK = 2, NVML_P2P_STATUS_OK = 0 };

typedef struct nvml_pci_info {
    char bus_id_legacy[16];
    unsigned int domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
    char reserve[128]; /* in case a later version is longer */
} nvml_pci_info_t;

typedef struct nvml {
    int (*init)(void);
    int (*by_bus_id)(const char *bus_id, void **device);
    int (*link_state)(void *device, unsigned int link, int *active);
    int (*link_remote)(void *device, unsigned int link, nvml_pci_info_t *remote);
    int (*p2p_status)(void *a, void *b, int index, int *status);
} nvml_t;

typedef struct record {
    int a, b, links; /* objects */
} record_t;

typedef struct question {
    const pipc__topo_t *topo;
    const char *library;
} question_t;

/* What a GPU says of its links: how many lead to each of the others, and how many elsewhere, which
 * is an NVSwitch or what a virtual machine hides. */
typedef struct gpu {
    int obj;
    void *device;
    int to[GPUS_MAX], elsewhere;
    bool told;
} gpu_t;

/* ---- the child ------------------------------------------------------------------------------ */

static bool open_nvml(const char *library, nvml_t *nvml)
{
    static const char *const names[] = {
        "nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetNvLinkState",
        "nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlDeviceGetP2PStatus"};
    void *functions[5];

    _Static_assert(sizeof(functions) == sizeof(*nvml), "one pointer a function");
    if (!pipc__ask_open(library, names, 5, 5, functions))
        return false;
    memcpy(nvml, functions, sizeof(*nvml));
    return nvml->init() == NVML_SUCCESS;
}

/* NVIDIA GPUs that NVML knows; the others it can't be asked about. */
static int find_gpus(const nvml_t *nvml, const pipc__topo_t *topo, gpu_t *gpus)
{
    int n = 0;

    for (int i = 0; i < topo->nobjs && n < GPUS_MAX; i++) {
        const pipc__topo_obj_t *o = &topo->objs[i];
        if (o->kind != PIPC__TOPO_GPU || o->vendor != VENDOR_NVIDIA || o->addr.domain < 0)
            continue;
        memset(&gpus[n], 0, sizeof(gpus[n]));
        gpus[n].obj = i;
        if (nvml->by_bus_id(o->name, &gpus[n].device) == NVML_SUCCESS)
            n++;
    }
    return n;
}

static void count_links(const nvml_t *nvml, const pipc__topo_t *topo, gpu_t *gpus, int n, gpu_t *g)
{
    for (unsigned int link = 0; link < LINKS_MAX; link++) {
        nvml_pci_info_t remote = {.bus_id = ""};
        pipc__pci_addr_t addr;
        int active = 0, obj = PIPC__UNKNOWN, k = n;
        if (nvml->link_state(g->device, link, &active) != NVML_SUCCESS)
            continue;
        g->told = true;
        if (!active)
            continue;
        if (nvml->link_remote(g->device, link, &remote) == NVML_SUCCESS &&
            pipc__pci_parse(remote.bus_id, &addr))
            obj = pipc__topo_by_addr(topo, addr);
        for (k = 0; k < n && gpus[k].obj != obj; k++)
            ;
        if (k < n)
            g->to[k]++;
        else
            g->elsewhere++;
    }
}

/* Links between two: those that join them, else, where NVML says that they reach each other, those
 * to the NVSwitches, of which the one with fewer sets the number. */
static int links_between(const nvml_t *nvml, const gpu_t *gpus, int a, int b)
{
    int status = -1;

    if (gpus[a].to[b] > 0)
        return gpus[a].to[b];
    if (nvml->p2p_status(gpus[a].device, gpus[b].device, NVML_P2P_CAPS_INDEX_NVLINK, &status) !=
            NVML_SUCCESS ||
        status != NVML_P2P_STATUS_OK)
        return 0;
    return gpus[a].elsewhere < gpus[b].elsewhere ? gpus[a].elsewhere : gpus[b].elsewhere;
}

/* A record a pair. */
static bool answer(void *arg, int fd)
{
    static gpu_t gpus[GPUS_MAX];
    const question_t *q = arg;
    nvml_t nvml;
    int n;

    if (!open_nvml(q->library, &nvml))
        return false;
    n = find_gpus(&nvml, q->topo, gpus);
    for (int i = 0; i < n; i++)
        count_links(&nvml, q->topo, gpus, n, &gpus[i]);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            record_t r = {gpus[i].obj, gpus[j].obj, links_between(&nvml, gpus, i, j)};
            if (gpus[i].told && gpus[j].told && !pipc__ask_put(fd, &r, sizeof(r)))
                return false;
        }
    return true;
}

/* ---- the parent ----------------------------------------------------------------------------- */

static bool has_nvidia(const pipc__topo_t *topo)
{
    int n = 0;

    for (int i = 0; i < topo->nobjs; i++)
        n += topo->objs[i].kind == PIPC__TOPO_GPU && topo->objs[i].vendor == VENDOR_NVIDIA;
    return n > 1;
}

bool topo_nvml_read(pipc__topo_t *topo, const char *library, int timeout_msec)
{
    record_t *records = malloc(sizeof(*records) * GPUS_MAX * GPUS_MAX);
    question_t q = {topo, library};
    int n = -1;

    if (records && has_nvidia(topo))
        n = pipc__ask(answer, &q, timeout_msec, records, sizeof(*records), GPUS_MAX * GPUS_MAX);
    bool all = n >= 0;
    for (int i = 0; i < n && all; i++)
        all = pipc__topo_set_nvlinks(topo, records[i].a, records[i].b, records[i].links);
    free(records);
    return all;
}
