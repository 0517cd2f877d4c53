/* prolog/changes.h - a change of a link at a time: from two looks, as a record of a ring, as a line
 * for people. Pure.
 */
#ifndef PIPC_PROLOG_CHANGES_H
#define PIPC_PROLOG_CHANGES_H

#include "prolog/deltas.h"
#include "prolog/ring.h"

typedef enum pipc__change_kind {
    PIPC__CHANGE_START, /* of a watch; from: milliseconds from look to look */
    PIPC__CHANGE_STOP,
    PIPC__CHANGE_WIDTH,
    PIPC__CHANGE_SPEED,
    PIPC__CHANGE_ERRORS
} pipc__change_kind_t;

typedef struct pipc__change {
    int64_t ms; /* UTC, since 1970 */
    pipc__change_kind_t kind;
    char lower[PIPC__FACT_NAME_MAX], upper[PIPC__FACT_NAME_MAX]; /* of the link; "": none in view */
    int from, to; /* lanes, or mega-transfers a second; -1: unknown */
    int64_t count[PIPC__COUNTS];
} pipc__change_t;

typedef struct pipc__changes {
    pipc__change_t *list; /* in order of time */
    int n, cap;
} pipc__changes_t;

typedef void pipc__change_each_t(void *arg, const pipc__change_t *change);

/* What of width and speed changed at @ms; then what errors there were. */
void pipc__changes_of_links(const pipc__deltas_t *deltas, int64_t ms, pipc__change_each_t *each,
                            void *arg);
void pipc__changes_of_errors(const pipc__deltas_t *deltas, int64_t ms, pipc__change_each_t *each,
                             void *arg);

/* A ring's record. Counts beyond 999999 are that; a port's name that does not fit is left out. */
void pipc__change_format(const pipc__change_t *change, char out[PIPC__RING_TEXT_MAX]);
bool pipc__change_parse(const char *text, pipc__change_t *out);

/* "2026-11-30T09:00:00.123Z 0000:01:00.0 (port 0000:00:01.0): x16 -> x8". Returns @out. */
const char *pipc__change_line(const pipc__change_t *change, char *out, size_t cap);

/* "2026-11-30T09:00:00Z", with milliseconds if @ms has any. Returns @out. */
const char *pipc__time_text(int64_t ms, char out[32]);

/* Append; false without memory. */
bool pipc__changes_add(pipc__changes_t *changes, const pipc__change_t *change);
void pipc__changes_free(pipc__changes_t *changes);

#endif
