/* tests/fuzz/health_limits.c - limits.conf and the acknowledgements: whatever stands there, what
 * cannot be told drains no node
 */
#include <stdlib.h>
#include <string.h>

#include "prolog/ack.h"
#include "prolog/limits.h"

static void limits(const char *text)
{
    pipc__fact_t f = {.name = "0000:41:00.0", .vendor = 0x10de, .device = 0x2330};
    pipc__limits_t l;

    if (!pipc__limits_parse("fuzz", text, &l, NULL) &&
        (l.exempts > PIPC__EXEMPT_MAX || pipc__limits_width(&l, &f) < 0))
        abort();
    for (int c = 0; c < PIPC__CODES; c++) {
        pipc__limits_ignores(&l, &f, (pipc__code_t)c);
        if (l.severity[c] > pipc__code_most((pipc__code_t)c))
            abort();
    }
}

static void acks(const char *text)
{
    pipc__findings_t findings = {.n = 0};
    pipc__finding_t f = {.code = PIPC__CODE_WIDTH, .severity = PIPC__DRAIN};
    pipc__acks_t a;

    if (!pipc__acks_parse("fuzz", text, &a, NULL)) {
        pipc__findings_add(&findings, &f, NULL);
        pipc__acks_apply(&a, &findings, NULL);
        if (findings.verdict != PIPC__DRAIN)
            abort(); /* of what is there now */
        pipc__findings_free(&findings);
    }
    pipc__acks_free(&a);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *text = malloc(size + 1);

    memcpy(text, data, size);
    text[size] = '\0';
    limits(text);
    acks(text);
    free(text);
    return 0;
}
