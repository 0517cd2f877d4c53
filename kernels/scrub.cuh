/* kernels/scrub.cuh - what every kernel but LL's own does for LL, once a call: its flags must not
 * grow old while other kernels run. ll.h says why and why this packet.
 */
#ifndef PIPC_KERNELS_SCRUB_CUH
#define PIPC_KERNELS_SCRUB_CUH

#include "kernels/ll.h"
#include "kernels/ptx.cuh"
#include "kernels/trace.cuh"

static __device__ size_t scrub_at(uint64_t call)
{
    return call % 2 * PIPC__LL_AREA_BYTES + pipc__ll_scrub_at(call);
}

/* By one thread, in call number @call. */
template <class A> static __device__ void scrub(const A &a, uint64_t call)
{
    const uint64_t word = (uint64_t)(uint32_t)call << 32;

    for (int i = 0; i < 2; i++)
        if (a.scrub[i])
            store_packet(a.scrub[i] + scrub_at(call), word, word);
}

/* The same, for the replayer. */
template <class A> static __device__ __forceinline__ void trace_scrub(const A &a, uint64_t call)
{
    for (int i = 0; i < 2; i++)
        for (int w = 0; a.scrub[i] && w < 2; w++)
            TRACE_WORD_WRITE(a, PIPC__TRACE_NOTHING, 0, a.scrub[i] + scrub_at(call) + 8 * w,
                             (uint32_t)call);
}

#endif
