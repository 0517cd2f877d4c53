/* prolog/explain.c - see explain.h */
#include "prolog/explain.h"

#include <string.h>
#include <strings.h>

#include "prolog/codes.h"

#define COLUMNS 80

static void wrapped(const char *text, FILE *out)
{
    size_t column = 0;

    while (*text) {
        size_t n = strcspn(text, " ");
        if (column > 0 && column + 1 + n > COLUMNS) {
            fputc('\n', out);
            column = 0;
        }
        column += (size_t)fprintf(out, "%s%.*s", column ? " " : "", (int)n, text);
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

bool pipc__explain(const char *name, FILE *out)
{
    const pipc__code_entry_t *e = pipc__codes;

    while (e < pipc__codes + PIPC__CODES && strcasecmp(e->name, name) != 0)
        e++;
    if (e == pipc__codes + PIPC__CODES)
        return false;
    fprintf(out, "%s, %s: %s.\n\n", e->name, pipc__severity_name(e->severity), e->what);
    wrapped(e->why, out);
    fprintf(out, "\nRemedy: %s.\n", e->remedy);
    return true;
}
