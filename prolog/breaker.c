/* prolog/breaker.c - see breaker.h */
#include "prolog/breaker.h"

#include <stdlib.h>
#include <string.h>

#include "prolog/state.h"

#define SCHEMA 1
#define PAGES_MAX 8   /* the oldest goes: kernels that are booted no more */
#define OPEN_MAX 1024 /* more than a machine has devices; beyond it no page is kept */
#define BOOK_MAX (2 << 20)
#define ALL ""      /* codes of a device that said nothing */
#define LINK "link" /* those of a link of which something could not be told */

/* ---- the book ------------------------------------------------------------------------------ */

json_t *pipc__breaker_new(void)
{
    return json_pack("{s:i, s:[]}", "schema", SCHEMA, "pages");
}

static json_t *pages_of(const json_t *book)
{
    return json_object_get(book, "pages");
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static const char *look_name(bool all)
{
    return all ? "all" : "links";
}

static json_t *page_of(const json_t *book, const char *conditions, bool all)
{
    for (size_t i = 0; i < json_array_size(pages_of(book)); i++) {
        json_t *page = json_array_get(pages_of(book), i);
        if (strcmp(text_of(page, "conditions"), conditions) == 0 &&
            strcmp(text_of(page, "look"), look_name(all)) == 0)
            return page;
    }
    return NULL;
}

static const char *name_of(pipc__code_t code)
{
    return pipc__codes[code].name;
}

/* Is @code one of those that @of stands for? */
static bool covers(const char *of, const char *code)
{
    static const pipc__code_t links[] = {PIPC__CODE_WIDTH, PIPC__CODE_LANES, PIPC__CODE_STAYS_SLOW};

    if (!*of || strcmp(of, code) == 0)
        return true;
    for (size_t i = 0; strcmp(of, LINK) == 0 && i < sizeof(links) / sizeof(links[0]); i++)
        if (strcmp(name_of(links[i]), code) == 0)
            return true;
    return false;
}

static bool is_about(const json_t *entry, const char *code, const char *object)
{
    return strcmp(text_of(entry, "object"), object) == 0 && covers(text_of(entry, "code"), code);
}

static bool is_open(const json_t *page, const char *code, const char *object)
{
    const json_t *open = json_object_get(page, "open");

    for (size_t i = 0; i < json_array_size(open); i++)
        if (is_about(json_array_get(open, i), code, object))
            return true;
    return false;
}

static bool add_open(json_t *list, const char *code, const char *object)
{
    return json_array_append_new(list, json_pack("{s:s, s:s}", "code", code, "object", object)) ==
           0;
}

/* ---- learning ------------------------------------------------------------------------------ */

/* What one finding leaves open: NULL when its check, and all others of the object, passed. A link
 * whose width cannot be told, as in a virtual machine, is one of a device that answers. */
static const char *opens(const pipc__finding_t *f)
{
    if (f->severity == PIPC__DRAIN)
        return name_of(f->code);
    if (f->severity == PIPC__SEV_UNKNOWN)
        return f->code == PIPC__CODE_ASLEEP ? ALL : LINK;
    /* Judged under load alone: one that idles has not passed, and one that was woken, and rose, has
     * nothing that is expected of it any more. */
    return f->code == PIPC__CODE_SPEED && f->expected[0] ? name_of(PIPC__CODE_STAYS_SLOW) : NULL;
}

/* Was @entry, which is open, left open by this look too? */
static bool still_open(const json_t *entry, const pipc__findings_t *findings)
{
    const char *object = text_of(entry, "object"), *code = text_of(entry, "code");

    for (int i = 0; i < findings->n; i++) {
        const char *now = opens(&findings->list[i]);
        if (now && strcmp(findings->list[i].object, object) == 0 &&
            (covers(now, code) || covers(code, now)))
            return true;
    }
    return false;
}

/* A machine that could not be read, or that shows no GPU, has passed nothing. */
static bool says_nothing(const pipc__findings_t *findings)
{
    for (int i = 0; i < findings->n; i++)
        if (findings->list[i].code == PIPC__CODE_SOURCE ||
            findings->list[i].code == PIPC__CODE_NO_GPU)
            return true;
    return false;
}

/* All that a first look leaves open. */
static json_t *open_first(const pipc__findings_t *findings)
{
    json_t *list = json_array();

    for (int i = 0; list && i < findings->n; i++) {
        const char *code = opens(&findings->list[i]);
        if (code && (json_array_size(list) >= OPEN_MAX ||
                     !add_open(list, code, findings->list[i].object))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Nothing is opened any more: what is found from now on had passed. True when something closed. */
static bool close_passed(json_t *page, const pipc__findings_t *findings)
{
    json_t *open = json_object_get(page, "open");
    size_t before = json_array_size(open);

    for (size_t i = before; i-- > 0;)
        if (!still_open(json_array_get(open, i), findings))
            json_array_remove(open, i);
    return json_array_size(open) != before;
}

static pipc_status_t first_look(json_t *book, const char *conditions, bool all, time_t now,
                                json_t *open, pipc__error_t *err)
{
    json_t *pages = pages_of(book);
    json_t *page = json_pack("{s:s, s:s, s:I, s:o}", "conditions", conditions, "look",
                             look_name(all), "since", (json_int_t)now, "open", open);

    if (!page || json_array_append_new(pages, page))
        return pipc__fail(err, PIPC_ERR_NOMEM, PIPC__BREAKER_FILE ": out of memory");
    while (json_array_size(pages) > PAGES_MAX)
        json_array_remove(pages, 0);
    return PIPC_OK;
}

pipc_status_t pipc__breaker_learn(json_t *book, const char *conditions, bool all, time_t now,
                                  const pipc__findings_t *findings, bool *changed,
                                  pipc__error_t *err)
{
    json_t *page = page_of(book, conditions, all);

    *changed = false;
    if (says_nothing(findings))
        return PIPC_OK;
    if (page) {
        *changed = close_passed(page, findings);
        return PIPC_OK;
    }
    json_t *open = open_first(findings);
    if (!open)
        return pipc__fail(err, PIPC_ERR_NOMEM,
                          PIPC__BREAKER_FILE ": out of memory, or too many findings");
    *changed = true;
    return first_look(book, conditions, all, now, open, err);
}

/* ---- acting -------------------------------------------------------------------------------- */

int pipc__breaker_hold(const json_t *book, const char *conditions, bool all,
                       pipc__findings_t *findings)
{
    const json_t *page = book ? page_of(book, conditions, all) : NULL;
    pipc__findings_t after = {NULL, 0, 0, PIPC__OK};
    int held = 0;

    for (int i = 0; i < findings->n; i++) {
        pipc__finding_t f = findings->list[i];
        if (f.severity == PIPC__DRAIN && (!page || is_open(page, name_of(f.code), f.object))) {
            f.severity = PIPC__WARN;
            strcpy(f.remedy, PIPC__BREAKER_HELD);
            held++;
        }
        if (pipc__findings_add(&after, &f, NULL)) {
            pipc__findings_free(&after);
            return -1;
        }
    }
    pipc__findings_free(findings);
    *findings = after;
    return held;
}

/* On one page. */
static int accept_on(json_t *page, const char *code)
{
    json_t *open = json_object_get(page, "open");
    int n = 0;

    for (size_t i = json_array_size(open); i-- > 0;) {
        if (code && !covers(text_of(json_array_get(open, i), "code"), code))
            continue;
        json_array_remove(open, i);
        n++;
    }
    return n;
}

int pipc__breaker_accept(json_t *book, const char *conditions, const char *code)
{
    json_t *links = page_of(book, conditions, false), *all = page_of(book, conditions, true);

    return (links ? accept_on(links, code) : 0) + (all ? accept_on(all, code) : 0);
}

/* ---- the file ------------------------------------------------------------------------------ */

static bool is_book(const json_t *book)
{
    const json_t *pages = pages_of(book);

    if (json_integer_value(json_object_get(book, "schema")) != SCHEMA || !json_is_array(pages) ||
        json_array_size(pages) > PAGES_MAX)
        return false;
    for (size_t i = 0; i < json_array_size(pages); i++) {
        const json_t *page = json_array_get(pages, i);
        if (!json_is_array(json_object_get(page, "open")) || !*text_of(page, "conditions"))
            return false;
    }
    return true;
}

json_t *pipc__breaker_read(int dir, uid_t owner, pipc__error_t *err)
{
    char *text;
    size_t n;
    pipc_status_t st = pipc__state_read(dir, PIPC__BREAKER_FILE, owner, BOOK_MAX, &text, &n, err);

    if (st == PIPC_ERR_NOT_FOUND)
        return pipc__breaker_new();
    if (st)
        return NULL;
    json_t *book = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    if (book && is_book(book))
        return book;
    json_decref(book);
    pipc__fail(err, PIPC_ERR_INVALID,
               PIPC__BREAKER_FILE ": not the breaker's book; remove it, it is begun anew");
    return NULL;
}

pipc_status_t pipc__breaker_write(int dir, const json_t *book, pipc__error_t *err)
{
    char *text = json_dumps(book, JSON_INDENT(1));
    pipc_status_t st =
        text ? pipc__state_write(dir, PIPC__BREAKER_FILE, 0644, text, strlen(text), err)
             : pipc__fail(err, PIPC_ERR_NOMEM, PIPC__BREAKER_FILE ": out of memory");

    free(text);
    return st;
}
