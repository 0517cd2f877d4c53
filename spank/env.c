/* spank/env.c - see env.h */
#include "spank/env.h"

const char *const pipc__env_names[PIPC__ENV_COUNT] = {
    [PIPC__ENV_VERSION] = "PCIE_IPC",
    [PIPC__ENV_TASK] = "PCIE_IPC_TASK",
    [PIPC__ENV_MODE] = "PCIE_IPC_MODE",
    [PIPC__ENV_VERBOSE] = "PCIE_IPC_VERBOSE",
    [PIPC__ENV_LOCAL_RANK] = "PCIE_IPC_LOCAL_RANK",
    [PIPC__ENV_LOCAL_SIZE] = "PCIE_IPC_LOCAL_SIZE",
    [PIPC__ENV_BDF] = "PCIE_IPC_BDF",
    [PIPC__ENV_UUID] = "PCIE_IPC_UUID",
    [PIPC__ENV_MINOR] = "PCIE_IPC_MINOR",
    [PIPC__ENV_NUMA] = "PCIE_IPC_NUMA",
    [PIPC__ENV_SWITCH] = "PCIE_IPC_SWITCH",
    [PIPC__ENV_NIC] = "PCIE_IPC_NIC",
};
