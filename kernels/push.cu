/* kernels/push.cu - all-reduce of larger messages, copies and sums at the same time: a kernel for
 * each type and operation, one launch a call. See push.h for rings, chunks and groups.
 *
 * Nobody waits in a circle: a chunk waits for the acknowledgement of an older one, its sum for its
 * arrival, its acknowledgement for its sum, in place its output for its own push; and groups take
 * their chunks in order. All blocks must be resident at once, since any of them may be what a peer
 * waits for: the host launches no more blocks than there are multiprocessors.
 *
 * Signals. An arrival is a release behind a barrier of the group, as in allreduce.cu. An
 * acknowledgement is a relaxed store behind one: what it must not overtake are loads, and their
 * values were used, by sums that are stored, before the barrier. A release there would wait until
 * the sums have reached memory, which nobody needs to know: it costs 1.5 us a chunk, a sixth of a
 * megabyte's time.
 */
#include "kernels/push.h"
#include "kernels/bytes.cuh"
#include "kernels/every.cuh"
#include "kernels/ll.h"
#include "kernels/perturb.cuh"
#include "kernels/reduce.cuh"
#include "kernels/scrub.cuh"
#include "kernels/trace.cuh"

#define POLLS 1024 /* looks at a flag between two looks at the abort word, across the bus */
#define COPY_UNROLL 4
#define PACK 16
#define STRIDE (PACK * PIPC__PUSH_GROUP) /* bytes a group takes at once */
#define ROW 8 /* threads that have a peer's acknowledgements, one of each slot that a chunk takes  \
               */

/* A pusher that is not to wait for acknowledgements is not delayed: what it does too early shows
 * when it is early and sums are late. */
#define PUSH_DELAY(a, c, step)                                                                     \
    (DROPPED(a, 0, PIPC__PUSH_ACK_STEP) || DROPPED(a, 0, PIPC__PUSH_REST_STEP)                     \
         ? (void)0                                                                                 \
         : DELAY(a, (c).number, step))

/* What the groups of a block tell each other. */
struct block_state {
    volatile uint32_t pushed[PIPC__PUSH_STREAMS]; /* chunks whose input a pusher has read */
    volatile uint32_t dead;                       /* a group gave up */
    uint32_t stillborn;                           /* the communicator was dead at the start */
};

/* A group and the call. */
struct group {
    uint32_t number, thread; /* among its kind, in the group */
    uint32_t barrier;        /* its named barrier */
    uint64_t base;           /* slots that all calls before took */
    uint32_t first_slot;     /* of this call's first chunk */
    block_state *block;
};

/* One chunk. */
struct chunk {
    uint64_t number;      /* of its first slot over all calls, from 1 */
    uint32_t slot, taken; /* the ring's first that it takes, and how many; 7 at most */
    uint32_t bytes;
    size_t at; /* in the message, in bytes */
};

static __device__ __forceinline__ chunk chunk_of(const pipc__push_args_t &a, const group &g,
                                                 uint32_t index)
{
    chunk c;

    c.number = g.base + index * a.span + 1;
    c.slot = (g.first_slot + index * a.span) % a.nslots;
    c.taken = index + 1 < a.nchunks ? a.span : a.moves - index * a.span;
    c.at = (size_t)index * a.chunk_bytes;
    c.bytes = a.bytes - c.at < a.chunk_bytes ? (uint32_t)(a.bytes - c.at) : a.chunk_bytes;
    return c;
}

/* Of the chunk's slot number @k. */
static __device__ __forceinline__ size_t flag_at(const chunk &c, uint32_t k)
{
    return (size_t)(c.slot + k) * (PIPC__FLAG_BYTES / sizeof(uint64_t));
}

static __device__ __forceinline__ size_t slot_at(const pipc__push_args_t &a, const chunk &c)
{
    return (size_t)c.slot * a.slot_bytes;
}

/* Warps of the pushers that push by bulk copies; 0: groups push by their threads. A call's last
 * bytes may be short of a pack, its begin may not. */
static __device__ __forceinline__ uint32_t streams_of(const pipc__push_args_t &a)
{
    return PIPC__BULK && !((uintptr_t)a.send & (PACK - 1)) ? a.streams : 0;
}

/* --- waiting --------------------------------------------------------------------------------- */

/* Of all threads that give up, the first one tells where. */
static __device__ void report(const pipc__push_args_t &a, int peer)
{
    if (atomicExch(&a.state->dead, 1))
        return;
    *a.stalled_round = 0;
    store_release(a.stalled_step, PIPC__STALL(a.plan_id, 0, a.wait_step[peer]));
}

/* Late is not dead: there is no limit of time, only the abort word. A flag that has come counts
 * even when the word is set, hence the second look. */
static __device__ bool wait_flag(const pipc__push_args_t &a, const uint64_t *flag, uint64_t number,
                                 int peer)
{
    for (uint32_t polls = 1; load_acquire(flag) < number; polls++)
        if (polls % POLLS == 0 && load_acquire(a.abort) && load_acquire(flag) < number) {
            report(a, peer);
            return false;
        }
    TRACE_WAIT(a, PIPC__ORDERED, flag, number);
    return true;
}

/* False, for the whole group, when one of its threads gave up. */
static __device__ __forceinline__ bool agree(const pipc__push_args_t &a, const group &g,
                                             bool gave_up)
{
    TRACE_MEET(a, g.barrier, PIPC__PUSH_GROUP);
    return !barrier_or(g.barrier, PIPC__PUSH_GROUP, gave_up);
}

/* Until chunk @c has its slots at every peer. Of @threads, rows of eight: a row has the peers row,
 * row + rows, ..., a thread of it one of the chunk's slots. */
static __device__ __forceinline__ bool wait_room(const pipc__push_args_t &a, const chunk &c,
                                                 uint32_t thread, uint32_t threads)
{
    const uint32_t k = thread % ROW;

    if (k >= c.taken || c.number + k <= a.nslots || DROPPED(a, 0, PIPC__PUSH_ACK_STEP) ||
        (k && DROPPED(a, 0, PIPC__PUSH_REST_STEP)))
        return true;
    for (uint32_t p = thread / ROW; p < a.nranks - 1; p += threads / ROW)
        if (!wait_flag(a, a.ack_from[p] + flag_at(c, k), c.number + k - a.nslots,
                       (int)((a.rank + 1 + p) % a.nranks)))
            return false;
    return true;
}

static __device__ __forceinline__ bool wait_arrival(const pipc__push_args_t &a, const chunk &c,
                                                    uint32_t sender)
{
    if (sender >= a.nranks || sender == a.rank || DROPPED(a, 0, a.wait_step[sender]))
        return true;
    return wait_flag(a, a.arrival_from[sender] + flag_at(c, 0), c.number, (int)sender);
}

/* In place, until this block has pushed its chunk number @turn (from 0). The pusher looks at the
 * abort word, not this wait. */
static __device__ bool wait_pushed(const pipc__push_args_t &a, const group &g, uint32_t turn)
{
    const uint32_t pushers = streams_of(a) ? streams_of(a) : PIPC__PUSH_PUSHERS;

    if (!a.in_place || DROPPED(a, 0, PIPC__PUSH_PUSHED_STEP))
        return true;
    while (load_shared(&g.block->pushed[turn % pushers]) <= turn / pushers)
        if (g.block->dead)
            return false;
    TRACE_BLOCK_FLAG(a, PIPC__DID_WAIT, turn % pushers, turn / pushers + 1);
    return true;
}

/* Packs @i, @i + STRIDE, ... of a part that ends at @end; WHOLE: all of them are before it. */
template <int N, bool WHOLE>
static __device__ __forceinline__ void load_packs(const pipc__push_args_t &a, traced reg, uint4 *v,
                                                  const char *part, uint32_t i, uint32_t end)
{
#pragma unroll
    for (int q = 0; q < N; q++)
        if (WHOLE || i + q * STRIDE < end) {
            TRACE_READ_PART(a, reg, PACK * q, part + i + q * STRIDE, PACK);
            v[q] = load_16(part + i + q * STRIDE);
        }
}

/* --- pushing --------------------------------------------------------------------------------- */

/* A thread tells one peer. A fence by one thread and relaxed stores for all would be as right and
 * take longer: a fence also discards what the first-level cache has. */
static __device__ __forceinline__ void tell_arrival(const pipc__push_args_t &a, const chunk &c,
                                                    uint32_t thread)
{
    if (thread < a.nranks - 1) {
        TRACE_SIGNAL(a, PIPC__ORDERED, a.arrival_to[thread] + flag_at(c, 0), c.number);
        store_release(a.arrival_to[thread] + flag_at(c, 0), c.number);
    }
}

/* To the block's summers: nothing of a chunk's input is still to be read. */
static __device__ __forceinline__ void tell_pushed(const pipc__push_args_t &a, const group &g,
                                                   uint32_t pusher)
{
    TRACE_BLOCK_FLAG(a, PIPC__DID_SIGNAL, pusher, g.block->pushed[pusher] + 1);
    g.block->pushed[pusher]++;
}

static __device__ __forceinline__ void copy_packs(const pipc__push_args_t &a, const chunk &c,
                                                  uint32_t thread, uint32_t end)
{
    const char *src = a.send + c.at;

#pragma unroll 1
    for (uint32_t i = PACK * thread; i < end; i += COPY_UNROLL * STRIDE) {
        uint4 v[COPY_UNROLL];
        load_packs<COPY_UNROLL, false>(a, OF_OWN, v, src, i, end);
#pragma unroll 1
        for (uint32_t p = 0; p < a.nranks - 1; p++) {
            char *dst = a.to[p] + slot_at(a, c) + i;
#pragma unroll
            for (int q = 0; q < COPY_UNROLL; q++)
                if (i + q * STRIDE < end) {
                    TRACE_WRITE_PART(a, OF_OWN, PACK * q, dst + q * STRIDE, PACK);
                    store_16(dst + q * STRIDE, v[q]);
                }
        }
    }
}

/* From byte @first on, for any alignment and any end. */
static __device__ __forceinline__ void copy_any(const pipc__push_args_t &a, const chunk &c,
                                                uint32_t thread, uint32_t first)
{
    const char *src = a.send + c.at;

#pragma unroll 1
    for (uint32_t i = first + PACK * thread; i < c.bytes; i += STRIDE) {
        uint32_t n = c.bytes - i < PACK ? c.bytes - i : PACK;
        TRACE_READ(a, OF_OWN, src + i, n);
        uint4 v = load_any(src + i, n);
#pragma unroll 1
        for (uint32_t p = 0; p < a.nranks - 1; p++) {
            TRACE_WRITE(a, OF_OWN, a.to[p] + slot_at(a, c) + i, n);
            store_any(a.to[p] + slot_at(a, c) + i, v, n);
        }
    }
}

/* By the whole group. */
static __device__ bool push_by_threads(const pipc__push_args_t &a, const group &g, const chunk &c)
{
    uint32_t packs = (uintptr_t)a.send & (PACK - 1) ? 0 : c.bytes & ~(uint32_t)(PACK - 1);

    if (!agree(a, g, !wait_room(a, c, g.thread, PIPC__PUSH_GROUP)))
        return false;
    PUSH_DELAY(a, c, 0);
    copy_packs(a, c, g.thread, packs);
    copy_any(a, c, g.thread, packs);
    TRACE_MEET(a, g.barrier, PIPC__PUSH_GROUP);
    barrier(g.barrier, PIPC__PUSH_GROUP);
    if (g.thread == 0)
        tell_pushed(a, g, g.number);
    PUSH_DELAY(a, c, 1);
    tell_arrival(a, c, g.thread);
    return true;
}

static __device__ void push_in_groups(const pipc__push_args_t &a, const group &g)
{
    for (uint32_t i = blockIdx.x + gridDim.x * g.number; i < a.nchunks;
         i += gridDim.x * PIPC__PUSH_PUSHERS)
        if (!push_by_threads(a, g, chunk_of(a, g, i))) {
            g.block->dead = 1;
            break;
        }
}

#if PIPC__BULK
/* By bulk copies through shared memory, which one thread gives and which leave the multiprocessor
 * to the sums: each warp of the pushers is a stream with a stage of its own. The input is on its
 * way to the stage before the warp knows of a slot for it. */
struct stream {
    uint32_t number, lane;
    bulk_stage stage;
};

static __device__ __forceinline__ void load_chunk(const pipc__push_args_t &a, stream &t,
                                                  uint32_t index)
{
    const size_t at = (size_t)index * a.chunk_bytes, left = a.bytes - at;
    const uint32_t bytes = left < a.chunk_bytes ? (uint32_t)left : a.chunk_bytes;

    if (t.lane == 0)
        bulk_load(t.stage, a.send + at, bytes & ~(uint32_t)(PACK - 1));
}

static __device__ bool push_stage(const pipc__push_args_t &a, const group &g, const chunk &c,
                                  stream &t)
{
    const uint32_t packs = c.bytes & ~(uint32_t)(PACK - 1);
    bool room = warp_all(wait_room(a, c, t.lane, 32));

    if (t.lane == 0)
        bulk_wait_load(t.stage); /* without room, too: nothing may come in when the kernel ends */
    TRACE_MEET(a, PIPC__TRACE_WARP + t.number, 32);
    if (!room)
        return false;
    PUSH_DELAY(a, c, 0);
    if (t.lane == 0) {
        TRACE_READ(a, OF_NEXT, a.send + c.at, packs);
        for (uint32_t p = 0; p < a.nranks - 1; p++) {
            TRACE_WRITE(a, OF_NEXT, a.to[p] + slot_at(a, c), packs);
            bulk_store(a.to[p] + slot_at(a, c), t.stage, packs);
        }
        copy_any(a, c, 0, packs); /* the message's last bytes */
        tell_pushed(a, g, t.number);
        bulk_wait_stores();
        for (uint32_t p = 0; p < a.nranks - 1; p++)
            TRACE_WRITE(a, OF_NEXT, a.to[p] + slot_at(a, c), packs);
    }
    TRACE_MEET(a, PIPC__TRACE_WARP + t.number, 32);
    __syncwarp();
    PUSH_DELAY(a, c, 1);
    tell_arrival(a, c, t.lane);
    return true;
}

/* Make the stream and set the first chunk on its way; false: there is none. */
static __device__ __forceinline__ bool begin_stream(const pipc__push_args_t &a, stream &t)
{
    extern __shared__ __align__(128) char stages[];
    __shared__ uint64_t loaded[PIPC__PUSH_STREAMS];
    const uint32_t first = blockIdx.x + gridDim.x * (threadIdx.x / 32);

    t.number = threadIdx.x / 32;
    t.lane = threadIdx.x % 32;
    t.stage = {stages + t.number * a.chunk_bytes, &loaded[t.number], 0};
    if (t.number >= streams_of(a) || first >= a.nchunks)
        return false;
    if (t.lane == 0)
        bulk_init(t.stage);
    __syncwarp();
    load_chunk(a, t, first);
    return true;
}

static __device__ void push_in_stream(const pipc__push_args_t &a, const group &g, stream &t)
{
    const uint32_t step = gridDim.x * a.streams;

    for (uint32_t i = blockIdx.x + gridDim.x * t.number; i < a.nchunks; i += step) {
        if (!push_stage(a, g, chunk_of(a, g, i), t)) {
            g.block->dead = 1;
            return;
        }
        if (i + step < a.nchunks)
            load_chunk(a, t, i + step);
    }
}
#endif

/* --- summing --------------------------------------------------------------------------------- */

static __device__ __forceinline__ const char *source(const pipc__push_args_t &a, const chunk &c,
                                                     uint32_t q)
{
    return q == a.rank ? a.send + c.at : a.from[q] + slot_at(a, c);
}

/* In rank order, which makes the result the same bits on every rank; there are two ranks at least.
 * In place a thread reads its packs of all sources before it writes. */
template <class R, bool WHOLE>
static __device__ __forceinline__ void sum_turn(const pipc__push_args_t &a, const chunk &c,
                                                const char *first, const char *second, char *dst,
                                                uint32_t i, uint32_t end)
{
    const share s = {a.nth, a.nranks, a.reciprocal};
    constexpr int unroll = R::push_unroll;
    uint4 v[unroll], w[unroll];
    R r[unroll];

    load_packs<unroll, WHOLE>(a, OF_PEER, v, first, i, end);
    load_packs<unroll, WHOLE>(a, OF_NEXT, w, second, i, end);
#pragma unroll
    for (int q = 0; q < unroll; q++) {
        r[q].first(v[q], true, s);
        r[q].next(w[q], true, s);
    }
    TRACE_SUM(a, true, OF_PEER);
    TRACE_SUM(a, false, OF_NEXT);
#pragma unroll 1
    for (uint32_t n = 2; n < a.nranks; n++) {
        load_packs<unroll, WHOLE>(a, OF_PEER, v, source(a, c, n), i, end);
#pragma unroll
        for (int q = 0; q < unroll; q++)
            r[q].next(v[q], true, s);
        TRACE_SUM(a, false, OF_PEER);
    }
#pragma unroll
    for (int q = 0; q < unroll; q++)
        if (WHOLE || i + q * STRIDE < end) {
            TRACE_WRITE_PART(a, OF_SUM, PACK * q, dst + i + q * STRIDE, PACK);
            store_16(dst + i + q * STRIDE, r[q].last(true, s));
        }
}

template <class R>
static __device__ __forceinline__ void sum_packs(const pipc__push_args_t &a, const chunk &c,
                                                 uint32_t thread, uint32_t end)
{
    const char *first = source(a, c, 0), *second = source(a, c, 1);
    char *dst = a.recv + c.at;
    uint32_t i = PACK * thread;

#pragma unroll 1
    for (; i + (R::push_unroll - 1) * STRIDE < end; i += R::push_unroll * STRIDE)
        sum_turn<R, true>(a, c, first, second, dst, i, end);
    if (i < end)
        sum_turn<R, false>(a, c, first, second, dst, i, end);
}

template <class R>
static __device__ __forceinline__ void sum_any(const pipc__push_args_t &a, const chunk &c,
                                               uint32_t thread, uint32_t first)
{
    const share s = {a.nth, a.nranks, a.reciprocal};

#pragma unroll 1
    for (uint32_t i = first + PACK * thread; i < c.bytes; i += STRIDE) {
        uint32_t n = c.bytes - i < PACK ? c.bytes - i : PACK;
        R r;
        TRACE_READ(a, OF_PEER, source(a, c, 0) + i, n);
        TRACE_SUM(a, true, OF_PEER);
        r.first(load_any(source(a, c, 0) + i, n), true, s);
#pragma unroll 1
        for (uint32_t m = 1; m < a.nranks; m++) {
            TRACE_READ(a, OF_PEER, source(a, c, m) + i, n);
            TRACE_SUM(a, false, OF_PEER);
            r.next(load_any(source(a, c, m) + i, n), true, s);
        }
        TRACE_WRITE(a, OF_SUM, a.recv + c.at + i, n);
        store_any(a.recv + c.at + i, r.last(true, s), n);
    }
}

/* A thread acknowledges one slot to one sender. */
static __device__ __forceinline__ void acknowledge(const pipc__push_args_t &a, const chunk &c,
                                                   uint32_t thread)
{
    const uint32_t sender = thread / ROW, k = thread % ROW;

    if (sender < a.nranks && sender != a.rank && k < c.taken) {
        TRACE_SIGNAL(a, PIPC__LOADED, a.ack_to[sender] + flag_at(c, k), c.number + k);
        store_relaxed(a.ack_to[sender] + flag_at(c, k), c.number + k);
    }
}

template <class R> static __device__ void sum(const pipc__push_args_t &a, const group &g)
{
    const bool aligned = !(((uintptr_t)a.send | (uintptr_t)a.recv) & (PACK - 1));

    for (uint32_t turn = g.number, i = blockIdx.x + gridDim.x * g.number; i < a.nchunks;
         turn += PIPC__PUSH_SUMMERS, i += gridDim.x * PIPC__PUSH_SUMMERS) {
        const chunk c = chunk_of(a, g, i);
        const uint32_t packs = aligned ? c.bytes & ~(uint32_t)(PACK - 1) : 0;
        bool waited = wait_arrival(a, c, g.thread);
        if (waited && g.thread == 0)
            waited = wait_pushed(a, g, turn);
        if (!agree(a, g, !waited)) {
            g.block->dead = 1;
            return;
        }
        DELAY(a, c.number, 2);
        sum_packs<R>(a, c, g.thread, packs);
        sum_any<R>(a, c, g.thread, packs);
        TRACE_MEET(a, g.barrier, PIPC__PUSH_GROUP);
        barrier(g.barrier, PIPC__PUSH_GROUP);
        DELAY(a, c.number, 3);
        acknowledge(a, c, g.thread);
    }
}

/* --- a block's life -------------------------------------------------------------------------- */

/* The last block moves the numbers on: all others have read them long since. Nobody reads them
 * before this kernel has ended, but the kernel of another stream that waits for the number of
 * calls: so both are one store. A block that gave up comes here too, or such a launch would wait
 * for ever.
 */
static __device__ void end(const pipc__push_args_t &a, uint64_t calls, uint64_t pushed)
{
    if (threadIdx.x == 0 && atomicInc(&a.state->arrived, gridDim.x - 1) == gridDim.x - 1)
        store_packet((char *)&a.state->calls, calls + 1, pushed + a.moves);
}

static __device__ __forceinline__ void begin(const pipc__push_args_t &a, block_state &block,
                                             uint64_t calls)
{
    if (threadIdx.x < PIPC__PUSH_STREAMS)
        block.pushed[threadIdx.x] = 0;
    /* One thread looks for all: another block may give up at any moment, and the threads of a block
     * must agree, since they meet at barriers. */
    if (threadIdx.x == PIPC__PUSH_THREADS - 1) {
        block.dead = block.stillborn = *(volatile uint32_t *)&a.state->dead;
        if (blockIdx.x == 0) {
            scrub(a, calls + 1);
            trace_scrub(a, calls + 1);
        }
    }
    TRACE_MEET(a, 0, PIPC__PUSH_THREADS);
    __syncthreads();
}

template <class R> static __device__ __forceinline__ void run(const pipc__push_args_t &a)
{
    __shared__ block_state block;
    const uint32_t number = threadIdx.x / PIPC__PUSH_GROUP;
    uint64_t calls, pushed;

    if (!DROPPED(a, 0, PIPC__GRID_STEP))
        grid_wait();
#if PIPC__BULK
    stream t;
    bool streams = begin_stream(a, t);
#endif

    load_packet((const char *)&a.state->calls, &calls, &pushed);
    begin(a, block, calls);
    group g = {number, threadIdx.x % PIPC__PUSH_GROUP, number + 1, pushed, 0, &block};
    g.first_slot = (uint32_t)(pushed % a.nslots);
    if (number >= PIPC__PUSH_PUSHERS) {
        g.number -= PIPC__PUSH_PUSHERS;
        if (!block.stillborn)
            sum<R>(a, g);
#if PIPC__BULK
    } else if (streams) {
        if (!block.stillborn)
            push_in_stream(a, g, t);
        else if (t.lane == 0)
            bulk_wait_load(t.stage);
    } else if (streams_of(a)) {
        ; /* this warp has nothing to push */
#endif
    } else if (!block.stillborn) {
        push_in_groups(a, g);
    }
    TRACE_MEET(a, 0, PIPC__PUSH_THREADS);
    __syncthreads();
    end(a, calls, pushed);
}

#define KERNEL(op, type)                                                                           \
    extern "C" __global__ void __launch_bounds__(PIPC__PUSH_THREADS, 1)                            \
        pipc__push_##op##_##type(const __grid_constant__ pipc__push_args_t a)                      \
    {                                                                                              \
        run<reduction<type, op_##op>>(a);                                                          \
    }

EVERY_KERNEL
