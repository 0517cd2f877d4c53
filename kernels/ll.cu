/* kernels/ll.cu - all-reduce of small messages, flags in the data: a kernel for each type and
 * operation, one launch a call. See ll.h for the packets and why two areas are enough.
 *
 *     load unit --> push it to every peer --> take rank 0's, 1's, ... as they come, sum --> store
 *
 * A thread does its units alone and meets nobody until the kernel's end. It has loaded a unit
 * before it stores there, so in place is safe. The sum goes in rank order, with the operations of
 * reduce.cuh: the bits of the one-shot plan, on every rank.
 */
#include "kernels/ll.h"
#include "kernels/bytes.cuh"
#include "kernels/every.cuh"
#include "kernels/perturb.cuh"
#include "kernels/ptx.cuh"
#include "kernels/reduce.cuh"
#include "kernels/trace.cuh"

#define POLLS 1024 /* looks at a packet between two looks at the abort word, across the bus */
#define AHEAD 4    /* ranks whose packets are loaded at once */

/* The two packets of a unit, as they travel. */
struct packets {
    uint64_t w[4]; /* flag << 32 | data */
};

static __device__ __forceinline__ uint64_t word(uint32_t data, uint32_t flag)
{
    return (uint64_t)flag << 32 | data;
}

/* Word @i of a unit, from its first packet on. */
static __device__ __forceinline__ size_t word_at(int i)
{
    return i / 2 * (PIPC__LL_TILE_BYTES / 2) + i % 2 * sizeof(uint64_t);
}

static __device__ __forceinline__ void store_unit(char *p, uint4 v, uint32_t flag)
{
    store_packet(p, word(v.x, flag), word(v.y, flag));
    store_packet(p + word_at(2), word(v.z, flag), word(v.w, flag));
}

static __device__ __forceinline__ packets load_unit(const char *p)
{
    packets u;

    load_packet(p, &u.w[0], &u.w[1]);
    load_packet(p + word_at(2), &u.w[2], &u.w[3]);
    return u;
}

static __device__ __forceinline__ uint4 data_of(const packets &u)
{
    return make_uint4((uint32_t)u.w[0], (uint32_t)u.w[1], (uint32_t)u.w[2], (uint32_t)u.w[3]);
}

/* Equal, not at least: numbers wrap, and an older call's must never do. */
static __device__ __forceinline__ bool fresh(const pipc__ll_args_t &a, const packets &u,
                                             uint32_t flag)
{
    bool all = true;

#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t got = (uint32_t)(u.w[i] >> 32);
#ifdef PIPC_PERTURB
        if (a.one_area && (int32_t)(got - flag) > 0) /* or it would wait for what was overwritten */
            continue;
#endif
        all = all && got == flag;
    }
    return all;
}

/* A call's constants. */
struct ll_call {
    uint64_t number;
    uint32_t flag;
    size_t area; /* bytes from area 0 */
};

static __device__ __forceinline__ size_t packet_at(uint32_t unit)
{
    return (size_t)(unit / 32) * PIPC__LL_TILE_BYTES + unit % 32 * PIPC__LL_PACKET;
}

static __device__ __forceinline__ uint32_t bytes_of(const pipc__ll_args_t &a, uint32_t unit)
{
    size_t left = a.bytes - (size_t)unit * PIPC__LL_UNIT;

    return left < PIPC__LL_UNIT ? (uint32_t)left : PIPC__LL_UNIT;
}

/* @reg: for a trace, as below. */
static __device__ __forceinline__ uint4 load_input(const pipc__ll_args_t &a, uint32_t unit,
                                                   traced reg)
{
    const char *p = a.send + (size_t)unit * PIPC__LL_UNIT;

    TRACE_READ(a, reg, p, bytes_of(a, unit));
    return load_any(p, bytes_of(a, unit));
}

static __device__ __forceinline__ void push(const pipc__ll_args_t &a, const ll_call &k,
                                            uint32_t unit, uint4 v, traced reg)
{
#pragma unroll 1
    for (int i = 0; i < (int)a.nranks - 1; i++) {
        char *p = a.to[i] + k.area + packet_at(unit);
        store_unit(p, v, k.flag);
        for (int w = 0; w < 4; w++)
            TRACE_WORD_WRITE(a, reg, 4 * w, p + word_at(w), k.flag);
    }
}

/* Late is not dead: no limit of time, only the abort word. A packet that has come counts even when
 * the word is set, hence the second look. Of all threads that give up the first one tells where. */
static __device__ bool wait_packets(const pipc__ll_args_t &a, const ll_call &k, const char *p,
                                    int q, packets &u)
{
    for (uint32_t polls = 1;; polls++) {
        u = load_unit(p);
        if (fresh(a, u, k.flag))
            return true;
        if (polls % POLLS || !load_acquire(a.abort))
            continue;
        u = load_unit(p);
        if (fresh(a, u, k.flag))
            return true;
        break;
    }
    if (!atomicExch(&a.state->dead, 1)) {
        *a.stalled_round = 0;
        store_release(a.stalled_step, PIPC__STALL(a.plan_id, 0, a.wait_step[q]));
    }
    return false;
}

/* Sum of the own @v and what the peers sent; false when given up. */
template <class R>
static __device__ __forceinline__ bool sum(const pipc__ll_args_t &a, const ll_call &k,
                                           uint32_t unit, uint4 v, uint4 *result)
{
    const share s = {a.nth, a.nranks, a.reciprocal};
    const size_t at = k.area + packet_at(unit);
    R r;

#pragma unroll 1
    for (int q0 = 0; q0 < (int)a.nranks; q0 += AHEAD) {
        packets u[AHEAD];
#pragma unroll
        for (int i = 0; i < AHEAD; i++)
            if (q0 + i < (int)a.nranks && q0 + i != (int)a.rank)
                u[i] = load_unit(a.from[q0 + i] + at);
#pragma unroll
        for (int i = 0; i < AHEAD; i++) {
            int q = q0 + i;
            if (q >= (int)a.nranks)
                break;
            uint4 in = v;
            if (q != (int)a.rank) {
                if (!DROPPED(a, 0, a.wait_step[q]) && !fresh(a, u[i], k.flag) &&
                    !wait_packets(a, k, a.from[q] + at, q, u[i]))
                    return false;
                in = data_of(u[i]);
                for (int w = 0; w < 4; w++)
                    TRACE_WORD_READ(a, OF_PEER, 4 * w, a.from[q] + at + word_at(w), k.flag,
                                    !DROPPED(a, 0, a.wait_step[q]));
            }
            TRACE_SUM(a, q == 0, q == (int)a.rank ? OF_OWN : OF_PEER);
            if (q == 0)
                r.first(in, true, s);
            else
                r.next(in, true, s);
        }
    }
    *result = r.last(true, s);
    return true;
}

/* What no peer writes in this call; see ll.h. */
static __device__ void scrub(const pipc__ll_args_t &a, const ll_call &k)
{
    uint32_t at = pipc__ll_scrub_at(k.number);
    uint32_t units = ((uint32_t)a.bytes + PIPC__LL_UNIT - 1) / PIPC__LL_UNIT;

#ifdef PIPC_PERTURB
    if (a.no_scrub || a.one_area)
        return;
#endif
    if (pipc__ll_covers(at, a.slot_bytes, a.nranks - 1, units))
        return;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        if (!a.scrub[i])
            continue;
        store_packet(a.scrub[i] + k.area + at, word(0, k.flag), word(0, k.flag));
        for (int w = 0; w < 2; w++)
            TRACE_WORD_WRITE(a, PIPC__TRACE_NOTHING, 0, a.scrub[i] + k.area + at + 8 * w, k.flag);
    }
}

/* The last block moves the number on. No fence: nobody reads it before this kernel has ended, but
 * the kernel of another stream that waits for this very store, and that one needs no more of what
 * was written here than the number itself. The counter of blocks wraps by itself. */
static __device__ void end(const pipc__ll_args_t &a, uint64_t number)
{
    __syncthreads();
    if (threadIdx.x == 0 &&
        (gridDim.x == 1 || atomicInc(&a.state->arrived, gridDim.x - 1) == gridDim.x - 1))
        *(volatile uint64_t *)&a.state->calls = number;
}

template <class R> static __device__ __forceinline__ void run(const pipc__ll_args_t &a)
{
    const uint32_t units = (uint32_t)((a.bytes + PIPC__LL_UNIT - 1) / PIPC__LL_UNIT);
    const uint32_t first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    uint4 own = make_uint4(0, 0, 0, 0), result;
    ll_call k;

    if (!DROPPED(a, 0, PIPC__GRID_STEP))
        grid_wait();
    if (first < units)
        own = load_input(a, first, OF_OWN);
    k.number = *(volatile uint64_t *)&a.state->calls + 1;
    bool dead = *(volatile uint32_t *)&a.state->dead;
    k.flag = (uint32_t)k.number;
    k.area = AREA(a, k.number) * PIPC__LL_AREA_BYTES;

    DELAY(a, k.number, 0);
    if (first < units && !dead)
        push(a, k, first, own, OF_OWN);
#pragma unroll 1
    for (uint32_t unit = first + step; unit < units && !dead; unit += step)
        push(a, k, unit, load_input(a, unit, OF_NEXT), OF_NEXT);
    if (first == 0)
        scrub(a, k);
    DELAY(a, k.number, 1);
#pragma unroll 1
    for (uint32_t unit = first; unit < units && !dead; unit += step) {
        if (unit != first)
            own = load_input(a, unit, OF_OWN);
        if (!sum<R>(a, k, unit, own, &result))
            break;
        TRACE_WRITE(a, OF_SUM, a.recv + (size_t)unit * PIPC__LL_UNIT, bytes_of(a, unit));
        store_any(a.recv + (size_t)unit * PIPC__LL_UNIT, result, bytes_of(a, unit));
    }
    end(a, k.number);
}

#define KERNEL(op, type)                                                                           \
    extern "C" __global__ void __launch_bounds__(PIPC__LL_THREADS_MAX, 1)                          \
        pipc__ll_##op##_##type(const __grid_constant__ pipc__ll_args_t a)                          \
    {                                                                                              \
        run<reduction<type, op_##op>>(a);                                                          \
    }

EVERY_KERNEL
