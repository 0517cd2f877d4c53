/* prolog/stress/tool.c - pcie-ipc-stress, for main() and for tests */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "prolog/state.h"
#include "prolog/stress/stress.h"
#include "prolog/stress_record.h"

static int print_json(const stress_run_t *run, const stress_verdict_t *verdict)
{
    json_t *json = stress_report_json(run, verdict);
    int failed = !json || json_dumpf(json, stdout, JSON_INDENT(2));

    json_decref(json);
    printf("\n");
    return failed;
}

/* For whoever asks later when this machine was last put under stress: root's runs alone, since
 * nobody else could write it. */
static void keep(const stress_run_t *run, const stress_verdict_t *verdict)
{
    pipc__stress_record_t r = {
        .time = run->time, .seconds = (int64_t)run->seconds, .gpus = run->traffic.ngpus};
    pipc__error_t err = {PIPC_OK, ""};

    if (geteuid() != 0 || run->options->no_record || run->options->traffic.which == STRESS_PAIRS)
        return;
    snprintf(r.verdict, sizeof(r.verdict), "%s", stress_verdict_name(verdict->worst));
    pipc__stress_machine("/", &run->facts, r.machine);
    if (pipc__stress_keep(PIPC__STATE_FOLDER, 0, &r, &err))
        fprintf(stderr, STRESS_NAME ": the date of this run is not kept: %s\n", err.text);
}

int stress_tool(int argc, char **argv)
{
    static stress_run_t run; /* static: the thread of the copies may outlive main() */
    static stress_options_t options;
    stress_verdict_t verdict;
    pipc__error_t err = {PIPC_OK, ""};
    int status = stress_options(argc, argv, &options);

    if (status >= 0)
        return status;
    if (stress_run(&options, &run, &err)) {
        fprintf(stderr, STRESS_NAME ": %s\n", err.text);
        fflush(NULL);
        _exit(STRESS_EXIT_COULD_NOT); /* a driver that hangs has exit handlers that do, too */
    }
    stress_judge(&run, &verdict);
    status = stress_exit_status(verdict.worst);
    if (!options.json)
        stress_report(&run, &verdict, stdout);
    else if (print_json(&run, &verdict))
        status = STRESS_EXIT_COULD_NOT;
    keep(&run, &verdict);
    status = stress_finish(status);
    fflush(NULL);
    _exit(status);
}
