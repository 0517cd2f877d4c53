/* tools/plan/svg.c - the sweep as a picture: plain SVG 1.1, no scripts, fonts or links
 *
 *     title
 *     GB/s ^   ___ island      colours that people with a weak sense of colour can tell apart, and
 *          |  /___ ring        each curve a mark of its own
 *          +------------> bytes, logarithmic
 */
#include <math.h>

#include "runtime/tools/plan/sweep.h"

#define WIDTH 760
#define HEIGHT 440
#define LEFT 60
#define RIGHT 150
#define TOP 50
#define BOTTOM 50

static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73",
                                      "#cc79a7", "#000000", "#e69f00"};
#define NCOLOURS (sizeof(colours) / sizeof(colours[0]))

static double x_of(int i)
{
    return LEFT + (double)i * (WIDTH - LEFT - RIGHT) / (SWEEP_SIZES - 1);
}

static double y_of(double value, double most)
{
    return HEIGHT - BOTTOM - value / most * (HEIGHT - TOP - BOTTOM);
}

/* 1, 2 or 5 times a power of ten, so that there are 4 to 10 lines up to @most. */
static double line_step(double most)
{
    double ten = pow(10, floor(log10(most / 4)));

    return most / 4 >= 5 * ten ? 5 * ten : most / 4 >= 2 * ten ? 2 * ten : ten;
}

static double highest(const sweep_t *s)
{
    double most = 1e-3;

    for (int i = 0; i < SWEEP_SIZES; i++)
        for (int k = 0; k < PIPC__PLAN_KINDS; k++)
            if (s->has[k] && s->row[i].busbw[k] > most)
                most = s->row[i].busbw[k];
    return most * 1.05;
}

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

static void grid(FILE *out, double most)
{
    double step = line_step(most);
    char label[32];

    fprintf(out, "<g stroke=\"#d0d0d0\">\n");
    for (double v = 0; v <= most; v += step)
        fprintf(out, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>\n", LEFT, y_of(v, most),
                WIDTH - RIGHT, y_of(v, most));
    for (int i = 0; i < SWEEP_SIZES; i += 2)
        fprintf(out, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n", x_of(i), TOP, x_of(i),
                HEIGHT - BOTTOM);
    fprintf(out, "</g>\n");
    for (double v = 0; v <= most; v += step) {
        snprintf(label, sizeof(label), "%g", v);
        text(out, LEFT - 6, y_of(v, most) + 4, "end", label);
    }
    for (int i = 0; i < SWEEP_SIZES; i += 2)
        text(out, x_of(i), HEIGHT - BOTTOM + 18, "middle",
             plan_size_text((size_t)1 << (SWEEP_FIRST + i), label));
    text(out, LEFT, TOP - 10, "middle", "GB/s");
    text(out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, "middle", "bytes of a rank's message");
}

/* A disc, a square or a diamond. */
static void mark(FILE *out, int shape, double x, double y)
{
    if (shape % 3 == 0)
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\"/>\n", x, y);
    else if (shape % 3 == 1)
        fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\"/>\n", x - 3, y - 3);
    else
        fprintf(out, "<path d=\"M%.1f %.1fl4 4-4 4-4-4z\"/>\n", x, y - 4);
}

static void curve(FILE *out, const sweep_t *s, int kind, int nth, double most)
{
    const char *colour = colours[(size_t)nth % NCOLOURS];
    double y = TOP + 20 + 22 * nth;

    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
    for (int i = 0; i < SWEEP_SIZES; i++)
        fprintf(out, "%.1f,%.1f ", x_of(i), y_of(s->row[i].busbw[kind], most));
    fprintf(out, "\"/>\n<g fill=\"%s\">\n", colour);
    for (int i = 0; i < SWEEP_SIZES; i++)
        mark(out, nth, x_of(i), y_of(s->row[i].busbw[kind], most));
    mark(out, nth, WIDTH - RIGHT + 24, y - 4);
    fprintf(out, "</g>\n");
    text(out, WIDTH - RIGHT + 36, y, "start", pipc__plan_name((pipc__plan_kind_t)kind));
}

void sweep_svg(const sweep_t *s, const char *title, FILE *out)
{
    double most = highest(s);
    int nth = 0;

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    text(out, LEFT, 22, "start", title);
    grid(out, most);
    for (int k = 0; k < PIPC__PLAN_KINDS; k++)
        if (s->has[k])
            curve(out, s, k, nth++, most);
    text(out, WIDTH - RIGHT + 24, TOP + 4, "start", "predicted busbw");
    fprintf(out, "</svg>\n");
}
