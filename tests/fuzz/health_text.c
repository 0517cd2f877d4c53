/* tests/fuzz/health_text.c - what is pasted into tickets, and a kernel's log: read, judged, printed
 */
#include <stdlib.h>
#include <string.h>

#include "prolog/judge.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *text = malloc(size + 1);
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t findings = {.n = 0};
    pipc__facts_t facts;

    memcpy(text, data, size);
    text[size] = '\0';
    if (!pipc__facts_parse(&facts, text, "fuzz", NULL))
        pipc__judge(&facts, &limits, &findings, NULL);
    pipc__findings_free(&findings);
    pipc__facts_free(&facts);
    free(text);
    return 0;
}
