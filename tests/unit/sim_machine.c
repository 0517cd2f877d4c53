/* tests/unit/sim_machine.c - see sim_machine.h */
#include "tests/unit/sim_machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void ideal(pipc__costs_t *c)
{
    pipc__costs_default(c);
    c->overhead_bytes = 0;
    c->credit = c->duplex = c->crowd = c->crowd_least = c->root_p2p = 1;
    c->root_usec = c->socket_usec = 0;
    c->host_gbps = 1e6;
    for (int p = 0; p < PIPC__PROFILES; p++) {
        pipc__exec_costs_t *e = &c->exec[p];
        e->call_usec = e->op_usec = e->step_usec = e->local_usec = 0;
        e->memory_gbps = e->copy_gbps.value[0] = e->reduce_gbps.value[0] = 1e6;
        e->copy_gbps.n = e->reduce_gbps.n = 1;
    }
}

void put_on(machine_t *m, const char *tree, int nranks, const pipc__costs_t *costs, bool host)
{
    static char text[PIPC__RANKS_MAX][PIPC__WAY_TEXT];
    const char *ways[PIPC__RANKS_MAX];
    pipc__error_t err = {PIPC_OK, ""};
    pipc__bind_request_t req = {.mode = PIPC__BIND_SWITCH};

    memset(m, 0, sizeof(*m));
    m->costs = *costs;
    if (pipc__topo_synthetic(&m->topo, tree, &err))
        fail_msg("%s", err.text);
    req.ngpus = pipc__topo_list(m->topo, PIPC__TOPO_GPU, req.gpus, PIPC__BIND_MAX);
    req.nranks = nranks ? nranks : req.ngpus;
    if (pipc__bind(m->topo, &req, &m->binding, &err))
        fail_msg("%s: %s", tree, err.text);
    for (int r = 0; r < req.nranks; r++) {
        text[r][0] = '\0';
        if (m->binding.rank[r].gpu >= 0)
            pipc__bind_way_text(m->topo, m->binding.rank[r].gpu, text[r], sizeof(text[r]));
        ways[r] = text[r];
    }
    if (pipc__shape_from_ways(&m->shape, ways, req.nranks, &err))
        fail_msg("%s: %s", tree, err.text);
    pipc__profile_t profile = pipc__fabric_profile(m->topo, &m->binding);
    for (int r = 0; host && r < req.nranks; r++)
        m->shape.reach[r] = (uint16_t)(1u << r);
    if (pipc__fabric_make(&m->fabric, m->topo, &m->binding, &m->costs,
                          host ? PIPC__PROFILE_HOST : profile, &err))
        fail_msg("%s: %s", tree, err.text);
}

void take_off(machine_t *m)
{
    pipc__fabric_free(m->fabric);
    pipc__topo_free(m->topo);
}

int link_named(const machine_t *m, const char *name)
{
    for (int i = 0; i < m->fabric->nlinks; i++)
        if (!strcmp(m->fabric->links[i].name, name))
            return i;
    fail_msg("no link is named %s", name);
    return -1;
}

pipc__plan_t *plan_for(const machine_t *m, pipc__plan_kind_t kind)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__plan_t *plan = NULL;
    pipc_status_t st = pipc__plan_make_for(&plan, kind, PIPC__ALLREDUCE, &m->shape, &err);

    if (st && st != PIPC_ERR_UNSUPPORTED)
        fail_msg("%s: %s", pipc__plan_name(kind), err.text);
    return plan;
}

pipc__sim_result_t run(const machine_t *m, const pipc__plan_t *plan, size_t count, bool every)
{
    pipc__error_t err = {PIPC_OK, ""};
    size_t staging = count > 8 << 20 ? 8 << 20 : PIPC__SIM_STAGING; /* more rounds */
    pipc__sim_call_t call = {plan, count, 4, staging, every, NULL};
    pipc__sim_result_t result;

    if (pipc__simulate(&result, m->fabric, &call, &err))
        fail_msg("%s", err.text);
    return result;
}

double usec_of(const machine_t *m, const pipc__plan_t *plan, size_t count)
{
    pipc__sim_result_t r = run(m, plan, count, false);

    pipc__sim_release(&r);
    return r.usec;
}
