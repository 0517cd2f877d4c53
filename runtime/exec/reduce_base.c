/* exec/reduce_base.c - reductions by what every processor of the architecture can do. See
 * reduce_level.h
 */
#include "runtime/exec/reduce_table.h"

#define LEVEL pipc__reduce_base

static void widen_f16(float *to, const void *from, size_t n)
{
    const pipc__mem_u16_t *s = from;

    for (size_t i = 0; i < n; i++)
        to[i] = pipc__half_to_float(s[i]);
}

static void narrow_f16(void *to, const float *from, size_t n)
{
    pipc__mem_u16_t *d = to;

    for (size_t i = 0; i < n; i++)
        d[i] = pipc__float_to_half(from[i]);
}

#include "runtime/exec/reduce_level.h"
