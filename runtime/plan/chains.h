/* plan/chains.h - the island plan of machines whose groups are uneven, or stand in groups. */
#ifndef PIPC_PLAN_CHAINS_H
#define PIPC_PLAN_CHAINS_H

#include <stdbool.h>

#include "runtime/plan/build.h"
#include "runtime/plan/owners.h"

/* Are the groups of the machine, as pipc__parts_pair() leaves them, anything but two of the same
 * size, or none? */
bool pipc__chains_suit(const pipc__parts_t *parts);

/* All-reduce by chains; fills b->plan. */
void pipc__build_chains(pipc__build_t *b, const pipc__parts_t *parts);

#endif
