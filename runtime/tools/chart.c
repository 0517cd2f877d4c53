/* tools/chart.c - see chart.h */
#include "runtime/tools/chart.h"

#include <math.h>

#define WIDTH 760
#define PANEL 390 /* height of a panel, with its axis */
#define LEFT 60
#define RIGHT 170
#define TOP 50
#define BOTTOM 50
#define LABELS_MAX 14 /* along the axis of sizes */

static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#000000", "#e69f00", "#56b4e9", "#8a5a2b"};
#define NCOLOURS (sizeof(colours) / sizeof(colours[0]))

/* Where the values of a panel are: the picture's points from the axes' ends. */
typedef struct frame {
    double first, last; /* log2 of the sizes */
    double low, high;   /* of the values; their log10 where logarithmic */
    bool logarithmic;
    double top, bottom;
} frame_t;

static double x_of(const frame_t *f, double log_bytes)
{
    double span = f->last > f->first ? f->last - f->first : 1;

    return LEFT + (log_bytes - f->first) / span * (WIDTH - LEFT - RIGHT);
}

static double y_of(const frame_t *f, double value)
{
    double v = f->logarithmic ? log10(value) : value;

    return f->bottom - (v - f->low) / (f->high - f->low) * (f->bottom - f->top);
}

/* --- what there is ---------------------------------------------------------------------------- */

static bool has(const chart_t *c, const chart_curve_t *curve, int i)
{
    return c->bytes[i] > 0 && curve->y[i] > 0 && isfinite(curve->y[i]);
}

/* From 0 to a little above the highest value; logarithmic: whole decades around all. */
static void span_values(const chart_t *c, const chart_panel_t *p, frame_t *f)
{
    double least = INFINITY, most = p->limit;

    for (int k = 0; k < p->ncurves; k++)
        for (int i = 0; i < c->n; i++)
            if (has(c, &p->curve[k], i)) {
                least = fmin(least, p->curve[k].y[i]);
                most = fmax(most, p->curve[k].y[i]);
            }
    f->logarithmic = p->logarithmic;
    if (!f->logarithmic) {
        f->low = 0;
        f->high = fmax(most, 1e-3) * 1.05;
        return;
    }
    f->low = isfinite(least) ? floor(log10(least)) : 0;
    f->high = most > 0 ? ceil(log10(most)) : 1;
    if (f->high <= f->low)
        f->high = f->low + 1;
}

static void span_sizes(const chart_t *c, frame_t *f)
{
    f->first = INFINITY;
    f->last = 0;
    for (int i = 0; i < c->n; i++)
        if (c->bytes[i]) {
            f->first = fmin(f->first, log2((double)c->bytes[i]));
            f->last = fmax(f->last, log2((double)c->bytes[i]));
        }
    if (f->first > f->last)
        f->first = f->last;
}

/* --- marks on paper --------------------------------------------------------------------------- */

static void text(FILE *out, double x, double y, const char *anchor, const char *what)
{
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (; *what; what++) /* a synthetic line, or a path with anything in it */
        if (*what == '<' || *what == '>' || *what == '&')
            fprintf(out, "&#%d;", *what);
        else if ((unsigned char)*what >= ' ')
            fputc(*what, out);
    fprintf(out, "</text>\n");
}

static void line(FILE *out, double x1, double y1, double x2, double y2, const char *style)
{
    fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"%s/>\n", x1, y1, x2, y2,
            style);
}

/* A disc, a square, a diamond or a triangle. */
static void mark(FILE *out, int shape, double x, double y)
{
    if (shape % 4 == 0)
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\"/>\n", x, y);
    else if (shape % 4 == 1)
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\"/>\n", x - 3, y - 3);
    else if (shape % 4 == 2)
        fprintf(out, "<path d=\"M%.1f %.1fl4 4-4 4-4-4z\"/>\n", x, y - 4);
    else
        fprintf(out, "<path d=\"M%.1f %.1fl4 7h-8z\"/>\n", x, y - 4);
}

/* --- axes ------------------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, so that there are 4 to 10 lines up to @most. */
static double line_step(double most)
{
    double ten = pow(10, floor(log10(most / 4)));

    return most / 4 >= 5 * ten ? 5 * ten : most / 4 >= 2 * ten ? 2 * ten : ten;
}

static void value_line(FILE *out, const frame_t *f, double value)
{
    char label[32];

    snprintf(label, sizeof(label), "%g", value);
    line(out, LEFT, y_of(f, value), WIDTH - RIGHT, y_of(f, value), " stroke=\"#d0d0d0\"");
    text(out, LEFT - 6, y_of(f, value) + 4, "end", label);
}

static void value_axis(FILE *out, const frame_t *f, const char *unit)
{
    double step = f->logarithmic ? 1 : line_step(f->high);

    for (double v = f->low; v <= f->high + step * 1e-6; v += step)
        value_line(out, f, f->logarithmic ? pow(10, v) : v);
    text(out, LEFT, f->top - 10, "middle", unit);
}

/* Lines at powers of two, so many that their labels have room. */
static void size_axis(FILE *out, const frame_t *f, const char *what)
{
    static const char units[] = " KMGTPE";
    int first = (int)ceil(f->first), last = (int)floor(f->last);
    int step = (last - first) / LABELS_MAX + 1;
    char label[32];

    for (int k = first; k <= last && k < 64; k += step) {
        if (what)
            snprintf(label, sizeof(label), "%llu", 1ull << k);
        else
            snprintf(label, sizeof(label), "%d%.1s", 1 << k % 10, k >= 10 ? &units[k / 10] : "");
        line(out, x_of(f, k), f->top, x_of(f, k), f->bottom, " stroke=\"#d0d0d0\"");
        text(out, x_of(f, k), f->bottom + 18, "middle", label);
    }
    text(out, (LEFT + WIDTH - RIGHT) / 2.0, f->bottom + 38, "middle",
         what ? what : "bytes of a rank's message");
}

/* --- curves ----------------------------------------------------------------------------------- */

/* A polyline for each run of sizes that are known: one alone has its mark only. */
static void curve(FILE *out, const chart_t *c, const chart_curve_t *v, const frame_t *f, int nth)
{
    const char *colour = colours[(size_t)nth % NCOLOURS];
    double key = f->top + 20 + 20 * nth;

    for (int i = 0; i < c->n; i++) {
        if (!has(c, v, i))
            continue;
        fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" points=\"", colour,
                v->faint ? "1" : "2");
        for (; i < c->n && has(c, v, i); i++)
            fprintf(out, "%.1f,%.1f ", x_of(f, log2((double)c->bytes[i])), y_of(f, v->y[i]));
        fprintf(out, "\"/>\n");
    }
    fprintf(out, "<g fill=\"%s\">\n", colour);
    for (int i = 0; i < c->n; i++)
        if (has(c, v, i))
            mark(out, nth, x_of(f, log2((double)c->bytes[i])), y_of(f, v->y[i]));
    mark(out, nth, WIDTH - RIGHT + 24, key - 4);
    fprintf(out, "</g>\n");
    text(out, WIDTH - RIGHT + 36, key, "start", v->name);
}

static void limit(FILE *out, const chart_panel_t *p, const frame_t *f)
{
    const char *style = " stroke=\"#808080\" stroke-width=\"1.5\" stroke-dasharray=\"6 4\"";
    double key = f->top + 20 + 20 * p->ncurves;

    line(out, LEFT, y_of(f, p->limit), WIDTH - RIGHT, y_of(f, p->limit), style);
    line(out, WIDTH - RIGHT + 16, key - 4, WIDTH - RIGHT + 32, key - 4, style);
    text(out, WIDTH - RIGHT + 36, key, "start", p->limit_name ? p->limit_name : "limit");
}

static void panel(FILE *out, const chart_t *c, int nth)
{
    const chart_panel_t *p = &c->panel[nth];
    frame_t f = {.top = TOP + nth * PANEL, .bottom = (nth + 1) * PANEL - BOTTOM + 20};

    span_sizes(c, &f);
    span_values(c, p, &f);
    value_axis(out, &f, p->unit);
    size_axis(out, &f, c->axis);
    if (p->limit > 0)
        limit(out, p, &f);
    for (int faint = 1; faint >= 0; faint--) /* what matters lies on top */
        for (int k = 0; k < p->ncurves; k++)
            if (p->curve[k].faint == (bool)faint)
                curve(out, c, &p->curve[k], &f, k);
    text(out, WIDTH - RIGHT + 16, f.top, "start", p->what);
}

void chart_svg(const chart_t *c, FILE *out)
{
    int height = c->npanels * PANEL + 20;

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, height, WIDTH, height);
    text(out, LEFT, 22, "start", c->title);
    for (int i = 0; i < c->npanels; i++)
        panel(out, c, i);
    fprintf(out, "</svg>\n");
}
