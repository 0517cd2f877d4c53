/* xchg/place.h - who this process is, told by the environment of whoever started it.
 *
 * Only processes that a launcher started itself may trust its numbers: a batch script, and whatever
 * it starts without srun, has SLURM_PROCID=0 and SLURM_LOCALID=0 in every process. So Slurm's own
 * variables count inside a step only, and what another launcher says must not contradict them.
 */
#ifndef PIPC_XCHG_PLACE_H
#define PIPC_XCHG_PLACE_H

#include <stdbool.h>

#include "runtime/base/error.h"
#include "runtime/xchg/xchg.h"

/* Numbers are -1 when nobody tells them. Strings are the environment's. */
typedef struct pipc__place {
    const char *dir;             /* PCIE_IPC_DIR; NULL when unset or empty */
    const char *node;            /* Slurm's name of this node, "" when unset */
    bool pmix;                   /* some launcher offers PMIx */
    int job_rank, job_size;      /* of the job step */
    int local_rank, local_size;  /* of the job step on this node */
    int launched;                /* ranks that a launcher other than Slurm says there are ... */
    int launched_local;          /* ... and this one's number among those of its node */
    const char *wrong, *value;   /* the first variable that should be a number and is none; NULL */
} pipc__place_t;

/* secure_getenv(), or a test's table. */
typedef const char *(*pipc__lookup_t)(void *arg, const char *name);

void pipc__place_read(pipc__place_t *place, pipc__lookup_t lookup, void *arg);
void pipc__place_here(pipc__place_t *place); /* from this process's environment */

/* This process's number among those of its node that are of one program, for the choice of a
 * device: of a launcher's inside of a step of one task, or of a batch script, that one's. 0 where
 * nobody tells. */
int pipc__place_local(const pipc__place_t *place);

/* Is everything that was told a number? What is none must not pass for untold: each rank of several
 * would be alone, and take its own values for the sum. PIPC_ERR_EXCHANGE. */
pipc_status_t pipc__place_told(const pipc__place_t *place, pipc__error_t *err);

/* Does nothing speak for more than one rank? */
bool pipc__place_single(const pipc__place_t *place);

/* Which of the step's ranks form the group of @scope, when only those of this node can meet?
 *   PIPC_ERR_EXCHANGE     numbers are missing, out of range, or contradict each other
 *   PIPC_ERR_UNSUPPORTED  scope JOB, and the step has ranks on other nodes
 * Pure; comes to the same status on every rank of a step. */
pipc_status_t pipc__place_group(const pipc__place_t *place, pipc__scope_t scope,
                                pipc__group_t *group, pipc__error_t *err);

/* Slurm's count of tasks of node @node in "4(x2),3": 4, 4, 3. -1 for what is no such list, or a node
 * beyond it. */
int pipc__tasks_of_node(const char *list, int node);

#endif
