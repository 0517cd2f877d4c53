/* tools/plan/fit.c - the profile that predicts what was measured
 *
 * The simulator itself is the model, so nothing is derived twice. Each cost is a factor on where it
 * starts from; a pattern search tries each one up and down, keeps what is better, and halves its
 * steps when nothing is:
 *
 *     call_usec | all latencies (op, step, local) | memory | drift | copy speed at each knot |
 *     sum speed at each knot
 *
 * One size tells copies from sums only where several plans were measured, which have them in other
 * parts. A small weight keeps the two, and neighbours on a curve, together where nothing tells.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sim/cut.h"
#include "runtime/tools/plan/calibrate.h"

#define KNOTS_MAX PIPC__CURVE_MAX
#define SINGLE 4 /* costs that are no curve */
#define COSTS_MAX (SINGLE + 2 * KNOTS_MAX)
#define KNOT_FIRST ((size_t)4 << 10) /* below, latency is all that there is to see */
#define TOGETHER 2e-3                /* weight of a difference that no measurement asks for */
#define STEP_FIRST 0.5               /* of a logarithm */
#define STEP_LAST 0.01

typedef struct fit {
    plan_machine_t *m;
    const plan_wants_t *w;
    plan_set_t *plans;
    measured_set_t *set;
    pipc__exec_costs_t start;
    int nknots;
    double x[COSTS_MAX]; /* logarithms of the factors */
    int nx;
    pipc_status_t st;
    pipc__error_t *err;
} fit_t;

static pipc__exec_costs_t *costs_of(const fit_t *f)
{
    return &f->m->costs.exec[f->m->fabric->profile];
}

/* Predict all rows with the costs as they stand; *after or *before of each gets it. */
static bool predict(fit_t *f, bool after)
{
    plan_machine_t *m = f->m;
    pipc__fabric_t *was = m->fabric;

    f->st = pipc__fabric_make(&m->fabric, m->topo, &m->binding, &m->costs, was->profile, f->err);
    if (f->st) {
        m->fabric = was;
        return false;
    }
    pipc__fabric_free(was);
    for (int i = 0; i < f->set->nrows; i++) {
        measured_t *r = &f->set->row[i];
        pipc__sim_result_t result;
        pipc__sim_call_t call = {.plan = f->plans->of[r->kind].plan,
                                 .count = r->bytes / r->elem_bytes,
                                 .elem_bytes = r->elem_bytes,
                                 .staging_bytes = f->w->staging_bytes};
        f->st = pipc__simulate(&result, m->fabric, &call, f->err);
        if (f->st)
            return false;
        *(after ? &r->after : &r->before) = result.usec;
        pipc__sim_release(&result);
    }
    return true;
}

static void apply(fit_t *f)
{
    pipc__exec_costs_t *c = costs_of(f);

    *c = f->start;
    c->call_usec *= exp(f->x[0]);
    c->op_usec *= exp(f->x[1]);
    c->step_usec *= exp(f->x[1]);
    c->local_usec *= exp(f->x[1]);
    c->memory_gbps *= exp(f->x[2]);
    c->drift = fmin(1, c->drift * exp(f->x[3])); /* 0 stays: processes have one lane */
    for (int i = 0; i < f->nknots; i++) {
        c->copy_gbps.value[i] *= exp(f->x[SINGLE + i]);
        c->reduce_gbps.value[i] *= exp(f->x[SINGLE + f->nknots + i]);
    }
}

static double square(double v)
{
    return v * v;
}

/* How far off the predictions are. */
static double error_of(fit_t *f)
{
    const pipc__exec_costs_t *c = costs_of(f);
    double sum = 0, tie = 0,
           ratio = log(f->start.copy_gbps.value[0] / f->start.reduce_gbps.value[0]);

    apply(f);
    if (!predict(f, true))
        return INFINITY;
    for (int i = 0; i < f->set->nrows; i++)
        sum += square(log(f->set->row[i].after / f->set->row[i].usec));
    for (int i = 0; i < f->nknots; i++) {
        tie += square(log(c->copy_gbps.value[i] / c->reduce_gbps.value[i]) - ratio);
        if (i)
            tie += square(log(c->copy_gbps.value[i] / c->copy_gbps.value[i - 1])) +
                   square(log(c->reduce_gbps.value[i] / c->reduce_gbps.value[i - 1]));
    }
    return sum + TOGETHER * tie + TOGETHER * (square(f->x[1]) + square(f->x[2]) + square(f->x[3]));
}

static double working_set(fit_t *f, const measured_t *r)
{
    pipc__cut_t cut;
    pipc__sim_call_t call = {.plan = f->plans->of[r->kind].plan,
                             .count = r->bytes / r->elem_bytes,
                             .elem_bytes = r->elem_bytes,
                             .staging_bytes = f->w->staging_bytes};

    f->st = pipc__cut(&cut, &call, f->err);
    return f->st ? 0 : pipc__cut_working_set(&cut, &call);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Knots at the working sets that were measured: all that differ by a third, else some of them. */
static void place_knots(fit_t *f)
{
    double sets[CALIBRATE_ROWS] = {0}, apart[CALIBRATE_ROWS];
    int n = 0, napart = 0;
    pipc__exec_costs_t *s = &f->start;
    const pipc__exec_costs_t was = *s;

    for (int i = 0; i < f->set->nrows && !f->st; i++)
        if (f->set->row[i].bytes >= KNOT_FIRST)
            sets[n++] = working_set(f, &f->set->row[i]);
    qsort(sets, (size_t)n, sizeof(*sets), by_value);
    for (int i = 0; i < n; i++)
        if (!napart || sets[i] > apart[napart - 1] * 1.33)
            apart[napart++] = sets[i];
    f->nknots = napart < KNOTS_MAX ? napart : KNOTS_MAX;
    if (!f->nknots) {
        apart[0] = (double)KNOT_FIRST;
        f->nknots = napart = 1;
    }
    s->copy_gbps.n = s->reduce_gbps.n = f->nknots;
    for (int i = 0; i < f->nknots; i++) {
        double at = apart[f->nknots < 2 ? 0 : i * (napart - 1) / (f->nknots - 1)];
        at = ceil(at / 1024) * 1024; /* as it is printed */
        s->copy_gbps.bytes[i] = s->reduce_gbps.bytes[i] = at;
        s->copy_gbps.value[i] = pipc__curve_at(&was.copy_gbps, at);
        s->reduce_gbps.value[i] = pipc__curve_at(&was.reduce_gbps, at);
    }
    f->nx = SINGLE + 2 * f->nknots;
}

static void search(fit_t *f)
{
    double best = error_of(f);

    for (double h = STEP_FIRST; h >= STEP_LAST && !f->st;) {
        bool better = false;
        for (int i = 0; i < f->nx; i++)
            for (int sign = -1; sign <= 1; sign += 2) {
                double was = f->x[i];
                f->x[i] = was + sign * h;
                double e = error_of(f);
                if (e < best * (1 - 1e-6)) {
                    best = e;
                    better = true;
                    break;
                }
                f->x[i] = was;
            }
        if (!better)
            h /= 2;
    }
    apply(f);
    predict(f, true);
}

pipc_status_t calibrate_fit(plan_machine_t *m, const plan_wants_t *w, plan_set_t *plans,
                            measured_set_t *set, pipc__error_t *err)
{
    fit_t f = {.m = m, .w = w, .plans = plans, .set = set, .err = err};
    int kept = 0;

    for (int i = 0; i < set->nrows; i++) /* a plan that this shape does not have */
        if (plans->of[set->row[i].kind].plan)
            set->row[kept++] = set->row[i];
    set->skipped += set->nrows - kept;
    set->nrows = kept;
    f.start = *costs_of(&f);
    if (f.start.call_usec <= 0)
        f.start.call_usec = 0.1; /* a factor moves nothing that is 0 */
    if (!predict(&f, false))
        return f.st;
    place_knots(&f);
    if (!f.st)
        search(&f);
    return f.st;
}
