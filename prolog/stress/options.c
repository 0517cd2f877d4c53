/* prolog/stress/options.c - the command line */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "prolog/stress/stress.h"
#include "runtime/base/cli.h"

#define DAYS_MAX 30
#define UNIT (8 * STRESS_PARTS) /* a copy is a multiple of it */
#define BYTES_MAX ((size_t)1 << 30)

enum { OPT_PAIRS = 256, OPT_HOST, OPT_JSON, OPT_INTERVAL, OPT_NO_RECORD };

static const pipc__cli_option_t rows[] = {
    {"time", "TIME", "for so long: seconds, or 10m, 24h, 2d (default 60s)", 't'},
    {"gpus", "LIST", "these GPUs alone, as CUDA numbers them, with commas", 'g'},
    {"size", "SIZE", "copies of this many bytes; K, M and G are known (default 32M)", 's'},
    {"pairs", NULL, "between GPUs alone", OPT_PAIRS},
    {"host", NULL, "between GPUs and the host alone", OPT_HOST},
    {"interval", "SECONDS", "look at links and counters so often (default 1)", OPT_INTERVAL},
    {"no-record", NULL, "leave no date in /var/lib/pcie-ipc/stress.json (root)", OPT_NO_RECORD},
    {"json", NULL, "print JSON", OPT_JSON},
    {NULL, NULL, NULL, 0},
};
static const pipc__cli_section_t sections[] = {{NULL, rows}, {NULL, NULL}};

static int take(void *wants, int id, const char *value);

static const pipc__cli_t cli = {
    .name = STRESS_NAME,
    .version = PACKAGE_VERSION,
    .usage = "[OPTION...]",
    .about = "Load the PCIe links of this machine's GPUs fully, verify every copy, and watch the "
             "links and\ntheir error counters meanwhile. No job should run beside it.\n",
    .sections = sections,
    .after =
        "Exit status: 0 well, 1 a warning, 2 a fault (wrong bytes, lost lanes, a GPU that "
        "stops),\n3 it could not run, 64 wrong usage. SIGINT ends it with the report so far.\n",
    .output_failed = STRESS_EXIT_COULD_NOT,
    .take = take,
};

/* A number and the one letter of @units that may follow it; its factor is in @factors. 0: none. */
static unsigned long long number(const char *text, const char *units,
                                 const unsigned long long *factors, unsigned long long max)
{
    char *end;
    unsigned long long n;
    const char *unit;

    if (*text < '0' || *text > '9' || strlen(text) > 18) /* strtoull() takes signs and blanks */
        return 0;
    n = strtoull(text, &end, 10);
    if (*end) {
        unit = strchr(units, *end);
        if (!unit || end[1] || n > max / factors[unit - units])
            return 0;
        n *= factors[unit - units];
    }
    return n <= max ? n : 0;
}

static int take_time(const char *value, stress_options_t *o)
{
    static const unsigned long long factors[] = {1, 60, 3600, 86400};

    o->seconds = (long)number(value, "smhd", factors, DAYS_MAX * 86400);
    return o->seconds > 0
               ? PIPC__CLI_GO_ON
               : pipc__cli_usage(&cli, value, "--time is a time as 60s, 10m or 24h, 30d at most");
}

static int take_size(const char *value, stress_options_t *o)
{
    static const unsigned long long factors[] = {1 << 10, 1 << 20, 1 << 30};

    o->traffic.bytes = (size_t)number(value, "KMG", factors, BYTES_MAX);
    return o->traffic.bytes > 0 && o->traffic.bytes % UNIT == 0
               ? PIPC__CLI_GO_ON
               : pipc__cli_usage(&cli, value, "--size is a multiple of 128, 1G at most");
}

static int take_gpus(const char *value, stress_wants_t *w)
{
    const char *wrong = "--gpus is a list as 0,2,3 without repeats, 16 at most";
    char *end;

    for (w->ngpus = 0;; value = end + 1) {
        unsigned long n = *value >= '0' && *value <= '9' ? strtoul(value, &end, 10) : 1024;
        if (n >= 1024 || w->ngpus == STRESS_GPUS_MAX || (*end && *end != ','))
            return pipc__cli_usage(&cli, value, wrong);
        for (int i = 0; i < w->ngpus; i++)
            if (w->gpu[i] == (int)n)
                return pipc__cli_usage(&cli, value, wrong);
        w->gpu[w->ngpus++] = (int)n;
        if (!*end)
            return PIPC__CLI_GO_ON;
    }
}

static int take_which(stress_wants_t *w, stress_which_t which)
{
    if (w->which != STRESS_ALL && w->which != which)
        return pipc__cli_usage(&cli, "--pairs and --host", "one of them, or none for both");
    w->which = which;
    return PIPC__CLI_GO_ON;
}

static int take(void *wants, int id, const char *value)
{
    static const unsigned long long none[] = {1};
    stress_options_t *o = wants;

    switch (id) {
    case 't':
        return take_time(value, o);
    case 'g':
        return take_gpus(value, &o->traffic);
    case 's':
        return take_size(value, o);
    case OPT_PAIRS:
        return take_which(&o->traffic, STRESS_PAIRS);
    case OPT_HOST:
        return take_which(&o->traffic, STRESS_TO_HOST);
    case OPT_INTERVAL:
        o->interval = (long)number(value, "", none, 3600);
        return o->interval > 0 ? PIPC__CLI_GO_ON
                               : pipc__cli_usage(&cli, value, "--interval is 1 to 3600 seconds");
    case OPT_NO_RECORD:
        o->no_record = true;
        return PIPC__CLI_GO_ON;
    default:
        o->json = true;
        return PIPC__CLI_GO_ON;
    }
}

int stress_options(int argc, char **argv, stress_options_t *out)
{
    *out = (stress_options_t){.traffic = {.bytes = (size_t)32 << 20}, .seconds = 60, .interval = 1};
    return pipc__cli_parse(&cli, argc, argv, out);
}

int stress_finish(int status)
{
    return pipc__cli_finish(&cli, status);
}
