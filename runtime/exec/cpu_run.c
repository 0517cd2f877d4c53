/* exec/cpu_run.c - a call of the CPU executor: steps, and stages that take turns. See cpu.c
 */
#include <string.h>

#include "runtime/exec/copy.h"
#include "runtime/exec/cpu_exec.h"
#include "runtime/exec/cpu_rail.h"
#include "runtime/exec/perturb.h"
#include "runtime/exec/reduce.h"

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
    const pipc__cpu_exec_t *x;
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
    if (pipc__cpu_is_staged(ref))
        return pipc__cpu_slot(k->x, ref, PIPC__AREA(s->round), k->slot_bytes);
    at += s->first;
    if (has_blocks(call->plan, ref.place))
        at += (size_t)(chunk / k->pieces) * call->count;
    return (char *)((uintptr_t)(ref.place == PIPC__INPUT ? call->send : call->recv) +
                    at * k->elem_bytes);
}

/* Do the ranks' buffers exceed their caches? Then an output that is written past them saves the
 * reading of its lines, a third of what the message moves. What is reduced is often read again at
 * once, to be pushed, and what is done in place was read already: both stay in the caches. */
static bool exceeds_caches(const pipc__cpu_exec_t *x, const pipc__exec_call_t *call,
                           size_t elem_bytes)
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
    pipc__cpu_flag_t *flags =
        (pipc__cpu_flag_t *)(void *)pipc__cpu_memory(k->x, k->x->rank, PIPC__SLOT);
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
    atomic_store_explicit(&pipc__cpu_flag(k->x, op->peer, op, s->round)->round, s->round,
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
           atomic_load_explicit(&pipc__cpu_flag(k->x, k->x->rank, op, s->round)->round,
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
    const pipc__cpu_exec_t *x = k->x;
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

/* Who is on no rail has no time of one. */
static bool is_timed(const pipc__cpu_exec_t *x, const pipc__plan_t *plan)
{
    return x->times && pipc__cpu_is_on_rail(x, plan);
}

static void add_times(pipc__rail_times_t *to, const pipc__rail_times_t *of, uint64_t nsec)
{
    to->calls++;
    to->nsec += nsec;
    to->busy_nsec += of->busy_nsec;
    to->wait_nsec += of->wait_nsec;
}

pipc_status_t pipc__cpu_run(pipc__cpu_exec_t *x, const pipc__exec_call_t *call, pipc__error_t *err)
{
    const pipc__plan_t *plan = call->plan;
    pipc__rail_times_t times = {0, 0, 0, 0};
    bool timed = is_timed(x, plan);
    uint64_t began = timed ? pipc__cpu_jobs_clock() : 0;
    pipc__cpu_jobs_t jobs; /* 3 KB, most of which no call touches */
    cpu_run_t k = {
        .x = x, .call = call, .elem_bytes = pipc_dtype_bytes(call->dtype), .jobs = &jobs};

    jobs.rail = &x->rail;
    jobs.dtype = call->dtype;
    jobs.op = call->op;
    jobs.message = !plan->nrails ? 0
                   : plan->lean  ? SIZE_MAX
                                 : call->count * k.elem_bytes / (size_t)plan->nrails;
    jobs.times = timed ? &times : NULL;
    jobs.first = jobs.n = 0;
    jobs.err.status = PIPC_OK;

    k.pieces = plan->collective == PIPC__ALLREDUCE ? plan->nchunks : plan->nchunks / plan->nranks;
    k.past_caches = exceeds_caches(x, call, k.elem_bytes);
    k.slot_bytes = pipc__cpu_slot_bytes(x, plan);
    k.round_elems = pipc__round_elems(k.slot_bytes, k.elem_bytes, k.pieces, 1);
    for (int i = 0; i < plan->nstages; i++) {
        k.stage[i] = (cpu_stage_t){.program = &plan->program[x->rank][i], .round = x->round};
        begin_round(&k, &k.stage[i], 0);
    }
    pipc_status_t st = run_stages(&k, err);
    x->round += call->count / k.round_elems + (call->count % k.round_elems != 0);
    if (timed && !st)
        add_times(x->times, &times, pipc__cpu_jobs_clock() - began);
    return st;
}
