/* prolog/judge.h - facts -> findings. Pure: no file, no clock, no output.
 *
 * A link has two ends, and what it should be is what both of them can do. Width is judged at any
 * speed. Speed alone is never a fault: an idle GPU trains its link down to Gen1, and is well. What
 * cannot be told is unknown, never a fault.
 */
#ifndef PIPC_PROLOG_JUDGE_H
#define PIPC_PROLOG_JUDGE_H

#include "prolog/codes.h"
#include "prolog/facts.h"
#include "prolog/limits.h"

typedef struct pipc__finding {
    pipc__code_t code;
    pipc__severity_t severity;
    char object[PIPC__FACT_NAME_MAX]; /* "0000:41:00.0", or "node" */
    char seen[192];                   /* "link is x8" */
    char expected[192];               /* "x16"; "" where nothing can be said */
    char remedy[128];
    char event[PIPC__BOOT_MAX]; /* of what is the same in the same words at every time: which; or ""
                                 */
} pipc__finding_t;

typedef struct pipc__findings {
    pipc__finding_t *list; /* worst first, then in order of the facts */
    int n, cap;
    pipc__severity_t verdict; /* the worst of them; ok without any */
} pipc__findings_t;

/* PIPC_ERR_NOMEM is all that can go wrong. The caller releases @out, also then. */
pipc_status_t pipc__judge(const pipc__facts_t *facts, const pipc__limits_t *limits,
                          pipc__findings_t *out, pipc__error_t *err);

/* Add one finding; what is no plain text in it becomes "?". */
pipc_status_t pipc__findings_add(pipc__findings_t *out, const pipc__finding_t *finding,
                                 pipc__error_t *err);

/* Take the @i-th out. */
void pipc__findings_remove(pipc__findings_t *out, int i);

void pipc__findings_free(pipc__findings_t *findings);

#endif
