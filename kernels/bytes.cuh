/* kernels/bytes.cuh - loads and stores: 16 bytes where the address allows it, else what it allows;
 * flags with their memory order.
 *
 * Data is loaded past the first-level cache (.cg): staging, on the GPU or on the host, is written by
 * peers while the kernel runs. By the memory model the acquire of a flag would do; .cg costs nothing, since every byte is
 * read once. Never ld.global.nc, which may return what was there before the flag.
 */
#ifndef PIPC_KERNELS_BYTES_CUH
#define PIPC_KERNELS_BYTES_CUH

#include <stdint.h>

static __device__ __forceinline__ void store_release(uint64_t *p, uint64_t v)
{
    asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

/* For a reader on the same GPU. Causality order is transitive over scopes: what the reader then
 * releases to the system covers what came before this. */
static __device__ __forceinline__ void store_release_gpu(uint64_t *p, uint64_t v)
{
    asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

static __device__ __forceinline__ uint64_t load_acquire(const uint64_t *p)
{
    uint64_t v;

    asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
    return v;
}

static __device__ __forceinline__ uint4 load_16(const char *p)
{
    uint4 v;

    asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}

static __device__ __forceinline__ void store_16(char *p, uint4 v)
{
    asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
}

static __device__ __forceinline__ uint32_t load_4(const char *p)
{
    uint32_t v;

    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

static __device__ __forceinline__ uint32_t load_2(const char *p)
{
    uint16_t v;

    asm volatile("ld.global.cg.u16 %0, [%1];" : "=h"(v) : "l"(p) : "memory");
    return v;
}

static __device__ __forceinline__ uint32_t load_1(const char *p)
{
    uint32_t v;

    asm volatile("ld.global.cg.u8 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

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
                *(uint32_t *)(p + 4 * k) = w[k];
    } else if (unit == 2) {
#pragma unroll
        for (int k = 0; k < 8; k++)
            if (2 * k < n)
                *(uint16_t *)(p + 2 * k) = (uint16_t)(w[k / 2] >> 16 * (k % 2));
    } else {
#pragma unroll
        for (int k = 0; k < 16; k++)
            if (k < n)
                *(uint8_t *)(p + k) = (uint8_t)(w[k / 4] >> 8 * (k % 4));
    }
}

#endif
