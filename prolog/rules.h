/* prolog/rules.h - the files that steer the judgement, read together
 */
#ifndef PIPC_PROLOG_RULES_H
#define PIPC_PROLOG_RULES_H

#include <sys/types.h>

#include "prolog/baseline.h"
#include "prolog/limits.h"
#include "runtime/base/ini.h"

/* A path of NULL is no file. An owner of PIPC__INI_ANYBODY is for a file that the caller named. */
typedef struct pipc__rule_file {
    const char *path;
    uid_t owner;
} pipc__rule_file_t;

typedef struct pipc__rules {
    pipc__limits_t limits;
    pipc__baseline_t baseline;
    pipc__error_t refused[2]; /* for each file that was: why */
    int n_refused;
} pipc__rules_t;

/* A file that is refused is as good as none, but told. The caller releases @out. */
void pipc__rules_read(pipc__rule_file_t limits, pipc__rule_file_t baseline, pipc__rules_t *out);
void pipc__rules_free(pipc__rules_t *rules);

#define PIPC__DIGEST_MAX 17

/* 16 digits that stand for what the limits and the baseline say: other comments, or another order
 * of keys, are the same rules. */
void pipc__rules_digest(const pipc__rules_t *rules, char out[PIPC__DIGEST_MAX]);

#endif
