/* spank/env.c - see env.h */
#include "config.h"

#include "spank/env.h"

#include <stdio.h>

#include "runtime/base/marker.h"
#include "spank/hints.h"
#include "spank/wishes.h"

const char *const pipc__env_names[PIPC__ENV_COUNT] = {
    [PIPC__ENV_VERSION] = "PCIE_IPC",
    [PIPC__ENV_TASK] = PIPC__MARKER_TASK,
    [PIPC__ENV_MODE] = "PCIE_IPC_MODE",
    [PIPC__ENV_VERBOSE] = "PCIE_IPC_VERBOSE",
    [PIPC__ENV_LOCAL_RANK] = "PCIE_IPC_LOCAL_RANK",
    [PIPC__ENV_LOCAL_SIZE] = "PCIE_IPC_LOCAL_SIZE",
    [PIPC__ENV_BDF] = "PCIE_IPC_BDF",
    [PIPC__ENV_UUID] = "PCIE_IPC_UUID",
    [PIPC__ENV_MINOR] = "PCIE_IPC_MINOR",
    [PIPC__ENV_NUMA] = "PCIE_IPC_NUMA",
    [PIPC__ENV_SWITCH] = "PCIE_IPC_SWITCH",
    [PIPC__ENV_WAY] = "PCIE_IPC_WAY",
    [PIPC__ENV_NIC] = "PCIE_IPC_NIC",
    [PIPC__ENV_HINTS] = "PCIE_IPC_HINTS",
    [PIPC__ENV_PATH] = "PCIE_IPC_PATH",
    [PIPC__ENV_NODES] = "PCIE_IPC_NODES",
    [PIPC__ENV_REPORT] = "PCIE_IPC_REPORT",
    [PIPC__ENV_DIR] = "PCIE_IPC_DIR",
};

/* Every variable of ours is set or removed: the user's environment may hold those of another
 * step, or his own inventions, and the runtime must not act on them. */
static void set_or_remove(spank_t sp, const char *const values[PIPC__ENV_COUNT])
{
    for (int i = 0; i < PIPC__ENV_COUNT; i++) {
        if (values[i] && *values[i])
            spank_setenv(sp, pipc__env_names[i], values[i], 1);
        else
            spank_unsetenv(sp, pipc__env_names[i]);
    }
}

void pipc__env_export(spank_t sp, const pipc__task_t *t)
{
    char marker[64], local[16], size[16], nodes[32], report[16 + PIPC__OPTION_TEXT_MAX];
    const pipc__place_out_t *o = &t->out;
    const char *values[PIPC__ENV_COUNT] = {
        [PIPC__ENV_VERSION] = PACKAGE_VERSION,
        [PIPC__ENV_TASK] = marker,
        [PIPC__ENV_MODE] = t->mode,
        [PIPC__ENV_VERBOSE] = t->options.verbose ? "1" : "",
        [PIPC__ENV_LOCAL_RANK] = local,
        [PIPC__ENV_LOCAL_SIZE] = size,
        [PIPC__ENV_BDF] = o->bdf,
        [PIPC__ENV_UUID] = o->uuid,
        [PIPC__ENV_MINOR] = o->minor,
        [PIPC__ENV_NUMA] = o->numa,
        [PIPC__ENV_SWITCH] = o->sw,
        [PIPC__ENV_WAY] = o->way,
        [PIPC__ENV_NIC] = o->nic,
        [PIPC__ENV_HINTS] = t->hints,
        [PIPC__ENV_PATH] = pipc__spank_option_value(&t->options, "path"),
        [PIPC__ENV_NODES] = nodes,
        [PIPC__ENV_REPORT] = report,
        [PIPC__ENV_DIR] = t->dir,
    };

    snprintf(marker, sizeof(marker), "%u.%u:%s", t->job, t->step, PACKAGE_VERSION);
    snprintf(local, sizeof(local), "%d", t->local);
    snprintf(size, sizeof(size), "%u", t->nlocal);
    snprintf(nodes, sizeof(nodes), "%s%s%.2s", pipc__spank_option_value(&t->options, "nodes"),
             *t->options.split ? ":" : "", t->options.split);
    snprintf(report, sizeof(report), "%s%s%s", pipc__spank_option_value(&t->options, "report"),
             *t->options.report_file ? ":" : "", t->options.report_file);
    set_or_remove(sp, values);
    if (*o->list)
        spank_setenv(sp, "CUDA_VISIBLE_DEVICES", o->list, 1);
    spank_unsetenv(sp, PIPC__WISHES_ENV);
}

/* Numbers mean PCI bus order; CUDA's default is speed. */
void pipc__env_order(spank_t sp, const pipc__task_t *t, char *set, size_t cap)
{
    if (!t->in.bind || t->out.ngpus <= 0 || t->in.bus_order)
        return;
    spank_setenv(sp, "CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    pipc__hints_note(set, cap, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
}

/* No marker, no facts: the runtime finds that the plugin has not acted. */
void pipc__env_clear(spank_t sp)
{
    static const char *const nothing[PIPC__ENV_COUNT];

    set_or_remove(sp, nothing);
    spank_unsetenv(sp, PIPC__WISHES_ENV);
}
