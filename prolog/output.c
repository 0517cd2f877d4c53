/* prolog/output.c - see output.h */
#include "prolog/output.h"

#include <string.h>

void pipc__findings_print(const pipc__findings_t *findings, pipc__severity_t least, FILE *out)
{
    for (int i = 0; i < findings->n; i++) {
        const pipc__finding_t *f = &findings->list[i];
        if (f->severity < least)
            continue;
        fprintf(out, "pcie-ipc: %s: %s", f->object, f->seen);
        if (f->expected[0])
            fprintf(out, ", expected %s", f->expected);
        fprintf(out, "; %s (%s, %s)\n", f->remedy, pipc__codes[f->code].name,
                pipc__severity_name(f->severity));
    }
}

json_t *pipc__findings_to_json(const pipc__findings_t *findings)
{
    json_t *list = json_array();

    for (int i = 0; list && i < findings->n; i++) {
        const pipc__finding_t *f = &findings->list[i];
        json_t *one = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "code", pipc__codes[f->code].name,
                                "severity", pipc__severity_name(f->severity), "object", f->object,
                                "seen", f->seen, "expected", f->expected, "remedy", f->remedy);
        if (json_array_append_new(list, one)) {
            json_decref(list);
            return NULL;
        }
    }
    if (!list)
        return NULL;
    return json_pack("{s:i, s:s, s:o}", "schema", PIPC__SCHEMA, "verdict",
                     pipc__severity_name(findings->verdict), "findings", list);
}

static bool copy(char *to, size_t cap, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text && (size_t)snprintf(to, cap, "%s", text) < cap;
}

static bool one_from_json(const json_t *object, pipc__finding_t *f)
{
    const char *code = json_string_value(json_object_get(object, "code"));
    int c = 0;

    memset(f, 0, sizeof(*f));
    f->severity = pipc__severity_parse(json_string_value(json_object_get(object, "severity")));
    while (c < PIPC__CODES && (!code || strcmp(pipc__codes[c].name, code) != 0))
        c++;
    f->code = (pipc__code_t)c;
    return c < PIPC__CODES && f->severity < PIPC__SEVERITIES &&
           copy(f->object, sizeof(f->object), object, "object") &&
           copy(f->seen, sizeof(f->seen), object, "seen") &&
           copy(f->expected, sizeof(f->expected), object, "expected") &&
           copy(f->remedy, sizeof(f->remedy), object, "remedy");
}

bool pipc__findings_from_json(const json_t *json, pipc__findings_t *out)
{
    const json_t *list = json_object_get(json, "findings");
    const char *verdict = json_string_value(json_object_get(json, "verdict"));
    pipc__finding_t f;

    memset(out, 0, sizeof(*out));
    if (json_integer_value(json_object_get(json, "schema")) != PIPC__SCHEMA || !json_is_array(list))
        return false;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!one_from_json(json_array_get(list, i), &f) || pipc__findings_add(out, &f, NULL))
            return false;
    return pipc__severity_parse(verdict) == out->verdict; /* it is what its findings make it */
}

bool pipc__json_print(json_t *json, FILE *out)
{
    bool printed = json && !json_dumpf(json, out, JSON_INDENT(2) | JSON_ENSURE_ASCII);

    json_decref(json);
    return fputc('\n', out) != EOF && printed;
}
