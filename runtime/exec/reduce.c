/* exec/reduce.c - see reduce.h */
#include <stdatomic.h>

#include "runtime/exec/reduce_table.h"

#ifdef PIPC__REDUCE_AVX2
#include <cpuid.h>
#endif

static const pipc__reduce_table_t *look(void)
{
#ifdef PIPC__REDUCE_AVX2
    unsigned int a, b, c, d;

    /* The builtin knows no F16C in older compilers, but does know whether the kernel saves AVX. */
    if (__builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && c & bit_F16C)
        return &pipc__reduce_avx2;
#endif
    return &pipc__reduce_base;
}

/* Looked up once: in a virtual machine cpuid is a trip to the hypervisor. */
const pipc__reduce_table_t *pipc__reduce_best(void)
{
    static _Atomic(const pipc__reduce_table_t *) known;
    const pipc__reduce_table_t *best = atomic_load_explicit(&known, memory_order_relaxed);

    if (!best) {
        best = look();
        atomic_store_explicit(&known, best, memory_order_relaxed);
    }
    return best;
}

void pipc__reduce(const pipc__reduction_t *how, void *dst, const void *const *src, size_t n)
{
    pipc__reduce_fn_t *fn = pipc__reduce_best()->fn[how->dtype][how->op];
    size_t elem = pipc_dtype_bytes(how->dtype);
    const void *s[PIPC__RANKS_MAX];

    for (size_t at = 0; at < n; at += PIPC__REDUCE_BLOCK) {
        for (int k = 0; k < how->nsrc; k++)
            s[k] = (const char *)src[k] + at * elem;
        fn(how, (char *)dst + at * elem, s,
           n - at < PIPC__REDUCE_BLOCK ? n - at : PIPC__REDUCE_BLOCK);
    }
}
