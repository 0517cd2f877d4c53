/* tests/unit/health.c - the gate's judgement in tables: facts in, codes out
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prolog/judge.h"
#include "prolog/output.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DEVICES 8

enum { EP = 0, LEGACY = 1, ROOT = 4, UP = 5, DOWN = 6, RC = 9, ANY = -1 };
enum { NVIDIA = 0x10de, AMD = 0x1002, PLX = 0x10b5, INTEL = 0x8086 };

/* A device in short: its port type, what its link can do and does (lanes and generation, 0:
 * unknown), and what sets it apart. Each stands below the one before it, unless it says where. */
typedef struct device {
    int port, vendor, max_width, max_gen, width, gen;
    bool gpu;
    int target, aspm; /* generation, 0: unknown; ASPM: 0 off, -1 unknown */
    pipc__answer_t answer;
    int at;        /* 1 + index of the parent; 0: the device before; -1: none */
    int equalized; /* 1: no, 2: yes, 0: unknown */
} device_t;

typedef struct judged {
    const char *name;
    bool vm;
    device_t dev[DEVICES]; /* ends with a max_width of 0 and an answer that is ANSWERS */
    int n;
    const char *verdict,
        *codes; /* "1:PCI001 0:PCI005": index of the device and code, worst first */
} judged_t;

static int mts(int gen)
{
    static const int of[] = {-1, 2500, 5000, 8000, 16000, 32000};

    return of[gen];
}

static int known(int n)
{
    return n ? n : -1;
}

static pipc__fact_t fact(const device_t *d, int i)
{
    pipc__fact_t f = {.parent = d->at ? d->at - 1 : i - 1,
                      .gpu = d->gpu,
                      .vendor = d->vendor,
                      .device = 1,
                      .answer = d->answer,
                      .link = {d->port, known(d->max_width), mts(d->max_gen), known(d->width),
                               mts(d->gen), mts(d->target), d->aspm, d->equalized - 1}};

    if (d->at < 0)
        f.parent = -1;
    snprintf(f.name, sizeof(f.name), "%d", i);
    return f;
}

/* "1:PCI001 0:PCI005", in the order of the findings */
static void list_codes(const pipc__findings_t *found, char *out, size_t cap)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < found->n && used < cap; i++)
        used += (size_t)snprintf(out + used, cap - used, "%s%s:%s", i ? " " : "",
                                 found->list[i].object, pipc__codes[found->list[i].code].name);
}

static void judge_case(const judged_t *c)
{
    pipc__fact_t dev[DEVICES];
    pipc__facts_t facts = {.dev = dev, .n = c->n, .virtual_machine = c->vm};
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t found;
    char codes[512];

    for (int i = 0; i < c->n; i++)
        dev[i] = fact(&c->dev[i], i);
    assert_int_equal(pipc__judge(&facts, &limits, &found, NULL), PIPC_OK);
    list_codes(&found, codes, sizeof(codes));
    if (strcmp(codes, c->codes) || strcmp(pipc__severity_name(found.verdict), c->verdict))
        fail_msg("%s: is %s with \"%s\", wanted %s with \"%s\"", c->name,
                 pipc__severity_name(found.verdict), codes, c->verdict, c->codes);
    pipc__findings_free(&found);
}

/* A root port and a GPU, both x16 Gen4; the last arguments are what the link does */
#define PORT(w, g)                                                                                 \
    {                                                                                              \
        .port = ROOT, .vendor = INTEL, .max_width = 16, .max_gen = 4, .width = w, .gen = g         \
    }
#define CARD(w, g)                                                                                 \
    {                                                                                              \
        .port = EP, .vendor = NVIDIA, .max_width = 16, .max_gen = 4, .width = w, .gen = g,         \
        .gpu = true                                                                                \
    }

static const judged_t table[] = {
    {"healthy", false, {PORT(16, 4), CARD(16, 4)}, 2, "ok", ""},
    {"idle at Gen1", false, {PORT(16, 1), CARD(16, 1)}, 2, "note", "1:PCI003"},
    {"idle, read while it trains", false, {PORT(16, 1), CARD(16, 4)}, 2, "note", "1:PCI003"},
    {"width lost", false, {PORT(8, 4), CARD(8, 4)}, 2, "drain", "1:PCI001"},
    {"width lost, idle", false, {PORT(8, 1), CARD(8, 1)}, 2, "drain", "1:PCI001 1:PCI003"},
    {"width lost, the GPU is in training", false, {PORT(4, 4), CARD(0, 0)}, 2, "drain", "1:PCI001"},
    {"width lost, the port does not say", false, {PORT(0, 0), CARD(8, 4)}, 2, "drain", "1:PCI001"},
    {"the ends differ", false, {PORT(8, 4), CARD(16, 4)}, 2, "unknown", "1:PCI008"},
    {"the ends differ, in a virtual machine",
     true,
     {PORT(1, 1), CARD(16, 4)},
     2,
     "unknown",
     "1:PCI008 1:PCI003"},
    {"narrow in a virtual machine", true, {PORT(8, 4), CARD(8, 4)}, 2, "unknown", "1:PCI008"},
    {"no width at either end", false, {PORT(0, 0), CARD(0, 0)}, 2, "unknown", "1:PCI009"},
    {"a port with few lanes",
     false,
     {{.port = ROOT, .max_width = 8, .max_gen = 4, .width = 8, .gen = 4}, CARD(8, 4)},
     2,
     "note",
     "1:PCI006"},
    {"a slot of an older generation",
     false,
     {{.port = ROOT, .max_width = 16, .max_gen = 3, .width = 16, .gen = 3}, CARD(16, 3)},
     2,
     "note",
     "1:PCI006"},
    {"a slot with one Gen2 lane",
     false,
     {{.port = ROOT, .max_width = 1, .max_gen = 2, .width = 1, .gen = 2}, CARD(1, 2)},
     2,
     "warn",
     "1:PCI007"},
    {"an eighth by design",
     false,
     {{.port = ROOT, .max_width = 2, .max_gen = 4, .width = 2, .gen = 4}, CARD(2, 4)},
     2,
     "note",
     "1:PCI006"},
    {"an emulated port with one Gen1 lane",
     true,
     {{.port = ROOT, .max_width = 1, .max_gen = 1, .width = 1, .gen = 1}, CARD(16, 4)},
     2,
     "ok",
     ""},
    {"a small card in a large slot",
     false,
     {PORT(8, 4), {.port = EP, .max_width = 8, .max_gen = 4, .width = 8, .gen = 4, .gpu = true}},
     2,
     "ok",
     ""},
    {"the site fixed Gen3",
     false,
     {{.port = ROOT, .max_width = 16, .max_gen = 4, .width = 16, .gen = 3, .target = 3},
      CARD(16, 3)},
     2,
     "note",
     "0:PCI004"},
    {"the site fixed Gen3, idle",
     false,
     {{.port = ROOT, .max_width = 16, .max_gen = 4, .width = 16, .gen = 1, .target = 3},
      CARD(16, 1)},
     2,
     "note",
     "1:PCI003 0:PCI004"},
    {"ASPM at the card",
     false,
     {PORT(16, 4),
      {.port = EP, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4, .gpu = true, .aspm = 2}},
     2,
     "warn",
     "1:PCI005"},
    {"ASPM at the port",
     false,
     {{.port = ROOT, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4, .aspm = 1}, CARD(16, 4)},
     2,
     "warn",
     "0:PCI005"},
    {"ASPM in a virtual machine",
     true,
     {{.port = EP, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4, .gpu = true, .aspm = 3}},
     1,
     "note",
     "0:PCI005 0:PCI011"},
    {"lost",
     false,
     {PORT(0, 0), {.answer = PIPC__LOST, .gpu = true, .port = ANY}},
     2,
     "drain",
     "1:PCI002"},
    {"lost with the port above it",
     false,
     {PORT(0, 0),
      {.answer = PIPC__LOST, .port = ANY},
      {.answer = PIPC__LOST, .gpu = true, .port = ANY}},
     3,
     "drain",
     "1:PCI002"},
    {"lost in a virtual machine",
     true,
     {{.answer = PIPC__LOST, .gpu = true, .port = ANY}},
     1,
     "drain",
     "0:PCI002"},
    {"asleep",
     false,
     {PORT(0, 0), {.answer = PIPC__ASLEEP, .gpu = true, .port = ANY}},
     2,
     "unknown",
     "1:PCI010"},
    {"64 bytes: the links by their files",
     false,
     {{.port = ANY, .max_width = 16, .max_gen = 3, .width = 16, .gen = 3, .aspm = -1},
      {.port = ANY, .max_width = 16, .max_gen = 3, .width = 16, .gen = 3, .gpu = true, .aspm = -1}},
     2,
     "note",
     "1:PCI012"},
    {"64 bytes: width lost",
     false,
     {{.port = ANY, .max_width = 16, .max_gen = 3, .width = 8, .gen = 3, .aspm = -1},
      {.port = ANY, .max_width = 16, .max_gen = 3, .width = 8, .gen = 3, .gpu = true, .aspm = -1}},
     2,
     "drain",
     "1:PCI001 1:PCI012"},
    {"a GPU alone, all its lanes", false, {CARD(16, 1)}, 1, "note", "0:PCI011 0:PCI003"},
    {"a GPU alone, narrow: in what slot?", false, {CARD(4, 1)}, 1, "unknown", "0:PCI008 0:PCI003"},
    {"a GPU alone that never trained, beside one that did",
     false,
     {{.port = EP,
       .vendor = NVIDIA,
       .max_width = 16,
       .max_gen = 4,
       .width = 4,
       .gen = 1,
       .gpu = true,
       .equalized = 1},
      {.port = EP,
       .vendor = NVIDIA,
       .max_width = 16,
       .max_gen = 4,
       .width = 16,
       .gen = 4,
       .gpu = true,
       .at = -1}},
     2,
     "drain",
     "0:PCI001 0:PCI003 1:PCI011"},
    {"... at 5 GT/s, where no link is equalized: its slot can do no more",
     false,
     {{.port = EP,
       .vendor = NVIDIA,
       .max_width = 16,
       .max_gen = 4,
       .width = 4,
       .gen = 2,
       .gpu = true,
       .equalized = 1},
      {.port = EP,
       .vendor = NVIDIA,
       .max_width = 16,
       .max_gen = 4,
       .width = 16,
       .gen = 4,
       .gpu = true,
       .at = -1}},
     2,
     "unknown",
     "0:PCI008 0:PCI003 1:PCI011"},
    {"... that has trained, and is in a narrow slot",
     false,
     {{.port = EP,
       .vendor = NVIDIA,
       .max_width = 16,
       .max_gen = 4,
       .width = 4,
       .gen = 4,
       .gpu = true,
       .equalized = 2},
      {.port = EP,
       .vendor = NVIDIA,
       .max_width = 16,
       .max_gen = 4,
       .width = 16,
       .gen = 4,
       .gpu = true,
       .at = -1}},
     2,
     "unknown",
     "0:PCI008 1:PCI011"},
    {"a GPU alone without link facts, in a virtual machine",
     true,
     {{.port = ANY, .gpu = true, .aspm = -1}},
     1,
     "unknown",
     "0:PCI009 0:PCI012"},
    {"a GPU in the CPU", false, {{.port = RC, .gpu = true}}, 1, "ok", ""},
    {"a switch: the uplink lost lanes",
     false,
     {PORT(8, 4),
      {.port = UP, .vendor = PLX, .max_width = 16, .max_gen = 4, .width = 8, .gen = 4},
      {.port = DOWN, .vendor = PLX, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4},
      CARD(16, 4)},
     4,
     "drain",
     "1:PCI001"},
    {"a switch: inside it there is no link",
     false,
     {PORT(16, 4),
      {.port = UP, .vendor = PLX, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4},
      {.port = DOWN, .vendor = PLX, .max_width = 16, .max_gen = 4, .width = 8, .gen = 4},
      {.port = EP, .max_width = 8, .max_gen = 4, .width = 8, .gen = 4, .gpu = true}},
     4,
     "ok",
     ""},
    {"the same with 64 bytes",
     false,
     {{.port = ANY, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4, .aspm = -1},
      {.port = ANY, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4, .aspm = -1},
      {.port = ANY, .max_width = 16, .max_gen = 4, .width = 8, .gen = 4, .aspm = -1},
      {.port = ANY, .max_width = 8, .max_gen = 4, .width = 8, .gen = 4, .gpu = true, .aspm = -1}},
     4,
     "note",
     "3:PCI012"},
    {"the switch of a card, with 64 bytes",
     false,
     {{.port = ANY,
       .vendor = INTEL,
       .max_width = 16,
       .max_gen = 4,
       .width = 16,
       .gen = 4,
       .aspm = -1},
      {.port = ANY,
       .vendor = AMD,
       .max_width = 16,
       .max_gen = 4,
       .width = 16,
       .gen = 4,
       .aspm = -1},
      {.port = ANY, .vendor = AMD, .max_width = 16, .max_gen = 4, .width = 1, .gen = 1, .aspm = -1},
      {.port = ANY,
       .vendor = AMD,
       .max_width = 16,
       .max_gen = 4,
       .width = 1,
       .gen = 1,
       .gpu = true,
       .aspm = -1}},
     4,
     "note",
     "3:PCI012"},
    {"the switch of a card: what is inside it may say anything",
     false,
     {PORT(16, 4),
      {.port = UP, .vendor = AMD, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4},
      {.port = DOWN, .vendor = AMD, .max_width = 16, .max_gen = 4, .width = 1, .gen = 1},
      {.port = LEGACY,
       .vendor = AMD,
       .max_width = 16,
       .max_gen = 4,
       .width = 1,
       .gen = 1,
       .gpu = true}},
     4,
     "ok",
     ""},
    {"the switch of a card: ASPM on the whole way",
     false,
     {{.port = ROOT, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4, .aspm = 2},
      {.port = UP, .vendor = AMD, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4, .aspm = 2},
      {.port = DOWN,
       .vendor = AMD,
       .max_width = 16,
       .max_gen = 4,
       .width = 16,
       .gen = 4,
       .aspm = 2},
      {.port = LEGACY,
       .vendor = AMD,
       .max_width = 16,
       .max_gen = 4,
       .width = 16,
       .gen = 4,
       .gpu = true,
       .aspm = 2}},
     4,
     "warn",
     "0:PCI005 1:PCI005 2:PCI005 3:PCI005"},
    {"the switch of a card, its port not in view",
     false,
     {{.port = UP, .vendor = AMD, .max_width = 16, .max_gen = 4, .width = 1, .gen = 4},
      {.port = DOWN, .vendor = AMD, .max_width = 16, .max_gen = 4, .width = 16, .gen = 4},
      {.port = LEGACY,
       .vendor = AMD,
       .max_width = 16,
       .max_gen = 4,
       .width = 16,
       .gen = 4,
       .gpu = true}},
     3,
     "unknown",
     "0:PCI008"},
    {"two GPUs, one narrow: worst first",
     false,
     {PORT(16, 1),
      CARD(16, 1),
      {.port = ROOT,
       .vendor = INTEL,
       .max_width = 16,
       .max_gen = 4,
       .width = 8,
       .gen = 4,
       .at = -1},
      CARD(8, 4)},
     4,
     "drain",
     "3:PCI001 1:PCI003"},
    {"no GPU", false, {PORT(16, 4)}, 0, "note", "node:PCI013"},
};

static void verdicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        judge_case(&table[i]);
}

/* The limits say how bad a code is; ok takes it out. */
static void limits_change_severities(void **state)
{
    device_t d[] = {PORT(8, 4), CARD(8, 4)};
    pipc__fact_t dev[] = {fact(&d[0], 0), fact(&d[1], 1)};
    pipc__facts_t facts = {.dev = dev, .n = 2};
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t found;

    (void)state;
    limits.severity[PIPC__CODE_WIDTH] = PIPC__WARN;
    assert_int_equal(pipc__judge(&facts, &limits, &found, NULL), PIPC_OK);
    assert_int_equal(found.verdict, PIPC__WARN);
    pipc__findings_free(&found);
    limits.severity[PIPC__CODE_WIDTH] = PIPC__OK;
    assert_int_equal(pipc__judge(&facts, &limits, &found, NULL), PIPC_OK);
    assert_int_equal(found.n, 0);
    pipc__findings_free(&found);
}

static void findings_survive_json(void **state)
{
    device_t d[] = {PORT(8, 1), CARD(8, 1)};
    pipc__fact_t dev[] = {fact(&d[0], 0), fact(&d[1], 1)};
    pipc__facts_t facts = {.dev = dev, .n = 2};
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t found, again;

    (void)state;
    assert_int_equal(pipc__judge(&facts, &limits, &found, NULL), PIPC_OK);
    json_t *json = pipc__findings_to_json(&found);
    assert_true(pipc__findings_from_json(json, &again));
    assert_int_equal(again.n, found.n);
    assert_memory_equal(&again.list[0], &found.list[0], sizeof(found.list[0]));
    pipc__findings_free(&again);

    /* What was not written by us is not believed. */
    json_object_set_new(json, "verdict", json_string("ok"));
    assert_false(pipc__findings_from_json(json, &again));
    pipc__findings_free(&again);
    json_object_set_new(json, "schema", json_integer(2));
    assert_false(pipc__findings_from_json(json, &again));
    pipc__findings_free(&again);
    json_decref(json);
    pipc__findings_free(&found);
}

static void a_line_names_object_seen_expected_and_remedy(void **state)
{
    device_t d[] = {PORT(8, 4), CARD(8, 4)};
    pipc__fact_t dev[] = {fact(&d[0], 0), fact(&d[1], 1)};
    pipc__facts_t facts = {.dev = dev, .n = 2};
    pipc__limits_t limits = pipc__limits_default();
    pipc__findings_t found;
    char *text = NULL;
    size_t size;

    (void)state;
    assert_int_equal(pipc__judge(&facts, &limits, &found, NULL), PIPC_OK);
    FILE *f = open_memstream(&text, &size);
    pipc__findings_print(&found, PIPC__WARN, f);
    fclose(f);
    assert_string_equal(text,
                        "pcie-ipc: 1: link is x8, expected x16 by 0 and 1; reseat the card and "
                        "its riser or cable, then replace them in turn (PCI001, drain)\n");
    free(text);
    pipc__findings_free(&found);
}

static void codes_are_numbered_in_order(void **state)
{
    (void)state;
    for (int c = 0; c < PIPC__CODES; c++) {
        const char *name = pipc__codes[c].name;
        assert_int_equal(strlen(name), 6);
        assert_int_equal(strncmp(name, "PCI", 3), 0);
        assert_true(c == 0 || strcmp(pipc__codes[c - 1].name, name) < 0);
        assert_non_null(pipc__codes[c].what);
        assert_non_null(pipc__codes[c].remedy);
    }
    assert_int_equal(pipc__severity_parse("drain"), PIPC__DRAIN);
    assert_int_equal(pipc__severity_parse("dra"), PIPC__SEVERITIES);
    assert_int_equal(pipc__severity_parse(NULL), PIPC__SEVERITIES);
}

/* ---- config space -------------------------------------------------------------------------- */

/* An x16 Gen4 endpoint at x8 Gen1 with L1 on; its capability is the second of two. */
static void make_config(unsigned char c[256])
{
    memset(c, 0, 256);
    c[0x00] = 0xde;
    c[0x06] = 0x10;
    c[0x34] = 0x60;
    c[0x60] = 0x01;
    c[0x61] = 0x78;
    c[0x78] = 0x10;
    c[0x7a] = 0x02;              /* version 2, endpoint */
    c[0x84] = 0x04, c[0x85] = 1; /* LnkCap */
    c[0x88] = 0x02;              /* LnkCtl */
    c[0x8a] = 0x81;              /* LnkSta */
    c[0xa8] = 0x03, c[0xaa] = 2; /* LnkCtl2, LnkSta2 */
}

static void express_registers(void **state)
{
    unsigned char c[256];
    pipc__express_t e;

    (void)state;
    make_config(c);
    e = pipc__express_decode(c, 256);
    assert_int_equal(e.port, 0);
    assert_int_equal(e.max_width, 16);
    assert_int_equal(e.max_mts, 16000);
    assert_int_equal(e.width, 8);
    assert_int_equal(e.mts, 2500);
    assert_int_equal(e.target_mts, 8000);
    assert_int_equal(e.aspm, 2);
    assert_int_equal(e.equalized, 1);

    e = pipc__express_decode(c, 0xa0); /* cut before the second version's registers */
    assert_int_equal(e.width, 8);
    assert_int_equal(e.target_mts, -1);
    c[0x8a] = c[0x8b] = 0xff; /* in training */
    e = pipc__express_decode(c, 256);
    assert_int_equal(e.width, -1);
    assert_int_equal(e.mts, -1);
    make_config(c);
    c[0x7a] = 0x01; /* version 1 has none of these */
    e = pipc__express_decode(c, 256);
    assert_int_equal(e.target_mts, -1);
}

static void express_wrong_input(void **state)
{
    unsigned char c[256];

    (void)state;
    make_config(c);
    c[0x61] = 0x60; /* a loop */
    assert_int_equal(pipc__express_decode(c, 256).port, -1);
    make_config(c);
    c[0x61] = 0xfc; /* ends beyond what there is */
    c[0xfc] = 0x10;
    assert_int_equal(pipc__express_decode(c, 256).port, -1);
    make_config(c);
    c[0x06] = 0; /* says that it has none */
    assert_int_equal(pipc__express_decode(c, 256).port, -1);
    for (size_t n = 0; n <= 256; n++) {
        make_config(c);
        pipc__express_decode(c, n); /* under a sanitizer: reads nothing beyond n */
    }
    assert_int_equal(pipc__express_decode(c, 64).width, -1);
    make_config(c);
    c[0x8a] = 0x01; /* x0 is no width */
    assert_int_equal(pipc__express_decode(c, 256).width, -1);
}

static void all_ones(void **state)
{
    unsigned char c[256];

    (void)state;
    memset(c, 0xff, sizeof(c));
    assert_true(pipc__config_all_ones(c, 256));
    assert_true(pipc__config_all_ones(c, 64));
    assert_false(pipc__config_all_ones(c, 63));
    c[4] = 6; /* a virtual function: ones in its ids only */
    assert_false(pipc__config_all_ones(c, 256));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts),
        cmocka_unit_test(limits_change_severities),
        cmocka_unit_test(findings_survive_json),
        cmocka_unit_test(a_line_names_object_seen_expected_and_remedy),
        cmocka_unit_test(codes_are_numbered_in_order),
        cmocka_unit_test(express_registers),
        cmocka_unit_test(express_wrong_input),
        cmocka_unit_test(all_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
