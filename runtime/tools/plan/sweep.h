/* tools/plan/sweep.h - predictions over sizes, and the picture of them
 */
#ifndef PIPC_TOOLS_PLAN_SWEEP_H
#define PIPC_TOOLS_PLAN_SWEEP_H

#include <stdio.h>

#include "runtime/tools/plan/plan.h"

#define SWEEP_FIRST 10 /* 1 KB */
#define SWEEP_SIZES 21 /* powers of two, to 1 GB */

typedef struct sweep_row {
    size_t bytes;
    double usec[PIPC__PLAN_KINDS], busbw[PIPC__PLAN_KINDS];
    int best; /* kind */
    char limit[256];
} sweep_row_t;

typedef struct sweep {
    bool has[PIPC__PLAN_KINDS];
    sweep_row_t row[SWEEP_SIZES];
} sweep_t;

/* A curve a plan over the logarithm of the size. */
void sweep_svg(const sweep_t *sweep, const char *title, FILE *out);

#endif
