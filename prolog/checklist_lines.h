/* prolog/checklist_lines.h - what the files of the checklist share; for checklist.h's callers there
 * is nothing here
 */
#ifndef PIPC_PROLOG_CHECKLIST_LINES_H
#define PIPC_PROLOG_CHECKLIST_LINES_H

#include "prolog/checklist.h"

typedef struct pipc__list {
    const pipc__readiness_t *r;
    const pipc__facts_t *facts;
    pipc__baseline_t now; /* the baseline that would be learned */
} pipc__list_t;

/* Give @line its state and evidence. */
void pipc__line_say(pipc__line_t *line, pipc__line_state_t state, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* What makes a line of some devices: the first that is no, else the first that is not known. */
typedef struct pipc__tally {
    int yes;
    const char *no, *unknown;
} pipc__tally_t;
void pipc__tally_add(pipc__tally_t *t, const char *name, pipc__line_state_t state);

void pipc__line_gpus(const pipc__list_t *l, pipc__line_t *line);
void pipc__line_links(const pipc__list_t *l, pipc__line_t *line);
void pipc__line_aspm(const pipc__list_t *l, pipc__line_t *line);
void pipc__line_generation(const pipc__list_t *l, pipc__line_t *line);
void pipc__line_p2p(const pipc__list_t *l, pipc__line_t *line);
void pipc__line_persistence(const pipc__list_t *l, pipc__line_t *line);
void pipc__line_stress(const pipc__list_t *l, pipc__line_t *line);
void pipc__line_acs(const pipc__list_t *l, pipc__line_t *line);
void pipc__line_gate(const pipc__list_t *l, pipc__line_t *line);

#endif
