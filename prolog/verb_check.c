/* prolog/verb_check.c - look now, and say what is there */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "prolog/check.h"
#include "prolog/output.h"
#include "prolog/prometheus.h"
#include "prolog/verbs.h"
#include "runtime/base/ask.h"

enum { OPT_GPUS = 256, OPT_BASELINE, OPT_NVML, OPT_WAKE, OPT_PROMETHEUS, OPT_JSON };

#define WAKE_MS 30000 /* without persistence mode the driver first starts every GPU */

const pipc__cli_option_t pipc__check_options[] = {
    {"gpus", "N", "as many GPUs should be there", OPT_GPUS},
    {"nvml", NULL, "ask NVML about this machine's GPUs too, 10 seconds at most", OPT_NVML},
    {"baseline", "FILE", "compare with this baseline", OPT_BASELINE},
    {"wake", "HOW", "tell slow links from idle ones: never, nvml or copy", OPT_WAKE},
    {"prometheus", "FILE", "leave it for Prometheus too; FILE ends in .prom", OPT_PROMETHEUS},
    {"json", NULL, "print JSON", OPT_JSON},
    {NULL, NULL, NULL, 0},
};

typedef struct wants {
    pipc__machine_t source;
    pipc__wake_t wake;
    const char *prometheus;
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

static int take(void *wants, int id, const char *value)
{
    wants_t *w = wants;

    switch (id) {
    case OPT_GPUS:
        return pipc__ini_number(value, 1, 1024, &w->source.gpus)
                   ? PIPC__CLI_GO_ON
                   : pipc__verb_usage("--gpus", "a number from 1 to 1024");
    case OPT_NVML:
        w->source.nvml = PIPC__ASK_NVML;
        w->source.nvml_msec = PIPC__ASK_NVML_MSEC;
        break;
    case OPT_BASELINE:
        w->source.baseline = (pipc__rule_file_t){value, PIPC__INI_ANYBODY};
        break;
    case OPT_WAKE:
        return take_wake(value, &w->wake);
    case OPT_PROMETHEUS:
        w->prometheus = value;
        break;
    case OPT_JSON:
        w->json = true;
        break;
    default:
        pipc__machine_take(&w->source, id, value);
        break;
    }
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t sections[] = {
    {NULL, pipc__check_options}, {NULL, pipc__machine_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

/* Findings, and what goes wrong beside them. */
static int tell(const wants_t *w, const pipc__findings_t *findings)
{
    pipc__error_t err = {PIPC_OK, ""};
    int status = pipc__exit_status(findings->verdict);

    if (w->prometheus &&
        pipc__prometheus_write(w->prometheus, geteuid(), w->source.sysroot, findings, &err))
        status = pipc__verb_failed(&err);
    if (w->json && !pipc__json_print(pipc__findings_to_json(findings), stdout))
        status = PIPC__EXIT_UNKNOWN;
    if (!w->json)
        pipc__findings_print(findings, PIPC__OK, stdout);
    if (!w->json && findings->n == 0)
        printf("pcie-ipc: node: every link is as it should be (ok)\n");
    return status;
}

int pipc__verb_check(int argc, char **argv)
{
    wants_t w = {.wake = {.deadline_ms = WAKE_MS}};
    pipc__findings_t findings = {NULL, 0, 0, PIPC__OK};
    pipc__error_t err = {PIPC_OK, ""};
    int status = pipc__cli_parse(&cli, argc, argv, &w);
    const char *why;

    if (status >= 0)
        return status;
    if (w.source.nvml && (w.source.sysroot || w.source.dump || w.source.text))
        return pipc__verb_usage("--nvml", "asks this machine's driver, and is for no other one");
    if (w.prometheus && (w.source.dump || w.source.text))
        return pipc__verb_usage("--prometheus", "a text has no links that could be watched");
    if (w.prometheus && (why = pipc__prometheus_judge(w.prometheus)))
        return pipc__verb_usage(w.prometheus, why);
    if ((status = pipc__machine_ready(&w.source)) >= 0)
        return status;
    if (w.wake.mode && (w.source.dump || w.source.text))
        return pipc__verb_usage("--wake", "a text has no GPU that could be woken");
    w.wake.sysroot = w.source.sysroot;
    w.source.wake = &w.wake;
    /* What was captured does not change any more. */
    w.source.look_ms = w.source.sysroot && strcmp(w.source.sysroot, "/") == 0 ? PIPC__LOOK_MS : 0;
    if (pipc__check(&w.source, &findings, &err)) {
        pipc__findings_free(&findings);
        return pipc__verb_failed(&err);
    }
    status = tell(&w, &findings);
    pipc__findings_free(&findings);
    return pipc__cli_finish(&cli, status);
}
