/* kernels/reduce.cuh - operations on accumulators, and the reduction of 16 bytes from one source
 * after the other: first(), next(), ..., last(). The same bits as runtime/exec/reduce.c's, but for
 * the payload of a NaN.
 */
#ifndef PIPC_KERNELS_REDUCE_CUH
#define PIPC_KERNELS_REDUCE_CUH

#include "kernels/allreduce.h"
#include "kernels/types.cuh"

/* Intrinsics, because a product and a sum that the compiler fuses would round only once. */
static __device__ __forceinline__ float add(float a, float b)
{
    return __fadd_rn(a, b);
}
static __device__ __forceinline__ double add(double a, double b)
{
    return __dadd_rn(a, b);
}
static __device__ __forceinline__ float multiply(float a, float b)
{
    return __fmul_rn(a, b);
}
static __device__ __forceinline__ double multiply(double a, double b)
{
    return __dmul_rn(a, b);
}

/* Integers wrap: computed without sign and cut to their width. */
template <typename V> static __device__ __forceinline__ V add(V a, V b)
{
    return (V)((uint64_t)a + (uint64_t)b);
}
template <typename V> static __device__ __forceinline__ V multiply(V a, V b)
{
    return (V)((uint64_t)a * (uint64_t)b);
}

/* For floats PTX's minimum and maximum: a lone NaN is dropped, -0 is less than +0. */
static __device__ __forceinline__ float least(float a, float b)
{
    return fminf(a, b);
}
static __device__ __forceinline__ double least(double a, double b)
{
    return fmin(a, b);
}
static __device__ __forceinline__ float greatest(float a, float b)
{
    return fmaxf(a, b);
}
static __device__ __forceinline__ double greatest(double a, double b)
{
    return fmax(a, b);
}
template <typename V> static __device__ __forceinline__ V least(V a, V b)
{
    return b < a ? b : a;
}
template <typename V> static __device__ __forceinline__ V greatest(V a, V b)
{
    return b > a ? b : a;
}

/* 1/n for floats; n and its reciprocal, floor((2^64 - 1) / n), for integers. */
struct share {
    double nth;
    uint32_t n;
    uint64_t reciprocal;
};

static __device__ __forceinline__ float scale(float x, const share &s)
{
    return multiply(x, (float)s.nth);
}
static __device__ __forceinline__ double scale(double x, const share &s)
{
    return multiply(x, s.nth);
}
template <typename V> static __device__ __forceinline__ V scale(V x, const share &)
{
    return x;
}

static __device__ __forceinline__ uint32_t high_half(uint32_t a, uint64_t reciprocal)
{
    return __umulhi(a, (uint32_t)(reciprocal >> 32)); /* floor((2^32 - 1) / n) */
}
static __device__ __forceinline__ uint64_t high_half(uint64_t a, uint64_t reciprocal)
{
    return __umul64hi(a, reciprocal);
}

static __device__ __forceinline__ float divide(float x, const share &)
{
    return x;
}
static __device__ __forceinline__ double divide(double x, const share &)
{
    return x;
}

template <int BYTES> struct magnitude {
    typedef uint32_t type;
};
template <> struct magnitude<8> {
    typedef uint64_t type;
};

/* Towards zero. The product with the reciprocal is the quotient or one less. */
template <typename V> static __device__ __forceinline__ V divide(V x, const share &s)
{
    typedef typename magnitude<sizeof(V)>::type U;
    const bool is_signed = (V)-1 < (V)1;
    bool negative = is_signed && (U)x >> (8 * sizeof(U) - 1);
    U m = negative ? (U)0 - (U)x : (U)x;
    U q = high_half(m, s.reciprocal);

    q += m - q * s.n >= s.n;
    return (V)(negative ? (U)0 - q : q);
}

/* --- operations ------------------------------------------------------------------------------ */

struct op_sum {
    static const bool averages = false;
    template <typename A> static __device__ __forceinline__ A both(A a, A b)
    {
        return add(a, b);
    }
};
struct op_prod {
    static const bool averages = false;
    template <typename A> static __device__ __forceinline__ A both(A a, A b)
    {
        return multiply(a, b);
    }
};
struct op_min {
    static const bool averages = false;
    template <typename A> static __device__ __forceinline__ A both(A a, A b)
    {
        return least(a, b);
    }
};
struct op_max {
    static const bool averages = false;
    template <typename A> static __device__ __forceinline__ A both(A a, A b)
    {
        return greatest(a, b);
    }
};
struct op_avg {
    static const bool averages = true;
    template <typename A> static __device__ __forceinline__ A both(A a, A b)
    {
        return add(a, b);
    }
};

template <class T, class O> struct reduction {
    static const int elem_bytes = T::elem_bytes;
    static const bool averages = O::averages;
    /* Accumulators take registers: bytes while they are worked on, 16-bit floats all the time. */
    static const int unroll = T::count > 8 ? 2 : T::count == 8 ? 3 : 4;
    /* In a block of 768 threads, which have 80 registers each. */
    static const int push_unroll = T::count > 8                   ? 1
                                   : T::count == 8                ? 2
                                   : T::count == 2 || O::averages ? 3
                                                                  : 4;
    typename T::state state;

    /* @pre: this source gets the pre-op, which is the average's alone. */
    static __device__ __forceinline__ typename T::state load(uint4 x, bool pre, const share &s)
    {
        typename T::state in = T::open(x);
        typename T::acc v[T::count];

        if (!O::averages || !pre)
            return in;
        T::unpack(in, v);
#pragma unroll
        for (int i = 0; i < T::count; i++)
            v[i] = scale(v[i], s);
        return T::pack(v);
    }
    __device__ __forceinline__ void first(uint4 x, bool pre, const share &s)
    {
        state = load(x, pre, s);
    }
    __device__ __forceinline__ void next(uint4 x, bool pre, const share &s)
    {
        typename T::acc a[T::count], b[T::count];

        T::unpack(state, a);
        T::unpack(load(x, pre, s), b);
#pragma unroll
        for (int i = 0; i < T::count; i++)
            a[i] = O::both(a[i], b[i]);
        state = T::pack(a);
    }
    /* The rounded elements; @post: they are complete. */
    __device__ __forceinline__ uint4 last(bool post, const share &s)
    {
        typename T::acc v[T::count];

        if (O::averages && post) {
            T::unpack(state, v);
#pragma unroll
            for (int i = 0; i < T::count; i++)
                v[i] = divide(v[i], s);
            state = T::pack(v);
        }
        return T::close(state);
    }
};

#endif
