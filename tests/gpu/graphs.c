/* tests/gpu/graphs.c - see graphs.h */
#include "tests/gpu/graphs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "runtime/plan/generate.h"
#include "tests/gpu/gpu.h"
#include "tests/unit/values.h"

#define STAGING ((size_t)2 << 20) /* the least */
#define REPLAYS 1000
#define COMMUNICATORS 3

/* One call that can be made again and again, with its own buffers. */
typedef struct sample {
    pipc__exec_call_t k;
    char *x, *y, *host;
    size_t bytes;
    unsigned int call; /* that its present input belongs to */
} sample_t;

/* Plans of one stage and of several, over device memory and over the host's. */
enum { ONE_SHOT, TWO_SHOT, RING, ISLAND, PERMUTED, BY_HOST, ONE_WAY, BY_LL, BY_PUSH };

static rank_plan_t plans[] = {
    [ONE_SHOT] = {PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT},
    [TWO_SHOT] = {PIPC__TWO_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT},
    [RING] = {PIPC__RING, PIPC__ALLREDUCE, SHAPE_FLAT},
    [ISLAND] = {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_TURNS},
    [PERMUTED] = {PIPC__PERMUTED, PIPC__ALLREDUCE, SHAPE_FLAT},
    [BY_HOST] = {PIPC__TWO_SHOT, PIPC__ALLREDUCE, SHAPE_HOST},
    [ONE_WAY] = {PIPC__ISLAND, PIPC__ALLREDUCE, SHAPE_ONE_WAY},
    [BY_LL] = {PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT}, /* flags in the data */
    [BY_PUSH] = {PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT},
};
static const rank_plans_t all_plans = {plans, sizeof(plans) / sizeof(plans[0])};

static const struct {
    size_t count;
    pipc_dtype_t dtype;
    pipc_redop_t op;
    int plan;
} shapes[] = {
    {1000, PIPC_F32, PIPC_SUM, ONE_SHOT},   {700, PIPC_F32, PIPC_SUM, BY_LL},
    {16385, PIPC_F16, PIPC_AVG, TWO_SHOT},  {4097, PIPC_I64, PIPC_MAX, ISLAND},
    {2, PIPC_F64, PIPC_PROD, BY_HOST},      {4097, PIPC_I64, PIPC_MAX, RING},
    {5, PIPC_BF16, PIPC_SUM, RING},         {9000, PIPC_U8, PIPC_MIN, ONE_SHOT},
    {60001, PIPC_F16, PIPC_MAX, BY_LL},     {12345, PIPC_F32, PIPC_AVG, ONE_WAY},
    {7001, PIPC_F16, PIPC_SUM, PERMUTED},   {150001, PIPC_F32, PIPC_SUM, ISLAND},
    {300001, PIPC_F32, PIPC_AVG, TWO_SHOT}, /* several rounds */
    {100001, PIPC_F32, PIPC_SUM, BY_PUSH},  {33, PIPC_I32, PIPC_MIN, BY_PUSH},
    {20011, PIPC_BF16, PIPC_SUM, BY_PUSH},
};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))
#define FIRST 7 /* of them are in the first graph, the others in the second */

static pipc__proto_t proto_of(int plan)
{
    if (plan == BY_PUSH)
        return PIPC__PROTO_PUSH;
    return plan == BY_LL ? PIPC__PROTO_LL : PIPC__PROTO_SIMPLE;
}

static sample_t make_sample(const rank_exec_t *re, unsigned int shape, CUstream stream)
{
    sample_t s = {.bytes = shapes[shape].count * pipc_dtype_bytes(shapes[shape].dtype)};

    s.x = exec_memory_gpu.alloc(s.bytes);
    s.y = exec_memory_gpu.alloc(s.bytes);
    s.host = malloc(s.bytes);
    s.k = (pipc__exec_call_t){.plan = re->plans[shapes[shape].plan],
                              .send = s.x,
                              .recv = s.y,
                              .count = shapes[shape].count,
                              .dtype = shapes[shape].dtype,
                              .op = shapes[shape].op,
                              .stream = stream,
                              .number = 1,
                              .proto = proto_of(shapes[shape].plan)};
    return s;
}

static void fill(sample_t *s, int rank, unsigned int call)
{
    s->call = call;
    test_fill(s->host, s->k.count, s->k.dtype, s->k.op, rank, call);
    exec_memory_gpu.put(s->x, s->host, s->bytes);
}

static void enqueue(rank_exec_t *re, sample_t *s, CUstream stream)
{
    pipc__error_t err;

    s->k.stream = stream;
    s->k.number++;
    if (!re->exec->ops->run(re->exec, &s->k, &err))
        return;
    fprintf(stderr, "# %s\n", err.text);
    _exit(102);
}

static int check(sample_t *s, int rank, int n)
{
    exec_memory_gpu.get(s->host, s->y, s->bytes);
    size_t i =
        test_wrong(s->host, 0, s->k.count, s->k.dtype, s->k.op, n, s->call, exec_order(s->k.plan));
    if (i == s->k.count)
        return 0;
    fprintf(stderr, "# rank %d, %s, %s of %zu %s, sample of call %u: element %zu\n", rank,
            s->k.plan->name, pipc_redop_string(s->k.op), s->k.count, pipc_dtype_string(s->k.dtype),
            s->call, i);
    return EXEC_WRONG;
}

static void free_sample(sample_t *s)
{
    exec_memory_gpu.free(s->x);
    exec_memory_gpu.free(s->y);
    free(s->host);
}

static void wait_for_both(void)
{
    MUST(StreamSynchronize, gpu_streams[0]);
    MUST(StreamSynchronize, gpu_streams[1]);
}

/* --- graphs ---------------------------------------------------------------------------------- */

/* Let @to begin behind what @from has. */
static void follow(CUstream to, CUstream from, CUevent event)
{
    MUST(EventRecord, event, from);
    MUST(StreamWaitEvent, to, event, 0);
}

static void *ask(void *arg)
{
    rank_exec_t *re = arg;
    pipc__error_t err;

    if (re->exec->ops->poll(re->exec, &err)) {
        fprintf(stderr, "# while a stream is captured: %s\n", err.text);
        _exit(1);
    }
    return NULL;
}

/* In the midst of a capture, from its thread and from another one, as frameworks do. */
static void ask_for_errors(rank_exec_t *re)
{
    pthread_t thread;

    ask(re);
    if (pthread_create(&thread, NULL, ask, re))
        _exit(1);
    pthread_join(thread, NULL);
}

/* The calls alternate between @stream and @other, which only the executor puts in order. */
static CUgraphExec capture(rank_exec_t *re, sample_t *s, int n, CUstream stream, CUstream other,
                           CUstreamCaptureMode mode)
{
    CUgraph graph;
    CUgraphExec exec;
    CUevent event;

    MUST(EventCreate, &event, CU_EVENT_DISABLE_TIMING);
    MUST(StreamBeginCapture, stream, mode);
    if (other != stream)
        follow(other, stream, event);
    for (int i = 0; i < n; i++) {
        enqueue(re, &s[i], i % 2 ? other : stream);
        ask_for_errors(re);
    }
    if (other != stream)
        follow(stream, other, event);
    MUST(StreamEndCapture, stream, &graph);
    MUST(GraphInstantiate, &exec, graph, 0);
    MUST(GraphDestroy, graph);
    MUST(EventDestroy, event);
    return exec;
}

/* Two graphs twice each and three eager calls, on whichever stream: only the executor's own events
 * order them. Replaying a graph a second time gives the same results again. */
static void launch_all(rank_exec_t *re, CUgraphExec graphs[2], sample_t *eager, unsigned int round)
{
    CUstream a = gpu_streams[round % 2], b = gpu_streams[(round + 1) % 2];

    enqueue(re, &eager[0], a);
    MUST(GraphLaunch, graphs[0], a);
    MUST(GraphLaunch, graphs[1], b);
    enqueue(re, &eager[1], b);
    MUST(GraphLaunch, graphs[0], b);
    enqueue(re, &eager[2], a);
    MUST(GraphLaunch, graphs[1], a);
}

int graphs_body(ranks_t *all, int rank, void *arg)
{
    sample_t s[SHAPES + 3];
    CUgraphExec graphs[2];
    int bad = 0, n = ranks_size(all);
    rank_exec_t re;

    /* Those that could push share its rings, so they go through the same memory. */
    plans[ONE_SHOT].shape = plans[BY_LL].shape = plans[BY_PUSH].shape = *(const rank_shape_t *)arg;
    exec_memory_gpu.begin(rank);
    rank_exec_open(&re, &pipc__exec_cuda, STAGING, all_plans, all, rank);
    for (unsigned int i = 0; i < SHAPES + 3; i++)
        s[i] = make_sample(&re, i % SHAPES, gpu_streams[0]);
    graphs[0] =
        capture(&re, s, FIRST, gpu_streams[0], gpu_streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    graphs[1] = capture(&re, s + FIRST, SHAPES - FIRST, gpu_streams[1], gpu_streams[0],
                        CU_STREAM_CAPTURE_MODE_GLOBAL);
    for (unsigned int round = 0; !bad && round < REPLAYS / 4; round++) {
        for (unsigned int i = 0; i < SHAPES + 3; i++)
            if (s[i].k.count < 20000 || round % 16 == 0) /* the long one changes now and then */
                fill(&s[i], rank, round * 16 + i);
        launch_all(&re, graphs, s + SHAPES, round);
        wait_for_both();
        for (unsigned int i = 0; i < SHAPES + 3; i++)
            bad |= check(&s[i], rank, n);
    }
    for (int i = 0; i < 2; i++)
        MUST(GraphExecDestroy, graphs[i]);
    rank_exec_close(&re);
    for (unsigned int i = 0; i < SHAPES + 3; i++)
        free_sample(&s[i]);
    return bad;
}

/* --- communicators --------------------------------------------------------------------------- */

int communicators_body(ranks_t *all, int rank, void *arg)
{
    int bad = 0, n = ranks_size(all), streams = *(const int *)arg;
    rank_exec_t re[COMMUNICATORS];
    sample_t s[COMMUNICATORS][SHAPES];

    exec_memory_gpu.begin(rank);
    for (unsigned int c = 0; c < COMMUNICATORS; c++) {
        rank_exec_open(&re[c], &pipc__exec_cuda, STAGING, all_plans, all, rank);
        for (unsigned int i = 0; i < SHAPES; i++)
            s[c][i] = make_sample(&re[c], i, gpu_streams[0]);
    }
    for (unsigned int round = 0; !bad && round < 20; round++) {
        for (unsigned int i = 0; i < COMMUNICATORS * SHAPES; i++)
            fill(&s[i % COMMUNICATORS][i / COMMUNICATORS], rank, round * 32 + i);
        for (unsigned int i = 0; i < COMMUNICATORS * SHAPES; i++)
            enqueue(&re[i % COMMUNICATORS], &s[i % COMMUNICATORS][i / COMMUNICATORS],
                    gpu_streams[(i + round) % (unsigned int)streams]);
        wait_for_both();
        for (unsigned int i = 0; i < COMMUNICATORS * SHAPES; i++)
            bad |= check(&s[i % COMMUNICATORS][i / COMMUNICATORS], rank, n);
    }
    for (unsigned int c = 0; c < COMMUNICATORS; c++) {
        rank_exec_close(&re[c]);
        for (unsigned int i = 0; i < SHAPES; i++)
            free_sample(&s[c][i]);
    }
    return bad;
}
