/* exec/reduce_type.h - the five operations of one type; reduce_level.h includes it once a type.
 *
 * Each function reduces @n elements, a block that stays in the first-level cache. Two sources go
 * straight to the destination; more go through an accumulator, which the compiler knows to be
 * private. The destination may be one of the sources, and is then read before it is written at
 * each place: no loop carries anything, and "ivdep" says so.
 *
 * The average carries a factor for each source and a divisor at the end, which are 1, and change
 * nothing, where the plan asks for no pre- or post-op.
 */
#define PASTE_(op, suffix) op##_##suffix
#define PASTE(op, suffix) PASTE_(op, suffix)
#define FN(op) PASTE(op, SUFFIX)
#define MEM FN(mem)

#ifndef FLOATING
#define FLOATING 0
#endif

/* User buffers may have any alignment; this type says so to the compiler. */
typedef ELEM MEM __attribute__((aligned(1), may_alias));

/* FIRST and NEXT: expressions of the element x, its factor and the accumulator a; LAST: of a and
 * the divisor. */
#define REDUCE(op, FIRST, NEXT, LAST)                                                              \
    static ELEM FN(op##_first)(ELEM x, ELEM factor)                                                \
    {                                                                                              \
        (void)factor;                                                                              \
        return (ELEM)(FIRST);                                                                      \
    }                                                                                              \
    static ELEM FN(op##_next)(ELEM a, ELEM x, ELEM factor)                                         \
    {                                                                                              \
        (void)factor;                                                                              \
        return (ELEM)(NEXT);                                                                       \
    }                                                                                              \
    static ELEM FN(op##_last)(ELEM a, ELEM divisor)                                                \
    {                                                                                              \
        (void)divisor;                                                                             \
        return (ELEM)(LAST);                                                                       \
    }                                                                                              \
                                                                                                   \
    /* dst = src[0] op src[1] */                                                                   \
    static void FN(op##_two)(const pipc__reduction_t *how, void *dst, const void *const *src,      \
                             size_t n)                                                             \
    {                                                                                              \
        const ELEM part = FLOATING ? (ELEM)(1.0 / how->nranks) : 1;                                \
        const ELEM f0 = how->pre & 1 ? part : 1, f1 = how->pre & 2 ? part : 1;                     \
        const ELEM divisor = (ELEM)(how->post ? how->nranks : 1);                                  \
        const MEM *s0 = src[0], *s1 = src[1];                                                      \
        MEM *d = dst;                                                                              \
                                                                                                   \
        NO_LOOP_CARRIES                                                                            \
        for (size_t i = 0; i < n; i++)                                                             \
            d[i] = FN(op##_last)(FN(op##_next)(FN(op##_first)(s0[i], f0), s1[i], f1), divisor);    \
    }                                                                                              \
                                                                                                   \
    static void FN(op)(const pipc__reduction_t *how, void *dst, const void *const *src, size_t n)  \
    {                                                                                              \
        const ELEM part = FLOATING ? (ELEM)(1.0 / how->nranks) : 1;                                \
        const ELEM divisor = (ELEM)(how->post ? how->nranks : 1);                                  \
        ELEM acc[BLOCK], factor = how->pre & 1 ? part : 1;                                         \
        const MEM *s = src[0];                                                                     \
        MEM *d = dst;                                                                              \
                                                                                                   \
        if (how->nsrc == 2) {                                                                      \
            FN(op##_two)(how, dst, src, n);                                                        \
            return;                                                                                \
        }                                                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            acc[i] = FN(op##_first)(s[i], factor);                                                 \
        for (int k = 1; k < how->nsrc; k++) {                                                      \
            s = src[k];                                                                            \
            factor = how->pre >> k & 1 ? part : 1;                                                 \
            for (size_t i = 0; i < n; i++)                                                         \
                acc[i] = FN(op##_next)(acc[i], s[i], factor);                                      \
        }                                                                                          \
        for (size_t i = 0; i < n; i++)                                                             \
            d[i] = FN(op##_last)(acc[i], divisor);                                                 \
    }

REDUCE(sum, x, a + x, a)
REDUCE(prod, x, a *x, a)
#if FLOATING
REDUCE(min, x, FLOAT_MIN(a, x), a)
REDUCE(max, x, FLOAT_MAX(a, x), a)
REDUCE(avg, x *factor, a + x * factor, a)
#else
REDUCE(min, x, (VALUE)a < (VALUE)x ? a : x, a)
REDUCE(max, x, (VALUE)a > (VALUE)x ? a : x, a)
REDUCE(avg, x, a + x, (VALUE)a / (VALUE)divisor) /* towards zero, as C divides */
#endif

#undef REDUCE
#undef MEM
#undef FN
#undef PASTE
#undef PASTE_
#undef SUFFIX
#undef ELEM
#undef VALUE
#undef FLOATING
