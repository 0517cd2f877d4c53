/* prolog/output.h - findings as lines for people, and as JSON
 *
 *     {"schema": 1, "verdict": "ok|note|unknown|warn|drain",
 *      "findings": [{"code", "severity", "object", "seen", "expected", "remedy"}, ...]}
 */
#ifndef PIPC_PROLOG_OUTPUT_H
#define PIPC_PROLOG_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "prolog/judge.h"

#define PIPC__SCHEMA 1

/* One line a finding of at least @least, worst first. */
void pipc__findings_print(const pipc__findings_t *findings, pipc__severity_t least, FILE *out);

/* A new reference; NULL without memory. */
json_t *pipc__findings_to_json(const pipc__findings_t *findings);

/* Back again; false when @json is not of this schema. The caller releases @out, also then. */
bool pipc__findings_from_json(const json_t *json, pipc__findings_t *out);

/* Print @json, which is released, and a newline. ASCII alone: some of it comes from users, and it
 * may go to root's terminal. False when it could not be; NULL is allowed and could not. */
bool pipc__json_print(json_t *json, FILE *out);

#endif
