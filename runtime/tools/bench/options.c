/* tools/bench/options.c - see options.h
 *
 * The letters and long names are nccl-tests'.
 */
#include "runtime/tools/bench/options.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "runtime/base/cli.h"
#include "runtime/tools/bench/beside.h"
#include "runtime/tune/table.h"

enum {
    OPT_BACKEND = 256,
    OPT_PLAN,
    OPT_PROTO,
    OPT_BLOCKS,
    OPT_SMS,
    OPT_PATH,
    OPT_PER_NODE,
    OPT_PEER,
    OPT_ROUNDS,
    OPT_TIME,
    OPT_BURST,
    OPT_BURST_BYTES,
    OPT_CHECK_MAX,
    OPT_BESIDE,
    OPT_DROP,
    OPT_OVERLAP,
    OPT_PLOT,
    OPT_LIMIT,
};

#define SAMPLES_MAX 1000000

static const pipc__cli_option_t rows[] = {
    {"minbytes", "SIZE", "smallest message, with K, M or G (default 8)", 'b'},
    {"maxbytes", "SIZE", "largest message (default 16M)", 'e'},
    {"stepfactor", "N", "next size = size x N (default 2)", 'f'},
    {"stepbytes", "SIZE", "next size = size + SIZE, in place of -f", 'i'},
    {"iters", "N", "timed samples a size; the median of the slowest rank is shown (default 20)",
     'n'},
    {"rounds", "N",
     "own and peer take turns N times, of -n samples each (default: -n times, of one)", OPT_ROUNDS},
    {"time", "MSEC",
     "about so long for a size in place and out of place each: fewer samples a turn", OPT_TIME},
    {"burst", "N", "calls of a sample (default 1 to 20: about 4 MB together)", OPT_BURST},
    {"burst-bytes", "SIZE", "what the calls of a sample move together (default 4M)",
     OPT_BURST_BYTES},
    {"warmup_iters", "N", "calls before timing (default 5)", 'w'},
    {"datatype", "TYPE", "element type, as in the table's column, or all (default float)", 'd'},
    {"op", "NAME", "operation: sum, ... as in the table's column, or all (default sum)", 'o'},
    {"cudagraph", "N", "capture each burst of calls in a graph; a sample is N replays", 'G'},
    {"check", "0|1", "compare results with exact sums, and bit for bit across ranks (default 1)",
     'c'},
    {"check-max", "SIZE", "do not check the results of larger messages (default: check all)",
     OPT_CHECK_MAX},
    {"backend", "NAME", "cpu, cuda or auto: cuda where there is a GPU (default auto)", OPT_BACKEND},
    {"plan", "NAME",
     "one-shot, two-shot, ring, island, permuted, stream, nccl or auto: by size (default auto)",
     OPT_PLAN},
    {"proto", "NAME",
     "simple, ll, push, ce or ll128 for every call, or auto: as the table says (default auto)",
     OPT_PROTO},
    {"blocks", "N", "at most N thread blocks for every call (default: as the table says)",
     OPT_BLOCKS},
    {"sms", "N|max", "SMs that calls may use (default: PCIE_IPC_SMS, else a quarter of them)",
     OPT_SMS},
    {"path", "NAME", "p2p, host or auto: memory by which ranks reach each other (default auto)",
     OPT_PATH},
    {"per-node", NULL, "one communicator a node; the slowest node is shown", OPT_PER_NODE},
    {"peer", "NAME", "time mpi, nccl or nccl:best (see the manual) in turns and show the ratio",
     OPT_PEER},
    {"drop", "N",
     "a variant of the peer N times as slow as the fastest is left out of a size's turns",
     OPT_DROP},
    {"beside", "LIST",
     "time other own ways in turns, too: \"nccl,one-shot/push@16\" (see the manual)", OPT_BESIDE},
    {"overlap", NULL, "time calls beside a kernel that computes, too: how much both slow down",
     OPT_OVERLAP},
    {"output_file", "FILE", "write the results to FILE as JSON, too", 'J'},
    {"plot", "FILE", "draw busbw and time over size into FILE as SVG, too", OPT_PLOT},
    {"limit", "GBPS", "a line at this busbw in the plot: what the link can do", OPT_LIMIT},
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

/* "nccl", "mpi:/path", "nccl:best": a peer's name, and what it makes of the rest. */
static int take_peer(bench_options_t *o, const char *text)
{
    static const bench_peer_t *const peers[] = {&bench_peer_nccl, &bench_peer_mpi};
    size_t n = strcspn(text, ":");

    for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++) {
        if (strncmp(peers[i]->name, text, n) || peers[i]->name[n])
            continue;
        o->peer = peers[i];
        return peers[i]->parse(text[n] ? text + n + 1 : NULL)
                   ? PIPC__CLI_GO_ON
                   : usage("--peer", text, peers[i]->wants);
    }
    return usage("--peer", text, "nccl, mpi or one of them with more behind a colon");
}

static bool parse_positive(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && !*end && isfinite(*out) && *out > 0;
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

static const char *proto_name(int i)
{
    return pipc__proto_name((pipc__proto_t)i);
}

static const char *redop_name(int i)
{
    return pipc_redop_string((pipc_redop_t)i);
}

/* Sizes, counts and names of nccl-tests. PIPC__CLI_ARGUMENT: not one of them. */
static int take_letter(bench_options_t *o, int letter, const char *value)
{
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
        return parse_size(value, &o->step_bytes) && o->step_bytes
                   ? -1
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
    }
    return PIPC__CLI_ARGUMENT;
}

/* What the calls are made of. */
static int take_choice(bench_options_t *o, int id, const char *value)
{
    static const char *const backends[] = {"auto", "cpu", "cuda", NULL};
    static const char *const paths[] = {"auto", "p2p", "host", NULL};
    int n = 0;

    switch (id) {
    case OPT_BACKEND:
        if (!parse_name(value, backends, &n))
            return usage("--backend", value, "one of auto, cpu, cuda");
        o->backend = (pipc_backend_t)n;
        return -1;
    case OPT_PLAN:
        o->plan = value;
        return parse_of("--plan", value, PIPC__ALGOS, pipc__algo_name, "auto", &n);
    case OPT_PROTO:
        return parse_of("--proto", value, PIPC__PROTOS, proto_name, "auto", &o->proto);
    case OPT_BLOCKS:
        return parse_int(value, 1, &o->blocks) ? -1 : usage("--blocks", value, "a positive number");
    case OPT_SMS:
        o->sms = value;
        return !strcmp(value, "max") || parse_int(value, 1, &n)
                   ? -1
                   : usage("--sms", value, "a positive number or max");
    case OPT_PATH:
        if (!parse_name(value, paths, &n))
            return usage("--path", value, "one of auto, p2p, host");
        o->path = (pipc_path_t)n;
        return -1;
    }
    return PIPC__CLI_ARGUMENT;
}

/* How many samples there are, and of how many calls. */
static int take_amount(bench_options_t *o, int id, const char *value)
{
    switch (id) {
    case OPT_ROUNDS:
        return parse_int(value, 1, &o->rounds) ? -1 : usage("--rounds", value, "a positive number");
    case OPT_TIME:
        return parse_int(value, 1, &o->time_msec) ? -1
                                                  : usage("--time", value, "a positive number");
    case OPT_DROP:
        return parse_positive(value, &o->drop) && o->drop > 1
                   ? -1
                   : usage("--drop", value, "a number above 1");
    case OPT_BURST:
        return parse_int(value, 1, &o->burst) ? -1 : usage("--burst", value, "a positive number");
    case OPT_BURST_BYTES:
        return parse_size(value, &o->burst_bytes) && o->burst_bytes
                   ? -1
                   : usage("--burst-bytes", value, "a size above 0");
    case OPT_CHECK_MAX:
        return parse_size(value, &o->check_max) && o->check_max
                   ? -1
                   : usage("--check-max", value, "a size above 0");
    }
    return PIPC__CLI_ARGUMENT;
}

/* What is measured beside them, and where it goes. */
static int take_rest(bench_options_t *o, int id, const char *value)
{
    switch (id) {
    case OPT_PER_NODE:
        o->per_node = true;
        return -1;
    case OPT_PEER:
        return take_peer(o, value);
    case OPT_BESIDE:
        o->beside = value;
        return bench_beside_good(value) ? -1 : usage("--beside", value, BENCH_BESIDE_WANTS);
    case OPT_OVERLAP:
        o->overlap = true;
        return -1;
    case OPT_PLOT:
        o->plot_path = value;
        return -1;
    case OPT_LIMIT:
        return parse_positive(value, &o->limit_gbps) ? -1
                                                     : usage("--limit", value, "a speed above 0");
    }
    return usage("option", value ? value : "", "known");
}

static int take(void *options, int id, const char *value)
{
    int status = take_letter(options, id, value);

    if (status == PIPC__CLI_ARGUMENT)
        status = take_choice(options, id, value);
    if (status == PIPC__CLI_ARGUMENT)
        status = take_amount(options, id, value);
    return status == PIPC__CLI_ARGUMENT ? take_rest(options, id, value) : status;
}

/* Options that do not go together. */
static int judge(bench_options_t *o)
{
    if (o->max_bytes < o->min_bytes)
        return usage("-e", "maxbytes", "at least -b");
    if ((double)o->iterations * (o->rounds ? o->rounds : 1) > SAMPLES_MAX)
        return pipc__cli_usage(&cli, "-n",
                               "more samples than 1000000; use a smaller -n or --rounds");
    if ((double)o->burst * (o->graph ? o->graph : 1) > SAMPLES_MAX)
        return pipc__cli_usage(&cli, "--burst", "more calls a sample than 1000000");
    if (o->plot_path && (o->dtype < 0 || o->op < 0))
        return pipc__cli_usage(&cli, "--plot",
                               "draws one type and one operation, not -d all or -o all");
    if (o->limit_gbps > 0 && !o->plot_path)
        return pipc__cli_usage(&cli, "--limit", "is a line of --plot, which is not there");
    if (o->burst && o->burst_bytes)
        return pipc__cli_usage(&cli, "--burst-bytes", "does not go with --burst");
    if (o->proto <= PIPC__PROTO_SIMPLE)
        return -1;
    if (o->proto == PIPC__PROTO_CE && o->graph)
        return pipc__cli_usage(&cli, "--proto", "ce can't be captured into graphs; leave out -G");
    if (strcmp(o->plan, "auto") && strcmp(o->plan, "one-shot"))
        return pipc__cli_usage(&cli, "--proto", "all but simple are for --plan one-shot alone");
    o->plan = "one-shot";
    return -1;
}

int bench_options_parse(bench_options_t *o, int argc, char **argv)
{
    int status;

    *o = (bench_options_t){.min_bytes = 8,
                           .max_bytes = 16 << 20,
                           .factor = 2,
                           .iterations = 20,
                           .warmup = 5,
                           .dtype = PIPC_F32,
                           .op = PIPC_SUM,
                           .check = true,
                           .plan = "auto",
                           .proto = -1};
    status = pipc__cli_parse(&cli, argc, argv, o);
    if (status >= 0)
        return status;
    return judge(o);
}

int bench_options_finish(int status)
{
    return pipc__cli_finish(&cli, status);
}
