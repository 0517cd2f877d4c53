/* plan/text.h - plans in words: for error texts, and for people who want to read a plan.
 */
#ifndef PIPC_PLAN_TEXT_H
#define PIPC_PLAN_TEXT_H

#include <stdio.h>

#include "runtime/base/error.h"
#include "runtime/plan/plan.h"

#define PIPC__OP_TEXT 400    /* bytes that hold any op in words, the final 0 included */
#define PIPC__OP_BRIEFLY 256 /* enough in an error text, whose end tells what is wrong */

/* Op of @rank in words, cut to @bytes: "copy chunk 3 from its input to slot 5 of rank 2". The
 * sources of a reduction are the rank's own where no rank is named; "pre" and "post" are the two
 * halves of an operation (plan.h). Any content of @op is allowed; what makes no sense is named by
 * its number. */
void pipc__plan_op_text(const pipc__op_t *op, int rank, char *text, size_t bytes);

/* Write @plan to @out, a line a step, below a heading for each rank and stage. */
pipc_status_t pipc__plan_print(const pipc__plan_t *plan, FILE *out, pipc__error_t *err);

/* "all-reduce", "reduce-scatter", "all-gather"; NULL outside the enumeration. Static. */
const char *pipc__collective_name(pipc__collective_t collective);

#endif
