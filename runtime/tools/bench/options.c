/* tools/bench/options.c - see options.h
 *
 * The letters and long names are nccl-tests'.
 */
#include "runtime/tools/bench/options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "runtime/base/cli.h"

enum { OPT_BACKEND = 256, OPT_PLAN, OPT_PATH, OPT_PER_NODE, OPT_PEER };

static const pipc__cli_option_t rows[] = {
    {"minbytes", "SIZE", "smallest message, with K, M or G (default 8)", 'b'},
    {"maxbytes", "SIZE", "largest message (default 16M)", 'e'},
    {"stepfactor", "N", "next size = size x N (default 2)", 'f'},
    {"stepbytes", "SIZE", "next size = size + SIZE, in place of -f", 'i'},
    {"iters", "N", "timed samples a size; the median of the slowest rank is shown (default 20)", 'n'},
    {"warmup_iters", "N", "calls before timing (default 5)", 'w'},
    {"datatype", "TYPE", "element type, as in the table's column, or all (default float)", 'd'},
    {"op", "NAME", "operation: sum, ... as in the table's column, or all (default sum)", 'o'},
    {"cudagraph", "N", "capture each burst of calls in a graph; a sample is N replays", 'G'},
    {"check", "0|1", "compare results with exact sums, and bit for bit across ranks (default 1)", 'c'},
    {"backend", "NAME", "cpu, cuda or auto: cuda where there is a GPU (default auto)", OPT_BACKEND},
    {"plan", "NAME", "one-shot, two-shot, ring, island, permuted or auto: by size (default auto)", OPT_PLAN},
    {"path", "NAME", "p2p, host or auto: memory by which ranks reach each other (default auto)", OPT_PATH},
    {"per-node", NULL, "one communicator a node; the slowest node is shown", OPT_PER_NODE},
    {"peer", "NAME", "time nccl or mpi (or NAME:PATH of its library) in turns and show the ratio", OPT_PEER},
    {"output_file", "FILE", "write the results to FILE as JSON, too", 'J'},
    {NULL, NULL, NULL, 0},
};
static const pipc__cli_section_t sections[] = {{NULL, rows}, {NULL, NULL}};

static int take(void *options, int letter, const char *value);

static const pipc__cli_t cli = {
    .name = "pcie-ipc-bench",
    .version = PACKAGE_VERSION,
    .usage = "[OPTION...]",
    .about = "AllReduce benchmark in the manner of nccl-tests; start it with srun --mpi=pmix.\n",
    .sections = sections,
    .after = "Exit status: 0 all right, 1 a wrong value, 2 a call failed, 64 wrong usage.\n",
    .output_failed = 2,
    .take = take,
};

static int usage(const char *option, const char *value, const char *want)
{
    char what[512];

    snprintf(what, sizeof(what), "\"%.100s\" is not %s", value, want);
    return pipc__cli_usage(&cli, option, what);
}

static bool parse_size(const char *text, size_t *out)
{
    static const char units[] = "KMGT";
    char *end;

    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || end == text || !isdigit((unsigned char)*text))
        return false;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    end += unit != NULL;
    if (toupper((unsigned char)*end) == 'B')
        end++;
    *out = (size_t)v << shift;
    return !*end && *out >> shift == v;
}

static bool parse_int(const char *text, int least, int *out)
{
    char *end;

    errno = 0;
    long v = strtol(text, &end, 10);
    *out = (int)v;
    return !errno && end != text && !*end && v >= least && v <= INT_MAX;
}

static bool parse_name(const char *text, const char *const *names, int *out)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(text, names[i])) {
            *out = i;
            return true;
        }
    return false;
}

/* "nccl", "mpi:/path": a peer's name and perhaps its library. */
static bool parse_peer(bench_options_t *o, const char *text)
{
    static const bench_peer_t *const peers[] = {&bench_peer_nccl, &bench_peer_mpi};
    size_t n = strcspn(text, ":");

    for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
        if (!strncmp(peers[i]->name, text, n) && !peers[i]->name[n]) {
            o->peer = peers[i];
            o->peer_path = text[n] && text[n + 1] ? text + n + 1 : NULL;
            return true;
        }
    return false;
}

/* A name from the library's own tables, or @other for -1; the message lists them. */
static int parse_of(const char *option, const char *text, int count, const char *(*name)(int),
                    const char *other, int *out)
{
    char list[256] = "one of";

    *out = -1;
    if (!strcmp(text, other))
        return -1;
    for (int i = 0; i < count; i++) {
        size_t used = strlen(list);
        if (!strcmp(text, name(i))) {
            *out = i;
            return -1;
        }
        snprintf(list + used, sizeof(list) - used, " %s,", name(i));
    }
    size_t used = strlen(list);
    snprintf(list + used, sizeof(list) - used, " %s", other);
    return usage(option, text, list);
}

static const char *dtype_name(int i)
{
    return pipc_dtype_string((pipc_dtype_t)i);
}

static const char *plan_name(int i)
{
    return pipc__plan_name((pipc__plan_kind_t)i);
}

static const char *redop_name(int i)
{
    return pipc_redop_string((pipc_redop_t)i);
}

static int take(void *options, int letter, const char *value)
{
    bench_options_t *o = options;
    static const char *const backends[] = {"auto", "cpu", "cuda", NULL};
    static const char *const paths[] = {"auto", "p2p", "host", NULL};
    int n = 0;

    switch (letter) {
    case 'b':
        return parse_size(value, &o->min_bytes) ? -1 : usage("-b", value, "a size");
    case 'e':
        return parse_size(value, &o->max_bytes) ? -1 : usage("-e", value, "a size");
    case 'f':
        return parse_int(value, 2, &o->factor) ? -1 : usage("-f", value, "a number of 2 or more");
    case 'n':
        return parse_int(value, 1, &o->iterations) ? -1 : usage("-n", value, "a positive number");
    case 'w':
        return parse_int(value, 0, &o->warmup) ? -1 : usage("-w", value, "a number");
    case 'd':
        return parse_of("-d", value, PIPC_DTYPE_COUNT, dtype_name, "all", &o->dtype);
    case 'o':
        return parse_of("-o", value, PIPC_REDOP_COUNT, redop_name, "all", &o->op);
    case 'i':
        return parse_size(value, &o->step_bytes) && o->step_bytes ? -1
                                                                  : usage("-i", value, "a size above 0");
    case 'G':
        return parse_int(value, 1, &o->graph) ? -1 : usage("-G", value, "a positive number");
    case 'J':
        o->json_path = value;
        return -1;
    case 'c':
        if (!parse_int(value, 0, &n) || n > 1)
            return usage("-c", value, "0 or 1");
        o->check = n;
        return -1;
    case OPT_BACKEND:
        if (!parse_name(value, backends, &n))
            return usage("--backend", value, "one of auto, cpu, cuda");
        o->backend = (pipc_backend_t)n;
        return -1;
    case OPT_PLAN:
        o->plan = value;
        return parse_of("--plan", value, PIPC__PLAN_KINDS, plan_name, "auto", &n);
    case OPT_PATH:
        if (!parse_name(value, paths, &n))
            return usage("--path", value, "one of auto, p2p, host");
        o->path = (pipc_path_t)n;
        return -1;
    case OPT_PER_NODE:
        o->per_node = true;
        return -1;
    case OPT_PEER:
        return parse_peer(o, value) ? -1 : usage("--peer", value, "nccl, mpi or NAME:PATH");
    }
    return usage("option", value ? value : "", "known");
}

int bench_options_parse(bench_options_t *o, int argc, char **argv)
{
    int status;

    *o = (bench_options_t){.min_bytes = 8, .max_bytes = 16 << 20, .factor = 2, .iterations = 20,
                           .warmup = 5, .dtype = PIPC_F32, .op = PIPC_SUM, .check = true,
                           .plan = "auto"};
    status = pipc__cli_parse(&cli, argc, argv, o);
    if (status >= 0)
        return status;
    if (o->max_bytes < o->min_bytes)
        return usage("-e", "maxbytes", "at least -b");
    return -1;
}
