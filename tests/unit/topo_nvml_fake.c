/* tests/unit/topo_nvml_fake.c - a library that answers as NVML does, for topo_nvml.c: there is no
 * GPU to ask. FAKE_NVML says what kind of machine it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct pci_info {
    char legacy[16];
    unsigned int domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} pci_info_t;

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device);
EXPORT int nvmlDeviceGetNvLinkState(void *device, unsigned int link, int *active);
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned int link, pci_info_t *remote);
EXPORT int nvmlDeviceGetP2PStatus(void *a, void *b, int index, int *status);

static int is(const char *word)
{
    return strcmp(getenv("FAKE_NVML"), word) == 0;
}

static char buses[64][32];
static int gpus;

int nvmlInit_v2(void)
{
    if (is("hang"))
        for (;;)
            pause();
    if (is("crash"))
        abort();
    return is("no-driver") ? 9 : 0;
}

/* Handles are numbers from 1 on, in the order in which they are asked for. */
int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device)
{
    snprintf(buses[gpus], sizeof(buses[gpus]), "0000%s", bus_id); /* as NVML writes a domain */
    *device = (char *)0 + ++gpus;
    return 0;
}

static int index_of(void *device)
{
    return (int)((char *)device - (char *)0) - 1;
}

/* "pair": 0-1 and 2-3 have two links. "switch": all have six to NVSwitches, the last one four.
 * "pcie": GPUs without NVLink. */
int nvmlDeviceGetNvLinkState(void *device, unsigned int link, int *active)
{
    if (is("pcie") || link >= 18)
        return 3;
    *active = is("pair") ? link < 2 : link < (index_of(device) == 3 ? 4u : 6u);
    return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned int link, pci_info_t *remote)
{
    (void)link;
    if (is("pair"))
        snprintf(remote->bus_id, sizeof(remote->bus_id), "%s", buses[index_of(device) ^ 1]);
    else
        snprintf(remote->bus_id, sizeof(remote->bus_id), "00000000:FE:00.0");
    return 0;
}

int nvmlDeviceGetP2PStatus(void *a, void *b, int index, int *status)
{
    (void)a;
    (void)b;
    *status = index == 2 && is("switch") ? 0 : 5;
    return 0;
}
