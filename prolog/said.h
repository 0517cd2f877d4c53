/* prolog/said.h - say a thing once, again when it changes, and else once an hour
 */
#ifndef PIPC_PROLOG_SAID_H
#define PIPC_PROLOG_SAID_H

#include <stdbool.h>
#include <sys/types.h>

#include "prolog/judge.h"

#define PIPC__SAID_AGAIN 3600 /* seconds */
#define PIPC__SAID_MAX 24     /* bytes of what was said, in short */

/* What there is to say of @findings, in short: which checks found what of which device, not the
 * numbers, which may change with every look. "" when nothing is worth a line. */
void pipc__said_key(const pipc__findings_t *findings, char out[PIPC__SAID_MAX]);

/* Is @key to be said? Yes when the file @name of the folder @dir (-1: none) has another one, or
 * this one from PIPC__SAID_AGAIN before @now (seconds since boot); then it has this one from now
 * on. "" is said when something else was said before: that it is over. The caller holds a lock. */
bool pipc__said_due(int dir, const char *name, uid_t owner, const char *key, double now);

#endif
