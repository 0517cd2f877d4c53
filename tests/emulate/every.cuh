/* tests/emulate/every.cuh - stands in for kernels/every.cuh, as ptx.cuh does: a few kernels, of all
 * kinds of types and of what else differs between operations.
 */
#ifndef PIPC_KERNELS_EVERY_CUH
#define PIPC_KERNELS_EVERY_CUH

#define EVERY_KERNEL                                                                               \
    KERNEL(sum, f32)                                                                               \
    KERNEL(sum, f64)                                                                               \
    KERNEL(sum, f16)                                                                               \
    KERNEL(sum, bf16)                                                                              \
    KERNEL(sum, u8)                                                                                \
    KERNEL(max, i8)                                                                                \
    KERNEL(avg, i32)                                                                               \
    KERNEL(avg, u64)

#endif
