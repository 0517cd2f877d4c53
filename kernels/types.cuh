/* kernels/types.cuh - element types: 16 bytes of elements, and what accumulates them.
 *
 * A type has
 *     acc             what one element accumulates in
 *     count           elements in 16 bytes
 *     state           16 bytes' worth of accumulators, kept between two sources
 *     open, close     16 bytes of elements <-> state; close rounds
 *     unpack, pack    state <-> acc[count]
 * For most types a state is the 16 bytes as they are; bytes in registers of their own would be too
 * many. 16-bit floats accumulate in binary32 and round once.
 */
#ifndef PIPC_KERNELS_TYPES_CUH
#define PIPC_KERNELS_TYPES_CUH

#include <stdint.h>

#include "kernels/ptx.cuh"

template <typename V> struct plain {
    typedef V acc;
    typedef uint4 state;
    static const int elem_bytes = sizeof(V), count = 16 / sizeof(V);

    union both {
        uint4 words;
        V v[count];
    };
    static __device__ __forceinline__ state open(uint4 x)
    {
        return x;
    }
    static __device__ __forceinline__ uint4 close(const state &s)
    {
        return s;
    }
    static __device__ __forceinline__ void unpack(const state &s, V *v)
    {
        both b = {s};

#pragma unroll
        for (int i = 0; i < count; i++)
            v[i] = b.v[i];
    }
    static __device__ __forceinline__ state pack(const V *v)
    {
        both b;

#pragma unroll
        for (int i = 0; i < count; i++)
            b.v[i] = v[i];
        return b.words;
    }
};

typedef plain<float> f32;
typedef plain<double> f64;
typedef plain<int8_t> i8;
typedef plain<uint8_t> u8;
typedef plain<int32_t> i32;
typedef plain<uint32_t> u32;
typedef plain<int64_t> i64;
typedef plain<uint64_t> u64;

/* Two elements of a 16-bit float in a word, H says which. */
struct half_words {
    static __device__ __forceinline__ float2 widen(uint32_t two)
    {
        return half2_to_floats(two);
    }
    static __device__ __forceinline__ uint32_t narrow(float x, float y)
    {
        return floats_to_half2(x, y);
    }
};

struct bfloat16_words {
    static __device__ __forceinline__ float2 widen(uint32_t two)
    {
        return make_float2(__uint_as_float(two << 16), __uint_as_float(two & 0xffff0000u));
    }
    static __device__ __forceinline__ uint32_t narrow(float x, float y)
    {
        return floats_to_bfloat162(x, y);
    }
};

template <class H> struct short_float {
    typedef float acc;
    static const int elem_bytes = 2, count = 8;

    struct state {
        float v[count];
    };
    static __device__ __forceinline__ state open(uint4 x)
    {
        const uint32_t w[4] = {x.x, x.y, x.z, x.w};
        state s;

#pragma unroll
        for (int i = 0; i < 4; i++) {
            float2 f = H::widen(w[i]);
            s.v[2 * i] = f.x;
            s.v[2 * i + 1] = f.y;
        }
        return s;
    }
    static __device__ __forceinline__ uint4 close(const state &s)
    {
        return make_uint4(H::narrow(s.v[0], s.v[1]), H::narrow(s.v[2], s.v[3]),
                          H::narrow(s.v[4], s.v[5]), H::narrow(s.v[6], s.v[7]));
    }
    static __device__ __forceinline__ void unpack(const state &s, float *v)
    {
#pragma unroll
        for (int i = 0; i < count; i++)
            v[i] = s.v[i];
    }
    static __device__ __forceinline__ state pack(const float *v)
    {
        state s;

#pragma unroll
        for (int i = 0; i < count; i++)
            s.v[i] = v[i];
        return s;
    }
};

typedef short_float<half_words> f16;
typedef short_float<bfloat16_words> bf16;

#endif
