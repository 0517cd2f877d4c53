/* tools/plan/plan.h - pcie-ipc-plan: what is asked for, and the machine that it is asked of.
 */
#ifndef PIPC_TOOLS_PLAN_PLAN_H
#define PIPC_TOOLS_PLAN_PLAN_H

#include <stdbool.h>

#include "runtime/base/error.h"
#include "runtime/bind/bind.h"
#include "runtime/plan/generate.h"
#include "runtime/sim/simulate.h"
#include "runtime/topo/source.h"

#define PLAN_NAME "pcie-ipc-plan"

/* Exit statuses. */
enum { PLAN_REFUSED = 1, PLAN_UNREADABLE = 2, PLAN_USAGE = 64 };

typedef enum plan_action {
    PLAN_SIMULATE,
    PLAN_PRINT,
    PLAN_CHECK,
    PLAN_TABLE,
    PLAN_SWEEP,
    PLAN_CALIBRATE
} plan_action_t;

typedef struct plan_wants {
    plan_action_t action;
    bool action_said, json;
    pipc__source_t source;
    const char *topo; /* --topo, before it is known what kind of source it names */
    int nranks;       /* of a node; 0: a rank a GPU */
    int nodes;        /* that are like the machine; 0: it is alone */
    size_t bytes;     /* of a rank's message */
    size_t staging_bytes;
    int elem_bytes;
    int kind; /* pipc__plan_kind_t; -1: the best */
    pipc__collective_t collective;
    pipc__bind_request_t bind; /* mode, and the list of map: */
    bool host;                 /* --path host */
    int profile;               /* pipc__profile_t; -1: what fits the machine */
    const char *plan_file, *links, *svg, *calibrate;
} plan_wants_t;

/* Parse; PIPC__CLI_GO_ON or an exit status. */
int plan_options(plan_wants_t *wants, int argc, char **argv);

/* End as every tool ends: @status, unless output was lost. */
int plan_finish(int status);

/* The machine that plans are made for and put on. */
typedef struct plan_machine {
    pipc__topo_t *topo;
    pipc__binding_t binding;
    pipc__shape_t shape;
    pipc__costs_t costs;
    const char *costs_from; /* path of links.conf, or "built in" */
    pipc__fabric_t *fabric;
} plan_machine_t;

/* Make it. Returns 0, or the exit status after a line on stderr. Released by plan_machine_close().
 */
int plan_machine_open(plan_machine_t *m, const plan_wants_t *wants);
void plan_machine_close(plan_machine_t *m);

/* A plan and what is predicted of it. */
typedef struct plan_candidate {
    pipc__plan_t *plan; /* NULL: there is none of this kind */
    pipc__sim_result_t result;
} plan_candidate_t;

/* Plans of all kinds for the machine; kinds that have no such plan stay NULL. */
typedef struct plan_set {
    plan_candidate_t of[PIPC__PLAN_KINDS];
} plan_set_t;

pipc_status_t plan_set_make(plan_set_t *set, const plan_machine_t *m, pipc__collective_t collective,
                            pipc__error_t *err);
void plan_set_free(plan_set_t *set);

/* Simulate all of them at @bytes; *best gets the kind with the least time, the simpler one where
 * two are within a thousandth. */
pipc_status_t plan_set_simulate(plan_set_t *set, const plan_machine_t *m, const plan_wants_t *wants,
                                size_t bytes, int *best, pipc__error_t *err);

/* The call that @bytes of a rank's message make. */
pipc__sim_call_t plan_call(const plan_wants_t *wants, const pipc__plan_t *plan, size_t bytes);

/* What the actions print; each returns an exit status. */
int plan_report(const plan_machine_t *m, const plan_wants_t *wants, const pipc__plan_t *plan,
                const pipc__sim_result_t *result);
int plan_report_json(const plan_machine_t *m, const plan_wants_t *wants, const pipc__plan_t *plan,
                     const pipc__sim_result_t *result);
int plan_sweep(const plan_machine_t *m, const plan_wants_t *wants);
int plan_nodes(const plan_machine_t *m, const plan_wants_t *wants);
int plan_calibrate(plan_machine_t *m, const plan_wants_t *wants); /* opens @m itself */

/* "64K", "1M", "100": a size as people write it, into a buffer that it returns. */
const char *plan_size_text(size_t bytes, char text[16]);

/* "64K", "1M", "100", with an optional B; false when it is no size. */
bool plan_size_parse(const char *text, size_t *bytes);

/* A line on stderr, "pcie-ipc-plan: TEXT"; returns @status. */
int plan_error(const pipc__error_t *err, int status);

#endif
