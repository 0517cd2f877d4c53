/* prolog/verb_snapshot.c - look at all, and leave it for the programs of jobs and for prologs; no
 * node is drained
 */
#include "config.h"

#include <stdio.h>
#include <sys/stat.h>

#include "prolog/examine.h"
#include "prolog/output.h"
#include "prolog/verbs.h"

static int take(void *wants, int id, const char *value)
{
    (void)wants;
    (void)id;
    (void)value;
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t sections[] = {{NULL, NULL}};
static const pipc__cli_t cli = {.name = PIPC__HEALTH_NAME,
                                .version = PACKAGE_VERSION,
                                .sections = sections,
                                .help = &pipc__health_cli,
                                .output_failed = PIPC__EXIT_UNKNOWN,
                                .take = take};

int pipc__verb_snapshot(int argc, char **argv)
{
    pipc__exam_t exam = {.all = true, .fresh = true};
    pipc__config_t config;
    int status = pipc__cli_parse(&cli, argc, argv, NULL);

    if (status >= 0)
        return status;
    umask(022);
    pipc__exam_config(&pipc__gate_here, &config, stderr);
    if (pipc__examine(&pipc__gate_here, &config, &exam, stderr)) {
        pipc__findings_free(&exam.findings);
        return PIPC__EXIT_UNKNOWN;
    }
    pipc__findings_print(&exam.findings, PIPC__WARN, stdout);
    status = pipc__exit_status(exam.findings.verdict);
    pipc__findings_free(&exam.findings);
    return pipc__cli_finish(&cli, status);
}
