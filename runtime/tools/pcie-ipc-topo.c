/* tools/pcie-ipc-topo.c - print which GPUs, NICs and NUMA nodes share which switch */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/tools/topo/cpu.h"
#include "runtime/tools/topo/nvml.h"
#include "runtime/tools/topo/topo_tool.h"
#include "runtime/topo/json.h"
#include "runtime/topo/source.h"
#include "runtime/topo/svg.h"
#include "runtime/topo/xml_out.h"

#define NAME "pcie-ipc-topo"

enum { OPT_JSON = 256, OPT_XML, OPT_SVG, OPT_COMPARE, OPT_RANKS, OPT_BIND };

static const pipc__cli_option_t options[] = {
    {"json", NULL, "print JSON", OPT_JSON},
    {"xml", NULL, "print NCCL's topology XML, for NCCL_TOPO_FILE", OPT_XML},
    {"svg", "FILE", "draw a picture into FILE, - for standard output", OPT_SVG},
    {"ranks", "N", "print what --pcie-ipc would give to N ranks", OPT_RANKS},
    {"bind", "MODE", "how: switch (default), spread, numa, none or map:GPU,GPU,...", OPT_BIND},
    {"compare", "A", "print what changed from A to B, or to this machine", OPT_COMPARE},
    {NULL, NULL, NULL, 0},
};
static const pipc__cli_section_t sections[] = {
    {NULL, options},
    {"The machine, in place of this one:", pipc__source_options},
    {NULL, NULL},
};

static int take(void *wants, int id, const char *value);

static const pipc__cli_t cli = {
    .name = NAME,
    .version = PACKAGE_VERSION,
    .usage = "[OPTION...]\n       " NAME " [OPTION...] --compare=A [B]",
    .about =
        "Print which GPUs, NICs and NUMA nodes share which PCIe switch.\n"
        "A and B are files or folders that an option below reads. What they hold tells of which\n"
        "kind they are, or the word does, as in nccl-xml:FILE.\n",
    .sections = sections,
    .after =
        "Exit status: 0 printed, 1 this machine can't be read or the output not be written,\n"
        "2 a file can't be read, 64 wrong usage. With --compare: 0 no change, 1 some, 2 trouble.\n",
    .arguments = 1,
    .output_failed = 1,
    .take = take,
};

static int take(void *wants, int id, const char *value)
{
    topo_wants_t *w = wants;

    switch (id) {
    case OPT_JSON:
        w->json = true;
        return PIPC__CLI_GO_ON;
    case OPT_XML:
        w->xml = true;
        return PIPC__CLI_GO_ON;
    case OPT_COMPARE:
        w->compare = value;
        return PIPC__CLI_GO_ON;
    case PIPC__CLI_ARGUMENT:
        w->compare_with = value;
        return PIPC__CLI_GO_ON;
    case OPT_SVG:
        w->svg = value;
        return PIPC__CLI_GO_ON;
    case OPT_RANKS:
        return topo_binding_ranks(&cli, w, value);
    case OPT_BIND:
        return topo_binding_mode(&cli, w, value);
    default:
        return pipc__source_take(&cli, &w->source, id, value);
    }
}

/* What can't be asked for together. */
static int judge(const topo_wants_t *w)
{
    bool more = w->json || w->xml || w->binding.nranks;

    if (w->compare_with && !w->compare)
        return pipc__cli_usage(&cli, w->compare_with, "unexpected argument");
    if (w->compare_with && w->source.kind != PIPC__SOURCE_LIVE)
        return pipc__cli_usage(&cli, w->compare_with,
                               "--compare=A takes B or an option that names it");
    if (w->compare && (w->xml || w->svg || w->binding.nranks))
        return pipc__cli_usage(&cli, "--compare", "goes with --json only");
    if (w->xml && (w->json || w->binding.nranks))
        return pipc__cli_usage(&cli, "--xml", "goes with --svg=FILE only");
    if (w->bind_given && w->binding.nranks == 0)
        return pipc__cli_usage(&cli, "--bind", "needs --ranks=N");
    if (w->svg && !strcmp(w->svg, "-") && more)
        return pipc__cli_usage(&cli, "--svg=-", "the picture is all that can be printed then");
    return PIPC__CLI_GO_ON;
}

/* ---- output -------------------------------------------------------------------------------- */

/* The time of SOURCE_DATE_EPOCH, if it is set, makes pictures that can be compared. */
static void date(char *out, size_t cap)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    time_t now = epoch && *epoch ? (time_t)strtoll(epoch, NULL, 10) : time(NULL);
    struct tm tm;

    if (!gmtime_r(&now, &tm) || !strftime(out, cap, "%Y-%m-%d %H:%M UTC", &tm))
        snprintf(out, cap, "date not known");
}

static pipc_status_t write_svg(const topo_wants_t *w, const pipc__topo_t *topo, FILE *out,
                               pipc__error_t *err)
{
    char title[256] = "", when[64], made[128];

    if (w->source.kind == PIPC__SOURCE_LIVE)
        gethostname(title, sizeof(title) - 1);
    else
        snprintf(title, sizeof(title), "%s", w->source.text);
    date(when, sizeof(when));
    snprintf(made, sizeof(made), NAME " " PACKAGE_VERSION ", %s", when);
    return pipc__topo_print_svg(topo, title, made, out, err);
}

static pipc_status_t save_svg(const topo_wants_t *w, const pipc__topo_t *topo, pipc__error_t *err)
{
    FILE *f = fopen(w->svg, "w");
    pipc_status_t st;

    if (!f)
        return pipc__fail_errno(err, "--svg=%s", w->svg);
    st = write_svg(w, topo, f, err);
    if (fclose(f) && !st)
        return pipc__fail_errno(err, "--svg=%s", w->svg);
    return st;
}

static pipc_status_t print_json(const topo_wants_t *w, const pipc__topo_t *topo, pipc__error_t *err)
{
    json_t *all = pipc__topo_json(topo), *binding;
    pipc_status_t st = PIPC_OK;

    if (all && w->binding.nranks) {
        st = topo_binding_json(&w->binding, topo, &binding, err);
        if (!st && json_object_set_new(all, "binding", binding)) {
            json_decref(all);
            all = NULL;
        }
    }
    if (st) {
        json_decref(all);
        return st;
    }
    return pipc__json_print(all, stdout, err);
}

static pipc_status_t print_xml(const topo_wants_t *w, const pipc__topo_t *topo, pipc__error_t *err)
{
    pipc__xml_cpu_t cpu;

    if (w->source.kind == PIPC__SOURCE_LIVE)
        topo_cpu_read("", &cpu);
    return pipc__topo_print_xml(topo, w->source.kind == PIPC__SOURCE_LIVE ? &cpu : NULL, stdout,
                                err);
}

static pipc_status_t print(const topo_wants_t *w, const pipc__topo_t *topo, pipc__error_t *err)
{
    if (w->svg && !strcmp(w->svg, "-"))
        return write_svg(w, topo, stdout, err);
    if (w->svg) {
        pipc_status_t st = save_svg(w, topo, err);
        if (st || (!w->json && !w->xml && !w->binding.nranks))
            return st;
    }
    if (w->xml)
        return print_xml(w, topo, err);
    if (w->json)
        return print_json(w, topo, err);
    if (w->binding.nranks)
        return topo_binding_print(&w->binding, topo, stdout, err);
    return pipc__topo_print(topo, stdout, err);
}

pipc_status_t topo_load(const pipc__source_t *source, pipc__topo_t **topo, pipc__error_t *err)
{
    pipc_status_t st = pipc__topo_load(topo, source, err);

    if (!st && source->kind == PIPC__SOURCE_LIVE)
        topo_nvml_read(*topo, PIPC__ASK_NVML, PIPC__ASK_NVML_MSEC); /* nothing to tell is fine */
    return st;
}

static int compare(const topo_wants_t *w)
{
    pipc__cli_t as_diff = cli; /* 1 means a difference there */

    as_diff.output_failed = 2;
    return pipc__cli_finish(&as_diff, topo_difference(&cli, w));
}

static int status_of(pipc_status_t st)
{
    switch (st) {
    case PIPC_OK:
        return 0;
    case PIPC_ERR_INVALID: /* a map that names no GPU */
        return PIPC__CLI_USAGE;
    case PIPC_ERR_UNSUPPORTED: /* the source does not hold what the output needs */
        return PIPC__EXIT_FILE;
    default:
        return 1;
    }
}

int main(int argc, char **argv)
{
    topo_wants_t w = {.binding = {.mode = PIPC__BIND_SWITCH}};
    pipc__topo_t *topo = NULL;
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st;
    int status = pipc__cli_parse(&cli, argc, argv, &w);

    if (status < 0)
        status = judge(&w);
    if (status >= 0)
        return status;
    if (w.compare)
        return compare(&w);
    st = topo_load(&w.source, &topo, &err);
    if (st) {
        fprintf(stderr, NAME ": %s\n", err.text);
        return pipc__source_exit(&w.source, st);
    }
    st = print(&w, topo, &err);
    pipc__topo_free(topo);
    if (st)
        fprintf(stderr, NAME ": %s\n", err.text);
    return pipc__cli_finish(&cli, status_of(st));
}
