/* tests/unit/health_found.h - what the gate finds in a machine captured or dumped, as a line */
#ifndef PIPC_TESTS_HEALTH_FOUND_H
#define PIPC_TESTS_HEALTH_FOUND_H

#include <stddef.h>

#include "prolog/check.h"

/* The verdict and "object:code ..." of a machine, in @out. */
const char *judged(pipc__machine_t source, char *out, size_t cap);

/* Of the tree as a prolog looks at it, or of a dump. */
const char *found(const char *dump, char *out, size_t cap);

#endif
