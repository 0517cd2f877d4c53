/* prolog/check_time.h - the part of a check that looks back: to earlier looks of this boot, and to
 * what a watch recorded
 */
#ifndef PIPC_PROLOG_CHECK_TIME_H
#define PIPC_PROLOG_CHECK_TIME_H

#include "prolog/check.h"
#include "prolog/dips.h"

#define PIPC__CHECK_DAY_MS 86400000

/* Add to @out what is found, from the folders that @source names; what cannot be read there is not
 * looked at. With source->past.keep this look is left for later ones. PIPC_ERR_NOMEM is all that
 * can go wrong. */
pipc_status_t pipc__check_time(const pipc__machine_t *source, const pipc__facts_t *facts,
                               const pipc__limits_t *limits, pipc__findings_t *out,
                               pipc__error_t *err);

/* The judgement of it, pure: what changed between two looks; what a day's record has. */
pipc_status_t pipc__judge_deltas(const pipc__facts_t *facts, const pipc__limits_t *limits,
                                 const pipc__deltas_t *deltas, pipc__findings_t *out,
                                 pipc__error_t *err);
pipc_status_t pipc__judge_dips(const pipc__facts_t *facts, const pipc__limits_t *limits,
                               const pipc__dips_list_t *dips, pipc__findings_t *out,
                               pipc__error_t *err);

#endif
