/* spank/step.c - see step.h
 *
 *     slurmstepd   begin:  step.view, step.cpus, step.topology            (user_init)
 *       | fork
 *       +- task 0  task:   gather -> place -> export, narrow -> say      (task_init)
 *       +- task 1  ...     each by itself, all with the same result
 */
#include "config.h"

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
#include "spank/object.h"
#include "spank/report.h"
#include "spank/say.h"

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

typedef struct task {
    uint32_t job, step, rank, nodeid, nnodes, ntasks, nlocal;
    int local;
    char node[64];
    char mode[128];
    pipc__place_in_t in;
    pipc__place_out_t out;
    pipc__error_t error;
} task_t;

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

static bool get_ids(spank_t sp, task_t *t)
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

static void gather(spank_t sp, task_t *t)
{
    pipc__spank_options_write(&step.options, t->mode, sizeof(t->mode));
    t->in.bind = step.options.bind == PIPC__OPT_BIND_SWITCH;
    t->in.bus_order = has_bus_order(sp);
    t->in.rank = t->local;
    t->in.nranks = (int)t->nlocal;
    t->in.step = step.view;
    look(sp, &t->in.task);
    get_cpus(&t->in.cpus);
    t->in.cpus_shared = !memcmp(&t->in.cpus, &step.cpus, sizeof(step.cpus));
}

static void place(task_t *t)
{
    t->error = step.error;
    t->out.cpus = t->in.cpus;
    if (!t->error.status)
        step.ops->place(step.topology, &t->in, &t->out, &t->error);
}

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

static void export(spank_t sp, const task_t *t)
{
    char marker[64], local[16], size[16];
    const pipc__place_out_t *o = &t->out;
    const char *values[PIPC__ENV_COUNT] = {
        [PIPC__ENV_VERSION] = PACKAGE_VERSION,
        [PIPC__ENV_TASK] = marker,
        [PIPC__ENV_MODE] = t->mode,
        [PIPC__ENV_VERBOSE] = step.options.verbose ? "1" : "",
        [PIPC__ENV_LOCAL_RANK] = local,
        [PIPC__ENV_LOCAL_SIZE] = size,
        [PIPC__ENV_BDF] = o->bdf,
        [PIPC__ENV_UUID] = o->uuid,
        [PIPC__ENV_MINOR] = o->minor,
        [PIPC__ENV_NUMA] = o->numa,
        [PIPC__ENV_SWITCH] = o->sw,
        [PIPC__ENV_NIC] = o->nic,
    };

    snprintf(marker, sizeof(marker), "%u.%u:%s", t->job, t->step, PACKAGE_VERSION);
    snprintf(local, sizeof(local), "%d", t->local);
    snprintf(size, sizeof(size), "%u", t->nlocal);
    set_or_remove(sp, values);
    if (t->in.bind && o->ngpus > 0) /* numbers mean PCI bus order; CUDA's default is speed */
        spank_setenv(sp, "CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    if (*o->list)
        spank_setenv(sp, "CUDA_VISIBLE_DEVICES", o->list, 1);
}

static void narrow(task_t *t)
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
static void tell_node(const task_t *t)
{
    if (t->local != 0)
        return;
    if (t->error.status)
        pipc__say(t->node, "%s; the step runs unbound", t->error.text);
    else if (*t->out.note)
        pipc__say(t->node, "%s", t->out.note);
    if (step.options.verbose && !t->error.status) {
        char text[PIPC__REPORT_MAX];
        pipc__report_node(&t->in, &t->out, t->mode, text);
        pipc__say(t->node, "%s", text);
    }
}

static void tell_task(const task_t *t)
{
    char text[PIPC__REPORT_MAX];

    if (!step.options.verbose || t->error.status)
        return;
    pipc__report_task(&t->in, &t->out, t->rank, text);
    pipc__say(t->node, "%s", text);
}

/* Peers' GPU memory is out of reach: the cgroup. */
static bool peers_can_be_opened(spank_t sp, const task_t *t)
{
    if (t->out.hidden == 0)
        return true;
    if (t->local == 0) {
        char text[PIPC__REPORT_MAX], *version = NULL;
        spank_get_item(sp, S_SLURM_VERSION, &version);
        pipc__report_hidden(&t->out, version, text);
        pipc__say(t->node, "%s", text);
    }
    return false;
}

/* Nobody to exchange handles with on any node, or a way to do it: PMIx. */
static bool handles_can_be_exchanged(spank_t sp, const task_t *t)
{
    char nspace[256] = "";

    if (t->ntasks <= t->nnodes ||
        spank_getenv(sp, "PMIX_NAMESPACE", nspace, sizeof(nspace)) == ESPANK_NOSPACE ||
        pipc__pmix_is_ours(nspace, t->step))
        return true;
    if (t->rank == 0)
        pipc__say(t->node, "the tasks were started without PMIx, by which they exchange memory "
                           "handles; use srun --mpi=pmix");
    return false;
}

/* What ipc:auto reports and ipc:require insists on. Both lines, where both are wrong. */
static bool ipc_is_possible(spank_t sp, const task_t *t)
{
    bool ok;

    if (step.options.ipc == PIPC__OPT_IPC_OFF)
        return true;
    ok = peers_can_be_opened(sp, t);
    ok = handles_can_be_exchanged(sp, t) && ok;
    return ok && !t->error.status;
}

/* No marker, no facts: the runtime finds that the plugin has not acted. */
static void ignore(spank_t sp, const task_t *t)
{
    static const char *const nothing[PIPC__ENV_COUNT];

    set_or_remove(sp, nothing);
    if (t->local == 0)
        pipc__say(t->node,
                  "--pcie-ipc ignored: %s; the plugin here may be older than where srun ran",
                  step.error.text);
}

bool pipc__step_task(spank_t sp)
{
    static task_t t; /* some 30 KiB; one task a process */

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
    export(sp, &t);
    narrow(&t);
    tell_node(&t);
    tell_task(&t);
    if (ipc_is_possible(sp, &t) || step.options.ipc != PIPC__OPT_IPC_REQUIRE)
        return true;
    if (t.local == 0)
        pipc__say(t.node, "ipc:require: the step ends");
    return false;
}
