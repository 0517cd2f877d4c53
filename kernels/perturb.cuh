/* kernels/perturb.cuh - test builds only: the kernel's side of exec/perturb.h. Every warp is
 * delayed on its own, so that a missing barrier inside a lane shows as well as a missing wait
 * between ranks.
 */
#ifndef PIPC_KERNELS_PERTURB_CUH
#define PIPC_KERNELS_PERTURB_CUH

#include "kernels/allreduce.h"
#include "kernels/ptx.cuh"

#ifdef PIPC_PERTURB

/* splitmix64's finaliser. A hash in place of a generator: there is no state to keep. */
static __device__ uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* One time in four a real delay for a lane, else the protocol would only ever be slow. */
template <class A> static __device__ void delay(const A &a, uint64_t round, int step)
{
    uint64_t lane = mix(a.seed + round * 0x9e3779b97f4a7c15ull +
                        ((uint64_t)step << 32 | (uint64_t)a.rank << 16 | blockIdx.x));
    uint64_t warp = mix(lane + threadIdx.x / 32);

    if (!a.max_usec || lane & 3)
        return;
    uint64_t end = nanoseconds() + warp % (a.max_usec + 1) * 1000;
    while (nanoseconds() < end)
        __nanosleep(200);
}

#define DELAY(args, round, step) delay(args, round, step)
#define DROPPED(args, stage, step) ((step) == (args).drop_step && (stage) == (args).drop_stage)
#define AREA(args, round) ((args).one_area ? 0 : (round) % PIPC__BUFFERS)
#else
#define DELAY(args, round, step) ((void)0)
#define DROPPED(args, stage, step) false
#define AREA(args, round) ((round) % PIPC__BUFFERS)
#endif

#endif
