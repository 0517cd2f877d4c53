/* exec/cpu.c - the CPU executor: ranks of one node over shared memory.
 *
 * One lane a rank, run by the calling thread. A rank's segment has two halves, for the two places
 * that a plan tells apart, though here both are the same kind of memory:
 *
 *     | flags 0 | flags 1 | area 0: slots | area 1: slots | flags 0 | flags 1 | area 0 | area 1 |
 *     '--------- PIPC__SLOT: stands for device memory ----'------------ PIPC__HOST -------------'
 *       each flag in a cache line of its own
 *
 * Peers write slots and flags, the owner reads them. A flag holds the number of the last round that
 * was signalled; 64 bits, so that a flag which a plan leaves unused for long never looks like one
 * from the future. Round g uses flags g mod 2, as it uses area g mod 2: in another plan a flag may
 * be another rank's, whose signal of the next round must not be overtaken by the last one of this
 * one. Pages that no plan touches cost nothing; those that one does are there before its first
 * call.
 *
 * However large an area is, slots have at most SLOT_BYTES_MAX: what is pushed is still in a cache
 * when it is summed, and a large message takes many rounds in the same few hundred kilobytes.
 *
 * Stages take turns on the thread: each runs until it meets a flag that has not come, and when all
 * stand at one, the thread sleeps until any of them comes. A stage has a round of its own: what
 * keeps it from running ahead is what keeps it on a GPU, the plan's own signals and waits.
 *
 * With jobs of a rail on their way the thread goes on with them between the steps of its stages,
 * and sleeps by the rail when it must wait (cpu_rail.h).
 */
#include "runtime/exec/exec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/exec/copy.h"
#include "runtime/exec/cpu_rail.h"
#include "runtime/exec/perturb.h"
#include "runtime/exec/reduce.h"

typedef struct flag {
    _Alignas(128) _Atomic uint64_t round;
} flag_t;

typedef struct cpu_exec {
    pipc__exec_t base;
    int rank, size;
    size_t area_bytes, half_bytes, cache_bytes;
    uint64_t round;         /* last round of the last call, counted over all calls */
    pipc__exec_rail_t rail; /* nranks 0: none was set */
    pipc__segment_t own, seg[PIPC__RANKS_MAX];
} cpu_exec_t;

/* Measured with 1 MB of second-level cache a core, 2 and 4 ranks: half of it costs more meetings of
 * the ranks, twice as much begins to leave that cache (doc/measurements.md). */
#define SLOT_BYTES_MAX ((size_t)128 << 10)

#define FLAGS_BYTES (PIPC__BUFFERS * PIPC__FLAGS_MAX * sizeof(flag_t))

_Static_assert(sizeof(pipc__segment_handle_t) <= PIPC__HANDLE_MAX, "handle fits the record");

static cpu_exec_t *self(pipc__exec_t *exec)
{
    return (cpu_exec_t *)(void *)exec;
}

/* Half of @rank's memory that is for @place, a pipc__place_t. */
static char *memory_of(const cpu_exec_t *x, int rank, int place)
{
    const pipc__segment_t *seg = rank == x->rank ? &x->own : &x->seg[rank];

    return seg->base + PIPC__SEGMENT_HEAD + (place == PIPC__HOST ? x->half_bytes : 0);
}

/* The flag of @rank that a SIGNAL or WAIT means in @round. */
static flag_t *flag_of(const cpu_exec_t *x, int rank, const pipc__op_t *op, uint64_t round)
{
    return (flag_t *)(void *)memory_of(x, rank, op->dst.place) +
           round % PIPC__BUFFERS * PIPC__FLAGS_MAX + op->flag;
}

/* Bytes of one of the areas of which a rank has PIPC__BUFFERS. */
static size_t area_bytes(size_t staging_bytes)
{
    return staging_bytes / PIPC__BUFFERS / 4096 * 4096;
}

static pipc_status_t create(pipc__exec_t **exec, pipc__control_t *ctl, size_t staging_bytes,
                            uint8_t handle[PIPC__HANDLE_MAX], pipc__exec_place_t *place,
                            pipc__error_t *err)
{
    cpu_exec_t *x = calloc(1, sizeof(*x));
    pipc__segment_handle_t h;

    *exec = NULL;
    memset(place, 0, sizeof(*place));
    if (!x)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the CPU executor");
    x->base.ops = &pipc__exec_cpu;
    x->base.ctl = ctl;
    x->area_bytes = area_bytes(staging_bytes);
    x->half_bytes = FLAGS_BYTES + PIPC__BUFFERS * x->area_bytes;
    pipc_status_t st = pipc__segment_create(&x->own, 2 * x->half_bytes, &h, err);
    if (st) {
        free(x);
        return st;
    }
    memset(handle, 0, PIPC__HANDLE_MAX);
    memcpy(handle, &h, sizeof(h));
    *exec = &x->base;
    return PIPC_OK;
}

static pipc_status_t connect_peers(pipc__exec_t *exec, int rank, int size,
                                   const uint8_t (*handles)[PIPC__HANDLE_MAX], pipc__error_t *err)
{
    cpu_exec_t *x = self(exec);

    x->rank = rank;
    x->size = size;
    x->cache_bytes = PIPC__CACHE_BYTES(pipc__copy_cache_bytes());
    for (int r = 0; r < size; r++) {
        pipc__segment_handle_t h;
        pipc__error_t why;
        char name[128];
        memcpy(&h, handles[r], sizeof(h));
        if (r != rank && pipc__segment_open(&x->seg[r], &h, &why))
            return pipc__fail(err, why.status, "staging of %s: %s",
                              pipc__control_name(x->base.ctl, r, name, sizeof(name)), why.text);
    }
    return PIPC_OK;
}

/* --- staging ---------------------------------------------------------------------------------- */

/* Over rails a slot must not depend on how many the plan of this node has. */
static size_t slot_bytes(const cpu_exec_t *x, const pipc__plan_t *plan)
{
    size_t area = plan->nrails ? area_bytes(x->rail.staging_bytes) : x->area_bytes;
    size_t room = pipc__lane_slot_bytes(area, plan->nrails ? PIPC__SLOTS_MAX : plan->nslots, 1);

    return room < SLOT_BYTES_MAX ? room : SLOT_BYTES_MAX;
}

static bool is_staged(pipc__ref_t ref)
{
    return ref.place == PIPC__SLOT || ref.place == PIPC__HOST;
}

static char *slot_at(const cpu_exec_t *x, pipc__ref_t ref, uint64_t area, size_t bytes)
{
    return memory_of(x, ref.rank, ref.place) + FLAGS_BYTES + area * x->area_bytes +
           ref.slot * bytes;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* Have the pages and this process's ways to them made now. Where the kernel can't, the first calls
 * fault them in. */
static void populate(char *at, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), skew = (uintptr_t)at % page;

    (void)madvise(at - skew, bytes + skew, MADV_POPULATE_WRITE);
}

static void populate_op(const cpu_exec_t *x, const pipc__op_t *op, size_t bytes)
{
    if (op->kind == PIPC__SIGNAL || op->kind == PIPC__WAIT)
        populate(memory_of(x, op->kind == PIPC__SIGNAL ? op->peer : x->rank, op->dst.place),
                 FLAGS_BYTES);
    for (uint64_t area = 0; op->nsrc && area < PIPC__BUFFERS; area++) {
        if (is_staged(op->dst))
            populate(slot_at(x, op->dst, area, bytes), bytes);
        for (int i = 0; i < op->nsrc; i++)
            if (is_staged(op->src[i]))
                populate(slot_at(x, op->src[i], area, bytes), bytes);
    }
}

static bool is_on_rail(const cpu_exec_t *x, const pipc__plan_t *plan)
{
    for (int l = 0; l < plan->nrails; l++)
        if (pipc__rail_owner(plan->nrails, plan->nranks, l) == x->rank)
            return true;
    return false;
}

static pipc_status_t prepare(pipc__exec_t *exec, const pipc__plan_t *plan, pipc__error_t *err)
{
    const cpu_exec_t *x = self(exec);
    size_t bytes = slot_bytes(x, plan);

    if (plan->nrails && (!x->rail.nranks || (!x->rail.rail && is_on_rail(x, plan))))
        return pipc__fail(err, PIPC_ERR_INTERNAL, "plan %s has rails, and this rank is on none",
                          plan->name);
    if (!bytes)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "staging of %zu bytes is too small for plan %s with %d "
                          "ranks; give %d or more",
                          PIPC__BUFFERS * x->area_bytes, plan->name, plan->nranks,
                          PIPC__BUFFERS * (plan->nrails ? PIPC__SLOTS_MAX : plan->nslots) * 4096);
    for (int i = 0; i < plan->nstages; i++)
        for (int step = 0; step < plan->program[x->rank][i].nops; step++)
            populate_op(x, &plan->program[x->rank][i].ops[step], bytes);
    return PIPC_OK;
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Where a stage of a call stands. */
typedef struct cpu_stage {
    const pipc__program_t *program;
    uint64_t round;      /* counted over all calls */
    size_t first, count; /* the piece of the message that this round moves, in elements */
    pipc__split_t split;
    int step;
} cpu_stage_t;

/* A call, as all its stages see it. */
typedef struct cpu_run {
    const cpu_exec_t *x;
    const pipc__exec_call_t *call;
    size_t elem_bytes, slot_bytes, round_elems;
    bool past_caches; /* the output is written past them */
    int pieces;       /* chunks of a round in each block that the call's count is for */
    cpu_stage_t stage[PIPC__STAGES_MAX];
    pipc__cpu_jobs_t *jobs;
} cpu_run_t;

/* Has the user's buffer at @place a block for each rank, or one alone? */
static bool has_blocks(const pipc__plan_t *plan, int place)
{
    return (plan->collective == PIPC__REDUCE_SCATTER && place == PIPC__INPUT) ||
           (plan->collective == PIPC__ALLGATHER && place == PIPC__OUTPUT);
}

/* Where @ref's part of @chunk begins, and its length in elements. */
static char *locate(const cpu_run_t *k, const cpu_stage_t *s, pipc__ref_t ref, int chunk, size_t *n)
{
    const pipc__exec_call_t *call = k->call;
    size_t at;

    *n = pipc__split_part(s->split, s->count, chunk % k->pieces, 0, &at);
    if (is_staged(ref))
        return slot_at(k->x, ref, PIPC__AREA(s->round), k->slot_bytes);
    at += s->first;
    if (has_blocks(call->plan, ref.place))
        at += (size_t)(chunk / k->pieces) * call->count;
    return (char *)((uintptr_t)(ref.place == PIPC__INPUT ? call->send : call->recv) +
                    at * k->elem_bytes);
}

/* Do the ranks' buffers exceed their caches? Then an output that is written past them saves the
 * reading of its lines, a third of what the message moves. What is reduced is often read again at
 * once, to be pushed, and what is done in place was read already: both stay in the caches. */
static bool exceeds_caches(const cpu_exec_t *x, const pipc__exec_call_t *call, size_t elem_bytes)
{
    return call->send != call->recv &&
           call->count > x->cache_bytes / elem_bytes / 2 / (size_t)x->size;
}

static void copy(const cpu_run_t *k, const pipc__op_t *op, char *dst, const void *src, size_t bytes)
{
    if (k->past_caches && op->dst.place == PIPC__OUTPUT)
        pipc__copy_past_caches(dst, src, bytes);
    else
        memcpy(dst, src, bytes);
}

static void copy_or_reduce(const cpu_run_t *k, const cpu_stage_t *s, const pipc__op_t *op)
{
    bool rails = k->call->plan->nrails;
    const pipc__reduction_t how = {
        k->call->dtype, k->call->op, rails ? k->x->rail.nranks : k->x->size,
        op->nsrc,       op->pre,     op->post};
    const void *src[PIPC__RANKS_MAX];
    size_t n;
    char *dst = locate(k, s, op->dst, op->chunk, &n);

    for (int i = 0; i < op->nsrc; i++)
        src[i] = locate(k, s, op->src[i], op->chunk, &n);
    if (!n)
        return;
    /* A reduction of one source is that of one rank: its pre- and post-op change nothing, unless
     * the rank is one of many nodes'. */
    if (op->nsrc > 1 || (op->pre && rails && how.op == PIPC_AVG))
        pipc__reduce(&how, dst, src, n);
    else if (dst != src[0])
        copy(k, op, dst, src[0], n * k->elem_bytes);
}

static void begin_rail(const cpu_run_t *k, const cpu_stage_t *s, const pipc__op_t *op)
{
    flag_t *flags = (flag_t *)(void *)memory_of(k->x, k->x->rank, PIPC__SLOT);
    pipc__cpu_job_t job = {.round = s->round, .post = op->post};

    job.flag = &flags[s->round % PIPC__BUFFERS * PIPC__FLAGS_MAX + op->flag].round;
    job.data = locate(k, s, op->dst, op->chunk, &job.count);
    pipc__cpu_jobs_begin(k->jobs, job);
}

static void act(const cpu_run_t *k, const cpu_stage_t *s, const pipc__op_t *op)
{
    if (op->kind == PIPC__COPY || op->kind == PIPC__REDUCE)
        copy_or_reduce(k, s, op);
    if (op->kind == PIPC__RAIL)
        begin_rail(k, s, op);
    if (op->kind != PIPC__SIGNAL)
        return;
    atomic_store_explicit(&flag_of(k->x, op->peer, op, s->round)->round, s->round,
                          memory_order_release);
    if (op->peer != k->x->rank) /* the own stages are on this thread, and awake */
        pipc__control_ring(k->x->base.ctl, op->peer);
}

/* --- stages ---------------------------------------------------------------------------------- */

/* Cut the next piece of the message, from element @first on. */
static void begin_round(const cpu_run_t *k, cpu_stage_t *s, size_t first)
{
    size_t left = k->call->count - first;

    s->round++;
    s->step = 0;
    s->first = first;
    s->count = left < k->round_elems ? left : k->round_elems;
    s->split = k->call->plan->nrails
                   ? pipc__rail_split(s->count, k->elem_bytes, k->pieces, k->slot_bytes)
                   : pipc__split(s->count, k->elem_bytes, k->pieces, 1);
}

static bool is_over(const cpu_run_t *k, const cpu_stage_t *s)
{
    return !s->program->nops || s->first == k->call->count;
}

static bool is_blocked(const cpu_run_t *k, const cpu_stage_t *s)
{
    const pipc__op_t *op = &s->program->ops[s->step];

    if (op->kind == PIPC__RAIL)
        return pipc__cpu_jobs_full(k->jobs);
    return op->kind == PIPC__WAIT && !PIPC__DROPPED((int)(s - k->stage), s->step) &&
           atomic_load_explicit(&flag_of(k->x, k->x->rank, op, s->round)->round,
                                memory_order_acquire) < s->round;
}

static void run_stage(const cpu_run_t *k, cpu_stage_t *s)
{
    while (!is_over(k, s) && !is_blocked(k, s) && !PIPC__YIELDS()) {
        PIPC__DELAY();
        act(k, s, &s->program->ops[s->step]);
        if (k->jobs->n)
            pipc__cpu_jobs_go_on(k->jobs);
        if (++s->step == s->program->nops)
            begin_round(k, s, s->first + s->count);
    }
}

static bool all_over(const cpu_run_t *k)
{
    int i = 0;

    while (i < k->call->plan->nstages && is_over(k, &k->stage[i]))
        i++;
    return i == k->call->plan->nstages && !k->jobs->n;
}

static bool any_can_go(void *arg)
{
    const cpu_run_t *k = arg;

    for (int i = 0; i < k->call->plan->nstages; i++)
        if (!is_over(k, &k->stage[i]) && !is_blocked(k, &k->stage[i]))
            return true;
    return false;
}

/* The stage to name when none can go on: one that waits for another rank, for the others wait for
 * it in the end. */
static pipc_status_t stalled(const cpu_run_t *k, pipc__error_t *err)
{
    const cpu_exec_t *x = k->x;
    int at = 0;

    for (int i = 0; i < k->call->plan->nstages; i++) {
        const cpu_stage_t *s = &k->stage[i];
        if (!is_over(k, s) &&
            (is_over(k, &k->stage[at]) || s->program->ops[s->step].peer != x->rank))
            at = i;
    }
    return pipc__exec_stalled(x->base.ctl, k->call->plan, x->rank, k->call->number,
                              k->stage[at].round - x->round - 1, at, k->stage[at].step, err);
}

/* Until some stage can go on. A loss that the rail sees is for this rank to tell the others. */
static pipc_status_t wait(cpu_run_t *k)
{
    pipc__control_t *ctl = k->x->base.ctl;
    pipc_status_t st = k->jobs->err.status;

    if (!st && k->jobs->n)
        st = pipc__cpu_jobs_wait(k->jobs, ctl, any_can_go, k);
    else if (!st)
        st = pipc__control_wait(ctl, any_can_go, k);
    if (k->jobs->err.status)
        pipc__control_abort_why(ctl, k->jobs->err.status, k->jobs->err.text);
    return st;
}

static pipc_status_t run_stages(cpu_run_t *k, pipc__error_t *err)
{
    for (;;) {
        for (int i = 0; i < k->call->plan->nstages; i++)
            run_stage(k, &k->stage[i]);
        if (all_over(k))
            return PIPC_OK;
        if (wait(k))
            return stalled(k, err);
    }
}

static void close_rail(cpu_exec_t *x)
{
    if (x->rail.rail)
        x->rail.ops->close(x->rail.rail);
    x->rail.rail = NULL;
}

static pipc_status_t run(pipc__exec_t *exec, const pipc__exec_call_t *call, pipc__error_t *err)
{
    cpu_exec_t *x = self(exec);
    const pipc__plan_t *plan = call->plan;
    pipc__cpu_jobs_t jobs; /* 3 KB, most of which no call touches */
    cpu_run_t k = {
        .x = x, .call = call, .elem_bytes = pipc_dtype_bytes(call->dtype), .jobs = &jobs};

    jobs.rail = &x->rail;
    jobs.dtype = call->dtype;
    jobs.op = call->op;
    jobs.first = jobs.n = 0;
    jobs.err.status = PIPC_OK;

    k.pieces = plan->collective == PIPC__ALLREDUCE ? plan->nchunks : plan->nchunks / plan->nranks;
    k.past_caches = exceeds_caches(x, call, k.elem_bytes);
    k.slot_bytes = slot_bytes(x, plan);
    k.round_elems = pipc__round_elems(k.slot_bytes, k.elem_bytes, k.pieces, 1);
    for (int i = 0; i < plan->nstages; i++) {
        k.stage[i] = (cpu_stage_t){.program = &plan->program[x->rank][i], .round = x->round};
        begin_round(&k, &k.stage[i], 0);
    }
    pipc_status_t st = run_stages(&k, err);
    if (st)
        close_rail(x);
    x->round += call->count / k.round_elems + (call->count % k.round_elems != 0);
    return st;
}

static void set_rail(pipc__exec_t *exec, const pipc__exec_rail_t *rail)
{
    self(exec)->rail = *rail;
}

static pipc_status_t nothing_pending(pipc__exec_t *exec, pipc__error_t *err)
{
    (void)exec;
    (void)err;
    return PIPC_OK; /* run() returns when all is done */
}

static void disconnect(pipc__exec_t *exec)
{
    cpu_exec_t *x = self(exec);

    close_rail(x);
    for (int r = 0; r < x->size; r++)
        pipc__segment_close(&x->seg[r]);
}

static void destroy(pipc__exec_t *exec)
{
    if (!exec)
        return;
    disconnect(exec);
    pipc__segment_close(&self(exec)->own);
    free(exec);
}

const pipc__exec_ops_t pipc__exec_cpu = {
    .name = "cpu",
    .create = create,
    .connect = connect_peers,
    .set_rail = set_rail,
    .prepare = prepare,
    .run = run,
    .poll = nothing_pending,
    .drain = nothing_pending,
    .disconnect = disconnect,
    .destroy = destroy,
};
