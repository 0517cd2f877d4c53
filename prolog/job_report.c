/* prolog/job_report.c - the report of a job, as JSON and as text
 *
 *     {"schema": 1, "job", "uid", "start", "end", "watched": "whole|partly|not", "counting",
 *      "links":   [{"lower", "upper", "width": [16, 8], "errors": {"bad TLP": 2}}, ...],
 *      "changes": [{"time", "lower", "upper", "width": [16, 8]} or {..., "errors": {...}}, ...],
 *      "more": 0}
 *
 * Times are seconds since 1970. A width, errors or a start that are not known are null.
 */
#include "prolog/dips.h"
#include "prolog/job.h"

#include <string.h>

#define SCHEMA 1

static const char *const watched_words[] = {"not", "partly", "whole"};

/* ---- to JSON ------------------------------------------------------------------------------- */

static json_t *number_or_null(int64_t n)
{
    return n < 0 ? json_null() : json_integer(n);
}

static json_t *seconds_or_null(int64_t ms)
{
    return ms < 0 ? json_null() : json_real((double)ms / 1000);
}

static json_t *widths(int from, int to)
{
    return json_pack("[o, o]", number_or_null(from), number_or_null(to));
}

/* null where none of them is known. */
static json_t *errors(const int64_t count[PIPC__COUNTS])
{
    bool known = false;

    for (int k = 0; k < PIPC__COUNTS; k++)
        known |= count[k] >= 0;
    json_t *object = known ? json_object() : json_null();
    for (int k = 0; known && object && k < PIPC__COUNTS; k++)
        if (count[k] > 0 &&
            json_object_set_new(object, pipc__count_names[k], json_integer(count[k]))) {
            json_decref(object);
            return NULL;
        }
    return object;
}

static json_t *link_to_json(const pipc__delta_t *d)
{
    return json_pack("{s:s, s:s, s:o, s:o}", "lower", d->lower, "upper", d->upper, "width",
                     widths(d->width[0], d->width[1]), "errors", errors(d->count));
}

static json_t *change_to_json(const pipc__change_t *c)
{
    bool width = c->kind == PIPC__CHANGE_WIDTH;

    return json_pack("{s:o, s:s, s:s, s:o}", "time", seconds_or_null(c->ms), "lower", c->lower,
                     "upper", c->upper, width ? "width" : "errors",
                     width ? widths(c->from, c->to) : errors(c->count));
}

static bool is_worth_a_word(const pipc__job_facts_t *facts, const pipc__delta_t *d)
{
    if (d->width[0] != d->width[1] || pipc__delta_has_errors(d))
        return true;
    for (int i = 0; i < facts->changes.n; i++)
        if (strcmp(facts->changes.list[i].lower, d->lower) == 0)
            return true;
    return false;
}

json_t *pipc__job_to_json(const pipc__job_facts_t *facts)
{
    json_t *links = json_array(), *changes = json_array();
    int shown = facts->changes.n < PIPC__JOB_CHANGES ? facts->changes.n : PIPC__JOB_CHANGES;
    bool ok = links && changes;

    for (int i = 0; ok && i < facts->links.n && json_array_size(links) < PIPC__JOB_CHANGES; i++)
        if (is_worth_a_word(facts, &facts->links.link[i]))
            ok = json_array_append_new(links, link_to_json(&facts->links.link[i])) == 0;
    for (int i = 0; ok && i < shown; i++)
        ok = json_array_append_new(changes, change_to_json(&facts->changes.list[i])) == 0;
    if (ok)
        return json_pack("{s:i, s:I, s:I, s:o, s:o, s:s, s:b, s:o, s:o, s:i}", "schema", SCHEMA,
                         "job", (json_int_t)facts->job, "uid", (json_int_t)facts->uid, "start",
                         seconds_or_null(facts->start_ms), "end", seconds_or_null(facts->end_ms),
                         "watched", watched_words[facts->watched], "counting", (int)facts->counting,
                         "links", links, "changes", changes, "more", facts->changes.n - shown);
    json_decref(links);
    json_decref(changes);
    return NULL;
}

/* ---- to text ------------------------------------------------------------------------------- */

/* The owner can write what he wants into his report, and root's terminal shall not do it. */
static void copy(char *to, size_t cap, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    snprintf(to, cap, "%s", text ? text : "");
    for (char *p = to; *p; p++)
        if (*p < ' ' || *p > '~')
            *p = '?';
}

static int64_t whole(const json_t *value, int64_t most)
{
    int64_t n = json_is_integer(value) ? json_integer_value(value) : -1;

    return n >= 0 && n <= most ? n : -1;
}

static int64_t time_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double seconds = json_is_number(value) ? json_number_value(value) : -1;

    return seconds >= 0 && seconds < 1e12 ? (int64_t)(seconds * 1000 + 0.5) : -1;
}

/* A change, or a link as one: what they share. */
static void change_from_json(const json_t *json, pipc__change_t *c)
{
    const json_t *width = json_object_get(json, "width"), *counts = json_object_get(json, "errors");

    memset(c, 0, sizeof(*c));
    c->ms = time_of(json, "time");
    copy(c->lower, sizeof(c->lower), json, "lower");
    copy(c->upper, sizeof(c->upper), json, "upper");
    c->kind = width ? PIPC__CHANGE_WIDTH : PIPC__CHANGE_ERRORS;
    c->from = (int)whole(json_array_get(width, 0), 32);
    c->to = (int)whole(json_array_get(width, 1), 32);
    for (int k = 0; k < PIPC__COUNTS; k++)
        c->count[k] = whole(json_object_get(counts, pipc__count_names[k]), INT64_MAX / 2);
}

static void print_links(const json_t *links, FILE *out)
{
    char text[240];
    pipc__change_t c;

    for (size_t i = 0; i < json_array_size(links) && i < PIPC__JOB_CHANGES; i++) {
        change_from_json(json_array_get(links, i), &c);
        fprintf(out, "%s%s%s%s: ", c.lower, c.upper[0] ? " (port " : "", c.upper,
                c.upper[0] ? ")" : "");
        if (c.from != c.to && c.from >= 0 && c.to >= 0)
            fprintf(out, "link x%d before, x%d after; ", c.from, c.to);
        else if (c.to >= 0)
            fprintf(out, "link x%d; ", c.to);
        else
            fprintf(out, "link unknown after; ");
        bool counted = json_is_object(json_object_get(json_array_get(links, i), "errors"));
        fprintf(out, "%s\n",
                *pipc__delta_text(c.count, text, sizeof(text)) ? text
                : counted                                      ? "no errors"
                                                               : "errors are not counted");
    }
}

static void print_head(const json_t *report, FILE *out)
{
    char watched[16], when[32], span[32];
    int64_t start = time_of(report, "start"), end = time_of(report, "end");

    fprintf(out, "job %lld: ", (long long)whole(json_object_get(report, "job"), UINT32_MAX));
    if (start >= 0)
        fprintf(out, "%s to ", pipc__time_text(start, when));
    else
        fprintf(out, "beginning not known (no prolog kept it), to ");
    fprintf(out, "%s", pipc__time_text(end, when));
    if (start >= 0 && end >= start)
        fprintf(out, ", %s", pipc__span_text((double)(end - start) / 1000, span));
    copy(watched, sizeof(watched), report, "watched");
    fprintf(out, "; %s\n",
            strcmp(watched, "whole") == 0    ? "watched"
            : strcmp(watched, "partly") == 0 ? "watched for a part of it"
                                             : "not watched: what came back in it is not known");
}

void pipc__job_print(const json_t *report, FILE *out)
{
    const json_t *links = json_object_get(report, "links");
    const json_t *changes = json_object_get(report, "changes");
    int64_t more = whole(json_object_get(report, "more"), INT32_MAX);
    char line[400];
    pipc__change_t c;

    print_head(report, out);
    print_links(links, out);
    for (size_t i = 0; i < json_array_size(changes) && i < PIPC__JOB_CHANGES; i++) {
        change_from_json(json_array_get(changes, i), &c);
        fprintf(out, "  %s\n", pipc__change_line(&c, line, sizeof(line)));
    }
    if (more > 0)
        fprintf(out, "  and %lld more\n", (long long)more);
    if (!json_is_true(json_object_get(report, "counting")))
        fprintf(out, "the kernel counts no PCIe errors here: the AER service has no port\n");
    if (json_array_size(links) == 0 && time_of(report, "start") >= 0)
        fprintf(out, "no link changed, and no error was counted\n");
}
