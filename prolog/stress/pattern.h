/* prolog/stress/pattern.h - bytes that differ by token and place, made again wherever they are
 * compared
 */
#ifndef PIPC_PROLOG_STRESS_PATTERN_H
#define PIPC_PROLOG_STRESS_PATTERN_H

#include <stddef.h>
#include <stdint.h>

typedef struct stress_wrong {
    uint64_t bytes; /* how many differ */
    size_t first;   /* offset of the first in the token; 0 if none */
    int seen, expected;
} stress_wrong_t;

/* Bytes [at, at + n) of the token of @seed; both are multiples of 8. */
void stress_pattern_fill(void *to, uint64_t seed, size_t at, size_t n);
stress_wrong_t stress_pattern_compare(const void *bytes, uint64_t seed, size_t at, size_t n);

#endif
