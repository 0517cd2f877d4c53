/* tools/bench/burst.c - see burst.h. With -G the burst is captured once, and a sample is some
 * replays of it.
 */
#include "runtime/tools/bench/burst.h"

#include <time.h>

#include "runtime/tools/bench/beside.h"
#include "runtime/tools/bench/fold.h"

#define BURST_BYTES ((size_t)4 << 20) /* a burst moves about this much, 1 to BURST_MAX calls */
#define BURST_MAX 20

static pipc_status_t own_error(pipc_status_t st, pipc__error_t *err)
{
    return st ? pipc__fail(err, st, "%s", pipc_last_error()) : PIPC_OK;
}

void bench_buffers(const bench_t *b, int who, void **send, void **recv)
{
    *send = b->send;
    *recv = b->recv;
    if (who >= 0 && b->options.peer->buffers)
        b->options.peer->buffers(who, send, recv);
}

static pipc_status_t call(bench_t *b, const bench_message_t *m, int who, pipc__error_t *err)
{
    void *send, *recv;

    bench_buffers(b, who, &send, &recv);
    if (m->in_place)
        send = recv;
    if (who >= 0)
        return b->options.peer->allreduce(who, send, recv, m->count, m->dtype, m->op,
                                          b->device.stream, err);
    return own_error(
        pipc_allreduce(b->comm, send, recv, m->count, m->dtype, m->op, b->device.stream), err);
}

static pipc_status_t issue_once(bench_t *b, const bench_message_t *m, const bench_burst_t *u,
                                pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    if (u->graph)
        return b->device.replay(u->graph, err);
    for (int i = 0; !st && i < u->calls; i++)
        st = call(b, m, u->who, err);
    return st;
}

static double cpu_clock_usec(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

pipc_status_t bench_burst_issue(bench_t *b, const bench_message_t *m, const bench_burst_t *u,
                                double *cpu_usec, pipc__error_t *err)
{
    double before = cpu_clock_usec();
    pipc_status_t st = PIPC_OK;

    for (int i = 0; !st && i < u->replays; i++)
        st = issue_once(b, m, u, err);
    *cpu_usec = cpu_clock_usec() - before;
    return st;
}

pipc_status_t bench_burst_sample(bench_t *b, const bench_message_t *m, const bench_burst_t *u,
                                 bench_sample_t *sample, pipc__error_t *err)
{
    int calls = u->calls * u->replays;
    pipc_status_t async, st = bench_meet(b->comm, err);

    *sample = (bench_sample_t){0, 0};
    bench_become(b, u->who);
    if (!st)
        st = b->device.begin(err);
    pipc__comm_time_rails(b->comm, u->who == BENCH_OWN ? &b->rail_times : NULL);
    if (!st)
        st = bench_burst_issue(b, m, u, &sample->cpu_usec, err);
    pipc__comm_time_rails(b->comm, NULL); /* what ranks tell each other is no call of a sample */
    if (!st)
        st = b->device.end(&sample->usec, err);
    sample->usec /= calls;
    sample->cpu_usec /= calls;
    if (!st && !pipc_comm_async_error(b->comm, &async) && async)
        st = own_error(async, err);
    return st;
}

static pipc_status_t capture(bench_t *b, const bench_message_t *m, bench_burst_t *u,
                             pipc__error_t *err)
{
    pipc__error_t also;
    pipc_status_t st = b->device.capture(err);

    if (st)
        return st;
    bench_become(b, u->who);
    st = issue_once(b, m, u, err);
    pipc_status_t ended = b->device.captured(&u->graph, st ? &also : err);
    return st ? st : ended;
}

pipc_status_t bench_burst_open(bench_t *b, const bench_message_t *m, int who, bench_burst_t *u,
                               pipc__error_t *err)
{
    size_t most = b->options.burst_bytes ? b->options.burst_bytes : BURST_BYTES;
    size_t fit = m->bytes ? most / m->bytes : BURST_MAX;

    *u = (bench_burst_t){who, fit < 1 ? 1 : fit > BURST_MAX ? BURST_MAX : (int)fit, 1, NULL};
    if (b->options.burst)
        u->calls = b->options.burst;
    if (!b->options.graph)
        return PIPC_OK;
    u->replays = b->options.graph;
    return capture(b, m, u, err);
}

pipc_status_t bench_burst_single(bench_t *b, const bench_message_t *m, int who, bool graph,
                                 bench_burst_t *u, pipc__error_t *err)
{
    *u = (bench_burst_t){who, 1, 1, NULL};
    return graph ? capture(b, m, u, err) : PIPC_OK;
}

void bench_burst_close(const bench_t *b, bench_burst_t *u)
{
    if (u->graph)
        b->device.free_graph(u->graph);
    u->graph = NULL;
}
