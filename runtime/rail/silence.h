/* rail/silence.h - does a node answer no more, or does the network lose packets?
 *
 * Beside each connection by tcp lie PIPC__WATCHES idle ones to the same node, the watches, each
 * with the kernel's keepalive: it breaks 4 s after the last answer. A live node breaks one now and
 * then, where packets get lost; that one is laid anew at once. If the node is gone that attempt
 * fails 3 s later (two tries to connect), so a watch that broke, and did not break again, stands:
 *
 *     answers  | | |  x x x                       x: lost
 *     watch 0  -------------B----------------     B: broke; counts for PIPC__WATCH_MSEC
 *                            ~~~~~~
 *     watch 1  ------------------------------
 *
 * The node is silent while BROKEN of the WATCHES count and nothing was heard from it otherwise. Not
 * one of them: with 5 % of packets lost each way three answers in a row are missing every 20
 * minutes, and there are many connections. Of four, three within 4 s: once in 100 days. Not all:
 * one may have something of its own on its way when the node goes, a greeting of UCX's, and the
 * kernel then tries for 15 minutes.
 *
 * What broke while this process did not look, because it computes or is stopped, is of no known
 * age: all of them may have broken one by one in an hour, and have been laid anew by nobody. It
 * does not count; the attempts to lay it anew do.
 *
 * Pure: times are the caller's, in msec of one clock, > 0.
 */
#ifndef PIPC_RAIL_SILENCE_H
#define PIPC_RAIL_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

#define PIPC__WATCHES 4
#define PIPC__WATCHES_BROKEN 3
#define PIPC__WATCH_MSEC 4000

/* Of all peers together: when this process has looked. */
typedef struct pipc__looks {
    int64_t last, since; /* the last look; the first of those without a long pause between */
} pipc__looks_t;

/* Of one peer. */
typedef struct pipc__silence {
    int64_t broke[PIPC__WATCHES]; /* 0: never, or too long ago to be known */
} pipc__silence_t;

void pipc__looks_at(pipc__looks_t *looks, int64_t now);

/* Watch @i broke, or could not be laid: noticed @now, in the last look. */
void pipc__silence_broke(pipc__silence_t *s, int i, const pipc__looks_t *looks, int64_t now);

/* @heard: when something else last came from the node. */
bool pipc__is_silent(const pipc__silence_t *s, int64_t heard, int64_t now);

#endif
