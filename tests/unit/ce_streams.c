/* tests/unit/ce_streams.c - protocol CE without a GPU: exec/cuda_ce.c drives streams that are
 * queues here (ce_queues.h), under random schedules. With every wait results are right in all
 * schedules, and each one taken out goes wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/exec/cuda_exec.h"
#include "runtime/exec/perturb.h"
#include "tests/unit/ce_queues.h"
#include "tests/unit/rank_exec.h"

#define MB ((size_t)1 << 20)
#define RANKS 3

/* --- ranks ----------------------------------------------------------------------------------- */

typedef struct world {
    int n;
    pipc__plan_t *plan;
    pipc__control_t *ctl[RANKS];
    pipc__cuda_exec_t *x[RANKS];
    stream_t *stream[RANKS]; /* the caller's */
    char *device[RANKS], *host[RANKS];
    size_t staging;
} world_t;

static void connect_all(world_t *w)
{
    pipc__segment_handle_t h[RANKS];
    pipc__peer_name_t names[RANKS];
    pipc__error_t err;

    for (int r = 0; r < w->n; r++) {
        assert_int_equal(pipc__control_create(&w->ctl[r], &h[r], &err), PIPC_OK);
        names[r] = (pipc__peer_name_t){r, getpid(), "here"};
    }
    for (int r = 0; r < w->n; r++)
        assert_int_equal(pipc__control_connect(w->ctl[r], r, w->n, h, names, &err), PIPC_OK);
}

static void open_rank(world_t *w, int r)
{
    pipc__cuda_exec_t *x = calloc(1, sizeof(*x));

    w->x[r] = x;
    w->stream[r] = new_stream();
    x->cu = &queues_driver;
    x->base.ctl = w->ctl[r];
    x->rank = r;
    x->size = w->n;
    x->capacity = 16;
    x->order.counts = true;
    x->layout = pipc__layout(w->staging, w->n);
    x->programs[0].plan = w->plan;
    x->nprograms = 1;
    x->args.state = calloc(1, sizeof(pipc__lane_state_t));
    for (int q = 0; q < w->n; q++) {
        pipc__segment_t *seg = q == r ? &x->own_host : &x->peer_host[q];
        seg->base = w->host[q];
        x->args.staging[q] = w->device[q];
    }
    pipc__cuda_ce_prepare(x, 0);
    assert_string_equal(x->ce.missing, "");
    assert_true(pipc__cuda_ce_can(x, 0, 1, false));
}

static void open_world(world_t *w, int n, rank_shape_t shape, size_t staging)
{
    const rank_plan_t wanted = {PIPC__ONE_SHOT, PIPC__ALLREDUCE, shape};
    size_t bytes = pipc__layout(staging, n).bytes;

    memset(w, 0, sizeof(*w));
    nstreams = 0;
    w->staging = staging;
    w->n = n;
    w->plan = rank_plan_make((rank_plans_t){&wanted, 1}, 0, n);
    connect_all(w);
    for (int r = 0; r < n; r++) {
        w->device[r] = calloc(1, bytes);
        w->host[r] = calloc(1, bytes + PIPC__SEGMENT_HEAD);
    }
    for (int r = 0; r < n; r++)
        open_rank(w, r);
}

static void close_world(world_t *w)
{
    int left = 0;

    for (int r = 0; r < w->n; r++) {
        pipc__cuda_ce_end(w->x[r]);
        free(w->x[r]->args.state);
        free(w->x[r]);
    }
    for (int i = 0; i < nstreams; i++)
        left += streams[i].open;
    assert_int_equal(left, w->n); /* the callers' */
    for (int r = 0; r < w->n; r++) {
        pipc__control_destroy(w->ctl[r]);
        free(w->device[r]);
        free(w->host[r]);
    }
    pipc__plan_free(w->plan);
}

/* --- calls ----------------------------------------------------------------------------------- */

static float input(int rank, size_t call, size_t i)
{
    return (float)((i * 7 + call * 131 + (size_t)rank * 1009) % 1021);
}

typedef struct buffers {
    size_t count;
    bool in_place;
    float *fresh, *send, *recv, *junk;
} buffers_t;

static buffers_t make_buffers(int rank, size_t call, size_t count, bool in_place)
{
    buffers_t b = {.count = count, .in_place = in_place};

    b.fresh = malloc(4 * count);
    b.junk = malloc(4 * count);
    b.send = calloc(count, 4);
    b.recv = in_place ? b.send : calloc(count, 4);
    for (size_t i = 0; i < count; i++) {
        b.fresh[i] = input(rank, call, i);
        b.junk[i] = -1e6f;
    }
    return b;
}

static void free_buffers(buffers_t *b)
{
    if (!b->in_place)
        free(b->recv);
    free(b->send);
    free(b->fresh);
    free(b->junk);
}

/* In the caller's stream: the input is put there, the call, the input is spoilt. */
static void enqueue(world_t *w, int r, const buffers_t *b, size_t number)
{
    pipc__exec_call_t k = {.plan = w->plan,
                           .send = b->send,
                           .recv = b->recv,
                           .count = b->count,
                           .dtype = PIPC_F32,
                           .op = PIPC_SUM,
                           .stream = w->stream[r],
                           .number = number,
                           .proto = PIPC__PROTO_CE};
    pipc__error_t err;

    queues_copy(b->send, b->fresh, 4 * b->count, k.stream);
    assert_int_equal(pipc__cuda_ce_check(w->x[r], &k, 0, &err), PIPC_OK);
    assert_int_equal(pipc__cuda_ce_launch(w->x[r], &k, 0), CUDA_SUCCESS);
    if (!b->in_place)
        queues_copy(b->send, b->junk, 4 * b->count, k.stream);
}

static size_t count_wrong(const world_t *w, const buffers_t *b, size_t call)
{
    size_t wrong = 0;

    for (size_t i = 0; i < b->count; i++) {
        float sum = 0;
        for (int r = 0; r < w->n; r++)
            sum += input(r, call, i);
        wrong += b->recv[i] != sum;
    }
    return wrong;
}

#define BATCH 3

/* Calls in batches, the ranks one after the other; returns how many elements were wrong. */
static size_t run_calls(world_t *w, int batches)
{
    static const size_t counts[] = {700001, 1, 120000, 1024, 524288, 262144, 300007};
    size_t wrong = 0, call = 0;

    for (int t = 0; t < batches; t++) {
        buffers_t b[RANKS][BATCH];
        for (int r = 0; r < w->n; r++)
            for (size_t i = 0; i < BATCH; i++) {
                b[r][i] = make_buffers(r, call + i, counts[(call + i) % 7], (call + i) % 2);
                enqueue(w, r, &b[r][i], call + i + 1);
            }
        if (!run_all())
            fail_msg("batch %d: everything waits", t);
        for (int r = 0; r < w->n; r++)
            for (size_t i = 0; i < BATCH; i++) {
                wrong += count_wrong(w, &b[r][i], call + i);
                free_buffers(&b[r][i]);
            }
        call += BATCH;
    }
    return wrong;
}

static size_t run_world(int n, rank_shape_t shape, int drop, uint64_t start)
{
    world_t w;

    seed = start * 0x9e3779b97f4a7c15ull + 1;
    pipc__perturb = (pipc__perturb_t){.drop_step = -1, .drop_ce = drop};
    open_world(&w, n, shape, 2 * MB);
    size_t wrong = run_calls(&w, 4);
    close_world(&w);
    return wrong;
}

static void every_schedule_sums_right(void **state)
{
    static const rank_shape_t shapes[] = {SHAPE_FLAT, SHAPE_HOST, SHAPE_ONE_WAY};

    (void)state;
    for (int n = 2; n <= RANKS; n++)
        for (int s = 0; s < 3; s++)
            for (uint64_t start = 1; start <= 4; start++)
                if (run_world(n, shapes[s], PIPC__CE_NO_WAIT, start))
                    fail_msg("%d ranks, shape %d, seed %d", n, s, (int)start);
}

static void each_wait_is_needed(void **state)
{
    static const struct {
        int wait;
        rank_shape_t shape;
    } table[] = {
        {PIPC__CE_WAIT_CAME, SHAPE_FLAT},  {PIPC__CE_WAIT_CAME, SHAPE_HOST},
        {PIPC__CE_WAIT_GONE, SHAPE_FLAT},  {PIPC__CE_WAIT_END, SHAPE_FLAT},
        {PIPC__CE_WAIT_BEGIN, SHAPE_FLAT}, {PIPC__CE_WAIT_FREE, SHAPE_FLAT},
        {PIPC__CE_WAIT_FREE, SHAPE_HOST},  {PIPC__CE_WAIT_LANDED, SHAPE_HOST},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        size_t wrong = 0;
        for (uint64_t start = 1; !wrong && start <= 8; start++)
            wrong = run_world(2, table[i].shape, table[i].wait, start);
        if (!wrong)
            fail_msg("right without wait %d, shape %d", table[i].wait, (int)table[i].shape);
    }
}

/* Rank 1 never calls. Once the communicator is dead, the streams of rank 0 come to their end. */
static void streams_end_with_the_communicator(void **state)
{
    (void)state;
    for (int host = 0; host < 2; host++) {
        world_t w;
        seed = 5;
        pipc__perturb = (pipc__perturb_t){.drop_step = -1};
        open_world(&w, 2, host ? SHAPE_HOST : SHAPE_FLAT, 2 * MB);
        buffers_t b = make_buffers(0, 1, 2000000, false);
        work_t *kernel = NULL;
        enqueue(&w, 0, &b, 1);
        assert_false(run_all());
        for (int i = 0; i < nstreams; i++) /* the kernel gives up by itself: see kernels/ce.cu */
            if (&streams[i] == w.stream[0])
                kernel = streams[i].first;
        assert_non_null(kernel);
        assert_int_equal(kernel->kind, SUM);
        for (int k = 0; k < BLOCKS; k++)
            kernel->block[k].over = true;
        kernel->kind = RECORD;
        kernel->event = &(event_t){0, 0};
        pipc__control_abort(w.ctl[1], PIPC_ERR_ABORTED, 1);
        assert_int_equal(pipc__cuda_ce_drain(w.x[0]), CUDA_SUCCESS);
        assert_true(run_all());
        close_world(&w);
        free_buffers(&b);
    }
}

/* The driver takes long copies from odd addresses to where kernels are queued, and here they have
 * no turn while one is at work: so the copies must be such as engines do. */
static void copies_from_odd_addresses_are_left_to_engines(void **state)
{
    const size_t count = 2 * MB + 77;
    world_t w;

    (void)state;
    seed = 11;
    pipc__perturb = (pipc__perturb_t){.drop_step = -1};
    open_world(&w, 2, SHAPE_FLAT, 64 * MB);
    for (size_t skew = 1; skew < 4; skew++) {
        buffers_t b[2];
        char *odd[2];
        for (int r = 0; r < 2; r++) {
            b[r] = make_buffers(r, skew, count, false);
            odd[r] = malloc(4 * count + skew);
            float *send = b[r].send;
            b[r].send = (float *)(void *)(odd[r] + skew);
            enqueue(&w, r, &b[r], skew);
            b[r].send = send;
        }
        if (!run_all())
            fail_msg("skew %zu: everything waits", skew);
        for (int r = 0; r < 2; r++) {
            assert_int_equal(count_wrong(&w, &b[r], skew), 0);
            free_buffers(&b[r]);
            free(odd[r]);
        }
    }
    close_world(&w);
}

static void what_can_not_be_is_told(void **state)
{
    pipc__exec_call_t k = {.count = 1, .dtype = PIPC_F32, .proto = PIPC__PROTO_CE};
    pipc__error_t err;
    world_t w;

    (void)state;
    seed = 7;
    open_world(&w, 2, SHAPE_FLAT, 2 * MB);
    pipc__cuda_exec_t *x = w.x[0];
    k.plan = w.plan;
    assert_false(pipc__cuda_ce_can(x, 0, 1, true));
    assert_false(pipc__cuda_ce_can(x, 1, 1, false));
    assert_int_equal(pipc__cuda_ce_check(x, &k, 0, &err), PIPC_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "graph")); /* the null stream is captured here */
    assert_int_equal(pipc__cuda_ce_check(x, &k, 1, &err), PIPC_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "one-shot alone"));
    for (int lacks = 0; lacks < 2; lacks++) {
        pipc__cuda_exec_t y = *x;
        memset(&y.ce, 0, sizeof(y.ce));
        y.order.counts = lacks;
        if (lacks)
            setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
        pipc__cuda_ce_prepare(&y, 0);
        unsetenv("CUDA_LAUNCH_BLOCKING");
        assert_false(pipc__cuda_ce_can(&y, 0, 1, false));
        assert_int_equal(pipc__cuda_ce_check(&y, &k, 0, &err), PIPC_ERR_UNSUPPORTED);
        assert_non_null(strstr(err.text, lacks ? "CUDA_LAUNCH_BLOCKING" : "64 bits"));
    }
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_schedule_sums_right),
        cmocka_unit_test(each_wait_is_needed),
        cmocka_unit_test(streams_end_with_the_communicator),
        cmocka_unit_test(copies_from_odd_addresses_are_left_to_engines),
        cmocka_unit_test(what_can_not_be_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
