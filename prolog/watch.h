/* prolog/watch.h - look at a machine's links and counters again and again, and hand on what changed
 */
#ifndef PIPC_PROLOG_WATCH_H
#define PIPC_PROLOG_WATCH_H

#include "prolog/changes.h"

#define PIPC__WATCH_ERRORS_SECONDS 60 /* a link that has errors all the time is told this often */

typedef struct pipc__watch {
    const char *root;
    pipc__counters_t last, marked; /* links are compared with the one, errors with the other */
    double told;                   /* uptime when errors were last handed on */
    uint64_t listed;               /* which devices the bus has: a sum of their names */
    pipc__change_each_t *each;
    void *arg;
} pipc__watch_t;

/* Begin on the machine below @root (kept). @kept, if not NULL, is what an earlier watch of this
 * boot ended with: what changed since is handed on too. The caller ends @w, also after a failure.
 */
pipc_status_t pipc__watch_begin(pipc__watch_t *w, const char *root, const pipc__counters_t *kept,
                                pipc__change_each_t *each, void *arg, pipc__error_t *err);

/* Look once. Devices that came or went are noticed. */
pipc_status_t pipc__watch_look(pipc__watch_t *w, pipc__error_t *err);

/* Hand on errors that were not told yet, and release all but w->last, which the caller frees. */
void pipc__watch_end(pipc__watch_t *w);

/* Milliseconds since 1970. */
int64_t pipc__now_ms(void);

#endif
