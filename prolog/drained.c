/* prolog/drained.c - see drained.h */
#include "prolog/drained.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/state.h"

#define SCHEMA 1
#define RECORD_MAX 8192
#define DAY (24 * 3600)

static void copy(char *to, size_t cap, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    snprintf(to, cap, "%s", text ? text : "");
}

void pipc__drained_read(int dir, uid_t owner, pipc__drained_t *out)
{
    char *text;
    size_t n;

    memset(out, 0, sizeof(*out));
    if (pipc__state_read(dir, PIPC__DRAINED_FILE, owner, RECORD_MAX, &text, &n, NULL))
        return;
    json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    if (json_integer_value(json_object_get(json, "schema")) == SCHEMA) {
        const json_t *undrained = json_object_get(json, "undrained");
        copy(out->reason, sizeof(out->reason), json, "reason");
        copy(out->by, sizeof(out->by), json, "by");
        out->well = (int)json_integer_value(json_object_get(json, "well"));
        for (size_t i = 0; i < PIPC__UNDRAINS_A_DAY; i++)
            out->undrained[i] = (time_t)json_integer_value(json_array_get(undrained, i));
    }
    json_decref(json);
}

pipc_status_t pipc__drained_write(int dir, const pipc__drained_t *d, pipc__error_t *err)
{
    json_t *undrained = json_array();
    char *text;
    pipc_status_t st;

    for (size_t i = 0; i < PIPC__UNDRAINS_A_DAY; i++)
        json_array_append_new(undrained, json_integer(d->undrained[i]));
    json_t *json =
        json_pack("{s:i, s:s, s:s, s:i, s:o}", "schema", SCHEMA, "reason", d->reason, "by",
                  d->by, "well", d->well, "undrained", undrained);
    text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
    json_decref(json);
    st = text ? pipc__state_write(dir, PIPC__DRAINED_FILE, 0644, text, strlen(text), err)
              : pipc__fail(err, PIPC_ERR_NOMEM, PIPC__DRAINED_FILE ": out of memory");
    free(text);
    return st;
}

bool pipc__drained_is_ours(const pipc__drained_t *d, const pipc__node_t *node)
{
    if (!d->reason[0] || strcmp(d->reason, node->reason) != 0)
        return false;
    return d->by[0] ? strcmp(d->by, node->by) == 0
                         : strncmp(node->by, "root@", strlen("root@")) == 0;
}

int pipc__drained_undrains(const pipc__drained_t *d, time_t now)
{
    int n = 0;

    for (size_t i = 0; i < PIPC__UNDRAINS_A_DAY; i++)
        n += d->undrained[i] > 0 && now - d->undrained[i] < DAY;
    return n;
}
