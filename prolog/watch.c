/* prolog/watch.c - see watch.h */
#include "prolog/watch.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "runtime/topo/scan.h"

int64_t pipc__now_ms(void)
{
    struct timespec t = {0, 0};

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A sum that another set of devices does not have, in any order of them. */
static uint64_t list_devices(const char *root)
{
    char path[PIPC__DEVICE_DIR_MAX];
    struct dirent *entry;
    uint64_t all = 0;
    DIR *dir;

    if ((size_t)snprintf(path, sizeof(path), "%s/" PIPC__SCAN_DEVICES, root) >= sizeof(path) ||
        !(dir = opendir(path)))
        return 0;
    while ((entry = readdir(dir))) {
        uint64_t sum = 14695981039346656037u;
        for (const char *p = entry->d_name; *p; p++)
            sum = (sum ^ (unsigned char)*p) * 1099511628211u;
        all += sum;
    }
    closedir(dir);
    return all;
}

/* ---- comparing ----------------------------------------------------------------------------- */

static pipc_status_t tell_links(pipc__watch_t *w, const pipc__counters_t *now, pipc__error_t *err)
{
    pipc__deltas_t d;
    pipc_status_t st = pipc__deltas(&w->last, now, &d, err);

    if (!st)
        pipc__changes_of_links(&d, pipc__now_ms(), w->each, w->arg);
    pipc__deltas_free(&d);
    return st;
}

static bool has_errors(const pipc__deltas_t *d)
{
    for (int i = 0; i < d->n; i++)
        if (pipc__delta_has_errors(&d->link[i]))
            return true;
    return false;
}

/* The first errors are told at once, those that follow together. */
static pipc_status_t tell_errors(pipc__watch_t *w, const pipc__counters_t *now, bool last,
                                 pipc__error_t *err)
{
    pipc__deltas_t d;
    pipc_status_t st = pipc__deltas(&w->marked, now, &d, err);
    bool any = !st && has_errors(&d);
    bool wait = any && !last && w->told > 0 && now->uptime - w->told < PIPC__WATCH_ERRORS_SECONDS;

    if (any && !wait) {
        pipc__changes_of_errors(&d, pipc__now_ms(), w->each, w->arg);
        w->told = now->uptime;
    }
    pipc__deltas_free(&d);
    if (st || wait)
        return st;
    pipc__counters_free(&w->marked);
    return pipc__counters_copy(now, &w->marked, err);
}

static pipc_status_t compare(pipc__watch_t *w, pipc__counters_t *now, pipc__error_t *err)
{
    pipc_status_t st = tell_links(w, now, err);

    if (!st)
        st = tell_errors(w, now, false, err);
    pipc__counters_free(&w->last);
    w->last = *now;
    return st;
}

/* ---- looking ------------------------------------------------------------------------------- */

pipc_status_t pipc__watch_begin(pipc__watch_t *w, const char *root, const pipc__counters_t *kept,
                                pipc__change_each_t *each, void *arg, pipc__error_t *err)
{
    pipc__counters_t now;
    pipc_status_t st;

    memset(w, 0, sizeof(*w));
    w->root = root;
    w->each = each;
    w->arg = arg;
    w->listed = list_devices(root);
    st = pipc__counters_find(root, &now, err);
    if (!st)
        st = pipc__counters_copy(kept ? kept : &now, &w->last, err);
    if (!st)
        st = pipc__counters_copy(&w->last, &w->marked, err);
    if (!st)
        return compare(w, &now, err);
    pipc__counters_free(&now);
    return st;
}

pipc_status_t pipc__watch_look(pipc__watch_t *w, pipc__error_t *err)
{
    uint64_t listed = list_devices(w->root);
    pipc__counters_t now;
    pipc_status_t st = pipc__counters_copy(&w->last, &now, err);

    if (st)
        return st;
    pipc__counters_sample(&now, w->root);
    st = compare(w, &now, err); /* of those that went, too */
    if (st || listed == w->listed)
        return st;
    w->listed = listed;
    st = pipc__counters_find(w->root, &now, err);
    return st ? st : compare(w, &now, err);
}

void pipc__watch_end(pipc__watch_t *w)
{
    if (w->last.dev && w->marked.dev)
        tell_errors(w, &w->last, true, NULL);
    pipc__counters_free(&w->marked);
}
