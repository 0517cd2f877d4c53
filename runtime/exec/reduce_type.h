/* exec/reduce_type.h - the five operations of one type; reduce.c includes it once a type.
 *
 * Each function reduces @n elements from element @at on, in a block that stays in the first-level
 * cache: its accumulators are private, so that the compiler may vectorise although the destination
 * can be one of the sources. The average carries a factor for each source and a divisor at the end,
 * which are 1, and change nothing, where the plan asks for no pre- or post-op.
 */
#define PASTE_(op, suffix) op##_##suffix
#define PASTE(op, suffix) PASTE_(op, suffix)
#define FN(op) PASTE(op, SUFFIX)
#define MEM FN(mem)

#ifndef FLOATING
#define FLOATING 0
#define ACC ELEM
#define LOAD SAME
#define STORE SAME
#endif

/* User buffers may have any alignment; this type says so to the compiler. */
typedef ELEM MEM __attribute__((aligned(1), may_alias));

/* FIRST and NEXT: expressions of the element x, its factor and the accumulator a; LAST: of a and
 * the divisor. */
#define REDUCE(op, FIRST, NEXT, LAST)                                                              \
    static void FN(op)(const work_t *w, size_t at, size_t n)                                       \
    {                                                                                              \
        const pipc__reduction_t *how = w->how;                                                     \
        const ACC part = FLOATING ? (ACC)(1.0 / how->nranks) : 1;                                  \
        const ACC divisor = (ACC)(how->post ? how->nranks : 1);                                    \
        ACC acc[BLOCK], factor = how->pre & 1 ? part : 1;                                          \
        const MEM *s = (const MEM *)(const void *)w->src[0] + at;                                  \
                                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                           \
            const ACC x = LOAD(s[i]);                                                              \
            acc[i] = (ACC)(FIRST);                                                                 \
        }                                                                                          \
        for (int k = 1; k < how->nsrc; k++) {                                                      \
            s = (const MEM *)(const void *)w->src[k] + at;                                         \
            factor = how->pre >> k & 1 ? part : 1;                                                 \
            for (size_t i = 0; i < n; i++) {                                                       \
                const ACC x = LOAD(s[i]), a = acc[i];                                              \
                acc[i] = (ACC)(NEXT);                                                              \
            }                                                                                      \
        }                                                                                          \
        MEM *d = (MEM *)(void *)w->dst + at;                                                       \
        for (size_t i = 0; i < n; i++) {                                                           \
            const ACC a = acc[i];                                                                  \
            d[i] = STORE((ACC)(LAST));                                                             \
        }                                                                                          \
        (void)factor;                                                                              \
        (void)divisor;                                                                             \
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
#undef ACC
#undef VALUE
#undef FLOATING
#undef LOAD
#undef STORE
