/* prolog/reason.c - see reason.h */
#include "prolog/reason.h"

#include <stdio.h>
#include <string.h>

static void clean(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~' || strchr("\"'`\\[]{}<>", *text))
            *text = '?';
}

void pipc__reason(const pipc__findings_t *findings, char out[PIPC__REASON_MAX])
{
    char end[24] = "", text[512];
    int others = -1;

    if (findings->n == 0) {
        snprintf(out, PIPC__REASON_MAX, PIPC__REASON_PREFIX "nothing");
        return;
    }
    const pipc__finding_t *worst = &findings->list[0];
    for (int i = 0; i < findings->n; i++)
        others += findings->list[i].severity == worst->severity;
    if (others > 0)
        snprintf(end, sizeof(end), " +%d", others);
    /* What was seen is what gives way: the code and the device find the rest again. */
    int room = PIPC__REASON_MAX - 1 - (int)strlen(PIPC__REASON_PREFIX ":  ()") -
               (int)strlen(worst->object) - (int)strlen(pipc__codes[worst->code].name) -
               (int)strlen(end);
    snprintf(text, sizeof(text), PIPC__REASON_PREFIX "%s: %.*s (%s)%s", worst->object,
             room > 0 ? room : 0, worst->seen, pipc__codes[worst->code].name, end);
    snprintf(out, PIPC__REASON_MAX, "%.*s", PIPC__REASON_MAX - 1, text);
    clean(out);
}
