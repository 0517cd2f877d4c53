/* tests/gpu/driver_calls.c - what an AllReduce on GPUs asks of the driver: launches, and questions
 * that cost nothing. It allocates, loads and waits for nothing, and takes no memory of the host.
 * Every plan and protocol, small and large, eager on one stream and on two, and captured. Prints
 * the calls of each. Skipped with fewer than two GPUs, but for what judges the counts.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/comm/comm.h"
#include "tests/gpu/counted.h"
#include "tests/gpu/gpu.h"
#include "tests/unit/mallocs.h"

#define MOST ((size_t)16 << 20)
#define CALLS 40

static int tests;

static void tell(bool good, const char *name)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++tests, name);
    fflush(stdout);
}

/* --- what is allowed ------------------------------------------------------------------------- */

/* All else is forbidden, by name; "*" stands for any end. */
static const char *const allowed[] = {
    /* to know where one is */
    "cuCtxGetCurrent", "cuStreamIsCapturing", "cuStreamGetId",
    /* the order of calls */
    "cuStreamWaitValue64*", "cuStreamWriteValue64*", "cuStreamBatchMemOp*", "cuEventRecord*",
    "cuStreamWaitEvent",
    /* the work */
    "cuLaunchKernel", "cuLaunchKernelEx", "cuMemcpyDtoDAsync*", "cuMemcpyDtoHAsync*",
    "cuMemcpyHtoDAsync*"};

/* The first capture makes up for the events that were not recorded until then. */
static const char *const allowed_captured[] = {
    "cuCtxGetCurrent",
    "cuStreamIsCapturing",
    "cuStreamWaitEvent",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuEventRecord*",
    "cuStreamWaitValue64*",
    "cuStreamGetCaptureInfo*",
    "cuStreamUpdateCaptureDependencies",
    "cuGraphAddEventRecordNode",
    "cuGraphAddDependencies",
    "cuGraphRemoveDependencies",
};

static bool matches(const char *name, const char *pattern)
{
    size_t len = strcspn(pattern, "*");

    return !strncmp(name, pattern, len) && (pattern[len] || !name[len]);
}

static bool is_allowed(const char *name, bool captured)
{
    const char *const *list = captured ? allowed_captured : allowed;
    size_t n = captured ? sizeof(allowed_captured) / sizeof(allowed_captured[0])
                        : sizeof(allowed) / sizeof(allowed[0]);

    for (size_t i = 0; i < n; i++)
        if (matches(name, list[i]))
            return true;
    return false;
}

static void names_are_judged(void)
{
    static const struct {
        const char *name;
        bool eager, captured;
    } cases[] = {
        {"cuLaunchKernel", true, true},
        {"cuLaunchKernelEx", true, true},
        {"cuStreamWaitValue64_v2", true, true},
        {"cuStreamWriteValue64_v2", true, false},
        {"cuStreamGetCaptureInfo_v2", false, true},
        {"cuMemAlloc_v2", false, false},
        {"cuMemFree_v2", false, false},
        {"cuModuleLoadData", false, false},
        {"cuModuleGetFunction", false, false},
        {"cuFuncLoad", false, false},
        {"cuStreamSynchronize", false, false},
        {"cuEventSynchronize", false, false},
        {"cuEventQuery", false, false},
        {"cuMemHostRegister_v2", false, false},
        {"cuEventCreate", false, false},
        {"cuStreamCreate", false, false},
        {"cuIpcOpenMemHandle_v2", false, false},
    };
    bool good = true;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        good = good && is_allowed(cases[i].name, false) == cases[i].eager &&
               is_allowed(cases[i].name, true) == cases[i].captured;
    tell(good, "what allocates, loads or waits is not allowed");
}

/* Of the C library, and so without a driver: six arguments in registers, two behind them, a float.
 */
static void counts_are_right(void)
{
    typedef int print_t(char *, size_t, const char *, ...);
    counted_t before = counted_now();
    void *symbol = dlsym(RTLD_DEFAULT, "snprintf");
    char text[64] = "";
    size_t i = 0;
    print_t *print;

    memcpy(&print, &symbol, sizeof(print));
    for (int k = 0; k < 3; k++)
        print(text, sizeof(text), "%d %d %d %d %d %.1f", 1, 2, 3, 4, 5, 6.5);
    while (counted_name(i + 1))
        i++;
    tell(!strcmp(counted_name(i), "snprintf") && counted_now().calls[i] == before.calls[i] + 3 &&
             !strcmp(text, "1 2 3 4 5 6.5"),
         "calls are counted and go on to what was called");
}

/* --- a rank ---------------------------------------------------------------------------------- */

typedef struct job {
    bool wrong; /* the control: each call allocates, too */
} job_t;

typedef struct meeting {
    ranks_t *all;
    int rank;
} meeting_t;

typedef struct tally {
    counted_t driver;
    mallocs_t host;
} tally_t;

static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    const meeting_t *m = ctx;

    ranks_gather(m->all, m->rank, mine, bytes, all);
    return 0;
}

static pipc_comm_t *create(meeting_t *m)
{
    pipc_callbacks_t calls = {sizeof(calls), m->rank, ranks_size(m->all), allgather, m};
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm;

    c.backend = PIPC_BACKEND_CUDA;
    c.callbacks = &calls;
    if (pipc_comm_create(&comm, &c)) {
        fprintf(stderr, "# %s\n", pipc_last_error());
        exit(2);
    }
    return comm;
}

/* One call; what it asked of the driver and of the host is added to @t. */
static void one_call(pipc_comm_t *comm, const job_t *job, size_t bytes, int k, tally_t *t)
{
    static char *x, *y;

    x = x ? x : exec_memory_gpu.alloc(MOST);
    y = y ? y : exec_memory_gpu.alloc(MOST);
    counted_t before = counted_now();
    mallocs_begin();
    pipc_status_t st =
        pipc_allreduce(comm, k % 3 ? x : y, y, bytes, PIPC_U8, PIPC_MAX, gpu_streams[k / 5 % 2]);
    if (job->wrong) {
        char *volatile wrong = malloc(1);
        free(wrong);
        exec_memory_gpu.free(exec_memory_gpu.alloc(256));
    }
    mallocs_t host = mallocs_end();
    counted_t after = counted_now();
    if (st) {
        fprintf(stderr, "# %s\n", pipc_last_error());
        exit(2);
    }
    for (size_t i = 0; i < COUNTED_MAX; i++)
        t->driver.calls[i] += after.calls[i] - before.calls[i];
    t->host.own += host.own;
    t->host.others += host.others;
}

static int judge(const char *what, const tally_t *t, bool captured, bool prints)
{
    char line[1024] = "";
    int bad = 0;

    for (size_t i = 0; counted_name(i); i++) {
        size_t used = strlen(line);
        double each = (double)t->driver.calls[i] / CALLS;
        if (t->driver.calls[i])
            snprintf(line + used, sizeof(line) - used, " %s %.2f", counted_name(i), each);
        if (t->driver.calls[i] && !is_allowed(counted_name(i), captured)) {
            fprintf(stderr, "# %s: %s is called %.2f times a call\n", what, counted_name(i), each);
            bad = 1;
        }
    }
    if (t->host.own) {
        fprintf(stderr, "# %s: %lu allocations of host memory in %d calls\n", what, t->host.own,
                CALLS);
        bad = 1;
    }
    if (prints)
        printf("# %s:%s; the driver's own allocations %.2f\n", what, line,
               (double)t->host.others / CALLS);
    return bad;
}

static void wait_for_both(void)
{
    MUST(StreamSynchronize, gpu_streams[0]);
    MUST(StreamSynchronize, gpu_streams[1]);
}

static int eager(pipc_comm_t *comm, const job_t *job, const char *what, size_t bytes, bool prints)
{
    tally_t warm = {0}, t = {0};

    for (int k = 0; k < CALLS; k++)
        one_call(comm, job, bytes, k, &warm);
    wait_for_both();
    for (int k = 0; k < CALLS; k++)
        one_call(comm, job, bytes, k, &t);
    wait_for_both();
    return judge(what, &t, false, prints);
}

/* Two streams of one capture; replayed once. Returns what the calls took. */
static tally_t capture(pipc_comm_t *comm, const job_t *job, size_t bytes)
{
    CUgraph graph;
    CUgraphExec exec;
    CUevent event;
    tally_t t = {0};

    MUST(EventCreate, &event, CU_EVENT_DISABLE_TIMING);
    MUST(StreamBeginCapture, gpu_streams[0], CU_STREAM_CAPTURE_MODE_RELAXED);
    MUST(EventRecord, event, gpu_streams[0]);
    MUST(StreamWaitEvent, gpu_streams[1], event, 0);
    for (int k = 0; k < CALLS; k++)
        one_call(comm, job, bytes, k, &t);
    MUST(EventRecord, event, gpu_streams[1]);
    MUST(StreamWaitEvent, gpu_streams[0], event, 0);
    MUST(StreamEndCapture, gpu_streams[0], &graph);
    MUST(GraphInstantiate, &exec, graph, 0);
    MUST(GraphLaunch, exec, gpu_streams[0]);
    wait_for_both();
    MUST(GraphExecDestroy, exec);
    MUST(GraphDestroy, graph);
    MUST(EventDestroy, event);
    return t;
}

/* Every plan, protocol and class of size that there is here, all eager ones first: after the first
 * capture calls are ordered in another way. */
static int every_choice(pipc_comm_t *comm, const bool *made, const job_t *job, int mode)
{
    static const size_t sizes[] = {8, 4 << 10, 64 << 10, 1 << 20, MOST};
    static const char *const modes[] = {"eager", "captured", "eager after a capture"};
    const pipc__exec_t *x = comm->exec;
    bool prints = !comm->rank && !job->wrong;
    char what[96];
    int bad = 0;

    for (int i = 0; i < PIPC__PLAN_KINDS * PIPC__PROTOS * 5; i++) {
        pipc__choice_t c = {i / 5 / PIPC__PROTOS, (pipc__proto_t)(i / 5 % PIPC__PROTOS), 0};
        size_t bytes = sizes[i % 5];
        if (!made[c.algo] || !x->ops->can(x, comm->plan[c.algo], c.proto, bytes, mode == 1))
            continue;
        comm->table = (pipc__table_t){1, {{SIZE_MAX, c, c}}};
        snprintf(what, sizeof(what), "%s/%s, %zu bytes, %s", pipc__algo_name(c.algo),
                 pipc__proto_name(c.proto), bytes, modes[mode]);
        if (mode == 1) {
            tally_t t = capture(comm, job, bytes);
            bad |= judge(what, &t, true, prints);
        } else {
            bad |= eager(comm, job, what, bytes, prints);
        }
    }
    return bad;
}

static int body(ranks_t *all, int rank, void *arg)
{
    const job_t *job = arg;
    meeting_t m = {all, rank};
    bool made[PIPC__PLAN_KINDS];
    pipc__error_t err;
    int bad = 0;

    exec_memory_gpu.begin(rank);
    pipc_comm_t *comm = create(&m);
    for (int k = 0; k < PIPC__PLAN_KINDS; k++) {
        pipc__table_t one = pipc__table_fixed(k);
        made[k] = !pipc__comm_prepare(comm, &one, &err);
    }
    for (int mode = 0; mode < 3; mode++)
        bad |= every_choice(comm, made, job, mode);
    fflush(stdout);
    if (pipc_comm_destroy(comm)) {
        fprintf(stderr, "# %s\n", pipc_last_error());
        bad = 2;
    }
    return bad;
}

int main(void)
{
    job_t job = {false}, wrong = {true};
    char why[PIPC__ERROR_MAX];

    if (!counted_works() || !mallocs_work()) {
        printf("1..0 # SKIP calls are counted on x86-64 alone, and not under a tool that has "
               "malloc()\n");
        return 0;
    }
    printf("1..4\n");
    names_are_judged();
    counts_are_right();
    int n = gpu_count(why);
    if (n < 2) {
        tell(true, "# SKIP fewer than two GPUs");
        tell(true, "# SKIP fewer than two GPUs");
        return 0;
    }
    n = n < 8 ? n : 8;
    tell(!ranks_run(n, body, &job, 300), "a call allocates, loads and waits for nothing");
    tell(ranks_run(n, body, &wrong, 300) == 1, "one that allocates is seen");
    return 0;
}
