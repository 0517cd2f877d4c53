/* prolog/deltas.h - what changed between two looks at the same machine, link by link. Pure.
 *
 * A counter belongs to the device that saw the error, which is often the link's other end: both
 * ends are added, and all functions of the card. A counter that fell is of another device, or of
 * another boot: then nothing is known.
 */
#ifndef PIPC_PROLOG_DELTAS_H
#define PIPC_PROLOG_DELTAS_H

#include "prolog/counters.h"

typedef struct pipc__delta {
    char lower[PIPC__FACT_NAME_MAX], upper[PIPC__FACT_NAME_MAX]; /* upper "": not in view */
    bool gpu;                    /* the lower end is one: its speed falls when it is idle */
    int width[2], mts[2];        /* before, after; -1: unknown */
    int64_t count[PIPC__COUNTS]; /* errors between; -1: unknown */
} pipc__delta_t;

typedef struct pipc__deltas {
    pipc__delta_t *link; /* of the later look, in order of the lower ends' addresses */
    int n;
    double seconds; /* between the looks; 0: they are not of one boot, and all errors are unknown */
} pipc__deltas_t;

/* PIPC_ERR_NOMEM is all that can go wrong. The caller releases @out, also then. */
pipc_status_t pipc__deltas(const pipc__counters_t *before, const pipc__counters_t *after,
                           pipc__deltas_t *out, pipc__error_t *err);
void pipc__deltas_free(pipc__deltas_t *deltas);

/* Sums of a delta's known counts: corrected errors that a sick link makes (bad packets, replays);
 * uncorrected ones. */
int64_t pipc__delta_sick(const pipc__delta_t *d);
int64_t pipc__delta_uncorrected(const pipc__delta_t *d);

/* Is there an error of any kind, unsupported requests aside? */
bool pipc__delta_has_errors(const pipc__delta_t *d);

/* "12 bad TLP, 1 replay timeout"; "" without errors. Returns @out. */
const char *pipc__delta_text(const int64_t count[PIPC__COUNTS], char *out, size_t cap);

#endif
