/* topo/lspci_names.c - what a device is by the name that pci.ids gives it, which is all that lspci
 * -tv tells: no class, no numbers
 *
 * A device that pci.ids does not know ("NVIDIA Corporation Device 2901") is taken for what its
 * maker mostly makes. Ids of NVSwitches, as in pci.ids, are the exception that large machines are
 * full of.
 */
#include "runtime/topo/lspci_tree.h"

#include <string.h>

static bool has_one(const char *name, const char *const *words)
{
    for (; *words; words++)
        if (strstr(name, *words))
            return true;
    return false;
}

/* Functions and parts of a card that are not the GPU, and GPUs that no rank wants. */
static bool is_part(const char *name)
{
    static const char *const words[] = {"Audio",    "USB",         "UCSI",        "Type-C",
                                        "NVSwitch", "NVLink",      "Bridge",      "Switch",
                                        "SMBus",    "Device 1ac2", "Device 1af1", "Device 22a3",
                                        "ES1000",   "Rage",        "RV100",       NULL};

    return has_one(name, words);
}

static bool is_gpu(const char *name)
{
    static const char *const makers[] = {"NVIDIA Corporation", "[AMD/ATI]", NULL};
    static const char *const intels[] = {"Data Center GPU", "Ponte Vecchio", "[Arc", NULL};

    return (has_one(name, makers) || (strstr(name, "Intel") && has_one(name, intels))) &&
           !is_part(name);
}

static bool is_rdma(const char *name)
{
    static const char *const words[] = {
        "Mellanox Technologies MT", "ConnectX", "InfiniBand", "Omni-Path",
        "Elastic Fabric Adapter",   NULL};
    static const char *const others[] = {"DMA", "Management", "Bridge", "Crypto", NULL};

    return has_one(name, words) && !has_one(name, others);
}

static bool is_nic(const char *name)
{
    static const char *const words[] = {
        "Ethernet",       "NetXtreme",          "Elastic Network Adapter",
        "Virtio network", "Network Connection", NULL};

    return has_one(name, words) && !strstr(name, "Wi-Fi");
}

pipc__part_t pipc__lspci_part(const char *name, bool *rdma)
{
    *rdma = is_rdma(name);
    if (*rdma || is_nic(name))
        return PIPC__PART_NIC;
    return is_gpu(name) ? PIPC__PART_GPU : PIPC__PART_OTHER;
}
