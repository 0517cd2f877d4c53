/* tools/plan/calibrate.h - what pcie-ipc-bench measured, and a profile that predicts it
 */
#ifndef PIPC_TOOLS_PLAN_CALIBRATE_H
#define PIPC_TOOLS_PLAN_CALIBRATE_H

#include "runtime/tools/plan/plan.h"

#define CALIBRATE_ROWS 512

/* One measured row. */
typedef struct measured {
    size_t bytes, elem_bytes;
    int kind;             /* pipc__plan_kind_t */
    double usec;          /* out of place, the median of the slowest rank */
    double before, after; /* predicted, with the profile as it was and as it was fitted */
} measured_t;

typedef struct measured_set {
    measured_t row[CALIBRATE_ROWS];
    int nrows, nranks, skipped; /* rows whose plan is not known here are skipped */
    bool cpu;
} measured_set_t;

/* Read files "A,B,..." that pcie-ipc-bench -J wrote; all must be of as many ranks and the same
 * backend. PIPC_ERR_SYSTEM: one can't be read; PIPC_ERR_INVALID: it is no such file. */
pipc_status_t measured_read(measured_set_t *set, const char *files, pipc__error_t *err);

/* Change m->costs' profile so that predictions come as near to @set as they can, in the sense of
 * least squares of the logarithms; fills in before and after. */
pipc_status_t calibrate_fit(plan_machine_t *m, const plan_wants_t *wants, plan_set_t *plans,
                            measured_set_t *set, pipc__error_t *err);

#endif
