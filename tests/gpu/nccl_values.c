/* tests/gpu/nccl_values.c - every type and operation over special values and random bits: the same
 * results as NCCL's on the same two GPUs, and as this library's on the CPU. In and out of place,
 * eager and from a graph, every plan. Skipped where there are no two GPUs or no NCCL.
 *
 *     nccl_values [--nccl PATH] [--most BYTES]      prints a table
 *
 * NaNs of any payload are the same. An average of floats differs from NCCL's where half of an input
 * is no number of the type (subnormals): see special.h. Such elements are counted apart; they must
 * be what NCCL's way of rounding gives there, and what the CPU gives here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/gpu/nccl.h"
#include "tests/gpu/special.h"

#define MB ((size_t)1 << 20)
#define RANKS 2 /* of more, NCCL's order of reduction is not known */

static const size_t sizes[] = {8, 4096, 48 * 1024 + 8, MB, 16 * MB, 256 * MB};
#define SIZES (int)(sizeof(sizes) / sizeof(sizes[0]))
static size_t most = 256 * MB;

/* What a rank works with. */
typedef struct work {
    rank_exec_t re;
    char *in, *out, *nccl;                /* on the GPU */
    char *host_in, *host_out, *host_nccl; /* the input repeats, from element 0 of a period on */
    char period[8 * SPECIAL_PERIOD], expect[8 * SPECIAL_PERIOD];
    uint64_t number;
} work_t;

typedef struct tally {
    size_t calls, elements, wrong, apart;
} tally_t;

/* One way of making one call. */
typedef struct way {
    pipc_dtype_t dtype;
    pipc_redop_t op;
    size_t first, count; /* element 0 of the call is element @first of the period */
    int plan;
    bool in_place, graph;
} way_t;

static void repeat(char *to, const char *period, size_t first, size_t count, size_t elem)
{
    for (size_t i = 0, n; i < count; i += n, first = 0) {
        n = SPECIAL_PERIOD - first < count - i ? SPECIAL_PERIOD - first : count - i;
        memcpy(to + i * elem, period + first * elem, n * elem);
    }
}

static void tell(const way_t *w, size_t i, const char *got, const char *nccl, const char *cpu)
{
    size_t elem = pipc_dtype_bytes(w->dtype);
    uint64_t v[3] = {0, 0, 0};

    memcpy(&v[0], got, elem);
    memcpy(&v[1], nccl, elem);
    memcpy(&v[2], cpu, elem);
    fprintf(stderr,
            "# %s of %s, %zu elements, %s, element %zu of the period: %llx, NCCL %llx, CPU %llx\n",
            pipc_redop_string(w->op), pipc_dtype_string(w->dtype), w->count,
            w->in_place ? "in place" : "out of place", i, (unsigned long long)v[0],
            (unsigned long long)v[1], (unsigned long long)v[2]);
}

static void judge_element(const work_t *k, const way_t *w, size_t i, tally_t *t)
{
    size_t elem = pipc_dtype_bytes(w->dtype), at = (w->first + i) % SPECIAL_PERIOD;
    const char *got = k->host_out + i * elem, *nccl = k->host_nccl + i * elem;
    const char *cpu = k->expect + at * elem;
    bool as_nccl = special_same(got, nccl, w->dtype), as_cpu = special_same(got, cpu, w->dtype);

    if (as_cpu && !as_nccl && w->op == PIPC_AVG && special_is_nccl_average(nccl, w->dtype, at))
        t->apart++;
    else if (!as_cpu || !as_nccl)
        if (t->wrong++ < 3)
            tell(w, at, got, nccl, cpu);
}

/* Blocks that are the same bytes as NCCL's and as the CPU's need no closer look. */
static void judge(const work_t *k, const way_t *w, tally_t *t)
{
    size_t elem = pipc_dtype_bytes(w->dtype);

    for (size_t i = 0, n; i < w->count; i += n) {
        size_t at = (w->first + i) % SPECIAL_PERIOD;
        n = w->count - i < 512 ? w->count - i : 512;
        n = SPECIAL_PERIOD - at < n ? SPECIAL_PERIOD - at : n;
        if (!memcmp(k->host_out + i * elem, k->host_nccl + i * elem, n * elem) &&
            !memcmp(k->host_out + i * elem, k->expect + at * elem, n * elem))
            continue;
        for (size_t j = i; j < i + n; j++)
            judge_element(k, w, j, t);
    }
    t->calls++;
    t->elements += w->count;
}

static void enqueue(work_t *k, const way_t *w, const char *send)
{
    pipc__exec_call_t call = {.plan = k->re.plans[w->plan], .send = send, .recv = k->out,
                              .count = w->count, .dtype = w->dtype, .op = w->op,
                              .stream = gpu_streams[0], .number = ++k->number};
    pipc__error_t err;

    if (!k->re.exec->ops->run(k->re.exec, &call, &err))
        return;
    fprintf(stderr, "# %s\n", err.text);
    _exit(102);
}

static void replay(work_t *k, const way_t *w, const char *send)
{
    CUgraph graph;
    CUgraphExec exec;

    MUST(StreamBeginCapture, gpu_streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    enqueue(k, w, send);
    MUST(StreamEndCapture, gpu_streams[0], &graph);
    MUST(GraphInstantiate, &exec, graph, 0);
    MUST(GraphLaunch, exec, gpu_streams[0]);
    MUST(StreamSynchronize, gpu_streams[0]);
    MUST(GraphExecDestroy, exec);
    MUST(GraphDestroy, graph);
}

static void one_way(work_t *k, const way_t *w, tally_t *t)
{
    size_t bytes = w->count * pipc_dtype_bytes(w->dtype);
    const char *send = w->in_place ? k->out : k->in;

    if (w->in_place)
        exec_memory_gpu.put(k->out, k->host_in, bytes);
    else
        MUST(MemsetD8Async, (CUdeviceptr)(uintptr_t)k->out, 0xa5, bytes, gpu_streams[0]);
    if (w->graph)
        replay(k, w, send);
    else
        enqueue(k, w, send);
    MUST(StreamSynchronize, gpu_streams[0]);
    exec_memory_gpu.get(k->host_out, k->out, bytes);
    judge(k, w, t);
}

/* The CPU's NaNs have other bits than the GPU's: take NCCL's for them, so that most blocks are the
 * same bytes. */
static void adopt_nans(work_t *k, const way_t *w)
{
    size_t elem = pipc_dtype_bytes(w->dtype);

    for (size_t i = 0; i < SPECIAL_PERIOD && i < w->count; i++) {
        char *cpu = k->expect + (w->first + i) % SPECIAL_PERIOD * elem;
        if (special_same(cpu, k->host_nccl + i * elem, w->dtype))
            memcpy(cpu, k->host_nccl + i * elem, elem);
    }
}

/* NCCL once, then every way; a message that is large goes by one plan alone, in turns. */
static void one_size(work_t *k, way_t w, size_t bytes, tally_t *t)
{
    size_t elem = pipc_dtype_bytes(w.dtype);
    int turn = (int)w.dtype + (int)w.op;

    w.count = bytes / elem;
    repeat(k->host_in, k->period, w.first, w.count, elem);
    exec_memory_gpu.put(k->in, k->host_in, bytes);
    nccl_allreduce(k->in, k->nccl, w.count, w.dtype, w.op, gpu_streams[0]);
    MUST(StreamSynchronize, gpu_streams[0]);
    exec_memory_gpu.get(k->host_nccl, k->nccl, bytes);
    adopt_nans(k, &w);
    for (w.plan = 0; w.plan < k->re.nplans; w.plan++)
        for (int i = 0; i < 4; i++) {
            w.in_place = i & 1;
            w.graph = i & 2;
            if (bytes <= MB || w.plan == turn % k->re.nplans)
                one_way(k, &w, t);
        }
}

/* Returns how many elements are wrong, on rank 0 of both ranks. */
static size_t one_row(work_t *k, ranks_t *all, int rank, pipc_dtype_t dtype, pipc_redop_t op)
{
    way_t w = {.dtype = dtype, .op = op};
    tally_t mine = {0, 0, 0, 0}, each[RANKS];
    size_t pairs = special_fill(k->period, dtype, rank), elem = pipc_dtype_bytes(dtype);

    special_expect(k->expect, dtype, op);
    for (int s = 0; s < SIZES && sizes[s] <= most; s++)
        for (w.first = 0; w.first < (s ? 1 : 40); w.first += 8 / elem) /* short messages in turns */
            one_size(k, w, sizes[s], &mine);
    ranks_gather(all, rank, &mine, sizeof(mine), each);
    for (int r = 1; r < RANKS && rank == 0; r++) {
        mine.wrong += each[r].wrong;
        mine.apart += each[r].apart;
    }
    if (rank)
        return mine.wrong;
    printf("%-8s  %-4s  %5zu  %6zu  %11zu  %6zu  %8zu\n", pipc_dtype_string(dtype),
           pipc_redop_string(op), pairs, mine.calls, mine.elements, mine.wrong, mine.apart);
    fflush(stdout);
    return mine.wrong;
}

static void open_all(work_t *k, ranks_t *all, int rank)
{
    char **buffers[] = {&k->in, &k->out, &k->nccl};
    char **host[] = {&k->host_in, &k->host_out, &k->host_nccl};

    exec_memory_gpu.begin(rank);
    nccl_connect(all, rank);
    rank_exec_open(&k->re, &pipc__exec_cuda, 64 * MB, (rank_plans_t){NULL, 0}, all, rank);
    for (int i = 0; i < 3; i++) {
        *buffers[i] = exec_memory_gpu.alloc(most);
        *host[i] = malloc(most);
    }
}

static int body(ranks_t *all, int rank, void *arg)
{
    work_t *k = calloc(1, sizeof(*k));
    size_t wrong = 0;

    if (nccl_open(arg))
        return 1;
    open_all(k, all, rank);
    if (rank == 0)
        printf("# %s, two GPUs, 8 B to %zu B, eager and graph, in and out of place\n"
               "# type    op    pairs   calls     elements  #wrong  #rounded\n",
               nccl_version(), most);
    for (int t = 0; t < PIPC_DTYPE_COUNT; t++)
        for (int op = 0; op < PIPC_REDOP_COUNT; op++)
            wrong += one_row(k, all, rank, (pipc_dtype_t)t, (pipc_redop_t)op);
    rank_exec_close(&k->re);
    nccl_close();
    return wrong != 0;
}

/* In a process of its own: a library that has looked for GPUs can't be used in forked ranks. */
static int try_nccl(ranks_t *all, int rank, void *arg)
{
    const char *why = nccl_open(arg);

    (void)all;
    (void)rank;
    if (why)
        printf("1..0 # SKIP %s\n", why);
    fflush(stdout);
    return why != NULL;
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            return argv[i + 1];
    return otherwise;
}

int main(int argc, char **argv)
{
    char path[256], why[PIPC__ERROR_MAX];
    int n = gpu_count(why);

    snprintf(path, sizeof(path), "%s", option(argc, argv, "--nccl", "libnccl.so.2"));
    most = strtoull(option(argc, argv, "--most", "268435456"), NULL, 10);
    if (n < RANKS) {
        printf("1..0 # SKIP %s\n", n ? "one GPU: two are needed" : why);
        return 0;
    }
    if (ranks_run(1, try_nccl, path, 60))
        return 0;
    /* NVLink's multicast adds in the switch, in an order and precision of its own. */
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    int bad = ranks_run(RANKS, body, path, 600);
    printf("%sok 1 - the same values as NCCL's\n1..1\n", bad ? "not " : "");
    return bad;
}
