/* exec/reduce.h - element-wise reduction on the CPU.
 *
 * What NCCL does on a GPU, element by element and bit by bit, but for the payload of a NaN and for
 * this: f16 and bf16 accumulate in binary32 and round once, at the end, where NCCL's ring rounds
 * at every step and its average rounds 1/n and each scaled input to the type.
 *
 *     reduce.c        blocks, and the best table for this processor
 *     reduce_base.c   \ a table each: reduce_level.h, which includes reduce_type.h once a type
 *     reduce_avx2.c   /
 */
#ifndef PIPC_EXEC_REDUCE_H
#define PIPC_EXEC_REDUCE_H

#include <pcie-ipc/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is done to each element; see plan/plan.h for pre and post. */
typedef struct pipc__reduction {
    pipc_dtype_t dtype;
    pipc_redop_t op;
    int nranks;   /* PIPC_AVG divides by it */
    int nsrc;     /* >= 1 */
    uint32_t pre; /* bit i: src[i] gets the pre-op: a float's average is the sum of x times 1/n */
    bool post;    /* the result gets the post-op: an integer's average is the sum divided by n */
} pipc__reduction_t;

/* dst[i] = src[0][i] op src[1][i] op ..., from left to right, i < n. Any alignment; dst may be one
 * of the sources, and may not overlap one otherwise. */
void pipc__reduce(const pipc__reduction_t *how, void *dst, const void *const *src, size_t n);

#endif
