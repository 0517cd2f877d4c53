/* kernels/bytes.cuh - loads and stores at any address: 16 bytes where it allows that, else what it
 * allows.
 */
#ifndef PIPC_KERNELS_BYTES_CUH
#define PIPC_KERNELS_BYTES_CUH

#include "kernels/ptx.cuh"

/* The widest unit, 16, 4, 2 or 1 bytes, that divides both an address and a length. */
static __device__ __forceinline__ int unit_of(const char *p, uint32_t n)
{
    uint32_t low = (uint32_t)(uintptr_t)p | n;

    return !(low & 15) ? 16 : !(low & 3) ? 4 : !(low & 1) ? 2 : 1;
}

/* The first @n bytes (1..16) at any address; the others read as 0, and are not touched. The loops
 * are unrolled so that w[] stays in registers and all loads are under way at once. */
static __device__ __forceinline__ uint4 load_any(const char *p, uint32_t n)
{
    uint32_t w[4] = {0, 0, 0, 0};
    int unit = unit_of(p, n);

    if (unit == 16)
        return load_16(p);
    if (unit == 4) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * k < n)
                w[k] = load_4(p + 4 * k);
    } else if (unit == 2) {
#pragma unroll
        for (int k = 0; k < 8; k++)
            if (2 * k < n)
                w[k / 2] |= load_2(p + 2 * k) << 16 * (k % 2);
    } else {
#pragma unroll
        for (int k = 0; k < 16; k++)
            if (k < n)
                w[k / 4] |= load_1(p + k) << 8 * (k % 4);
    }
    return make_uint4(w[0], w[1], w[2], w[3]);
}

static __device__ __forceinline__ void store_any(char *p, uint4 v, uint32_t n)
{
    const uint32_t w[4] = {v.x, v.y, v.z, v.w};
    int unit = unit_of(p, n);

    if (unit == 16) {
        store_16(p, v);
    } else if (unit == 4) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (4 * k < n)
                store_4(p + 4 * k, w[k]);
    } else if (unit == 2) {
#pragma unroll
        for (int k = 0; k < 8; k++)
            if (2 * k < n)
                store_2(p + 2 * k, w[k / 2] >> 16 * (k % 2));
    } else {
#pragma unroll
        for (int k = 0; k < 16; k++)
            if (k < n)
                store_1(p + k, w[k / 4] >> 8 * (k % 4));
    }
}

/* Packs of 16 bytes @i, @i + THREADS, ... of a part that has @packs. All loads of a turn are under
 * way before the first store waits for one of them. */
template <int N, int THREADS>
static __device__ __forceinline__ void load_packs(uint4 *v, const char *part, uint32_t i,
                                                  uint32_t packs)
{
    part += (size_t)16 * i;
#pragma unroll
    for (int q = 0; q < N; q++)
        if (i + q * THREADS < packs)
            v[q] = load_16(part + 16 * q * THREADS);
}

template <int N, int THREADS>
static __device__ __forceinline__ void store_packs(char *part, const uint4 *v, uint32_t i,
                                                   uint32_t packs)
{
    part += (size_t)16 * i;
#pragma unroll
    for (int q = 0; q < N; q++)
        if (i + q * THREADS < packs)
            store_16(part + 16 * q * THREADS, v[q]);
}

#endif
