/* tests/unit/place_case.c - see place_case.h */
#include "tests/unit/place_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

pipc__topo_t *tree(const char *text)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__topo_t *topo;

    if (pipc__topo_synthetic(&topo, text, &err))
        fail_msg("%s", err.text);
    return topo;
}

void name_uuids(pipc__topo_t *topo)
{
    for (int i = 0; i < topo->nobjs; i++)
        if (topo->objs[i].kind == PIPC__TOPO_GPU)
            snprintf(topo->objs[i].uuid, sizeof(topo->objs[i].uuid), "GPU-%da%d",
                     topo->objs[i].minor / 4, topo->objs[i].minor);
}

pipc__view_t view(uint64_t minors, const char *list)
{
    pipc__view_t v = {.minors = minors, .listed = list != NULL};

    snprintf(v.list, sizeof(v.list), "%s", list ? list : "");
    return v;
}

void fill(const struct place_case *c, pipc__place_in_t *in)
{
    memset(in, 0, sizeof(*in));
    in->bind = !c->none;
    in->rank = c->rank;
    in->nranks = c->nranks;
    in->step = view(c->step_minors, c->step_list);
    in->task = view(c->task_minors, c->task_list);
    in->cpus.word[0] = 0xffff;
    in->cpus_shared = true;
}
