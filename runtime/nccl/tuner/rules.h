/* nccl/tuner/rules.h - what NCCL is told in a communicator, from the tables that may be meant.
 *
 * A table is named by a hash of all that matters to the times in it, which only the ranks together
 * know; the plugin sees one process. So it takes those tables that were measured on exactly the
 * GPUs that this process sees, and only for a communicator of as many ranks: then it is these GPUs,
 * each with one rank. Where several tables fit (other numbers of multiprocessors, another staging),
 * what they do not agree on is left to NCCL. A process that sees only its own GPU can't tell, and
 * NCCL goes on as without us.
 *
 * PCIE_IPC_TABLE names the one table to use, whatever it was measured on, as it does for the
 * runtime
 * ("none": no table); but of as many ranks it must be.
 */
#ifndef PIPC_NCCL_TUNER_RULES_H
#define PIPC_NCCL_TUNER_RULES_H

#include <stdbool.h>

#include "runtime/comm/tables.h"
#include "runtime/nccl/tuner/seen.h"
#include "runtime/tune/told.h"

typedef struct pipc__rule {
    size_t max_bytes;
    bool tell[2]; /* eager calls; those with registered buffers, of graphs as a rule */
    pipc__told_t told[2];
} pipc__rule_t;

typedef struct pipc__rules {
    int n; /* in ascending order; 0: nothing is told. What is larger than all is left alone */
    pipc__rule_t rule[PIPC__TABLE_ROWS];
    char from[PIPC__TABLE_PATH]; /* the first file; "" none */
} pipc__rules_t;

/* The rules that times[n] give. */
void pipc__rules_make(pipc__rules_t *rules, const pipc__table_time_t *times, int n);

/* Keep in @rules what @other says, too. */
void pipc__rules_agree(pipc__rules_t *rules, const pipc__rules_t *other);

/* The rules for a communicator of @nranks on one node, from files. */
void pipc__rules_find(pipc__rules_t *rules, const pipc__seen_t *seen, size_t nranks,
                      pipc__getenv_t lookup);

/* What is to be told of a call; NULL: nothing. */
const pipc__told_t *pipc__rules_look(const pipc__rules_t *rules, size_t bytes, bool registered);

#endif
