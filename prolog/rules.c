/* prolog/rules.c - see rules.h */
#include "prolog/rules.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/hash.h"

void pipc__rules_read(pipc__rule_file_t limits, pipc__rule_file_t baseline, pipc__rules_t *out)
{
    memset(out, 0, sizeof(*out));
    out->limits = pipc__limits_default();
    if (limits.path &&
        pipc__limits_read(limits.path, limits.owner, &out->limits, &out->refused[out->n_refused]))
        out->n_refused++;
    if (baseline.path && pipc__baseline_read(baseline.path, baseline.owner, &out->baseline,
                                             &out->refused[out->n_refused]))
        out->n_refused++;
}

void pipc__rules_free(pipc__rules_t *rules)
{
    pipc__baseline_free(&rules->baseline);
}

/* Field by field: what lies between them in memory says nothing. */
#define ADD(hash, field) ((hash) = pipc__hash(hash, &(field), sizeof(field)))

static uint64_t hash_limits(uint64_t hash, const pipc__limits_t *l)
{
    for (int c = 0; c < PIPC__CODES; c++)
        ADD(hash, l->severity[c]);
    ADD(hash, l->gpus);
    ADD(hash, l->errors_per_hour);
    for (int i = 0; i < l->exempts; i++) {
        const pipc__exempt_t *x = &l->exempt[i];
        hash = pipc__hash(hash, x->name, strlen(x->name) + 1);
        ADD(hash, x->vendor);
        ADD(hash, x->device);
        ADD(hash, x->width);
        ADD(hash, x->ignore);
    }
    return hash;
}

static uint64_t hash_baseline(uint64_t hash, const pipc__baseline_t *b)
{
    char value[PIPC__BASELINE_VALUE_MAX];

    ADD(hash, b->there);
    ADD(hash, b->class);
    hash = pipc__hash(hash, b->bios, strlen(b->bios) + 1);
    for (int i = 0; i < b->n; i++)
        for (const pipc__baseline_key_t *k = pipc__baseline_keys; k->key; k++)
            if (pipc__baseline_value(&b->list[i], k->key, value)) {
                hash = pipc__hash(hash, k->key, strlen(k->key) + 1);
                hash = pipc__hash(hash, value, strlen(value) + 1);
            }
    return hash;
}

void pipc__rules_digest(const pipc__rules_t *rules, char out[PIPC__DIGEST_MAX])
{
    uint64_t hash = hash_limits(PIPC__HASH_INIT, &rules->limits);

    hash = hash_baseline(hash, &rules->baseline);
    snprintf(out, PIPC__DIGEST_MAX, "%016" PRIx64, hash);
}
