/* kernels/allreduce.cu - runs a rank's program on its GPU: a kernel for each type and
 * operation, one launch a call.
 *
 * A plan over nodes takes two launches a round, and NCCL's between them.
 *
 * Every block is a stage of a lane and runs that stage's program on the lane's part of each chunk,
 * round after round; lanes never wait for each other. A lane waits for the same lane of its peers
 * and its stages for each other, so the whole grid must be resident at once: the host launches no
 * more blocks than that.
 *
 * Order within a stage: the threads of a block share the work of a step by their number, and two
 * steps may share it differently, so that
 *   - between any two steps that move data there is a barrier (in two-shot a copy pushes the output
 *     that the sum before it wrote);
 *   - between data and the signal for it there is one: the release of one thread covers what the
 *     others wrote only because they met first. A fence in every thread without the barrier would
 *     not do;
 *   - after a wait there is one: the others may go on only when the thread that polls has seen it.
 */
#include "kernels/allreduce.h"
#include "kernels/bytes.cuh"
#include "kernels/every.cuh"
#include "kernels/ll.h"
#include "kernels/perturb.cuh"
#include "kernels/reduce.cuh"
#include "kernels/scrub.cuh"

#define COPY_UNROLL 8 /* 16-byte accesses in flight a thread */
#define POLLS                                                                                      \
    1024 /* looks at a flag between two looks at the abort word, which is across the bus */

/* What a block knows about its round. */
struct lane_round {
    uint32_t lane, nlanes;
    uint64_t round;      /* its number over all calls */
    size_t first, count; /* the piece of the message, in elements */
    pipc__split_t split;
};

static __device__ int stage_of(const pipc__lane_args_t &a)
{
    return blockIdx.x % a.nstages;
}

static __device__ char *memory_of(const pipc__lane_args_t &a, int rank, int place)
{
    return place == PIPC__HOST ? a.host[rank] : a.staging[rank];
}

/* The flag of @rank, in this lane and round, that a SIGNAL or WAIT means. */
static __device__ uint64_t *flag_of(const pipc__lane_args_t &a, const lane_round &k, int rank,
                                    const pipc__op_t &op)
{
    uint32_t set = k.lane * PIPC__BUFFERS + (uint32_t)(k.round % PIPC__BUFFERS);
    size_t index = (size_t)set * PIPC__FLAGS_MAX + op.flag;

    return (uint64_t *)(memory_of(a, rank, op.dst.place) + index * PIPC__FLAG_BYTES);
}

/* This lane's part of @ref; @at_bytes is where the part begins in the round's piece. */
static __device__ char *address(const pipc__lane_args_t &a, const lane_round &k, pipc__ref_t ref,
                                size_t at_bytes)
{
    if (ref.place == PIPC__INPUT)
        return (char *)a.send + at_bytes;
    if (ref.place == PIPC__OUTPUT)
        return a.recv + at_bytes;
    return memory_of(a, ref.rank, ref.place) + PIPC__FLAGS_BYTES + AREA(a, k.round) * a.area_bytes +
           ((size_t)ref.slot * k.nlanes + k.lane) * a.slot_bytes;
}

static __device__ share share_of(const pipc__lane_args_t &a)
{
    return share{a.nth, a.nranks, a.reciprocal};
}

/* --- moving data ----------------------------------------------------------------------------- */

static __device__ void copy_aligned(char *dst, const char *src, uint32_t packs)
{
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < packs; i += COPY_UNROLL * PIPC__LANE_THREADS) {
        uint4 v[COPY_UNROLL];
        load_packs<COPY_UNROLL, PIPC__LANE_THREADS>(v, src, i, packs);
        store_packs<COPY_UNROLL, PIPC__LANE_THREADS>(dst, v, i, packs);
    }
}

/* The same from byte 16 * @first on, for any alignment and any end. */
static __device__ void copy_any(char *dst, const char *src, uint32_t first, size_t bytes)
{
#pragma unroll 1
    for (size_t at = (size_t)16 * (first + threadIdx.x); at < bytes;
         at += 16 * PIPC__LANE_THREADS) {
        uint32_t n = bytes - at < 16 ? (uint32_t)(bytes - at) : 16;
        store_any(dst + at, load_any(src + at, n), n);
    }
}

static __device__ void copy_part(char *dst, const char *src, size_t bytes)
{
    uint32_t packs = ((uintptr_t)dst | (uintptr_t)src) & 15 ? 0 : (uint32_t)(bytes / 16);

    copy_aligned(dst, src, packs);
    copy_any(dst, src, packs, bytes);
}

/* dst = src[0] op src[1] op ... in the program's order, which makes the result the same bits on
 * every rank. dst may be one of the sources: a thread reads its packs of all sources before it
 * writes. There are two sources at least, and in most plans no more: both are loaded at once. */
template <class R>
static __device__ void reduce_aligned(const pipc__lane_args_t &a, const lane_round &k,
                                      const pipc__op_t &op, size_t at, char *dst, uint32_t packs)
{
    const share s = share_of(a);

#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < packs; i += R::unroll * PIPC__LANE_THREADS) {
        uint4 v[R::unroll], w[R::unroll];
        R r[R::unroll];
        load_packs<R::unroll, PIPC__LANE_THREADS>(v, address(a, k, op.src[0], at), i, packs);
        load_packs<R::unroll, PIPC__LANE_THREADS>(w, address(a, k, op.src[1], at), i, packs);
#pragma unroll
        for (int q = 0; q < R::unroll; q++) {
            r[q].first(v[q], op.pre & 1, s);
            r[q].next(w[q], op.pre >> 1 & 1, s);
        }
#pragma unroll 1
        for (int n = 2; n < op.nsrc; n++) {
            load_packs<R::unroll, PIPC__LANE_THREADS>(v, address(a, k, op.src[n], at), i, packs);
#pragma unroll
            for (int q = 0; q < R::unroll; q++)
                r[q].next(v[q], op.pre >> n & 1, s);
        }
#pragma unroll
        for (int q = 0; q < R::unroll; q++)
            v[q] = r[q].last(op.post, s);
        store_packs<R::unroll, PIPC__LANE_THREADS>(dst, v, i, packs);
    }
}

template <class R>
static __device__ void reduce_any(const pipc__lane_args_t &a, const lane_round &k,
                                  const pipc__op_t &op, size_t at, char *dst, uint32_t first,
                                  size_t bytes)
{
    const share s = share_of(a);

#pragma unroll 1
    for (size_t i = (size_t)16 * (first + threadIdx.x); i < bytes; i += 16 * PIPC__LANE_THREADS) {
        uint32_t n = bytes - i < 16 ? (uint32_t)(bytes - i) : 16;
        R r;
        r.first(load_any(address(a, k, op.src[0], at) + i, n), op.pre & 1, s);
#pragma unroll 1
        for (int m = 1; m < op.nsrc; m++)
            r.next(load_any(address(a, k, op.src[m], at) + i, n), op.pre >> m & 1, s);
        store_any(dst + i, r.last(op.post, s), n);
    }
}

template <class R>
static __device__ void reduce_part(const pipc__lane_args_t &a, const lane_round &k,
                                   const pipc__op_t &op, size_t at, char *dst, size_t bytes)
{
    uintptr_t low = (uintptr_t)dst;

#pragma unroll 1
    for (int s = 0; s < op.nsrc; s++)
        low |= (uintptr_t)address(a, k, op.src[s], at);
    uint32_t packs = low & 15 ? 0 : (uint32_t)(bytes / 16);
    reduce_aligned<R>(a, k, op, at, dst, packs);
    reduce_any<R>(a, k, op, at, dst, packs, bytes);
}

template <class R>
static __device__ void copy_or_reduce(const pipc__lane_args_t &a, const lane_round &k,
                                      const pipc__op_t &op)
{
    size_t at;
    size_t bytes = pipc__split_part(k.split, k.count, op.chunk, k.lane, &at) * R::elem_bytes;

    if (!bytes)
        return; /* and at may lie behind the message's end */
    at = (k.first + at) * R::elem_bytes;
    char *dst = address(a, k, op.dst, at);
    if (op.nsrc > 1) {
        reduce_part<R>(a, k, op, at, dst, bytes);
        return;
    }
    /* A reduction of one source is that of one rank: its pre- and post-op change nothing, unless it
     * is one of many nodes'. */
    if (R::averages && op.kind == PIPC__REDUCE && a.half != PIPC__WHOLE && (op.pre || op.post)) {
        reduce_any<R>(a, k, op, at, dst, 0, bytes);
        return;
    }
    const char *src = address(a, k, op.src[0], at);
    if (dst != src)
        copy_part(dst, src, bytes);
}

/* --- waiting --------------------------------------------------------------------------------- */

/* Late is not dead: there is no limit of time, only the abort word. A flag that has come counts
 * even when the word is set, hence the second look. */
static __device__ bool wait_flag(const pipc__lane_args_t &a, const uint64_t *flag, uint64_t round)
{
    for (uint32_t polls = 1; load_acquire(flag) < round; polls++)
        if (polls % POLLS == 0 && load_acquire(a.abort) && load_acquire(flag) < round)
            return false;
    return true;
}

/* A stage that waits for another one of its rank gives up over what that one waits for: let it tell
 * where, 10 ms should do. */
static __device__ void let_others_report(const pipc__lane_args_t &a)
{
    for (int i = 0; i < 100 && !*(volatile uint32_t *)&a.state->dead; i++)
        __nanosleep(100000);
}

/* Of all threads that give up, the first one tells where. The epoch is still that of the call's
 * start, since this block is not through: to look again here saves the registers to keep it. */
static __device__ void report(const pipc__lane_args_t &a, const lane_round &k, int step)
{
    if (atomicExch(&a.state->dead, 1))
        return;
    *a.stalled_round = k.round - *(volatile uint64_t *)&a.state->epoch - 1 + a.rounds_before;
    store_release(a.stalled_step,
                  PIPC__STALL(a.plan_id, stage_of(a), a.from[stage_of(a)] + step));
}

/* @n waits in a row, steps @step .. @step + n - 1, are one wait: a thread polls each. False, for
 * the whole block, when one was given up. */
static __device__ bool wait_all(const pipc__lane_args_t &a, const lane_round &k,
                                const pipc__op_t *op, int n, int step)
{
    int i = threadIdx.x;
    bool gave_up = false;

    if (i < n && !DROPPED(a, stage_of(a), a.from[stage_of(a)] + step + i)) {
        gave_up = !wait_flag(a, flag_of(a, k, a.rank, op[i]), k.round);
        if (gave_up && op[i].peer == a.rank)
            let_others_report(a);
        if (gave_up)
            report(a, k, step + i);
    }
    return !__syncthreads_or(gave_up);
}

/* Waits in a row from @op on, no more than a warp has threads. */
static __device__ int count_waits(const pipc__op_t *op, int left)
{
    int n = 1;

    while (n < left && n < 32 && op[n].kind == PIPC__WAIT)
        n++;
    return n;
}

/* --- a block's life -------------------------------------------------------------------------- */

static __device__ void signal(const pipc__lane_args_t &a, const lane_round &k, const pipc__op_t &op)
{
    uint64_t *flag = flag_of(a, k, op.peer, op);

    if (op.peer == a.rank && op.dst.place == PIPC__SLOT)
        store_release_gpu(flag, k.round);
    else
        store_release(flag, k.round);
}

template <class R>
static __device__ bool run_round(const pipc__lane_args_t &a, const lane_round &k,
                                 const pipc__op_t *program, int nops)
{
    bool met = true; /* a barrier stands between the last data that was moved and here */

    for (int i = 0; i < nops;) {
        const pipc__op_t &op = program[i];
        DELAY(a, k.round, i);
        if (op.kind == PIPC__WAIT) {
            int n = count_waits(&op, nops - i);
            if (!wait_all(a, k, &op, n, i))
                return false;
            met = true;
            i += n;
            continue;
        }
        if (!met) /* a signal behind another one needs none: the same thread gives both */
            __syncthreads();
        met = op.kind == PIPC__SIGNAL;
        if (op.kind != PIPC__SIGNAL)
            copy_or_reduce<R>(a, k, op);
        else if (threadIdx.x == 0)
            signal(a, k, op);
        i++;
    }
    return true;
}

/* Behind the rails' jobs the abort word counts as well: it may be what has ended them, and then the
 * sums are none. To look costs a trip across the bus, so other launches don't. */
static __device__ bool is_dead(const pipc__lane_args_t &a)
{
    return *(volatile uint32_t *)&a.state->dead ||
           (a.half == PIPC__BEHIND && load_acquire(a.abort) != 0);
}

/* The stage's program into shared memory: every step reads it. False for a dead communicator. */
static __device__ bool begin(const pipc__lane_args_t &a, const pipc__op_t *program, int nops,
                             uint32_t *to)
{
    const uint32_t *from = (const uint32_t *)(const void *)program;
    int words = nops * (int)(sizeof(pipc__op_t) / 4);

    static_assert(sizeof(pipc__op_t) % 4 == 0, "ops are copied word by word");
    for (int i = threadIdx.x; i < words; i += PIPC__LANE_THREADS)
        to[i] = from[i];
    /* One thread looks for all: another block may give up at any moment, and the threads of a block
     * must agree, since they meet at barriers. */
    return !__syncthreads_or(threadIdx.x == 0 && is_dead(a));
}

/* The last block moves the epoch on: all others have read it long since. Nobody waits here; the
 * next launch sees the new epoch because it begins when this one has ended, or has seen the number
 * of calls, which is written last. A block that gave up comes here too, or such a launch would
 * wait for ever. */
static __device__ void end(const pipc__lane_args_t &a, uint64_t epoch)
{
    __syncthreads();
    if (threadIdx.x)
        return;
    __threadfence();
    if (atomicInc(&a.state->arrived, gridDim.x - 1) == gridDim.x - 1) {
        uint64_t call = *(volatile uint64_t *)&a.state->calls + 1;
        *(volatile uint64_t *)&a.state->epoch = epoch;
        scrub(a, call);
        __threadfence();
        *(volatile uint64_t *)&a.state->calls = call;
    }
}

/* What a round is, in shared memory: in registers it would take those that moving data needs. Two
 * of them in turns: who is first to the next round writes while others still read this one's. */
template <class R>
static __device__ const lane_round &next_round(const pipc__lane_args_t &a, lane_round two[2],
                                               uint64_t round, size_t first)
{
    lane_round &k = two[round % 2];

    if (threadIdx.x == 0) {
        k.lane = blockIdx.x / a.nstages;
        k.nlanes = gridDim.x / a.nstages;
        k.round = round;
        k.first = first;
        k.count = a.count - first < a.round_elems ? a.count - first : a.round_elems;
        k.split = a.chunk_elems ? pipc__split_chunk(a.chunk_elems, R::elem_bytes, k.nlanes)
                                : pipc__split(k.count, R::elem_bytes, a.nchunks, k.nlanes);
    }
    __syncthreads();
    return k;
}

extern __shared__ uint32_t words[]; /* the stage's program */

template <class R> static __device__ void run(const pipc__lane_args_t &a)
{
    __shared__ lane_round two[2];
    int stage = stage_of(a);
    int nops = a.to[stage] - a.from[stage];

    if (!DROPPED(a, 0, PIPC__GRID_STEP))
        grid_wait();
    bool alive = begin(a, a.program + a.stage_at[stage] + a.from[stage], nops, words);
    uint64_t round = *(volatile uint64_t *)&a.state->epoch;

    for (size_t first = 0; alive && first < a.count; first += a.round_elems) {
        const lane_round &k = next_round<R>(a, two, ++round, first);
        alive = run_round<R>(a, k, (const pipc__op_t *)(const void *)words, nops);
    }
    /* The round goes on in the next launch. */
    end(a, a.half == PIPC__BEFORE ? *(volatile uint64_t *)&a.state->epoch : round);
}

/* --- kernels --------------------------------------------------------------------------------- */

#define KERNEL(op, type)                                                                           \
    extern "C" __global__ void __launch_bounds__(PIPC__LANE_THREADS, 1)                            \
        pipc__allreduce_##op##_##type(const __grid_constant__ pipc__lane_args_t a)                 \
    {                                                                                              \
        run<reduction<type, op_##op>>(a);                                                          \
    }

EVERY_KERNEL
