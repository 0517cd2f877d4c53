/* tune/told.h - what NCCL is best told to do, from measured times: an algorithm and a protocol in
 * the place of its own choice. Pure.
 *
 * NCCL's own choice is a candidate of every table, and so are the variants that it can be told to
 * use ("ring-ll", "ring-ll128", "ring-simple", "tree"). The runtime can't tell NCCL anything call
 * by call, so variants decide no row; NCCL's tuner plugin can, and asks here.
 */
#ifndef PIPC_TUNE_TOLD_H
#define PIPC_TUNE_TOLD_H

#include "runtime/tune/file.h"

#define PIPC__TOLD_ANY (-1) /* any protocol: the one that NCCL takes for the fastest */

/* Numbers are NCCL's, as its tuner interface counts them. */
typedef struct pipc__told {
    int algo;  /* 0 tree, 1 ring */
    int proto; /* 0 LL, 1 LL128, 2 Simple; PIPC__TOLD_ANY */
} pipc__told_t;

/* What NCCL is to be told for messages of @bytes, from times[n] in any order; false: nothing, its
 * own choice stands. A size that lies between two measured ones goes with the larger; one above
 * them all is left to NCCL.
 *
 * A variant has to beat NCCL's own choice by 3 % in the median (PIPC__ADMIT_GAIN) with a tail no
 * worse in the mode that is asked for, and to be level with it at the measured sizes beside and in
 * the other mode, where it was measured there: NCCL tells its plugin of registered buffers, and so
 * of most graphs, but not of all. */
bool pipc__told(pipc__told_t *told, const pipc__table_time_t *times, int n, size_t bytes,
                bool in_graph);

/* "ring-ll", "tree", ...; static. */
const char *pipc__told_name(const pipc__told_t *told);

/* "ring-ll", "tree" ...; false for what is no algorithm that NCCL could be told ("symmetric"). */
bool pipc__told_parse(pipc__told_t *told, const char *variant);

#endif
