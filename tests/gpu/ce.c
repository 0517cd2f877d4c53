/* tests/gpu/ce.c - see ce.h
 *
 * Messages are longer than the rings, mostly several times, so that every wait is met: in the
 * smallest staging two ranks have rings of 1 MB less a page.
 */
#include "tests/gpu/ce.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/ce.h"
#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/perturb.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/stuck.h"

#define MB ((size_t)1 << 20)
#define SMALL (2 * MB)

static const size_t counts[] = {1,      33,    257,     4097,    262143, 1000,
                                300001, 65537, 1048571, 1048576, 2047,   130000};
#define COUNT(list) (int)(sizeof(list) / sizeof((list)[0]))

static const rank_plan_t by_device[] = {{PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT}};
static const rank_plan_t by_host[] = {{PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_HOST}};
static const rank_plan_t one_way[] = {{PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_ONE_WAY}};
static const rank_plan_t others[] = {{PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_ONE_WAY},
                                     {PIPC__TWO_SHOT, PIPC__ALLREDUCE, SHAPE_ONE_WAY},
                                     {PIPC__RING, PIPC__ALLREDUCE, SHAPE_HOST}};
#define LIST(plans) ((rank_plans_t){plans, COUNT(plans)})

static exec_job_t make_job(rank_plans_t plans, int calls)
{
    return (exec_job_t){.ops = &pipc__exec_cuda,
                        .memory = &exec_memory_gpu,
                        .staging_bytes = SMALL,
                        .counts = counts,
                        .ncounts = COUNT(counts),
                        .plans = plans,
                        .calls = calls,
                        .batch = 6,
                        .drop_step = -1,
                        .ce = 1,
                        .blocks = true};
}

void ce_is_right_alone_and_among_other_calls(void **state)
{
    const rank_plans_t lists[] = {LIST(by_device), LIST(by_host), LIST(one_way), LIST(others)};

    (void)state;
    for (int n = 2; n <= gpu_ranks(); n += n < 4 ? 1 : 4)
        for (int i = 0; i < COUNT(lists); i++)
            for (int big = 0; big < 2; big++) {
                exec_job_t job = make_job(lists[i], 72);
                job.staging_bytes = big ? 64 * MB : SMALL;
                job.max_usec = 100;
                if (lists[i].n > 1) { /* in turns with LL and simple */
                    job.plan = -1;
                    job.ce = job.ll = 2;
                }
                if (ranks_run(n, exec_job_body, &job, 180))
                    fail_msg("%d ranks, list %d, %s staging", n, i, big ? "big" : "small");
            }
}

/* --- the caller's stream --------------------------------------------------------------------- */

/* Work of the caller's that takes its time, on memory of its own. */
static void keep_busy(char *scratch)
{
    MUST(MemsetD8Async, (CUdeviceptr)(uintptr_t)scratch, 0, 256 * MB, gpu_streams[0]);
}

/* The input is put there in the caller's stream, late, and spoilt in it behind the call. */
static int input_body(ranks_t *all, int rank, void *arg)
{
    const exec_job_t *job = arg;
    const size_t count = MB, bytes = count * 4;
    int bad = 0, n = ranks_size(all);
    pipc__error_t err;
    rank_exec_t re;

#ifdef PIPC_PERTURB
    pipc__perturb = (pipc__perturb_t){
        .max_usec = job->max_usec, .drop_step = -1, .drop_ce = job->drop_ce, .seed = 42};
#endif
    exec_memory_gpu.begin(rank);
    rank_exec_open(&re, &pipc__exec_cuda, SMALL, job->plans, all, rank);
    char *fresh = exec_memory_gpu.alloc(bytes), *x = exec_memory_gpu.alloc(bytes);
    char *y = exec_memory_gpu.alloc(bytes), *scratch = exec_memory_gpu.alloc(256 * MB);
    char *host = malloc(bytes);
    for (unsigned int call = 0; call < (unsigned int)job->calls; call++) {
        CUdeviceptr to = (CUdeviceptr)(uintptr_t)x;
        pipc__exec_call_t k = {.plan = re.plans[0],
                               .send = x,
                               .recv = y,
                               .count = count,
                               .dtype = PIPC_F32,
                               .op = PIPC_SUM,
                               .stream = gpu_streams[0],
                               .number = call + 1,
                               .proto = PIPC__PROTO_CE,
                               .blocks = 16};
        test_fill(host, count, PIPC_F32, PIPC_SUM, rank, call);
        exec_memory_gpu.put(fresh, host, bytes);
        keep_busy(scratch);
        MUST(MemcpyDtoDAsync, to, (CUdeviceptr)(uintptr_t)fresh, bytes, gpu_streams[0]);
        if (re.exec->ops->run(re.exec, &k, &err))
            return EXEC_FAILED;
        MUST(MemsetD8Async, to, 0x7f, bytes, gpu_streams[0]);
        MUST(StreamSynchronize, gpu_streams[0]);
        exec_memory_gpu.get(host, y, bytes);
        if (test_wrong(host, 0, count, PIPC_F32, PIPC_SUM, n, call, TEST_DIRECT) < count)
            bad = EXEC_WRONG;
    }
    free(host);
    rank_exec_close(&re);
    return bad;
}

void ce_leaves_the_input_alone_before_the_call_and_behind_it(void **state)
{
    exec_job_t job = make_job(LIST(by_device), 20);

    (void)state;
    job.max_usec = 1000;
    assert_int_equal(ranks_run(2, input_body, &job, 120), 0);
    job.plans = LIST(by_host);
    assert_int_equal(ranks_run(2, input_body, &job, 120), 0);
}

/* --- queues of the GPU ----------------------------------------------------------------------- */

#define STREAMS 40

static CUstream many[STREAMS];

static void *one_of_many(unsigned int call)
{
    if (!many[0])
        for (int i = 0; i < STREAMS; i++)
            MUST(StreamCreate, &many[i], CU_STREAM_NON_BLOCKING);
    return many[call * 7 % STREAMS];
}

static int queues_body(ranks_t *all, int rank, void *arg)
{
    exec_job_t job = *(const exec_job_t *)arg;
    exec_memory_t memory = exec_memory_gpu;

    /* The driver reads it when it starts, in this process. */
    if (job.first)
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
    job.first = 0;
    memory.stream = one_of_many;
    job.memory = &memory;
    return exec_job_body(all, rank, &job);
}

/* Streams share the GPU's queues when there are more of them than queues: a kernel that waits for a
 * copy must not keep that from beginning. */
void ce_is_right_where_streams_share_queues(void **state)
{
    (void)state;
    for (int single = 0; single < 2; single++)
        for (int host = 0; host < 2; host++) {
            exec_job_t job = make_job(host ? LIST(by_host) : LIST(by_device), 96);
            job.first = (uint64_t)single;
            if (ranks_run(2, queues_body, &job, 120))
                fail_msg("%s, by %s", single ? "one queue" : "many streams",
                         host ? "host" : "device");
        }
}

/* --- times ----------------------------------------------------------------------------------- */

#define MOST (1024 * MB)

static double time_calls(rank_exec_t *re, pipc__exec_call_t *k, int calls)
{
    CUevent first, last;
    pipc__error_t err;
    float msec = 0;

    MUST(EventCreate, &first, CU_EVENT_DEFAULT);
    MUST(EventCreate, &last, CU_EVENT_DEFAULT);
    MUST(EventRecord, first, gpu_streams[0]);
    for (int i = 0; i < calls; i++, k->number++)
        if (re->exec->ops->run(re->exec, k, &err))
            fprintf(stderr, "# %s\n", err.text);
    MUST(EventRecord, last, gpu_streams[0]);
    MUST(EventSynchronize, last);
    MUST(EventElapsedTime, &msec, first, last);
    MUST(EventDestroy, first);
    MUST(EventDestroy, last);
    return msec * 1e3 / calls;
}

/* The least of four rounds, each by its slowest rank; the first one warms up. */
static void time_row(ranks_t *all, int rank, rank_exec_t *re, pipc__exec_call_t *k,
                     const char *path)
{
    const pipc__cuda_exec_t *x = (const pipc__cuda_exec_t *)(const void *)re->exec;
    size_t bytes = k->count * 4;
    int calls = bytes <= 16 * MB ? 40 : bytes <= 256 * MB ? 10 : 3;
    double best = 1e9;

    for (int round = 0; round < 4; round++) {
        double each[PIPC__RANKS_MAX], slowest = 0;
        ranks_gather(all, rank, NULL, 0, NULL);
        double own = time_calls(re, k, calls);
        ranks_gather(all, rank, &own, sizeof(own), each);
        for (int r = 0; r < ranks_size(all); r++)
            slowest = each[r] > slowest ? each[r] : slowest;
        best = round && slowest < best ? slowest : best;
    }
    if (rank == 0)
        printf("%-6s %10zu bytes %3d blocks %d lanes %5zu KB %10.2f us %8.2f GB/s\n", path, bytes,
               k->blocks, x->ce.lanes, x->ce.cut.most >> 10, best, (double)bytes / best / 1e3);
    fflush(stdout);
}

static void time_path(ranks_t *all, int rank, rank_plans_t plans, const char *path,
                      pipc__exec_call_t k)
{
    static const size_t sizes[] = {1, 4, 16, 64, 256, 1024}, most[] = {0, 512, 1024, 2048, 3832};
    static const int blocks[] = {16, 32, 132};
    rank_exec_t re;

    rank_exec_open(&re, &pipc__exec_cuda, 64 * MB, plans, all, rank);
    pipc__cuda_exec_t *x = (pipc__cuda_exec_t *)(void *)re.exec;
    int lanes = x->ce.lanes;
    k.plan = re.plans[0];
    for (int i = 0; i < COUNT(sizes); i++)
        for (int m = 0; m < COUNT(most); m++)
            for (int b = 0; b < COUNT(blocks); b++)
                for (x->ce.lanes = 1; x->ce.lanes <= lanes; x->ce.lanes++) {
                    x->ce.cut = (pipc__ce_cut_t){most[m] << 10, most[m] << 8};
                    k.count = sizes[i] * MB / 4;
                    k.blocks = blocks[b];
                    if ((most[m] << 10) <= sizes[i] * MB && (m == 0 || b == 0))
                        time_row(all, rank, &re, &k, path);
                }
    x->ce.lanes = lanes;
    rank_exec_close(&re);
}

int ce_timing_body(ranks_t *all, int rank, void *arg)
{
    (void)arg;
    exec_memory_gpu.begin(rank);
    char *x = exec_memory_gpu.alloc(MOST), *y = exec_memory_gpu.alloc(MOST);
    MUST(MemsetD8Async, (CUdeviceptr)(uintptr_t)x, 0, MOST, gpu_streams[0]);
    MUST(StreamSynchronize, gpu_streams[0]);
    pipc__exec_call_t k = {.send = x,
                           .recv = y,
                           .dtype = PIPC_F32,
                           .op = PIPC_SUM,
                           .stream = gpu_streams[0],
                           .number = 1,
                           .proto = PIPC__PROTO_CE};
    time_path(all, rank, LIST(by_device), "device", k);
    time_path(all, rank, LIST(by_host), "host", k);
    return 0;
}

#ifndef PIPC_PERTURB

/* --- peers that die, abort, come late -------------------------------------------------------- */

static void run_stuck(fate_t fate)
{
    stuck_run(PIPC__PROTO_CE, LIST(by_device), fate, 3);
    stuck_run(PIPC__PROTO_CE, LIST(by_host), fate, 3);
}

void ce_ends_when_a_peer_dies_or_aborts(void **state)
{
    exec_loss_t loss = {.job = make_job(LIST(by_device), 0), .victim = 1};
    int exits[PIPC__RANKS_MAX];

    (void)state;
    run_stuck(DIES_IDLE);
    run_stuck(DIES_AT_WORK);
    run_stuck(ABORTS);
    for (int host = 0; host < 2; host++) { /* what the error says */
        loss.job.plans = host ? LIST(by_host) : LIST(by_device);
        assert_int_equal(ranks_run_each(2, exec_loss_body, &loss, 60, exits), 0);
        assert_int_equal(exits[0], 0);
        assert_int_equal(exits[1], 9);
    }
}

void ce_waits_for_a_late_peer(void **state)
{
    (void)state;
    run_stuck(COMES_LATE);
}

/* --- graphs ---------------------------------------------------------------------------------- */

static int capture_body(ranks_t *all, int rank, void *arg)
{
    pipc__error_t err = {PIPC_OK, ""};
    rank_exec_t re;
    CUgraph graph;
    int bad = 0;

    (void)arg;
    exec_memory_gpu.begin(rank);
    rank_exec_open(&re, &pipc__exec_cuda, SMALL, LIST(by_device), all, rank);
    char *x = exec_memory_gpu.alloc(32 * MB), *y = exec_memory_gpu.alloc(32 * MB);
    if (!re.exec->ops->can(re.exec, re.plans[0], PIPC__PROTO_CE, 32 * MB, false) ||
        re.exec->ops->can(re.exec, re.plans[0], PIPC__PROTO_CE, 32 * MB, true))
        bad = 1;
    MUST(StreamBeginCapture, gpu_streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (stuck_call(&re, PIPC__PROTO_CE, x, y, 1, &err) != PIPC_ERR_UNSUPPORTED ||
        !strstr(err.text, "graph"))
        bad = 2;
    MUST(StreamEndCapture, gpu_streams[0], &graph); /* it was left as it was */
    MUST(GraphDestroy, graph);
    if (stuck_call(&re, PIPC__PROTO_CE, x, y, 2, &err)) /* and the communicator lives */
        bad = 3;
    rank_exec_close(&re);
    return bad;
}

void ce_is_not_captured(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(2, capture_body, NULL, 60), 0);
}

#else /* PIPC_PERTURB */

/* --- negative controls ----------------------------------------------------------------------- */

static const size_t long_counts[] = {1048576, 700001, 300001, 1048571};

static void run_without(int wait, rank_plans_t plans,
                        int (*body)(ranks_t *all, int rank, void *arg))
{
    exec_job_t job = make_job(plans, 24);

    job.counts = long_counts;
    job.ncounts = COUNT(long_counts);
    job.max_usec = 1000;
    job.drop_ce = wait;
    int rc = ranks_run(2, body, &job, 120), want = wait ? EXEC_WRONG : 0;
    if (rc != want)
        fail_msg("without wait %d: %d and not %d", wait, rc, want);
}

void ce_needs_each_of_its_waits(void **state)
{
    (void)state;
    run_without(PIPC__CE_NO_WAIT, LIST(by_device), exec_job_body);
    run_without(PIPC__CE_NO_WAIT, LIST(by_host), exec_job_body);
    run_without(PIPC__CE_WAIT_CAME, LIST(by_device), exec_job_body);
    run_without(PIPC__CE_WAIT_CAME, LIST(by_host), exec_job_body);
    run_without(PIPC__CE_WAIT_GONE, LIST(by_device), exec_job_body);
    run_without(PIPC__CE_WAIT_FREE, LIST(by_device), exec_job_body);
    run_without(PIPC__CE_WAIT_FREE, LIST(by_host), exec_job_body);
    run_without(PIPC__CE_WAIT_LANDED, LIST(by_host), exec_job_body);
    run_without(PIPC__CE_WAIT_BEGIN, LIST(by_device), input_body);
    run_without(PIPC__CE_WAIT_END, LIST(by_device), input_body);
}

#endif
