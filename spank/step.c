/* spank/step.c - see step.h
 *
 *     slurmstepd   begin:  step.view, step.cpus, step.topology            (user_init)
 *       | fork
 *       +- task 0  task:   gather -> place -> export, narrow -> tell     (task_init)
 *       +- task 1  ...     each by itself, all with the same result
 */
#include "spank/step.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "spank/args.h"
#include "spank/devices.h"
#include "spank/env.h"
#include "spank/flag.h"
#include "spank/ipc.h"
#include "spank/object.h"
#include "spank/report.h"
#include "spank/say.h"
#include "spank/task.h"

#define FIRST_SPECIAL_STEP 0xfffffffau /* interactive, batch, extern and those to come */

static struct {
    bool on;
    bool ignored; /* the option's text was not understood: as if it had not been given */
    pipc__args_t args;
    pipc__spank_options_t options;
    pipc__view_t view; /* what slurmstepd may open and was told */
    pipc__cpus_t cpus; /* what it may run on */
    const pipc__spank_ops_t *ops;
    void *topology;
    pipc__error_t error; /* why there is no binding */
} step;

static void get_list(spank_t sp, const char *name, pipc__view_t *view)
{
    spank_err_t rc = spank_getenv(sp, name, view->list, (int)sizeof(view->list));

    view->listed = rc == ESPANK_SUCCESS || rc == ESPANK_NOSPACE;
    if (rc == ESPANK_NOSPACE) /* cut in the middle: no list any more */
        strcpy(view->list, "?");
}

/* What this process may open, and the list that Slurm has made for the step, later for the task.
 * Slurm removes both variables from the environment of a step that has no GPU. */
static void look(spank_t sp, pipc__view_t *view)
{
    view->minors = pipc__devices_granted(step.args.devdir);
    get_list(sp, "CUDA_VISIBLE_DEVICES", view);
}

static void get_cpus(pipc__cpus_t *cpus)
{
    memset(cpus, 0, sizeof(*cpus));
    if (sched_getaffinity(0, sizeof(*cpus), (cpu_set_t *)(void *)cpus))
        memset(cpus, 0, sizeof(*cpus));
}

static void load_topology(void)
{
    if (pipc__object_open(PIPC_BIND_OBJECT, &step.ops, &step.error))
        return;
    step.ops->open(step.args.synthetic, step.args.sysroot, &step.topology, &step.error);
}

void pipc__step_begin(spank_t sp, int argc, char **argv)
{
    uint32_t id;

    if (spank_get_item(sp, S_JOB_STEPID, &id) != ESPANK_SUCCESS || id >= FIRST_SPECIAL_STEP)
        return;
    step.on = true;
    pipc__args_read(argc, argv, &step.args);
    if (*step.args.complaint) /* the administrator's business: to the node's log, not to srun */
        slurm_info("pcie-ipc: %s", step.args.complaint);
    step.ignored = pipc__flag_options(&step.options, &step.error) != PIPC_OK;
    if (step.ignored)
        return;
    look(sp, &step.view);
    if (!step.view.listed) /* gres.conf has Flags=no_gpu_env */
        get_list(sp, "SLURM_STEP_GPUS", &step.view);
    get_cpus(&step.cpus);
    load_topology();
}

/* Slurm's name of the node. It comes through the environment, so it is checked to be a name. */
static void get_node(spank_t sp, char *node, size_t cap)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";

    if (spank_getenv(sp, "SLURMD_NODENAME", node, (int)cap) == ESPANK_SUCCESS && *node &&
        !node[strspn(node, good)])
        return;
    if (gethostname(node, cap))
        snprintf(node, cap, "?");
    node[cap - 1] = '\0';
}

static bool get_ids(spank_t sp, pipc__task_t *t)
{
    return spank_get_item(sp, S_JOB_ID, &t->job) == ESPANK_SUCCESS &&
           spank_get_item(sp, S_JOB_STEPID, &t->step) == ESPANK_SUCCESS &&
           spank_get_item(sp, S_JOB_NODEID, &t->nodeid) == ESPANK_SUCCESS &&
           spank_get_item(sp, S_JOB_NNODES, &t->nnodes) == ESPANK_SUCCESS &&
           spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &t->nlocal) == ESPANK_SUCCESS &&
           spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &t->ntasks) == ESPANK_SUCCESS &&
           spank_get_item(sp, S_TASK_ID, &t->local) == ESPANK_SUCCESS &&
           spank_get_item(sp, S_TASK_GLOBAL_ID, &t->rank) == ESPANK_SUCCESS;
}

static bool has_bus_order(spank_t sp)
{
    char order[16] = "";

    return spank_getenv(sp, "CUDA_DEVICE_ORDER", order, sizeof(order)) == ESPANK_SUCCESS &&
           !strcmp(order, "PCI_BUS_ID");
}

static void gather(spank_t sp, pipc__task_t *t)
{
    t->options = step.options;
    pipc__spank_options_write(&t->options, t->mode, sizeof(t->mode));
    t->in.bind = t->options.bind == PIPC__OPT_BIND_SWITCH;
    t->in.bus_order = has_bus_order(sp);
    t->in.rank = t->local;
    t->in.nranks = (int)t->nlocal;
    t->in.step = step.view;
    look(sp, &t->in.task);
    get_cpus(&t->in.cpus);
    t->in.cpus_shared = !memcmp(&t->in.cpus, &step.cpus, sizeof(step.cpus));
}

static void place(pipc__task_t *t)
{
    t->error = step.error;
    t->out.cpus = t->in.cpus;
    if (!t->error.status)
        step.ops->place(step.topology, &t->in, &t->out, &t->error);
}

static void narrow(pipc__task_t *t)
{
    if (!t->out.narrowed)
        return;
    if (sched_setaffinity(0, sizeof(t->out.cpus), (const cpu_set_t *)(const void *)&t->out.cpus)) {
        pipc__say(t->node, "task %u: its cores can't be set: %m; it keeps those that Slurm granted",
                  t->rank);
        t->out.cpus = t->in.cpus;
    }
}

/* Facts that are the same for all tasks of a node are told by its first. */
static void tell_node(const pipc__task_t *t)
{
    if (t->local != 0)
        return;
    if (t->error.status)
        pipc__say(t->node, "%s; the step runs unbound", t->error.text);
    else if (*t->out.note)
        pipc__say(t->node, "%s", t->out.note);
    if (t->options.verbose && !t->error.status) {
        char text[PIPC__REPORT_MAX];
        pipc__report_node(&t->in, &t->out, t->mode, text);
        pipc__say(t->node, "%s", text);
    }
}

static void tell_task(const pipc__task_t *t)
{
    char text[PIPC__REPORT_MAX];

    if (!t->options.verbose || t->error.status)
        return;
    pipc__report_task(&t->in, &t->out, t->rank, text);
    pipc__say(t->node, "%s", text);
}

static void ignore(spank_t sp, const pipc__task_t *t)
{
    pipc__env_clear(sp);
    if (t->local == 0)
        pipc__say(t->node,
                  "--pcie-ipc ignored: %s; the plugin here may be older than where srun ran",
                  step.error.text);
}

bool pipc__step_task(spank_t sp)
{
    static pipc__task_t t; /* some 30 KiB; one task a process */

    if (!step.on)
        return true;
    get_node(sp, t.node, sizeof(t.node));
    if (!get_ids(sp, &t)) {
        pipc__say(t.node, "Slurm does not tell which task this is; it runs unbound");
        return step.options.ipc != PIPC__OPT_IPC_REQUIRE;
    }
    if (step.ignored) {
        ignore(sp, &t);
        return true;
    }
    gather(sp, &t);
    place(&t);
    pipc__env_export(sp, &t);
    narrow(&t);
    tell_node(&t);
    tell_task(&t);
    if (pipc__ipc_is_possible(sp, &t) || t.options.ipc != PIPC__OPT_IPC_REQUIRE)
        return true;
    if (t.local == 0)
        pipc__say(t.node, "ipc:require: the step ends");
    return false;
}
