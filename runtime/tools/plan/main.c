/* tools/plan/main.c - pcie-ipc-plan: prints, checks and simulates plans on a topology */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/plan/check.h"
#include "runtime/plan/json.h"
#include "runtime/plan/text.h"
#include "runtime/tools/plan/plan.h"

/* The sequence of calls that a plan must stand: one round, several with their areas taken in turns,
 * in place, one after the other. */
static pipc_status_t check_plan(const pipc__plan_t *plan, pipc__error_t *err)
{
    const pipc__check_call_t calls[] = {
        {plan, 1, 1, false}, {plan, 3, 2, true}, {plan, 2, 1, false}};

    return pipc__plan_check(calls, sizeof(calls) / sizeof(calls[0]), PIPC__BUFFERS, err);
}

static int check(const plan_wants_t *w, const pipc__plan_t *plan)
{
    pipc__error_t err = {PIPC_OK, ""};

    if (check_plan(plan, &err))
        return plan_error(&err, PLAN_REFUSED);
    if (w->json)
        printf("{\"plan\": \"%s\", \"collective\": \"%s\", \"ranks\": %d, \"right\": true}\n",
               plan->name, pipc__collective_name(plan->collective), plan->nranks);
    else
        printf("%s, %s, %d ranks: right\n", plan->name, pipc__collective_name(plan->collective),
               plan->nranks);
    return 0;
}

static int print(const plan_wants_t *w, const pipc__plan_t *plan)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc_status_t st =
        w->json ? pipc__plan_write_json(plan, stdout, &err) : pipc__plan_print(plan, stdout, &err);

    return st ? plan_error(&err, PLAN_UNREADABLE) : 0;
}

static int simulate(const plan_machine_t *m, const plan_wants_t *w, const pipc__plan_t *plan)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__sim_call_t call = plan_call(w, plan, w->bytes);
    pipc__sim_result_t result;

    if (pipc__simulate(&result, m->fabric, &call, &err))
        return plan_error(&err, PLAN_REFUSED);
    int status = w->json ? plan_report_json(m, w, plan, &result) : plan_report(m, w, plan, &result);
    pipc__sim_release(&result);
    return status;
}

static int act_on(const plan_machine_t *m, const plan_wants_t *w, const pipc__plan_t *plan)
{
    switch (w->action) {
    case PLAN_CHECK:
        return check(w, plan);
    case PLAN_PRINT:
        return print(w, plan);
    default:
        return simulate(m, w, plan);
    }
}

/* The plan that was asked for by name, or the best. */
static int act_on_named(const plan_machine_t *m, const plan_wants_t *w)
{
    pipc__error_t err = {PIPC_OK, ""};
    plan_set_t set;
    int kind = w->kind, status;
    pipc_status_t st = plan_set_make(&set, m, w->collective, &err);

    if (!st && kind < 0)
        st = plan_set_simulate(&set, m, w, w->bytes, &kind, &err);
    if (st)
        status = plan_error(&err, PLAN_REFUSED);
    else if (set.of[kind].plan)
        status = act_on(m, w, set.of[kind].plan);
    else {
        pipc__fail(&err, PIPC_ERR_UNSUPPORTED,
                   "--plan %s: there is no such plan for %s of %d ranks",
                   pipc__plan_name((pipc__plan_kind_t)kind), pipc__collective_name(w->collective),
                   m->binding.nranks);
        status = plan_error(&err, PLAN_USAGE);
    }
    plan_set_free(&set);
    return status;
}

static int act(plan_machine_t *m, const plan_wants_t *w, const pipc__plan_t *from_file)
{
    if (w->action == PLAN_CALIBRATE)
        return plan_calibrate(m, w); /* the measurement says for how many ranks */
    int status = plan_machine_open(m, w);
    if (status)
        return status;
    if (from_file)
        return act_on(m, w, from_file);
    if (w->nodes && (w->action == PLAN_SIMULATE || w->action == PLAN_SWEEP))
        return plan_nodes(m, w);
    if (w->action == PLAN_SWEEP || w->action == PLAN_TABLE)
        return plan_sweep(m, w);
    return act_on_named(m, w);
}

int main(int argc, char **argv)
{
    pipc__error_t err = {PIPC_OK, ""};
    plan_wants_t w;
    plan_machine_t m = {0};
    pipc__plan_t *plan = NULL;
    int status = plan_options(&w, argc, argv);

    if (status >= 0)
        return status;
    if (w.plan_file) {
        pipc_status_t st = pipc__plan_read_json(&plan, w.plan_file, &err);
        if (st)
            return plan_error(&err, st == PIPC_ERR_INVALID ? PLAN_REFUSED : PLAN_UNREADABLE);
        if (!w.nranks)
            w.nranks = plan->nranks;
    }
    if (plan && w.action != PLAN_SIMULATE)
        status = act_on(&m, &w, plan); /* needs no machine */
    else
        status = act(&m, &w, plan);
    pipc__plan_free(plan);
    plan_machine_close(&m);
    return plan_finish(status);
}
