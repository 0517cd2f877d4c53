/* prolog/explain.h - the page of a code
 */
#ifndef PIPC_PROLOG_EXPLAIN_H
#define PIPC_PROLOG_EXPLAIN_H

#include <stdbool.h>
#include <stdio.h>

/* Print what @name ("PCI001", in any case) means, why it is judged so and what to do; false when
 * there is no such code. */
bool pipc__explain(const char *name, FILE *out);

#endif
