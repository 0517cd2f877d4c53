/* tests/fuzz/health_config.c - config space as a device, or a captured file, gives it */
#include <stdlib.h>
#include <string.h>

#include "prolog/extended.h"

typedef struct source {
    const unsigned char *config;
    size_t bytes;
} source_t;

static bool word(void *arg, size_t at, unsigned char out[4])
{
    const source_t *s = arg;

    if (at + 4 > s->bytes)
        return false;
    memcpy(out, s->config + at, 4);
    return true;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    unsigned char whole[PIPC__CONFIG_WHOLE_MAX];
    unsigned char *exact = malloc(size + 1); /* its end is where the sanitizer sees it */
    source_t s = {exact, size};

    memcpy(exact, data, size);
    pipc__express_decode(exact, size);
    pipc__extended_t a = pipc__extended_decode(exact, size < sizeof(whole) ? size : sizeof(whole));
    size_t n = pipc__extended_read(word, &s, whole);
    pipc__extended_t b = pipc__extended_decode(whole, n);
    if (size >= sizeof(whole) &&
        (a.acs != b.acs || a.uncorrected != b.uncorrected || a.corrected != b.corrected))
        abort(); /* the few words that are read tell what all do */
    free(exact);
    return 0;
}
