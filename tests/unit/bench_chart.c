/* tests/unit/bench_chart.c - charts: gaps, a lone size, values without a place, names with anything
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/tools/chart.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define SIZES 5

static const size_t sizes[SIZES] = {0, 8, 64, 512, 4096};

static int count(const char *text, const char *what)
{
    int n = 0;

    while ((text = strstr(text, what))) {
        n++;
        text += strlen(what);
    }
    return n;
}

/* The picture as text, which the caller frees. */
static char *picture(const chart_t *c)
{
    char *text = NULL;
    size_t length;
    FILE *f = open_memstream(&text, &length);

    assert_non_null(f);
    chart_svg(c, f);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* Whatever is drawn: one document, all that is opened is closed, no number that is none. */
static void assert_sound(const char *svg)
{
    assert_int_equal(strncmp(svg, "<svg ", 5), 0);
    assert_string_equal(svg + strlen(svg) - 7, "</svg>\n");
    assert_int_equal(count(svg, "<text"), count(svg, "</text>"));
    assert_int_equal(count(svg, "<g "), count(svg, "</g>"));
    assert_null(strstr(svg, "\"nan"));
    assert_null(strstr(svg, "nan,"));
    assert_null(strstr(svg, "inf"));
}

static void what_is_not_known_is_a_gap(void **state)
{
    static const struct {
        double y[SIZES];
        int n, lines, marks; /* one mark more is the one beside the name */
    } cases[] = {
        {{1, 2, 3, 4, 5}, SIZES, 1, 4}, /* 0 bytes have no place */
        {{1, 2, 0, 4, 5}, SIZES, 2, 3},
        {{1, 2, NAN, INFINITY, 5}, SIZES, 2, 2},
        {{0, 0, 0, 0, 0}, SIZES, 0, 0},
        {{1, 2}, 2, 1, 1}, /* one size */
        {{1}, 1, 0, 0},    /* which is 0 bytes */
    };

    (void)state;
    for (int logarithmic = 0; logarithmic < 2; logarithmic++)
        for (size_t i = 0; i < COUNT(cases); i++) {
            chart_t c = {.title = "t", .n = cases[i].n, .bytes = sizes, .npanels = 1};
            c.panel[0] =
                (chart_panel_t){.unit = "u", .what = "w", .logarithmic = logarithmic, .ncurves = 1};
            c.panel[0].curve[0] = (chart_curve_t){"one", cases[i].y, false};
            char *svg = picture(&c);
            assert_sound(svg);
            assert_int_equal(count(svg, "<polyline"), cases[i].lines);
            assert_int_equal(count(svg, "<circle"), cases[i].marks + 1);
            free(svg);
        }
}

static void names_may_hold_anything(void **state)
{
    static const double y[SIZES] = {1, 1, 1, 1, 1};
    chart_t c = {.title = "a<b & \x01 c>", .n = SIZES, .bytes = sizes, .npanels = 1};

    (void)state;
    c.panel[0] = (chart_panel_t){.unit = "u", .what = "w", .ncurves = 1};
    c.panel[0].curve[0] = (chart_curve_t){"</text>", y, false};
    char *svg = picture(&c);
    assert_sound(svg);
    assert_non_null(strstr(svg, ">a&#60;b &#38;  c&#62;<"));
    assert_non_null(strstr(svg, ">&#60;/text&#62;<"));
    free(svg);
}

/* A limit above all values is inside the picture, and drawn in its panel alone. */
static void the_limit_is_in_the_picture(void **state)
{
    static const double y[SIZES] = {1, 1, 2, 3, 4};
    chart_t c = {.title = "t", .n = SIZES, .bytes = sizes, .npanels = 2};

    (void)state;
    for (int i = 0; i < 2; i++) {
        c.panel[i] = (chart_panel_t){.unit = "u", .what = "w", .ncurves = 1};
        c.panel[i].curve[0] = (chart_curve_t){"one", y, true};
    }
    char *without = picture(&c);
    c.panel[0].limit = 40;
    c.panel[0].limit_name = "wire";
    char *with = picture(&c);
    assert_sound(with);
    assert_int_equal(count(without, "stroke-dasharray"), 0);
    assert_int_equal(count(with, "stroke-dasharray"), 2);
    assert_int_equal(count(with, ">wire<"), 1);
    assert_int_equal(count(with, ">40<"), 1);
    assert_int_equal(count(without, ">40<"), 0);
    free(with);
    free(without);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_known_is_a_gap),
        cmocka_unit_test(names_may_hold_anything),
        cmocka_unit_test(the_limit_is_in_the_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
