/* comm/plans.h - from the records of all ranks to the plans of their communicator. Every rank has
 * the same records and comes to the same plans.
 */
#ifndef PIPC_COMM_PLANS_H
#define PIPC_COMM_PLANS_H

#include <stdbool.h>

#include "runtime/plan/generate.h"
#include "runtime/tune/table.h"
#include "runtime/xchg/record.h"

/* How the ranks of recs[n] stand, and who reaches whom. Flat where their ways are none, with the
 * reason in @why ("" else), and where NVLink joins their GPUs: then the PCIe switches say nothing.
 */
void pipc__plans_shape(pipc__shape_t *shape, const pipc__record_t *recs, int n, pipc__error_t *why);

/* Make the plans that @table names, plan[kind], and leave the others NULL. One that was made for
 * groups or for host memory is not in every user's hands: it is proved right before it may run, in
 * turns with the others. The caller frees what is made, after a failure too. */
pipc_status_t pipc__plans_make(pipc__plan_t *plan[PIPC__PLAN_KINDS], const pipc__table_t *table,
                               const pipc__shape_t *shape, pipc__error_t *err);

/* Of what decides the plans; ranks compare it. */
uint64_t pipc__plans_digest(const pipc__table_t *table, const pipc__shape_t *shape);

/* "2 groups of 4", "flat", "2 groups of 4, 4 of 2": the shape for people, in a buffer of the
 * caller's; returns it. */
const char *pipc__plans_describe(const pipc__shape_t *shape, char *buf, size_t cap);

#endif
