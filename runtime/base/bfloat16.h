/* base/bfloat16.h - bfloat16 <-> binary32 in integer arithmetic: the upper half of a binary32.
 */
#ifndef PIPC_BASE_BFLOAT16_H
#define PIPC_BASE_BFLOAT16_H

#include <stdint.h>
#include <string.h>

static inline float pipc__bfloat16_to_float(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

/* To nearest, ties to even. A carry out of the mantissa raises the exponent, up to infinity: right.
 */
static inline uint16_t pipc__float_to_bfloat16(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    if ((bits & 0x7fffffffu) > 0x7f800000u) /* NaN stays NaN: rounding could carry it to infinity */
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
