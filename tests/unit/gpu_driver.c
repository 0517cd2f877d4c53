/* tests/unit/gpu_driver.c - what prolog/gpu_driver.h says of the CUDA driver is what cuda.h says:
 * the compiler compares
 */
#include <cuda.h>
#include <stdio.h>

#include "prolog/gpu_driver.h"

#define SAME_FUNCTION(member, symbol, args)                                                        \
    _Static_assert(_Generic((__typeof__(&(symbol)))0,                                              \
                            __typeof__(((pipc__gpu_driver_t *)0)->member) : 1, default : 0),       \
                   #symbol);
PIPC__GPU_FUNCTIONS(SAME_FUNCTION)

#define SAME_VALUE(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME_VALUE(PIPC__GPU_SUCCESS, CUDA_SUCCESS);
SAME_VALUE(PIPC__GPU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
SAME_VALUE(PIPC__GPU_NOT_READY, CUDA_ERROR_NOT_READY);
SAME_VALUE(PIPC__GPU_PEER_ENABLED, CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
SAME_VALUE(PIPC__GPU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
SAME_VALUE(PIPC__GPU_EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING);
SAME_VALUE(PIPC__GPU_HOST_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);
SAME_VALUE(PIPC__GPU_P2P_NATIVE_ATOMICS, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED);

int main(void)
{
    puts("1..1\nok 1 - cuda.h has the same types and values");
    return 0;
}
