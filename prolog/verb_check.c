/* prolog/verb_check.c - look now, and say what is there */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "prolog/check.h"
#include "prolog/output.h"
#include "prolog/verbs.h"

enum {
    OPT_SYSROOT = 256,
    OPT_DUMP,
    OPT_TEXT,
    OPT_GPUS,
    OPT_LIMITS,
    OPT_BASELINE,
    OPT_WAKE,
    OPT_JSON
};

#define WAKE_MS 30000 /* without persistence mode the driver first starts every GPU */

const pipc__cli_option_t pipc__check_options[] = {
    {"sysroot", "DIR", "read a captured machine: DIR holds sys and proc", OPT_SYSROOT},
    {"dump", "FILE", "read the text that lspci -xxxx wrote", OPT_DUMP},
    {"text", "FILE", "read lspci -vvv, setpci or a kernel's log, as pasted into a ticket",
     OPT_TEXT},
    {"gpus", "N", "as many GPUs should be there", OPT_GPUS},
    {"limits", "FILE", "judge by this limits.conf", OPT_LIMITS},
    {"baseline", "FILE", "compare with this baseline", OPT_BASELINE},
    {"wake", "HOW", "tell slow links from idle ones: never, nvml or copy", OPT_WAKE},
    {"json", NULL, "print JSON", OPT_JSON},
    {NULL, NULL, NULL, 0},
};

typedef struct wants {
    pipc__machine_t source;
    pipc__wake_t wake;
    bool json;
} wants_t;

static int take_wake(const char *value, pipc__wake_t *wake)
{
    int mode = pipc__wake_parse(value);

    if (mode < 0)
        return pipc__verb_usage(value, "--wake is never, nvml or copy");
    wake->mode = (pipc__wake_mode_t)mode;
    return PIPC__CLI_GO_ON;
}

static int take_number(const char *value, int *out)
{
    char *end;
    long n = strtol(value, &end, 10);

    if (end == value || *end || n < 1 || n > 1024)
        return pipc__verb_usage("--gpus", "a number from 1 to 1024");
    *out = (int)n;
    return PIPC__CLI_GO_ON;
}

static int take(void *wants, int id, const char *value)
{
    wants_t *w = wants;

    switch (id) {
    case OPT_SYSROOT:
        w->source.sysroot = value;
        break;
    case OPT_DUMP:
        w->source.dump = value;
        break;
    case OPT_TEXT:
        w->source.text = value;
        break;
    case OPT_GPUS:
        return take_number(value, &w->source.gpus);
    case OPT_LIMITS:
        w->source.limits = (pipc__rule_file_t){value, PIPC__INI_ANYBODY};
        break;
    case OPT_BASELINE:
        w->source.baseline = (pipc__rule_file_t){value, PIPC__INI_ANYBODY};
        break;
    case OPT_WAKE:
        return take_wake(value, &w->wake);
    default:
        w->json = true;
        break;
    }
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t sections[] = {{NULL, pipc__check_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

static int print_json(const pipc__findings_t *findings)
{
    json_t *json = pipc__findings_to_json(findings);
    int failed = !json || json_dumpf(json, stdout, JSON_INDENT(2));

    json_decref(json);
    printf("\n");
    return failed;
}

/* Without another machine it is this one, with its own files. */
void pipc__check_here(pipc__machine_t *m)
{
    if (m->sysroot || m->dump || m->text)
        return;
    m->sysroot = "/";
    if (!m->limits.path)
        m->limits.path = PIPC_LIMITS;
    if (!m->baseline.path)
        m->baseline.path = PIPC_BASELINE;
}

int pipc__verb_check(int argc, char **argv)
{
    wants_t w = {.wake = {.deadline_ms = WAKE_MS}};
    pipc__findings_t findings = {NULL, 0, 0, PIPC__OK};
    pipc__error_t err = {PIPC_OK, ""};
    int status = pipc__cli_parse(&cli, argc, argv, &w);

    if (status >= 0)
        return status;
    if (!!w.source.sysroot + !!w.source.dump + !!w.source.text > 1)
        return pipc__verb_usage("--sysroot, --dump and --text", "one machine at a time");
    if (w.wake.mode && (w.source.dump || w.source.text))
        return pipc__verb_usage("--wake", "a text has no GPU that could be woken");
    w.source.all = true;
    pipc__check_here(&w.source);
    w.wake.sysroot = w.source.sysroot;
    w.source.wake = &w.wake;
    if (pipc__check(&w.source, &findings, &err)) {
        fprintf(stderr, PIPC__HEALTH_NAME ": %s\n", err.text);
        pipc__findings_free(&findings);
        return PIPC__EXIT_UNKNOWN;
    }
    status = pipc__exit_status(findings.verdict);
    if (w.json && print_json(&findings))
        status = PIPC__EXIT_UNKNOWN;
    if (!w.json)
        pipc__findings_print(&findings, PIPC__OK, stdout);
    if (!w.json && findings.n == 0)
        printf("pcie-ipc: node: every link is as it should be (ok)\n");
    pipc__findings_free(&findings);
    return pipc__cli_finish(&cli, status);
}
