/* prolog/census.h - max_drain: no more than so many nodes of a cluster are drained by us
 *
 * A count that each node took for itself would be a load on Slurm's controller, and too late: nodes
 * that fall sick at once would all find room. So a sick node asks, by a word in the field Extra of
 * its record (only where that is empty), and goes on running jobs, with a warning. One place, once
 * a period, asks Slurm for all nodes, counts, and drains those that ask, up to the limit.
 */
#ifndef PIPC_PROLOG_CENSUS_H
#define PIPC_PROLOG_CENSUS_H

#include <stdbool.h>
#include <stdio.h>

#include "prolog/slurm.h"

typedef struct pipc__census_result {
    int nodes;   /* of the cluster */
    int drained; /* with a reason of ours */
    int asking;  /* in service, and asking */
    int limit;   /* of drained, as it comes out for this cluster */
} pipc__census_result_t;

/* The field's text for @reason, and back: "" when it does not ask. */
void pipc__census_mark(const char *reason, char out[PIPC__SLURM_TEXT_MAX]);
void pipc__census_reason(const char *extra, char out[PIPC__SLURM_TEXT_MAX]);

/* Count; @pick (of as many as there are nodes) gets which of them are to be drained, in the order
 * of the list. Pure. */
pipc__census_result_t pipc__census_count(const pipc__nodes_t *nodes, pipc__share_t max_drain,
                                         bool *pick);

/* Ask, count, drain; a line a node that is drained, and one on what it came to, to @say. @dry_run:
 * nothing is changed. */
pipc_status_t pipc__census(const pipc__slurm_t *slurm, pipc__share_t max_drain, bool dry_run,
                           pipc__census_result_t *count, FILE *say, pipc__error_t *err);

#endif
