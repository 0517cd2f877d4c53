/* prolog/diary.c - see record.h */
#include "prolog/diary.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prolog/state.h"

#define LOCK "watch.lock"

/* ---- writing ------------------------------------------------------------------------------- */

pipc_status_t pipc__diary_open(pipc__diary_t *r, const char *folder, uid_t owner,
                               pipc__error_t *err)
{
    pipc_status_t st;

    *r = (pipc__diary_t){.dir = -1, .lock = -1, .changes = {.fd = -1}, .speeds = {.fd = -1}};
    st = pipc__state_open(folder, owner, &r->dir, err);
    if (!st)
        st = pipc__state_lock(r->dir, LOCK, 0, &r->lock, err);
    if (!st)
        st = pipc__ring_open(r->dir, PIPC__DIARY_CHANGES, owner, PIPC__DIARY_PLACES, &r->changes,
                             err);
    if (!st)
        st = pipc__ring_open(r->dir, PIPC__DIARY_SPEEDS, owner, PIPC__DIARY_SPEED_PLACES,
                             &r->speeds, err);
    return st;
}

pipc_status_t pipc__diary_add(pipc__diary_t *r, const pipc__change_t *change, pipc__error_t *err)
{
    char text[PIPC__RING_TEXT_MAX];

    pipc__change_format(change, text);
    return pipc__ring_append(change->kind == PIPC__CHANGE_SPEED ? &r->speeds : &r->changes, text,
                             err);
}

void pipc__diary_flush(const pipc__diary_t *r)
{
    pipc__ring_flush(&r->changes);
}

void pipc__diary_close(pipc__diary_t *r)
{
    pipc__ring_close(&r->changes);
    pipc__ring_close(&r->speeds);
    if (r->lock >= 0)
        close(r->lock);
    if (r->dir >= 0)
        close(r->dir);
    r->lock = r->dir = -1;
}

/* ---- reading ------------------------------------------------------------------------------- */

typedef struct reading {
    const pipc__window_t *window;
    pipc__changes_t *out;
    bool before, in; /* was a watch on when the window began; did one run, or see anything, in it */
    bool broken;     /* one began or ended in it */
    bool no_memory;
} reading_t;

static void note_watch(reading_t *r, const pipc__change_t *c)
{
    bool turn = c->kind == PIPC__CHANGE_START || c->kind == PIPC__CHANGE_STOP;

    if (c->ms > r->window->to_ms)
        return;
    if (turn && c->ms <= r->window->from_ms) {
        r->before = c->kind == PIPC__CHANGE_START;
    } else if (c->ms >= r->window->from_ms) {
        r->in = true;
        r->broken |= turn;
    }
}

static bool take(void *arg, const char *text)
{
    reading_t *r = arg;
    pipc__change_t c;

    if (!pipc__change_parse(text, &c))
        return true; /* of a later version */
    note_watch(r, &c);
    if (c.lower[0] && c.ms >= r->window->from_ms && c.ms <= r->window->to_ms)
        r->no_memory = !pipc__changes_add(r->out, &c);
    return !r->no_memory;
}

static int by_time(const void *a, const void *b)
{
    const pipc__change_t *x = a, *y = b;

    return x->ms < y->ms ? -1 : x->ms > y->ms;
}

/* A watch that was killed left no word of its end. */
static bool is_on(int dir)
{
    int fd;
    bool on = pipc__state_lock(dir, LOCK, 0, &fd, NULL) == PIPC_ERR_NOT_FOUND;

    if (fd >= 0)
        close(fd);
    return on;
}

static pipc_status_t read_ring(int dir, const char *name, uid_t owner, reading_t *r,
                               pipc__error_t *err)
{
    pipc_status_t st = pipc__ring_read(dir, name, owner, take, r, err);

    if (!st && r->no_memory)
        return pipc__fail(err, PIPC_ERR_NOMEM, "%s: out of memory", name);
    return st == PIPC_ERR_NOT_FOUND ? PIPC_OK : st;
}

pipc_status_t pipc__diary_read(const char *folder, uid_t owner, const pipc__window_t *window,
                               pipc__changes_t *out, pipc__watched_t *watched, pipc__error_t *err)
{
    reading_t r = {.window = window, .out = out};
    int dir;
    pipc_status_t st = pipc__state_find(folder, owner, &dir, err);

    memset(out, 0, sizeof(*out));
    if (watched)
        *watched = PIPC__WATCHED_NOT;
    if (st) /* nobody ever watched */
        return st == PIPC_ERR_NOT_FOUND ? PIPC_OK : st;
    st = read_ring(dir, PIPC__DIARY_CHANGES, owner, &r, err);
    bool on = watched && is_on(dir);
    if (watched && (on || r.in))
        *watched = on && r.before && !r.broken ? PIPC__WATCHED_WHOLE
                   : r.in                      ? PIPC__WATCHED_PARTLY
                                               : PIPC__WATCHED_NOT;
    if (!st && window->speeds)
        st = read_ring(dir, PIPC__DIARY_SPEEDS, owner, &r, err);
    close(dir);
    if (!st && out->n > 1)
        qsort(out->list, (size_t)out->n, sizeof(*out->list), by_time);
    return st;
}
