/* tools/plan/sweep.c - all plans over all sizes: bus bandwidths, and the best plan of each size */
#include "runtime/tools/plan/sweep.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pipc_status_t fill(sweep_t *s, const plan_machine_t *m, const plan_wants_t *w,
                          plan_set_t *set, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    for (int i = 0; !st && i < SWEEP_SIZES; i++) {
        sweep_row_t *row = &s->row[i];
        row->bytes = (size_t)1 << (SWEEP_FIRST + i);
        st = plan_set_simulate(set, m, w, row->bytes, &row->best, err);
        for (int k = 0; !st && k < PIPC__PLAN_KINDS; k++) {
            s->has[k] = set->of[k].plan != NULL;
            row->usec[k] = set->of[k].result.usec;
            row->busbw[k] = set->of[k].result.busbw;
        }
        if (!st)
            pipc__sim_limit_text(m->fabric, &set->of[row->best].result, row->limit,
                                 sizeof(row->limit));
    }
    return st;
}

static const char *name(int kind)
{
    return pipc__plan_name((pipc__plan_kind_t)kind);
}

static void print_sweep(const sweep_t *s)
{
    char size[16];

    printf("predicted busbw, GB/s\n%-6s", "bytes");
    for (int k = 0; k < PIPC__PLAN_KINDS; k++)
        if (s->has[k])
            printf(" %10s", name(k));
    printf("  best\n");
    for (int i = 0; i < SWEEP_SIZES; i++) {
        const sweep_row_t *row = &s->row[i];
        printf("%-6s", plan_size_text(row->bytes, size));
        for (int k = 0; k < PIPC__PLAN_KINDS; k++)
            if (s->has[k])
                printf(" %10.2f", row->busbw[k]);
        printf("  %s\n", name(row->best));
    }
}

static void print_table(const sweep_t *s)
{
    char size[16];

    printf("%-6s %-10s %12s %8s  %s\n", "bytes", "plan", "us", "busbw", "limited by");
    for (int i = 0; i < SWEEP_SIZES; i++) {
        const sweep_row_t *row = &s->row[i];
        printf("%-6s %-10s %12.2f %8.2f  %s\n", plan_size_text(row->bytes, size), name(row->best),
               row->usec[row->best], row->busbw[row->best], row->limit);
    }
}

static int print_json(const sweep_t *s)
{
    json_t *rows = json_array();

    for (int i = 0; i < SWEEP_SIZES; i++) {
        const sweep_row_t *row = &s->row[i];
        json_t *plans = json_object();
        for (int k = 0; k < PIPC__PLAN_KINDS; k++)
            if (s->has[k])
                json_object_set_new(
                    plans, name(k),
                    json_pack("{s:f, s:f}", "usec", row->usec[k], "busbw_gbps", row->busbw[k]));
        json_array_append_new(rows, json_pack("{s:I, s:s, s:s, s:o}", "bytes",
                                              (json_int_t)row->bytes, "best", name(row->best),
                                              "limited_by", row->limit, "plans", plans));
    }
    json_t *o = json_pack("{s:i, s:o}", "version", 1, "rows", rows);
    int failed = !o || json_dumpf(o, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    printf("\n");
    json_decref(o);
    return failed ? PLAN_UNREADABLE : 0;
}

/* What the picture is of. */
static void title(const plan_machine_t *m, const plan_wants_t *w, char *text, size_t cap)
{
    static const char *const collectives[] = {"all-reduce", "reduce-scatter", "all-gather"};

    snprintf(text, cap, "%s of %d ranks%s%.80s, profile %s", collectives[w->collective],
             m->binding.nranks, w->source.text ? " on " : "", w->source.text ? w->source.text : "",
             pipc__profile_name(m->fabric->profile));
}

static int write_svg(const sweep_t *s, const plan_machine_t *m, const plan_wants_t *w)
{
    pipc__error_t err = {PIPC_OK, ""};
    char text[160];
    FILE *f = fopen(w->svg, "we");

    title(m, w, text, sizeof(text));
    if (f)
        sweep_svg(s, text, f);
    if (!f || ferror(f) || fclose(f)) {
        pipc__fail_errno(&err, "--svg %s", w->svg);
        return plan_error(&err, PLAN_UNREADABLE);
    }
    return 0;
}

static int print(const sweep_t *s, const plan_wants_t *w)
{
    if (w->json)
        return print_json(s);
    if (w->action == PLAN_TABLE)
        print_table(s);
    else
        print_sweep(s);
    return 0;
}

int plan_sweep(const plan_machine_t *m, const plan_wants_t *w)
{
    pipc__error_t err = {PIPC_OK, ""};
    plan_set_t set;
    sweep_t *s = calloc(1, sizeof(*s));
    pipc_status_t st = plan_set_make(&set, m, w->collective, &err);
    int status = 0;

    if (!s)
        st = pipc__fail(&err, PIPC_ERR_NOMEM, "out of memory");
    if (!st)
        st = fill(s, m, w, &set, &err);
    if (st)
        status = plan_error(&err, PLAN_REFUSED);
    else if (w->svg)
        status = write_svg(s, m, w);
    if (!status)
        status = print(s, w);
    plan_set_free(&set);
    free(s);
    return status;
}
