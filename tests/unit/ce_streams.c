/* tests/unit/ce_streams.c - protocol CE without a GPU: exec/cuda_ce.c drives streams that are
 * queues here, and a scheduler takes one step at a time of any of them, at random: a part of a
 * copy, a flag, a part of a block's sum. All ranks are in one process and one thread.
 *
 * The kernel is not kernels/ce.cu but what it says, in plain steps. With every wait results are
 * right in all schedules, and each one taken out goes wrong.
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
#include "tests/unit/rank_exec.h"

#define MB ((size_t)1 << 20)
#define RANKS 3
#define PIECES 4 /* steps of a copy and of a block's part of a chunk */
#define BLOCKS 3

/* --- streams and events ---------------------------------------------------------------------- */

typedef enum kind { COPY, WRITE, WAIT, RECORD, AWAIT, SUM } kind_t;

typedef struct event {
    uint64_t asked, done; /* records enqueued, records come to */
} event_t;

typedef struct block {
    size_t done;
    uint64_t at;
    uint32_t number, piece;
    bool over;
} block_t;

typedef struct work {
    struct work *next;
    kind_t kind;
    char *to;
    const char *from;
    size_t bytes;
    uint64_t *flag, value;
    event_t *event;
    int step;
    pipc__ce_args_t a; /* SUM */
    block_t block[BLOCKS];
} work_t;

typedef struct stream {
    work_t *first, **last;
    bool open;
} stream_t;

#define STREAMS 64
static stream_t streams[STREAMS];
static int nstreams;
static uint64_t seed;

static uint64_t any(uint64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (seed >> 11) % below;
}

static uint64_t load(const uint64_t *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static stream_t *new_stream(void)
{
    assert_true(nstreams < STREAMS);
    stream_t *s = &streams[nstreams++];
    *s = (stream_t){.open = true};
    s->last = &s->first;
    return s;
}

static work_t *add(void *stream, kind_t kind)
{
    stream_t *s = stream;
    work_t *w = calloc(1, sizeof(*w));

    w->kind = kind;
    *s->last = w;
    s->last = &w->next;
    return w;
}

/* --- the kernel, block by block -------------------------------------------------------------- */

static uint64_t *head_flag(const pipc__ce_args_t *a, size_t at)
{
    return (uint64_t *)(void *)(a->head + at);
}

static bool all_at(const pipc__ce_args_t *a, uint64_t end, uint32_t lane, bool gone)
{
    for (uint32_t q = 0; q < a->nranks; q++)
        if (q != a->rank &&
            load(head_flag(a, gone ? PIPC__CE_GONE(q, lane) : PIPC__CE_CAME(q, lane))) < end)
            return false;
    return true;
}

static void free_rings(const pipc__ce_args_t *a, uint64_t end)
{
    for (uint32_t q = 0; q < a->nranks; q++)
        if (q != a->rank)
            __atomic_store_n(a->room[q], end, __ATOMIC_RELEASE);
}

/* Floats [from, to) of the chunk at @at, which begins at @in_ring. */
static void sum_part(const pipc__ce_args_t *a, size_t at, size_t in_ring, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        float sum = 0;
        for (uint32_t q = 0; q < a->nranks; q++)
            sum += q == a->rank ? ((const float *)(const void *)(a->send + at))[i]
                                : ((const float *)(const void *)(a->ring[q] + in_ring))[i];
        ((float *)(void *)(a->recv + at))[i] = sum;
    }
}

/* One step of block @b; false when it waits. */
static bool step_block(work_t *w, int b)
{
    const pipc__ce_args_t *a = &w->a;
    block_t *k = &w->block[b];

    if (k->done == a->bytes) { /* the last thing that a block does */
        for (uint32_t lane = 0; lane < a->lanes && lane < k->number && b == 0; lane++)
            if (a->drop_ce != PIPC__CE_WAIT_END && !all_at(a, k->at, lane, true))
                return false;
        k->over = true;
        if (++a->state->arrived % BLOCKS == 0 && !a->frees)
            free_rings(a, k->at);
        return true;
    }
    size_t bytes = pipc__ce_chunk(a->bytes - k->done, a->most, a->least);
    uint64_t begin = pipc__ce_begin(k->at, bytes, a->ring_bytes), end = pipc__ce_end(begin, bytes);
    uint32_t lane = k->number % a->lanes;
    if (k->piece == 0 &&
        ((a->drop_ce != PIPC__CE_WAIT_CAME && !all_at(a, end, lane, false)) ||
         (a->in_place && a->drop_ce != PIPC__CE_WAIT_GONE && !all_at(a, end, lane, true))))
        return false;
    size_t part = BLOCKS * PIECES, i = (size_t)b * PIECES + k->piece, n = bytes / 4;
    sum_part(a, k->done, begin % a->ring_bytes, n * i / part, n * (i + 1) / part);
    if (++k->piece < PIECES)
        return true;
    uint32_t *count = (uint32_t *)(void *)(a->head + PIPC__CE_COUNTERS_AT);
    if (a->frees && ++count[k->number % PIPC__CE_COUNTERS] == BLOCKS) {
        count[k->number % PIPC__CE_COUNTERS] = 0;
        free_rings(a, end);
    }
    *k = (block_t){k->done + bytes, end, k->number + 1, 0, false};
    return true;
}

/* A step of a block that can make one; *over: all blocks have ended. */
static bool step_sum(work_t *w, bool *over)
{
    int first = (int)any(BLOCKS);
    bool moved = false;

    *over = true;
    for (int i = 0; i < BLOCKS; i++) {
        block_t *k = &w->block[(first + i) % BLOCKS];
        if (!k->over && !moved)
            moved = step_block(w, (first + i) % BLOCKS);
        *over = *over && k->over;
    }
    return moved;
}

/* --- the scheduler --------------------------------------------------------------------------- */

static bool step_copy(work_t *w, bool *over)
{
    size_t from = w->bytes * (size_t)w->step / PIECES, to;

    to = w->bytes * (size_t)++w->step / PIECES;
    memcpy(w->to + from, w->from + from, to - from);
    *over = w->step == PIECES;
    return true;
}

/* A step of the first work of a stream; false when it has to wait. */
static bool step(work_t *w, bool *over)
{
    *over = true;
    switch (w->kind) {
    case COPY:
        return step_copy(w, over);
    case WRITE:
        __atomic_store_n(w->flag, w->value, __ATOMIC_RELEASE);
        return true;
    case WAIT:
        return (int64_t)(load(w->flag) - w->value) >= 0;
    case RECORD:
        w->event->done++;
        return true;
    case AWAIT:
        return w->event->done >= w->value;
    default:
        return step_sum(w, over);
    }
}

/* One step somewhere; false when nothing can move. */
static bool step_any(void)
{
    int first = (int)any((uint64_t)nstreams);

    for (int i = 0; i < nstreams; i++) {
        stream_t *s = &streams[(first + i) % nstreams];
        work_t *w = s->first;
        bool over;
        if (!w || !step(w, &over))
            continue;
        if (over) {
            s->first = w->next;
            if (!s->first)
                s->last = &s->first;
            free(w);
        }
        return true;
    }
    return false;
}

static bool busy(void)
{
    for (int i = 0; i < nstreams; i++)
        if (streams[i].first)
            return true;
    return false;
}

/* Until all streams are through; false when all that is left waits. */
static bool run_all(void)
{
    while (step_any())
        ;
    return !busy();
}

/* What an enqueueing host leaves the GPU time for. */
static void run_some(void)
{
    for (uint64_t n = any(8) ? any(3) : any(200); n; n--)
        if (!step_any())
            return;
}

/* --- the driver ------------------------------------------------------------------------------ */

static void *at(CUdeviceptr p)
{
    return (void *)(uintptr_t)p;
}

static CUresult copy(void *to, const void *from, size_t bytes, CUstream s)
{
    work_t *w = add(s, COPY);

    w->to = to;
    w->from = from;
    w->bytes = bytes;
    run_some();
    return CUDA_SUCCESS;
}

static CUresult d_to_d(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s)
{
    return copy(at(to), at(from), bytes, s);
}

static CUresult d_to_h(void *to, CUdeviceptr from, size_t bytes, CUstream s)
{
    return copy(to, at(from), bytes, s);
}

static CUresult h_to_d(CUdeviceptr to, const void *from, size_t bytes, CUstream s)
{
    return copy(at(to), from, bytes, s);
}

static CUresult value(CUstream s, kind_t kind, CUdeviceptr flag, uint64_t v)
{
    work_t *w = add(s, kind);

    w->flag = at(flag);
    w->value = v;
    run_some();
    return CUDA_SUCCESS;
}

static CUresult write_value(CUstream s, CUdeviceptr flag, cuuint64_t v, unsigned int flags)
{
    return flags == CU_STREAM_WRITE_VALUE_DEFAULT ? value(s, WRITE, flag, v)
                                                  : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult wait_value(CUstream s, CUdeviceptr flag, cuuint64_t v, unsigned int flags)
{
    return flags == CU_STREAM_WAIT_VALUE_GEQ ? value(s, WAIT, flag, v) : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult event_create(CUevent *e, unsigned int flags)
{
    *e = calloc(1, sizeof(event_t));
    return flags == CU_EVENT_DISABLE_TIMING ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult event_destroy(CUevent e)
{
    free(e);
    return CUDA_SUCCESS;
}

static CUresult event_record(CUevent e, CUstream s)
{
    work_t *w = add(s, RECORD);

    w->event = (event_t *)e;
    w->event->asked++;
    return CUDA_SUCCESS;
}

static CUresult wait_event(CUstream s, CUevent e, unsigned int flags)
{
    work_t *w = add(s, AWAIT);

    w->event = (event_t *)e;
    w->value = w->event->asked;
    return flags ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult stream_create(CUstream *s, unsigned int flags, int priority)
{
    *s = (CUstream)(void *)new_stream();
    return flags == CU_STREAM_NON_BLOCKING && priority == -5 ? CUDA_SUCCESS
                                                             : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult stream_synchronize(CUstream s)
{
    const stream_t *stream = (const stream_t *)(const void *)s;

    for (int msec = 0; stream->first && msec < 5000;)
        if (!step_any()) {
            usleep(1000);
            msec++;
        }
    return stream->first ? CUDA_ERROR_LAUNCH_TIMEOUT : CUDA_SUCCESS;
}

static CUresult stream_destroy(CUstream s)
{
    ((stream_t *)(void *)s)->open = false;
    return CUDA_SUCCESS;
}

static CUresult priorities(int *least, int *most)
{
    *least = 0;
    *most = -5;
    return CUDA_SUCCESS;
}

static CUresult is_capturing(CUstream s, CUstreamCaptureStatus *status)
{
    *status = s ? CU_STREAM_CAPTURE_STATUS_NONE : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
}

static CUresult host_register(void *p, size_t bytes, unsigned int flags)
{
    (void)bytes;
    (void)flags;
    return (uintptr_t)p % 4096 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult host_unregister(void *p)
{
    (void)p;
    return CUDA_SUCCESS;
}

static CUresult device_pointer(CUdeviceptr *there, void *p, unsigned int flags)
{
    *there = (CUdeviceptr)(uintptr_t)p;
    return flags ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

static CUresult launch(CUfunction f, unsigned int x, unsigned int y, unsigned int z,
                       unsigned int threads, unsigned int ty, unsigned int tz, unsigned int shared,
                       CUstream s, void **params, void **extra)
{
    work_t *w = add(s, SUM);

    (void)f;
    w->a = *(const pipc__ce_args_t *)params[0];
    for (int b = 0; b < BLOCKS; b++)
        w->block[b] = (block_t){.at = w->a.at};
    run_some();
    return y * z * ty * tz == 1 && x && threads == PIPC__CE_THREADS && !shared && !extra
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static const pipc__cuda_t fake = {.MemcpyDtoDAsync = d_to_d,
                                  .MemcpyDtoHAsync = d_to_h,
                                  .MemcpyHtoDAsync = h_to_d,
                                  .StreamWriteValue64 = write_value,
                                  .StreamWaitValue64 = wait_value,
                                  .EventCreate = event_create,
                                  .EventDestroy = event_destroy,
                                  .EventRecord = event_record,
                                  .StreamWaitEvent = wait_event,
                                  .StreamCreateWithPriority = stream_create,
                                  .StreamSynchronize = stream_synchronize,
                                  .StreamDestroy = stream_destroy,
                                  .StreamIsCapturing = is_capturing,
                                  .CtxGetStreamPriorityRange = priorities,
                                  .MemHostRegister = host_register,
                                  .MemHostUnregister = host_unregister,
                                  .MemHostGetDevicePointer = device_pointer,
                                  .LaunchKernel = launch};

int pipc__cuda_blocks(const pipc__cuda_exec_t *x, const pipc__exec_call_t *call)
{
    return call->blocks ? call->blocks : x->capacity;
}

/* --- ranks ----------------------------------------------------------------------------------- */

typedef struct world {
    int n;
    pipc__plan_t *plan;
    pipc__control_t *ctl[RANKS];
    pipc__cuda_exec_t *x[RANKS];
    stream_t *stream[RANKS]; /* the caller's */
    char *device[RANKS], *host[RANKS];
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
    x->cu = &fake;
    x->base.ctl = w->ctl[r];
    x->rank = r;
    x->size = w->n;
    x->capacity = 16;
    x->order.counts = true;
    x->layout = pipc__layout(2 * MB, w->n);
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

static void open_world(world_t *w, int n, rank_shape_t shape)
{
    const rank_plan_t wanted = {PIPC__ONE_SHOT, PIPC__ALLREDUCE, shape};
    size_t bytes = pipc__layout(2 * MB, n).bytes;

    memset(w, 0, sizeof(*w));
    nstreams = 0;
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

    copy(b->send, b->fresh, 4 * b->count, k.stream);
    assert_int_equal(pipc__cuda_ce_check(w->x[r], &k, 0, &err), PIPC_OK);
    assert_int_equal(pipc__cuda_ce_launch(w->x[r], &k, 0), CUDA_SUCCESS);
    if (!b->in_place)
        copy(b->send, b->junk, 4 * b->count, k.stream);
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
    open_world(&w, n, shape);
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
        {PIPC__CE_WAIT_CAME, SHAPE_FLAT},   {PIPC__CE_WAIT_CAME, SHAPE_HOST},
        {PIPC__CE_WAIT_GONE, SHAPE_FLAT},   {PIPC__CE_WAIT_END, SHAPE_FLAT},
        {PIPC__CE_WAIT_BEGIN, SHAPE_FLAT},  {PIPC__CE_WAIT_FREE, SHAPE_FLAT},
        {PIPC__CE_WAIT_FREE, SHAPE_HOST},   {PIPC__CE_WAIT_LANDED, SHAPE_HOST},
        {PIPC__CE_WAIT_SUMMED, SHAPE_HOST},
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
        open_world(&w, 2, host ? SHAPE_HOST : SHAPE_FLAT);
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

static void what_can_not_be_is_told(void **state)
{
    pipc__exec_call_t k = {.count = 1, .dtype = PIPC_F32, .proto = PIPC__PROTO_CE};
    pipc__error_t err;
    world_t w;

    (void)state;
    seed = 7;
    open_world(&w, 2, SHAPE_FLAT);
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
        cmocka_unit_test(what_can_not_be_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
