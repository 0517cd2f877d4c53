/* prolog/stress/report_json.c - the report as JSON
 *
 *     {"schema": 1, "verdict", "seconds", "wanted", "interrupted", "bytes", "wrong", "verified",
 *      "gpus": [{"number", "bdf", "name"}], "lanes": [...], "links": [...], "reasons": [...]}
 */
#include "prolog/stress/stress.h"

static json_t *gpus(const stress_traffic_t *t)
{
    json_t *list = json_array();

    for (int i = 0; list && i < t->ngpus; i++)
        json_array_append_new(list, json_pack("{s:i, s:s, s:s}", "number", t->gpu[i].number, "bdf",
                                              t->gpu[i].bdf, "name", t->gpu[i].name));
    return list;
}

static json_t *lanes(const stress_run_t *run)
{
    const stress_traffic_t *t = &run->traffic;
    json_t *list = json_array();

    for (int i = 0; list && i < t->lanes; i++) {
        const stress_done_t *d = &t->lane[i];
        const stress_series_t *s = &run->rate[i];
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "a",
                            t->gpu[d->x].bdf, "b", d->y == STRESS_HOST ? "host" : t->gpu[d->y].bdf,
                            "nvlink", d->nvlink, "min", s->min, "median", stress_series_median(s),
                            "max", s->max, "first_minute", stress_series_first(s), "last_minute",
                            stress_series_last(s), "copied", stress_lane_bytes(run, i), "wrong",
                            (json_int_t)atomic_load(&d->wrong)));
    }
    return list;
}

/* Unknown values are left out. */
static void put_known(json_t *object, const char *key, json_int_t value)
{
    if (value >= 0)
        json_object_set_new(object, key, json_integer(value));
}

static json_t *links(const stress_links_t *all)
{
    json_t *list = json_array();

    for (int i = 0; list && i < all->n; i++) {
        const stress_link_t *l = &all->link[i];
        json_t *one = json_pack("{s:s, s:s, s:I, s:b}", "lower", l->lower, "upper", l->upper,
                                "drops", (json_int_t)l->drops, "gone", l->gone);
        json_t *errors = json_object();
        put_known(one, "width", l->width);
        put_known(one, "least_width", l->least_width);
        put_known(one, "least_mts", l->least_mts);
        put_known(one, "most_mts", l->most_mts);
        for (int c = 0; all->counting && c < PIPC__COUNTS; c++)
            put_known(errors, pipc__count_names[c], l->count[c]);
        json_object_set_new(one, "errors", errors);
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *reasons(const stress_verdict_t *v)
{
    json_t *list = json_array();

    for (int i = 0; list && i < v->n; i++)
        json_array_append_new(list, json_pack("{s:s, s:s}", "severity",
                                              v->reason[i].severity >= PIPC__WARN
                                                  ? stress_verdict_name(v->reason[i].severity)
                                                  : "note",
                                              "text", v->reason[i].text));
    return list;
}

json_t *stress_report_json(const stress_run_t *run, const stress_verdict_t *verdict)
{
    const stress_traffic_t *t = &run->traffic;

    return json_pack("{s:i, s:s, s:f, s:I, s:b, s:I, s:I, s:I, s:i, s:o, s:o, s:o, s:o}", "schema",
                     1, "verdict", stress_verdict_name(verdict->worst), "seconds", run->seconds,
                     "wanted", (json_int_t)run->options->seconds, "interrupted", run->interrupted,
                     "bytes", (json_int_t)t->wants->bytes, "wrong", (json_int_t)stress_wrong(t),
                     "verified", (json_int_t)stress_verified(t), "unreached", t->unreached, "gpus",
                     gpus(t), "lanes", lanes(run), "links", links(&run->links), "reasons",
                     reasons(verdict));
}
