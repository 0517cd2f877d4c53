/* prolog/counters_json.c - counters as JSON
 *
 *     {"boot_id", "uptime", "time", "counting",
 *      "devices": [{"name", "parent", "gpu", "link", "counts", "vendor", "device", "width", "mts",
 *                   "bad TLP": 2, ...}, ...]}
 */
#include "prolog/counters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool put(json_t *object, const char *key, int64_t value)
{
    return value < 0 || json_object_set_new(object, key, json_integer(value)) == 0;
}

static json_t *device_to_json(const pipc__counter_t *d)
{
    json_t *one = json_pack("{s:s, s:b, s:b, s:b}", "name", d->name, "gpu", (int)d->gpu, "link",
                            (int)d->link, "counts", (int)d->counts);
    bool ok = one && put(one, "parent", d->parent) && put(one, "vendor", d->vendor) &&
              put(one, "device", d->device) && put(one, "width", d->width) &&
              put(one, "mts", d->mts);

    for (int k = 0; ok && k < PIPC__COUNTS; k++)
        ok = put(one, pipc__count_names[k], d->count[k]);
    if (ok)
        return one;
    json_decref(one);
    return NULL;
}

json_t *pipc__counters_to_json(const pipc__counters_t *c)
{
    json_t *list = json_array();

    for (int i = 0; list && i < c->n; i++) {
        if (json_array_append_new(list, device_to_json(&c->dev[i]))) {
            json_decref(list);
            return NULL;
        }
    }
    if (!list)
        return NULL;
    return json_pack("{s:s, s:f, s:I, s:b, s:o}", "boot_id", c->boot_id, "uptime", c->uptime,
                     "time", (json_int_t)c->time, "counting", (int)c->counting, "devices", list);
}

/* A number of 0 to @max; absent is -1. */
static bool get(const json_t *object, const char *key, int64_t max, int64_t *out)
{
    const json_t *value = json_object_get(object, key);

    *out = value ? json_integer_value(value) : -1;
    return !value || (json_is_integer(value) && *out >= 0 && *out <= max);
}

static bool get_int(const json_t *object, const char *key, int max, int *out)
{
    int64_t value;
    bool ok = get(object, key, max, &value);

    *out = (int)value;
    return ok;
}

static bool copy(char *to, size_t cap, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text && (size_t)snprintf(to, cap, "%s", text) < cap;
}

static bool device_from_json(const json_t *one, int n, pipc__counter_t *d)
{
    bool ok =
        copy(d->name, sizeof(d->name), one, "name") && get_int(one, "parent", n - 1, &d->parent) &&
        get_int(one, "vendor", 0xffff, &d->vendor) && get_int(one, "device", 0xffff, &d->device) &&
        get_int(one, "width", 32, &d->width) && get_int(one, "mts", 1000000, &d->mts);

    d->gpu = json_is_true(json_object_get(one, "gpu"));
    d->link = json_is_true(json_object_get(one, "link"));
    d->counts = json_is_true(json_object_get(one, "counts"));
    for (int k = 0; ok && k < PIPC__COUNTS; k++)
        ok = get(one, pipc__count_names[k], PIPC__COUNT_MAX, &d->count[k]);
    return ok;
}

static bool head_from_json(const json_t *json, pipc__counters_t *c)
{
    c->uptime = json_number_value(json_object_get(json, "uptime"));
    c->counting = json_is_true(json_object_get(json, "counting"));
    return copy(c->boot_id, sizeof(c->boot_id), json, "boot_id") &&
           get(json, "time", INT64_MAX / 2, &c->time) && c->time >= 0 && isfinite(c->uptime) &&
           c->uptime >= 0;
}

bool pipc__counters_from_json(const json_t *json, pipc__counters_t *out)
{
    const json_t *list = json_object_get(json, "devices");
    size_t n = json_array_size(list);
    bool ok = json_is_array(list) && n <= PIPC__COUNTERS_DEVICES_MAX;

    memset(out, 0, sizeof(*out));
    if (ok)
        out->dev = calloc(n + 1, sizeof(*out->dev));
    ok = out->dev && head_from_json(json, out);
    out->n = (int)n;
    for (size_t i = 0; ok && i < n; i++)
        ok = device_from_json(json_array_get(list, i), (int)n, &out->dev[i]);
    if (!ok)
        pipc__counters_free(out);
    return ok;
}
