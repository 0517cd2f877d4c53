/* exec/cuda_rail.c - a plan over nodes on GPUs. See cuda_exec.h for the other files.
 *
 *     a round on the caller's stream:
 *     a rank on a rail   | kernel: first half | NCCL: jobs of the rail | kernel: second half |
 *     a rank on none     | kernel: first half | kernel: second half, which waits for owners  |
 *
 * The tempting way is one kernel for the whole plan, which waits on the GPU while NCCL, on a stream
 * beside it, does a job that the kernel has told it of. Rounds would overlap with their jobs. But a
 * kernel would then wait for one that need not be resident yet, and an order that goes by memory is
 * unknown to CUDA, which may put one behind the other: in a graph, where branches share a queue, or
 * where CUDA_DEVICE_MAX_CONNECTIONS is 1 (cuda.h says so of stream memory operations). As it is
 * NCCL may have the GPU for itself, calls can be captured like any work on the stream, and no wait
 * is in the GPU's front end, where no abort word would end it.
 *
 * Rounds are cut by what all nodes know (pipc__rail_chunk_bytes()), so a job has the same elements
 * on every node, however many ranks, lanes and slots that one has.
 *
 * A thread watches both ways: when the abort word is set it stops the engine, and what the engine
 * says of other nodes it tells the ranks of this one.
 */
#include "runtime/exec/cuda_rail.h"

#include <signal.h>
#include <string.h>
#include <time.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/perturb.h"
#include "runtime/plan/halves.h"

#define WATCH_MSEC 20

/* --- the watcher ----------------------------------------------------------------------------- */

/* As an abort of this rank, for the others of the node. */
static void tell_node(pipc__cuda_rail_t *r, const pipc__error_t *err)
{
    if (!pipc__control_state(r->ctl, NULL))
        pipc__control_abort_why(
            r->ctl, err->status == PIPC_ERR_PEER_LOST ? err->status : PIPC_ERR_ABORTED, err->text);
}

static void look(pipc__cuda_rail_t *r)
{
    pipc__error_t err;

    if (r->set.ops->look(r->set.rail, &err))
        tell_node(r, &err);
}

/* The abort word of every rank comes first: what is enqueued behind a job that is stopped goes on
 * with nonsense, and who looks for errors before using a result must find one there. */
static void stop_engine(pipc__cuda_rail_t *r)
{
    int who = r->rank;
    pipc_status_t st = pipc__control_state(r->ctl, &who);

    pipc__control_abort(r->ctl, st, who);
    r->set.ops->stop(r->set.rail);
}

static void *watch(void *arg)
{
    pipc__cuda_rail_t *r = arg;
    struct timespec t;

    pthread_mutex_lock(&r->lock);
    while (!r->stop && !pipc__control_state(r->ctl, NULL)) {
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += WATCH_MSEC * 1000000L;
        t.tv_sec += t.tv_nsec / 1000000000L;
        t.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&r->wake, &r->lock, &t);
        if (r->joined && !r->stop)
            look(r);
    }
    bool stop = r->stop;
    pthread_mutex_unlock(&r->lock);
    if (!stop)
        stop_engine(r);
    return NULL;
}

static pipc_status_t start_watcher(pipc__cuda_rail_t *r, pipc__error_t *err)
{
    sigset_t all, old;

    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->wake, NULL);
    /* The program's signals stay the program's. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&r->watcher, NULL, watch, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc)
        return pipc__fail(err, PIPC_ERR_SYSTEM, "thread that watches a rail: %s", strerror(rc));
    pthread_setname_np(r->watcher, "pcie-ipc-rail");
    r->watching = true;
    return PIPC_OK;
}

static void stop_watcher(pipc__cuda_rail_t *r)
{
    if (!r->watching)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->watcher, NULL);
    r->watching = false;
}

/* --- set-up and end -------------------------------------------------------------------------- */

/* Plans over nodes have staging for themselves: no other protocol is used beside them, and jobs
 * should be long. */
void pipc__cuda_set_rail(pipc__exec_t *exec, const pipc__exec_rail_t *rail)
{
    pipc__cuda_exec_t *x = (pipc__cuda_exec_t *)(void *)exec;

    x->rail.set = *rail;
    x->rail.ctl = x->base.ctl;
    x->rail.rank = x->rank;
    x->layout = pipc__layout_simple(x->layout.bytes);
    x->args.area_bytes = x->layout.area_bytes;
    x->args.scrub[0] = x->args.scrub[1] = NULL; /* there are no packets of LL */
    x->args.nranks = (uint32_t)rail->nranks;
    x->args.nth = 1.0 / rail->nranks;
    x->args.reciprocal = UINT64_MAX / (uint64_t)rail->nranks;
}

/* The watcher first: join() waits for other nodes, and must end with the ranks of this one. */
pipc_status_t pipc__cuda_join_rail(pipc__cuda_exec_t *x, pipc__error_t *err)
{
    pipc__cuda_rail_t *r = &x->rail;
    char cause[PIPC__CAUSE_MAX];

    if (!r->set.rail || r->joined)
        return PIPC_OK;
    pipc_status_t st = r->watching ? PIPC_OK : start_watcher(r, err); /* a second try finds it */
    if (!st)
        st = r->set.ops->join(r->set.rail, err);
    if (st && pipc__control_state(r->ctl, NULL))
        return pipc__fail(err, pipc__control_state(r->ctl, NULL), "%s",
                          pipc__control_cause(r->ctl, cause, sizeof(cause)));
    if (st)
        return st;
    pthread_mutex_lock(&r->lock);
    r->joined = true;
    pthread_mutex_unlock(&r->lock);
    return PIPC_OK;
}

void pipc__cuda_rail_end(pipc__cuda_exec_t *x, bool alive)
{
    pipc__cuda_rail_t *r = &x->rail;

    if (!r->set.rail)
        return;
    if (alive && r->joined)
        r->set.ops->finish(r->set.rail);
    stop_watcher(r);
    r->set.ops->close(r->set.rail);
    r->set.rail = NULL;
}

/* --- plans ----------------------------------------------------------------------------------- */

static size_t chunk_bytes(const pipc__cuda_exec_t *x)
{
#ifdef PIPC_PERTURB
    if (pipc__perturb.rail_chunk)
        return pipc__perturb.rail_chunk;
#endif
    return pipc__rail_chunk_bytes(pipc__layout_simple(x->rail.set.staging_bytes).area_bytes,
                                  PIPC__LANES_MAX);
}

/* What the engine sums has to lie in the caller's buffer, whole, and one step has to wait for it.
 */
static const char *judge_jobs(const pipc__plan_t *plan, int rank)
{
    for (int s = 0; s < plan->nstages; s++)
        for (int i = 0; i < plan->program[rank][s].nops; i++) {
            const pipc__op_t *rail = &plan->program[rank][s].ops[i];
            int waits = 0;
            if (rail->kind != PIPC__RAIL)
                continue;
            if (rail->dst.place != PIPC__OUTPUT)
                return "it sums over nodes what is in a slot";
            for (int t = 0; t < plan->nstages; t++)
                for (int k = 0; k < plan->program[rank][t].nops; k++)
                    waits += pipc__plan_rail_of(plan, rank, &plan->program[rank][t].ops[k]) == rail;
            if (waits != 1)
                return "not one step alone waits for a job of its rail";
        }
    return NULL;
}

static bool is_on_rail(const pipc__cuda_exec_t *x, const pipc__plan_t *plan)
{
    for (int l = 0; l < plan->nrails; l++)
        if (pipc__rail_owner(plan->nrails, plan->nranks, l) == x->rank)
            return true;
    return false;
}

pipc_status_t pipc__cuda_rail_judge(const pipc__cuda_exec_t *x, const pipc__plan_t *plan,
                                    pipc__error_t *err)
{
    const pipc__exec_rail_t *set = &x->rail.set;

    if (!plan->nrails && !set->nranks)
        return PIPC_OK;
    if (!plan->nrails)
        return pipc__fail(err, PIPC_ERR_INTERNAL, "plan %s is for one node, and there are rails",
                          plan->name);
    if (!set->nranks || (!set->rail && is_on_rail(x, plan)))
        return pipc__fail(err, PIPC_ERR_INTERNAL, "plan %s has rails, and this rank is on none",
                          plan->name);
    if (!chunk_bytes(x))
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "staging of %zu bytes is too small for plan %s with %d ranks; give %zu "
                          "or more",
                          set->staging_bytes, plan->name, plan->nranks, 2 * x->layout.bytes);
    const char *wrong = judge_jobs(plan, x->rank);
    return wrong ? pipc__fail(err, PIPC_ERR_UNSUPPORTED, "plan %s: %s", plan->name, wrong)
                 : PIPC_OK;
}

pipc_status_t pipc__cuda_rail_prepare(pipc__cuda_exec_t *x, int index, pipc__error_t *err)
{
    pipc__halves_t halves;
    pipc_status_t st = pipc__plan_halve(&halves, x->programs[index].plan, err);

    if (!st)
        memcpy(x->programs[index].first, halves.first[x->rank], sizeof(halves.first[0]));
    return st;
}

/* --- a call ---------------------------------------------------------------------------------- */

/* No more lanes than have flags; every lane's part of a chunk fits its part of a slot. */
static int count_lanes(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call)
{
    int most = pipc__most_lanes(pipc__cuda_blocks(x, call), call->plan->nstages);

    return pipc__lanes(call->count, pipc_dtype_bytes(call->dtype),
                       most < PIPC__LANES_MAX ? most : PIPC__LANES_MAX);
}

static CUresult launch_half(pipc__cuda_exec_t *x, const pipc__exec_call_t *round, int index,
                            int lanes, pipc__half_t half)
{
    pipc__lane_args_t *a = &x->args;

    pipc__cuda_take_program(x, round, index);
    a->half = half;
    for (int s = 0; s < a->nstages; s++) {
        int first = x->programs[index].first[s];
        if (half == PIPC__BEFORE)
            a->to[s] = first;
        else
            a->from[s] = first;
    }
    return pipc__cuda_launch_lanes(x, round, lanes);
}

/* The jobs of @round, in the program's order; returns how many. */
static int make_jobs(const pipc__cuda_exec_t *x, const pipc__exec_call_t *round,
                     pipc__rail_job_t *jobs)
{
    const pipc__program_t *stage = round->plan->program[x->rank];
    size_t elem = pipc_dtype_bytes(round->dtype), at;
    pipc__split_t split = pipc__split_chunk(x->args.chunk_elems, elem, 1);
    int n = 0;

    for (int s = 0; s < round->plan->nstages; s++)
        for (int i = 0; i < stage[s].nops; i++) {
            const pipc__op_t *op = &stage[s].ops[i];
            size_t count = op->kind == PIPC__RAIL
                               ? pipc__split_part(split, round->count, op->chunk, 0, &at)
                               : 0;
            if (count)
                jobs[n++] = (pipc__rail_job_t){.data = (char *)round->recv + at * elem,
                                               .count = count,
                                               .dtype = round->dtype,
                                               .op = round->op};
        }
    return n;
}

static pipc_status_t enqueue_jobs(pipc__cuda_exec_t *x, const pipc__exec_call_t *round,
                                  pipc__error_t *err)
{
    pipc__rail_job_t jobs[PIPC__CHUNKS_MAX];
    int n = make_jobs(x, round, jobs);

    if (!n)
        return PIPC_OK;
    if (!x->rail.joined)
        return pipc__fail(err, PIPC_ERR_INTERNAL, "a call over nodes whose rail was never joined");
    return x->rail.set.ops->enqueue(x->rail.set.rail, jobs, n, round->stream, err);
}

_Static_assert(PIPC__CHUNKS_MAX <= PIPC__RAIL_JOBS_MAX, "a rail takes the jobs of a round");

static pipc_status_t run_round(pipc__cuda_exec_t *x, const pipc__exec_call_t *round, int index,
                               int lanes, CUresult *rc, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    *rc = launch_half(x, round, index, lanes, PIPC__BEFORE);
    if (!*rc)
        st = enqueue_jobs(x, round, err);
    if (st) /* the first half is on its way, and nothing follows */
        tell_node(&x->rail, err);
    if (!*rc && !st)
        *rc = launch_half(x, round, index, lanes, PIPC__BEHIND);
    return st;
}

/* A launch counts when it has run (pipc__lane_state_t.calls), and cuda_order.c waits for that: it
 * is told of all but the last one here. */
pipc_status_t pipc__cuda_rail_launch(pipc__cuda_exec_t *x, const pipc__exec_call_t *call, int index,
                                     bool capturing, CUresult *rc, pipc__error_t *err)
{
    size_t elem = pipc_dtype_bytes(call->dtype), chunk = chunk_bytes(x);
    size_t round_elems = chunk / elem * (size_t)call->plan->nchunks;
    int lanes = count_lanes(x, call);
    pipc__exec_call_t round = *call;
    pipc_status_t st = PIPC_OK;
    pipc__lane_args_t *a = &x->args;

    *rc = CUDA_SUCCESS;
    a->slot_bytes = pipc__lane_slot_bytes(x->layout.area_bytes, PIPC__SLOTS_MAX, lanes);
    a->round_elems = round_elems;
    a->rounds_before = 0;
    for (size_t first = 0; !st && !*rc && first < call->count; first += round_elems) {
        round.send = (const char *)call->send + first * elem;
        round.recv = (char *)call->recv + first * elem;
        round.count = call->count - first < round_elems ? call->count - first : round_elems;
        a->chunk_elems = pipc__rail_split(round.count, elem, call->plan->nchunks, chunk).chunk;
        st = run_round(x, &round, index, lanes, rc, err);
        a->rounds_before++;
    }
    if (!st && !*rc && !capturing)
        x->order.launched += 2 * a->rounds_before - 1;
    return st;
}
