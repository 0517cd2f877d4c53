/* prolog/judging.h - what the files of the judgement share; for judge.h's callers there is nothing
 * here
 */
#ifndef PIPC_PROLOG_JUDGING_H
#define PIPC_PROLOG_JUDGING_H

#include "prolog/judge.h"

typedef struct pipc__below {
    int gpus, nics; /* at or below a device */
} pipc__below_t;

typedef struct judge {
    const pipc__facts_t *facts;
    const pipc__limits_t *limits;
    pipc__findings_t *out;
    pipc__error_t *err;
    pipc_status_t status;
    pipc__below_t *below; /* of each device of the facts */
    int gpus;
} judge_t;

/* What helps against errors of a link that are of the past. */
#define PIPC__ADVICE_LINK "if they come back under load, reseat the card and its riser"

/* Add a finding about @f, or about the node (NULL): as severe as the limits say, but no more than
 * @most. @advice: the remedy, where the code's is not the best; else NULL. */
void pipc__judge_advise(judge_t *j, pipc__code_t code, pipc__severity_t most, const pipc__fact_t *f,
                        const char *advice, const char *expected, const char *fmt, ...)
    __attribute__((format(printf, 7, 8)));
#define pipc__judge_find(j, code, most, f, ...)                                                    \
    pipc__judge_advise(j, code, most, f, NULL, __VA_ARGS__)

/* Did an administrator excuse a link of @width lanes, by either of its ends? @p may be NULL. */
bool pipc__judge_excused(const judge_t *j, const pipc__fact_t *p, const pipc__fact_t *f, int width);

/* ACS, errors and counters of one device; then what a kernel's log says of all. */
void pipc__judge_errors(judge_t *j, const pipc__fact_t *f);
void pipc__judge_events(judge_t *j);

/* A GPU's BAR; and what is said of the node. */
void pipc__judge_memory(judge_t *j, const pipc__fact_t *f);
void pipc__judge_node(judge_t *j);
void pipc__judge_nvml(judge_t *j);

/* Does ACS at @f, a port between GPUs, send their requests up? */
bool pipc__judge_redirects(const judge_t *j, const pipc__fact_t *f);

/* The names of AER status bits, "replay rollover, replay timeout"; how severe they are at most. */
const char *pipc__corrected_names(uint32_t bits, char *out, size_t cap);
const char *pipc__uncorrected_names(uint32_t bits, char *out, size_t cap);
pipc__severity_t pipc__corrected_most(int64_t bits, bool companion);
pipc__severity_t pipc__uncorrected_most(int64_t bits, bool companion);

#endif
