/* prolog/site.c - see site.h */
#include "prolog/site.h"

#include <string.h>

void pipc__site_read(pipc__rule_file_t limits, pipc__rule_file_t baseline, pipc__rule_file_t acks,
                     pipc__site_t *out)
{
    pipc__error_t *why = out->refused;

    memset(out, 0, sizeof(*out));
    out->limits = pipc__limits_default();
    if (limits.path && pipc__limits_read(limits.path, limits.owner, &out->limits, why))
        why++;
    if (baseline.path && pipc__baseline_read(baseline.path, baseline.owner, &out->baseline, why))
        why++;
    if (acks.path && pipc__acks_read(acks.path, acks.owner, &out->acks, why))
        why++;
    out->n_refused = (int)(why - out->refused);
}

void pipc__site_free(pipc__site_t *site)
{
    pipc__baseline_free(&site->baseline);
    pipc__acks_free(&site->acks);
}
