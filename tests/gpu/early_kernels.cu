/* tests/gpu/early_kernels.cu - a kernel that lets the next one of its stream start before it has
 * written a thing.
 */
#include <stddef.h>
#include <stdint.h>

static __device__ uint64_t nanoseconds()
{
    uint64_t t;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

/* @count floats from @to on become @value, @nsec after the start. */
extern "C" __global__ void early_fill(float *to, size_t count, float value, uint64_t nsec)
{
    const uint64_t end = nanoseconds() + nsec;

#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
    while (nanoseconds() < end)
        ;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        to[i] = value;
}
