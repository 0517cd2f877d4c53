/* plan/host.h - pairs that are not within reach of each other meet in host memory. */
#ifndef PIPC_PLAN_HOST_H
#define PIPC_PLAN_HOST_H

#include <stdint.h>

#include "runtime/plan/plan.h"

/* Turn slots and flags of @plan that a rank would write in memory that it can't reach into those of
 * the same number in the receiver's host memory. reach[nranks]: bit q of reach[r]: r can write q's
 * device memory; need not be symmetric. */
void pipc__plan_via_host(pipc__plan_t *plan, const uint16_t *reach);

#endif
