/* tests/unit/cuda_fake_not.c - what the library of cuda_fake.c has not: every function that the
 * runtime looks for is there, weak, and says CUDA_ERROR_NOT_SUPPORTED where cuda_fake.c has no
 * better one.
 */
#include "runtime/exec/cuda_driver.h"

static CUresult not_supported(void);

__attribute__((used)) static CUresult not_supported(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

#define WEAK(member, symbol) __asm__(".weak " #symbol "\n\t.set " #symbol ", not_supported");
PIPC__CUDA_FUNCTIONS(WEAK)
