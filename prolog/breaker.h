/* prolog/breaker.h - a finding drains a node only if the same check passed there earlier
 *
 * What never passed under the conditions of now (conditions.h) may be their fault: a new kernel
 * that shows a file in another form, a limits file with a slip in it, and every node of a cluster
 * would be drained at once. So it is held to a warning, until the check has passed on this node or
 * an administrator says that it is right.
 *
 * The book has a page for each set of conditions, and on it which devices were judged under them
 * and what is open: a check (a code and an object) that has not passed yet. What the first look at
 * a device finds is open, and what it cannot judge; all else of it has passed by that look. A
 * device is known by its place and ids (in_view.h), so that one that is added later has a first
 * look too.
 *
 *     {"schema": 2, "pages": [{"conditions": "kernel ...", "look": "links", "since": 1790000000,
 *                              "judged": ["0000:40:01.1/00.0 10de:20f1"],
 *                              "open": [{"code": "PCI001", "object": "0000:40:01.1/00.0
 * 10de:20f1"}]}]}
 *
 * A code of "" or "lost" is every code: the device said nothing; "link" is those of its link, of
 * which something could not be told. A book of schema 1, which did not know devices, is begun anew.
 * Pure but for the last two.
 */
#ifndef PIPC_PROLOG_BREAKER_H
#define PIPC_PROLOG_BREAKER_H

#include <jansson.h>
#include <stdbool.h>
#include <time.h>

#include "prolog/in_view.h"
#include "prolog/judge.h"

#define PIPC__BREAKER_FILE "breaker.json"
#define PIPC__BREAKER_HELD                                                                         \
    "held by the breaker: this never passed here under these conditions; if right: "               \
    "pcie-ipc-health accept"

/* An empty book. NULL without memory. */
json_t *pipc__breaker_new(void);

/* Take a look at the devices of @view (NULL: none are known), made just now under @conditions, into
 * the book: @changed says whether there is
 * something to keep. @all: whether it was PIPC__LOOK_ALL, which judges more and has a page of its
 * own. */
pipc_status_t pipc__breaker_learn(json_t *book, const char *conditions, bool all, time_t now,
                                  const pipc__in_view_t *view, const pipc__findings_t *findings,
                                  bool *changed, pipc__error_t *err);

/* Lower what is open, or of a device of @view that was not judged yet, from drain to warn, with the
 * remedy that says so; a @book of NULL, or one without a page for @conditions, holds all. The
 * number of findings that were held, or -1 without memory, when @findings is as it was. */
int pipc__breaker_hold(const json_t *book, const char *conditions, bool all,
                       const pipc__in_view_t *view, pipc__findings_t *findings);

/* An administrator says that findings of @code (NULL: any) are right: they are open no more, on
 * any page of @conditions. How many there were. */
int pipc__breaker_accept(json_t *book, const char *conditions, const char *code);

/* The book in the folder @dir; an absent one is empty. NULL, with @err, when there is one that
 * cannot be believed: then everything is held until somebody has looked at it. */
json_t *pipc__breaker_read(int dir, uid_t owner, pipc__error_t *err);
pipc_status_t pipc__breaker_write(int dir, const json_t *book, pipc__error_t *err);

#endif
