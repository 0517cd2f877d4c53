/* kernels/ll128.cu - all-reduce of middle sizes, a flag in each line: a kernel for each type and
 * operation, one launch a call. See ll128.h for lines, rows and tiles.
 *
 *     first tile: load, push to every peer --> load the next one --> first tile: take rank 0's,
 *     1's, ... as they come, sum, store --> the next one: push --> load the one behind it --> ...
 *
 * A warp does its tiles alone and meets nobody until the kernel's end. What it pushes ahead of what
 * it takes is bounded: stores wait for the link in the same queues that loads go through, so the
 * more of them there are, the later comes what is to be summed. A warp of two tiles pushes both at
 * once, since nothing would go out while it sums; one of more pushes a tile when it has summed the
 * one before (doc/measurements.md). No circle of ranks can wait: of all tiles that some rank has
 * not pushed yet take the first one; its warp waits, if at all, for one before it, which all have
 * pushed. That holds whatever their grids are. A thread loads a unit before it stores there, so in
 * place is safe. The sum goes in rank order, with the operations of reduce.cuh: the bits of the
 * one-shot plan, on every rank.
 */
#include "kernels/ll128.h"
#include "kernels/bytes.cuh"
#include "kernels/every.cuh"
#include "kernels/perturb.cuh"
#include "kernels/ptx.cuh"
#include "kernels/reduce.cuh"
#include "kernels/scrub.cuh"
#include "kernels/trace.cuh"

#define POLLS 1024 /* looks at a tile between two looks at the abort word, across the bus */
#define UNIT 16
#define ROW (PIPC__LL128_TILE_BYTES / 2)

/* A thread of its warp. */
struct lane {
    uint32_t number;
    bool flag; /* its second word of each row is a flag */
};

/* What a lane has of a tile: two units, or one in two halves. */
struct units {
    uint32_t first, second; /* numbers in the message; of a flag's lane there is no second */
};

/* The words of a lane in a tile's rows, as they travel. */
struct rows {
    uint64_t w[4];
};

/* A call's constants. */
struct line_call {
    uint64_t number;
    size_t area; /* bytes from area 0 */
};

static __device__ __forceinline__ units units_of(const lane &l, uint32_t tile)
{
    const uint32_t base = tile * PIPC__LL128_UNITS, data = l.number - l.number / 8;

    if (l.flag)
        return {base + 56 + l.number / 8, 0};
    return {base + data, base + 28 + data};
}

/* The message may end within a tile. */
static __device__ __forceinline__ uint32_t bytes_of(const pipc__ll128_args_t &a, uint32_t unit)
{
    const size_t at = (size_t)unit * UNIT;

    return at >= a.bytes ? 0 : a.bytes - at < UNIT ? (uint32_t)(a.bytes - at) : UNIT;
}

static __device__ __forceinline__ uint4 load_unit(const pipc__ll128_args_t &a, uint32_t unit)
{
    const uint32_t n = bytes_of(a, unit);

    return n ? load_any(a.send + (size_t)unit * UNIT, n) : make_uint4(0, 0, 0, 0);
}

/* A lane's units of a tile; one that has a flag has the same twice. */
struct input {
    uint4 first, second;
};

static __device__ __forceinline__ input load_input(const pipc__ll128_args_t &a, const lane &l,
                                                   uint32_t tile)
{
    const units u = units_of(l, tile);
    const uint4 v = load_unit(a, u.first);

    return {v, l.flag ? v : load_unit(a, u.second)};
}

static __device__ __forceinline__ uint64_t low(uint4 v)
{
    return (uint64_t)v.y << 32 | v.x;
}

static __device__ __forceinline__ uint64_t high(uint4 v)
{
    return (uint64_t)v.w << 32 | v.z;
}

static __device__ __forceinline__ uint4 unit_from(uint64_t lo, uint64_t hi)
{
    return make_uint4((uint32_t)lo, (uint32_t)(lo >> 32), (uint32_t)hi, (uint32_t)(hi >> 32));
}

/* Where word @i of a lane's rows lies in a tile. */
static __device__ __forceinline__ size_t word_at(const lane &l, int i)
{
    return (size_t)(i / 2) * ROW + l.number * UNIT + i % 2 * sizeof(uint64_t);
}

template <class P>
static __device__ __forceinline__ P *slot_of(P *first, const line_call &k, uint32_t tile)
{
    return first + k.area + (size_t)tile * PIPC__LL128_TILE_BYTES;
}

#ifdef PIPC_PERTURB
/* Number @which of a lane's two: its four words of four bytes, each with the line's flag. */
static __device__ void trace_words(const pipc__ll128_args_t &a, const lane &l, bool write, int reg,
                                   int which, const char *p, uint64_t flag, bool seen)
{
    for (int k = 0; k < 4; k++) {
        const int w = l.flag ? k / 2 * 2 : 2 * which + k / 2;
        const char *at = p + word_at(l, w) + 4 * (k % 2);
        if (write)
            TRACE_WORD_WRITE(a, reg, 4 * k, at, flag);
        else
            TRACE_WORD_READ(a, reg, 4 * k, at, flag, seen);
    }
}

static __device__ void trace_push(const pipc__ll128_args_t &a, const line_call &k, const lane &l,
                                  uint32_t tile, uint32_t unit, int which)
{
    if (!bytes_of(a, unit))
        return;
    TRACE_READ(a, OF_OWN, a.send + (size_t)unit * UNIT, bytes_of(a, unit));
    for (uint32_t i = 0; i < a.nranks - 1; i++)
        trace_words(a, l, true, OF_OWN, which, slot_of(a.to[i], k, tile), k.number, true);
}

/* Behind all waits. */
static __device__ void trace_sum_of(const pipc__ll128_args_t &a, const line_call &k, const lane &l,
                                    uint32_t tile, uint32_t unit, int which)
{
    if (!bytes_of(a, unit))
        return;
    TRACE_READ(a, OF_OWN, a.send + (size_t)unit * UNIT, bytes_of(a, unit));
    for (uint32_t q = 0; q < a.nranks; q++) {
        if (q != a.rank)
            trace_words(a, l, false, OF_PEER, which, slot_of(a.from[q], k, tile), k.number,
                        !DROPPED(a, 0, a.wait_step[q]));
        TRACE_SUM(a, q == 0, q == a.rank ? OF_OWN : OF_PEER);
    }
    TRACE_WRITE(a, OF_SUM, a.recv + (size_t)unit * UNIT, bytes_of(a, unit));
}
#define TRACE_PUSH(...) trace_push(__VA_ARGS__)
#define TRACE_SUM_OF(...) trace_sum_of(__VA_ARGS__)
#else
#define TRACE_PUSH(...) ((void)0)
#define TRACE_SUM_OF(...) ((void)0)
#endif

/* --- pushing --------------------------------------------------------------------------------- */

/* By the whole warp: lines have to be stored at once. */
static __device__ __forceinline__ void push(const pipc__ll128_args_t &a, const line_call &k,
                                            const lane &l, uint32_t tile, const input &in)
{
    const rows r = {{low(in.first), l.flag ? k.number : high(in.first),
                     l.flag ? high(in.first) : low(in.second),
                     l.flag ? k.number : high(in.second)}};

#pragma unroll 1
    for (uint32_t i = 0; i < a.nranks - 1; i++) {
        char *p = slot_of(a.to[i], k, tile);
        __syncwarp();
        store_line(p + word_at(l, 0), r.w[0], r.w[1]);
        store_line(p + word_at(l, 2), r.w[2], r.w[3]);
    }
    TRACE_PUSH(a, k, l, tile, units_of(l, tile).first, 0);
    if (!l.flag)
        TRACE_PUSH(a, k, l, tile, units_of(l, tile).second, 1);
}

/* --- waiting and summing --------------------------------------------------------------------- */

static __device__ __forceinline__ bool fresh(const pipc__ll128_args_t &a, uint64_t got,
                                             uint64_t number)
{
#ifdef PIPC_PERTURB
    if (a.one_area && got > number) /* or it would wait for what was overwritten */
        return true;
#endif
    return got == number;
}

static __device__ __forceinline__ bool look(const pipc__ll128_args_t &a, const line_call &k,
                                            const lane &l, const char *p, rows &r)
{
    __syncwarp();
    load_line(p + word_at(l, 0), &r.w[0], &r.w[1]);
    load_line(p + word_at(l, 2), &r.w[2], &r.w[3]);
    return warp_all(!l.flag || (fresh(a, r.w[1], k.number) && fresh(a, r.w[3], k.number)));
}

/* Late is not dead: no limit of time, only the abort word. A tile that has come counts even when
 * the word is set, hence the second look. Of all that give up the first one tells where. */
static __device__ bool wait_tile(const pipc__ll128_args_t &a, const line_call &k, const lane &l,
                                 const char *p, uint32_t q, rows &r)
{
    for (uint32_t polls = 1; !look(a, k, l, p, r); polls++)
        if (polls % POLLS == 0 && !warp_all(!load_acquire(a.abort)) && !look(a, k, l, p, r)) {
            if (l.number == 0 && !atomicExch(&a.state->dead, 1)) {
                *a.stalled_round = 0;
                store_release(a.stalled_step, PIPC__STALL(a.plan_id, 0, a.wait_step[q]));
            }
            return false;
        }
    return true;
}

static __device__ __forceinline__ void store_unit(const pipc__ll128_args_t &a, uint32_t unit,
                                                  uint4 v)
{
    const uint32_t n = bytes_of(a, unit);

    if (n)
        store_any(a.recv + (size_t)unit * UNIT, v, n);
}

/* False, for the whole warp, when given up. */
template <class R>
static __device__ __forceinline__ bool sum(const pipc__ll128_args_t &a, const line_call &k,
                                           const lane &l, uint32_t tile, const input &in)
{
    const share s = {a.nth, a.nranks, a.reciprocal};
    const units u = units_of(l, tile);
    R first, second;

#pragma unroll 1
    for (uint32_t q = 0; q < a.nranks; q++) {
        uint4 x = in.first, y = in.second;
        if (q != a.rank) {
            const char *p = slot_of(a.from[q], k, tile);
            rows r;
            if (DROPPED(a, 0, a.wait_step[q]))
                look(a, k, l, p, r);
            else if (!wait_tile(a, k, l, p, q, r))
                return false;
            x = unit_from(r.w[0], l.flag ? r.w[2] : r.w[1]);
            y = unit_from(r.w[2], r.w[3]);
        }
        if (q == 0) {
            first.first(x, true, s);
            second.first(y, true, s);
        } else {
            first.next(x, true, s);
            second.next(y, true, s);
        }
    }
    TRACE_SUM_OF(a, k, l, tile, u.first, 0);
    store_unit(a, u.first, first.last(true, s));
    if (!l.flag) {
        TRACE_SUM_OF(a, k, l, tile, u.second, 1);
        store_unit(a, u.second, second.last(true, s));
    }
    return true;
}

/* --- a block's life -------------------------------------------------------------------------- */

/* The last block moves the number on; as in ll.cu. */
static __device__ void end(const pipc__ll128_args_t &a, uint64_t number)
{
    __syncthreads();
    if (threadIdx.x == 0 &&
        (gridDim.x == 1 || atomicInc(&a.state->arrived, gridDim.x - 1) == gridDim.x - 1))
        *(volatile uint64_t *)&a.state->calls = number;
}

template <class R> static __device__ __forceinline__ void run(const pipc__ll128_args_t &a)
{
    const uint32_t tiles = pipc__ll128_tiles(a.bytes);
    /* Tiles in turns among the blocks: where some warps have one more than others, all
     * multiprocessors have as many. */
    const uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    const uint32_t step = gridDim.x * blockDim.x / 32;
    const lane l = {threadIdx.x % 32, threadIdx.x % 8 == 7};
    line_call k;

    if (!DROPPED(a, 0, PIPC__GRID_STEP))
        grid_wait();
    input in = load_input(a, l, warp), next = in;
    const bool ahead = tiles <= 2 * step;
    k.number = *(volatile uint64_t *)&a.state->calls + 1;
    /* A warp has to be of one mind, and another one may give up at any moment. */
    const bool dead = !warp_all(!*(volatile uint32_t *)&a.state->dead);
    k.area = AREA(a, k.number) * a.area_bytes;
    DELAY(a, k.number, 0);
    if (warp < tiles && !dead)
        push(a, k, l, warp, in);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        scrub(a, k.number);
        trace_scrub(a, k.number);
    }
    DELAY(a, k.number, 1);
#pragma unroll 1
    for (uint32_t tile = warp; tile < tiles && !dead; tile += step) {
        const bool more = tile + step < tiles;
        if (more)
            next = load_input(a, l, tile + step);
        if (more && ahead)
            push(a, k, l, tile + step, next);
        if (!sum<R>(a, k, l, tile, in))
            break;
        if (more && !ahead)
            push(a, k, l, tile + step, next);
        in = next;
    }
    end(a, k.number);
}

#define KERNEL(op, type)                                                                           \
    extern "C" __global__ void __launch_bounds__(PIPC__LL128_THREADS_MOST, 1)                      \
        pipc__ll128_##op##_##type(const __grid_constant__ pipc__ll128_args_t a)                    \
    {                                                                                              \
        run<reduction<type, op_##op>>(a);                                                          \
    }

EVERY_KERNEL
