/* base/option.c - see option.h */
#include "runtime/base/option.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

static char *text_of(const pipc__option_t *o, void *out)
{
    return (char *)out + o->list_offset;
}

static pipc__option_list_t *list_of(const pipc__option_t *o, void *out)
{
    return (pipc__option_list_t *)(void *)((char *)out + o->list_offset);
}

static void set(const pipc__option_t *o, void *out, int value)
{
    char *field = (char *)out + o->offset;

    if (o->type == PIPC__OPTION_NAMED)
        memset(text_of(o, out), 0, PIPC__OPTION_TEXT_MAX);
    else if (o->list)
        memset(list_of(o, out), 0, sizeof(pipc__option_list_t));

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

/* "red|green|map:N,..." with "|" as @separator. */
static void add_values(text_t *t, const pipc__option_t *o, const char *separator)
{
    for (const char *const *v = values_of(o); *v; v++)
        add(t, "%s%s%s", v == values_of(o) ? "" : separator, *v,
            !o->list || strcmp(o->list, *v) ? ""
            : o->type == PIPC__OPTION_NAMED ? "[:TEXT]"
                                            : ":N,...");
}

static pipc_status_t refuse_value(const pipc__option_t *o, const char *value, pipc__error_t *err)
{
    char list[256] = "";
    text_t t = {list, sizeof(list), 0};

    add_values(&t, o, ", ");
    if (!value)
        return pipc__fail(err, PIPC_ERR_INVALID, "%s needs a value; use %s:VALUE, one of: %s",
                          o->key, o->key, list);
    return pipc__fail(err, PIPC_ERR_INVALID, "%s: unknown value \"%s\"; use one of: %s", o->key,
                      value, list);
}

/* Where a text stands while it is read: the option whose list the next number would go on with. */
typedef struct reader {
    const pipc__option_t *table;
    void *out; /* NULL: only judge */
    pipc__error_t *err;
    const pipc__option_t *list; /* NULL: no list is open */
    int n;                      /* its entries so far */
} reader_t;

static pipc_status_t add_entry(reader_t *r, const char *text)
{
    size_t len = strlen(text);
    bool digits = len >= 1 && len <= 2 && strspn(text, "0123456789") == len;
    int value = digits ? (int)strtol(text, NULL, 10) : PIPC__OPTION_LIST_MAX;

    if (value >= PIPC__OPTION_LIST_MAX)
        return pipc__fail(r->err, PIPC_ERR_INVALID,
                          "%s:%s: \"%s\" is no number from 0 to %d; use %s:%s:N,N,...",
                          r->list->key, r->list->list, text, PIPC__OPTION_LIST_MAX - 1,
                          r->list->key, r->list->list);
    if (r->n == PIPC__OPTION_LIST_MAX)
        return pipc__fail(r->err, PIPC_ERR_INVALID, "%s:%s: more than %d entries", r->list->key,
                          r->list->list, PIPC__OPTION_LIST_MAX);
    if (r->out) {
        list_of(r->list, r->out)->at[r->n] = value;
        list_of(r->list, r->out)->n = r->n + 1;
    }
    r->n++;
    return PIPC_OK;
}

static pipc_status_t take_text(const reader_t *r, const pipc__option_t *o, const char *text)
{
    if (!*text || strlen(text) >= PIPC__OPTION_TEXT_MAX)
        return pipc__fail(r->err, PIPC_ERR_INVALID, "%s:%s: the text behind it is %s", o->key,
                          o->list, *text ? "too long" : "empty");
    if (r->out)
        strcpy(text_of(o, r->out), text);
    return PIPC_OK;
}

/* The value of @o. A list's first entry stands behind another colon. */
static pipc_status_t parse_value(reader_t *r, const pipc__option_t *o, char *value)
{
    char *entry = o->list ? strchr(value, ':') : NULL;
    const char *const *v = values_of(o);

    if (entry)
        *entry++ = '\0';
    while (*v && strcmp(*v, value))
        v++;
    bool takes_list = *v && o->list && !strcmp(*v, o->list);
    if (!*v || (entry && !takes_list)) {
        if (entry)
            entry[-1] = ':';
        return refuse_value(o, value, r->err);
    }
    if (r->out)
        set(o, r->out, (int)(v - values_of(o)));
    if (!takes_list || (o->type == PIPC__OPTION_NAMED && !entry))
        return PIPC_OK;
    if (o->type == PIPC__OPTION_NAMED)
        return take_text(r, o, entry);
    r->list = o;
    r->n = 0;
    return add_entry(r, entry ? entry : "");
}

/* One "key", "key:value" or the next number of a list. */
static pipc_status_t parse_one(reader_t *r, char *item)
{
    char *value = strchr(item, ':');
    const pipc__option_t *o = r->table;

    if (r->list && strspn(item, "0123456789") == strlen(item)) /* an empty one is no number */
        return add_entry(r, item);
    r->list = NULL;
    if (value)
        *value++ = '\0';
    while (o->key && strcmp(o->key, item))
        o++;
    if (!o->key)
        return refuse_key(r->table, item, r->err);
    if (value)
        return parse_value(r, o, value);
    if (o->type != PIPC__OPTION_FLAG)
        return refuse_value(o, NULL, r->err);
    if (r->out)
        set(o, r->out, 1); /* a flag alone is "yes" */
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
        reader_t r = {table, pass ? out : NULL, err, NULL, 0};
        strcpy(copy, text);
        for (char *rest = copy, *item = strsep(&rest, ","); item; item = strsep(&rest, ",")) {
            pipc_status_t st = *item || (r.list && rest) ? parse_one(&r, item) : PIPC_OK;
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
            add_values(&f, o, "|");
        }
        add(&t, "  %-28s %s", form, o->help);
        if (o->type != PIPC__OPTION_FLAG)
            add(&t, " (default %s)", o->values[o->def]);
        add(&t, "\n");
    }
    return t.used;
}
