/* prolog/drained.h - what the healthcheck remembers of its own drains, in /var/lib/pcie-ipc
 */
#ifndef PIPC_PROLOG_DRAINED_H
#define PIPC_PROLOG_DRAINED_H

#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "prolog/act.h"
#include "prolog/slurm.h"

#define PIPC__DRAINED_FILE "drain.json"

typedef struct pipc__drained {
    char reason[PIPC__SLURM_TEXT_MAX]; /* that we set, or asked the census for; "": none */
    char by[PIPC__SLURM_TEXT_MAX];     /* the user and time that Slurm keeps with it; "": not seen
                                          there yet */
    int well;                          /* checks in a row that found the node better than drain */
    time_t undrained[PIPC__UNDRAINS_A_DAY]; /* our last ones, the newest first; 0: none */
} pipc__drained_t;

/* An absent file, and one that is no record, is an empty record: then no drain is ours. */
void pipc__drained_read(int dir, uid_t owner, pipc__drained_t *out);
pipc_status_t pipc__drained_write(int dir, const pipc__drained_t *d, pipc__error_t *err);

/* Is the reason of @node the one that we set? The same text from another hand, or set anew, is
 * not. */
bool pipc__drained_is_ours(const pipc__drained_t *d, const pipc__node_t *node);

/* How many of its undrains are less than a day before @now. */
int pipc__drained_undrains(const pipc__drained_t *d, time_t now);

#endif
