/* tests/emulate/ptx.cuh - stands in for kernels/ptx.cuh when kernels run on the CPU. Included
 * before them, and with the same guard, so that theirs is empty.
 */
#ifndef PIPC_KERNELS_PTX_CUH
#define PIPC_KERNELS_PTX_CUH

#include <stdint.h>

#include "runtime/base/bfloat16.h"
#include "runtime/base/half.h"
#include "tests/emulate/cuda.h"

/* --- flags ----------------------------------------------------------------------------------- */

static inline void store_release(uint64_t *p, uint64_t v)
{
    emulated_release();
    emulated_store(p, v, 8);
}

static inline void store_release_gpu(uint64_t *p, uint64_t v)
{
    store_release(p, v);
}

static inline void store_relaxed(uint64_t *p, uint64_t v)
{
    emulated_store(p, v, 8);
}

static inline void fence_system()
{
    emulated_release();
}

static inline uint64_t load_acquire(const uint64_t *p)
{
    return emulated_load(p, 8);
}

static inline void store_packet(char *p, uint64_t a, uint64_t b)
{
    emulated_store(p, a, 8);
    emulated_store(p + 8, b, 8);
}

/* The second word first: it may come in any order, and this one finds more. */
static inline void load_packet(const char *p, uint64_t *a, uint64_t *b)
{
    *b = emulated_load(p + 8, 8);
    *a = emulated_load(p, 8);
}

/* One kernel at a time. */
static inline void grid_wait()
{
}

/* A line is one thing: its flag lands behind the rest of it, and is looked at before. */
static inline bool ends_line(const char *p)
{
    return (uintptr_t)p % 128 == 112;
}

static inline void meet_for_line()
{
    if (!emulated_torn())
        emulated_meet(16 + threadIdx.x / 32, 32, false);
}

static inline void store_line(char *p, uint64_t a, uint64_t b)
{
    emulated_store(p, a, 8);
    if (!ends_line(p))
        emulated_store(p + 8, b, 8);
    meet_for_line();
    if (ends_line(p))
        emulated_store(p + 8, b, 8);
}

static inline void load_line(const char *p, uint64_t *a, uint64_t *b)
{
    if (ends_line(p))
        *b = emulated_load(p + 8, 8);
    meet_for_line();
    *a = emulated_load(p, 8);
    if (!ends_line(p))
        *b = emulated_load(p + 8, 8);
}

/* --- data ------------------------------------------------------------------------------------ */

static inline uint32_t load_4(const char *p)
{
    return (uint32_t)emulated_load(p, 4);
}

static inline uint32_t load_2(const char *p)
{
    return (uint32_t)emulated_load(p, 2);
}

static inline uint32_t load_1(const char *p)
{
    return (uint32_t)emulated_load(p, 1);
}

static inline uint4 load_16(const char *p)
{
    uint4 v;

    v.x = load_4(p);
    v.y = load_4(p + 4);
    v.z = load_4(p + 8);
    v.w = load_4(p + 12);
    return v;
}

static inline void store_4(char *p, uint32_t v)
{
    emulated_store(p, v, 4);
}

static inline void store_2(char *p, uint32_t v)
{
    emulated_store(p, v, 2);
}

static inline void store_1(char *p, uint32_t v)
{
    emulated_store(p, v, 1);
}

static inline void store_16(char *p, uint4 v)
{
    store_4(p, v.x);
    store_4(p + 4, v.y);
    store_4(p + 8, v.z);
    store_4(p + 12, v.w);
}

/* --- 16-bit floats, two in a word ------------------------------------------------------------ */

static inline float2 half2_to_floats(uint32_t two)
{
    return make_float2(pipc__half_to_float((uint16_t)two),
                       pipc__half_to_float((uint16_t)(two >> 16)));
}

static inline uint32_t floats_to_half2(float x, float y)
{
    return pipc__float_to_half(x) | (uint32_t)pipc__float_to_half(y) << 16;
}

static inline uint32_t floats_to_bfloat162(float x, float y)
{
    return pipc__float_to_bfloat16(x) | (uint32_t)pipc__float_to_bfloat16(y) << 16;
}

/* --- groups of a block ----------------------------------------------------------------------- */

static inline void barrier(uint32_t id, uint32_t threads)
{
    emulated_meet(id, threads, false);
}

static inline bool barrier_or(uint32_t id, uint32_t threads, bool yes)
{
    return emulated_meet(id, threads, yes);
}

static inline uint32_t load_shared(const volatile uint32_t *p)
{
    emulated_yield();
    return *p;
}

static inline bool warp_all(bool yes)
{
    return !emulated_meet(16 + threadIdx.x / 32, 32, !yes);
}

/* --- bulk copies: the CPU has none ----------------------------------------------------------- */

#define PIPC__BULK 0

/* --- the clock ------------------------------------------------------------------------------- */

static inline uint64_t nanoseconds()
{
    static uint64_t t;

    return t += 100;
}

#endif
