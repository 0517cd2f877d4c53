/* tools/plan/svg.c - the sweep as a picture. See chart.h */
#include "runtime/tools/chart.h"
#include "runtime/tools/plan/sweep.h"

void sweep_svg(const sweep_t *s, const char *title, FILE *out)
{
    size_t bytes[SWEEP_SIZES];
    double y[PIPC__PLAN_KINDS][SWEEP_SIZES];
    chart_t c = {.title = title, .n = SWEEP_SIZES, .bytes = bytes, .npanels = 1};
    chart_panel_t *p = &c.panel[0];

    p->unit = "GB/s";
    p->what = "predicted busbw";
    for (int i = 0; i < SWEEP_SIZES; i++)
        bytes[i] = (size_t)1 << (SWEEP_FIRST + i);
    for (int k = 0; k < PIPC__PLAN_KINDS; k++) {
        for (int i = 0; i < SWEEP_SIZES; i++)
            y[k][i] = s->row[i].busbw[k];
        if (s->has[k])
            p->curve[p->ncurves++] =
                (chart_curve_t){pipc__plan_name((pipc__plan_kind_t)k), y[k], false};
    }
    chart_svg(&c, out);
}
