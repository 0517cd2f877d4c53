/* prolog/in_view.h - the devices of one look, by names that last: the way from the root and the
 * ids. An address does not, as its bus has another number when a card is added elsewhere. Pure.
 */
#ifndef PIPC_PROLOG_IN_VIEW_H
#define PIPC_PROLOG_IN_VIEW_H

#include "prolog/facts.h"
#include "prolog/places.h"

#define PIPC__WHO_MAX (PIPC__PLACE_MAX + 12)

typedef struct pipc__in_view {
    struct pipc__viewed {
        char name[PIPC__FACT_NAME_MAX]; /* as findings have it: "0000:41:00.0" */
        char who[PIPC__WHO_MAX];        /* "0000:40:01.1/00.0 10de:20f1" */
    } * list;
    int n;
} pipc__in_view_t;

/* The caller releases @out. PIPC_ERR_NOMEM is all that can go wrong. */
pipc_status_t pipc__in_view(const pipc__facts_t *facts, pipc__in_view_t *out, pipc__error_t *err);
void pipc__in_view_free(pipc__in_view_t *view);

/* Who the object of a finding is; NULL when it is no device of @view, which may be NULL. */
const char *pipc__in_view_who(const pipc__in_view_t *view, const char *object);

#endif
