/* kernels/ptx.cuh - all that the kernels say in PTX, each word a function: accesses and their
 * memory order, conversions, the clock. A test that runs kernels on the CPU puts a file of its own
 * in this one's place (tests/emulate).
 *
 * Data is loaded past the first-level cache (.cg): staging, on the GPU or on the host, is written
 * by peers while the kernel runs. By the memory model the acquire of a flag would do; .cg costs
 * nothing, since every byte is read once. Never ld.global.nc, which may return what was there
 * before the flag.
 */
#ifndef PIPC_KERNELS_PTX_CUH
#define PIPC_KERNELS_PTX_CUH

#include <stdint.h>

/* --- flags ----------------------------------------------------------------------------------- */

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

/* No order but that of one word. */
static __device__ __forceinline__ void store_relaxed(uint64_t *p, uint64_t v)
{
    asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

/* LL's packets, two words of data and flag. By the memory model a vector access is one access for
 * each of its words, in any order: a word and its flag stay together because they are one 64-bit
 * word. */
static __device__ __forceinline__ void store_packet(char *p, uint64_t a, uint64_t b)
{
    asm volatile("st.relaxed.sys.global.v2.b64 [%0], {%1,%2};" ::"l"(p), "l"(a), "l"(b) : "memory");
}

static __device__ __forceinline__ void load_packet(const char *p, uint64_t *a, uint64_t *b)
{
    asm volatile("ld.relaxed.sys.global.v2.b64 {%0,%1}, [%2];"
                 : "=l"(*a), "=l"(*b)
                 : "l"(p)
                 : "memory");
}

/* LL128's lines: 16 bytes of each lane, by all lanes of a warp at once; eight lanes make a line.
 * The same accesses as a packet's, of which more is taken for granted: see ll128.h. */
static __device__ __forceinline__ void store_line(char *p, uint64_t a, uint64_t b)
{
    store_packet(p, a, b);
}

static __device__ __forceinline__ void load_line(const char *p, uint64_t *a, uint64_t *b)
{
    load_packet(p, a, b);
}

/* --- the stream ------------------------------------------------------------------------------ */

/* Until the kernels before this one on the stream have ended and what they wrote is there. Every
 * thread begins with it, for the launch may have begun sooner (exec/cuda_launch.c); if it has not,
 * there is nothing to wait for. Code for older GPUs has no such wait and is never launched so. */
static __device__ __forceinline__ void grid_wait()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* --- data ------------------------------------------------------------------------------------ */

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

static __device__ __forceinline__ void store_4(char *p, uint32_t v)
{
    *(uint32_t *)(void *)p = v;
}

static __device__ __forceinline__ void store_2(char *p, uint32_t v)
{
    *(uint16_t *)(void *)p = (uint16_t)v;
}

static __device__ __forceinline__ void store_1(char *p, uint32_t v)
{
    *(uint8_t *)p = (uint8_t)v;
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

/* --- 16-bit floats, two in a word --------------------------------------------------------------
 */

/* PTX and not cuda_fp16.h, cuda_bf16.h: three conversions do not pay for those headers. */
static __device__ __forceinline__ float2 half2_to_floats(uint32_t two)
{
    float2 f;

    asm("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, %2; cvt.f32.f16 %0, lo; cvt.f32.f16 %1, hi; }"
        : "=f"(f.x), "=f"(f.y)
        : "r"(two));
    return f;
}

static __device__ __forceinline__ uint32_t floats_to_half2(float x, float y)
{
    uint32_t two;

    asm("{ .reg .b16 lo, hi; cvt.rn.f16.f32 lo, %1; cvt.rn.f16.f32 hi, %2; mov.b32 %0, {lo, hi}; }"
        : "=r"(two)
        : "f"(x), "f"(y));
    return two;
}

#if __CUDA_ARCH__ >= 800
static __device__ __forceinline__ uint32_t floats_to_bfloat162(float x, float y)
{
    uint32_t two;

    asm("cvt.rn.bf16x2.f32 %0, %2, %1;" : "=r"(two) : "f"(x), "f"(y)); /* high half first */
    return two;
}
#else
/* To nearest, ties to even; a NaN must not be rounded, which could carry it to infinity. */
static __device__ __forceinline__ uint32_t round_to_bfloat16(float f)
{
    uint32_t bits = __float_as_uint(f);

    return f != f ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

static __device__ __forceinline__ uint32_t floats_to_bfloat162(float x, float y)
{
    return round_to_bfloat16(x) | round_to_bfloat16(y) << 16;
}
#endif

/* --- groups of a block ------------------------------------------------------------------------ */

/* @threads of the block, whole warps, meet at barrier @id, 1 .. 15. */
static __device__ __forceinline__ void barrier(uint32_t id, uint32_t threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* The same; true for all of them if @yes was for one. */
static __device__ __forceinline__ bool barrier_or(uint32_t id, uint32_t threads, bool yes)
{
    uint32_t any;

    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %3, 0; bar.red.or.pred q, %1, %2, p; "
                 "selp.u32 %0, 1, 0, q; }"
                 : "=r"(any)
                 : "r"(id), "r"(threads), "r"((uint32_t)yes)
                 : "memory");
    return any;
}

/* What another thread of the block changes meanwhile. */
static __device__ __forceinline__ uint32_t load_shared(const volatile uint32_t *p)
{
    return *p;
}

static __device__ __forceinline__ bool warp_all(bool yes)
{
    return __all_sync(0xffffffffu, yes);
}

/* --- bulk copies --------------------------------------------------------------------------------
 *
 * Global memory to shared memory and on, by an engine of the multiprocessor (PTX ISA, "Asynchronous
 * copy: cp.async.bulk"), sm_90 and newer. One thread does it all. Addresses and lengths are
 * multiples of 16.
 */
#if __CUDA_ARCH__ >= 900
#define PIPC__BULK 1

struct bulk_stage {
    char *data;       /* shared memory, 128 bytes aligned */
    uint64_t *loaded; /* an mbarrier there */
    uint32_t phase;
};

static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void bulk_init(bulk_stage &s)
{
    s.phase = 0;
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(s.loaded)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* The stage is free: bulk_wait_stores() saw to that. A message's end may leave nothing to copy
 * here, and a copy of 0 bytes is not defined. */
static __device__ __forceinline__ void bulk_load(bulk_stage &s, const char *src, uint32_t bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(s.loaded)),
        "r"(bytes)
        : "memory");
    if (bytes)
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
            "%2, [%3];" ::"r"(shared_address(s.data)),
            "l"(src), "r"(bytes), "r"(shared_address(s.loaded))
            : "memory");
}

static __device__ __forceinline__ void bulk_wait_load(bulk_stage &s)
{
    uint32_t done = 0;

    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; "
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_address(s.loaded)), "r"(s.phase)
                     : "memory");
    s.phase ^= 1;
}

static __device__ __forceinline__ void bulk_store(char *dst, const bulk_stage &s, uint32_t bytes)
{
    if (bytes)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(dst),
                     "r"(shared_address(s.data)), "r"(bytes)
                     : "memory");
}

/* Until what this thread has stored is there, visible to it: what it then releases covers that. */
static __device__ __forceinline__ void bulk_wait_stores()
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
#else
#define PIPC__BULK 0
#endif

/* --- the clock ---------------------------------------------------------------------------------
 */

static __device__ __forceinline__ uint64_t nanoseconds()
{
    uint64_t t;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

#endif
