/* prolog/judge_baseline.h - facts against what they were when the machine was well. Pure.
 *
 * Both ends of a link may say that they can do no more than they do: a slot that the firmware has
 * split in two, a riser with few contacts. Only the past knows better. But it is the past of
 * certain cards at certain places: what a stale entry says never drains a node.
 */
#ifndef PIPC_PROLOG_JUDGE_BASELINE_H
#define PIPC_PROLOG_JUDGE_BASELINE_H

#include "prolog/baseline.h"
#include "prolog/judge.h"

/* Add to @out, which pipc__judge() has filled. A @baseline that is not there says nothing. With
 * PIPC__LOOK_LINKS no NIC was looked for. Fails only without memory. */
pipc_status_t pipc__judge_baseline(const pipc__facts_t *facts, const pipc__limits_t *limits,
                                   const pipc__baseline_t *baseline, pipc__look_t look,
                                   pipc__findings_t *out, pipc__error_t *err);

#endif
