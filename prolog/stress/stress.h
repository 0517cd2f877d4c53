/* prolog/stress/stress.h - what the files of pcie-ipc-stress share: a run, its verdict, its report
 */
#ifndef PIPC_PROLOG_STRESS_STRESS_H
#define PIPC_PROLOG_STRESS_STRESS_H

#include <jansson.h>
#include <stdio.h>

#include "prolog/codes.h"
#include "prolog/stress/links.h"
#include "prolog/stress/series.h"
#include "prolog/stress/traffic.h"

#define STRESS_NAME "pcie-ipc-stress"

/* Exit statuses; 64 is wrong usage. */
enum { STRESS_EXIT_OK, STRESS_EXIT_WARN, STRESS_EXIT_FAULT, STRESS_EXIT_COULD_NOT };

typedef struct stress_options {
    stress_wants_t traffic;
    long seconds, interval;
    bool json, no_record;
} stress_options_t;

typedef struct stress_run {
    const stress_options_t *options;
    stress_traffic_t traffic;
    stress_links_t links;
    pipc__facts_t facts;
    stress_series_t rate[STRESS_LANES_MAX]; /* GB/s each way, of 10^9 bytes */
    double seconds;                         /* of traffic */
    bool interrupted;                       /* by a signal */
    bool hung;                              /* nothing moved any more: what is known is known */
    int64_t time;                           /* of its end, UTC */
} stress_run_t;

/* ---- verdict.c: pure ----------------------------------------------------------------------- */

enum { STRESS_REASONS_MAX = 24 };

typedef struct stress_reason {
    pipc__severity_t severity; /* PIPC__DRAIN is a fault */
    char text[224];
} stress_reason_t;

typedef struct stress_verdict {
    pipc__severity_t worst;
    stress_reason_t reason[STRESS_REASONS_MAX]; /* in order of importance; what is more is cut */
    int n;
} stress_verdict_t;

void stress_judge(const stress_run_t *run, stress_verdict_t *out);

/* "ok", "warn", "fault" */
const char *stress_verdict_name(pipc__severity_t worst);
int stress_exit_status(pipc__severity_t worst);

uint64_t stress_wrong(const stress_traffic_t *t);            /* bytes, of all lanes */
uint64_t stress_verified(const stress_traffic_t *t);         /* bytes */
double stress_lane_bytes(const stress_run_t *run, int lane); /* copied, both ways */

/* ---- report.c, report_json.c, progress.c --------------------------------------------------- */

/* "GPU 0 - GPU 1" */
const char *stress_lane_name(const stress_traffic_t *t, int lane, char out[64]);

void stress_report(const stress_run_t *run, const stress_verdict_t *verdict, FILE *out);

/* A new reference; NULL without memory. */
json_t *stress_report_json(const stress_run_t *run, const stress_verdict_t *verdict);

/* The line of now: rewritten on a terminal, else one each 10 s. @gbps: all lanes, both ways. */
void stress_progress(const stress_run_t *run, double gbps, FILE *out);
void stress_progress_end(FILE *out);

/* ---- run.c --------------------------------------------------------------------------------- */

/* All of it, into @run. PIPC_OK, also when it ended early or found faults; else it could not begin,
 * and @err says why. */
pipc_status_t stress_run(const stress_options_t *options, stress_run_t *run, pipc__error_t *err);

/* ---- options.c ----------------------------------------------------------------------------- */

/* -1 to go on, or the exit status. */
int stress_options(int argc, char **argv, stress_options_t *out);
int stress_finish(int status);

/* ---- tool.c -------------------------------------------------------------------------------- */

/* The program; it ends the process, or returns the status for wrong usage. */
int stress_tool(int argc, char **argv);

#endif
