/* kernels/sum.cuh - accumulators: 16 bytes of elements, summed one source after the other.
 *
 * Each has set(first source), add(next source), get(): the rounded 16 bytes.
 */
#ifndef PIPC_KERNELS_SUM_CUH
#define PIPC_KERNELS_SUM_CUH

#include <stdint.h>

struct sum_f32 {
    static const int elem_bytes = 4;
    float v[4];

    __device__ __forceinline__ void set(uint4 x)
    {
        v[0] = __uint_as_float(x.x);
        v[1] = __uint_as_float(x.y);
        v[2] = __uint_as_float(x.z);
        v[3] = __uint_as_float(x.w);
    }
    __device__ __forceinline__ void add(uint4 x)
    {
        v[0] += __uint_as_float(x.x);
        v[1] += __uint_as_float(x.y);
        v[2] += __uint_as_float(x.z);
        v[3] += __uint_as_float(x.w);
    }
    __device__ __forceinline__ uint4 get() const
    {
        return make_uint4(__float_as_uint(v[0]), __float_as_uint(v[1]), __float_as_uint(v[2]),
                          __float_as_uint(v[3]));
    }
};

/* Unsigned: sums wrap modulo 2^32. */
struct sum_i32 {
    static const int elem_bytes = 4;
    uint4 v;

    __device__ __forceinline__ void set(uint4 x)
    {
        v = x;
    }
    __device__ __forceinline__ void add(uint4 x)
    {
        v.x += x.x;
        v.y += x.y;
        v.z += x.z;
        v.w += x.w;
    }
    __device__ __forceinline__ uint4 get() const
    {
        return v;
    }
};

/* binary16 accumulates in binary32 and rounds once, in get(). PTX and not cuda_fp16.h: two
 * conversions do not pay for that header. */
static __device__ __forceinline__ float2 widen(uint32_t two)
{
    float2 f;

    asm("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %2; cvt.f32.f16 %0, lo; cvt.f32.f16 %1, hi; }"
        : "=f"(f.x), "=f"(f.y)
        : "r"(two));
    return f;
}

static __device__ __forceinline__ uint32_t narrow(float2 f)
{
    uint32_t two;

    asm("{ .reg .b16 lo, hi; cvt.rn.f16.f32 lo, %1; cvt.rn.f16.f32 hi, %2; mov.b32 %0, {lo, hi}; }"
        : "=r"(two)
        : "f"(f.x), "f"(f.y));
    return two;
}

struct sum_f16 {
    static const int elem_bytes = 2;
    float2 v[4];

    __device__ __forceinline__ void set(uint4 x)
    {
        v[0] = widen(x.x);
        v[1] = widen(x.y);
        v[2] = widen(x.z);
        v[3] = widen(x.w);
    }
    static __device__ __forceinline__ void add_two(float2 *to, uint32_t two)
    {
        float2 f = widen(two);

        to->x += f.x;
        to->y += f.y;
    }
    __device__ __forceinline__ void add(uint4 x)
    {
        add_two(&v[0], x.x);
        add_two(&v[1], x.y);
        add_two(&v[2], x.z);
        add_two(&v[3], x.w);
    }
    __device__ __forceinline__ uint4 get() const
    {
        return make_uint4(narrow(v[0]), narrow(v[1]), narrow(v[2]), narrow(v[3]));
    }
};

#endif
