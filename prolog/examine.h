/* prolog/examine.h - a node is examined: by a look, or by taking the last one; the breaker has its
 * say, and the result is left for others
 */
#ifndef PIPC_PROLOG_EXAMINE_H
#define PIPC_PROLOG_EXAMINE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "prolog/judge.h"
#include "runtime/base/config.h"

/* Where things are and whose they must be; tests have their own. */
typedef struct pipc__gate {
    const char *config, *limits, *baseline, *run, *state;
    uid_t owner;
    const char *nvml, *cuda; /* libraries; NULL: the driver's own */
} pipc__gate_t;

/* pipc__config_read(); what is wrong is told once and then hourly. */
void pipc__exam_config(const pipc__gate_t *gate, pipc__config_t *config, FILE *say);

typedef struct pipc__exam {
    bool all;         /* look at everything, not at links alone */
    bool fresh;       /* look now, however young the last look is */
    const char *gpus; /* of the job that is to start, as slurmd names them; NULL or "": none */

    pipc__findings_t findings; /* what may be acted on */
    pipc__severity_t seen;     /* the verdict before the breaker; of a fresh look alone */
} pipc__exam_t;

/* How long one waits for the lock to know what was said before; without it, it is said again. */
#define PIPC__EXAM_LOCK_MS 100

/* One examines at a time; the others wait, and take what it found. A look at links alone does not
 * wait for one at everything, which may ask a driver that hangs: after half of the deadline it
 * is made beside it, and leaves nothing. What does not work on the way is told to @say: without a
 * folder to keep it in each looks for itself, and without the breaker's book nothing is a reason to
 * drain. Fails only without memory. The caller releases the findings,
 * also then. */
pipc_status_t pipc__examine(const pipc__gate_t *gate, const pipc__config_t *config,
                            pipc__exam_t *exam, FILE *say);

/* pipc__said_due() for this node, in the folder of this boot. */
bool pipc__exam_due(const pipc__gate_t *gate, const char *who, const char *key);

/* One line: the worst finding, and how many others there are of warn or more; that there are none,
 * when there are none. */
void pipc__exam_print(const pipc__findings_t *findings, FILE *say);

#endif
