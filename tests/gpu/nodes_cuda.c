/* tests/gpu/nodes_cuda.c - GPUs of several nodes, which are ranks of this machine that are taken as
 * such (PCIE_IPC_NODES): right and the same bits on all ranks, eager, in graphs, on two streams; a
 * rank that is late, one that gives up, one that is killed; and a control, a wrong input
 *
 *     nodes_cuda                      nodes of one GPU each; TAP
 *     nodes_cuda --split N            nodes of N GPUs
 *     nodes_cuda --ranks N            so many GPUs (all, 8 at most)
 *     nodes_cuda --most BYTES         the largest message (64 MiB)
 *     nodes_cuda --losses 0           no rank gives up or is killed: what NCCL has for ranks of one
 *                                     machine, shared and peer memory, tells it of neither
 *
 * What NCCL goes over between two GPUs of one machine its own variables say: tests/gpu/nodes goes
 * through them. Times are printed and judge nothing. Skipped with fewer than two GPUs.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/hash.h"
#include "runtime/comm/comm.h"
#include "tests/gpu/gpu.h"
#include "tests/unit/ranks.h"
#include "tests/unit/values.h"

#define SKEW 64           /* bytes that a buffer may begin behind its memory's start */
#define CHECKED (1 << 20) /* elements of a result that are looked at one by one, at each end */
#define REPLAYS 3

typedef struct job {
    int ranks, split;
    size_t most; /* bytes */
    const char *plan;
    int spoil; /* the rank that gives something else than the others think; -1: none */
    int lost;  /* the rank that is killed */
    int losses;
} job_t;

typedef struct rank {
    const job_t *job;
    ranks_t *all;
    int rank, n;
    pipc_comm_t *comm;
    char *in, *out, *host; /* job->most + SKEW bytes each */
    uint64_t bits;         /* of all results */
} rank_t;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ranks_gather() takes 1 KB at a time. */
static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    const rank_t *r = ctx;
    static char part[16 * 1024];

    for (size_t at = 0; at < bytes; at += 1024) {
        size_t n = bytes - at < 1024 ? bytes - at : 1024;
        ranks_gather(r->all, r->rank, (const char *)mine + at, n, part);
        for (int q = 0; q < r->n; q++)
            memcpy((char *)all + (size_t)q * bytes + at, part + (size_t)q * n, n);
    }
    return 0;
}

/* Returns 0, or 2 with a line on stderr. */
static int open_rank(rank_t *r, const job_t *job, ranks_t *all, int rank)
{
    pipc_callbacks_t calls = {sizeof(calls), rank, job->ranks, allgather, r};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    char split[16], text[128];
    pipc__error_t err;

    *r = (rank_t){.job = job, .all = all, .rank = rank, .n = job->ranks, .bits = PIPC__HASH_INIT};
    snprintf(split, sizeof(split), "split:%d", job->split);
    setenv("PCIE_IPC_NODES", split, 1);
    exec_memory_gpu.begin(rank);
    r->in = exec_memory_gpu.alloc(job->most + SKEW);
    r->out = exec_memory_gpu.alloc(job->most + SKEW);
    r->host = malloc(job->most + SKEW);
    c.backend = PIPC_BACKEND_CUDA;
    c.plan = job->plan;
    c.callbacks = &calls;
    double start = now();
    if (pipc__comm_create(&r->comm, &c, &pipc__xchg_auto, &err)) {
        fprintf(stderr, "# rank %d: %s\n", rank, err.text);
        return 2;
    }
    if (!rank)
        printf("#   created in %.0f ms: %s, plan %s\n", 1e3 * (now() - start),
               pipc__rails_describe(&r->comm->rails, text, sizeof(text)), job->plan);
    return r->host ? 0 : 2;
}

static int close_rank(rank_t *r)
{
    double start = now();
    pipc_status_t st = pipc_comm_destroy(r->comm);

    if (st)
        fprintf(stderr, "# rank %d: destroy: %s\n", r->rank, pipc_last_error());
    else if (!r->rank)
        printf("#   destroyed in %.0f ms\n", 1e3 * (now() - start));
    free(r->host);
    return st ? 2 : 0;
}

/* --- calls ------------------------------------------------------------------------------------ */

typedef struct call {
    size_t count;
    pipc_dtype_t dtype;
    pipc_redop_t op;
    char *send, *recv;
    unsigned int number; /* of its values */
} call_t;

/* Call @i: types, operations and sizes take turns; NCCL wants elements at multiples of their size,
 * and jobs begin where the buffers do. */
static call_t call_at(const rank_t *r, unsigned int i, size_t most)
{
    static const size_t counts[] = {1, 3, 257, 1000, 4097, 65537, 300001, 1 << 20, SIZE_MAX};
    call_t c = {.dtype = (pipc_dtype_t)(i % PIPC_DTYPE_COUNT),
                .op = (pipc_redop_t)(i / 2 % PIPC_REDOP_COUNT),
                .number = i};
    size_t elem = pipc_dtype_bytes(c.dtype), fits = most / elem;

    c.count = counts[i % (sizeof(counts) / sizeof(counts[0]))];
    c.count = c.count < fits ? c.count : fits;
    c.send = r->in + i % 4 * elem;
    c.recv = i % 3 ? r->out + i % 5 * elem : c.send;
    return c;
}

static void fill(const rank_t *r, const call_t *c)
{
    unsigned int number = c->number + (r->job->spoil == r->rank);

    test_fill(r->host, c->count, c->dtype, c->op, r->rank, number);
    exec_memory_gpu.put(c->send, r->host, c->count * pipc_dtype_bytes(c->dtype));
}

/* A message's ends element by element, since that takes the CPU long; all of it by its bits, which
 * are compared with those of the other ranks. */
static bool is_right(rank_t *r, const call_t *c)
{
    size_t elem = pipc_dtype_bytes(c->dtype), part = c->count < CHECKED ? c->count : CHECKED;
    size_t last = c->count - part;

    exec_memory_gpu.get(r->host, c->recv, c->count * elem);
    r->bits = pipc__hash(r->bits, r->host, c->count * elem);
    return test_wrong(r->host, 0, part, c->dtype, c->op, r->n, c->number, TEST_ANY) == part &&
           test_wrong(r->host + last * elem, last, part, c->dtype, c->op, r->n, c->number,
                      TEST_ANY) == part;
}

static int reduce(rank_t *r, const call_t *c, CUstream stream)
{
    if (!pipc_allreduce(r->comm, c->send, c->recv, c->count, c->dtype, c->op, stream))
        return 0;
    fprintf(stderr, "# rank %d, call %u: %s\n", r->rank, c->number, pipc_last_error());
    return 2;
}

static int judge(rank_t *r, const call_t *c)
{
    if (is_right(r, c))
        return 0;
    if (r->job->spoil < 0)
        fprintf(stderr, "# rank %d, call %u: wrong, %zu of %s, %s\n", r->rank, c->number, c->count,
                pipc_dtype_string(c->dtype), pipc_redop_string(c->op));
    return 1;
}

/* 3: ranks have different bits, though each is right by itself. */
static int compare(rank_t *r, int bad)
{
    struct told {
        uint64_t bits;
        int bad;
    } mine = {r->bits, bad}, of[PIPC__RANKS_MAX];

    ranks_gather(r->all, r->rank, &mine, sizeof(mine), of);
    for (int q = 0; q < r->n; q++) {
        bad = bad ? bad : of[q].bad;
        bad = bad ? bad : of[q].bits != r->bits ? 3 : 0;
    }
    return bad;
}

/* --- bodies of ranks: 0, 1 wrong, 2 an error, 3 different bits ----------------------------------
 */

static int sums(ranks_t *all, int rank, void *arg)
{
    rank_t r;
    int bad = open_rank(&r, arg, all, rank);
    double start = now();

    for (unsigned int i = 0; !bad && i < 60; i++) {
        call_t c = call_at(&r, i, r.job->most);
        CUstream stream = gpu_streams[i / 3 % 2];
        fill(&r, &c);
        bad = reduce(&r, &c, stream);
        if (!bad)
            MUST(StreamSynchronize, stream);
        bad = bad ? bad : judge(&r, &c);
        if (bad) /* the others hear of it by the abort, and not by a time limit */
            pipc_comm_abort(r.comm);
    }
    if (!rank)
        printf("#   calls and their checks took %.1f s\n", now() - start);
    if (bad)
        return bad;
    bad = compare(&r, bad);
    return close_rank(&r) | bad;
}

/* Many calls behind each other, on both streams, before anything is looked at. */
static int streams(ranks_t *all, int rank, void *arg)
{
    rank_t r;
    int bad = open_rank(&r, arg, all, rank);
    call_t c = {.count = 100000, .dtype = PIPC_I32, .op = PIPC_SUM, .number = 7};

    c.send = r.in;
    c.recv = r.out;
    if (!bad)
        fill(&r, &c);
    for (int i = 0; !bad && i < 200; i++)
        bad = reduce(&r, &c, gpu_streams[i / 7 % 2]);
    for (int i = 0; !bad && i < 2; i++)
        MUST(StreamSynchronize, gpu_streams[i]);
    bad = bad ? bad : compare(&r, judge(&r, &c));
    return close_rank(&r) | bad;
}

static int capture(rank_t *r, const call_t *c, int n, CUgraphExec *graph)
{
    CUgraph calls;
    int bad = 0;

    MUST(StreamBeginCapture, gpu_streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    for (int i = 0; !bad && i < n; i++)
        bad = reduce(r, &c[i], gpu_streams[0]);
    MUST(StreamEndCapture, gpu_streams[0], &calls);
    if (bad)
        return bad;
    MUST(GraphInstantiate, graph, calls, 0);
    MUST(GraphDestroy, calls);
    return 0;
}

/* Two calls, of one round and of several, in one graph, replayed with new values, with eager calls
 * between. In an own buffer each. */
static int graphs(ranks_t *all, int rank, void *arg)
{
    rank_t r;
    int bad = open_rank(&r, arg, all, rank);
    call_t c[2] = {{.count = 5000, .dtype = PIPC_F32, .op = PIPC_SUM},
                   {.count = r.job->most / 8, .dtype = PIPC_I32, .op = PIPC_AVG}};
    call_t eager = {.count = 999, .dtype = PIPC_F64, .op = PIPC_MAX, .number = 50};
    CUgraphExec graph = NULL;

    c[0].send = r.in, c[0].recv = r.out;
    c[1].send = c[1].recv = r.in + r.job->most / 2;
    eager.send = eager.recv = r.out + r.job->most / 2;
    bad = bad ? bad : capture(&r, c, 2, &graph);
    for (unsigned int k = 0; !bad && k < REPLAYS; k++) {
        for (int i = 0; i < 2; i++) {
            c[i].number = 10 * k + (unsigned int)i;
            fill(&r, &c[i]);
        }
        MUST(GraphLaunch, graph, gpu_streams[0]);
        fill(&r, &eager);
        bad = reduce(&r, &eager, gpu_streams[1]);
        for (int i = 0; i < 2; i++)
            MUST(StreamSynchronize, gpu_streams[i]);
        for (int i = 0; i < 2; i++)
            bad = bad ? bad : judge(&r, &c[i]);
        bad = bad ? bad : judge(&r, &eager);
    }
    if (graph)
        MUST(GraphExecDestroy, graph);
    bad = compare(&r, bad);
    return close_rank(&r) | bad;
}

/* The last rank comes 3 s late: the others' kernels and NCCL's wait. */
static int late(ranks_t *all, int rank, void *arg)
{
    rank_t r;
    int bad = open_rank(&r, arg, all, rank);
    call_t c = {.count = 1 << 16, .dtype = PIPC_F32, .op = PIPC_SUM, .number = 3};
    pipc_status_t async = PIPC_OK;

    c.send = r.in;
    c.recv = r.out;
    for (int i = 0; !bad && i < 2; i++) {
        fill(&r, &c);
        if (i && rank == r.n - 1)
            sleep(3);
        bad = reduce(&r, &c, gpu_streams[0]);
        pipc_comm_async_error(r.comm, &async);
        MUST(StreamSynchronize, gpu_streams[0]);
        bad = bad ? bad : async ? 2 : judge(&r, &c);
    }
    bad = compare(&r, bad);
    return close_rank(&r) | bad;
}

/* An error comes, without a call, and the GPU takes other work. */
static int hear(rank_t *r, const char *words, double since)
{
    const struct timespec pause = {0, 1000000};
    pipc_status_t async = PIPC_OK;

    while (!async && !pipc_comm_async_error(r->comm, &async))
        nanosleep(&pause, NULL);
    printf("#   rank %d knew after %.0f ms: %s\n", r->rank, 1e3 * (now() - since),
           r->comm->error.text);
    bool named = async && strstr(r->comm->error.text, words);
    pipc_comm_destroy(r->comm);
    MUST(MemsetD8Async, (CUdeviceptr)(uintptr_t)r->in, 1, r->job->most, gpu_streams[1]);
    for (int i = 0; i < 2; i++)
        MUST(StreamSynchronize, gpu_streams[i]);
    return named ? 0 : 1;
}

static int lose(ranks_t *all, int rank, void *arg)
{
    rank_t r;
    int bad = open_rank(&r, arg, all, rank);
    call_t c = {.count = 1 << 20, .dtype = PIPC_F32, .op = PIPC_SUM};
    pipc_status_t st = PIPC_OK;
    double since = now();

    c.send = r.in;
    c.recv = r.out;
    if (bad)
        return bad;
    for (int i = 0; !st && i < 100; i++) {
        if (i == 50) { /* all have come so far; what the lost one has enqueued may still run */
            ranks_gather(all, rank, NULL, 0, NULL);
            since = now();
            if (rank == r.job->lost)
                raise(SIGKILL);
        }
        st = pipc_allreduce(r.comm, c.send, c.recv, c.count, c.dtype, c.op, gpu_streams[0]);
    }
    return hear(&r, "rank", since);
}

/* Rank 0 gives up while the others' calls wait for it. */
static int give_up(ranks_t *all, int rank, void *arg)
{
    rank_t r;
    int bad = open_rank(&r, arg, all, rank);
    call_t c = {.count = 1 << 20, .dtype = PIPC_F32, .op = PIPC_SUM};

    c.send = r.in;
    c.recv = r.out;
    bad = bad ? bad : reduce(&r, &c, gpu_streams[0]);
    MUST(StreamSynchronize, gpu_streams[0]);
    ranks_gather(all, rank, NULL, 0, NULL);
    if (bad)
        return bad;
    double since = now();
    if (!rank)
        pipc_comm_abort(r.comm);
    else
        pipc_allreduce(r.comm, c.send, c.recv, c.count, c.dtype, c.op, gpu_streams[0]);
    return hear(&r, rank ? "" : "rank 0", since);
}

/* --- tests ------------------------------------------------------------------------------------ */

static int tests, failed;

static void tell(bool good, const char *name, const char *plan, double seconds)
{
    printf("%sok %d - %s, %s (%.1f s)\n", good ? "" : "not ", ++tests, plan, name, seconds);
    fflush(stdout);
    failed += !good;
}

static bool run(job_t job, int (*body)(ranks_t *, int, void *))
{
    return !ranks_run(job.ranks, body, &job, 120);
}

static void test_plan(job_t job, const char *plan)
{
    static const struct {
        const char *name;
        int (*body)(ranks_t *, int, void *);
    } parts[] = {{"sums of every type and operation", sums},
                 {"calls behind each other on two streams", streams},
                 {"graphs, with eager calls between", graphs},
                 {"a rank that is late", late}};
    double start;

    job.plan = plan;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        start = now();
        bool good = run(job, parts[i].body);
        tell(good, parts[i].name, plan, now() - start);
    }
    start = now();
    job.spoil = job.ranks - 1;
    tell(ranks_run(job.ranks, sums, &job, 120) != 0, "a wrong input of one rank is seen", plan,
         now() - start);
    job.spoil = -1;
    if (!job.losses)
        return;
    start = now();
    tell(run(job, give_up), "a rank that gives up", plan, now() - start);
}

/* The last rank, of the last node. */
static void test_loss(job_t job, const char *plan)
{
    int exits[PIPC__RANKS_MAX];
    double start = now();

    job.plan = plan;
    job.lost = job.ranks - 1;
    bool good = !ranks_run_each(job.ranks, lose, &job, 120, exits);
    for (int r = 0; r < job.ranks; r++)
        good = good && exits[r] == (r == job.lost ? 128 + SIGKILL : 0);
    tell(good, "a rank that is killed is named to all nodes", plan, now() - start);
}

int main(int argc, char **argv)
{
    static const char *const plans[] = {"nodes", "nodes-one", "nccl"};
    job_t job = {.split = 1, .most = (size_t)64 << 20, .spoil = -1, .lost = -1, .losses = 1};
    char why[PIPC__ERROR_MAX];
    int n = gpu_count(why);

    job.ranks = n < 8 ? n : 8;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--split"))
            job.split = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--ranks"))
            job.ranks = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--losses"))
            job.losses = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--most"))
            job.most = strtoull(argv[i + 1], NULL, 0);
    }
    if (n < 2 || job.split < 1 || job.ranks <= job.split || job.ranks > n) {
        printf("1..0 # SKIP %s\n", n < 1 ? why : "too few GPUs for two nodes");
        return 0;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++)
        test_plan(job, plans[i]);
    for (size_t i = 0; job.losses && i < sizeof(plans) / sizeof(plans[0]); i++)
        test_loss(job, plans[i]);
    printf("1..%d\n", tests);
    return failed != 0;
}
