/* tools/plan/calibrate.c - pcie-ipc-plan --calibrate: a profile for links.conf, and how far off it
 * is
 *
 * What is printed is a file that --links takes: the figures stand in comments.
 */
#include "runtime/tools/plan/calibrate.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void print_curve(const char *key, const pipc__curve_t *c)
{
    char size[16];

    printf("%s =", key);
    for (int i = 0; i < c->n; i++)
        printf(" %s:%.4g", plan_size_text((size_t)c->bytes[i], size), c->value[i]);
    printf("\n");
}

static void print_profile(const plan_machine_t *m)
{
    const pipc__exec_costs_t *c = &m->fabric->exec;

    printf("[%s]\n", pipc__profile_name(m->fabric->profile));
    printf("call_usec = %.4g\nop_usec = %.4g\nstep_usec = %.4g\nlocal_usec = %.4g\nengines = %g\ndrift = %.3g\n",
           c->call_usec, c->op_usec, c->step_usec, c->local_usec, c->engines, c->drift);
    if (m->fabric->profile != PIPC__PROFILE_CPU)
        printf("memory_gbps = %.4g\n", c->memory_gbps);
    print_curve("copy_gbps", &c->copy_gbps);
    print_curve("reduce_gbps", &c->reduce_gbps);
}

static double percent(double predicted, double measured)
{
    return 100 * (predicted / measured - 1);
}

static void print_errors(const measured_set_t *set)
{
    double sum = 0, worst = 0;
    char size[16];

    printf("\n# %-8s %-10s %12s %12s %7s %12s %7s\n", "bytes", "plan", "measured us", "before", "",
           "fitted", "");
    for (int i = 0; i < set->nrows; i++) {
        const measured_t *r = &set->row[i];
        double off = percent(r->after, r->usec);
        printf("# %-8s %-10s %12.2f %12.2f %+6.0f%% %12.2f %+6.0f%%\n",
               plan_size_text(r->bytes, size), pipc__plan_name((pipc__plan_kind_t)r->kind), r->usec,
               r->before, percent(r->before, r->usec), r->after, off);
        sum += fabs(off);
        worst = fabs(off) > worst ? fabs(off) : worst;
    }
    printf("# %d rows, %d skipped: off by %.0f %% on average, by %.0f %% at most\n", set->nrows,
           set->skipped, sum / set->nrows, worst);
}

static json_t *json_curve(const pipc__curve_t *c)
{
    json_t *list = json_array();

    for (int i = 0; i < c->n; i++)
        json_array_append_new(list,
                              json_pack("{s:f, s:f}", "bytes", c->bytes[i], "gbps", c->value[i]));
    return list;
}

static int print_json(const plan_machine_t *m, const measured_set_t *set)
{
    const pipc__exec_costs_t *c = &m->fabric->exec;
    json_t *rows = json_array();

    for (int i = 0; i < set->nrows; i++) {
        const measured_t *r = &set->row[i];
        json_array_append_new(
            rows, json_pack("{s:I, s:s, s:f, s:f, s:f}", "bytes", (json_int_t)r->bytes, "plan",
                            pipc__plan_name((pipc__plan_kind_t)r->kind), "usec", r->usec,
                            "before_usec", r->before, "fitted_usec", r->after));
    }
    json_t *o =
        json_pack("{s:i, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o}", "version", 1,
                  "profile", pipc__profile_name(m->fabric->profile), "call_usec", c->call_usec,
                  "op_usec", c->op_usec, "step_usec", c->step_usec, "local_usec", c->local_usec,
                  "engines", c->engines, "drift", c->drift, "memory_gbps", c->memory_gbps, "copy",
                  json_curve(&c->copy_gbps), "reduce", json_curve(&c->reduce_gbps), "rows", rows);
    int failed = !o || json_dumpf(o, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    printf("\n");
    json_decref(o);
    return failed ? PLAN_UNREADABLE : 0;
}

static int open_measured(plan_machine_t *m, const plan_wants_t *wants, const measured_set_t *set)
{
    plan_wants_t w = *wants;

    w.nranks = set->nranks;
    if (set->cpu && w.profile < 0)
        w.profile = PIPC__PROFILE_CPU;
    return plan_machine_open(m, &w);
}

int plan_calibrate(plan_machine_t *m, const plan_wants_t *w)
{
    pipc__error_t err = {PIPC_OK, ""};
    measured_set_t *set = malloc(sizeof(*set));
    plan_set_t plans = {0};
    pipc_status_t st = set ? measured_read(set, w->calibrate, &err)
                           : pipc__fail(&err, PIPC_ERR_NOMEM, "out of memory");
    int status = st ? plan_error(&err, PLAN_UNREADABLE) : open_measured(m, w, set);

    if (!status) {
        st = plan_set_make(&plans, m, PIPC__ALLREDUCE, &err);
        if (!st)
            st = calibrate_fit(m, w, &plans, set, &err);
        status = st ? plan_error(&err, PLAN_REFUSED) : 0;
    }
    if (!status && w->json) {
        status = print_json(m, set);
    } else if (!status) {
        print_profile(m);
        print_errors(set);
    }
    plan_set_free(&plans);
    free(set);
    return status;
}
