/* comm/comm.c - calls on a communicator. See <pcie-ipc/comm.h> */
#include "runtime/comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/comm/child.h"
#include "runtime/comm/ranges.h"
#include "runtime/comm/report.h"

static _Thread_local char last_error[PIPC__ERROR_MAX];

const char *pipc_last_error(void)
{
    return last_error;
}

pipc_status_t pipc__comm_report(const pipc__error_t *err)
{
    memcpy(last_error, err->text, sizeof(last_error));
    return err->status;
}

static pipc_status_t refuse(const char *text)
{
    pipc__error_t err;

    pipc__fail(&err, PIPC_ERR_INVALID, "%s", text);
    return pipc__comm_report(&err);
}

static pipc_status_t refuse_child(void)
{
    return refuse("the communicator is the parent's, and this is a forked child, which can only "
                  "destroy it; create one in this process");
}

/* Latch @err as the communicator's end; the first one stays. Other ranks are told, so that none
 * waits for this one. */
static pipc_status_t die(pipc_comm_t *c, const pipc__error_t *err)
{
    int alive = PIPC_OK;

    if (atomic_compare_exchange_strong(&c->dying, &alive, 1)) {
        c->error = *err;
        pipc__control_abort(c->ctl, PIPC_ERR_ABORTED, c->local_rank); /* a no-op where a word is set */
        atomic_store(&c->dead, err->status);
    }
    return pipc__comm_report(err);
}

static pipc_status_t dead(pipc_comm_t *c)
{
    int st = atomic_load(&c->dead);

    return st ? pipc__comm_report(&c->error) : PIPC_OK;
}

pipc__choice_t pipc__comm_choice(const pipc_comm_t *comm, size_t bytes, bool in_graph)
{
    return pipc__table_choose(&comm->table, bytes, in_graph);
}

const char *pipc__comm_choice_name(const pipc_comm_t *comm, size_t bytes, bool in_graph)
{
    static const char *const names[PIPC__PROTOS] = { /* the only plan that has these */
        [PIPC__PROTO_LL] = "one-shot/ll",
        [PIPC__PROTO_PUSH] = "one-shot/push",
        [PIPC__PROTO_CE] = "one-shot/ce",
        [PIPC__PROTO_LL128] = "one-shot/ll128",
    };
    pipc__choice_t c = pipc__comm_choice(comm, bytes, in_graph);

    return names[c.proto] ? names[c.proto] : pipc__algo_name(c.algo);
}

static void tally(pipc_comm_t *c, int algo, size_t bytes)
{
    atomic_fetch_add_explicit(&c->done[algo].calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->done[algo].bytes, bytes, memory_order_relaxed);
}

static void report(const pipc_comm_t *c, int algo, pipc__proto_t proto, size_t bytes)
{
    if (algo == PIPC__ALGO_NCCL)
        pipc__report_nccl(pipc__report_here(), c->why_nccl, bytes);
    else
        pipc__report_own(pipc__report_here(), algo, proto, bytes);
}

static const char *judge_arguments(const void *send, const void *recv, size_t count,
                                   pipc_dtype_t dtype, pipc_redop_t op)
{
    size_t elem = pipc_dtype_bytes(dtype);
    uintptr_t s = (uintptr_t)send, r = (uintptr_t)recv;

    if (!elem)
        return "pipc_allreduce: unknown element type; use one of <pcie-ipc/types.h>";
    if ((unsigned int)op >= PIPC_REDOP_COUNT)
        return "pipc_allreduce: unknown operation; use one of <pcie-ipc/types.h>";
    if (count > SIZE_MAX / 2 / elem)
        return "pipc_allreduce: count is too large";
    if (count && (!send || !recv))
        return "pipc_allreduce: a buffer is NULL";
    if (s != r && (s < r ? r - s : s - r) < count * elem)
        return "pipc_allreduce: send and recv overlap; use the same pointer for in place";
    return NULL;
}

static pipc_status_t run_as(pipc_comm_t *c, pipc__choice_t choice, pipc__exec_call_t *call,
                            pipc__error_t *err)
{
    const pipc__exec_ops_t *ops = c->exec->ops;

    if (choice.algo == PIPC__ALGO_NCCL)
        return ops->other(c->exec, call, pipc__nccl_allreduce, c->nccl, err);
    call->plan = c->plan[choice.algo];
    call->proto = choice.proto;
    call->blocks = choice.blocks && choice.blocks < c->most_blocks ? choice.blocks : c->most_blocks;
    return ops->run(c->exec, call, err);
}

/* Complete @call by what the table says and run it. Returns the algorithm, or -1 with @err. What is
 * left to the program has no range: nothing of it happens here. */
static int run(pipc_comm_t *c, pipc__exec_call_t *call, size_t bytes, pipc__error_t *err)
{
    const pipc__exec_ops_t *ops = c->exec->ops;
    bool in_graph = false;

    if (ops->captures && pipc__table_asks_graph(&c->table, bytes) &&
        ops->captures(c->exec, call->stream, &in_graph, err))
        return -1;
    pipc__choice_t choice = pipc__comm_choice(c, bytes, in_graph);
    if (choice.algo == PIPC__ALGO_NCCL && c->leaves)
        return choice.algo;
    pipc__range_begin(pipc__range_of_call(choice), bytes);
    pipc_status_t st = run_as(c, choice, call, err);
    pipc__range_end();
    return st ? -1 : choice.algo;
}

pipc_status_t pipc_allreduce(pipc_comm_t *c, const void *send, void *recv, size_t count,
                             pipc_dtype_t dtype, pipc_redop_t op, void *stream)
{
    const char *wrong = c ? judge_arguments(send, recv, count, dtype, op)
                          : "pipc_allreduce: comm is NULL";
    pipc__error_t err;

    if (wrong)
        return refuse(wrong);
    if (pipc__child_inherited(c))
        return refuse_child();
    if (dead(c))
        return dead(c);
    uint64_t number = atomic_fetch_add(&c->calls, 1) + 1;
    size_t bytes = count * pipc_dtype_bytes(dtype);
    if (!bytes) {
        atomic_fetch_add(&c->empty, 1);
        return PIPC_OK;
    }
    pipc__exec_call_t call = {.send = send, .recv = recv, .count = count, .dtype = dtype, .op = op,
                              .stream = stream, .number = number};
    pthread_mutex_lock(&c->lock);
    int algo = run(c, &call, bytes, &err);
    pthread_mutex_unlock(&c->lock);
    if (algo < 0 && err.status == PIPC_ERR_INVALID && !pipc__control_state(c->ctl, NULL))
        return pipc__comm_report(&err); /* nothing was done, and no rank waits for it */
    if (algo < 0)
        return die(c, &err);
    tally(c, algo, bytes);
    if (c->reports)
        report(c, algo, call.proto, bytes);
    return algo == PIPC__ALGO_NCCL && c->leaves ? PIPC_LEFT : PIPC_OK;
}

/* Ask the executor, unless another thread is in a call: that one will hear of it, and to wait for it
 * here could be to wait for a late peer. */
static pipc_status_t poll(pipc_comm_t *c, pipc__error_t *err)
{
    if (pthread_mutex_trylock(&c->lock))
        return PIPC_OK;
    pipc_status_t st = c->exec->ops->poll(c->exec, err);
    if (!st && c->nccl)
        st = pipc__nccl_poll(c->nccl, err);
    pthread_mutex_unlock(&c->lock);
    return st;
}

pipc_status_t pipc_comm_async_error(pipc_comm_t *c, pipc_status_t *async)
{
    pipc__error_t err;
    char cause[PIPC__CAUSE_MAX];

    if (!c || !async)
        return refuse("pipc_comm_async_error: an argument is NULL");
    if (pipc__child_inherited(c))
        return refuse_child();
    *async = dead(c);
    if (*async)
        return PIPC_OK;
    if (poll(c, &err)) {
        *async = die(c, &err);
        return PIPC_OK;
    }
    pipc_status_t st = pipc__control_state(c->ctl, NULL);
    if (!st)
        return PIPC_OK;
    pipc__fail(&err, st, "%s after call %llu", pipc__control_cause(c->ctl, cause, sizeof(cause)),
               (unsigned long long)atomic_load(&c->calls));
    *async = die(c, &err);
    return PIPC_OK;
}

pipc_status_t pipc_comm_pending(pipc_comm_t *c, int *pending)
{
    pipc__error_t err;
    bool yes = false;

    if (!c || !pending)
        return refuse("pipc_comm_pending: an argument is NULL");
    if (pipc__child_inherited(c))
        return refuse_child();
    *pending = 1;
    if (pthread_mutex_trylock(&c->lock))
        return PIPC_OK;
    pipc_status_t st = c->exec->ops->pending ? c->exec->ops->pending(c->exec, &yes, &err) : PIPC_OK;
    pthread_mutex_unlock(&c->lock);
    *pending = yes;
    return st ? pipc__comm_report(&err) : PIPC_OK;
}

pipc_status_t pipc_comm_abort(pipc_comm_t *c)
{
    pipc__error_t ignored;

    if (!c)
        return refuse("pipc_comm_abort: comm is NULL");
    if (pipc__child_inherited(c))
        return refuse_child();
    pipc__control_abort(c->ctl, PIPC_ERR_ABORTED, c->local_rank);
    /* Ranks of other nodes have no page of ours: a thread that is in a call tells them, else this one
     * does. */
    if (pipc__rails_needed(&c->rails))
        poll(c, &ignored);
    return PIPC_OK;
}

bool pipc__comm_time_rails(pipc_comm_t *c, pipc__rail_times_t *times)
{
    bool can = c->exec->ops->time_rail && pipc__rails_needed(&c->rails);

    if (can)
        c->exec->ops->time_rail(c->exec, times);
    return can && c->rails.nodes.rail >= 0;
}

/* Over nodes: a rank that has its result may still have to send another one what that one's is made
 * of, and must not close its rail before. When this call has ended, every rank has been in it, so
 * all had their results. That it fails says nothing any more: who ends it first may close first.
 * GPUs need none: NCCL sends what is on its way before it ends. */
static void part(pipc_comm_t *c)
{
    uint32_t word = 0;
    pipc__error_t ignored;
    pipc__exec_call_t call = {.send = &word, .recv = &word, .count = 1, .dtype = PIPC_U32,
                              .op = PIPC_MAX, .number = atomic_load(&c->calls) + 1};

    for (int k = PIPC__PLAN_KINDS_LOCAL; k < PIPC__PLAN_KINDS; k++)
        if (c->plan[k] && (!call.plan || k == PIPC__NODES_ONE)) /* the least, where there are several */
            call.plan = c->plan[k];
    if (!call.plan)
        return; /* no call was over the rails */
    c->exec->ops->run(c->exec, &call, &ignored);
}

/* The last meeting of the own node's ranks. */
static pipc_status_t meet_and_part(pipc_comm_t *c, pipc__error_t *err)
{
    pipc__error_t met = {PIPC_OK, ""};
    bool spans = pipc__rails_needed(&c->rails);

    c->exec->ops->disconnect(c->exec);
    pipc__control_leave(c->ctl);
    pipc_status_t st = pipc__control_gather(c->ctl, NULL, 0, NULL, &met);
    if (!st || spans) /* of a rank whose part() had to fail */
        return PIPC_OK;
    return pipc__fail(err, st, "%s", met.text);
}

/* NCCL first, as long as all that was enqueued has run. Handles close, then all meet, then memory is freed: a peer that still had our memory mapped when
 * it was freed would fault. */
pipc_status_t pipc_comm_destroy(pipc_comm_t *c)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st = PIPC_OK;

    if (!c)
        return PIPC_OK;
    if (pipc__child_inherited(c)) {
        pipc__child_abandon(c);
        return PIPC_OK;
    }
    st = c->exec->ops->drain(c->exec, &err);
    if (!st)
        st = dead(c);
    pipc__nccl_close(c->nccl, !st);
    if (!st && pipc__rails_needed(&c->rails) && !c->exec->ops->join_rail)
        part(c);
    if (!st) {
        st = meet_and_part(c, &err);
    } else {
        c->exec->ops->disconnect(c->exec);
        pipc__control_leave(c->ctl);
    }
    c->exec->ops->destroy(c->exec);
    pipc__control_destroy(c->ctl);
    pthread_mutex_destroy(&c->lock);
    for (int k = 0; k < PIPC__PLAN_KINDS; k++)
        pipc__plan_free(c->plan[k]);
    pipc__rails_free(&c->rails);
    free(c->recs);
    free(c);
    return err.status ? pipc__comm_report(&err) : st;
}

int pipc_comm_rank(const pipc_comm_t *comm)
{
    return comm ? comm->rank : -1;
}

int pipc_comm_size(const pipc_comm_t *comm)
{
    return comm ? comm->size : -1;
}

_Static_assert(PIPC__ALGOS <= PIPC_STATS_PLANS, "every plan has an entry in the statistics");

pipc_status_t pipc_comm_stats(const pipc_comm_t *c, pipc_comm_stats_t *stats)
{
    pipc_comm_stats_t s = PIPC_COMM_STATS_INIT;

    if (!c || !stats)
        return refuse("pipc_comm_stats: an argument is NULL");
    size_t given = stats->struct_bytes;
    if (given < sizeof(given) || given > sizeof(s))
        return refuse("pipc_comm_stats: struct_bytes is not a size that this library knows; initialise "
                      "with PIPC_COMM_STATS_INIT");
    s.struct_bytes = given;
    s.calls = atomic_load(&c->empty);
    s.plans = PIPC__ALGOS;
    for (int k = 0; k < PIPC__ALGOS; k++) {
        s.plan[k].name = pipc__algo_name(k);
        s.plan[k].calls = atomic_load(&c->done[k].calls);
        s.plan[k].bytes = atomic_load(&c->done[k].bytes);
        s.calls += s.plan[k].calls;
        s.bytes += s.plan[k].bytes;
    }
    s.pairs_p2p = c->paths.p2p;
    s.pairs_host = c->paths.host;
    memcpy(stats, &s, given);
    return PIPC_OK;
}
