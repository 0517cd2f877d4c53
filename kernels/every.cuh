/* kernels/every.cuh - the pairs of operation and type that have a kernel: EVERY_KERNEL is a
 * KERNEL(op, type) of the file that includes this for each. Sums and products of integers are the same
 * with and without sign.
 */
#ifndef PIPC_KERNELS_EVERY_CUH
#define PIPC_KERNELS_EVERY_CUH

#define KERNELS(op)                                                                                \
    KERNEL(op, f32)                                                                                \
    KERNEL(op, f64)                                                                                \
    KERNEL(op, f16)                                                                                \
    KERNEL(op, bf16)                                                                               \
    KERNEL(op, u8)                                                                                 \
    KERNEL(op, u32)                                                                                \
    KERNEL(op, u64)
#define SIGNED_KERNELS(op)                                                                         \
    KERNEL(op, i8)                                                                                 \
    KERNEL(op, i32)                                                                                \
    KERNEL(op, i64)

#define EVERY_KERNEL                                                                               \
    KERNELS(sum)                                                                                   \
    KERNELS(prod)                                                                                  \
    KERNELS(min)                                                                                   \
    SIGNED_KERNELS(min)                                                                            \
    KERNELS(max)                                                                                   \
    SIGNED_KERNELS(max)                                                                            \
    KERNELS(avg)                                                                                   \
    SIGNED_KERNELS(avg)

#endif
