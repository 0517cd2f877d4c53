/* prolog/site.h - a site's own files that steer the judgement, read together
 */
#ifndef PIPC_PROLOG_SITE_H
#define PIPC_PROLOG_SITE_H

#include <sys/types.h>

#include "prolog/ack.h"
#include "prolog/baseline.h"
#include "prolog/limits.h"
#include "runtime/base/ini.h"

/* A path of NULL is no file; of the acknowledgements it is their folder. An owner of
 * PIPC__INI_ANYBODY is for a file that the caller named. */
typedef struct pipc__rule_file {
    const char *path;
    uid_t owner;
} pipc__rule_file_t;

typedef struct pipc__site {
    pipc__limits_t limits;
    pipc__baseline_t baseline;
    pipc__acks_t acks;
    pipc__error_t refused[3]; /* for each file that was: why */
    int n_refused;
} pipc__site_t;

/* A file that is refused is as good as none, but told. The caller releases @out. */
void pipc__site_read(pipc__rule_file_t limits, pipc__rule_file_t baseline, pipc__rule_file_t acks,
                     pipc__site_t *out);
void pipc__site_free(pipc__site_t *site);

#endif
