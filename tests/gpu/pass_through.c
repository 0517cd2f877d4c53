/* tests/gpu/pass_through.c - what the hook adds to a call that NCCL does: the processor time of the
 * calling thread for ncclAllReduce of 1 KB, by the hook's and by NCCL's own, in one process, on one
 * communicator, in turns. Processes differ by more than that.
 *
 *     LD_PRELOAD=libpcie-ipc-nccl.so PCIE_IPC_PLAN=nccl pass_through LIBNCCL [TURNS]
 *
 * Two ranks, a GPU each; without GPUs in host memory, for a library that works there (tests/nccl).
 * Prints "RANK HOOK NCCL ADDED", medians in microseconds a call, a line a rank. Exit status: 0;
 * 1 a call failed; 2 no hook, no library.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/nccl/abi.h"
#include "tests/gpu/gpu.h"
#include "tests/unit/ranks.h"

#define COUNT 256
#define BURST 50 /* calls between two waits: fewer than a stream queues */
#define RANKS 2
#define TURNS_MOST 2000

typedef struct functions {
    ncclResult_t (*get_id)(ncclUniqueId *);
    ncclResult_t (*init)(ncclComm_t *, int, ncclUniqueId, int);
    ncclResult_t (*destroy)(ncclComm_t);
    ncclResult_t (*reduce)(const void *, void *, size_t, int, int, ncclComm_t, ncclStream_t);
} functions_t;

typedef struct test {
    const char *library;
    int turns;
    bool on_gpu;
} test_t;

static bool find(void *handle, const char *name, void *to)
{
    void *symbol = dlsym(handle, name);

    memcpy(to, &symbol, sizeof(symbol));
    return symbol;
}

static bool find_all(void *handle, functions_t *f)
{
    return find(handle, "ncclGetUniqueId", &f->get_id) &&
           find(handle, "ncclCommInitRank", &f->init) &&
           find(handle, "ncclCommDestroy", &f->destroy) &&
           find(handle, "ncclAllReduce", &f->reduce);
}

static void *buffer(const test_t *t)
{
    return t->on_gpu ? exec_memory_gpu.alloc(COUNT * 4) : calloc(COUNT, 4);
}

static double thread_usec(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

typedef struct caller {
    const test_t *test;
    ncclComm_t comm;
    void *from, *to, *stream;
} caller_t;

/* Of a call; < 0: one failed. */
static double time_burst(const caller_t *c, const functions_t *f)
{
    double start = thread_usec();
    bool good = true;

    for (int i = 0; i < BURST; i++)
        good = !f->reduce(c->from, c->to, COUNT, ncclFloat32, ncclSum, c->comm, c->stream) && good;
    double each = (thread_usec() - start) / BURST;
    if (c->test->on_gpu)
        MUST(StreamSynchronize, c->stream);
    return good ? each : -1;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), by_size);
    return values[n / 2];
}

/* Who is first changes from turn to turn. */
static int take_turns(const caller_t *c, int rank, const functions_t *hook, const functions_t *nccl)
{
    static double by_hook[TURNS_MOST], by_nccl[TURNS_MOST];
    int turns = c->test->turns;
    bool good = true;

    for (int i = -5; i < turns; i++) {
        double first = time_burst(c, i % 2 ? hook : nccl);
        double second = time_burst(c, i % 2 ? nccl : hook);
        good = good && first >= 0 && second >= 0;
        by_hook[i < 0 ? 0 : i] = i % 2 ? first : second;
        by_nccl[i < 0 ? 0 : i] = i % 2 ? second : first;
    }
    double ours = median(by_hook, turns), theirs = median(by_nccl, turns);
    printf("%d %.3f %.3f %.3f\n", rank, ours, theirs, ours - theirs);
    fflush(stdout);
    return !good;
}

static int body(ranks_t *all, int rank, void *arg)
{
    const test_t *t = arg;
    caller_t c = {.test = t};
    functions_t hook, nccl;
    ncclUniqueId ids[RANKS], own = {{0}};

    if (t->on_gpu) {
        exec_memory_gpu.begin(rank);
        c.stream = gpu_streams[0];
    }
    void *library = dlopen(t->library, RTLD_NOW | RTLD_GLOBAL);
    if (!library || !find_all(library, &nccl) || !find_all(RTLD_DEFAULT, &hook) ||
        hook.reduce == nccl.reduce) {
        fprintf(stderr, "pass_through: %s\n", library ? "no hook is preloaded" : dlerror());
        return 2;
    }
    c.from = buffer(t);
    c.to = buffer(t);
    if (rank == 0 && hook.get_id(&own))
        return 1;
    ranks_gather(all, rank, &own, sizeof(own), ids);
    if (hook.init(&c.comm, RANKS, ids[0], rank))
        return 1;
    int bad = take_turns(&c, rank, &hook, &nccl);
    return hook.destroy(c.comm) || bad;
}

int main(int argc, char **argv)
{
    char why[PIPC__ERROR_MAX];
    test_t t = {argc > 1 ? argv[1] : NULL, argc > 2 ? atoi(argv[2]) : 400, false};

    if (!t.library) { /* among the tests */
        printf("1..0 # SKIP a measurement; tests/measure-hook makes it\n");
        return 0;
    }
    if (t.turns < 1 || t.turns > TURNS_MOST) {
        fprintf(stderr, "usage: pass_through LIBNCCL [TURNS, 1 to %d]\n", TURNS_MOST);
        return 64;
    }
    t.on_gpu = gpu_count(why) >= RANKS;
    return ranks_run(RANKS, body, &t, 200);
}
