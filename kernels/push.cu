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

#define POLLS 1024 /* looks at a flag between two looks at the abort word, across the bus */
#define COPY_UNROLL 4
#define PACK 16
#define STRIDE (PACK * PIPC__PUSH_GROUP) /* bytes a group takes at once */

/* What the groups of a block tell each other. */
struct block_state {
    volatile uint32_t pushed[PIPC__PUSH_PUSHERS]; /* chunks whose input the group has read */
    volatile uint32_t dead;                       /* a group gave up */
};

/* A group and the call. */
struct group {
    uint32_t number, thread; /* among its kind, in the group */
    uint32_t barrier;        /* its named barrier */
    uint64_t base;           /* chunks of all calls before */
    block_state *block;
};

/* One chunk. */
struct chunk {
    uint64_t number; /* over all calls, from 1 */
    uint32_t slot, bytes;
    size_t at; /* in the message, in bytes */
};

static __device__ __forceinline__ chunk chunk_of(const pipc__push_args_t &a, const group &g,
                                                 uint32_t index)
{
    chunk c;

    c.number = g.base + index + 1;
    c.slot = (uint32_t)(c.number % a.nslots);
    c.at = (size_t)index * a.chunk_bytes;
    c.bytes = a.bytes - c.at < a.chunk_bytes ? (uint32_t)(a.bytes - c.at) : a.chunk_bytes;
    return c;
}

static __device__ __forceinline__ size_t flag_at(const chunk &c)
{
    return (size_t)c.slot * (PIPC__FLAG_BYTES / sizeof(uint64_t));
}

static __device__ __forceinline__ size_t slot_at(const chunk &c)
{
    return (size_t)c.slot * PIPC__PUSH_SLOT_BYTES;
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
    return true;
}

/* False, for the whole group, when one of its threads gave up. */
static __device__ __forceinline__ bool agree(const group &g, bool gave_up)
{
    return !barrier_or(g.barrier, PIPC__PUSH_GROUP, gave_up);
}

/* Until chunk @c has its slot at every peer: a thread looks at one peer's acknowledgement. */
static __device__ __forceinline__ bool wait_room(const pipc__push_args_t &a, const chunk &c,
                                                 uint32_t peer)
{
    if (peer >= a.nranks - 1 || c.number <= a.nslots || DROPPED(a, 0, PIPC__PUSH_ACK_STEP))
        return true;
    return wait_flag(a, a.ack_from[peer] + flag_at(c), c.number - a.nslots,
                     (int)((a.rank + 1 + peer) % a.nranks));
}

static __device__ __forceinline__ bool wait_arrival(const pipc__push_args_t &a, const chunk &c,
                                                    uint32_t sender)
{
    if (sender >= a.nranks || sender == a.rank || DROPPED(a, 0, a.wait_step[sender]))
        return true;
    return wait_flag(a, a.arrival_from[sender] + flag_at(c), c.number, (int)sender);
}

/* In place, until this block has pushed its chunk number @turn (from 0). The pusher looks at the
 * abort word, not this wait. */
static __device__ bool wait_pushed(const pipc__push_args_t &a, const group &g, uint32_t turn)
{
    const uint32_t pusher = turn % PIPC__PUSH_PUSHERS;

    if (!a.in_place || DROPPED(a, 0, PIPC__PUSH_PUSHED_STEP))
        return true;
    while (g.block->pushed[pusher] <= turn / PIPC__PUSH_PUSHERS)
        if (g.block->dead)
            return false;
    return true;
}

/* --- pushing --------------------------------------------------------------------------------- */

static __device__ __forceinline__ void tell_arrival(const pipc__push_args_t &a, const chunk &c)
{
    fence_system();
    for (uint32_t i = 0; i < a.nranks - 1; i++)
        store_relaxed(a.arrival_to[i] + flag_at(c), c.number);
}

static __device__ __forceinline__ void copy_packs(const pipc__push_args_t &a, const chunk &c,
                                                  uint32_t thread, uint32_t end)
{
    const char *src = a.send + c.at;

#pragma unroll 1
    for (uint32_t i = PACK * thread; i < end; i += COPY_UNROLL * STRIDE) {
        uint4 v[COPY_UNROLL];
#pragma unroll
        for (int q = 0; q < COPY_UNROLL; q++)
            if (i + q * STRIDE < end)
                v[q] = load_16(src + i + q * STRIDE);
#pragma unroll 1
        for (uint32_t p = 0; p < a.nranks - 1; p++) {
            char *dst = a.to[p] + slot_at(c) + i;
#pragma unroll
            for (int q = 0; q < COPY_UNROLL; q++)
                if (i + q * STRIDE < end)
                    store_16(dst + q * STRIDE, v[q]);
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
        uint4 v = load_any(src + i, n);
#pragma unroll 1
        for (uint32_t p = 0; p < a.nranks - 1; p++)
            store_any(a.to[p] + slot_at(c) + i, v, n);
    }
}

/* By the whole group. */
static __device__ bool push_by_threads(const pipc__push_args_t &a, const group &g, const chunk &c)
{
    uint32_t packs = (uintptr_t)a.send & (PACK - 1) ? 0 : c.bytes & ~(uint32_t)(PACK - 1);

    if (!agree(g, !wait_room(a, c, g.thread)))
        return false;
    DELAY(a, c.number, 0);
    copy_packs(a, c, g.thread, packs);
    copy_any(a, c, g.thread, packs);
    barrier(g.barrier, PIPC__PUSH_GROUP);
    if (g.thread == 0) {
        g.block->pushed[g.number]++;
        DELAY(a, c.number, 1);
        tell_arrival(a, c);
    }
    return true;
}

#if PIPC__BULK
/* By bulk copies through shared memory, which one thread gives and which leave the multiprocessor
 * to the sums: one warp of the group, the others have nothing to do. The input is on its way while
 * the warp looks for room. */
static __device__ bool push_by_bulk(const pipc__push_args_t &a, const group &g, const chunk &c,
                                    bulk_stage &stage)
{
    if (g.thread == 0)
        bulk_load(stage, a.send + c.at, c.bytes);
    bool room = warp_all(wait_room(a, c, g.thread));
    DELAY(a, c.number, 0);
    if (g.thread == 0) {
        bulk_wait_load(stage); /* also without room: nothing must come in behind the kernel's end */
        g.block->pushed[g.number]++;
        for (uint32_t p = 0; room && p < a.nranks - 1; p++)
            bulk_store(a.to[p] + slot_at(c), stage, c.bytes);
        if (room) {
            bulk_wait_stores();
            DELAY(a, c.number, 1);
            tell_arrival(a, c);
        }
    }
    __syncwarp();
    return room;
}

static __device__ __forceinline__ bool takes_bulk(const pipc__push_args_t &a, const chunk &c)
{
    return a.bulk && !(((uintptr_t)a.send | c.bytes) & (PACK - 1)) &&
           c.bytes <= PIPC__PUSH_BULK_BYTES;
}
#endif

static __device__ void push(const pipc__push_args_t &a, group &g)
{
#if PIPC__BULK
    __shared__ bulk_stage stages[PIPC__PUSH_PUSHERS];
    bulk_stage &stage = stages[g.number];
    if (g.thread == 0)
        bulk_init(stage);
    __syncwarp();
#endif
    for (uint32_t i = blockIdx.x + gridDim.x * g.number; i < a.nchunks;
         i += gridDim.x * PIPC__PUSH_PUSHERS) {
        chunk c = chunk_of(a, g, i);
        bool pushed = true;
#if PIPC__BULK
        if (!takes_bulk(a, c))
            pushed = push_by_threads(a, g, c);
        else if (g.thread < 32)
            pushed = push_by_bulk(a, g, c, stage);
#else
        pushed = push_by_threads(a, g, c);
#endif
        if (!pushed) {
            g.block->dead = 1;
            break;
        }
    }
}

/* --- summing --------------------------------------------------------------------------------- */

static __device__ __forceinline__ const char *source(const pipc__push_args_t &a, const chunk &c,
                                                     uint32_t q)
{
    return q == a.rank ? a.send + c.at : a.from[q] + slot_at(c);
}

/* In rank order, which makes the result the same bits on every rank; there are two ranks at least.
 * In place a thread reads its packs of all sources before it writes. */
template <class R>
static __device__ __forceinline__ void sum_packs(const pipc__push_args_t &a, const chunk &c,
                                                 uint32_t thread, uint32_t end)
{
    const share s = {a.nth, a.nranks, a.reciprocal};
    constexpr int unroll = R::push_unroll;

#pragma unroll 1
    for (uint32_t i = PACK * thread; i < end; i += unroll * STRIDE) {
        uint4 v[unroll], w[unroll];
        R r[unroll];
        const char *first = source(a, c, 0) + i, *second = source(a, c, 1) + i;
#pragma unroll
        for (int q = 0; q < unroll; q++)
            if (i + q * STRIDE < end)
                v[q] = load_16(first + q * STRIDE);
#pragma unroll
        for (int q = 0; q < unroll; q++)
            if (i + q * STRIDE < end)
                w[q] = load_16(second + q * STRIDE);
#pragma unroll
        for (int q = 0; q < unroll; q++) {
            r[q].first(v[q], true, s);
            r[q].next(w[q], true, s);
        }
#pragma unroll 1
        for (uint32_t n = 2; n < a.nranks; n++) {
            const char *more = source(a, c, n) + i;
#pragma unroll
            for (int q = 0; q < unroll; q++)
                if (i + q * STRIDE < end)
                    v[q] = load_16(more + q * STRIDE);
#pragma unroll
            for (int q = 0; q < unroll; q++)
                r[q].next(v[q], true, s);
        }
        char *dst = a.recv + c.at + i;
#pragma unroll
        for (int q = 0; q < unroll; q++)
            if (i + q * STRIDE < end)
                store_16(dst + q * STRIDE, r[q].last(true, s));
    }
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
        r.first(load_any(source(a, c, 0) + i, n), true, s);
#pragma unroll 1
        for (uint32_t m = 1; m < a.nranks; m++)
            r.next(load_any(source(a, c, m) + i, n), true, s);
        store_any(a.recv + c.at + i, r.last(true, s), n);
    }
}

static __device__ __forceinline__ void acknowledge(const pipc__push_args_t &a, const chunk &c,
                                                   uint32_t sender)
{
    if (sender < a.nranks && sender != a.rank)
        store_relaxed(a.ack_to[sender] + flag_at(c), c.number);
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
        if (!agree(g, !waited)) {
            g.block->dead = 1;
            return;
        }
        DELAY(a, c.number, 2);
        sum_packs<R>(a, c, g.thread, packs);
        sum_any<R>(a, c, g.thread, packs);
        barrier(g.barrier, PIPC__PUSH_GROUP);
        DELAY(a, c.number, 3);
        acknowledge(a, c, g.thread);
    }
}

/* --- a block's life -------------------------------------------------------------------------- */

/* LL's flags must not grow old while other kernels run; see allreduce.cu. */
static __device__ void scrub(const pipc__push_args_t &a, uint64_t call)
{
    const uint64_t word = (uint64_t)(uint32_t)call << 32;
    size_t at = call % 2 * PIPC__LL_AREA_BYTES + pipc__ll_scrub_at(call);

    for (int i = 0; i < 2; i++)
        for (int w = 0; a.scrub[i] && w < 2; w++)
            *(volatile uint64_t *)(a.scrub[i] + at + 8 * w) = word;
}

/* The last block moves the numbers on: all others have read them long since. The next launch sees
 * them because it begins when this one has ended, or has seen the number of calls, which is written
 * last. A block that gave up comes here too, or such a launch would wait for ever. */
static __device__ void end(const pipc__push_args_t &a)
{
    if (threadIdx.x || atomicInc(&a.state->arrived, gridDim.x - 1) != gridDim.x - 1)
        return;
    uint64_t call = *(volatile uint64_t *)&a.state->calls + 1;
    *(volatile uint64_t *)&a.state->pushed += a.nchunks;
    scrub(a, call);
    __threadfence();
    *(volatile uint64_t *)&a.state->calls = call;
}

template <class R> static __device__ __forceinline__ void run(const pipc__push_args_t &a)
{
    __shared__ block_state block;
    const uint32_t number = threadIdx.x / PIPC__PUSH_GROUP;
    group g = {number, threadIdx.x % PIPC__PUSH_GROUP, number + 1,
               *(volatile uint64_t *)&a.state->pushed, &block};

    /* One thread looks for all: another block may give up at any moment, and the threads of a block
     * must agree, since they meet at barriers. */
    if (threadIdx.x == 0)
        block.dead = *(volatile uint32_t *)&a.state->dead;
    if (threadIdx.x < PIPC__PUSH_PUSHERS)
        block.pushed[threadIdx.x] = 0;
    __syncthreads();
    bool alive = !block.dead;
    __syncthreads(); /* from here on a group may set it */
    if (alive && number < PIPC__PUSH_PUSHERS) {
        push(a, g);
    } else if (alive) {
        g.number -= PIPC__PUSH_PUSHERS;
        sum<R>(a, g);
    }
    __syncthreads();
    end(a);
}

#define KERNEL(op, type)                                                                           \
    extern "C" __global__ void __launch_bounds__(PIPC__PUSH_THREADS, 1)                            \
        pipc__push_##op##_##type(const __grid_constant__ pipc__push_args_t a)                      \
    {                                                                                              \
        run<reduction<type, op_##op>>(a);                                                          \
    }

EVERY_KERNEL
