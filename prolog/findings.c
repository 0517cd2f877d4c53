/* prolog/findings.c - a list of findings, worst first */
#include <stdlib.h>
#include <string.h>

#include "prolog/judge.h"

#define FINDINGS_MAX 65536 /* more than any machine makes: a limit against wrong input */

static bool grow(pipc__findings_t *out)
{
    int cap = out->cap ? 2 * out->cap : 16;
    pipc__finding_t *more;

    if (cap > FINDINGS_MAX)
        return false;
    more = realloc(out->list, sizeof(*more) * (size_t)cap);
    if (!more)
        return false;
    out->list = more;
    out->cap = cap;
    return true;
}

/* What others wrote (a log, a ticket, a file with a wrong value) goes to terminals, logs and JSON:
 * a byte that is no plain text would be an order to one and an error to another. */
static void clean(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

pipc_status_t pipc__findings_add(pipc__findings_t *out, const pipc__finding_t *finding,
                                 pipc__error_t *err)
{
    int at = out->n;

    if (out->n == out->cap && !grow(out))
        return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    while (at > 0 && out->list[at - 1].severity < finding->severity)
        at--;
    memmove(out->list + at + 1, out->list + at, sizeof(*finding) * (size_t)(out->n - at));
    out->list[at] = *finding;
    clean(out->list[at].object);
    clean(out->list[at].seen);
    clean(out->list[at].expected);
    clean(out->list[at].remedy);
    out->n++;
    if (finding->severity > out->verdict)
        out->verdict = finding->severity;
    return PIPC_OK;
}

void pipc__findings_remove(pipc__findings_t *out, int i)
{
    out->n--;
    memmove(out->list + i, out->list + i + 1, sizeof(*out->list) * (size_t)(out->n - i));
    out->verdict = out->n > 0 ? out->list[0].severity : PIPC__OK;
}

void pipc__findings_free(pipc__findings_t *findings)
{
    free(findings->list);
    memset(findings, 0, sizeof(*findings));
}
