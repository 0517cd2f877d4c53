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

/* An average of so many ranks that their number is none of the type: the sum of 8 bits may have
 * wrapped, as always, and is divided as a wider number. */
static bool divides_wide(const pipc__reduction_t *how)
{
    bool byte = how->dtype == PIPC_I8 || how->dtype == PIPC_U8;

    return how->post && how->op == PIPC_AVG && byte && how->nranks > INT8_MAX;
}

static void divide_wide(const pipc__reduction_t *how, void *dst, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (how->dtype == PIPC_I8)
            ((int8_t *)dst)[i] = (int8_t)(((int8_t *)dst)[i] / how->nranks);
        else
            ((uint8_t *)dst)[i] = (uint8_t)(((uint8_t *)dst)[i] / how->nranks);
}

void pipc__reduce(const pipc__reduction_t *how, void *dst, const void *const *src, size_t n)
{
    pipc__reduce_fn_t *fn = pipc__reduce_best()->fn[how->dtype][how->op];
    size_t elem = pipc_dtype_bytes(how->dtype);
    const void *s[PIPC__RANKS_MAX];
    pipc__reduction_t sum = *how;

    sum.post = how->post && !divides_wide(how);
    for (size_t at = 0; at < n; at += PIPC__REDUCE_BLOCK) {
        for (int k = 0; k < how->nsrc; k++)
            s[k] = (const char *)src[k] + at * elem;
        fn(&sum, (char *)dst + at * elem, s,
           n - at < PIPC__REDUCE_BLOCK ? n - at : PIPC__REDUCE_BLOCK);
    }
    if (divides_wide(how))
        divide_wide(how, dst, n);
}
