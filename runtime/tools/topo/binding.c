/* tools/topo/binding.c - --ranks and --bind: what the plugin would do on this machine with all of
 * its GPUs and CPUs
 */
#include "runtime/tools/topo/topo_tool.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/option.h"
#include "runtime/topo/json.h"

/* ---- what was asked for --------------------------------------------------------------------- */

typedef struct mode_option {
    int mode; /* pipc__bind_mode_t */
    pipc__option_list_t map;
} mode_option_t;

static const char *const modes[] = {
    [PIPC__BIND_SWITCH] = "switch", [PIPC__BIND_SPREAD] = "spread", [PIPC__BIND_NUMA] = "numa",
    [PIPC__BIND_NONE] = "none",     [PIPC__BIND_MAP] = "map",       NULL};

/* The text form is that of --pcie-ipc=bind:..., and so is its parser. */
static const pipc__option_t mode_table[] = {
    {"bind", PIPC__OPTION_ENUM, PIPC__BIND_SWITCH, modes, offsetof(mode_option_t, mode), "", "map",
     offsetof(mode_option_t, map)},
    {0},
};

int topo_binding_mode(const pipc__cli_t *cli, topo_wants_t *w, const char *value)
{
    mode_option_t o = {0};
    pipc__error_t err = {PIPC_OK, ""};
    char text[512];

    pipc__options_default(mode_table, &o);
    if (snprintf(text, sizeof(text), "bind:%s", value) >= (int)sizeof(text))
        return pipc__cli_usage(cli, "--bind", "the text is too long");
    if (pipc__options_parse(mode_table, text, &o, &err))
        return pipc__cli_usage(cli, "--bind", err.text);
    w->binding.mode = (pipc__bind_mode_t)o.mode;
    w->binding.nmap = o.map.n;
    memcpy(w->binding.map, o.map.at, sizeof(o.map.at));
    w->bind_given = true;
    return PIPC__CLI_GO_ON;
}
_Static_assert(PIPC__OPTION_LIST_MAX == PIPC__BIND_MAX, "a map has an entry a rank");

int topo_binding_ranks(const pipc__cli_t *cli, topo_wants_t *w, const char *value)
{
    char *end;
    long n = isdigit((unsigned char)*value) ? strtol(value, &end, 10) : 0;

    if (n < 1 || n > PIPC__BIND_MAX || *end)
        return pipc__cli_usage(cli, "--ranks", "needs a number from 1 to 64");
    w->binding.nranks = (int)n;
    return PIPC__CLI_GO_ON;
}

/* ---- the binding ---------------------------------------------------------------------------- */

typedef struct answer {
    pipc__binding_t binding;
    hwloc_bitmap_t granted; /* all CPUs that the tree knows; empty: none */
    hwloc_bitmap_t cpus[PIPC__BIND_MAX];
    bool near[PIPC__BIND_MAX];
} answer_t;

static void free_answer(answer_t *a)
{
    for (int r = 0; r < PIPC__BIND_MAX; r++)
        hwloc_bitmap_free(a->cpus[r]);
    hwloc_bitmap_free(a->granted);
    free(a);
}

static pipc_status_t fill_cpus(answer_t *a, const pipc__topo_t *topo, pipc__error_t *err)
{
    bool none = hwloc_bitmap_iszero(a->granted);

    for (int r = 0; r < a->binding.nranks; r++) {
        a->cpus[r] = hwloc_bitmap_alloc();
        if (!a->cpus[r])
            return pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory");
        if (none)
            continue;
        pipc_status_t st =
            pipc__bind_cores(topo, &a->binding, r, a->granted, a->cpus[r], &a->near[r], err);
        if (st)
            return st;
    }
    return PIPC_OK;
}

static pipc_status_t fill(answer_t *a, const pipc__bind_request_t *wish, const pipc__topo_t *topo,
                          pipc__error_t *err)
{
    pipc__bind_request_t req = *wish;
    pipc_status_t st;

    a->granted = hwloc_bitmap_alloc();
    for (int i = 0; a->granted && i < topo->nnumas; i++)
        if (hwloc_bitmap_or(a->granted, a->granted, topo->numas[i].cpus))
            return pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory");
    if (!a->granted)
        return pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory");
    req.granted = hwloc_bitmap_iszero(a->granted) ? NULL : a->granted;
    req.ngpus = pipc__topo_list(topo, PIPC__TOPO_GPU, req.gpus, PIPC__BIND_MAX);
    if (req.ngpus > PIPC__BIND_MAX)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "--ranks: the machine has %d GPUs; %d are the most that one node's ranks "
                          "are bound to",
                          req.ngpus, PIPC__BIND_MAX);
    st = pipc__bind(topo, &req, &a->binding, err);
    return st || req.mode == PIPC__BIND_NONE ? st : fill_cpus(a, topo, err);
}

static pipc_status_t decide(const pipc__bind_request_t *wish, const pipc__topo_t *topo,
                            answer_t **out, pipc__error_t *err)
{
    answer_t *a = calloc(1, sizeof(*a));
    pipc_status_t st;

    *out = NULL;
    if (!a)
        return pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory");
    st = fill(a, wish, topo, err);
    if (st)
        free_answer(a);
    else
        *out = a;
    return st;
}

/* ---- output --------------------------------------------------------------------------------- */

static const char *name_or(const pipc__topo_t *topo, int obj, const char *other)
{
    return obj < 0 ? other : topo->objs[obj].name;
}

static bool print_rank(const answer_t *a, const pipc__topo_t *topo, int r, FILE *out)
{
    const pipc__bind_rank_t *rank = &a->binding.rank[r];
    char numa[16] = "-", minor[16] = "-", index[16] = "-", *cpus = NULL;

    if (rank->numa >= 0)
        snprintf(numa, sizeof(numa), "%d", topo->numas[rank->numa].os_index);
    if (rank->gpu >= 0)
        snprintf(index, sizeof(index), "%d", pipc__topo_bus_index(topo, rank->gpu));
    if (rank->gpu >= 0 && topo->objs[rank->gpu].minor >= 0)
        snprintf(minor, sizeof(minor), "%d", topo->objs[rank->gpu].minor);
    if (a->cpus[r] && hwloc_bitmap_list_asprintf(&cpus, a->cpus[r]) < 0)
        return false;
    fprintf(out, "%4d  %-12s  %5s  %5s  %4s  %-12s  %-12s  %s%s%s\n", r,
            name_or(topo, rank->gpu, "-"), index, minor, numa, name_or(topo, rank->nic, "-"),
            name_or(topo, rank->group, "-"), cpus && *cpus ? cpus : "-",
            cpus && *cpus && !a->near[r] ? " (not near)" : "", rank->shared ? " (GPU shared)" : "");
    free(cpus);
    return true;
}

pipc_status_t topo_binding_print(const pipc__bind_request_t *req, const pipc__topo_t *topo,
                                 FILE *out, pipc__error_t *err)
{
    answer_t *a;
    pipc_status_t st = decide(req, topo, &a, err);

    if (st)
        return st;
    fprintf(out, "%4s  %-12s  %5s  %5s  %4s  %-12s  %-12s  %s\n", "rank", "gpu", "index", "minor",
            "NUMA", "nic", "group", "CPUs");
    for (int r = 0; r < a->binding.nranks && !st; r++)
        if (!print_rank(a, topo, r, out))
            st = pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory");
    free_answer(a);
    return st;
}

static json_t *make_rank(const answer_t *a, const pipc__topo_t *topo, int r)
{
    const pipc__bind_rank_t *rank = &a->binding.rank[r];
    bool cpus = a->cpus[r] && !hwloc_bitmap_iszero(a->cpus[r]);

    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "rank", r, "gpu",
                     pipc__json_name(topo, rank->gpu), "minor",
                     pipc__json_number(rank->gpu < 0 ? PIPC__UNKNOWN : topo->objs[rank->gpu].minor),
                     "numa", pipc__json_numa(topo, rank->numa), "cpus",
                     cpus ? pipc__json_cpus(a->cpus[r]) : json_null(), "near",
                     cpus ? json_boolean(a->near[r]) : json_null(), "nic",
                     pipc__json_name(topo, rank->nic), "group", pipc__json_name(topo, rank->group),
                     "shared", rank->shared);
}

pipc_status_t topo_binding_json(const pipc__bind_request_t *req, const pipc__topo_t *topo,
                                json_t **out, pipc__error_t *err)
{
    answer_t *a;
    pipc_status_t st = decide(req, topo, &a, err);

    *out = NULL;
    if (st)
        return st;
    *out = json_array();
    for (int r = 0; r < a->binding.nranks && *out; r++) {
        if (json_array_append_new(*out, make_rank(a, topo, r))) {
            json_decref(*out);
            *out = NULL;
        }
    }
    free_answer(a);
    return *out ? PIPC_OK : pipc__fail(err, PIPC_ERR_NOMEM, "binding: out of memory for JSON");
}
