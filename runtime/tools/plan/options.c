/* tools/plan/options.c - the command line of pcie-ipc-plan */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pcie-ipc/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "runtime/plan/text.h"
#include "runtime/tools/plan/plan.h"

enum {
    OPT_TOPO = 256,
    OPT_RANKS,
    OPT_NODES,
    OPT_BYTES,
    OPT_PLAN,
    OPT_PLAN_FILE,
    OPT_COLLECTIVE,
    OPT_BIND,
    OPT_PATH,
    OPT_DTYPE,
    OPT_STAGING,
    OPT_LINKS,
    OPT_PROFILE,
    OPT_JSON,
    OPT_SVG,
    OPT_ACTIONS,
    OPT_SIMULATE = OPT_ACTIONS + PLAN_SIMULATE,
    OPT_PRINT = OPT_ACTIONS + PLAN_PRINT,
    OPT_CHECK = OPT_ACTIONS + PLAN_CHECK,
    OPT_TABLE = OPT_ACTIONS + PLAN_TABLE,
    OPT_SWEEP = OPT_ACTIONS + PLAN_SWEEP,
    OPT_CALIBRATE = OPT_ACTIONS + PLAN_CALIBRATE
};

static const pipc__cli_option_t actions[] = {
    {"simulate", NULL, "predict time and load of every link; the default", OPT_SIMULATE},
    {"print", NULL, "print the plan, a line a step", OPT_PRINT},
    {"check", NULL, "prove the plan right, or name the step that is wrong", OPT_CHECK},
    {"table", NULL, "print the best plan for each size and what limits it", OPT_TABLE},
    {"sweep", NULL,
     "predict the bus bandwidth of all plans over all sizes; with --nodes: 2, 4, ... N nodes",
     OPT_SWEEP},
    {"calibrate", "FILE[,FILE...]", "fit a profile to what pcie-ipc-bench -J measured",
     OPT_CALIBRATE},
    {NULL, NULL, NULL, 0},
};

static const pipc__cli_option_t options[] = {
    {"ranks", "N", "ranks of the node, 1 to 16 (default: one a GPU)", OPT_RANKS},
    {"nodes", "N", "so many nodes, 2 to 1024, each like the machine (default: it is alone)",
     OPT_NODES},
    {"bytes", "SIZE", "message of a rank; a number, or with K, M or G (default 16M)", OPT_BYTES},
    {"plan", "NAME",
     "one-shot, two-shot, ring, island, permuted, stream, with --nodes nodes, nodes-one or "
     "nodes-lean, or best",
     OPT_PLAN},
    {"plan-file", "FILE", "a plan as --print --json wrote it", OPT_PLAN_FILE},
    {"collective", "NAME", "all-reduce, reduce-scatter or all-gather (default all-reduce)",
     OPT_COLLECTIVE},
    {"bind", "MODE", "switch, spread, numa or map:I,I,...: ranks on GPUs (default switch)",
     OPT_BIND},
    {"path", "PATH", "p2p, or host where no GPU reaches another (default p2p)", OPT_PATH},
    {"dtype", "NAME", "element type by its name in pcie-ipc-bench (default float)", OPT_DTYPE},
    {"staging", "SIZE", "staging memory of a rank (default 64M)", OPT_STAGING},
    {"links", "FILE", "costs of links, see FILES in the manual", OPT_LINKS},
    {"profile", "NAME", "executor costs: p2p, nvlink, host or cpu (default: what fits)",
     OPT_PROFILE},
    {"json", NULL, "print JSON", OPT_JSON},
    {"svg", "FILE", "with --sweep or --nodes: write a picture, too", OPT_SVG},
    {NULL, NULL, NULL, 0},
};

static const pipc__cli_option_t topo_options[] = {
    {"topo", "X", "a synthetic line, a file or folder of any kind below, or KIND:PATH", OPT_TOPO},
    {NULL, NULL, NULL, 0},
};

static const pipc__cli_section_t sections[] = {
    {"What to do:", actions},
    {"Of which plan:", options},
    {"On which machine (default: this one):", topo_options},
    {NULL, pipc__source_options},
    {NULL, NULL},
};

static int take(void *wants, int id, const char *value);

static const pipc__cli_t cli = {
    .name = PLAN_NAME,
    .version = PACKAGE_VERSION,
    .usage = "[OPTION...]",
    .about = "Print, check and simulate plans of collectives on a topology.\n",
    .sections = sections,
    .after =
        "Exit status: 0 all is well, 1 the plan is refused, 2 a file can't be read, 64 usage.\n",
    .output_failed = PLAN_UNREADABLE,
    .take = take,
};

int plan_finish(int status)
{
    return pipc__cli_finish(&cli, status);
}

int plan_error(const pipc__error_t *err, int status)
{
    fprintf(stderr, PLAN_NAME ": %s\n", err->text);
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

bool plan_size_parse(const char *text, size_t *bytes)
{
    static const char units[] = "KMGT";
    char *end;

    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    end += unit != NULL;
    if (toupper((unsigned char)*end) == 'B')
        end++;
    *bytes = (size_t)v << shift;
    return !errno && !*end && *bytes >> shift == v && *bytes <= (size_t)1 << 44;
}

const char *plan_size_text(size_t bytes, char text[16])
{
    static const char *const units[] = {"", "K", "M", "G", "T"};
    int u = 0;

    while (u < 4 && bytes && bytes % 1024 == 0) {
        bytes /= 1024;
        u++;
    }
    snprintf(text, 16, "%zu%s", bytes, units[u]);
    return text;
}

static bool parse_int(const char *text, int least, int most, int *out)
{
    char *end;

    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    long v = strtol(text, &end, 10);
    *out = (int)v;
    return !errno && !*end && v >= least && v <= most;
}

typedef const char *(*name_of_t)(int index);

static const char *kind_name(int i)
{
    return pipc__plan_name((pipc__plan_kind_t)i);
}

static const char *collective_name(int i)
{
    return pipc__collective_name((pipc__collective_t)i);
}

static const char *profile_name(int i)
{
    return pipc__profile_name((pipc__profile_t)i);
}

static const char *dtype_name(int i)
{
    return pipc_dtype_string((pipc_dtype_t)i);
}

static const char *path_name(int i)
{
    return i ? "host" : "p2p";
}

/* A name from one of the library's tables; the message lists them. */
static int take_name(const char *option, const char *text, int count, name_of_t name, int *out)
{
    char list[256] = "";

    for (int i = 0; i < count; i++) {
        size_t used = strlen(list);
        if (!strcmp(text, name(i))) {
            *out = i;
            return PIPC__CLI_GO_ON;
        }
        snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "", name(i));
    }
    char what[300];
    snprintf(what, sizeof(what), "use one of %s", list);
    return pipc__cli_usage(&cli, option, what);
}

/* "map:3,1,0,2": places in PCI bus order. */
static bool take_map(pipc__bind_request_t *bind, const char *text)
{
    char *end;

    for (bind->nmap = 0; isdigit((unsigned char)*text); text = end + (*end == ',')) {
        if (bind->nmap == PIPC__BIND_MAX)
            return false;
        errno = 0;
        long v = strtol(text, &end, 10);
        if (errno || v >= PIPC__BIND_MAX || (*end == ',' && !isdigit((unsigned char)end[1])))
            return false;
        bind->map[bind->nmap++] = (int)v;
    }
    bind->mode = PIPC__BIND_MAP;
    return bind->nmap && !*text;
}

static int take_bind(plan_wants_t *w, const char *value)
{
    static const char *const modes[] = {"switch", "spread", "numa"};

    for (int i = 0; i < 3; i++)
        if (!strcmp(value, modes[i])) {
            w->bind.mode = (pipc__bind_mode_t)i;
            return PIPC__CLI_GO_ON;
        }
    if (!strncmp(value, "map:", 4) && take_map(&w->bind, value + 4))
        return PIPC__CLI_GO_ON;
    return pipc__cli_usage(&cli, "--bind", "use switch, spread, numa or map:0,1,...");
}

static int take_action(plan_wants_t *w, int id, const char *value)
{
    if (w->action_said)
        return pipc__cli_usage(&cli, "--simulate, --print, --check, --table, --sweep, --calibrate",
                               "one of them at a time");
    w->action_said = true;
    w->action = (plan_action_t)(id - OPT_ACTIONS);
    if (w->action == PLAN_CALIBRATE)
        w->calibrate = value;
    return PIPC__CLI_GO_ON;
}

/* What is taken as it stands. */
static bool take_text(plan_wants_t *w, int id, const char *value)
{
    const char **text = id == OPT_TOPO        ? &w->topo
                        : id == OPT_PLAN_FILE ? &w->plan_file
                        : id == OPT_LINKS     ? &w->links
                        : id == OPT_SVG       ? &w->svg
                                              : NULL;

    if (text)
        *text = value;
    w->json |= id == OPT_JSON;
    return text || id == OPT_JSON;
}

static int take_number(plan_wants_t *w, int id, const char *value)
{
    if (id == OPT_RANKS)
        return parse_int(value, 1, PIPC__RANKS_MAX, &w->nranks)
                   ? PIPC__CLI_GO_ON
                   : pipc__cli_usage(&cli, "--ranks", "use a number from 1 to 16");
    if (id == OPT_NODES)
        return parse_int(value, 2, PIPC__SIM_NODES_MAX, &w->nodes)
                   ? PIPC__CLI_GO_ON
                   : pipc__cli_usage(&cli, "--nodes", "use a number from 2 to 1024");
    if (id == OPT_BYTES)
        return plan_size_parse(value, &w->bytes)
                   ? PIPC__CLI_GO_ON
                   : pipc__cli_usage(&cli, "--bytes", "use a size, as in 4096, 64K, 16M, 1G");
    return plan_size_parse(value, &w->staging_bytes) && w->staging_bytes
               ? PIPC__CLI_GO_ON
               : pipc__cli_usage(&cli, "--staging", "use a size above 0, as in 64M");
}

static int take_plan(plan_wants_t *w, const char *value)
{
    w->kind = -1;
    return strcmp(value, "best") ? take_name("--plan", value, PIPC__PLAN_KINDS, kind_name, &w->kind)
                                 : PIPC__CLI_GO_ON;
}

static int take(void *wants, int id, const char *value)
{
    plan_wants_t *w = wants;
    int index = 0, status;

    if (take_text(w, id, value))
        return PIPC__CLI_GO_ON;
    if (id >= OPT_ACTIONS && id <= OPT_CALIBRATE)
        return take_action(w, id, value);
    switch (id) {
    case OPT_RANKS:
    case OPT_NODES:
    case OPT_BYTES:
    case OPT_STAGING:
        return take_number(w, id, value);
    case OPT_PLAN:
        return take_plan(w, value);
    case OPT_BIND:
        return take_bind(w, value);
    case OPT_PROFILE:
        return take_name("--profile", value, PIPC__PROFILES, profile_name, &w->profile);
    case OPT_COLLECTIVE:
        status = take_name("--collective", value, PIPC__ALLGATHER + 1, collective_name, &index);
        w->collective = (pipc__collective_t)index;
        return status;
    case OPT_PATH:
        status = take_name("--path", value, 2, path_name, &index);
        w->host = index;
        return status;
    case OPT_DTYPE:
        status = take_name("--dtype", value, PIPC_DTYPE_COUNT, dtype_name, &index);
        w->elem_bytes = (int)pipc_dtype_bytes((pipc_dtype_t)index);
        return status;
    default:
        return pipc__source_take(&cli, &w->source, id, value);
    }
}

/* ---- --topo X -------------------------------------------------------------------------------- */

/* "2x[" or "[": a synthetic line begins so, and hardly any path does. */
static bool is_synthetic(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return text[0] == '[' || (digits && text[digits] == 'x' && text[digits + 1] == '[');
}

static int resolve_topo(plan_wants_t *w)
{
    pipc__error_t err = {PIPC_OK, ""};
    const char *colon = strchr(w->topo, ':');

    if (w->source.kind != PIPC__SOURCE_LIVE)
        return pipc__cli_usage(&cli, "--topo", "one machine at a time");
    if (is_synthetic(w->topo)) {
        w->source = (pipc__source_t){PIPC__SOURCE_SYNTHETIC, w->topo};
        return PIPC__CLI_GO_ON;
    }
    for (const pipc__cli_option_t *o = pipc__source_options; colon && o->name; o++)
        if (!strncmp(w->topo, o->name, (size_t)(colon - w->topo)) && !o->name[colon - w->topo])
            return pipc__source_take(&cli, &w->source, o->id, colon + 1);
    if (pipc__source_guess(&w->source, w->topo, &err))
        return plan_error(&err, PLAN_UNREADABLE);
    return PIPC__CLI_GO_ON;
}

int plan_options(plan_wants_t *w, int argc, char **argv)
{
    *w = (plan_wants_t){.bytes = 16 << 20,
                        .staging_bytes = PIPC__SIM_STAGING,
                        .elem_bytes = 4,
                        .kind = -1,
                        .profile = -1};
    int status = pipc__cli_parse(&cli, argc, argv, w);
    if (status >= 0)
        return status;
    if (w->plan_file && w->kind >= 0)
        return pipc__cli_usage(&cli, "--plan and --plan-file", "one plan at a time");
    if (w->plan_file && w->action > PLAN_CHECK)
        return pipc__cli_usage(&cli, "--plan-file", "for --print, --check and --simulate only");
    if (w->nodes && (w->plan_file || w->action == PLAN_TABLE || w->action == PLAN_CALIBRATE))
        return pipc__cli_usage(&cli, "--nodes",
                               "for --simulate, --sweep, --print and --check of a plan by name");
    if (w->nodes && w->collective != PIPC__ALLREDUCE)
        return pipc__cli_usage(&cli, "--nodes", "all-reduce alone goes over several nodes");
    if (w->nodes && w->kind < 0 && (w->action == PLAN_PRINT || w->action == PLAN_CHECK))
        w->kind = PIPC__NODES;
    if (w->svg && w->action != PLAN_SWEEP && !(w->nodes && w->action == PLAN_SIMULATE))
        return pipc__cli_usage(&cli, "--svg", "for --sweep, or --nodes");
    return w->topo ? resolve_topo(w) : PIPC__CLI_GO_ON;
}
