/* base/option.c - see option.h */
#include "runtime/base/option.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 1024 /* longer option texts are refused: nobody types them, attackers do */

/* A list that grows in a fixed buffer and never overflows it. */
typedef struct text {
    char *buf;
    size_t cap, used; /* used counts what was wanted, as snprintf does */
} text_t;

static void add(text_t *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void add(text_t *t, const char *fmt, ...)
{
    size_t at = t->used < t->cap ? t->used : t->cap;
    va_list ap;

    va_start(ap, fmt);
    int n = vsnprintf(t->cap > at ? t->buf + at : NULL, t->cap - at, fmt, ap);
    va_end(ap);
    if (n > 0)
        t->used += (size_t)n;
}

static void set(const pipc__option_t *o, void *out, int value)
{
    char *field = (char *)out + o->offset;

    if (o->type == PIPC__OPTION_FLAG)
        *(bool *)field = value != 0;
    else
        *(int *)field = value;
}

void pipc__options_default(const pipc__option_t *table, void *out)
{
    for (const pipc__option_t *o = table; o->key; o++)
        set(o, out, o->def);
}

static const char *const flag_values[] = {"no", "yes", NULL};

static const char *const *values_of(const pipc__option_t *o)
{
    return o->type == PIPC__OPTION_FLAG ? flag_values : o->values;
}

static pipc_status_t refuse_key(const pipc__option_t *table, const char *key, pipc__error_t *err)
{
    char list[256] = "";
    text_t t = {list, sizeof(list), 0};

    for (const pipc__option_t *o = table; o->key; o++)
        add(&t, "%s%s", o == table ? "" : ", ", o->key);
    return pipc__fail(err, PIPC_ERR_INVALID, "unknown key \"%s\"; the keys are: %s", key, list);
}

static pipc_status_t refuse_value(const pipc__option_t *o, const char *value, pipc__error_t *err)
{
    char list[256] = "";
    text_t t = {list, sizeof(list), 0};

    for (const char *const *v = values_of(o); *v; v++)
        add(&t, "%s%s", v == values_of(o) ? "" : ", ", *v);
    if (!value)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s needs a value; use %s:VALUE, one of: %s",
                          o->key, o->key, list);
    return pipc__fail(err, PIPC_ERR_INVALID, "%s: unknown value \"%s\"; use one of: %s", o->key,
                      value, list);
}

/* One "key" or "key:value". With @out NULL only judge it. */
static pipc_status_t parse_one(const pipc__option_t *table, char *item, void *out,
                               pipc__error_t *err)
{
    char *value = strchr(item, ':');
    const pipc__option_t *o = table;

    if (value)
        *value++ = '\0';
    while (o->key && strcmp(o->key, item))
        o++;
    if (!o->key)
        return refuse_key(table, item, err);
    if (!value && o->type != PIPC__OPTION_FLAG)
        return refuse_value(o, NULL, err);

    int index = 1; /* a flag alone is "yes" */
    if (value) {
        const char *const *v = values_of(o);
        while (*v && strcmp(*v, value))
            v++;
        if (!*v)
            return refuse_value(o, value, err);
        index = (int)(v - values_of(o));
    }
    if (out)
        set(o, out, index);
    return PIPC_OK;
}

pipc_status_t pipc__options_parse(const pipc__option_t *table, const char *text, void *out,
                                  pipc__error_t *err)
{
    char copy[TEXT_MAX];

    if (!text || !*text || !strcmp(text, "(null)"))
        return PIPC_OK;
    if (strlen(text) >= sizeof(copy))
        return pipc__fail(err, PIPC_ERR_INVALID, "option text is longer than %d bytes",
                          TEXT_MAX - 1);
    /* Two passes, so that a bad item leaves @out as it was. */
    for (int pass = 0; pass < 2; pass++) {
        char *save = NULL;
        strcpy(copy, text);
        for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
            pipc_status_t st = parse_one(table, item, pass ? out : NULL, err);
            if (st)
                return st;
        }
    }
    return PIPC_OK;
}

size_t pipc__options_help(const pipc__option_t *table, char *buf, size_t cap)
{
    text_t t = {buf, cap, 0};

    if (cap)
        buf[0] = '\0';
    for (const pipc__option_t *o = table; o->key; o++) {
        char form[96];
        text_t f = {form, sizeof(form), 0};
        if (o->type == PIPC__OPTION_FLAG) {
            add(&f, "%s", o->key);
        } else {
            add(&f, "%s:", o->key);
            for (const char *const *v = o->values; *v; v++)
                add(&f, "%s%s", v == o->values ? "" : "|", *v);
        }
        add(&t, "  %-28s %s", form, o->help);
        if (o->type == PIPC__OPTION_ENUM)
            add(&t, " (default %s)", o->values[o->def]);
        add(&t, "\n");
    }
    return t.used;
}
