/* prolog/baseline.c - see baseline.h */
#include "prolog/baseline.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- a list of entries --------------------------------------------------------------------- */

void pipc__baseline_free(pipc__baseline_t *baseline)
{
    free(baseline->list);
    memset(baseline, 0, sizeof(*baseline));
}

pipc__baseline_entry_t *pipc__baseline_add(pipc__baseline_t *b)
{
    if (b->n == PIPC__BASELINE_MAX)
        return NULL;
    if (b->n == b->cap) {
        int cap = b->cap ? 2 * b->cap : 32;
        pipc__baseline_entry_t *more = realloc(b->list, sizeof(*more) * (size_t)cap);
        if (!more)
            return NULL;
        b->list = more;
        b->cap = cap;
    }
    pipc__baseline_entry_t *e = &b->list[b->n++];
    memset(e, 0, sizeof(*e));
    e->vendor = e->device = e->width = e->max_mts = e->target_mts = e->redirects = -1;
    e->bar = -1;
    return e;
}

const pipc__baseline_entry_t *pipc__baseline_at(const pipc__baseline_t *baseline, const char *path)
{
    for (int i = 0; i < baseline->n; i++)
        if (strcmp(baseline->list[i].path, path) == 0)
            return &baseline->list[i];
    return NULL;
}

/* ---- learning ------------------------------------------------------------------------------ */

/* The link above @f. Of one that is powered down, or whose ends do not agree, nothing can be told;
 * where the port is not in view the device's own end is what there is. */
static void learn_link(const pipc__facts_t *facts, const pipc__fact_t *f, pipc__baseline_entry_t *e)
{
    const pipc__fact_t *p = f->parent >= 0 ? &facts->dev[f->parent] : NULL;
    const pipc__express_t *a = p ? &p->link : NULL, *b = &f->link;

    if (f->link.d_state == 3 || pipc__inside_card(facts, f))
        return;
    if (p && pipc__has_link(facts, f)) {
        if (a->width < 0 || b->width < 0 || a->width == b->width)
            e->width = pipc__min_known(a->width, b->width);
        e->max_mts = pipc__min_known(a->max_mts, b->max_mts);
        e->target_mts = a->target_mts;
    } else if (!p && f->gpu) {
        e->width = b->width;
        e->max_mts = b->max_mts;
    }
}

static void learn_device(const pipc__facts_t *facts, const pipc__fact_t *f, bool class,
                         pipc__baseline_entry_t *e)
{
    snprintf(e->name, sizeof(e->name), "%s", f->name);
    pipc__place(facts, f, e->path);
    e->kind = f->gpu ? PIPC__KIND_GPU : f->nic ? PIPC__KIND_NIC : PIPC__KIND_PORT;
    e->vendor = f->vendor;
    /* What a text calls a card by its name only has no number that a file could keep. */
    e->device = f->device <= 0xffff ? f->device : -1;
    e->who = f->who;
    if (class) {
        e->who.serial = 0;
        e->who.uuid[0] = '\0';
    }
    if (e->kind == PIPC__KIND_PORT && f->more.acs >= 0)
        e->redirects = (f->more.acs & PIPC__ACS_REDIRECTS) != 0;
    if (e->kind == PIPC__KIND_GPU)
        e->bar = f->more.bar;
    if (f->answer != PIPC__LOST && f->answer != PIPC__ASLEEP)
        learn_link(facts, f, e);
}

pipc_status_t pipc__baseline_learn(const pipc__facts_t *facts, bool class, pipc__baseline_t *out,
                                   pipc__error_t *err)
{
    memset(out, 0, sizeof(*out));
    out->there = true;
    out->class = class;
    snprintf(out->bios, sizeof(out->bios), "%s", facts->bios);
    for (int i = 0; i < facts->n; i++) {
        pipc__baseline_entry_t *e;
        if (facts->dev[i].companion)
            continue;
        if (!(e = pipc__baseline_add(out)))
            return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory, or more than %d devices",
                              PIPC__BASELINE_MAX);
        learn_device(facts, &facts->dev[i], class, e);
    }
    return PIPC_OK;
}

/* ---- comparing ----------------------------------------------------------------------------- */

static bool differ(const pipc__baseline_entry_t *then, const pipc__baseline_entry_t *now,
                   const char *key, char *what, size_t cap)
{
    char a[PIPC__BASELINE_VALUE_MAX], b[PIPC__BASELINE_VALUE_MAX];

    if (!pipc__baseline_value(then, key, a) || !pipc__baseline_value(now, key, b) ||
        strcmp(a, b) == 0)
        return false;
    snprintf(what, cap, "%s is %s, was %s", key, b, a);
    return true;
}

bool pipc__baseline_is_another(const pipc__baseline_entry_t *then,
                               const pipc__baseline_entry_t *now, char *what, size_t cap)
{
    return differ(then, now, "kind", what, cap) || differ(then, now, "device", what, cap) ||
           differ(then, now, "serial", what, cap) || differ(then, now, "uuid", what, cap);
}

bool pipc__baseline_is_same_card(const pipc__baseline_entry_t *a, const pipc__baseline_entry_t *b)
{
    if (a->kind != b->kind || a->vendor != b->vendor || a->device != b->device)
        return false;
    return (a->who.serial && a->who.serial == b->who.serial) ||
           (a->who.uuid[0] && strcmp(a->who.uuid, b->who.uuid) == 0);
}

typedef struct teller {
    pipc__baseline_tell_t *tell;
    void *arg;
    int n;
} teller_t;

static void say(teller_t *t, const char *object, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void say(teller_t *t, const char *object, const char *fmt, ...)
{
    char what[2 * PIPC__BASELINE_VALUE_MAX + 32];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    t->tell(t->arg, object, what);
    t->n++;
}

static void diff_entry(const pipc__baseline_entry_t *then, const pipc__baseline_entry_t *now,
                       teller_t *t)
{
    char what[2 * PIPC__BASELINE_VALUE_MAX + 32];

    for (const pipc__baseline_key_t *k = pipc__baseline_keys; k->key; k++)
        if (strcmp(k->section, "device") == 0 && differ(then, now, k->key, what, sizeof(what)))
            say(t, now->name, "%s", what);
}

int pipc__baseline_diff(const pipc__baseline_t *then, const pipc__baseline_t *now,
                        pipc__baseline_tell_t *tell, void *arg)
{
    teller_t t = {tell, arg, 0};

    if (then->bios[0] && now->bios[0] && strcmp(then->bios, now->bios) != 0)
        say(&t, "node", "bios is %s, was %s", now->bios, then->bios);
    for (int i = 0; i < then->n; i++) {
        const pipc__baseline_entry_t *a = &then->list[i], *b = pipc__baseline_at(now, a->path);
        if (b)
            diff_entry(a, b, &t);
        else
            say(&t, a->name, "is not there, at %s", a->path);
    }
    for (int i = 0; i < now->n; i++)
        if (!pipc__baseline_at(then, now->list[i].path))
            say(&t, now->list[i].name, "is new, at %s", now->list[i].path);
    return t.n;
}
