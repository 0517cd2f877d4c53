/* kernels/probe.cu - does data that one GPU writes reach another one whole, and how fast?
 *
 * pipc__probe is the runtime's probe, see exec/cuda_probe.c. The others measure for pcie-ipc-p2p.
 */
#include "kernels/bytes.cuh"
#include "kernels/probe.h"
#include "kernels/ptx.cuh"

#define POLLS 256 /* looks at a flag before one at host memory */

/* The pack of 16 bytes at place @i of the pattern @seed: splitmix64, which maps different places to
 * different words, so data in the wrong place is seen as well as data that is not there. */
static __device__ __forceinline__ uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static __device__ __forceinline__ uint4 pattern(uint64_t seed, uint64_t i)
{
    uint64_t a = mix(seed + 2 * i), b = mix(seed + 2 * i + 1);

    return make_uint4((uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32));
}

static __device__ __forceinline__ bool differ(uint4 a, uint4 b)
{
    return a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w;
}

/* --- the runtime's probe --------------------------------------------------------------------- */

/* Every thread fences what it wrote; a fence by the thread that signals orders its own writes
 * alone. */
static __device__ void push(const pipc__probe_job_t &job, uint64_t token)
{
    char *data = job.slot + PIPC__PROBE_HEAD;

    for (uint32_t i = threadIdx.x; i < job.bytes / 16; i += PIPC__PROBE_THREADS) {
        uint4 v = pattern(job.seed, i);
#ifdef PIPC_PERTURB
        if (job.fault == PIPC__PROBE_FLIPS && i == job.bytes / 32)
            v.y ^= 1;
#endif
        store_16(data + (size_t)16 * i, v);
    }
    __threadfence_system();
    __syncthreads();
#ifdef PIPC_PERTURB
    if (job.fault == PIPC__PROBE_SILENT)
        return;
#endif
    if (threadIdx.x == 0)
        store_release((uint64_t *)job.slot, token);
}

/* No limit of time here: the host's clock starts when the writer is through and this block runs,
 * and the host's word ends the wait. */
static __device__ bool wait_for_flag(const pipc__probe_args_t &a, const uint64_t *flag)
{
    for (uint32_t polls = 1; load_acquire(flag) != a.token; polls++)
        if (polls % POLLS == 0 &&
            (load_acquire(&a.page->stop) == a.token || (a.abort && load_acquire(a.abort))))
            return load_acquire(flag) == a.token;
    return true;
}

static __device__ void check(const pipc__probe_args_t &a, const pipc__probe_job_t &job,
                             pipc__probe_result_t *result)
{
    __shared__ unsigned int came, wrong, first;

    if (threadIdx.x == 0) {
        came = wait_for_flag(a, (const uint64_t *)job.slot);
        wrong = 0;
        first = ~0u;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; came && i < job.bytes / 16; i += PIPC__PROBE_THREADS)
        if (differ(load_16(job.slot + PIPC__PROBE_HEAD + (size_t)16 * i), pattern(job.seed, i))) {
            atomicAdd(&wrong, 1u);
            atomicMin(&first, i);
        }
    __syncthreads();
    if (threadIdx.x == 0) {
        result->came = came;
        result->wrong = wrong;
        result->first = first;
    }
}

extern "C" __global__ void __launch_bounds__(PIPC__PROBE_THREADS)
    pipc__probe(const __grid_constant__ pipc__probe_args_t a)
{
    const pipc__probe_job_t &job = a.job[blockIdx.x];
    pipc__probe_result_t *result = &a.page->job[blockIdx.x];

    if (threadIdx.x == 0)
        store_release(&result->started, a.token);
    if (job.check)
        check(a, job, result);
    else
        push(job, a.token);
    __syncthreads();
    if (threadIdx.x == 0)
        store_release(&result->done, a.token); /* after what thread 0 stored above */
}

/* --- measurements ----------------------------------------------------------------------------
 *
 * Buffers are @packs of 16 bytes; a grid of any size. */

#define GRID_LOOP(i, packs)                                                                        \
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < (packs);                    \
         i += (size_t)gridDim.x * blockDim.x)

/* Write the pattern @seed to @to, @times over. */
extern "C" __global__ void pipc__p2p_fill(char *to, size_t packs, uint64_t seed, int times)
{
    for (int k = 0; k < times; k++)
        GRID_LOOP(i, packs)
    store_16(to + 16 * i, pattern(seed, i));
    __threadfence_system();
}

/* Copy @from to @to, @times over: a push where @to is a peer's memory, a pull where @from is. Four
 * packs a thread are under way at once: a link's latency times its rate is more than one each. */
extern "C" __global__ void pipc__p2p_copy(char *to, const char *from, size_t packs, int times)
{
    size_t threads = (size_t)gridDim.x * blockDim.x;
    size_t self = (size_t)blockIdx.x * blockDim.x + threadIdx.x;

    for (int k = 0; k < times; k++)
        for (size_t at = self; at < packs; at += 4 * threads) {
            uint4 v[4];
#pragma unroll
            for (int q = 0; q < 4; q++)
                if (at + q * threads < packs)
                    v[q] = load_16(from + 16 * (at + q * threads));
#pragma unroll
            for (int q = 0; q < 4; q++)
                if (at + q * threads < packs)
                    store_16(to + 16 * (at + q * threads), v[q]);
        }
    __threadfence_system();
}

extern "C" __global__ void pipc__p2p_check(const char *at, size_t packs, uint64_t seed,
                                           pipc__probe_count_t *count)
{
    GRID_LOOP(i, packs)
    if (differ(load_16(at + 16 * i), pattern(seed, i))) {
        atomicAdd(&count->wrong, 1ull);
        atomicMax(&count->first, ~(unsigned long long)i);
    }
}

/* Round trips of a flag: each side sets the other's and waits for its own. One thread; the side
 * that @begins counts. Ends early, with *result 0, when @stop in host memory is set. */
extern "C" __global__ void pipc__p2p_pingpong(uint64_t *mine, uint64_t *peers, int times,
                                              int begins, const uint64_t *stop, uint64_t *result)
{
    uint64_t begin = 0, end;

    for (int k = 0; k < times; k++) {
        if (k == times / 10) /* the first ones are not counted */
            begin = nanoseconds();
        if (begins)
            store_release(peers, (uint64_t)k + 1);
        for (uint32_t polls = 1; load_acquire(mine) < (uint64_t)k + 1; polls++)
            if (polls % (16 * POLLS) == 0 && load_acquire(stop))
                return;
        if (!begins)
            store_release(peers, (uint64_t)k + 1);
    }
    end = nanoseconds();
    store_release(result, (end - begin) / (uint64_t)(times - times / 10)); /* ns a round trip */
}
