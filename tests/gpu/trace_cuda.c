/* tests/gpu/trace_cuda.c - the kernels that no plan describes write down what they do on real GPUs,
 * and the replayer (runtime/plan/replay.h) finds it in order: sizes up to some KB, types, in place
 * or not, over device memory and host memory, several calls one behind the other. A wait that is
 * left out must be missed. Skipped where there are not two GPUs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/ll.h"
#include "kernels/push.h"
#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/ll.h"
#include "runtime/exec/perturb.h"
#include "runtime/plan/replay.h"
#include "tests/gpu/gpu.h"
#include "tests/unit/values.h"

#define STAGING ((size_t)2 << 20) /* the least: rings are short */
#define CALLS 4
#define RANKS 4
#define BLOCKS 2
#define THREADS (BLOCKS * PIPC__PUSH_THREADS) /* of a launch, at most */
#define EACH 320                              /* events of a thread, at most */

/* What all ranks write to: it is there before they are forked. */
static struct common {
    pipc__event_t event[CALLS][RANKS][THREADS][EACH];
    uint32_t count[CALLS][RANKS][THREADS];
    pipc__trace_t trace[CALLS][RANKS];
} * common;

typedef struct sequence {
    int ranks; /* at most */
    rank_shape_t shape;
    pipc__proto_t proto[CALLS];
    size_t bytes[CALLS]; /* rounded down to whole elements; one at least */
    int variant;         /* types, places */
    int drop_sender;     /* the wait for this rank is left out; -1: none */
    int drop_step;       /* or this one, which no plan has */
    bool refused;        /* what the replayer must say */
} sequence_t;

/* One rank's part of one call. */
typedef struct part {
    pipc__exec_call_t call;
    char *memory;
    pipc__trace_sink_t sink; /* on the device */
} part_t;

static const pipc_dtype_t types[] = {PIPC_F32, PIPC_U8, PIPC_BF16, PIPC_F64, PIPC_I32, PIPC_F16};

static part_t make_part(const sequence_t *s, int i, const rank_exec_t *re, int rank)
{
    pipc_dtype_t dtype = types[(unsigned int)(s->variant + i) % 6];
    size_t elem = pipc_dtype_bytes(dtype), count = s->bytes[i] / elem ? s->bytes[i] / elem : 1;
    bool in_place = (s->variant + i) / 2 % 2;
    size_t skew = (s->variant + i) % 5 == 4 ? elem : 0;
    size_t room = (count * elem + skew + 255) / 256 * 256;
    void *host = calloc(1, room);
    part_t p;

    p.memory = exec_memory_gpu.alloc(2 * room);
    p.call = (pipc__exec_call_t){.plan = re->plans[0],
                                 .send = p.memory + skew,
                                 .recv = p.memory + skew + (in_place ? 0 : room),
                                 .count = count,
                                 .dtype = dtype,
                                 .op = PIPC_SUM,
                                 .stream = gpu_streams[0],
                                 .number = (uint64_t)i + 1,
                                 .proto = s->proto[i],
                                 .blocks = BLOCKS};
    test_fill(host, count, dtype, PIPC_SUM, rank, (unsigned int)i);
    exec_memory_gpu.put(p.memory + skew, host, count * elem);
    free(host);
    memset(common->count[i][rank], 0, sizeof(common->count[0][0]));
    p.sink.events = (pipc__event_t *)(void *)exec_memory_gpu.alloc(sizeof(common->event[0][0]));
    p.sink.count = (uint32_t *)(void *)exec_memory_gpu.alloc(sizeof(common->count[0][0]));
    p.sink.each = EACH;
    p.sink.grid = (uint32_t *)(void *)exec_memory_gpu.alloc(2 * sizeof(uint32_t));
    exec_memory_gpu.put((char *)p.sink.grid, common->count[i][rank], 2 * sizeof(uint32_t));
    exec_memory_gpu.put((char *)p.sink.count, common->count[i][rank], sizeof(common->count[0][0]));
    return p;
}

/* --- a rank ---------------------------------------------------------------------------------- */

/* A rank's own user buffers, and all ranks' staging as far as it is mapped here. */
static pipc_status_t locate(const pipc__cuda_exec_t *x, const part_t *p, pipc__trace_t *t,
                            pipc__error_t *err)
{
    pipc__trace_region_t map[2 + 2 * RANKS];
    uint8_t self = (uint8_t)x->rank;
    int n = 0;

    map[n++] = (pipc__trace_region_t){(uintptr_t)p->call.recv, t->bytes, PIPC__OUTPUT, self, 0};
    if (!t->in_place)
        map[n++] = (pipc__trace_region_t){(uintptr_t)p->call.send, t->bytes, PIPC__INPUT, self, 0};
    for (int r = 0; r < x->size; r++) {
        char *const memory[] = {x->args.staging[r], x->args.host[r]};
        for (int i = 0; i < 2; i++)
            if (memory[i])
                map[n++] = (pipc__trace_region_t){(uintptr_t)memory[i], x->layout.bytes,
                                                  i ? PIPC__HOST : PIPC__SLOT, (uint8_t)r, 0};
    }
    return pipc__trace_locate(t, map, n, err);
}

/* Into the memory that all ranks share. Returns whether values are right. */
static bool fetch(const pipc__cuda_exec_t *x, const part_t *p, int i, pipc__error_t *err)
{
    const pipc__exec_call_t *k = &p->call;
    pipc__trace_t *t = &common->trace[i][x->rank];
    uint32_t grid[2];

    exec_memory_gpu.get(common->event[i][x->rank], (char *)p->sink.events,
                        sizeof(common->event[0][0]));
    exec_memory_gpu.get(common->count[i][x->rank], (char *)p->sink.count,
                        sizeof(common->count[0][0]));
    exec_memory_gpu.get(grid, (char *)p->sink.grid, sizeof(grid));
    *t = (pipc__trace_t){
        .sink = {common->event[i][x->rank][0], common->count[i][x->rank], EACH, NULL},
        .blocks = grid[0],
        .block_threads = grid[1],
        .bytes = k->count * pipc_dtype_bytes(k->dtype),
        .in_place = k->send == k->recv,
    };
    if (grid[0] * grid[1] > THREADS || locate(x, p, t, err)) {
        fprintf(stderr, "# rank %d, call %d: %u blocks of %u threads: %s\n", x->rank, i, grid[0],
                grid[1], err->text);
        _exit(100);
    }
    char *host = malloc(t->bytes);
    exec_memory_gpu.get(host, k->recv, t->bytes);
    bool right = test_wrong(host, 0, k->count, k->dtype, k->op, x->size, (unsigned int)i,
                            TEST_DIRECT) == k->count;
    free(host);
    return right;
}

/* What the replayer says, on rank 0, of all ranks. */
static bool is_refused(int nranks)
{
    pipc__trace_t traces[CALLS * RANKS];
    pipc__error_t err;

    for (int i = 0; i < CALLS * nranks; i++)
        traces[i] = common->trace[i / nranks][i % nranks];
    pipc_status_t st = pipc__trace_replay(traces, CALLS, nranks, &err);
    if (st)
        fprintf(stderr, "# %s\n", err.text);
    return st != PIPC_OK;
}

static int drop_step(const sequence_t *s, const pipc__plan_t *plan, int rank)
{
    pipc__ll_wiring_t w;

    if (s->drop_sender < 0)
        return s->drop_step;
    return pipc__ll_wire(&w, plan, rank) && s->drop_sender != rank ? w.wait_step[s->drop_sender]
                                                                   : -1;
}

static void free_part(const part_t *p)
{
    exec_memory_gpu.free(p->memory);
    exec_memory_gpu.free((char *)p->sink.events);
    exec_memory_gpu.free((char *)p->sink.count);
    exec_memory_gpu.free((char *)p->sink.grid);
}

/* With a communicator of its own: the replayer knows of no calls before. */
static int run_sequence(ranks_t *all, int rank, const sequence_t *s)
{
    const rank_plan_t one = {PIPC__ONE_SHOT, PIPC__ALLREDUCE, s->shape};
    pipc__error_t err = {PIPC_OK, ""};
    part_t part[CALLS];
    rank_exec_t re;
    bool right = true;
    int bad = 0;

    rank_exec_open(&re, &pipc__exec_cuda, STAGING, (rank_plans_t){&one, 1}, all, rank);
    const pipc__cuda_exec_t *x = (const pipc__cuda_exec_t *)(const void *)re.exec;
    pipc__perturb.drop_step = drop_step(s, re.plans[0], rank);
    for (int i = 0; i < CALLS; i++)
        part[i] = make_part(s, i, &re, rank);
    for (int i = 0; !bad && i < CALLS; i++) {
        pipc__perturb.trace = part[i].sink;
        bad = re.exec->ops->run(re.exec, &part[i].call, &err) != PIPC_OK;
    }
    if (bad || re.exec->ops->drain(re.exec, &err)) {
        fprintf(stderr, "# rank %d: %s\n", rank, err.text);
        _exit(100);
    }
    for (int i = 0; i < CALLS; i++) {
        right &= fetch(x, &part[i], i, &err);
        free_part(&part[i]);
    }
    ranks_gather(all, rank, NULL, 0, NULL);
    if (rank == 0)
        bad = is_refused(ranks_size(all)) != s->refused;
    rank_exec_close(&re);
    ranks_gather(all, rank, NULL, 0, NULL);
    bad |= (!right && !s->refused) << 1;
    if (bad)
        fprintf(stderr, "# rank %d: shape %d, %zu bytes, variant %d: %s%s\n", rank, (int)s->shape,
                s->bytes[0], s->variant, bad & 1 ? "the replayer is wrong, or the order " : "",
                bad & 2 ? "values" : "");
    return bad;
}

typedef struct sequences {
    const sequence_t *s;
    int n;
} sequences_t;

static int body(ranks_t *all, int rank, void *arg)
{
    const sequences_t *job = arg;
    int bad = 0;

    exec_memory_gpu.begin(rank);
    for (int i = 0; i < job->n; i++)
        bad |= run_sequence(all, rank, &job->s[i]);
    return bad;
}

/* --- tests ----------------------------------------------------------------------------------- */

static void run(const sequence_t *s, int n, const char *what)
{
    sequences_t job = {s, n};
    int bad = ranks_run(gpu_found < s->ranks ? gpu_found : s->ranks, body, &job, 170);

    if (bad)
        fail_msg("%s: %d", what, bad);
}

static const size_t sizes[] = {1, 4, 15, 16, 17, 100, 511, 512, 1000, 4096, 5000, 8192, 20000};
#define SIZES (int)(sizeof(sizes) / sizeof(sizes[0]))

static void run_all(int ranks, const pipc__proto_t proto[2], const char *what)
{
    static const rank_shape_t shapes[] = {SHAPE_FLAT, SHAPE_HOST, SHAPE_ONE_WAY};
    sequence_t all[SIZES];

    for (int i = 0; i < SIZES; i++) { /* 13 sizes, 3 shapes: all pairs would take minutes */
        all[i] = (sequence_t){.ranks = ranks,
                              .shape = shapes[i % 3],
                              .variant = i,
                              .drop_sender = -1,
                              .drop_step = -1};
        for (int k = 0; k < CALLS; k++) {
            all[i].bytes[k] = sizes[(i + 5 * k) % SIZES];
            all[i].proto[k] = proto[k % 2];
        }
    }
    run(all, SIZES, what);
}

static void ll_is_in_order(void **state)
{
    static const pipc__proto_t ll[] = {PIPC__PROTO_LL, PIPC__PROTO_LL};

    (void)state;
    run_all(RANKS, ll, "ll");
}

static void push_is_in_order(void **state)
{
    static const pipc__proto_t push[] = {PIPC__PROTO_PUSH, PIPC__PROTO_PUSH};

    (void)state;
    run_all(2, push, "push");
}

static void both_in_turns_are_in_order(void **state)
{
    static const pipc__proto_t both[] = {PIPC__PROTO_LL, PIPC__PROTO_PUSH};

    (void)state;
    run_all(2, both, "ll and push");
}

/* Of long messages and short ones, in place and not; push has more than one chunk. */
static sequence_t without(pipc__proto_t proto, int sender, int step)
{
    sequence_t s = {.ranks = 2,
                    .bytes = {20000, 100, 20000, 8192},
                    .variant = 2,
                    .drop_sender = sender,
                    .drop_step = step,
                    .refused = true};

    for (int i = 0; i < CALLS; i++)
        s.proto[i] = proto;
    return s;
}

static void a_wait_that_is_left_out_is_missed(void **state)
{
    const sequence_t all[] = {
        without(PIPC__PROTO_LL, 0, 0),
        without(PIPC__PROTO_LL, 1, 0),
        without(PIPC__PROTO_PUSH, 0, 0),
        without(PIPC__PROTO_PUSH, 1, 0),
        without(PIPC__PROTO_PUSH, -1, PIPC__PUSH_PUSHED_STEP),
    };

    (void)state;
    run(all, 5, "without a wait");
}

/* Two calls have more chunks than a ring has slots, 60 of devices, 28 of host memory. */
static void slots_are_reused_in_order(void **state)
{
    static const size_t bytes[] = {600000, 64000};
    sequence_t all[4];

    (void)state;
    for (int i = 0; i < 4; i++) {
        all[i] = without(PIPC__PROTO_PUSH, -1, i % 2 ? PIPC__PUSH_ACK_STEP : -1);
        all[i].shape = i / 2 ? SHAPE_HOST : SHAPE_FLAT;
        all[i].refused = i % 2;
        for (int k = 0; k < CALLS; k++)
            all[i].bytes[k] = bytes[i / 2];
    }
    run(all, 4, "slots that are reused");
}

int main(void)
{
    char why[PIPC__ERROR_MAX];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ll_is_in_order),
        cmocka_unit_test(push_is_in_order),
        cmocka_unit_test(both_in_turns_are_in_order),
        cmocka_unit_test(a_wait_that_is_left_out_is_missed),
        cmocka_unit_test(slots_are_reused_in_order),
    };

    if (gpu_count(why) < 2) {
        printf("1..0 # SKIP %s\n", gpu_found ? "one GPU alone" : why);
        return 0;
    }
    common = mmap(NULL, sizeof(*common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (common == MAP_FAILED)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
