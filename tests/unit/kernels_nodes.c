/* tests/unit/kernels_nodes.c - plans over nodes as GPUs run them, without one: exec/cuda_rail.c
 * enqueues to a driver that writes down, and the kernel's own source runs what was enqueued, on the
 * CPU, under random schedules (tests/emulate), with jobs of rails between its two halves. Taken out
 * or done otherwise once each: the jobs, the cut, what it spreads to, the round that goes on, the
 * look at the abort word behind jobs that were stopped.
 *
 *     kernels_nodes_perturb [--seed S] [--runs N]     other schedules, more of them
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/perturb.h"
#include "runtime/plan/generate.h"
#include "runtime/plan/halves.h"
#include "tests/emulate/kernels.h"
#include "tests/unit/values.h"

#define NODES 3
#define RANKS 8      /* of all nodes */
#define LAUNCHES 128 /* of a rank */
#define MEETINGS 64  /* of a rail */
#define CALLS 2
#define MOST 2048                 /* elements of a call */
#define STAGING ((size_t)8 << 20) /* of it pages that nobody touches cost nothing */
#define SMALL_AREA 8192           /* of a node alone, for many rounds */
#define STEPS 1000000             /* the longest run that is right takes a tenth */
#define FEW 40000                 /* of a run that is not, and hangs */
#define GARBAGE 0x77              /* what a stopped job leaves */

typedef enum fault {
    NOTHING,
    NO_JOBS,      /* the engine does nothing */
    NO_CUT,       /* all is done in the first half */
    NARROW_CUT,   /* what waits for a second half is left in the first */
    ROUND_ENDS,   /* the first half counts as a whole round */
    STOPPED,      /* the communicator is dead, and jobs end with nonsense */
    STOPPED_BLIND /* and the second half does not look */
} fault_t;

typedef struct scene {
    int nodes, size[NODES];
    int group;                 /* ranks that stand together in a node; 0: all alike */
    pipc__plan_kind_t kind[2]; /* of one node: its plans */
} scene_t;

/* What a rail's ends meet in. */
typedef struct meeting {
    int came, n;
    const pipc__rail_job_t *jobs[NODES];
    bool done;
} meeting_t;

/* A launch's arguments: of a kernel, or of a rail's jobs. */
typedef struct launch {
    union {
        pipc__lane_args_t kernel;
        struct {
            meeting_t *meeting;
            int node, nnodes, n;
            bool stop;
            uint64_t *abort;
            pipc__rail_job_t jobs[PIPC__RAIL_JOBS_MAX];
        } jobs;
    } u;
} launch_t;

struct pipc__rail {
    int node, nnodes, rank, met;
    meeting_t *meeting; /* [MEETINGS] */
};

typedef struct rank {
    int node, local;
    pipc__cuda_exec_t x;
    pipc__rail_t rail;
    pipc__lane_state_t state;
    char *send, *recv; /* [CALLS][MOST][8] */
    emulated_launch_t launches[LAUNCHES];
    launch_t *args; /* [LAUNCHES] */
    int nlaunches;
} rank_t;

static struct {
    const scene_t *scene;
    fault_t fault;
    int total, least, most;
    rank_t rank[RANKS];
    meeting_t meeting[NODES * 4][MEETINGS];
    pipc__plan_t *plan[NODES][2];
    uint64_t abort, stalled_round, stalled_step;
    bool differs; /* jobs that should fit each other do not */
    rank_t *now;  /* who is enqueueing */
} all;

static uint64_t first_seed = 1;
#ifdef __SANITIZE_ADDRESS__
static unsigned int runs = 1;
#else
static unsigned int runs = 1;
#endif

static void *must(void *p)
{
    assert_non_null(p);
    return p;
}

/* --- the driver and the engine ---------------------------------------------------------------- */

static launch_t *add(emulated_kernel_t *kernel, unsigned int blocks, unsigned int threads)
{
    rank_t *r = all.now;

    assert_true(r->nlaunches < LAUNCHES);
    launch_t *l = &r->args[r->nlaunches];
    r->launches[r->nlaunches++] = (emulated_launch_t){kernel, l, blocks, threads};
    return l;
}

static CUresult launch_kernel(CUfunction f, unsigned int blocks, unsigned int y, unsigned int z,
                              unsigned int threads, unsigned int ty, unsigned int tz,
                              unsigned int shared, CUstream stream, void **params, void **extra)
{
    launch_t *l = add((emulated_kernel_t *)(uintptr_t)f, blocks, threads);

    (void)y, (void)z, (void)ty, (void)tz, (void)shared, (void)stream, (void)extra;
    l->u.kernel = *(const pipc__lane_args_t *)params[0];
    if (all.fault == ROUND_ENDS)
        l->u.kernel.half = PIPC__WHOLE;
    if (all.fault == STOPPED_BLIND && l->u.kernel.half == PIPC__BEHIND)
        l->u.kernel.half = PIPC__WHOLE;
    return CUDA_SUCCESS;
}

static CUresult alloc(CUdeviceptr *p, size_t bytes)
{
    *p = (CUdeviceptr)(uintptr_t)must(malloc(bytes));
    return CUDA_SUCCESS;
}

static CUresult copy_in(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
    (void)stream;
    memcpy((void *)(uintptr_t)to, from, bytes);
    return CUDA_SUCCESS;
}

static CUresult settle(CUstream stream)
{
    (void)stream;
    return CUDA_SUCCESS;
}

static const pipc__cuda_t driver = {
    .LaunchKernel = launch_kernel,
    .MemAlloc = alloc,
    .MemcpyHtoDAsync = copy_in,
    .StreamSynchronize = settle,
};

pipc_status_t pipc__cuda_fail(const pipc__cuda_t *cu, CUresult rc, pipc__error_t *err,
                              const char *fmt, ...)
{
    (void)cu, (void)rc;
    return pipc__fail(err, PIPC_ERR_CUDA, "%s", fmt);
}

int pipc__cuda_blocks(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call)
{
    (void)call;
    return x->most_blocks;
}

/* The last one to come does the work of all, as a fibre that plays NCCL's kernel. */
static void do_jobs(const meeting_t *m, int nnodes)
{
    for (int i = 0; i < m->n; i++) {
        const pipc__rail_job_t *first = &m->jobs[0][i];
        size_t bytes = first->count * pipc_dtype_bytes(first->dtype);
        char sum[MOST * 8];
        memcpy(sum, first->data, bytes);
        for (int n = 1; n < nnodes; n++) {
            const pipc__rail_job_t *j = &m->jobs[n][i];
            all.differs |= j->count != first->count || j->dtype != first->dtype;
            if (!all.differs)
                pipc__exec_rail_sum(sum, j->data, j->count, j->dtype, j->op);
        }
        for (int n = 0; n < nnodes && !all.differs; n++)
            memcpy(m->jobs[n][i].data, sum, bytes);
    }
}

static void run_jobs(const void *args)
{
    const launch_t *l = args;
    meeting_t *m = l->u.jobs.meeting;

    if (l->u.jobs.stop) {
        *l->u.jobs.abort = 1;
        for (int i = 0; i < l->u.jobs.n; i++)
            memset(l->u.jobs.jobs[i].data, GARBAGE,
                   l->u.jobs.jobs[i].count * pipc_dtype_bytes(l->u.jobs.jobs[i].dtype));
        return;
    }
    all.differs |= m->came && m->n != l->u.jobs.n;
    m->n = l->u.jobs.n;
    m->jobs[l->u.jobs.node] = l->u.jobs.jobs;
    if (++m->came == l->u.jobs.nnodes) {
        if (!all.differs)
            do_jobs(m, l->u.jobs.nnodes);
        m->done = true;
    }
    while (!m->done && !*l->u.jobs.abort)
        emulated_yield();
}

static pipc_status_t enqueue(pipc__rail_t *r, const pipc__rail_job_t *jobs, int n, void *stream,
                             pipc__error_t *err)
{
    (void)stream, (void)err;
    if (all.fault == NO_JOBS)
        return PIPC_OK;
    launch_t *l = add(run_jobs, 1, 1);
    assert_true(r->met < MEETINGS);
    l->u.jobs.meeting = &r->meeting[r->met++];
    l->u.jobs.node = r->node;
    l->u.jobs.nnodes = r->nnodes;
    l->u.jobs.n = n;
    l->u.jobs.stop = all.fault == STOPPED || all.fault == STOPPED_BLIND;
    l->u.jobs.abort = &all.abort;
    memcpy(l->u.jobs.jobs, jobs, (size_t)n * sizeof(*jobs));
    return PIPC_OK;
}

static const pipc__rail_ops_t engine = {.name = "fibres", .enqueue = enqueue};

/* --- nodes ------------------------------------------------------------------------------------ */

static pipc_dtype_t type_named(const char *name)
{
    static const char *const names[PIPC_DTYPE_COUNT] = {
        [PIPC_F32] = "f32", [PIPC_F64] = "f64", [PIPC_F16] = "f16", [PIPC_BF16] = "bf16",
        [PIPC_I8] = "i8",   [PIPC_U8] = "u8",   [PIPC_I32] = "i32", [PIPC_U32] = "u32",
        [PIPC_I64] = "i64", [PIPC_U64] = "u64",
    };
    pipc_dtype_t t = 0;

    while (strcmp(names[t], name) != 0)
        t++;
    return t;
}

static void take_kernels(pipc__cuda_exec_t *x)
{
    for (const emulated_function_t *f = emulated_allreduce; f->kernel; f++)
        for (pipc_redop_t op = 0; op < PIPC_REDOP_COUNT; op++)
            if (!strcmp(pipc_redop_string(op), f->op))
                x->kernel[op][type_named(f->type)] = (CUfunction)(uintptr_t)f->kernel;
}

static void make_plans(int node)
{
    const scene_t *s = all.scene;
    pipc__shape_t shape;
    pipc__error_t err;

    pipc__shape_flat(&shape, s->size[node]);
    shape.nrails = s->nodes > 1 ? all.least : 0;
    shape.most = s->nodes > 1 ? all.most : 0;
    shape.nlevels = s->group && s->group < s->size[node];
    for (int r = 0; shape.nlevels && r < s->size[node]; r++)
        shape.group[0][r] = (uint8_t)(r / s->group);
    for (int k = 0; k < 2; k++)
        if (pipc__plan_make_for(&all.plan[node][k],
                                s->nodes == 1 ? s->kind[k]
                                : k           ? PIPC__NODES_ONE
                                              : PIPC__NODES,
                                PIPC__ALLREDUCE, &shape, &err))
            fail_msg("%s", err.text);
}

static void prepare(rank_t *r, pipc__plan_t *plan)
{
    pipc__cuda_exec_t *x = &r->x;
    int index = x->nprograms;
    pipc__error_t err = {PIPC_OK, ""};

    if (pipc__cuda_rail_judge(x, plan, &err) || pipc__cuda_load_program(x, plan, &err) ||
        (plan->nrails && pipc__cuda_rail_prepare(x, index, &err)))
        fail_msg("%s", err.text);
    for (int s = 0; s < plan->nstages; s++) {
        const pipc__program_t *p = &plan->program[r->local][s];
        if (all.fault == NO_CUT)
            x->programs[index].first[s] = p->nops;
        if (all.fault == NARROW_CUT) {
            int i = 0;
            while (i < p->nops && !pipc__plan_rail_of(plan, r->local, &p->ops[i]))
                i++;
            x->programs[index].first[s] = i;
        }
    }
}

static void make_rank(rank_t *r, int rank, int node, int local)
{
    int n = all.scene->size[node];
    pipc__exec_rail_t set = {&engine, NULL, all.total, STAGING};

    r->node = node;
    r->local = local;
    r->x.cu = &driver;
    r->x.rank = local;
    r->x.size = n;
    r->x.most_blocks = 4 + 5 * (node % 2); /* nodes may differ in lanes */
    r->x.layout = pipc__layout(STAGING, n);
    r->x.args.rank = local;
    r->x.args.state = &r->state;
    r->x.args.abort = &all.abort;
    r->x.args.stalled_round = &all.stalled_round;
    r->x.args.stalled_step = &all.stalled_step;
    take_kernels(&r->x);
    for (int l = 0; l < all.least; l++)
        if (pipc__rail_owner(all.least, n, l) == local) {
            r->rail = (pipc__rail_t){node, all.scene->nodes, rank, 0, all.meeting[l]};
            set.rail = &r->rail;
        }
    r->x.args.nranks = (uint32_t)n;
    r->x.args.nth = 1.0 / n;
    r->x.args.reciprocal = UINT64_MAX / (uint64_t)n;
    r->x.args.area_bytes = r->x.layout.area_bytes = SMALL_AREA;
    if (all.scene->nodes > 1)
        pipc__cuda_set_rail(&r->x.base, &set);
    r->x.rail.joined = true;
    r->args = must(calloc(LAUNCHES, sizeof(*r->args)));
    r->send = must(calloc(CALLS * MOST, 8));
    r->recv = must(calloc(CALLS * MOST, 8));
    for (int k = 0; k < 2; k++)
        prepare(r, all.plan[node][k]);
}

/* Each rank's staging is the same for all of its node. */
static void make_staging(rank_t *first, int n)
{
    for (int i = 0; i < n; i++) {
        char *staging = must(calloc(1, STAGING));
        for (int r = 0; r < n; r++)
            first[r].x.args.staging[i] = staging;
    }
}

static void open_scene(const scene_t *s, fault_t fault)
{
    int rank = 0;

    memset(&all, 0, sizeof(all));
    all.scene = s;
    all.fault = fault;
    all.least = RANKS;
    for (int n = 0; n < s->nodes; n++) {
        all.total += s->size[n];
        all.least = s->size[n] < all.least ? s->size[n] : all.least;
        all.most = s->size[n] > all.most ? s->size[n] : all.most;
    }
    for (int n = 0; n < s->nodes; rank += s->size[n++]) {
        make_plans(n);
        for (int i = 0; i < s->size[n]; i++)
            make_rank(&all.rank[rank + i], rank + i, n, i);
        make_staging(&all.rank[rank], s->size[n]);
    }
}

static void close_scene(void)
{
    for (int i = 0; i < all.total; i++) {
        rank_t *r = &all.rank[i];
        free(r->x.args.staging[r->local]);
        for (int k = 0; k < r->x.nprograms; k++)
            free((void *)(uintptr_t)r->x.programs[k].ops);
        free(r->args);
        free(r->send);
        free(r->recv);
    }
    for (int n = 0; n < all.scene->nodes; n++)
        for (int k = 0; k < 2; k++)
            pipc__plan_free(all.plan[n][k]);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Call @i of a run: the same for all ranks but for the pointers. */
static pipc__exec_call_t make_call(uint64_t seed, unsigned int i, const rank_t *r, int rank)
{
    uint64_t x = (seed * CALLS + i) * 0x9e3779b97f4a7c15ull >> 20;
    const emulated_function_t *f = &emulated_allreduce[x % 8];
    pipc__exec_call_t call = {.dtype = type_named(f->type), .number = i + 1};

    while (strcmp(pipc_redop_string(call.op), f->op) != 0)
        call.op++;
    call.count = 1 + (size_t)(x >> 8) % MOST;
    if (!(x >> 6 & 3)) /* few: some chunks are empty */
        call.count = 1 + call.count % 40;
    call.plan = all.plan[r->node][x >> 5 & 1];
    char *in = r->send + (size_t)i * MOST * 8;
    call.send = in;
    call.recv = x >> 4 & 1 ? in : r->recv + (size_t)i * MOST * 8;
    test_fill(in, call.count, call.dtype, call.op, rank, i);
    return call;
}

static void enqueue_calls(uint64_t seed, pipc__exec_call_t (*calls)[CALLS])
{
    pipc__error_t err = {PIPC_OK, ""};
    CUresult rc;

    for (int q = 0; q < all.total; q++)
        for (unsigned int i = 0; i < CALLS; i++) {
            rank_t *r = all.now = &all.rank[q];
            const pipc__exec_call_t *call = &calls[q][i];
            calls[q][i] = make_call(seed, i, r, q);
            int index = call->plan == all.plan[r->node][1];
            if (!call->plan->nrails)
                assert_int_equal(pipc__cuda_simple_launch(&r->x, call, index), CUDA_SUCCESS);
            else if (pipc__cuda_rail_launch(&r->x, call, index, false, &rc, &err) || rc)
                fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        }
}

enum { WRONG = 1, HANGS = 2, UNCOUNTED = 4 };

static int judge(pipc__exec_call_t (*calls)[CALLS])
{
    int bad = all.differs ? WRONG : 0;

    for (int q = 0; q < all.total; q++) {
        const rank_t *r = &all.rank[q];
        for (unsigned int i = 0; i < CALLS; i++) {
            const pipc__exec_call_t *k = &calls[q][i], *first = &calls[0][i];
            if (test_wrong(k->recv, 0, k->count, k->dtype, k->op, all.total, i, TEST_ANY) <
                    k->count ||
                memcmp(k->recv, first->recv, k->count * pipc_dtype_bytes(k->dtype)) != 0)
                bad |= WRONG;
        }
        /* cuda_order.c adds one for each call, and waits for so many. */
        if (r->state.calls != r->x.order.launched + CALLS)
            bad |= UNCOUNTED;
    }
    return bad;
}

/* A rank that owns nothing must not have got what a stopped job left. */
static bool has_garbage(pipc__exec_call_t (*calls)[CALLS])
{
    for (int q = 0; q < all.total; q++) {
        const pipc__exec_call_t *k = &calls[q][0];
        const char *got = k->recv;
        for (size_t i = 0; !all.rank[q].x.rail.set.rail && k->send != k->recv &&
                           i + 8 <= k->count * pipc_dtype_bytes(k->dtype);
             i += 8)
            if (!memcmp(got + i, "wwwwwwww", 8))
                return true;
    }
    return false;
}

static int run(const scene_t *s, fault_t fault, uint64_t seed)
{
    pipc__exec_call_t calls[RANKS][CALLS];
    bool stops = fault == STOPPED || fault == STOPPED_BLIND;

    open_scene(s, fault);
    enqueue_calls(seed, calls);
    emulation_t e = {.nstreams = all.total,
                     .shared = true,
                     .seed = seed,
                     .steps = fault && !stops ? FEW : STEPS,
                     .abort = &all.abort};
    for (int q = 0; q < all.total; q++)
        e.stream[q] = (emulated_stream_t){all.rank[q].launches, all.rank[q].nlaunches};
    int bad = emulate(&e) ? 0 : HANGS;
    if (stops)
        bad |= has_garbage(calls) ? WRONG : 0;
    else if (!bad)
        bad = judge(calls);
    close_scene();
    return bad;
}

/* --- tests ------------------------------------------------------------------------------------ */

static const scene_t scenes[] = {
    {2, {1, 1}, 0, {0}}, {2, {2, 2}, 0, {0}},    {2, {3, 2}, 0, {0}},
    {2, {4, 1}, 2, {0}}, {3, {1, 2, 1}, 0, {0}}, {2, {4, 4}, 2, {0}},
};

static void are_right(const scene_t *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (uint64_t seed = first_seed; seed < first_seed + runs; seed++) {
            int bad = run(&s[i], NOTHING, seed);
            if (bad)
                fail_msg("scene %zu, seed %llu:%s%s%s", i, (unsigned long long)seed,
                         bad & WRONG ? " wrong values" : "", bad & HANGS ? " a hang" : "",
                         bad & UNCOUNTED ? " launches that are not counted" : "");
        }
}

static void every_node_gets_the_sum(void **state)
{
    (void)state;
    are_right(scenes, sizeof(scenes) / sizeof(scenes[0]));
}

/* The same kernel in one launch a call. */
static void one_node_gets_the_sum(void **state)
{
    static const scene_t alone[] = {{1, {3}, 0, {PIPC__ONE_SHOT, PIPC__TWO_SHOT}},
                                    {1, {4}, 2, {PIPC__RING, PIPC__ISLAND}},
                                    {1, {2}, 0, {PIPC__STREAM, PIPC__PERMUTED}}};

    (void)state;
    are_right(alone, sizeof(alone) / sizeof(alone[0]));
}

static void each_part_is_needed(void **state)
{
    static const fault_t faults[] = {NO_JOBS, NO_CUT, NARROW_CUT, ROUND_ENDS};

    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        if (!run(&scenes[1], faults[i], first_seed))
            fail_msg("fault %d was not seen", (int)faults[i]);
}

/* Of three ranks of a node two own a rail, and the third hears of results from these. */
static void what_a_stopped_job_leaves_goes_nowhere(void **state)
{
    const scene_t s = {2, {3, 2}, 0, {0}};
    int seen = 0;

    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + runs; seed++) {
        assert_int_equal(run(&s, STOPPED, seed) & WRONG, 0);
        seen += (run(&s, STOPPED_BLIND, seed) & WRONG) != 0;
    }
    assert_true(seen > 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_gets_the_sum),
        cmocka_unit_test(one_node_gets_the_sum),
        cmocka_unit_test(each_part_is_needed),
        cmocka_unit_test(what_a_stopped_job_leaves_goes_nowhere),
    };

    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seed"))
            first_seed = strtoull(argv[i + 1], NULL, 0);
        if (!strcmp(argv[i], "--runs"))
            runs = (unsigned int)strtoul(argv[i + 1], NULL, 0);
    }
    pipc__perturb.rail_chunk = 1024; /* calls take several rounds */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
