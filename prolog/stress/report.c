/* prolog/stress/report.c - the report as text */
#include "prolog/stress/stress.h"

const char *stress_lane_name(const stress_traffic_t *t, int lane, char out[64])
{
    const stress_done_t *d = &t->lane[lane];

    if (d->y == STRESS_HOST)
        snprintf(out, 64, "GPU %d - host", t->gpu[d->x].number);
    else
        snprintf(out, 64, "GPU %d - GPU %d", t->gpu[d->x].number, t->gpu[d->y].number);
    return out;
}

static void print_lanes(const stress_run_t *run, FILE *out)
{
    char name[64];

    fprintf(out, "\nGB/s each way     %8s %8s %8s   first min  last min   copied\n", "min",
            "median", "max");
    for (int i = 0; i < run->traffic.lanes; i++) {
        const stress_series_t *s = &run->rate[i];
        fprintf(out, "%-17s %8.1f %8.1f %8.1f   %9.1f %9.1f   %.3f TB%s\n",
                stress_lane_name(&run->traffic, i, name), s->min, stress_series_median(s), s->max,
                stress_series_first(s), stress_series_last(s), stress_lane_bytes(run, i) * 1e-12,
                run->traffic.lane[i].nvlink ? "  NVLink" : "");
    }
}

static const char *width_text(int width, char out[16])
{
    if (width < 0)
        return "?";
    snprintf(out, 16, "x%d", width);
    return out;
}

static void print_links(const stress_run_t *run, FILE *out)
{
    char width[16], least[24], most[24], errors[128];

    if (run->links.n > 0)
        fprintf(out, "\nlink               width   speed under load        drops   errors\n");
    for (int i = 0; i < run->links.n; i++) {
        const stress_link_t *l = &run->links.link[i];
        bool known = l->least_mts > 0 && l->most_mts > 0;
        pipc__delta_text(l->count, errors, sizeof(errors));
        fprintf(out, "%-18s %-7s %-10s %-10s %8ld   %s\n", l->lower,
                width_text(l->least_width, width),
                known ? pipc__speed_text(l->least_mts, least) : "?",
                known && l->most_mts > l->least_mts ? pipc__speed_text(l->most_mts, most) : "",
                l->drops,
                errors[0]             ? errors
                : run->links.counting ? "none"
                                      : "not counted");
    }
}

void stress_report(const stress_run_t *run, const stress_verdict_t *verdict, FILE *out)
{
    const stress_traffic_t *t = &run->traffic;

    fprintf(out, "%d GPUs, %.0f s, copies of %zu bytes, CUDA driver %d.%d\n", t->ngpus,
            run->seconds, t->wants->bytes, t->driver_version / 1000, t->driver_version % 1000 / 10);
    for (int i = 0; i < t->ngpus; i++)
        fprintf(out, "GPU %d  %s  %s\n", t->gpu[i].number, t->gpu[i].bdf, t->gpu[i].name);
    print_lanes(run, out);
    print_links(run, out);
    fprintf(out, "\n%llu wrong bytes; %.3f GB were compared, which went through all copies\n",
            (unsigned long long)stress_wrong(t), (double)stress_verified(t) * 1e-9);
    for (int i = 0; i < verdict->n; i++)
        fprintf(out, "%s: %s\n",
                verdict->reason[i].severity >= PIPC__WARN
                    ? stress_verdict_name(verdict->reason[i].severity)
                    : "note",
                verdict->reason[i].text);
    fprintf(out, "verdict: %s\n", stress_verdict_name(verdict->worst));
}
