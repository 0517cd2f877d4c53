/* tools/plan/report.c - what is predicted of one plan, for people and as JSON */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "runtime/plan/text.h"
#include "runtime/tools/plan/plan.h"

static const char *const kinds[] = {"gpu link",    "uplink",      "socket link", "nvlink",
                                    "host memory", "rank memory", "engine"};

static bool is_pcie(const pipc__sim_link_t *l)
{
    return l->kind == PIPC__SIM_GPU_LINK || l->kind == PIPC__SIM_UPLINK;
}

static bool has_ways(const pipc__sim_link_t *l)
{
    return l->kind <= PIPC__SIM_NVLINK;
}

static const char *object_name(const plan_machine_t *m, int obj)
{
    return obj >= 0 ? m->topo->objs[obj].name : "none";
}

/* ---- text ------------------------------------------------------------------------------------ */

static void print_machine(const plan_machine_t *m)
{
    printf("topology     %s: %d ranks, profile %s, costs %s\n", m->topo->source, m->binding.nranks,
           pipc__profile_name(m->fabric->profile), m->costs_from);
    for (int r = 0; r < m->binding.nranks; r++) {
        int gpu = m->binding.rank[r].gpu;
        char way[PIPC__WAY_TEXT] = "";
        if (gpu >= 0)
            pipc__bind_way_text(m->topo, gpu, way, sizeof(way));
        printf("rank %-2d      GPU %s  %s\n", r, object_name(m, gpu), way);
    }
}

static void print_cell(const plan_machine_t *m, const pipc__sim_result_t *result, int resource,
                       double message)
{
    const pipc__sim_load_t *l = &result->load[resource];

    (void)m;
    printf("  %13llu %7.3f %4.0f %%", (unsigned long long)l->bytes,
           message > 0 ? (double)l->bytes / message : 0, 100 * l->busy);
}

static bool print_link(const plan_machine_t *m, const pipc__sim_result_t *result, int link,
                       double message)
{
    const pipc__sim_link_t *l = &m->fabric->links[link];
    char cut[40] = "";

    if (is_pcie(l))
        snprintf(cut, sizeof(cut), "x%d %g%s", l->width, l->speed_mts / 1000.0,
                 l->assumed ? "*" : "");
    printf("%-46s %-8s %7.1f", l->name, cut, m->fabric->resources[l->resource[0]].rate / 1e9);
    print_cell(m, result, l->resource[0], message);
    if (has_ways(l))
        print_cell(m, result, l->resource[1], message);
    printf("\n");
    return l->assumed;
}

int plan_report(const plan_machine_t *m, const plan_wants_t *w, const pipc__plan_t *plan,
                const pipc__sim_result_t *result)
{
    double message = (double)w->bytes;
    char limit[256];
    bool assumed = false;

    print_machine(m);
    printf("plan         %s, %s, %d chunks, %d stages\n", plan->name,
           pipc__collective_name(plan->collective), plan->nchunks, plan->nstages);
    printf("message      %zu bytes (S), %llu rounds\n", w->bytes,
           (unsigned long long)result->rounds);
    printf("predicted    %.2f us, algbw %.2f GB/s, busbw %.2f GB/s\n", result->usec, result->algbw,
           result->busbw);
    printf("limited by   %s\n\n", pipc__sim_limit_text(m->fabric, result, limit, sizeof(limit)));
    printf("%-46s %-8s %7s  %-28s  %-28s\n", "link", "GT/s", "GB/s", "to root, forth",
           "from root, back");
    printf("%-63s  %13s %7s %6s  %13s %7s %6s\n", "", "bytes", "S", "busy", "bytes", "S", "busy");
    for (int i = 0; i < m->fabric->nlinks; i++)
        if (m->fabric->links[i].kind != PIPC__SIM_ENGINE)
            assumed |= print_link(m, result, i, message);
    if (assumed)
        printf("* assumed: the topology does not tell; see [link] of links.conf\n");
    return 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *json_ranks(const plan_machine_t *m)
{
    json_t *list = json_array();

    for (int r = 0; r < m->binding.nranks; r++) {
        int gpu = m->binding.rank[r].gpu;
        json_array_append_new(list, json_pack("{s:i, s:s?}", "rank", r, "gpu",
                                              gpu >= 0 ? object_name(m, gpu) : NULL));
    }
    return list;
}

static json_t *json_ways(const plan_machine_t *m, const pipc__sim_result_t *result,
                         const pipc__sim_link_t *l, double message)
{
    json_t *list = json_array();

    for (int way = 0; way < (has_ways(l) ? 3 : 1); way++) {
        int r = l->resource[way];
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:f, s:f, s:f}", "direction", pipc__sim_way(m->fabric, r),
                            "bytes", (json_int_t)result->load[r].bytes, "messages",
                            message > 0 ? (double)result->load[r].bytes / message : 0, "busy",
                            result->load[r].busy, "gbps", m->fabric->resources[r].rate / 1e9));
    }
    return list;
}

static json_t *json_links(const plan_machine_t *m, const pipc__sim_result_t *result, double message)
{
    json_t *list = json_array();

    for (int i = 0; i < m->fabric->nlinks; i++) {
        const pipc__sim_link_t *l = &m->fabric->links[i];
        if (l->kind == PIPC__SIM_ENGINE)
            continue;
        json_t *o = json_pack("{s:s, s:s, s:o}", "name", l->name, "kind", kinds[l->kind],
                              "directions", json_ways(m, result, l, message));
        if (is_pcie(l)) {
            json_object_set_new(o, "width", json_integer(l->width));
            json_object_set_new(o, "speed_gts", json_real(l->speed_mts / 1000.0));
            json_object_set_new(o, "assumed", json_boolean(l->assumed));
        }
        json_array_append_new(list, o);
    }
    return list;
}

static json_t *json_limit(const plan_machine_t *m, const pipc__sim_result_t *result)
{
    if (result->limit < 0)
        return json_null();
    const pipc__sim_resource_t *r = &m->fabric->resources[result->limit];
    double busy = result->load[result->limit].busy;
    return json_pack("{s:b, s:s, s:s, s:f}", "latency", busy < PIPC__SIM_LIMITS, "link",
                     m->fabric->links[r->link].name, "direction",
                     pipc__sim_way(m->fabric, result->limit), "busy", busy);
}

int plan_report_json(const plan_machine_t *m, const plan_wants_t *w, const pipc__plan_t *plan,
                     const pipc__sim_result_t *result)
{
    json_t *o = json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:o, s:o, s:o}", "version", 1,
        "topology", m->topo->source, "profile", pipc__profile_name(m->fabric->profile), "costs",
        m->costs_from, "plan", plan->name, "collective", pipc__collective_name(plan->collective),
        "bytes", (json_int_t)w->bytes, "rounds", (json_int_t)result->rounds, "simulated_rounds",
        (json_int_t)result->simulated, "usec", result->usec, "algbw_gbps", result->algbw,
        "busbw_gbps", result->busbw, "ranks", json_ranks(m), "limited_by", json_limit(m, result),
        "links", json_links(m, result, (double)w->bytes));
    int failed = !o || json_dumpf(o, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));

    printf("\n");
    json_decref(o);
    return failed ? PLAN_UNREADABLE : 0;
}
