/* tests/fuzz/health_baseline.c - a baseline: what is read is written as the same, and judged
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prolog/judge_baseline.h"

static void never(void *arg, const char *object, const char *what)
{
    (void)arg;
    (void)object;
    (void)what;
    abort();
}

static char *printed(const pipc__baseline_t *b)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    pipc__baseline_print(b, f);
    fclose(f);
    return text;
}

/* A baseline differs in nothing from what is read of its own text. */
static void there_and_back(const pipc__baseline_t *b)
{
    char *text = printed(b), *again;
    pipc__baseline_t same;

    if (pipc__baseline_parse("again", text, &same, NULL))
        abort();
    pipc__baseline_diff(b, &same, never, NULL);
    again = printed(&same);
    if (strcmp(text, again) != 0)
        abort();
    free(again);
    free(text);
    pipc__baseline_free(&same);
}

static void judge(const pipc__baseline_t *b)
{
    pipc__fact_t dev[2] = {
        {.name = "0000:40:01.0",
         .parent = -1,
         .vendor = 0x8086,
         .device = 1,
         .link = {4, 16, 32000, 8, 2500, 32000, 0, -1, 0},
         .more = {.acs = 0, .bar = -1, .bar_max = -1}},
        {.name = "0000:41:00.0",
         .gpu = true,
         .vendor = 0x10de,
         .device = 0x2330,
         .link = {0, 16, 32000, 8, 2500, 32000, 0, -1, 0},
         .more = {.acs = -1, .bar = 1 << 28, .bar_max = -1}},
    };
    pipc__facts_t facts = {.dev = dev, .n = 2, .bios = "1"};
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t found = {.n = 0};

    pipc__judge_baseline(&facts, &limits, b, PIPC__LOOK_ALL, &found, NULL);
    pipc__findings_free(&found);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char *text = malloc(size + 1);
    pipc__baseline_t b;

    memcpy(text, data, size);
    text[size] = '\0';
    if (!pipc__baseline_parse("fuzz", text, &b, NULL)) {
        there_and_back(&b);
        judge(&b);
    }
    pipc__baseline_free(&b);
    free(text);
    return 0;
}
