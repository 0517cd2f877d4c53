/* tests/gpu/push.c - see push.h
 *
 * In the smallest staging two ranks have rings of 1 MB, less flags, and in the default one of some
 * 15 or 30: messages go round the first ones several times, the longest round the others, too.
 */
#include "tests/gpu/push.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/ll.h"
#include "runtime/exec/perturb.h"
#include "tests/gpu/gpu.h"
#include "tests/gpu/stuck.h"

#define KB ((size_t)1 << 10)
#define MB ((size_t)1 << 20)
#define SMALL (2 * MB)
#define DEFAULT (64 * MB)
#define COUNT(list) (int)(sizeof(list) / sizeof((list)[0]))

static const size_t counts[] = {1,     33,      257, 4097,    262143, 1000,  300001,
                                65537, 1048571, 7,   1048576, 2047,   130000};

static const rank_plan_t by_device[] = {{PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT}};
static const rank_plan_t by_host[] = {{PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_HOST}};
static const rank_plan_t one_way[] = {{PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_ONE_WAY}};
/* One one-shot: CE, which takes turns with them, has rings for one alone. */
static const rank_plan_t others[] = {{PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT},
                                     {PIPC__RING, PIPC__ALLREDUCE, SHAPE_ONE_WAY},
                                     {PIPC__TWO_SHOT, PIPC__ALLREDUCE, SHAPE_HOST}};
#define LIST(plans) ((rank_plans_t){plans, COUNT(plans)})

static exec_job_t make_job(rank_plans_t plans, size_t staging_bytes, int calls)
{
    return (exec_job_t){.ops = &pipc__exec_cuda,
                        .memory = &exec_memory_gpu,
                        .staging_bytes = staging_bytes,
                        .counts = counts,
                        .ncounts = COUNT(counts),
                        .plans = plans,
                        .calls = calls,
                        .batch = 6,
                        .drop_step = -1,
                        .max_usec = 100,
                        .push = 1,
                        .blocks = true};
}

static exec_job_t long_job(void)
{
    static const size_t longest[] = {8388608, 8000003};
    exec_job_t job = make_job(LIST(by_device), DEFAULT, 4);

    job.counts = longest;
    job.ncounts = COUNT(longest);
    return job;
}

static exec_job_t mixed_job(size_t staging_bytes) /* in turns with LL, CE and simple */
{
    exec_job_t job = make_job(LIST(others), staging_bytes, 8 * COUNT(counts));

    job.plan = -1;
    job.ll = job.push = job.ce = 2;
    return job;
}

/* One communicator behind the other, in the same processes, which take longer to start than to make
 * the calls. */
static int right_body(ranks_t *all, int rank, void *arg)
{
    const int calls = 4 * COUNT(counts);
    exec_job_t jobs[] = {
        make_job(LIST(by_device), SMALL, calls),
        make_job(LIST(by_device), DEFAULT, calls),
        make_job(LIST(by_host), SMALL, calls),
        make_job(LIST(by_host), DEFAULT, calls),
        make_job(LIST(one_way), SMALL, calls),
        make_job(LIST(one_way), DEFAULT, calls),
        mixed_job(SMALL),
        mixed_job(DEFAULT),
        long_job(),
    };
    int bad = 0;

    (void)arg;
    for (int i = 0; !bad && i < COUNT(jobs); i++) {
        int found[PIPC__RANKS_MAX];
        bad = exec_job_body(all, rank, &jobs[i]);
        ranks_gather(all, rank, &bad, sizeof(bad), found);
        for (int r = 0; r < ranks_size(all); r++)
            bad |= found[r];
        if (bad)
            fprintf(stderr, "# rank %d: job %d\n", rank, i);
    }
    return bad;
}

void push_is_right_alone_and_among_other_calls(void **state)
{
    int most = gpu_ranks();

    (void)state;
    for (int n = 2; n <= most; n += n < 4 ? 1 : 4)
        assert_int_equal(ranks_run(n, right_body, NULL, 240), 0);
}

#ifndef PIPC_PERTURB

/* --- peers that die, abort, come late -------------------------------------------------------- */

static void run_stuck(fate_t fate)
{
    stuck_run(PIPC__PROTO_PUSH, LIST(by_device), fate, fate == DIES_AT_WORK ? 2 : 1);
    stuck_run(PIPC__PROTO_PUSH, LIST(by_host), fate, 1);
}

void push_ends_when_a_peer_dies_or_aborts(void **state)
{
    (void)state;
    run_stuck(DIES_IDLE);
    run_stuck(DIES_AT_WORK);
    run_stuck(ABORTS);
    for (int host = 0; host < 2; host++) { /* what the error says */
        exec_loss_t loss = {.victim = 1};
        int exits[PIPC__RANKS_MAX];
        loss.job = make_job(host ? LIST(by_host) : LIST(by_device), SMALL, 0);
        assert_int_equal(ranks_run_each(2, exec_loss_body, &loss, 60, exits), 0);
        assert_int_equal(exits[0], 0);
        assert_int_equal(exits[1], 9);
    }
}

void push_waits_for_a_late_peer(void **state)
{
    (void)state;
    run_stuck(COMES_LATE);
}

/* --- other plans ----------------------------------------------------------------------------- */

static int refused_body(ranks_t *all, int rank, void *arg)
{
    static const rank_plan_t plans[] = {{PIPC__TWO_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT},
                                        {PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT}};
    pipc__error_t err = {PIPC_OK, ""};
    rank_exec_t re;
    int bad = 0;

    (void)arg;
    exec_memory_gpu.begin(rank);
    rank_exec_open(&re, &pipc__exec_cuda, SMALL, LIST(plans), all, rank);
    char *x = exec_memory_gpu.alloc(32 * MB), *y = exec_memory_gpu.alloc(32 * MB);
    const pipc__exec_ops_t *ops = re.exec->ops;
    if (ops->can(re.exec, re.plans[0], PIPC__PROTO_PUSH, 32 * MB, false) ||
        !ops->can(re.exec, re.plans[1], PIPC__PROTO_PUSH, 32 * MB, true))
        bad = 1;
    if (stuck_call(&re, PIPC__PROTO_PUSH, x, y, 1, &err) != PIPC_ERR_UNSUPPORTED ||
        !strstr(err.text, "two-shot"))
        bad = 2;
    if (stuck_call(&re, PIPC__PROTO_SIMPLE, x, y, 2, &err)) /* the communicator lives */
        bad = 3;
    rank_exec_close(&re);
    return bad;
}

void push_takes_one_shots_alone(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(2, refused_body, NULL, 60), 0);
}

#else /* PIPC_PERTURB */

/* --- negative controls -------------------------------------------------------------------------
 *
 * Each wait is taken out of each way that data goes. No call may hang without it, since that would
 * tell nothing of the sums: a number in a flag must never be followed by an older one. The flags of
 * a slot are the same for two chunks that are a ring apart, and these come in order when they are
 * not of the same call: so without an arrival or an acknowledgement calls are shorter than a ring.
 */
#define BATCH 12
#define BATCHES 3

typedef enum lost_wait { NONE, ARRIVAL, ACK, PUSHED } lost_wait_t;

typedef struct control {
    const char *name; /* of the way */
    rank_plans_t plans;
    bool host;
    size_t skew; /* of the input, in bytes; what is not aligned does not go by bulk copies */
    lost_wait_t wait;
    size_t staging_bytes, count; /* floats; 0: a slot less than a ring */
    int blocks;
    bool in_place;
} control_t;

static const control_t controls[] = {
    {"bulk copies", {by_device, 1}, false, 0, ARRIVAL, DEFAULT, 120 * KB, 8, false},
    {"threads", {by_device, 1}, false, 4, ARRIVAL, DEFAULT, 120 * KB, 8, false},
    {"host memory", {by_host, 1}, true, 0, ARRIVAL, DEFAULT, 120 * KB, 8, false},
    {"bulk copies", {by_device, 1}, false, 0, ACK, SMALL, 0, 8, false},
    {"threads", {by_device, 1}, false, 4, ACK, SMALL, 0, 8, false},
    {"host memory", {by_host, 1}, true, 0, ACK, SMALL, 0, 8, false},
    /* A stream has its first chunk on the way before there are sums: several chunks each. */
    {"bulk copies", {by_device, 1}, false, 0, PUSHED, SMALL, 128 * KB, 1, true},
    {"threads", {by_device, 1}, false, 4, PUSHED, SMALL, 128 * KB, 1, true},
    {"host memory", {by_host, 1}, true, 0, PUSHED, SMALL, 128 * KB, 1, true},
};

/* What a communicator needs. */
typedef struct kit {
    rank_exec_t re;
    size_t count;
    char *memory[2 * BATCH], *host;
} kit_t;

static size_t chunks_of(const control_t *c, size_t bytes)
{
    size_t chunk = pipc__push_chunk(bytes, c->host, c->blocks);

    return (bytes + chunk - 1) / chunk;
}

/* Ends the process when what the calls are for can't be. */
static size_t count_of(const control_t *c, const rank_exec_t *re)
{
    const pipc__cuda_exec_t *x = (const pipc__cuda_exec_t *)(const void *)re->exec;
    uint32_t nslots = x->programs[0].push.nslots;
    size_t bytes = 4 * c->count;

    if (!bytes)
        while (chunks_of(c, bytes) + 1 < nslots)
            bytes += PIPC__PUSH_CHUNK_LEAST;
    if (c->wait == PUSHED || (nslots > 8 && chunks_of(c, bytes) < nslots))
        return bytes / 4;
    fprintf(stderr, "# %zu chunks, %u slots\n", chunks_of(c, bytes), nslots);
    _exit(100);
}

static void open_kit(kit_t *kit, const control_t *c, ranks_t *all, int rank)
{
    rank_exec_open(&kit->re, &pipc__exec_cuda, c->staging_bytes, c->plans, all, rank);
    kit->count = count_of(c, &kit->re);
    kit->host = malloc(4 * kit->count);
    for (int i = 0; i < 2 * BATCH; i++)
        kit->memory[i] = exec_memory_gpu.alloc(4 * kit->count + c->skew);
}

static void close_kit(kit_t *kit)
{
    for (int i = 0; i < 2 * BATCH; i++)
        exec_memory_gpu.free(kit->memory[i]);
    free(kit->host);
    rank_exec_close(&kit->re);
}

static pipc__exec_call_t call_of(const kit_t *kit, const control_t *c, unsigned int i)
{
    return (pipc__exec_call_t){.plan = kit->re.plans[0],
                               .send = kit->memory[2 * i] + c->skew,
                               .recv = kit->memory[2 * i + !c->in_place] + c->skew,
                               .count = kit->count,
                               .dtype = PIPC_F32,
                               .op = PIPC_SUM,
                               .stream = gpu_streams[0],
                               .proto = PIPC__PROTO_PUSH,
                               .blocks = c->blocks};
}

static int run_batch(kit_t *kit, const control_t *c, int rank, int n, unsigned int first)
{
    pipc__exec_t *x = kit->re.exec;
    size_t bytes = 4 * kit->count;
    pipc__error_t err;
    int bad = 0;

    for (unsigned int i = 0; i < BATCH; i++) {
        test_fill(kit->host, kit->count, PIPC_F32, PIPC_SUM, rank, first + i);
        exec_memory_gpu.put(kit->memory[2 * i] + c->skew, kit->host, bytes);
    }
    for (unsigned int i = 0; !bad && i < BATCH; i++) {
        pipc__exec_call_t k = call_of(kit, c, i);
        k.number = first + i + 1;
        bad = x->ops->run(x, &k, &err) ? EXEC_FAILED : 0;
    }
    if (bad || x->ops->drain(x, &err)) {
        fprintf(stderr, "# rank %d: %s\n", rank, err.text);
        return EXEC_FAILED;
    }
    for (unsigned int i = 0; i < BATCH; i++) {
        exec_memory_gpu.get(kit->host, call_of(kit, c, i).recv, bytes);
        if (test_wrong(kit->host, 0, kit->count, PIPC_F32, PIPC_SUM, n, first + i, TEST_DIRECT) <
            kit->count)
            bad = EXEC_WRONG;
    }
    return bad;
}

/* An acknowledgement matters when one rank is late and the other one is not. */
static void perturb(const control_t *c, const pipc__plan_t *plan, int rank, bool whole)
{
    pipc__ll_wiring_t w;
    int step[] = {[NONE] = -1, [ACK] = PIPC__PUSH_ACK_STEP, [PUSHED] = PIPC__PUSH_PUSHED_STEP};

    if (!pipc__ll_wire(&w, plan, rank))
        _exit(100);
    step[ARRIVAL] = w.wait_step[1 - rank];
    pipc__perturb = (pipc__perturb_t){.max_usec = c->wait == ACK && rank == 0 ? 0 : 1000,
                                      .drop_step = step[whole ? NONE : c->wait],
                                      .seed = 42};
}

/* What all ranks found together, up to the first batch that is not right. */
static int run_control(ranks_t *all, int rank, const control_t *c, bool whole)
{
    int bad = 0, n = ranks_size(all), found[PIPC__RANKS_MAX];
    kit_t kit;

    open_kit(&kit, c, all, rank);
    perturb(c, kit.re.plans[0], rank, whole);
    for (unsigned int i = 0; !bad && i < BATCHES; i++) {
        bad = run_batch(&kit, c, rank, n, i * BATCH);
        ranks_gather(all, rank, &bad, sizeof(bad), found);
        for (int r = 0; r < n; r++)
            bad |= found[r];
    }
    if (!(bad & EXEC_FAILED))
        close_kit(&kit);
    return bad;
}

static int controls_body(ranks_t *all, int rank, void *arg)
{
    static const char *const waits[] = {"", "arrivals", "acknowledgements", "the order in place"};
    int failures = 0;

    (void)arg;
    exec_memory_gpu.begin(rank);
    for (int i = 0; i < 2 * COUNT(controls); i++) {
        const control_t *c = &controls[i / 2];
        bool whole = i % 2;
        int bad = run_control(all, rank, c, whole);
        if (bad == (whole ? 0 : EXEC_WRONG))
            continue;
        failures++;
        if (rank == 0)
            fprintf(stderr, "# by %s, %s %s: %d\n", c->name, whole ? "with" : "without",
                    waits[c->wait], bad);
        if (bad & EXEC_FAILED)
            break;
    }
    return failures;
}

void push_needs_each_of_its_waits(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(2, controls_body, NULL, 120), 0);
}

#endif
