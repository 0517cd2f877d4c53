/* spank/place.c - see place.h */
#include "spank/place.h"

#include <stdio.h>
#include <string.h>

#include "spank/cores.h"
#include "spank/cpulist.h"
#include "spank/gpulist.h"
#include "spank/own.h"
#include "spank/rdma.h"

_Static_assert((int)PIPC__SHOWN_SAME == PIPC__SHOW_SAME && (int)PIPC__SHOWN_OWN == PIPC__SHOW_OWN &&
                   (int)PIPC__SHOWN_ONE == PIPC__SHOW_ONE,
               "ops.h and bind.h number the ways of showing GPUs alike");
_Static_assert((int)PIPC__ORDER_SWITCH == PIPC__BIND_SWITCH &&
                   (int)PIPC__ORDER_SPREAD == PIPC__BIND_SPREAD &&
                   (int)PIPC__ORDER_NUMA == PIPC__BIND_NUMA,
               "ops.h and bind.h number the orders alike");
_Static_assert(PIPC__ENTRIES == PIPC__BIND_MAX, "a map has room for all ranks");

static int bits(uint64_t set)
{
    int n = 0;

    for (; set; set &= set - 1)
        n++;
    return n;
}

static bool holds(const int *gpus, int n, int gpu)
{
    for (int i = 0; i < n; i++)
        if (gpus[i] == gpu)
            return true;
    return false;
}

/* May the step's list be read with the step's device files? Slurmstepd stands in the step's device
 * cgroup with cgroup v1, but not with v2: there its "0,1" means the first two of the step while it
 * can open all of the node. If so many are granted as are listed, or if tasks are granted just the
 * same, the two belong together. */
static bool step_is_known(const pipc__place_in_t *in, const pipc__gpulist_t *step)
{
    return step->kind == PIPC__LIST_KNOWN &&
           (bits(in->step.minors) == step->count || in->step.minors == in->task.minors);
}

/* Slurm granted GPUs but shows the task no list (--gpu-bind=none): make the list that stands for
 * what the step has. Without the device cgroup CUDA would show all GPUs of the node, those of other
 * jobs as well. No list at the step either: no GPU was granted, whatever can be opened. */
static void make_list(const pipc__topo_t *topo, const pipc__place_in_t *in,
                      const pipc__gpulist_t *step, pipc__view_t *made)
{
    int granted[PIPC__MINORS], n = pipc__gpulist_granted(topo, in->task.minors, granted), used = 0;
    bool all = n == step->count, known = step_is_known(in, step);

    made->minors = in->task.minors;
    made->listed = false;
    if (step->count == 0 || n < 0 || (!all && !known))
        return;
    made->list[0] = '\0';
    for (int i = 0; i < n; i++)
        if (all || holds(step->gpu, step->count, granted[i]))
            used += snprintf(made->list + used, sizeof(made->list) - (size_t)used, "%s%d",
                             used ? "," : "", i);
    made->listed = used > 0;
}

static pipc__shown_t how_shown(const pipc__place_in_t *in, const pipc__gpulist_t *step,
                               const pipc__gpulist_t *task)
{
    if (in->nranks == 1)
        return PIPC__SHOWN_ONE;
    /* Slurm's lists, not the device files: without the cgroup these are the same for everybody, and
     * with it "0" is the list of every task. A task's list is shorter than the step's only if
     * tasks have lists of their own. */
    return task->count < step->count ? PIPC__SHOWN_OWN : PIPC__SHOWN_SAME;
}

/* Which entry of a list that stays as it is a program takes: the one that the task's number picks,
 * or the first of its own. */
static int picked(const pipc__place_in_t *in, const pipc__gpulist_t *task, pipc__shown_t shown)
{
    return shown == PIPC__SHOWN_SAME ? in->rank % task->count : 0;
}

static pipc__bind_mode_t mode_of(pipc__order_t order)
{
    return order == PIPC__ORDER_MAP ? PIPC__BIND_MAP : (pipc__bind_mode_t)order;
}

/* Bind all tasks to gpus[n]. Everything that is asked with is the same for all of them. */
static pipc_status_t bind_all(const pipc__topo_t *topo, const pipc__place_in_t *in, const int *gpus,
                              int n, pipc__binding_t *out, pipc__error_t *err)
{
    pipc__bind_request_t req = {.mode = mode_of(in->order), .nranks = in->nranks, .ngpus = n};
    pipc__cpu_sets_t sets;
    pipc_status_t st = pipc__cpu_sets(in, &sets, err);

    memcpy(req.gpus, gpus, sizeof(req.gpus[0]) * (size_t)n);
    memcpy(req.map, in->map, sizeof(req.map));
    req.nmap = in->nmap;
    req.granted = sets.step;
    req.rank_cpus = sets.nranks ? (const hwloc_const_bitmap_t *)sets.rank : NULL;
    if (!st)
        st = pipc__bind(topo, &req, out, err);
    pipc__cpu_sets_free(&sets);
    return st;
}

static pipc_status_t bind_node(const pipc__topo_t *topo, const pipc__place_in_t *in,
                               const pipc__gpulist_t *step, const pipc__gpulist_t *task,
                               pipc__shown_t shown, pipc__binding_t *out, pipc__error_t *err)
{
    if (in->keep_list && shown != PIPC__SHOWN_ONE)
        return pipc__own_bind(topo, in->rank, in->nranks, &task->gpu[picked(in, task, shown)], 1,
                              NULL, 0, out, err);
    if (shown == PIPC__SHOWN_OWN && in->order == PIPC__ORDER_MAP)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "bind:map: each task has GPUs of its own from Slurm; use --gpus-per-node "
                          "in place of --gpus-per-task or --gpu-bind");
    if (shown == PIPC__SHOWN_OWN)
        return pipc__own_bind(topo, in->rank, in->nranks, task->gpu, task->count, step->gpu,
                              step_is_known(in, step) ? step->count : 0, out, err);
    return bind_all(topo, in, task->gpu, task->count, out, err);
}

static void put_gpus(const pipc__topo_t *topo, const int *gpus, int n, pipc__place_out_t *out)
{
    size_t used = 0;

    for (int i = 0; i < n && used < sizeof(out->gpus); i++)
        used += (size_t)snprintf(out->gpus + used, sizeof(out->gpus) - used, "%s%s", i ? " " : "",
                                 topo->objs[gpus[i]].name);
}

static void put_facts(const pipc__topo_t *topo, const pipc__bind_rank_t *rank,
                      pipc__place_out_t *out)
{
    const pipc__topo_obj_t *gpu = &topo->objs[rank->gpu];

    snprintf(out->bdf, sizeof(out->bdf), "%s", gpu->name);
    snprintf(out->uuid, sizeof(out->uuid), "%s", gpu->uuid);
    snprintf(out->minor, sizeof(out->minor), "%d", gpu->minor);
    if (rank->numa >= 0)
        snprintf(out->numa, sizeof(out->numa), "%d", topo->numas[rank->numa].os_index);
    if (rank->group >= 0)
        snprintf(out->sw, sizeof(out->sw), "%s", topo->objs[rank->group].name);
    out->way_cut = !pipc__bind_way_text(topo, rank->gpu, out->way, sizeof(out->way));
    if (rank->nic >= 0) {
        const pipc__topo_obj_t *nic = &topo->objs[rank->nic];
        snprintf(out->nic, sizeof(out->nic), "%s", *nic->netdev ? nic->netdev : nic->name);
    }
}

/* The new order of the list. A @made list is written even where its order is the old one. */
static pipc_status_t put_list(const pipc__topo_t *topo, const pipc__binding_t *b,
                              const pipc__place_in_t *in, const pipc__gpulist_t *task, bool made,
                              pipc__place_out_t *out, pipc__error_t *err)
{
    int order[PIPC__BIND_MAX];
    pipc_status_t st;

    memcpy(order, task->gpu, sizeof(order));
    if (in->keep_list) {
        put_gpus(topo, order, task->count, out);
        return PIPC_OK;
    }
    st = pipc__bind_visible(b, in->rank, (pipc__show_t)out->shown, order, task->count, err);
    if (st)
        return st;
    put_gpus(topo, order, task->count, out);
    if (made || memcmp(order, task->gpu, sizeof(order[0]) * (size_t)task->count))
        pipc__gpulist_write(task, order, out->list, sizeof(out->list));
    return PIPC_OK;
}

/* What the task was shown, as lists. */
typedef struct seen {
    pipc__gpulist_t step, task;
    bool made; /* task was made here: Slurm showed none */
    pipc__view_t view;
} seen_t;

static void see(const pipc__topo_t *topo, const pipc__place_in_t *in, seen_t *s)
{
    pipc__gpulist_read(topo, &in->step, &s->step);
    pipc__gpulist_read(topo, &in->task, &s->task);
    s->made = s->task.kind == PIPC__LIST_ABSENT;
    if (s->made) {
        make_list(topo, in, &s->step, &s->view);
        pipc__gpulist_read(topo, &s->view, &s->task);
    }
}

/* GPUs of the step that this task can't open. What CUDA_VISIBLE_DEVICES alone hides can still be
 * mapped by CUDA IPC and does not count. One task has nobody to share memory with. */
static int hidden(const pipc__place_in_t *in, const pipc__gpulist_t *step)
{
    int granted = bits(in->task.minors);

    if (step->kind != PIPC__LIST_KNOWN || in->nranks == 1 || granted >= step->count)
        return 0;
    return step->count - granted;
}

static void explain(const pipc__topo_t *topo, const pipc__place_in_t *in,
                    const pipc__gpulist_t *task, pipc__place_out_t *out)
{
    int granted[PIPC__MINORS];

    if (in->keep_list && in->bind && in->order == PIPC__ORDER_MAP)
        snprintf(out->note, sizeof(out->note),
                 "bind:map is not used: --gpu-bind says which GPUs a task gets; leave one of them out");
    if (task->kind != PIPC__LIST_OPAQUE)
        return;
    if (pipc__gpulist_granted(topo, in->task.minors, granted) < 0)
        snprintf(out->note, sizeof(out->note),
                 "the topology (%s) does not hold every GPU that can be opened; devices are left "
                 "as Slurm gave them",
                 topo->source);
    else
        snprintf(out->note, sizeof(out->note),
                 "CUDA_VISIBLE_DEVICES is no plain list of this task's GPUs (MIG, or set by hand); "
                 "devices are left as they are");
}

/* Does CUDA count as we do, without being told to? Its default is fastest first, which is bus order
 * where all GPUs are of one model. */
static bool counts_in_bus_order(const pipc__topo_t *topo, const pipc__place_in_t *in)
{
    int granted[PIPC__MINORS], n = pipc__gpulist_granted(topo, in->task.minors, granted);

    for (int i = 1; i < n && !in->bus_order; i++)
        if (topo->objs[granted[i]].vendor != topo->objs[granted[0]].vendor ||
            topo->objs[granted[i]].device != topo->objs[granted[0]].device)
            return false;
    return true;
}

/* bind:none: only what is near the GPU that a program takes is looked up. */
static pipc_status_t leave(const pipc__topo_t *topo, const pipc__place_in_t *in, const seen_t *s,
                           pipc__bind_rank_t *rank, pipc__place_out_t *out, pipc__error_t *err)
{
    const int *gpu = &s->task.gpu[picked(in, &s->task, out->shown)];
    pipc__binding_t b;
    pipc_status_t st = pipc__own_bind(topo, 0, 1, gpu, 1, NULL, 0, &b, err);

    *rank = b.rank[0];
    put_gpus(topo, s->task.gpu, s->task.count, out);
    return st;
}

/* How many of its GPUs a task serves. Of a list that all tasks see it takes one; one task, or one
 * that Slurm gave several, all. */
static int serves(const pipc__place_in_t *in, const seen_t *s, const pipc__place_out_t *out)
{
    if (out->shown == PIPC__SHOWN_SAME || (in->keep_list && out->shown == PIPC__SHOWN_OWN))
        return 1;
    return s->task.count;
}

/* Memory goes where the cores are: were none of them near, the GPU's memory would be far from them.
 */
static void put_memory(const pipc__topo_t *topo, const seen_t *s, const pipc__bind_rank_t *rank,
                       pipc__place_out_t *out)
{
    if (rank->numa >= 0 && out->near &&
        (out->shown == PIPC__SHOWN_SAME || pipc__one_numa(topo, s->task.gpu, s->task.count)))
        out->mem_node = topo->numas[rank->numa].os_index;
}

static pipc_status_t bind(const pipc__topo_t *topo, const pipc__place_in_t *in, const seen_t *s,
                          pipc__bind_rank_t *rank, pipc__place_out_t *out, pipc__error_t *err)
{
    pipc__binding_t b;
    pipc_status_t st = bind_node(topo, in, &s->step, &s->task, out->shown, &b, err);

    if (!st)
        st = put_list(topo, &b, in, &s->task, s->made, out, err);
    if (!st)
        st = pipc__cores(topo, &b, in, s->task.gpu, serves(in, s, out), out, err);
    if (st) { /* all or nothing */
        out->list[0] = '\0';
        out->cpus = in->cpus;
        out->narrowed = false;
        return st;
    }
    *rank = b.rank[in->rank];
    put_memory(topo, s, rank, out);
    pipc__rdma(topo, &b, in->rank, out);
    return PIPC_OK;
}

pipc_status_t pipc__place(const pipc__topo_t *topo, const pipc__place_in_t *in,
                          pipc__place_out_t *out, pipc__error_t *err)
{
    pipc__bind_rank_t rank = {PIPC__UNKNOWN, PIPC__UNKNOWN, PIPC__UNKNOWN, PIPC__UNKNOWN, false};
    pipc_status_t st;
    seen_t s;

    memset(out, 0, sizeof(*out));
    out->cpus = in->cpus;
    out->mem_node = PIPC__UNKNOWN;
    snprintf(out->source, sizeof(out->source), "%s", topo->source);
    see(topo, in, &s);
    out->shown = how_shown(in, &s.step, &s.task);
    out->step_ngpus = s.step.count;
    out->hidden = hidden(in, &s.step);
    explain(topo, in, &s.task, out);
    if (s.task.kind != PIPC__LIST_KNOWN)
        return PIPC_OK;

    out->ngpus = s.task.count;
    st = in->bind ? bind(topo, in, &s, &rank, out, err) : leave(topo, in, &s, &rank, out, err);
    /* One task with several GPUs has no one GPU: its workers choose. And a number that CUDA may
     * count otherwise tells of none. */
    if (!st && (out->shown != PIPC__SHOWN_ONE || s.task.count == 1) &&
        (in->bind || counts_in_bus_order(topo, in)))
        put_facts(topo, &rank, out);
    return st;
}
