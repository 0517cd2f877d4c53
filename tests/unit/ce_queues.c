/* tests/unit/ce_queues.c - see ce_queues.h */
#include "tests/unit/ce_queues.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/exec/perturb.h"

#define PIECES 4 /* steps of a copy and of a block's part of a chunk */

stream_t streams[STREAMS];
int nstreams;
uint64_t seed;

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

stream_t *new_stream(void)
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

/* Where addresses may be odd. */
static float float_at(const char *from, size_t i)
{
    float f;

    memcpy(&f, from + 4 * i, 4);
    return f;
}

/* Floats [from, to) of the chunk at @at, which begins at @in_ring. */
static void sum_part(const pipc__ce_args_t *a, size_t at, size_t in_ring, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        float sum = 0;
        for (uint32_t q = 0; q < a->nranks; q++)
            sum += q == a->rank ? float_at(a->send + at, i) : float_at(a->ring[q] + in_ring, i);
        memcpy(a->recv + at + 4 * i, &sum, 4);
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

/* What is queued among kernels has to wait while one of the caller's does. */
static bool is_summing(void)
{
    for (int i = 0; i < nstreams; i++)
        if (streams[i].first && streams[i].first->kind == SUM)
            return true;
    return false;
}

static bool step_copy(work_t *w, bool *over)
{
    if (w->among_kernels && is_summing())
        return false;
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

bool run_all(void)
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

static CUresult enqueue_copy(void *to, const void *from, size_t bytes, bool among_kernels,
                             CUstream s)
{
    work_t *w = add(s, COPY);

    w->to = to;
    w->from = from;
    w->bytes = bytes;
    w->among_kernels = among_kernels;
    run_some();
    return CUDA_SUCCESS;
}

CUresult queues_copy(void *to, const void *from, size_t bytes, CUstream s)
{
    return enqueue_copy(to, from, bytes, false, s);
}

/* As the driver does it within a GPU. */
static CUresult d_to_d(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s)
{
    return enqueue_copy(at(to), at(from), bytes, bytes >= 1 << 20 && (to | from) % 4, s);
}

static CUresult d_to_h(void *to, CUdeviceptr from, size_t bytes, CUstream s)
{
    return queues_copy(to, at(from), bytes, s);
}

static CUresult h_to_d(CUdeviceptr to, const void *from, size_t bytes, CUstream s)
{
    return queues_copy(at(to), from, bytes, s);
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

static CUresult batch(CUstream s, unsigned int count, CUstreamBatchMemOpParams *ops,
                      unsigned int flags)
{
    CUresult rc = flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;

    for (unsigned int i = 0; !rc && i < count; i++)
        rc = ops[i].operation == CU_STREAM_MEM_OP_WRITE_VALUE_64
                 ? write_value(s, ops[i].writeValue.address, ops[i].writeValue.value64,
                               ops[i].writeValue.flags)
                 : CUDA_ERROR_INVALID_VALUE;
    return rc;
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

const pipc__cuda_t queues_driver = {.MemcpyDtoDAsync = d_to_d,
                                    .MemcpyDtoHAsync = d_to_h,
                                    .MemcpyHtoDAsync = h_to_d,
                                    .StreamWriteValue64 = write_value,
                                    .StreamWaitValue64 = wait_value,
                                    .StreamBatchMemOp = batch,
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
