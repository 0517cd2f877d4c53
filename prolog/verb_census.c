/* prolog/verb_census.c - census: in one place, once a period; see census.h */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>

#include "prolog/census.h"
#include "prolog/start.h"
#include "prolog/state.h"
#include "prolog/verbs.h"

enum { OPT_DRY_RUN = 256 };

const pipc__cli_option_t pipc__census_options[] = {
    {"dry-run", NULL, "count, say what would be drained, and do nothing", OPT_DRY_RUN},
    {NULL, NULL, NULL, 0},
};

static int take(void *wants, int id, const char *value)
{
    (void)id;
    (void)value;
    *(bool *)wants = true;
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t sections[] = {{NULL, pipc__census_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

static int failed(const char *why)
{
    fprintf(stderr, PIPC__HEALTH_NAME ": census: %s\n", why);
    return 1;
}

int pipc__verb_census(int argc, char **argv)
{
    const pipc__start_t start = {PIPC_CHECKER, {PIPC_OFF, PIPC__START_OFF}, PIPC__RUN_FOLDER, 0};
    bool dry_run = false;
    pipc__error_t err = {PIPC_OK, ""};
    pipc__config_t config;
    pipc__census_result_t count;
    int status = pipc__cli_parse(&cli, argc, argv, &dry_run);

    if (status >= 0)
        return status;
    if (pipc__config_read(pipc__gate_here.config, pipc__gate_here.owner, &config, &err))
        return failed(err.text);
    if (config.max_drain.n == 0)
        return failed("max_drain is 0, no limit: nodes drain themselves and none asks");
    if (!dry_run && pipc__start_off(&start))
        return failed("switched off: nothing is drained");
    const pipc__slurm_t slurm = {config.scontrol, config.slurm_conf, pipc__gate_here.owner};
    if (pipc__census(&slurm, config.max_drain, dry_run, &count, stdout, &err))
        return failed(err.text);
    printf("nodes %d, drained by pcie-ipc %d, limit %d, asking %d\n", count.nodes, count.drained,
           count.limit, count.asking);
    return pipc__cli_finish(&cli, PIPC__EXIT_OK);
}
