/* prolog/looks.c - see looks.h */
#include "prolog/looks.h"

#include <stdlib.h>
#include <string.h>

#include "prolog/state.h"

#define SCHEMA 1

bool pipc__looks_parse(const char *text, size_t n, const char *sysroot, pipc__looks_t *out)
{
    json_t *json = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    const json_t *list = json_object_get(json, "looks");
    const char *of = json_string_value(json_object_get(json, "sysroot"));
    bool good = json_integer_value(json_object_get(json, "schema")) == SCHEMA && of &&
                strcmp(of, sysroot) == 0 && json_array_size(list) >= 1 &&
                json_array_size(list) <= PIPC__LOOKS_MAX;

    memset(out, 0, sizeof(*out));
    for (size_t i = 0; good && i < json_array_size(list); i++) {
        good = pipc__counters_from_json(json_array_get(list, i), &out->look[i]);
        out->n += good;
    }
    json_decref(json);
    if (!good)
        pipc__looks_free(out);
    return good;
}

bool pipc__looks_read(int dir, const char *name, uid_t owner, const char *sysroot,
                      pipc__looks_t *out)
{
    char *text, boot_id[PIPC__BOOT_ID_MAX];
    size_t n;

    memset(out, 0, sizeof(*out));
    if (pipc__state_read(dir, name, owner, PIPC__LOOKS_BYTES, &text, &n, NULL))
        return false;
    bool good = pipc__looks_parse(text, n, sysroot, out);
    free(text);
    pipc__boot_id(boot_id);
    for (int i = 0; i < out->n; i++)
        good = good && strcmp(out->look[i].boot_id, boot_id) == 0;
    if (!good)
        pipc__looks_free(out);
    return good;
}

pipc_status_t pipc__looks_write(int dir, const char *name, mode_t mode, const char *sysroot,
                                const pipc__looks_t *looks, pipc__error_t *err)
{
    json_t *list = json_array();
    char *text = NULL;
    pipc_status_t st = PIPC_ERR_NOMEM;
    bool ok = list != NULL;

    for (int i = 0; ok && i < looks->n; i++)
        ok = json_array_append_new(list, pipc__counters_to_json(&looks->look[i])) == 0;
    json_t *json =
        ok ? json_pack("{s:i, s:s, s:O}", "schema", SCHEMA, "sysroot", sysroot, "looks", list)
           : NULL;
    if (json)
        text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    json_decref(list);
    if (text)
        st = pipc__state_write(dir, name, mode, text, strlen(text), err);
    else
        pipc__fail(err, st, "%s: out of memory", name);
    free(text);
    return st;
}

void pipc__looks_free(pipc__looks_t *looks)
{
    for (int i = 0; i < looks->n; i++)
        pipc__counters_free(&looks->look[i]);
    memset(looks, 0, sizeof(*looks));
}

bool pipc__looks_roll(pipc__looks_t *looks, const pipc__counters_t *now)
{
    pipc__counters_t copy;

    if (looks->n > 0 && now->uptime - looks->look[looks->n - 1].uptime < PIPC__LOOKS_SECONDS)
        return false;
    if (pipc__counters_copy(now, &copy, NULL)) {
        pipc__counters_free(&copy);
        return false;
    }
    if (looks->n == PIPC__LOOKS_MAX) {
        pipc__counters_free(&looks->look[0]);
        memmove(&looks->look[0], &looks->look[1], sizeof(copy) * (PIPC__LOOKS_MAX - 1));
        looks->n--;
    }
    looks->look[looks->n++] = copy;
    return true;
}

pipc_status_t pipc__look_keep(int dir, const char *name, mode_t mode, const char *sysroot,
                              const pipc__counters_t *look, pipc__error_t *err)
{
    const pipc__looks_t one = {.look = {*look}, .n = 1};

    return pipc__looks_write(dir, name, mode, sysroot, &one, err);
}
