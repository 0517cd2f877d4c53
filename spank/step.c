/* spank/step.c - see step.h
 *
 *     slurmstepd   prepare: step.args, step.dir                        (init_post_opt, root)
 *       |          begin:   step.view, step.cpus, step.topology        (user_init, the user)
 *       | fork
 *       +- task 0  task:    gather -> place -> export, narrow -> tell  (task_init, the user)
 *       +- task 1  ...      each by itself, all with the same result
 *       |
 *     slurmstepd   end:     the folder goes                            (exit, root)
 */
#include "spank/step.h"

#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/marker.h"
#include "spank/args.h"
#include "spank/devices.h"
#include "spank/env.h"
#include "spank/flag.h"
#include "spank/health.h"
#include "spank/hints.h"
#include "spank/ipc.h"
#include "spank/object.h"
#include "spank/preload.h"
#include "spank/say.h"
#include "spank/stepdir.h"
#include "spank/task.h"
#include "spank/tell.h"
#include "spank/wishes.h"

_Static_assert(PIPC__OPTION_LIST_MAX == PIPC__ENTRIES, "a map fits as it was given");

#define FIRST_SPECIAL_STEP 0xfffffffau /* interactive, batch, extern and those to come */

static struct {
    bool on;
    bool ignored; /* the option's text was not understood: as if it had not been given */
    pipc__args_t args;
    pipc__spank_options_t options;
    bool cpu_bind;     /* is the user's */
    pipc__view_t view; /* what slurmstepd may open and was told */
    pipc__cpus_t cpus; /* what it may run on */
    const pipc__spank_ops_t *ops;
    void *topology;
    pipc__error_t error; /* why there is no binding */
    struct {
        char base[256], name[PIPC__STEPDIR_NAME_MAX];
        uid_t uid;
        pipc__error_t error; /* why there is none */
    } dir;
    pipc__health_t health;
    char health_why[256];
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

static void prepare_dir(spank_t sp, uint32_t id)
{
    uint32_t job;

    if (spank_get_item(sp, S_JOB_ID, &job) != ESPANK_SUCCESS ||
        spank_get_item(sp, S_JOB_UID, &step.dir.uid) != ESPANK_SUCCESS) {
        pipc__fail(&step.dir.error, PIPC_ERR_SYSTEM, "Slurm does not tell whose step this is");
        return;
    }
    pipc__stepdir_name(step.dir.uid, job, id, step.dir.name);
    if (!pipc__stepdir_base(step.args.rundir, step.dir.base, sizeof(step.dir.base)))
        pipc__fail(&step.dir.error, PIPC_ERR_INVALID,
                   "plugstack.conf: rundir= is no path, or is longer than %zu bytes",
                   sizeof(step.dir.base) - 1);
    else
        pipc__stepdir_prepare(step.dir.base, &step.dir.error);
}

void pipc__step_prepare(spank_t sp, int argc, char **argv)
{
    char wish[32];
    uint32_t id;

    if (spank_get_item(sp, S_JOB_STEPID, &id) != ESPANK_SUCCESS)
        return;
    if (id >= FIRST_SPECIAL_STEP) { /* salloc's shell is started by an srun of its own, which wants */
        spank_unsetenv(sp, PIPC__MARKER_WANTED);
        spank_unsetenv(sp, PIPC__WISHES_ENV);
        return;
    }
    step.on = true;
    pipc__args_read(argc, argv, &step.args);
    if (*step.args.complaint) /* the administrator's business: to the node's log, not to srun */
        slurm_info("pcie-ipc: %s", step.args.complaint);
    step.ignored = pipc__flag_options(&step.options, &step.error) != PIPC_OK;
    if (step.ignored)
        return;
    step.cpu_bind = spank_getenv(sp, PIPC__WISHES_ENV, wish, sizeof(wish)) == ESPANK_SUCCESS &&
                    !strcmp(wish, PIPC__WISHES_CPU);
    prepare_dir(sp, id);
    if (step.dir.error.status) /* to the user only with verbose */
        slurm_info("pcie-ipc: %s", step.dir.error.text);
}

void pipc__step_begin(spank_t sp)
{
    if (!step.on || step.ignored)
        return;
    look(sp, &step.view);
    if (!step.view.listed) /* gres.conf has Flags=no_gpu_env */
        get_list(sp, "SLURM_STEP_GPUS", &step.view);
    get_cpus(&step.cpus);
    load_topology();
    step.health =
        pipc__health_of_node(step.args.health, step.ops, step.health_why, sizeof(step.health_why));
}

void pipc__step_end(void)
{
    pipc__error_t err;

    if (!step.on || step.ignored || step.dir.error.status)
        return;
    if (pipc__stepdir_remove(step.dir.base, step.dir.name, step.dir.uid, &err))
        slurm_info("pcie-ipc: %s; the epilog may", err.text);
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

/* Of a heterogeneous step S_TASK_GLOBAL_ID counts within the component. */
static void get_rank(spank_t sp, pipc__task_t *t)
{
    char text[16], *end;

    if (spank_getenv(sp, "SLURM_PROCID", text, sizeof(text)) != ESPANK_SUCCESS)
        return;
    unsigned long rank = strtoul(text, &end, 10);
    if (end != text && !*end && rank <= UINT32_MAX)
        t->rank = (uint32_t)rank;
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

/* What the user said himself, where it can only be seen now. */
static void get_wishes(spank_t sp, pipc__task_t *t, bool *mem)
{
    char type[64] = "", tres[256] = "";

    spank_getenv(sp, "SLURM_MEM_BIND_TYPE", type, sizeof(type));
    spank_getenv(sp, PIPC__WISHES_GPU_ENV, tres, sizeof(tres));
    *mem = pipc__wish_mem(type);
    t->in.keep_list = pipc__wish_gpu(tres);
    t->in.keep_cpus = step.cpu_bind;
}

/* The CPUs of each task, as Slurm has worked them out for all of the node. A task's own mask would
 * be surer, and no help: of the others' it could not tell, and all have to decide alike. */
static void get_cpu_list(spank_t sp, char *buf, size_t cap)
{
    size_t used;

    buf[0] = '\0';
    if (spank_getenv(sp, "SLURM_CPU_BIND_TYPE", buf, 64) != ESPANK_SUCCESS ||
        !strstr(buf, "_cpu:")) {
        buf[0] = '\0';
        return;
    }
    used = strlen(buf);
    if (spank_getenv(sp, "SLURM_CPU_BIND_LIST", buf + used, (int)(cap - used)) != ESPANK_SUCCESS)
        buf[0] = '\0';
}

static void gather(spank_t sp, pipc__task_t *t)
{
    static const pipc__order_t orders[] = {[PIPC__OPT_BIND_SWITCH] = PIPC__ORDER_SWITCH,
                                           [PIPC__OPT_BIND_SPREAD] = PIPC__ORDER_SPREAD,
                                           [PIPC__OPT_BIND_NUMA] = PIPC__ORDER_NUMA,
                                           [PIPC__OPT_BIND_NONE] = PIPC__ORDER_SWITCH,
                                           [PIPC__OPT_BIND_MAP] = PIPC__ORDER_MAP};

    t->options = step.options;
    pipc__spank_options_write(&t->options, t->mode, sizeof(t->mode));
    t->in.bind = t->options.bind != PIPC__OPT_BIND_NONE;
    t->in.order = orders[t->options.bind];
    memcpy(t->in.map, t->options.map.at, sizeof(t->in.map));
    t->in.nmap = t->options.map.n;
    t->in.bus_order = has_bus_order(sp);
    t->in.rank = t->local;
    t->in.nranks = (int)t->nlocal;
    t->in.step = step.view;
    look(sp, &t->in.task);
    get_cpus(&t->in.cpus);
    t->in.step_cpus = step.cpus;
    get_cpu_list(sp, t->in.cpu_list, sizeof(t->in.cpu_list));
    t->in.cpus_shared = !memcmp(&t->in.cpus, &step.cpus, sizeof(step.cpus));
    t->health = step.health;
    t->health_why = step.health_why;
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

static void prefer_memory(pipc__task_t *t)
{
    pipc__error_t err = {PIPC_OK, ""};

    if (t->error.status || t->options.mem == PIPC__OPT_MEM_NONE || t->out.mem_node < 0)
        return;
    t->memory = step.ops->prefer_memory(t->out.mem_node, &err) == PIPC_OK;
    if (!t->memory && t->options.verbose)
        pipc__say(t->node, "task %u: %s", t->rank, err.text);
}

static void make_dir(pipc__task_t *t)
{
    t->dir_error = step.dir.error;
    if (!t->dir_error.status)
        pipc__stepdir_make(step.dir.base, step.dir.name, 0, &t->dir_error);
    if (!t->dir_error.status)
        snprintf(t->dir, sizeof(t->dir), "%s/%s", step.dir.base, step.dir.name);
}

/* Everything that is done for a task, in the order in which it depends on what was before. */
static void act(spank_t sp, pipc__task_t *t)
{
    bool mem_is_users;

    gather(sp, t);
    get_wishes(sp, t, &mem_is_users);
    place(t);
    narrow(t);
    if (!mem_is_users)
        prefer_memory(t);
    make_dir(t);
    pipc__hints_export(sp, t, step.args.sysroot ? step.args.sysroot : "", t->hints,
                       sizeof(t->hints));
    pipc__preload_export(sp, t, t->hints, sizeof(t->hints));
    pipc__env_order(sp, t, t->hints, sizeof(t->hints));
    pipc__env_export(sp, t);
}

bool pipc__step_task(spank_t sp)
{
    static pipc__task_t t; /* some 50 KiB; one task a process */
    bool ok;

    if (!step.on)
        return true;
    get_node(sp, t.node, sizeof(t.node));
    if (!get_ids(sp, &t)) {
        pipc__say(t.node, "Slurm does not tell which task this is; it runs unbound");
        return step.options.ipc != PIPC__OPT_IPC_REQUIRE;
    }
    if (step.ignored) {
        pipc__env_clear(sp);
        pipc__tell_ignored(&t, step.error.text);
        return true;
    }
    get_rank(sp, &t);
    act(sp, &t);
    pipc__tell(&t);
    ok = pipc__tell_health(&t);
    if (pipc__ipc_is_possible(sp, &t) || t.options.ipc != PIPC__OPT_IPC_REQUIRE)
        return ok;
    if (t.local == 0)
        pipc__say(t.node, "ipc:require: the step ends");
    return false;
}
