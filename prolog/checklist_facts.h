/* prolog/checklist_facts.h - read what checklist.h judges
 */
#ifndef PIPC_PROLOG_CHECKLIST_FACTS_H
#define PIPC_PROLOG_CHECKLIST_FACTS_H

#include "prolog/check.h"
#include "prolog/checklist.h"

/* Where things are. */
typedef struct pipc__checklist_place {
    const char
        *state;      /* the folder with the record of stress and the matrix; NULL: not looked at */
    uid_t owner;     /* ... whose it must be */
    const char *p2p; /* what pcie-ipc-p2p --json measured now, or NULL */
    const char *prolog_dir, *epilog_dir; /* Slurm's folders */
    const char *prolog, *epilog;         /* what the links in them lead to */
    pipc__rule_file_t config;            /* pcie-ipc.conf */
    const char *off[2];                  /* files that switch the gate off */
} pipc__checklist_place_t;

typedef struct pipc__checklist_facts {
    pipc__facts_t facts;
    pipc__findings_t findings;
    pipc__site_t site;
    pipc__readiness_t readiness; /* points into the above */
} pipc__checklist_facts_t;

/* @live: it is this machine. What is not there, or is not to be believed, is marked so, and told on
 * @say if it is more than absent. Fails when the machine cannot be read. The caller releases @out,
 * also then. */
pipc_status_t pipc__checklist_read(const pipc__machine_t *source,
                                   const pipc__checklist_place_t *place, bool live, FILE *say,
                                   pipc__checklist_facts_t *out, pipc__error_t *err);
void pipc__checklist_free(pipc__checklist_facts_t *facts);

#endif
