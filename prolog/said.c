/* prolog/said.c - see said.h */
#include "prolog/said.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/state.h"
#include "runtime/base/hash.h"

void pipc__said_key(const pipc__findings_t *findings, char out[PIPC__SAID_MAX])
{
    uint64_t hash = PIPC__HASH_INIT;
    bool any = false;

    for (int i = 0; i < findings->n; i++) {
        const pipc__finding_t *f = &findings->list[i];
        const int what[] = {(int)f->code, (int)f->severity};
        if (f->severity < PIPC__WARN)
            continue;
        hash = pipc__hash(hash, what, sizeof(what));
        hash = pipc__hash(hash, f->object, strlen(f->object) + 1);
        any = true;
    }
    snprintf(out, PIPC__SAID_MAX, "%.*" PRIx64, any ? 16 : 0, any ? hash : 0);
}

bool pipc__said_due(int dir, const char *name, uid_t owner, const char *key, double now)
{
    char *text = NULL, line[PIPC__SAID_MAX + 32], *end = NULL;
    double then = 0;
    bool same;

    if (dir < 0)
        return *key;
    if (pipc__state_read(dir, name, owner, sizeof(line), &text, NULL, NULL) == PIPC_OK)
        then = strtod(text, &end);
    same = end && *end == ' ' ? strcmp(end + 1, key) == 0 : !*key;
    free(text);
    if (same && (!*key || (now >= then && now - then < PIPC__SAID_AGAIN)))
        return false;
    int n = snprintf(line, sizeof(line), "%lld %s", (long long)now, key); /* never in the future */
    pipc__state_write(dir, name, 0644, line, (size_t)n, NULL);
    return true;
}
