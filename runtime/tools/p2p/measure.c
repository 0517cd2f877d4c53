/* tools/p2p/measure.c - what a worker does on its GPUs. See p2p.h
 *
 * All workers go through the same pairs and meet between the steps; whoever owns a side of the pair
 * does that side's part. A GPU's memory:
 *
 *     | source: its own pattern | landing 0 | landing 1 | ...  a writer each | flags | counts |
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/exec/cuda_module.h"
#include "runtime/exec/probe_kernels.h"
#include "runtime/tools/p2p/p2p.h"

#define BLOCK ((size_t)2 << 20)
#define LINE 128 /* a flag or count alone in it */
#define THREADS 256
#define ROUND_TRIPS 1000
#define STEP_SEC 10 /* a step on a GPU; a link that is slower than that is none */
#define PAGE 4096

enum { FILL, COPY, CHECK, PINGPONG, KERNELS };
static const char *const kernel_names[KERNELS] = {"pipc__p2p_fill", "pipc__p2p_copy",
                                                  "pipc__p2p_check", "pipc__p2p_pingpong"};

/* A GPU that this worker owns. */
typedef struct side {
    CUcontext context;
    CUdevice device;
    CUdeviceptr base;
    CUmodule module;
    CUfunction kernel[KERNELS];
    CUstream stream[P2P_GPUS_MAX]; /* for the pushes to each other GPU; [self] for all else */
    CUevent begin[P2P_GPUS_MAX], end[P2P_GPUS_MAX];
    CUdeviceptr remote[P2P_GPUS_MAX]; /* the others' base, where it is mapped */
    int blocks;
} side_t;

/* In host memory: the flag that ends a ping-pong, and the answers of both its sides. */
typedef struct page {
    uint64_t stop, answer[P2P_GPUS_MAX];
} page_t;

typedef struct worker {
    p2p_shared_t *s;
    const pipc__cuda_t *cu;
    side_t side[P2P_GPUS_MAX];
    int self;
    page_t *page;
    CUdeviceptr page_there;
    pipc__error_t err;
} worker_t;

static bool owns(const worker_t *w, int g)
{
    return w->s->nworkers == 1 || w->self == g;
}

/* --- places ----------------------------------------------------------------------------------- */

static CUdeviceptr landing(const worker_t *w, CUdeviceptr base, int writer)
{
    return base + w->s->wants.bytes * (size_t)(1 + writer);
}

static CUdeviceptr flag(const worker_t *w, CUdeviceptr base, int writer)
{
    return landing(w, base, w->s->n) + (size_t)LINE * (size_t)writer;
}

static CUdeviceptr count_of(const worker_t *w, CUdeviceptr base)
{
    return flag(w, base, w->s->n);
}

static size_t whole(const worker_t *w)
{
    size_t bytes = w->s->wants.bytes * (size_t)(1 + w->s->n) + (size_t)LINE * (size_t)(w->s->n + 1);

    return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

static uint64_t seed_of(int from, int to, int step)
{
    return ((uint64_t)step << 16 | (uint64_t)(from << 8 | to)) * 0xd1342543de82ef95ull;
}

#define SOURCE(g) seed_of((g), (g), 99)

/* --- set-up ----------------------------------------------------------------------------------- */

/* As lspci and sysfs write it: the driver writes capital letters. */
static void describe(const pipc__cuda_t *cu, CUdevice d, p2p_gpu_t *g)
{
    CUuuid id;

    if (cu->DeviceGetPCIBusId(g->bdf, sizeof(g->bdf), d))
        snprintf(g->bdf, sizeof(g->bdf), "?");
    for (char *p = g->bdf; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    if (cu->DeviceGetName(g->name, sizeof(g->name), d))
        snprintf(g->name, sizeof(g->name), "?");
    g->mig = strstr(g->name, " MIG ") != NULL;
    if (cu->DeviceGetUuid(&id, d))
        return;
    int used = snprintf(g->uuid, sizeof(g->uuid), "%s", g->mig ? "MIG-" : "GPU-");
    for (int i = 0; i < 16; i++)
        used += snprintf(g->uuid + used, sizeof(g->uuid) - (size_t)used, "%s%02x",
                         i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                         (unsigned int)(unsigned char)id.bytes[i]);
}

pipc_status_t p2p_list(p2p_shared_t *s, pipc__error_t *err)
{
    const p2p_wants_t *wants = &s->wants;
    const pipc__cuda_t *cu;
    int count = 0;
    pipc_status_t st = pipc__cuda_open(&cu, err);

    if (!st)
        st = PIPC__CUDA_TRY(cu, err, DeviceGetCount, &count);
    if (st)
        return st;
    if (!wants->ngpus && count > P2P_GPUS_MAX)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "%d GPUs: %d at most; choose some with --gpus",
                          count, P2P_GPUS_MAX);
    s->n = wants->ngpus ? wants->ngpus : count;
    for (int i = 0; !st && i < s->n; i++) {
        CUdevice d;
        s->gpu[i].device = wants->ngpus ? wants->gpu[i] : i;
        if (s->gpu[i].device >= count)
            return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                              "GPU %d: this process sees %d, numbered from 0 on as CUDA does",
                              s->gpu[i].device, count);
        st = PIPC__CUDA_TRY(cu, err, DeviceGet, &d, s->gpu[i].device);
        if (!st)
            describe(cu, d, &s->gpu[i]);
    }
    return st;
}

/* cu(w, DeviceGet, ...): true when it went well. */
#define CU(w, member, ...)                                                                         \
    (!pipc__cuda_check((w)->cu, (w)->cu->member(__VA_ARGS__), &(w)->err, "cu" #member))

static bool wait_for(worker_t *w, int g, int stream);

static bool launch(worker_t *w, int g, int kernel, int stream, int blocks, void **params)
{
    unsigned int threads = kernel == PINGPONG ? 1 : THREADS;

    return CU(w, LaunchKernel, w->side[g].kernel[kernel], (unsigned int)blocks, 1, 1, threads, 1, 1,
              0, w->side[g].stream[stream], params, NULL);
}

static bool fill(worker_t *w, int g, CUdeviceptr to, uint64_t seed)
{
    size_t packs = w->s->wants.bytes / 16;
    int times = 1;
    void *params[] = {&to, &packs, &seed, &times};

    return CU(w, CtxSetCurrent, w->side[g].context) &&
           launch(w, g, FILL, g, w->side[g].blocks, params) && wait_for(w, g, g);
}

static bool open_kernels(worker_t *w, side_t *d)
{
    int sms = 0;

    if (pipc__cuda_load_module(w->cu, &d->module, pipc__probe_code, &w->err) ||
        !CU(w, DeviceGetAttribute, &sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, d->device))
        return false;
    for (int k = 0; k < KERNELS; k++)
        if (!CU(w, ModuleGetFunction, &d->kernel[k], d->module, kernel_names[k]) ||
            (w->cu->FuncLoad && !CU(w, FuncLoad, d->kernel[k])))
            return false;
    d->blocks = sms < 64 ? sms : 64;
    return true;
}

static bool open_side(worker_t *w, int g)
{
    side_t *d = &w->side[g];
    CUipcMemHandle handle;

    if (!CU(w, DeviceGet, &d->device, w->s->gpu[g].device) ||
        !CU(w, DevicePrimaryCtxRetain, &d->context, d->device) ||
        !CU(w, CtxSetCurrent, d->context) || !open_kernels(w, d) ||
        !CU(w, MemAlloc, &d->base, whole(w)))
        return false;
    for (int i = 0; i < w->s->n; i++)
        if (!CU(w, StreamCreate, &d->stream[i], CU_STREAM_NON_BLOCKING) ||
            !CU(w, EventCreate, &d->begin[i], CU_EVENT_DEFAULT) ||
            !CU(w, EventCreate, &d->end[i], CU_EVENT_DEFAULT))
            return false;
    if (!CU(w, MemsetD8Async, d->base, 0, whole(w), d->stream[g]) ||
        !CU(w, StreamSynchronize, d->stream[g]) || !fill(w, g, d->base, SOURCE(g)))
        return false;
    if (w->s->nworkers == 1) /* CUDA IPC is for other processes */
        return true;
    if (!CU(w, IpcGetMemHandle, &handle, d->base))
        return false;
    memcpy(w->s->gpu[g].handle, &handle, sizeof(handle));
    return true;
}

static bool open_page(worker_t *w)
{
    w->page = aligned_alloc(PAGE, PAGE);
    if (!w->page) {
        pipc__fail(&w->err, PIPC_ERR_NOMEM, "no memory");
        return false;
    }
    memset(w->page, 0, PAGE);
    return CU(w, MemHostRegister, w->page, PAGE,
              CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE) &&
           CU(w, MemHostGetDevicePointer, &w->page_there, w->page, 0);
}

static bool open_all(worker_t *w)
{
    if (pipc__cuda_open(&w->cu, &w->err))
        return false;
    for (int g = 0; g < w->s->n; g++)
        if (owns(w, g) && !open_side(w, g))
            return false;
    return open_page(w);
}

/* --- within reach ----------------------------------------------------------------------------- */

static pipc__path_state_t open_pair(worker_t *w, int from, int to)
{
    side_t *d = &w->side[from];
    CUdevice peer;
    CUipcMemHandle handle;
    int can = 0;

    if (w->s->gpu[from].mig || w->s->gpu[to].mig)
        return PIPC__PATH_MIG;
    if (w->cu->CtxSetCurrent(d->context) || w->cu->DeviceGetByPCIBusId(&peer, w->s->gpu[to].bdf))
        return PIPC__PATH_HIDDEN;
    if (w->cu->DeviceCanAccessPeer(&can, d->device, peer) || !can)
        return PIPC__PATH_REFUSED;
    if (w->s->nworkers == 1) {
        CUresult rc = w->cu->CtxEnablePeerAccess(w->side[to].context, 0);
        d->remote[to] = w->side[to].base; /* one address space */
        return rc && rc != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED ? PIPC__PATH_UNOPENED
                                                                  : PIPC__PATH_GOOD;
    }
    memcpy(&handle, w->s->gpu[to].handle, sizeof(handle));
    if (w->cu->IpcOpenMemHandle(&d->remote[to], handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)) {
        d->remote[to] = 0;
        return PIPC__PATH_UNOPENED;
    }
    return PIPC__PATH_GOOD;
}

/* --- steps on one GPU ------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Until what was enqueued is through; false when it hangs or failed. */
static bool wait_for(worker_t *w, int g, int stream)
{
    const struct timespec t = {0, 20000};
    CUevent end = w->side[g].end[stream];
    double start = now();
    CUresult rc;

    if (!CU(w, CtxSetCurrent, w->side[g].context) ||
        !CU(w, EventRecord, end, w->side[g].stream[stream]))
        return false;
    while ((rc = w->cu->EventQuery(end)) == CUDA_ERROR_NOT_READY) {
        if (now() - start > STEP_SEC) {
            pipc__fail(&w->err, PIPC_ERR_CUDA,
                       "GPU %s hangs; look for Xid and AER lines in the kernel's log",
                       w->s->gpu[g].bdf);
            return false;
        }
        nanosleep(&t, NULL);
    }
    return !rc || !pipc__cuda_fail(w->cu, rc, &w->err, "GPU %s", w->s->gpu[g].bdf);
}

/* Compare the buffer at @at on GPU @g with @seed's pattern; what is wrong goes to @pair. */
static bool check(worker_t *w, int g, CUdeviceptr at, uint64_t seed, p2p_pair_t *pair)
{
    side_t *d = &w->side[g];
    CUdeviceptr there = count_of(w, d->base);
    size_t packs = w->s->wants.bytes / 16;
    pipc__probe_count_t count;
    void *params[] = {&at, &packs, &seed, &there};

    if (!CU(w, CtxSetCurrent, d->context) ||
        !CU(w, MemsetD8Async, there, 0, sizeof(count), d->stream[g]) ||
        !launch(w, g, CHECK, g, d->blocks, params) || !wait_for(w, g, g) ||
        !CU(w, MemcpyDtoHAsync, &count, there, sizeof(count), d->stream[g]) ||
        !CU(w, StreamSynchronize, d->stream[g]))
        return false;
    if (count.wrong) {
        pair->state = PIPC__PATH_WRONG;
        pair->wrong = count.wrong;
        pair->first = ~count.first;
    }
    return true;
}

/* @times copies by kernel (or by copy engine) on @stream, in between two events. */
static bool enqueue(worker_t *w, int g, CUdeviceptr to, CUdeviceptr from, int times, int stream,
                    int blocks, bool engine)
{
    side_t *d = &w->side[g];
    size_t packs = w->s->wants.bytes / 16;
    void *params[] = {&to, &from, &packs, &times};

    if (!CU(w, CtxSetCurrent, d->context) ||
        !CU(w, EventRecord, d->begin[stream], d->stream[stream]))
        return false;
    for (int i = 0; engine && i < times; i++)
        if (!CU(w, MemcpyDtoDAsync, to, from, w->s->wants.bytes, d->stream[stream]))
            return false;
    return engine || launch(w, g, COPY, stream, blocks, params);
}

static bool rate(worker_t *w, int g, int stream, double *gbps)
{
    float msec = 0;

    if (!CU(w, EventElapsedTime, &msec, w->side[g].begin[stream], w->side[g].end[stream]))
        return false;
    *gbps = msec > 0 ? (double)w->s->wants.bytes * w->s->wants.iters / msec * 1e-6 : 0;
    return true;
}

/* Once to warm up, then what is timed. */
static bool timed(worker_t *w, int g, CUdeviceptr to, CUdeviceptr from, bool engine, double *gbps)
{
    int blocks = w->side[g].blocks;

    return enqueue(w, g, to, from, 1, g, blocks, engine) && wait_for(w, g, g) &&
           enqueue(w, g, to, from, w->s->wants.iters, g, blocks, engine) && wait_for(w, g, g) &&
           rate(w, g, g, gbps);
}

/* --- steps of a pair -------------------------------------------------------------------------- */

/* A pattern of the pair's own, pushed by the writer and compared by the owner. */
static bool verify(worker_t *w, int from, int to)
{
    p2p_pair_t *pair = &w->s->pair[from][to];
    uint64_t seed = seed_of(from, to, 1);

    if (owns(w, from) && !fill(w, from, landing(w, w->side[from].remote[to], from), seed))
        return false;
    if (!p2p_meet(w->s))
        return false;
    if (owns(w, to) && !check(w, to, landing(w, w->side[to].base, from), seed, pair))
        return false;
    return p2p_meet(w->s);
}

/* The writer's own pattern arrives by kernel, then by copy engine; the other's is read. */
static bool measure_rates(worker_t *w, int from, int to)
{
    p2p_pair_t *pair = &w->s->pair[from][to];
    side_t *a = &w->side[from];

    for (int engine = 0; engine < 2; engine++) {
        if (owns(w, from) && !timed(w, from, landing(w, a->remote[to], from), a->base, engine,
                                    engine ? &pair->copy_gbps : &pair->write_gbps))
            return false;
        if (!p2p_meet(w->s))
            return false;
        if (owns(w, to) && !check(w, to, landing(w, w->side[to].base, from), SOURCE(from), pair))
            return false;
        if (owns(w, to) && !engine && !fill(w, to, landing(w, w->side[to].base, from), 0))
            return false; /* so that the engine's data is its own */
        if (!p2p_meet(w->s))
            return false;
    }
    if (owns(w, from) &&
        (!timed(w, from, landing(w, a->base, to), a->remote[to], false, &pair->read_gbps) ||
         !check(w, from, landing(w, a->base, to), SOURCE(to), pair)))
        return false;
    return p2p_meet(w->s);
}

static bool start_pingpong(worker_t *w, int g, int peer, int begins)
{
    side_t *d = &w->side[g];
    CUdeviceptr mine = flag(w, d->base, peer), peers = flag(w, d->remote[peer], g);
    CUdeviceptr stop = w->page_there;
    CUdeviceptr answer = w->page_there + offsetof(page_t, answer) + sizeof(uint64_t) * (size_t)g;
    int times = ROUND_TRIPS;
    void *params[] = {&mine, &peers, &times, &begins, &stop, &answer};

    w->page->answer[g] = 0;
    return CU(w, CtxSetCurrent, d->context) && launch(w, g, PINGPONG, g, 1, params) &&
           CU(w, EventRecord, d->end[g], d->stream[g]);
}

/* Until both sides are through; one that waits in vain is told to stop. */
static bool end_pingpong(worker_t *w, int g)
{
    const struct timespec t = {0, 20000};
    double start = now();

    while (w->cu->EventQuery(w->side[g].end[g]) == CUDA_ERROR_NOT_READY) {
        if (now() - start > 1)
            __atomic_store_n(&w->page->stop, 1, __ATOMIC_RELEASE);
        if (now() - start > STEP_SEC)
            break;
        nanosleep(&t, NULL);
    }
    return wait_for(w, g, g);
}

/* Flags start at 0 and are used by one pair once. */
static bool measure_latency(worker_t *w, int a, int b)
{
    if ((owns(w, b) && !start_pingpong(w, b, a, 0)) || !p2p_meet(w->s))
        return false;
    if (owns(w, a) && (!start_pingpong(w, a, b, 1) || !end_pingpong(w, a)))
        return false;
    if (owns(w, b) && !end_pingpong(w, b))
        return false;
    if (owns(w, a)) {
        double usec = (double)w->page->answer[a] * 1e-3;
        w->s->pair[a][b].latency_usec = w->s->pair[b][a].latency_usec = usec;
        if (!usec)
            w->s->pair[a][b].state = w->s->pair[b][a].state = PIPC__PATH_TIMED_OUT;
    }
    __atomic_store_n(&w->page->stop, 0, __ATOMIC_RELEASE);
    return p2p_meet(w->s);
}

static bool is_good(const worker_t *w, int from, int to)
{
    return w->s->pair[from][to].state == PIPC__PATH_GOOD;
}

/* The state is GOOD only once the data has been seen: what hangs in between must not look good. */
static bool measure_pair(worker_t *w, int from, int to)
{
    p2p_pair_t *pair = &w->s->pair[from][to];

    if (owns(w, from)) {
        pipc__path_state_t opened = open_pair(w, from, to);
        atomic_store(&w->s->from, from);
        atomic_store(&w->s->to, to);
        pair->state = opened;
    }
    if (!p2p_meet(w->s))
        return false;
    if (!is_good(w, from, to))
        return p2p_meet(w->s);
    if (!p2p_meet(w->s))
        return false;
    if (owns(w, from))
        pair->state = PIPC__PATH_UNTESTED;
    if (!p2p_meet(w->s) || !verify(w, from, to))
        return false;
    if (owns(w, from) && pair->state == PIPC__PATH_UNTESTED)
        pair->state = PIPC__PATH_GOOD;
    if (!p2p_meet(w->s))
        return false;
    return is_good(w, from, to) ? measure_rates(w, from, to) : true;
}

/* --- all at once ------------------------------------------------------------------------------ */

static bool start_all(worker_t *w)
{
    for (int a = 0; a < w->s->n; a++)
        for (int b = 0; owns(w, a) && b < w->s->n; b++)
            if (a != b && is_good(w, a, b) &&
                !enqueue(w, a, landing(w, w->side[a].remote[b], a), w->side[a].base,
                         w->s->wants.iters, b, 8, false))
                return false;
    return true;
}

static bool end_all(worker_t *w)
{
    for (int a = 0; a < w->s->n; a++)
        for (int b = 0; owns(w, a) && b < w->s->n; b++)
            if (a != b && is_good(w, a, b) &&
                (!CU(w, CtxSetCurrent, w->side[a].context) ||
                 !CU(w, EventRecord, w->side[a].end[b], w->side[a].stream[b])))
                return false;
    for (int a = 0; a < w->s->n; a++)
        for (int b = 0; owns(w, a) && b < w->s->n; b++)
            if (a != b && is_good(w, a, b) &&
                (!CU(w, CtxSetCurrent, w->side[a].context) ||
                 !CU(w, EventSynchronize, w->side[a].end[b]) ||
                 !rate(w, a, b, &w->s->pair[a][b].together_gbps)))
                return false;
    return true;
}

static bool clear_landings(worker_t *w)
{
    for (int b = 0; b < w->s->n; b++)
        for (int a = 0; owns(w, b) && a < w->s->n; a++)
            if (a != b && !fill(w, b, landing(w, w->side[b].base, a), 0))
                return false;
    return true;
}

static bool check_all(worker_t *w)
{
    for (int b = 0; b < w->s->n; b++)
        for (int a = 0; owns(w, b) && a < w->s->n; a++)
            if (a != b && is_good(w, a, b)) {
                p2p_pair_t *pair = &w->s->pair[a][b];
                if (!check(w, b, landing(w, w->side[b].base, a), SOURCE(a), pair))
                    return false;
                pair->together_bad = pair->state != PIPC__PATH_GOOD;
            }
    return true;
}

static bool measure_together(worker_t *w)
{
    atomic_store(&w->s->from, -1);
    return clear_landings(w) && p2p_meet(w->s) && start_all(w) && end_all(w) && p2p_meet(w->s) &&
           check_all(w) && p2p_meet(w->s);
}

/* --- all -------------------------------------------------------------------------------------- */

static bool measure_all(worker_t *w)
{
    int n = w->s->n;

    if (!open_all(w) || !p2p_meet(w->s))
        return false;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++)
            if (a != b && !measure_pair(w, a, b))
                return false;
    for (int a = 0; a < n; a++)
        for (int b = a + 1; b < n; b++)
            if (is_good(w, a, b) && is_good(w, b, a) && !measure_latency(w, a, b))
                return false;
    return measure_together(w);
}

void p2p_measure(p2p_shared_t *s, int self)
{
    worker_t w = {.s = s, .self = self};

    if (measure_all(&w))
        atomic_store(&s->finished, 1);
    else
        p2p_give_up(s, &w.err);
}
