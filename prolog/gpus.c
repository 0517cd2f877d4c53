/* prolog/gpus.c - see gpus.h */
#include "prolog/gpus.h"

#include <string.h>

#include "prolog/looks.h"

static bool is_about(const pipc__counters_t *c, int gpu, const char *object)
{
    for (int i = gpu, hops = 0; i >= 0 && hops <= c->n; i = c->dev[i].parent, hops++)
        if (strcmp(c->dev[i].name, object) == 0)
            return true;
    return strcmp(object, "node") == 0;
}

pipc__severity_t pipc__gpu_verdict(const pipc__counters_t *c, int gpu,
                                   const pipc__findings_t *findings)
{
    pipc__severity_t worst = PIPC__OK;

    for (int i = 0; i < findings->n; i++)
        if (findings->list[i].severity > worst && is_about(c, gpu, findings->list[i].object))
            worst = findings->list[i].severity;
    return worst;
}

static json_t *number_or_null(int n)
{
    return n < 0 ? json_null() : json_integer(n);
}

/* What the port says of the link goes first: see deltas.c. */
static json_t *one(const pipc__counters_t *c, int gpu, const pipc__findings_t *findings)
{
    const pipc__counter_t *d = &c->dev[gpu];
    const pipc__counter_t *above = d->link && d->parent >= 0 ? &c->dev[d->parent] : d;

    return json_pack("{s:s, s:s, s:o, s:o}", "address", d->name, "verdict",
                     pipc__severity_name(pipc__gpu_verdict(c, gpu, findings)), "width",
                     number_or_null(above->width >= 0 ? above->width : d->width), "mts",
                     number_or_null(above->mts >= 0 ? above->mts : d->mts));
}

json_t *pipc__gpus_to_json(const pipc__counters_t *c, const pipc__findings_t *findings)
{
    json_t *list = json_array();

    for (int i = 0; list && i < c->n; i++) {
        if (!c->dev[i].gpu || json_array_size(list) >= PIPC__GPUS_MAX)
            continue;
        if (json_array_append_new(list, one(c, i, findings))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

json_t *pipc__gpus_of_machine(int dir, uid_t owner, const char *sysroot,
                              const pipc__findings_t *findings)
{
    pipc__looks_t looks;
    json_t *list;

    if (!pipc__looks_read(dir, PIPC__LOOKS_REFERENCE, owner, sysroot, &looks))
        return json_null();
    pipc__counters_sample(&looks.look[looks.n - 1], sysroot);
    list = pipc__gpus_to_json(&looks.look[looks.n - 1], findings);
    pipc__looks_free(&looks);
    return list;
}
