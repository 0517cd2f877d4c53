/* prolog/checklist.h - what is to be so before a node goes into production, line by line. Pure:
 * checklist_facts.h reads.
 *
 * A line is yes only where that is known. What cannot be told is unknown, and the evidence says
 * what would tell it.
 */
#ifndef PIPC_PROLOG_CHECKLIST_H
#define PIPC_PROLOG_CHECKLIST_H

#include "prolog/baseline.h"
#include "prolog/judge.h"
#include "prolog/p2p_matrix.h"
#include "prolog/stress_record.h"

#define PIPC__CHECKLIST_STRESS_S 86400 /* the load that a machine is to have stood */

/* In order: the worst line is the answer of all. */
typedef enum pipc__line_state {
    PIPC__LINE_YES,
    PIPC__LINE_UNKNOWN,
    PIPC__LINE_NO
} pipc__line_state_t;

typedef struct pipc__line {
    const char *item; /* "aspm" */
    const char *what; /* what is to be so: a clause, no full stop */
    pipc__line_state_t state;
    char evidence[384];
    int64_t date; /* of the evidence, UTC; 0: none */
} pipc__line_t;

typedef enum pipc__linked {
    PIPC__LINKED_UNASKED,
    PIPC__LINKED_NO,
    PIPC__LINKED_YES
} pipc__linked_t;

/* What is known. A pointer may not be NULL; what was not found is marked as its type has it. */
typedef struct pipc__readiness {
    const pipc__facts_t *facts;
    const pipc__findings_t *findings; /* of a check of the same machine */
    const pipc__baseline_t *baseline;
    int64_t baseline_time;                 /* when it was learned or changed; 0: not known */
    pipc__p2p_matrix_t accepted, measured; /* measured: now; if not there NVML's answer is taken */
    bool stressed;                         /* there is a record */
    pipc__stress_record_t stress;          /* ... this */
    char machine[512];                     /* pipc__stress_machine() of now */
    pipc__linked_t prolog, epilog;         /* are they where Slurm looks? */
    char prolog_dir[256], epilog_dir[256];
    const char *off;  /* the file that switches the gate off, or NULL */
    const char *mode; /* of pcie-ipc.conf */
    int64_t now;      /* UTC; 0: of a captured machine nobody knows */
} pipc__readiness_t;

#define PIPC__CHECKLIST_LINES 10

/* PIPC_ERR_NOMEM is all that can go wrong. */
pipc_status_t pipc__checklist(const pipc__readiness_t *r, pipc__line_t out[PIPC__CHECKLIST_LINES],
                              pipc__error_t *err);

/* "yes", "unknown", "no" */
const char *pipc__line_state_name(pipc__line_state_t state);

/* "2026-11-30 09:54 UTC", or "no date"; returns @out. */
const char *pipc__date_text(int64_t seconds, char out[32]);

#endif
