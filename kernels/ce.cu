/* kernels/ce.cu - sums what copy engines bring, chunk by chunk: a kernel for each type and
 * operation, one launch a call. See ce.h for the rings and their flags.
 *
 *     wait for every sender's chunk --> sum own input and all rings --> output --> free the chunk
 *
 * All blocks share each chunk. They wait for copy engines, the own and the peers', and these wait
 * for the last block to be through with a chunk where a message is longer than the ring: so all
 * blocks must be resident at once, as those of the other kernels. Else those that have started use
 * up the ring, and wait for those that have not.
 * The sum goes in rank order, with the operations of reduce.cuh: the bits of the one-shot plan, on
 * every rank.
 */
#include "kernels/ce.h"
#include "kernels/bytes.cuh"
#include "kernels/every.cuh"
#include "kernels/ll.h"
#include "kernels/perturb.cuh"
#include "kernels/reduce.cuh"
#include "kernels/scrub.cuh"

#define POLLS                                                                                      \
    1024 /* looks at a flag between two looks at the abort word, which is across the bus */

#ifdef PIPC_PERTURB
#define DROPPED_CE(a, wait) ((a).drop_ce == (wait))
#else
#define DROPPED_CE(a, wait) false
#endif

/* A chunk: where it lies in the message and in every ring, and its end in bytes of all calls. */
struct ce_chunk {
    size_t at, in_ring;
    uint32_t bytes;
    uint64_t end;
};

/* --- waiting --------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint64_t *flag_at(const pipc__ce_args_t &a, size_t at)
{
    return (uint64_t *)(void *)(a.head + at);
}

/* Late is not dead: there is no limit of time, only the abort word. A flag that has come counts
 * even when the word is set, hence the second look. */
static __device__ bool wait_flag(const pipc__ce_args_t &a, const uint64_t *flag, uint64_t end)
{
    for (uint32_t polls = 1; load_acquire(flag) < end; polls++)
        if (polls % POLLS == 0 && load_acquire(a.abort) && load_acquire(flag) < end)
            return false;
    return true;
}

/* Of all threads that give up, the first one tells where. Own copies that don't come to their end
 * wait for the same peer. */
static __device__ void report(const pipc__ce_args_t &a, uint32_t peer)
{
    if (atomicExch(&a.state->dead, 1))
        return;
    *a.stalled_round = 0;
    store_release(a.stalled_step, PIPC__STALL(a.plan_id, 0, a.wait_step[peer]));
}

/* A warp's threads look at the peers' flags, a thread each; these begin at @at. */
static __device__ bool wait_peers(const pipc__ce_args_t &a, size_t at, uint64_t end)
{
    uint32_t peer = threadIdx.x % 32;

    if (peer >= a.nranks || peer == a.rank ||
        wait_flag(a, flag_at(a, at + PIPC__CE_FLAG(peer)), end))
        return true;
    report(a, peer);
    return false;
}

/* False, for the whole block, when a wait was given up. */
static __device__ bool wait_chunk(const pipc__ce_args_t &a, const ce_chunk &k, uint32_t lane)
{
    const uint32_t warp = threadIdx.x / 32;
    bool come = true;

    if (warp == 0 && !DROPPED_CE(a, PIPC__CE_WAIT_CAME))
        come = wait_peers(a, PIPC__CE_CAME(0, lane), k.end);
    if (warp == 1 && a.in_place && !DROPPED_CE(a, PIPC__CE_WAIT_GONE))
        come = wait_peers(a, PIPC__CE_GONE(0, lane), k.end);
    return !__syncthreads_or(!come);
}

/* The caller may write its input again when the kernel has ended: one block sees to that. */
static __device__ bool wait_input(const pipc__ce_args_t &a, uint32_t chunks, uint64_t end)
{
    const uint32_t lane = threadIdx.x / 32;
    bool gone = true;

    if (lane < a.lanes && lane < chunks && !DROPPED_CE(a, PIPC__CE_WAIT_END))
        gone = wait_peers(a, PIPC__CE_GONE(0, lane), end);
    return !__syncthreads_or(!gone);
}

/* --- summing --------------------------------------------------------------------------------- */

static __device__ __forceinline__ const char *source(const pipc__ce_args_t &a, const ce_chunk &k,
                                                     uint32_t q)
{
    return q == a.rank ? a.send + k.at : a.ring[q] + k.in_ring;
}

/* This block's part of the chunk in whole packs of 16 bytes: from *first up to what is returned. */
static __device__ uint32_t part_of(uint32_t packs, uint32_t *first)
{
    uint32_t each = (packs / gridDim.x + 32) / 32 * 32;
    uint32_t at = blockIdx.x * each;

    *first = at < packs ? at : packs;
    return packs - *first < each ? packs : *first + each;
}

/* There are two sources at least, and often no more: both are loaded at once. In place a thread
 * has read its packs of all sources before it writes. */
template <class R>
static __device__ void sum_aligned(const pipc__ce_args_t &a, const ce_chunk &k, uint32_t packs)
{
    const share s = {a.nth, a.nranks, a.reciprocal};
    uint32_t first;
    const uint32_t end = part_of(packs, &first);

#pragma unroll 1
    for (uint32_t i = first + threadIdx.x; i < end; i += R::unroll * PIPC__CE_THREADS) {
        uint4 v[R::unroll], w[R::unroll];
        R r[R::unroll];
        load_packs<R::unroll, PIPC__CE_THREADS>(v, source(a, k, 0), i, end);
        load_packs<R::unroll, PIPC__CE_THREADS>(w, source(a, k, 1), i, end);
#pragma unroll
        for (int u = 0; u < R::unroll; u++) {
            r[u].first(v[u], true, s);
            r[u].next(w[u], true, s);
        }
#pragma unroll 1
        for (uint32_t q = 2; q < a.nranks; q++) {
            load_packs<R::unroll, PIPC__CE_THREADS>(v, source(a, k, q), i, end);
#pragma unroll
            for (int u = 0; u < R::unroll; u++)
                r[u].next(v[u], true, s);
        }
        char *to = a.recv + k.at + (size_t)16 * i;
#pragma unroll
        for (int u = 0; u < R::unroll; u++)
            if (i + u * PIPC__CE_THREADS < end)
                store_16(to + 16 * u * PIPC__CE_THREADS, r[u].last(true, s));
    }
}

/* The same from pack @from on, for any alignment and any end. */
template <class R>
static __device__ void sum_any(const pipc__ce_args_t &a, const ce_chunk &k, uint32_t from)
{
    const share s = {a.nth, a.nranks, a.reciprocal};
    const uint32_t all = gridDim.x * PIPC__CE_THREADS;

#pragma unroll 1
    for (uint32_t i = 16 * (from + blockIdx.x * PIPC__CE_THREADS + threadIdx.x); i < k.bytes;
         i += 16 * all) {
        uint32_t n = k.bytes - i < 16 ? k.bytes - i : 16;
        R r;
        r.first(load_any(source(a, k, 0) + i, n), true, s);
#pragma unroll 1
        for (uint32_t q = 1; q < a.nranks; q++)
            r.next(load_any(source(a, k, q) + i, n), true, s);
        store_any(a.recv + k.at + i, r.last(true, s), n);
    }
}

/* Chunks begin at whole units: what a message's start allows, each chunk's does. */
template <class R> static __device__ void sum_chunk(const pipc__ce_args_t &a, const ce_chunk &k)
{
    uint32_t packs = ((uintptr_t)a.send | (uintptr_t)a.recv) & 15 ? 0 : k.bytes / 16;

    sum_aligned<R>(a, k, packs);
    sum_any<R>(a, k, packs);
}

/* --- a call ---------------------------------------------------------------------------------- */

static __device__ void free_rings(const pipc__ce_args_t &a, uint64_t end)
{
    for (uint32_t q = 0; q < a.nranks; q++)
        if (q != a.rank)
            store_release(a.room[q], end);
}

/* The last block to be through with a chunk frees it. Flags only ever grow: who frees the next
 * chunk has heard of this block's count there, which follows this store. The last thread does it,
 * since the first ones look out for the next chunk already. */
static __device__ void free_chunk(const pipc__ce_args_t &a, const ce_chunk &k, uint32_t number)
{
    uint32_t *counters = (uint32_t *)(void *)(a.head + PIPC__CE_COUNTERS_AT);

    __syncthreads();
    if (threadIdx.x != PIPC__CE_THREADS - 1)
        return;
    __threadfence();
    if (atomicInc(&counters[number % PIPC__CE_COUNTERS], gridDim.x - 1) == gridDim.x - 1)
        free_rings(a, k.end);
}

/* The last block moves the number of calls on, which the next launch may wait for. A block that
 * gave up comes here too, or such a launch would wait for ever; it frees nothing. */
static __device__ void end(const pipc__ce_args_t &a, uint64_t at, bool alive)
{
    __syncthreads();
    if (threadIdx.x)
        return;
    __threadfence();
    if (atomicInc(&a.state->arrived, gridDim.x - 1) != gridDim.x - 1)
        return;
    uint64_t call = *(volatile uint64_t *)&a.state->calls + 1;
    if (alive && !a.frees)
        free_rings(a, at);
    scrub(a, call);
    __threadfence();
    *(volatile uint64_t *)&a.state->calls = call;
}

static __device__ ce_chunk next_chunk(const pipc__ce_args_t &a, size_t done, uint64_t at)
{
    ce_chunk k;

    k.at = done;
    k.bytes = (uint32_t)pipc__ce_chunk(a.bytes - done, a.most, a.least);
    at = pipc__ce_begin(at, k.bytes, a.ring_bytes);
    k.in_ring = at % a.ring_bytes;
    k.end = pipc__ce_end(at, k.bytes);
    return k;
}

template <class R> static __device__ void run(const pipc__ce_args_t &a)
{
    bool alive = !__syncthreads_or(threadIdx.x == 0 && *(volatile uint32_t *)&a.state->dead);
    uint64_t at = a.at;
    uint32_t number = 0;

    for (size_t done = 0; alive && done < a.bytes; number++) {
        const ce_chunk k = next_chunk(a, done, at);
        DELAY(a, k.end, 0);
        alive = wait_chunk(a, k, number % a.lanes);
        DELAY(a, k.end, 1);
        if (alive)
            sum_chunk<R>(a, k);
        if (alive && a.frees)
            free_chunk(a, k, number);
        done += k.bytes;
        at = k.end;
    }
    if (alive && blockIdx.x == 0)
        alive = wait_input(a, number, at);
    end(a, at, alive);
}

#define KERNEL(op, type)                                                                           \
    extern "C" __global__ void __launch_bounds__(PIPC__CE_THREADS, 1)                              \
        pipc__ce_##op##_##type(const __grid_constant__ pipc__ce_args_t a)                          \
    {                                                                                              \
        run<reduction<type, op_##op>>(a);                                                          \
    }

EVERY_KERNEL
