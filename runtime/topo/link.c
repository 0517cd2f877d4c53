/* topo/link.c - see link.h */
#include "runtime/topo/link.h"

static int less(int a, int port)
{
    return port >= 0 && port < a ? port : a;
}

/* The root port right above @obj; NULL when what is above is something else. */
static const pipc__link_t *port_above(const pipc__topo_t *topo, int obj)
{
    int above = topo->objs[obj].parent;

    return above > 0 && topo->objs[above].kind == PIPC__TOPO_BRIDGE ? &topo->objs[above].link
                                                                    : NULL;
}

int pipc__link_possible_width(const pipc__topo_t *topo, int obj)
{
    const pipc__link_t *port = port_above(topo, obj);

    return less(topo->objs[obj].link.max_width, port ? port->max_width : PIPC__UNKNOWN);
}

int pipc__link_possible_mts(const pipc__topo_t *topo, int obj)
{
    const pipc__link_t *port = port_above(topo, obj);

    return less(topo->objs[obj].link.max_speed_mts, port ? port->max_speed_mts : PIPC__UNKNOWN);
}

bool pipc__link_is_degraded(const pipc__topo_t *topo, int obj)
{
    int now = topo->objs[obj].link.width;

    return now >= 0 && now < pipc__link_possible_width(topo, obj);
}
