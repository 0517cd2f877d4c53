/* prolog/breaker.c - see breaker.h */
#include "prolog/breaker.h"

#include <stdlib.h>
#include <string.h>

#include "prolog/state.h"

#define SCHEMA 2
#define PAGES_MAX 8   /* the oldest goes: kernels that are booted no more */
#define OPEN_MAX 1024 /* more than a machine has devices; beyond it no page is kept */
#define JUDGED_MAX                                                                                 \
    1024 /* ... and the oldest goes: it has a first look again when it comes back                  \
          */
#define BOOK_MAX (4 << 20)
#define ALL ""      /* codes of a device that said nothing */
#define LOST "lost" /* the same, of one that is lost: that is what may be accepted of it */
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

    if (!*of || strcmp(of, LOST) == 0 || strcmp(of, code) == 0)
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

static bool was_judged(const json_t *page, const char *who)
{
    const json_t *judged = json_object_get(page, "judged");

    for (size_t i = 0; i < json_array_size(judged); i++) {
        const char *text = json_string_value(json_array_get(judged, i));
        if (text && strcmp(text, who) == 0)
            return true;
    }
    return false;
}

/* What the book calls the object of a finding. */
static const char *object_of(const pipc__in_view_t *view, const pipc__finding_t *f)
{
    const char *who = pipc__in_view_who(view, f->object);

    return who ? who : f->object;
}

/* Devices have ids behind a blank; "node" has not. */
static bool is_device(const char *object)
{
    return strchr(object, ' ') != NULL;
}

static bool is_in_view(const pipc__in_view_t *view, const char *who)
{
    for (int i = 0; view && i < view->n; i++)
        if (strcmp(view->list[i].who, who) == 0)
            return true;
    return false;
}

static bool add_open(json_t *list, const char *code, const char *object)
{
    return json_array_append_new(list, json_pack("{s:s, s:s}", "code", code, "object", object)) ==
           0;
}

/* ---- learning ------------------------------------------------------------------------------ */

/* What one finding leaves open: NULL when its check, and all others of the object, passed. A device
 * that does not answer has passed none. A link whose width cannot be told, as in a virtual machine,
 * is one of a device that answers. */
static const char *opens(const pipc__finding_t *f)
{
    if (f->code == PIPC__CODE_LOST && f->severity >= PIPC__WARN)
        return LOST;
    if (f->severity == PIPC__DRAIN)
        return name_of(f->code);
    if (f->severity == PIPC__SEV_UNKNOWN)
        return f->code == PIPC__CODE_ASLEEP ? ALL : LINK;
    /* Judged under load alone: one that idles has not passed, and one that was woken, and rose, has
     * nothing that is expected of it any more. */
    return f->code == PIPC__CODE_SPEED && f->expected[0] ? name_of(PIPC__CODE_STAYS_SLOW) : NULL;
}

/* Was @entry, which is open, left open by this look too? */
static bool still_open(const json_t *entry, const pipc__in_view_t *view,
                       const pipc__findings_t *findings)
{
    const char *object = text_of(entry, "object"), *code = text_of(entry, "code");

    if (is_device(object) && !is_in_view(view, object))
        return true; /* nobody looked at it */
    for (int i = 0; i < findings->n; i++) {
        const char *now = opens(&findings->list[i]);
        if (now && strcmp(object_of(view, &findings->list[i]), object) == 0 &&
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

/* All that a first look at @object leaves open. */
static bool open_first(json_t *page, const pipc__in_view_t *view, const pipc__findings_t *findings,
                       const char *object)
{
    json_t *list = json_object_get(page, "open");

    for (int i = 0; i < findings->n; i++) {
        const char *code = opens(&findings->list[i]);
        if (code && strcmp(object_of(view, &findings->list[i]), object) == 0 &&
            (json_array_size(list) >= OPEN_MAX || !add_open(list, code, object)))
            return false;
    }
    return true;
}

/* What a look at devices that were not judged before leaves open. */
static bool judge_new(json_t *page, const pipc__in_view_t *view, const pipc__findings_t *findings,
                      bool *changed)
{
    json_t *judged = json_object_get(page, "judged");

    for (int i = 0; view && i < view->n; i++) {
        const char *who = view->list[i].who;
        if (was_judged(page, who))
            continue;
        while (json_array_size(judged) >= JUDGED_MAX)
            json_array_remove(judged, 0);
        if (!open_first(page, view, findings, who) ||
            json_array_append_new(judged, json_string(who)))
            return false;
        *changed = true;
    }
    return true;
}

/* Is the object of the @i-th finding one of those before it too? */
static bool is_named_before(const pipc__findings_t *findings, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(findings->list[k].object, findings->list[i].object) == 0)
            return true;
    return false;
}

/* The same of what is no device in view: the node; a GPU of the baseline that is gone. */
static bool judge_rest(json_t *page, const pipc__in_view_t *view, const pipc__findings_t *findings)
{
    for (int i = 0; i < findings->n; i++) {
        const char *object = findings->list[i].object;
        if (!pipc__in_view_who(view, object) && !is_named_before(findings, i) &&
            !open_first(page, view, findings, object))
            return false;
    }
    return true;
}

/* Nothing is opened any more: what is found from now on had passed. True when something closed. */
static bool close_passed(json_t *page, const pipc__in_view_t *view,
                         const pipc__findings_t *findings)
{
    json_t *open = json_object_get(page, "open");
    size_t before = json_array_size(open);

    for (size_t i = before; i-- > 0;)
        if (!still_open(json_array_get(open, i), view, findings))
            json_array_remove(open, i);
    return json_array_size(open) != before;
}

static pipc_status_t no_room(pipc__error_t *err)
{
    return pipc__fail(err, PIPC_ERR_NOMEM,
                      PIPC__BREAKER_FILE ": out of memory, or too many findings");
}

static pipc_status_t first_look(json_t *book, const char *conditions, bool all, time_t now,
                                const pipc__in_view_t *view, const pipc__findings_t *findings,
                                pipc__error_t *err)
{
    json_t *pages = pages_of(book);
    json_t *page = json_pack("{s:s, s:s, s:I, s:[], s:[]}", "conditions", conditions, "look",
                             look_name(all), "since", (json_int_t)now, "judged", "open");
    bool changed = false;

    if (!page || !judge_new(page, view, findings, &changed) || !judge_rest(page, view, findings)) {
        json_decref(page);
        return no_room(err);
    }
    if (json_array_append_new(pages, page))
        return no_room(err);
    while (json_array_size(pages) > PAGES_MAX)
        json_array_remove(pages, 0);
    return PIPC_OK;
}

pipc_status_t pipc__breaker_learn(json_t *book, const char *conditions, bool all, time_t now,
                                  const pipc__in_view_t *view, const pipc__findings_t *findings,
                                  bool *changed, pipc__error_t *err)
{
    json_t *page = page_of(book, conditions, all);

    *changed = false;
    if (says_nothing(findings))
        return PIPC_OK;
    if (page) {
        *changed = close_passed(page, view, findings);
        return judge_new(page, view, findings, changed) ? PIPC_OK : no_room(err);
    }
    *changed = true;
    return first_look(book, conditions, all, now, view, findings, err);
}

/* ---- acting -------------------------------------------------------------------------------- */

/* Did the check of @f not pass yet? */
static bool is_held(const json_t *page, const pipc__in_view_t *view, const pipc__finding_t *f)
{
    const char *who = pipc__in_view_who(view, f->object);

    if (!page || (who && !was_judged(page, who)))
        return true;
    return is_open(page, name_of(f->code), who ? who : f->object);
}

int pipc__breaker_hold(const json_t *book, const char *conditions, bool all,
                       const pipc__in_view_t *view, pipc__findings_t *findings)
{
    const json_t *page = book ? page_of(book, conditions, all) : NULL;
    pipc__findings_t after = {NULL, 0, 0, PIPC__OK};
    int held = 0;

    for (int i = 0; i < findings->n; i++) {
        pipc__finding_t f = findings->list[i];
        if (f.severity == PIPC__DRAIN && is_held(page, view, &f)) {
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
        const char *of = text_of(json_array_get(open, i), "code");
        if (code && !covers(strcmp(of, LOST) ? of : name_of(PIPC__CODE_LOST), code))
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
        if (!json_is_array(json_object_get(page, "open")) ||
            !json_is_array(json_object_get(page, "judged")) || !*text_of(page, "conditions"))
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
    bool old =
        json_integer_value(json_object_get(book, "schema")) == 1 && json_is_array(pages_of(book));
    json_decref(book);
    if (old)
        return pipc__breaker_new();
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
