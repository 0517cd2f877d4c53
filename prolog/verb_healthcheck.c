/* prolog/verb_healthcheck.c - healthcheck: what slurmd runs as HealthCheckProgram, by way of
 * start.c; and the same by hand
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prolog/healthcheck.h"
#include "prolog/said.h"
#include "prolog/slurm.h"
#include "prolog/start.h"
#include "prolog/state.h"
#include "prolog/verbs.h"

enum { OPT_NODE = 256, OPT_DRY_RUN };

const pipc__cli_option_t pipc__healthcheck_options[] = {
    {"node", "NAME", "what Slurm calls this node; else its host name, up to a dot", OPT_NODE},
    {"dry-run", NULL, "say what would be told to Slurm, and tell it nothing", OPT_DRY_RUN},
    {NULL, NULL, NULL, 0},
};

typedef struct wants {
    const char *node;
    bool dry_run;
} wants_t;

static int take(void *wants, int id, const char *value)
{
    wants_t *w = wants;

    if (id == OPT_NODE)
        w->node = value;
    else
        w->dry_run = true;
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t sections[] = {{NULL, pipc__healthcheck_options}, {NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

/* Once an hour, that somebody who wonders why nothing is drained finds it in the log. */
static bool is_off(void)
{
    const pipc__start_t start = {PIPC_CHECKER, {PIPC_OFF, PIPC__START_OFF}, PIPC__RUN_FOLDER, 0};
    const char *file = pipc__start_off(&start);

    if (pipc__exam_due(&pipc__gate_here, "said.off", file ? "off" : "") && file)
        fprintf(stderr, "pcie-ipc: switched off by %s: nothing is checked\n", file);
    return file != NULL;
}

int pipc__verb_healthcheck(int argc, char **argv)
{
    wants_t w = {NULL, false};
    char host[65] = "";
    int status = pipc__cli_parse(&cli, argc, argv, &w);

    if (status >= 0)
        return status;
    if (!w.node && gethostname(host, sizeof(host) - 1) == 0) {
        host[strcspn(host, ".")] = '\0';
        w.node = host;
    }
    if (!w.node || !pipc__config_is_node(w.node))
        return pipc__verb_usage("--node", "no name of a node");
    umask(022);
    const pipc__healthcheck_t hc = {pipc__gate_here, w.node, w.dry_run};
    if (!is_off())
        pipc__healthcheck(&hc, stderr);
    return pipc__cli_finish(&cli, PIPC__EXIT_OK);
}
