/* prolog/elsewhere.c - see elsewhere.h */
#include "prolog/elsewhere.h"

#include <stdlib.h>

typedef struct below {
    int ports, sure; /* right below it, and those of them that lead elsewhere */
    bool other, maybe;
} below_t;

/* Is all of this domain listed, past @bus? */
static bool is_listed_past(const pipc__listed_t *list, int n, int domain, int bus)
{
    bool host = false, past = false;

    for (int i = 0; i < n; i++) {
        host |= list[i].addr.domain == domain && list[i].as == PIPC__LISTED_HOST;
        past |= list[i].addr.domain == domain && list[i].addr.bus > bus;
    }
    return host && past;
}

/* A function beside one that is not shown may be beside a GPU. */
static bool is_first_shown(const pipc__listed_t *list, int n, const pipc__listed_t *f)
{
    if (f->addr.function == 0)
        return true;
    for (int i = 0; i < n; i++)
        if (list[i].addr.domain == f->addr.domain && list[i].addr.bus == f->addr.bus &&
            list[i].addr.device == f->addr.device && list[i].addr.function == 0)
            return true;
    return false;
}

static bool leads_elsewhere(const pipc__listed_t *list, int n, int i, const below_t *b)
{
    if (list[i].as != PIPC__LISTED_PORT || b->maybe || b->sure < b->ports)
        return false;
    return b->other || b->ports > 0 ||
           (list[i].secondary > 0 &&
            is_listed_past(list, n, list[i].addr.domain, list[i].secondary));
}

pipc_status_t pipc__elsewhere(const pipc__listed_t *list, int n, bool *elsewhere,
                              pipc__error_t *err)
{
    below_t *below = calloc((size_t)n + 1, sizeof(*below));

    if (!below)
        return pipc__fail(err, PIPC_ERR_NOMEM, "out of memory");
    for (int i = 0; i < n; i++) {
        int p = list[i].parent;
        elsewhere[i] = false;
        if (p < 0)
            continue;
        below[p].ports += list[i].as == PIPC__LISTED_PORT;
        if (list[i].as == PIPC__LISTED_MAYBE || !is_first_shown(list, n, &list[i]))
            below[p].maybe = true;
        else
            below[p].other |= list[i].as == PIPC__LISTED_OTHER;
    }
    /* From the ends of the tree up: a round for each level at most. */
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < n; i++)
            if (!elsewhere[i] && leads_elsewhere(list, n, i, &below[i])) {
                elsewhere[i] = more = true;
                if (list[i].parent >= 0)
                    below[list[i].parent].sure++;
            }
    }
    free(below);
    return PIPC_OK;
}
