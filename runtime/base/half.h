/* base/half.h - IEEE 754 binary16 <-> binary32 in integer arithmetic.
 *
 * Why not _Float16: gcc 11 and older have none on x86, and with excess precision it does not
 * say where it rounds. These two round to nearest even, once, exactly where they are called.
 */
#ifndef PIPC_BASE_HALF_H
#define PIPC_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float pipc__half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exponent = (h >> 10) & 0x1fu;
    uint32_t mantissa = h & 0x3ffu, bits;
    float f;

    if (exponent == 0x1f) { /* infinity or NaN; the payload is kept */
        bits = sign | 0x7f800000u | mantissa << 13;
    } else if (exponent) { /* normal: 127 - 15 = 112 */
        bits = sign | (exponent + 112u) << 23 | mantissa << 13;
    } else { /* zero or subnormal: mantissa * 2^-24, exact in binary32 */
        f = (float)mantissa * 0x1p-24f;
        memcpy(&bits, &f, sizeof(bits));
        bits |= sign;
    }
    memcpy(&f, &bits, sizeof(f));
    return f;
}

static inline uint16_t pipc__float_to_half(float f)
{
    uint32_t bits, sign, magnitude;

    memcpy(&bits, &f, sizeof(bits));
    sign = bits >> 16 & 0x8000u;
    magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) /* NaN stays NaN: quiet, upper payload kept */
        return (uint16_t)(sign | 0x7e00u | (magnitude >> 13 & 0x3ffu));
    if (magnitude >= 0x477ff000u) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude >= 0x38800000u) { /* normal: add half an ulp, ties to even, rebias */
        magnitude += 0xfffu + (magnitude >> 13 & 1u);
        return (uint16_t)(sign | ((magnitude >> 13) - (112u << 10)));
    }
    if (magnitude < 0x33000000u) /* below half of the smallest subnormal (a tie goes to even: 0) */
        return (uint16_t)sign;
    uint32_t shift = 126u - (magnitude >> 23); /* 14 (just subnormal) .. 24 */
    uint32_t full = (magnitude & 0x7fffffu) | 0x800000u;
    uint32_t kept = full >> shift, rest = full & ((1u << shift) - 1u), tie = 1u << (shift - 1u);

    kept += rest > tie || (rest == tie && (kept & 1u));
    return (uint16_t)(sign | kept);
}

#endif
