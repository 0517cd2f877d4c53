/* tools/chart.h - curves over the message size, or what else grows by powers of 2, as SVG 1.1: no
 * scripts, fonts or links
 *
 *     title
 *     GB/s ^  - - - - limit    colours that people with a weak sense of colour can tell apart, and
 *          |  /___ ring        each curve a mark of its own
 *          +------------> bytes, logarithmic
 *     us   ^  ...              a panel below the other, all over the same sizes
 */
#ifndef PIPC_TOOLS_CHART_H
#define PIPC_TOOLS_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CHART_CURVES_MAX 16
#define CHART_PANELS_MAX 2

typedef struct chart_curve {
    const char *name;
    const double
        *y;     /* [chart.n]; what is not above 0 is not known, and the curve has a gap there */
    bool faint; /* thin: it is there for comparison */
} chart_curve_t;

typedef struct chart_panel {
    const char *unit; /* of its axis: "GB/s" */
    const char *what; /* above its names: "busbw" */
    bool logarithmic;
    int ncurves;
    chart_curve_t curve[CHART_CURVES_MAX];
    double limit; /* a line across; 0: none */
    const char *limit_name;
} chart_panel_t;

typedef struct chart {
    const char *title;
    const char *axis; /* what the curves are over; NULL: the bytes of a rank's message */
    int n;
    const size_t *bytes; /* [n], ascending; 0 bytes have no place on the axis and are left out */
    int npanels;
    chart_panel_t panel[CHART_PANELS_MAX];
} chart_t;

/* The picture; write errors stay in @out (ferror). Names may hold anything. */
void chart_svg(const chart_t *chart, FILE *out);

#endif
