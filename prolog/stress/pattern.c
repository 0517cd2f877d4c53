/* prolog/stress/pattern.c - see pattern.h */
#include "prolog/stress/pattern.h"

#include <string.h>

/* splitmix64's mixing, of the word's number: any word can be made alone. */
static uint64_t word(uint64_t seed, uint64_t i)
{
    uint64_t z = seed * 0xd1342543de82ef95ull + (i + 1) * 0x9e3779b97f4a7c15ull;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

void stress_pattern_fill(void *to, uint64_t seed, size_t at, size_t n)
{
    uint64_t *w = to;

    for (size_t i = 0; i < n / 8; i++)
        w[i] = word(seed, at / 8 + i);
}

stress_wrong_t stress_pattern_compare(const void *bytes, uint64_t seed, size_t at, size_t n)
{
    const uint64_t *w = bytes;
    stress_wrong_t wrong = {0, 0, 0, 0};

    for (size_t i = 0; i < n / 8; i++) {
        uint64_t want = word(seed, at / 8 + i);
        unsigned char is[8], should[8];
        if (w[i] == want)
            continue;
        memcpy(is, &w[i], 8);
        memcpy(should, &want, 8);
        for (int b = 0; b < 8; b++) {
            if (is[b] == should[b])
                continue;
            if (wrong.bytes++ == 0) {
                wrong.first = at + 8 * i + (size_t)b;
                wrong.seen = is[b];
                wrong.expected = should[b];
            }
        }
    }
    return wrong;
}
