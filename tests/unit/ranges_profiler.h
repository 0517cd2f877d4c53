/* tests/unit/ranges_profiler.h - what ranges_profiler.so, a profiler of NVTX ranges, has recorded.
 *
 * NVTX opens it where NVTX_INJECTION64_PATH names it. RANGES_PROFILER says what it does: "refuse"
 * to work here, "no-domains" or "no-strings" to listen to all but these. It allocates nothing.
 */
#ifndef TESTS_UNIT_RANGES_PROFILER_H
#define TESTS_UNIT_RANGES_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

#define RANGES_MOST 256

typedef struct ranges_record {
    char domain[32];
    int domains, strings, ranges, open; /* made, registered, begun, and of those not ended */
    char string[RANGES_MOST][64];
    struct {
        char text[64];
        bool registered;  /* the text was, before the range */
        bool has_payload; /* then bytes is it */
        uint64_t bytes;
        int depth; /* open ranges around it */
    } range[RANGES_MOST];
} ranges_record_t;

/* The symbol of the library: const ranges_record_t *ranges_record(void) */
typedef const ranges_record_t *(*ranges_record_fn_t)(void);

#endif
