/* prolog/main.c - the checker: what pcie-ipc-health is for all verbs but prolog and epilog. A verb
 * is a row here and a file of its own; see verbs.h.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "prolog/explain.h"
#include "prolog/gate.h"
#include "prolog/guard.h"
#include "prolog/job.h"
#include "prolog/job_id.h"
#include "prolog/links.h"
#include "prolog/prolog.h"
#include "prolog/state.h"
#include "prolog/verbs.h"

/* In the order of --help. */
static const struct verb {
    const char *name;
    int (*run)(int argc, char **argv);
} verbs[] = {
    {"check", pipc__verb_check},     {"baseline", pipc__verb_baseline},
    {"ack", pipc__verb_ack},         {"checklist", pipc__verb_checklist},
    {"explain", pipc__verb_explain}, {"healthcheck", pipc__verb_healthcheck},
    {"accept", pipc__verb_accept},   {"undrain", pipc__verb_undrain},
    {"census", pipc__verb_census},   {"install-links", pipc__verb_links},
    {"job", pipc__verb_job},         {"snapshot", pipc__verb_snapshot},
    {"watch", pipc__verb_watch},     {"gate", pipc__verb_gate},
    {"job-end", pipc__verb_job_end},
};
#define VERBS                                                                                      \
    "check, baseline, ack, checklist, explain, prolog, epilog, healthcheck, accept, undrain, "     \
    "census, job, snapshot, watch or install-links"

static void print_codes(void)
{
    for (int c = 0; c < PIPC__CODES; c++)
        printf("  %s %-7s %s\n", pipc__codes[c].name, pipc__severity_name(pipc__codes[c].severity),
               pipc__codes[c].what);
}

/* Before a verb stand --help and --version alone; main() refuses the rest. */
static int take_nothing(void *wants, int id, const char *value)
{
    (void)wants;
    (void)id;
    (void)value;
    return PIPC__CLI_GO_ON;
}

static const pipc__cli_section_t all_options[] = {
    {"check: look now", pipc__check_options},
    {"baseline learn | diff [FILE] | show [FILE]: what the machine was when it was well",
     pipc__baseline_options},
    {"ack CODE OBJECT: a record of the past is known, and a note from now on", pipc__ack_options},
    {"checklist: is the node ready for production?", pipc__checklist_options},
    {"check, baseline, ack, checklist: which machine", pipc__machine_options},
    {"prolog, epilog: what Slurm runs; see install-links\n\n"
     "healthcheck: what HealthCheckProgram is; with an option, by hand",
     pipc__healthcheck_options},
    {"accept [CODE]: what the breaker holds is right", pipc__accept_options},
    {"undrain NODE...: put nodes back that this program drained", pipc__undrain_options},
    {"census: count what is drained, and drain within max_drain", pipc__census_options},
    {"install-links: make " PIPC__LINK_NAME " in Slurm's folders", pipc__links_options},
    {"job: what a job that has ended saw of the links", pipc__job_options},
    {"snapshot: look at all, and leave it for jobs and prologs\n\n"
     "watch: look again and again, print and record what changes",
     pipc__watch_options},
    {NULL, NULL},
};

const pipc__cli_t pipc__health_cli = {
    .name = PIPC__HEALTH_NAME,
    .version = PACKAGE_VERSION,
    .usage = "check [OPTION...]\n"
             "       " PIPC__HEALTH_NAME " baseline learn | diff [FILE] | show [FILE] [OPTION...]\n"
             "       " PIPC__HEALTH_NAME " ack CODE OBJECT | --list [OPTION...]\n"
             "       " PIPC__HEALTH_NAME " checklist [OPTION...]\n"
             "       " PIPC__HEALTH_NAME " explain CODE\n"
             "       " PIPC__HEALTH_NAME " prolog | epilog\n"
             "       " PIPC__HEALTH_NAME " healthcheck [OPTION...]\n"
             "       " PIPC__HEALTH_NAME " accept [CODE]\n"
             "       " PIPC__HEALTH_NAME " undrain [OPTION...] [NODE...]\n"
             "       " PIPC__HEALTH_NAME " census [OPTION...]\n"
             "       " PIPC__HEALTH_NAME " install-links [OPTION...]\n"
             "       " PIPC__HEALTH_NAME " job [--json] ID\n"
             "       " PIPC__HEALTH_NAME " snapshot\n"
             "       " PIPC__HEALTH_NAME " watch [OPTION...]",
    .about = "Judge the PCIe links of this machine's GPUs, and keep jobs off nodes with a fault.\n",
    .sections = all_options,
    .after = "Exit status of check and snapshot: 0 ok or note, 1 warn, 2 drain, 3 unknown,\n64 "
             "wrong usage.\n"
             "baseline diff: 0 the same, 1 it differs, 3 it cannot be told.\n"
             "checklist: 0 every line is yes, 1 one is no, 3 one is unknown.\n"
             "prolog: 0, or 1 to refuse the node; epilog, healthcheck: 0.\n\nCodes:\n",
    .more = print_codes,
    .output_failed = PIPC__EXIT_UNKNOWN,
    .take = take_nothing,
};

int pipc__verb_usage(const char *object, const char *what)
{
    return pipc__cli_usage(&pipc__health_cli, object, what);
}

int pipc__verb_code(const char *name)
{
    for (int c = 0; c < PIPC__CODES; c++)
        if (strcasecmp(pipc__codes[c].name, name) == 0)
            return c;
    pipc__verb_usage(name, "there is no such code; --help lists them");
    return -1;
}

int pipc__verb_failed(const pipc__error_t *err)
{
    fprintf(stderr, PIPC__HEALTH_NAME ": %s\n", err->text);
    return PIPC__EXIT_UNKNOWN;
}

int pipc__exit_status(pipc__severity_t verdict)
{
    switch (verdict) {
    case PIPC__DRAIN:
        return PIPC__EXIT_DRAIN;
    case PIPC__WARN:
        return PIPC__EXIT_WARN;
    case PIPC__OK:
    case PIPC__NOTE:
        return PIPC__EXIT_OK;
    default:
        return PIPC__EXIT_UNKNOWN;
    }
}

int pipc__verb_explain(int argc, char **argv)
{
    if (argc != 2)
        return pipc__verb_usage("explain", "needs one code, as PCI001");
    if (!pipc__explain(argv[1], stdout))
        return pipc__verb_usage(argv[1], "there is no such code; --help lists them");
    return pipc__cli_finish(&pipc__health_cli, PIPC__EXIT_OK);
}

/* Last, when the verdict is out: a look to compare with at the job's end. The job does not need it.
 */
static void begin_job(const char *number)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__config_t config;
    uint32_t job;

    pipc__config_read(PIPC_CONFIG, 0, &config, NULL);
    const pipc__job_place_t here = {PIPC__RUN_FOLDER, PIPC__STATE_FOLDER, 0, config.sysroot};
    if (pipc__job_id(number, &job) && pipc__job_begin(&here, job, &err))
        fprintf(stderr, "pcie-ipc: job %u: its beginning is not kept: %s\n", job, err.text);
}

const pipc__gate_t pipc__gate_here = {.config = PIPC_CONFIG,
                                      .limits = PIPC_LIMITS,
                                      .baseline = PIPC_BASELINE,
                                      .run = PIPC__RUN_FOLDER,
                                      .state = PIPC__STATE_FOLDER};

int pipc__verb_gate(int argc, char **argv)
{
    FILE *record;
    int status;

    if (argc != 4 || strlen(argv[1]) >= PIPC__NONCE_MAX ||
        !(record = fdopen(PIPC__GUARD_RECORD_FD, "w")))
        return pipc__verb_usage("gate", "the prolog's own way in");
    umask(022);
    status = pipc__gate_run(&pipc__gate_here, argv[1], argv[3], stderr, record);
    fclose(record);
    begin_job(argv[2]);
    return status;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    for (size_t v = 0; v < sizeof(verbs) / sizeof(verbs[0]); v++)
        if (strcmp(name, verbs[v].name) == 0)
            return verbs[v].run(argc - 1, argv + 1);
    if (name[0] == '-') {
        int status = pipc__cli_parse(&pipc__health_cli, 2, argv, NULL);
        return status >= 0 ? status : pipc__verb_usage(name, "a verb comes first");
    }
    return pipc__verb_usage(name[0] ? name : "no verb", "use " VERBS);
}
