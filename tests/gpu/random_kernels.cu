/* tests/gpu/random_kernels.cu - fills the buffers of random calls and checks them, a row of blocks
 * a call. See tests/unit/random_values.h, which says what is right. Nothing of kernels/ is used.
 */
#include "tests/unit/random_values.h"

typedef unsigned long long ull; /* what atomics take */

static __device__ bool aligned(uint64_t at, uint64_t elem)
{
    return at % elem == 0;
}

static __device__ uint64_t load(uint64_t at, uint64_t elem)
{
    uint64_t bits = 0;

    if (aligned(at, elem))
        return elem == 8   ? *(const uint64_t *)at
               : elem == 4 ? *(const uint32_t *)at
               : elem == 2 ? *(const uint16_t *)at
                           : *(const uint8_t *)at;
    for (uint64_t i = 0; i < elem; i++)
        bits |= (uint64_t) * (const uint8_t *)(at + i) << 8 * i;
    return bits;
}

static __device__ void store(uint64_t at, uint64_t elem, uint64_t bits)
{
    if (!aligned(at, elem))
        for (uint64_t i = 0; i < elem; i++)
            *(uint8_t *)(at + i) = (uint8_t)(bits >> 8 * i);
    else if (elem == 8)
        *(uint64_t *)at = bits;
    else if (elem == 4)
        *(uint32_t *)at = (uint32_t)bits;
    else if (elem == 2)
        *(uint16_t *)at = (uint16_t)bits;
    else
        *(uint8_t *)at = (uint8_t)bits;
}

static __device__ void poison(uint64_t from, uint64_t to)
{
    for (uint64_t at = from + threadIdx.x; at < to; at += blockDim.x)
        *(uint8_t *)at = RANDOM_POISON;
}

extern "C" __global__ void random_fill(const random_buffers_t *all, int rank)
{
    const random_buffers_t b = all[blockIdx.y];
    uint64_t elem = random_bytes_of(b.dtype), step = (uint64_t)gridDim.x * blockDim.x;

    if (blockIdx.x == 0) {
        poison(b.out_from, b.out);
        poison(b.out + b.count * elem, b.out_end);
    }
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < b.count; i += step) {
        store(b.in + i * elem, elem, random_input(b.dtype, b.op, b.key, (uint64_t)rank, i));
        if (b.in != b.out)
            store(b.out + i * elem, elem, 0x0101010101010101ull * RANDOM_POISON);
    }
}

static __device__ void tell(random_verdict_t *v, uint64_t call, uint64_t byte)
{
    atomicAdd((ull *)&v->wrong, 1ull);
    atomicMin((ull *)&v->first, (ull)(call << 40 | byte));
}

static __device__ void check_poison(const random_buffers_t &b, uint64_t from, uint64_t to,
                                    uint64_t call, random_verdict_t *v)
{
    for (uint64_t at = from + threadIdx.x; at < to; at += blockDim.x)
        if (*(const uint8_t *)at != RANDOM_POISON)
            tell(v, call, at - b.out_from);
}

/* The input must be there still. */
static __device__ bool kept(const random_buffers_t &b, int rank, uint64_t i, uint64_t elem)
{
    return b.in == b.out || random_same(b.dtype, load(b.in + i * elem, elem),
                                        random_input(b.dtype, b.op, b.key, (uint64_t)rank, i));
}

extern "C" __global__ void random_check(const random_buffers_t *all, int rank, int nranks,
                                        random_verdict_t *v)
{
    const random_buffers_t b = all[blockIdx.y];
    uint64_t elem = random_bytes_of(b.dtype), step = (uint64_t)gridDim.x * blockDim.x;
    uint64_t call = blockIdx.y, digest = 0;

    if (blockIdx.x == 0) {
        check_poison(b, b.out_from, b.out, call, v);
        check_poison(b, b.out + b.count * elem, b.out_end, call, v);
    }
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < b.count; i += step) {
        uint64_t got = load(b.out + i * elem, elem);
        digest += random_mix(got ^ random_mix(call << 40 | i));
        if (!random_right(&b, nranks, i, got) || !kept(b, rank, i, elem))
            tell(v, call, b.out - b.out_from + i * elem);
    }
    for (int lane = 16; lane; lane /= 2)
        digest += __shfl_down_sync(~0u, digest, lane);
    if (threadIdx.x % 32 == 0 && digest)
        atomicAdd((ull *)&v->digest, (ull)digest);
}
