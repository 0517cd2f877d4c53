/* prolog/verbs.h - what stands behind "pcie-ipc-health VERB": a file each, verb_NAME.c, and a row
 * in the table of main.c. For the tool only: what stands here prints.
 */
#ifndef PIPC_PROLOG_VERBS_H
#define PIPC_PROLOG_VERBS_H

#include "prolog/check.h"
#include "prolog/examine.h"
#include "runtime/base/cli.h"

#define PIPC__HEALTH_NAME "pcie-ipc-health"

/* Exit statuses of the verbs that give a verdict; 64 is wrong usage. */
enum {
    PIPC__EXIT_OK, /* ok or note; of other verbs: done */
    PIPC__EXIT_WARN,
    PIPC__EXIT_DRAIN,
    PIPC__EXIT_UNKNOWN
};
int pipc__exit_status(pipc__severity_t verdict);

/* Say what is wrong with @object, as "pcie-ipc-health: object: what; see ... --help". The status
 * for wrong usage. */
int pipc__verb_usage(const char *object, const char *what);

/* The code of that name, in letters of either case, as pipc__code_t; -1 after the user has been
 * told that there is none. */
int pipc__verb_code(const char *name);

/* Say what went wrong; PIPC__EXIT_UNKNOWN. */
int pipc__verb_failed(const pipc__error_t *err);

/* The whole tool's --help, which each verb's --help shows. */
extern const pipc__cli_t pipc__health_cli;

/* Each verb gets its own name as argv[0] and returns the exit status. */
int pipc__verb_ack(int argc, char **argv);
int pipc__verb_baseline(int argc, char **argv);
int pipc__verb_check(int argc, char **argv);
int pipc__verb_checklist(int argc, char **argv);
int pipc__verb_explain(int argc, char **argv);
int pipc__verb_healthcheck(int argc, char **argv);
int pipc__verb_accept(int argc, char **argv);
int pipc__verb_undrain(int argc, char **argv);
int pipc__verb_census(int argc, char **argv);
int pipc__verb_gate(int argc, char **argv); /* called by pipc__prolog() alone */
int pipc__verb_job(int argc, char **argv);
int pipc__verb_job_end(int argc, char **argv); /* called by pipc__epilog_report() alone */
int pipc__verb_links(int argc, char **argv);
int pipc__verb_snapshot(int argc, char **argv);
int pipc__verb_watch(int argc, char **argv);

/* Options that say which machine is meant, and by whose limits: for every verb that looks at one.
 * pipc__machine_take() takes them; pipc__machine_ready() makes it this machine, by the files below
 * /etc, unless it is another. It returns PIPC__CLI_GO_ON or the status for wrong usage. */
extern const pipc__cli_option_t pipc__machine_options[];
void pipc__machine_take(pipc__machine_t *machine, int id, const char *value);
int pipc__machine_ready(pipc__machine_t *machine);

/* Where things are on this machine, and root's. */
extern const pipc__gate_t pipc__gate_here;

/* Their options, for the --help of all. */
extern const pipc__cli_option_t pipc__ack_options[], pipc__baseline_options[],
    pipc__check_options[], pipc__checklist_options[], pipc__links_options[];
extern const pipc__cli_option_t pipc__job_options[], pipc__watch_options[];
extern const pipc__cli_option_t pipc__healthcheck_options[], pipc__accept_options[],
    pipc__undrain_options[], pipc__census_options[];

#endif
