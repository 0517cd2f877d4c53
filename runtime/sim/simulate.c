/* sim/simulate.c - see simulate.h
 *
 *     actor   begins an op --op_usec--> flows, at the rate that pipc__share() gives --> next op
 *             signals -> goes on at once; the flag is set step_usec later
 *             waits   -> until the flag has reached its round
 *             rails   -> goes on at once; the job flows over its NIC (rails.c), then the flag is
 * set
 *
 * Time goes from event to event: the end of a flow, or what stands in a heap (a flow begins, a flag
 * is set). Rates change only when flows begin or end. Events of the same moment are taken together:
 * plans are symmetric, and so whole phases of all ranks end at once.
 */
#include "runtime/sim/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/plan/check.h"
#include "runtime/sim/cut.h"
#include "runtime/sim/share.h"

#define FIRST_ROUNDS 6   /* rounds that have ended when it is first asked whether they repeat */
#define SAME_PERIOD 1e-4 /* spans of rounds that take the same differ by no more than this part */
#define WORK_MOST 60000  /* times that rates are given, about 0.15 s; then an average has to do */
#define ENDS_MOST 4096   /* rounds of which ends are kept */

typedef enum state { GOES_ON, BEGINS, FLOWS, WAITS, ENDED } state_t;

typedef struct actor {
    int rank, stage, pc;
    uint64_t round; /* that it is in */
    state_t state;
    pipc__flow_t flow;
    pipc__hop_t *hops; /* [nresources] */
    double left;       /* bytes of the flow */
} actor_t;

typedef struct event {
    double time;
    int actor; /* that begins its flow; -1: a flag is set */
    int flag;  /* index into sim->flags */
    uint64_t round;
} event_t;

typedef struct sim {
    const pipc__fabric_t *f;
    const pipc__sim_call_t *call;
    pipc__cut_t cut;
    double copy_rate, reduce_rate; /* of an engine, bytes a second */
    uint64_t rounds;               /* that are simulated; the last one is the call's last */
    uint64_t ask_at;               /* rounds done when it is asked whether they repeat */
    bool left_out;                 /* some were */
    long work;                     /* times that rates were given */
    double now;
    actor_t actor[PIPC__FLOWS_MAX];
    int nactors;
    int flowing[PIPC__FLOWS_MAX]; /* actors */
    int nflowing;
    bool changed; /* the set of flows, since rates were given */
    event_t *heap;
    int nheap, heap_cap;
    uint64_t *flags; /* [rank][place][PIPC__FLAGS_MAX]: rounds that were signalled */
    double *ends;    /* [ends_kept * nactors]: when an actor ended a round */
    uint64_t ends_kept;
    pipc__share_room_t room;
    pipc__sim_jobs_t jobs;
    bool no_memory;
} sim_t;

/* ---- the heap -------------------------------------------------------------------------------- */

static void push_event(sim_t *s, event_t e)
{
    if (s->nheap == s->heap_cap) {
        int cap = s->heap_cap ? 2 * s->heap_cap : 256;
        event_t *more = realloc(s->heap, (size_t)cap * sizeof(*more));
        if (!more) {
            s->no_memory = true;
            return;
        }
        s->heap = more;
        s->heap_cap = cap;
    }
    int i = s->nheap++;
    for (; i > 0 && s->heap[(i - 1) / 2].time > e.time; i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = e;
}

static event_t pop_event(sim_t *s)
{
    event_t top = s->heap[0], last = s->heap[--s->nheap];
    int i = 0, child;

    while ((child = 2 * i + 1) < s->nheap) {
        if (child + 1 < s->nheap && s->heap[child + 1].time < s->heap[child].time)
            child++;
        if (s->heap[child].time >= last.time)
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

/* ---- actors ---------------------------------------------------------------------------------- */

static int flag_index(int rank, const pipc__op_t *op)
{
    return (rank * 2 + (op->dst.place == PIPC__HOST)) * PIPC__FLAGS_MAX + op->flag;
}

static const pipc__program_t *program_of(const sim_t *s, const actor_t *a)
{
    return &s->call->plan->program[a->rank][a->stage];
}

static size_t bytes_of(const sim_t *s, const actor_t *a, const pipc__op_t *op)
{
    return s->cut.bytes[a->round == s->rounds - 1][op->chunk];
}

/* An op that moves data: false when there is nothing to move, as the executors see at once. */
static bool begin_flow(sim_t *s, actor_t *a, const pipc__op_t *op)
{
    size_t bytes = bytes_of(s, a, op);

    if (!bytes)
        return false;
    a->left = (double)bytes;
    a->flow.most =
        op->kind == PIPC__COPY || op->nsrc < 2 ? s->copy_rate : s->reduce_rate / op->nsrc;
    a->flow.hops = a->hops;
    a->flow.nhops = pipc__op_hops(s->f, op, a->rank, a->hops);
    a->hops[a->flow.nhops - 1].weight = 1 / a->flow.most; /* of its engine */
    a->state = BEGINS;
    push_event(s, (event_t){s->now + s->f->exec.op_usec * 1e-6, (int)(a - s->actor), 0, 0});
    return true;
}

/* A job of a chunk without elements is none, but ends behind those before it. */
static void begin_job(sim_t *s, const actor_t *a, const pipc__op_t *op)
{
    size_t bytes = bytes_of(s, a, op);
    int flag = a->rank * 2 * PIPC__FLAGS_MAX + op->flag;
    const pipc__sim_job_t job = {.rank = a->rank, .flag = flag, .round = a->round + 1};

    if (bytes)
        pipc__sim_job_begin(&s->jobs, op->chunk, job, (double)bytes);
    else
        push_event(s, (event_t){fmax(s->now, s->jobs.ends[a->rank]), -1, flag, a->round + 1});
}

/* Jobs that have flown until now set their flags when their latencies are over. */
static void end_jobs(sim_t *s, uint64_t flown)
{
    for (int c = 0; flown >> c; c++) {
        const pipc__sim_job_t *job = &s->jobs.job[c];
        if (flown >> c & 1)
            push_event(
                s, (event_t){pipc__sim_job_ends(&s->jobs, c, s->now), -1, job->flag, job->round});
        if (c == PIPC__CHUNKS_MAX - 1)
            return; /* no shift of 64 */
    }
}

/* One step of an actor that goes on. */
static void step(sim_t *s, actor_t *a)
{
    const pipc__program_t *prog = program_of(s, a);

    if (a->pc == prog->nops) {
        if (a->round < s->ends_kept)
            s->ends[a->round * (uint64_t)s->nactors + (uint64_t)(a - s->actor)] = s->now;
        a->pc = 0;
        if (++a->round == s->rounds)
            a->state = ENDED;
        return;
    }
    const pipc__op_t *op = &prog->ops[a->pc];
    if (op->kind == PIPC__WAIT && s->flags[flag_index(a->rank, op)] <= a->round) {
        a->state = WAITS;
        return;
    }
    if (op->kind == PIPC__SIGNAL)
        push_event(s, (event_t){s->now + pipc__signal_time(s->f, op, a->rank), -1,
                                flag_index(op->peer, op), a->round + 1});
    if (op->kind == PIPC__RAIL)
        begin_job(s, a, op);
    if ((op->kind == PIPC__COPY || op->kind == PIPC__REDUCE) && begin_flow(s, a, op))
        return;
    a->pc++;
}

/* ---- time ------------------------------------------------------------------------------------ */

static void wake(sim_t *s, const event_t *e)
{
    if (e->actor >= 0) {
        actor_t *a = &s->actor[e->actor];
        a->state = FLOWS;
        s->flowing[s->nflowing++] = e->actor;
        s->changed = true;
        return;
    }
    if (e->round > s->flags[e->flag])
        s->flags[e->flag] = e->round;
    for (int i = 0; i < s->nactors; i++)
        if (s->actor[i].state == WAITS && s->actor[i].rank == e->flag / (2 * PIPC__FLAGS_MAX))
            s->actor[i].state = GOES_ON; /* to look again */
}

static void give_rates(sim_t *s)
{
    pipc__flow_t *flows[PIPC__FLOWS_MAX];

    for (int i = 0; i < s->nflowing; i++)
        flows[i] = &s->actor[s->flowing[i]].flow;
    pipc__share(s->f, flows, s->nflowing, &s->room);
    s->changed = false;
    s->work++;
}

/* Let all flows go on for @seconds; those that end let their actors go on. */
static void flow_for(sim_t *s, double seconds)
{
    int kept = 0;

    for (int i = 0; i < s->nflowing; i++) {
        actor_t *a = &s->actor[s->flowing[i]];
        a->left -= a->flow.rate * seconds;
        if (a->left > 1e-3) {
            s->flowing[kept++] = s->flowing[i];
            continue;
        }
        a->state = GOES_ON;
        a->pc++;
    }
    s->changed |= kept != s->nflowing;
    s->nflowing = kept;
}

/* Go to the next moment at which something happens; false when nothing ever will. */
static bool advance(sim_t *s)
{
    double next = s->nheap ? s->heap[0].time - s->now : INFINITY;
    bool rails = s->call->plan->nrails;

    if (rails)
        next = fmin(next, pipc__sim_jobs_next(&s->jobs));
    if (s->changed)
        give_rates(s);
    for (int i = 0; i < s->nflowing; i++) {
        const actor_t *a = &s->actor[s->flowing[i]];
        next = fmin(next, a->left / a->flow.rate);
    }
    if (isinf(next))
        return false;
    next = next > 0 ? next : 0;
    flow_for(s, next);
    s->now += next;
    if (rails)
        end_jobs(s, pipc__sim_jobs_flow(&s->jobs, next));
    while (s->nheap && s->heap[0].time <= s->now + 1e-12) {
        event_t e = pop_event(s);
        wake(s, &e);
    }
    return true;
}

static pipc_status_t stuck(const sim_t *s, pipc__error_t *err)
{
    for (int i = 0; i < s->nactors; i++) {
        const actor_t *a = &s->actor[i];
        if (a->state != WAITS)
            continue;
        const pipc__op_t *op = &program_of(s, a)->ops[a->pc];
        return pipc__fail(
            err, PIPC_ERR_INVALID,
            "plan %s: deadlock: rank %d, stage %d, round %llu, step %d waits for ever "
            "for flag %d of rank %d",
            s->call->plan->name, a->rank, a->stage, (unsigned long long)a->round, a->pc, op->flag,
            op->peer);
    }
    return pipc__fail(err, PIPC_ERR_INTERNAL, "plan %s: the simulation stopped",
                      s->call->plan->name);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* How long a round takes once all take the same; 0 when they don't. Of the @done rounds that all
 * actors have ended two spans are compared, longer ones the more there are: some plans come to a
 * rhythm of several rounds. On uneven machines some come to none; after WORK_MOST the average of
 * the last span is taken. */
static double period(const sim_t *s, uint64_t done)
{
    uint64_t n = (uint64_t)s->nactors, span = (done - 1) / 3;
    const double *late = s->ends + (done - 1) * n, *mid = late - span * n, *early = mid - span * n;
    double all = late[0] - mid[0];

    for (uint64_t i = 0; i < n && s->work < WORK_MOST; i++)
        if (fabs(late[i] - mid[i] - all) > SAME_PERIOD * all ||
            fabs(mid[i] - early[i] - all) > SAME_PERIOD * all)
            return 0;
    return all / (double)span;
}

/* Once rounds repeat, leave out those between the ones that have begun and the last one; *left_out
 * gets what they would have taken. Asked at 6, 12, 24, ... rounds. */
static void leave_out(sim_t *s, double *left_out)
{
    uint64_t done = UINT64_MAX, begun = 0;

    for (int i = 0; i < s->nactors; i++) {
        done = s->actor[i].round < done ? s->actor[i].round : done;
        begun = s->actor[i].round > begun ? s->actor[i].round : begun;
    }
    bool ask = done >= s->ask_at || (s->work >= WORK_MOST && done >= FIRST_ROUNDS);
    if (!ask || done > s->ends_kept || s->left_out || begun + 3 >= s->rounds)
        return;
    s->ask_at *= 2;
    double each = period(s, done);
    if (each <= 0)
        return;
    s->left_out = true;
    *left_out = each * (double)(s->rounds - (begun + 3));
    s->rounds = begun + 3;
}

static pipc_status_t run(sim_t *s, double *left_out, pipc__error_t *err)
{
    for (;;) {
        bool all_ended = true;
        for (int i = 0; i < s->nactors; i++) {
            while (s->actor[i].state == GOES_ON && !s->no_memory)
                step(s, &s->actor[i]);
            all_ended &= s->actor[i].state == ENDED;
        }
        if (s->no_memory)
            return pipc__fail(err, PIPC_ERR_NOMEM, "no memory to simulate plan %s",
                              s->call->plan->name);
        if (all_ended)
            return PIPC_OK;
        if (!s->call->every_round)
            leave_out(s, left_out);
        if (!advance(s))
            return stuck(s, err);
    }
}

static void release(sim_t *s)
{
    for (int i = 0; i < s->nactors; i++)
        free(s->actor[i].hops);
    free(s->heap);
    free(s->flags);
    free(s->ends);
    pipc__share_release(&s->room);
}

static pipc_status_t simulate(sim_t *s, pipc__sim_result_t *out, pipc__error_t *err)
{
    const pipc__plan_t *p = s->call->plan;
    size_t nflags = (size_t)p->nranks * 2 * PIPC__FLAGS_MAX;
    double left_out = 0;

    s->rounds = out->rounds;
    s->ask_at = FIRST_ROUNDS;
    for (int r = 0; r < p->nranks; r++)
        for (int g = 0; g < p->nstages; g++) {
            if (!p->program[r][g].nops)
                continue; /* it would end all rounds at once, and nobody waits for it */
            pipc__hop_t *hops = calloc((size_t)s->f->nresources, sizeof(*hops));
            s->no_memory |= !hops;
            s->actor[s->nactors++] = (actor_t){.rank = r, .stage = g, .hops = hops};
        }
    s->flags = calloc(nflags, sizeof(*s->flags));
    s->ends_kept = out->rounds < ENDS_MOST ? out->rounds : ENDS_MOST;
    s->ends = calloc((size_t)s->ends_kept * (size_t)s->nactors, sizeof(*s->ends));
    s->no_memory |= !s->flags || !s->ends || !pipc__share_room(&s->room, s->f);
    pipc_status_t st = run(s, &left_out, err);
    out->simulated = s->rounds;
    out->usec = 1e6 * (s->now + left_out);
    release(s);
    return st;
}

/* ---- results --------------------------------------------------------------------------------- */

static void add_load(const sim_t *s, const pipc__program_t *prog, int rank, pipc__hop_t *hops,
                     pipc__sim_load_t *load)
{
    for (int i = 0; i < prog->nops; i++) {
        const pipc__op_t *op = &prog->ops[i];
        if (op->kind != PIPC__COPY && op->kind != PIPC__REDUCE)
            continue;
        uint64_t bytes =
            s->cut.bytes[0][op->chunk] * (s->cut.rounds - 1) + s->cut.bytes[1][op->chunk];
        int n = pipc__op_hops(s->f, op, rank, hops);
        hops[n - 1].weight =
            op->kind == PIPC__COPY || op->nsrc < 2 ? 1 / s->copy_rate : op->nsrc / s->reduce_rate;
        for (int h = 0; h < n; h++) {
            load[hops[h].resource].bytes += bytes * (uint64_t)hops[h].times;
            load[hops[h].resource].busy += (double)bytes * hops[h].weight;
        }
    }
}

/* Lanes of a rank are simulated in step, so what waits in one waits in all. In truth they drift
 * apart from round to round, and some push while others read or sum. Of the time that this could
 * save at most, until the busiest resource is never idle, a part is saved in each round but the
 * first. */
static void drift_apart(const sim_t *s, pipc__sim_result_t *out)
{
    double call = s->f->exec.call_usec, full = out->limit < 0 ? 0 : out->load[out->limit].busy;
    double idle = out->usec - call - full * out->usec, was = out->usec;

    if (out->rounds < 2 || idle <= 0)
        return;
    out->usec -= s->f->exec.drift * idle * (double)(out->rounds - 1) / (double)out->rounds;
    for (int i = 0; i < s->f->nresources; i++)
        out->load[i].busy *= was / out->usec;
}

static pipc_status_t weigh(const sim_t *s, pipc__sim_result_t *out, pipc__error_t *err)
{
    const pipc__plan_t *p = s->call->plan;
    pipc__hop_t *hops = calloc((size_t)s->f->nresources, sizeof(*hops));

    out->load = calloc((size_t)s->f->nresources, sizeof(*out->load));
    out->limit = PIPC__UNKNOWN;
    for (int r = 0; hops && out->load && s->cut.rounds && r < p->nranks; r++)
        for (int g = 0; g < p->nstages; g++)
            add_load(s, &p->program[r][g], r, hops, out->load);
    free(hops);
    if (!hops || !out->load)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the load of %d links", s->f->nlinks);
    for (int i = 0; i < s->f->nresources; i++) {
        out->load[i].busy /= s->f->resources[i].rate * out->usec * 1e-6;
        if (out->load[i].busy > (out->limit < 0 ? 0 : out->load[out->limit].busy * (1 + 1e-9)))
            out->limit = i;
    }
    return PIPC_OK;
}

/* What each NIC sends; the busiest counts. */
static void weigh_nics(const sim_t *s, pipc__sim_result_t *out)
{
    const pipc__plan_t *p = s->call->plan;
    double sent[PIPC__RANKS_MAX] = {0};

    for (int c = 0; p->nrails && s->cut.rounds && c < p->nchunks; c++) {
        int rank = pipc__rail_owner(p->nrails, p->nranks, pipc__rail_of(p->nrails, c));
        double *nic = &sent[rank / s->jobs.net.ranks];
        *nic += (double)(s->cut.rounds - 1) *
                pipc__sim_way_over(&s->jobs.net, (double)s->cut.bytes[0][c], s->jobs.message).bytes;
        *nic += pipc__sim_way_over(&s->jobs.net, (double)s->cut.bytes[1][c], s->jobs.message).bytes;
        out->nic_bytes = fmax(out->nic_bytes, *nic);
    }
    if (p->nrails)
        out->nic_busy = out->nic_bytes / s->jobs.net.rate / out->usec * 1e6;
}

static void bandwidths(const pipc__sim_call_t *call, pipc__sim_result_t *out)
{
    double n = call->plan->nranks * (call->net ? call->net->nodes : 1), part = (n - 1) / n;

    out->algbw = out->usec > 0 ? (double)pipc__cut_message(call) / out->usec / 1e3 : 0;
    out->busbw = out->algbw * (call->plan->collective == PIPC__ALLREDUCE ? 2 * part : part);
}

pipc_status_t pipc__simulate(pipc__sim_result_t *out, const pipc__fabric_t *f,
                             const pipc__sim_call_t *call, pipc__error_t *err)
{
    sim_t *s = calloc(1, sizeof(*s));
    pipc_status_t st;

    memset(out, 0, sizeof(*out));
    if (!s)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory to simulate plan %s", call->plan->name);
    s->f = f;
    s->call = call;
    st = pipc__plan_validate(call->plan, err);
    if (!st && call->plan->nranks != f->nranks)
        st = pipc__fail(err, PIPC_ERR_INVALID, "plan %s is for %d ranks, the links are for %d",
                        call->plan->name, call->plan->nranks, f->nranks);
    if (!st)
        st = pipc__cut(&s->cut, call, err);
    if (!st && call->plan->nrails && !call->net)
        st = pipc__fail(err, PIPC_ERR_INVALID,
                        "plan %s is for several nodes; say how many there are", call->plan->name);
    if (!st) {
        if (call->plan->nrails) {
            s->jobs.net = *call->net;
            s->jobs.message = call->plan->lean
                                  ? (double)SIZE_MAX
                                  : (double)pipc__cut_message(call) / call->plan->nrails;
        }
        out->rounds = s->cut.rounds;
        out->working_set = pipc__cut_working_set(&s->cut, call);
        s->copy_rate = 1e9 * pipc__curve_at(&f->exec.copy_gbps, out->working_set);
        s->reduce_rate = 1e9 * pipc__curve_at(&f->exec.reduce_gbps, out->working_set);
        st = out->rounds ? simulate(s, out, err) : PIPC_OK;
        out->usec += f->exec.call_usec;
    }
    if (!st)
        st = weigh(s, out, err);
    if (!st) {
        if (!call->plan->nrails) /* what the busiest link could gain is for a node alone */
            drift_apart(s, out);
        weigh_nics(s, out);
        bandwidths(call, out);
    }
    free(s);
    if (st)
        pipc__sim_release(out);
    return st;
}

void pipc__sim_release(pipc__sim_result_t *result)
{
    free(result->load);
    result->load = NULL;
}

const char *pipc__sim_limit_text(const pipc__fabric_t *f, const pipc__sim_result_t *result,
                                 char *text, size_t cap)
{
    if (result->limit < 0) {
        snprintf(text, cap, "nothing moves");
        return text;
    }
    const char *way = pipc__sim_way(f, result->limit);
    double busy = result->load[result->limit].busy;
    snprintf(text, cap, "%s%s%s%s, %.0f %%%s",
             busy < PIPC__SIM_LIMITS ? "latency of its steps (busiest: " : "",
             f->links[f->resources[result->limit].link].name, *way ? ", " : "", way, 100 * busy,
             busy < PIPC__SIM_LIMITS ? ")" : "");
    return text;
}
