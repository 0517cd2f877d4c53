/* prolog/verb_job.c - the report of a job; and job-end, which writes it */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "prolog/job.h"
#include "prolog/job_id.h"
#include "prolog/snapshot.h"
#include "prolog/state.h"
#include "prolog/output.h"
#include "prolog/verbs.h"
#include "runtime/base/config.h"

enum { OPT_JSON = 256 };

const pipc__cli_option_t pipc__job_options[] = {
    {"json", NULL, "print JSON", OPT_JSON},
    {NULL, NULL, NULL, 0},
};

typedef struct wants {
    uint32_t job;
    bool json;
} wants_t;

static int take(void *wants, int id, const char *value)
{
    wants_t *w = wants;

    if (id == OPT_JSON)
        w->json = true;
    else if (!pipc__job_id(value, &w->job))
        return pipc__verb_usage(value, "no number of a job; scontrol show job has it as JobId");
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t sections[] = {{NULL, pipc__job_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .arguments = 1,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

int pipc__verb_job(int argc, char **argv)
{
    wants_t w = {.job = 0};
    pipc__error_t err = {PIPC_OK, ""};
    json_t *report;
    int status = pipc__cli_parse(&cli, argc, argv, &w);

    if (status >= 0)
        return status;
    if (!w.job)
        return pipc__verb_usage("job", "needs the number of a job");
    if (pipc__job_read(PIPC__STATE_FOLDER, w.job, &report, &err)) {
        fprintf(stderr, PIPC__HEALTH_NAME ": %s\n", err.text);
        return PIPC__EXIT_UNKNOWN;
    }
    status = PIPC__EXIT_OK;
    if (w.json && !pipc__json_print(json_incref(report), stdout))
        status = PIPC__EXIT_UNKNOWN;
    if (!w.json)
        pipc__job_print(report, stdout);
    json_decref(report);
    return pipc__cli_finish(&cli, status);
}

int pipc__verb_job_end(int argc, char **argv)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__config_t config;
    uint32_t job, uid;

    if (argc != 3 || !pipc__job_id(argv[1], &job) || !pipc__user_id(argv[2], &uid))
        return pipc__verb_usage("job-end", "the epilog's own way in");
    umask(022);
    if (pipc__config_read(PIPC_CONFIG, 0, &config, &err))
        fprintf(stderr, "pcie-ipc: %s; the defaults are used\n", err.text);
    const pipc__job_place_t here = {PIPC__RUN_FOLDER, PIPC__STATE_FOLDER, 0, config.sysroot};
    if (!pipc__job_end(&here, job, uid, &err))
        return PIPC__EXIT_OK;
    fprintf(stderr, "pcie-ipc: %s\n", err.text);
    return PIPC__EXIT_UNKNOWN;
}
