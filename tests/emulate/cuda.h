/* tests/emulate/cuda.h - what a kernel's source finds of CUDA C when it is compiled as C++ for the
 * CPU. Included before it. Only what the kernels use.
 */
#ifndef TESTS_EMULATE_CUDA_H
#define TESTS_EMULATE_CUDA_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tests/emulate/emulate.h"

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ thread_local /* see emulate.c */

#define threadIdx (emulated_now->thread)
#define blockIdx (emulated_now->block)
#define blockDim (emulated_now->threads)
#define gridDim (emulated_now->blocks)

struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct float2 {
    float x, y;
};

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return uint4{x, y, z, w};
}
static inline float2 make_float2(float x, float y)
{
    return float2{x, y};
}

static inline float __uint_as_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}
static inline uint32_t __float_as_uint(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static inline float __fadd_rn(float a, float b)
{
    return a + b;
}
static inline double __dadd_rn(double a, double b)
{
    return a + b;
}
static inline float __fmul_rn(float a, float b)
{
    return a * b;
}
static inline double __dmul_rn(double a, double b)
{
    return a * b;
}
static inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
    return (uint32_t)((uint64_t)a * b >> 32);
}
static inline uint64_t __umul64hi(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b >> 64);
}

/* --- threads --------------------------------------------------------------------------------- */

static inline void __syncthreads()
{
    emulated_meet(0, blockDim.x, false);
}
static inline bool __syncthreads_or(bool yes)
{
    return emulated_meet(0, blockDim.x, yes);
}
static inline void __syncwarp()
{
    emulated_meet(16 + threadIdx.x / 32, 32, false);
}
static inline void __threadfence()
{
    emulated_release();
}
static inline void __nanosleep(unsigned int)
{
    emulated_yield();
}
static inline uint32_t atomicExch(uint32_t *p, uint32_t v)
{
    emulated_yield();
    uint32_t old = *p;
    *p = v;
    return old;
}
static inline uint32_t atomicInc(uint32_t *p, uint32_t most)
{
    emulated_yield();
    uint32_t old = *p;
    *p = old >= most ? 0 : old + 1;
    return old;
}

#endif
