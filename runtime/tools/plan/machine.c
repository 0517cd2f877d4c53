/* tools/plan/machine.c - topology -> ranks on GPUs -> shape for the generators, links for the
 * simulator */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/tools/plan/plan.h"

/* The file that was asked for; else the installed one, if it is there; else what is built in. */
static int read_costs(plan_machine_t *m, const plan_wants_t *w)
{
    pipc__error_t err = {PIPC_OK, ""};
    const char *path = w->links ? w->links : PIPC_LINKS_CONF;

    m->costs_from = path;
    if (!w->links && access(path, F_OK) && errno == ENOENT) {
        pipc__costs_default(&m->costs);
        m->costs_from = "built in";
        return 0;
    }
    return pipc__costs_read(&m->costs, path, &err) ? plan_error(&err, PLAN_UNREADABLE) : 0;
}

static pipc_status_t bind_ranks(plan_machine_t *m, const plan_wants_t *w, pipc__error_t *err)
{
    pipc__bind_request_t req = w->bind;
    int gpus = pipc__topo_list(m->topo, PIPC__TOPO_GPU, req.gpus, PIPC__BIND_MAX);

    req.ngpus = gpus < PIPC__BIND_MAX ? gpus : PIPC__BIND_MAX;
    req.nranks = w->nranks ? w->nranks : req.ngpus;
    if (!req.nranks)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "--ranks: the topology has no GPU; say how many ranks there are");
    if (req.nranks > PIPC__RANKS_MAX)
        return pipc__fail(err, PIPC_ERR_INVALID,
                          "--ranks: the topology has %d GPUs and a plan at most %d ranks; say how "
                          "many",
                          req.nranks, PIPC__RANKS_MAX);
    return pipc__bind(m->topo, &req, &m->binding, err);
}

static pipc_status_t make_shape(plan_machine_t *m, const plan_wants_t *w, pipc__error_t *err)
{
    static char text[PIPC__RANKS_MAX][PIPC__WAY_TEXT];
    const char *ways[PIPC__RANKS_MAX];
    int n = m->binding.nranks;

    for (int r = 0; r < n; r++) {
        int numa = m->binding.rank[r].numa;
        if (m->binding.rank[r].gpu >= 0)
            pipc__bind_way_text(m->topo, m->binding.rank[r].gpu, text[r], sizeof(text[r]));
        else if (numa >= 0)
            snprintf(text[r], sizeof(text[r]), "numa%d", m->topo->numas[numa].os_index);
        else
            text[r][0] = '\0';
        ways[r] = text[r];
    }
    pipc_status_t st = pipc__shape_from_ways(&m->shape, ways, n, err);
    for (int r = 0; !st && r < n && w->host; r++)
        m->shape.reach[r] = (uint16_t)(1u << r);
    if (w->nodes)
        m->shape.nrails = m->shape.most = n;
    return st;
}

int plan_machine_open(plan_machine_t *m, const plan_wants_t *w)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st;

    memset(m, 0, sizeof(*m));
    int status = read_costs(m, w);
    if (status)
        return status;
    st = pipc__topo_load(&m->topo, &w->source, &err);
    if (st) {
        status = pipc__source_exit(&w->source, st);
        return plan_error(&err, status == PIPC__EXIT_LIVE ? PLAN_UNREADABLE : status);
    }
    st = bind_ranks(m, w, &err);
    if (!st)
        st = make_shape(m, w, &err);
    if (st)
        return plan_error(&err, PLAN_USAGE);
    pipc__profile_t profile = pipc__fabric_profile(m->topo, &m->binding);
    if (w->host && profile != PIPC__PROFILE_CPU)
        profile = PIPC__PROFILE_HOST;
    if (w->profile >= 0)
        profile = (pipc__profile_t)w->profile;
    st = pipc__fabric_make(&m->fabric, m->topo, &m->binding, &m->costs, profile, &err);
    return st ? plan_error(&err, PLAN_UNREADABLE) : 0;
}

void plan_machine_close(plan_machine_t *m)
{
    pipc__fabric_free(m->fabric);
    pipc__topo_free(m->topo);
    memset(m, 0, sizeof(*m));
}

/* ---- plans ----------------------------------------------------------------------------------- */

pipc__sim_call_t plan_call(const plan_wants_t *w, const pipc__plan_t *plan, size_t bytes)
{
    size_t elem = (size_t)w->elem_bytes;

    return (pipc__sim_call_t){.plan = plan,
                              .count = (bytes + elem - 1) / elem,
                              .elem_bytes = elem,
                              .staging_bytes = w->staging_bytes};
}

pipc_status_t plan_set_make(plan_set_t *set, const plan_machine_t *m, pipc__collective_t collective,
                            pipc__error_t *err)
{
    memset(set, 0, sizeof(*set));
    for (int k = 0; k < PIPC__PLAN_KINDS; k++) {
        pipc_status_t st =
            pipc__plan_make_for(&set->of[k].plan, (pipc__plan_kind_t)k, collective, &m->shape, err);
        if (st && st != PIPC_ERR_UNSUPPORTED) {
            plan_set_free(set);
            return st;
        }
    }
    return PIPC_OK;
}

void plan_set_free(plan_set_t *set)
{
    for (int k = 0; k < PIPC__PLAN_KINDS; k++) {
        pipc__plan_free(set->of[k].plan);
        pipc__sim_release(&set->of[k].result);
    }
    memset(set, 0, sizeof(*set));
}

pipc_status_t plan_set_simulate(plan_set_t *set, const plan_machine_t *m, const plan_wants_t *w,
                                size_t bytes, int *best, pipc__error_t *err)
{
    *best = -1;
    for (int k = 0; k < PIPC__PLAN_KINDS; k++) {
        plan_candidate_t *c = &set->of[k];
        if (!c->plan)
            continue;
        pipc__sim_call_t call = plan_call(w, c->plan, bytes);
        pipc__sim_release(&c->result);
        pipc_status_t st = pipc__simulate(&c->result, m->fabric, &call, err);
        if (st)
            return st;
        if (*best < 0 || c->result.usec < set->of[*best].result.usec * (1 - 1e-3))
            *best = k;
    }
    if (*best < 0)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "no plan does this for %d ranks",
                          m->binding.nranks);
    return PIPC_OK;
}
