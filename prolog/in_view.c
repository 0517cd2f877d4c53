/* prolog/in_view.c - see in_view.h */
#include "prolog/in_view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pipc_status_t pipc__in_view(const pipc__facts_t *facts, pipc__in_view_t *out, pipc__error_t *err)
{
    memset(out, 0, sizeof(*out));
    out->list = calloc((size_t)facts->n + 1, sizeof(*out->list));
    if (!out->list)
        return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    for (int i = 0; i < facts->n; i++) {
        const pipc__fact_t *f = &facts->dev[i];
        struct pipc__viewed *v = &out->list[out->n++];
        char place[PIPC__PLACE_MAX];
        pipc__place(facts, f, place);
        snprintf(v->name, sizeof(v->name), "%s", f->name);
        snprintf(v->who, sizeof(v->who), "%s %04x:%04x", place, (unsigned int)f->vendor & 0xffff,
                 (unsigned int)f->device & 0xffff);
    }
    return PIPC_OK;
}

void pipc__in_view_free(pipc__in_view_t *view)
{
    free(view->list);
    memset(view, 0, sizeof(*view));
}

const char *pipc__in_view_who(const pipc__in_view_t *view, const char *object)
{
    for (int i = 0; view && i < view->n; i++)
        if (strcmp(view->list[i].name, object) == 0)
            return view->list[i].who;
    return NULL;
}
