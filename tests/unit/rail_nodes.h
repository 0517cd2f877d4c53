/* tests/unit/rail_nodes.h - a rail whose nodes are the forked ranks of a test (see ranks.h). */
#ifndef TESTS_UNIT_RAIL_NODES_H
#define TESTS_UNIT_RAIL_NODES_H

#include "runtime/rail/rail.h"
#include "tests/unit/ranks.h"

/* Collective: rank @rank is node @rank of a rail over all, named "rank R on nR". Ends the process
 * with 99 when that fails. */
pipc__rail_t *rail_join(ranks_t *all, int rank);

/* The caller's sum: the CPU executor's. */
void rail_sum(void *to, const void *from, size_t count, pipc_dtype_t dtype, pipc_redop_t op);

/* Start one job, wait for it by poll() and rest(). */
pipc_status_t rail_job(pipc__rail_t *rail, void *data, size_t count, pipc_dtype_t dtype,
                       pipc_redop_t op, pipc__error_t *err);

/* Wait for a job that was started. */
pipc_status_t rail_wait(pipc__rail_t *rail, int id, pipc__error_t *err);

double rail_now(void); /* seconds */

#endif
