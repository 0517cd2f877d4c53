/* prolog/dips.h - what many changes of links come to: how often each link lost lanes, and whether
 * that has a period, as a power supply's dips have. Pure, but for printing.
 */
#ifndef PIPC_PROLOG_DIPS_H
#define PIPC_PROLOG_DIPS_H

#include <stdio.h>

#include "prolog/changes.h"

typedef struct pipc__dips {
    char lower[PIPC__FACT_NAME_MAX], upper[PIPC__FACT_NAME_MAX];
    int narrowed, lowest_width; /* how often it lost lanes; with how few it was seen, -1: never */
    int64_t last_ms;            /* when it lost lanes the last time, UTC; of narrowed > 0 */
    int gone;                   /* how often its width could not be read any more */
    int slowed, speeds, lowest_mts; /* how often its speed fell; changed */
    double period, slow_period;     /* seconds between losses of lanes, falls of speed; 0: none */
    int64_t count[PIPC__COUNTS];
} pipc__dips_t;

typedef struct pipc__dips_list {
    pipc__dips_t *link; /* in order of their first change */
    int n;
    pipc__dips_t node; /* of all links: what fell at the same time is once */
} pipc__dips_list_t;

/* @changes in order of time. False without memory; the caller releases @out, also then. */
bool pipc__dips(const pipc__changes_t *changes, pipc__dips_list_t *out);
void pipc__dips_free(pipc__dips_list_t *dips);

/* The period of @n events at @seconds (ascending; changed), or 0 where they have none. Those within
 * a minute are one; four in five of the gaps between them have to be one period long, or several
 * where some were not seen; and it takes five events, since fewer fall into step by chance. */
double pipc__period(double *seconds, int n);

/* One line a link and kind. Changes of speed alone are told apart: idle GPUs make them. */
void pipc__dips_print(const pipc__dips_list_t *dips, FILE *out);

/* "30 min", "45 s", "2.5 h". Returns @out. */
const char *pipc__span_text(double seconds, char out[32]);

#endif
