/* tests/unit/health_counters.c - counters of a machine, and what changed between two looks */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prolog/deltas.h"
#include "tests/unit/health_tree.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define PORT "0000:00:01.0"
#define GPU "0000:01:00.0"

/* ---- reading ------------------------------------------------------------------------------- */

static pipc__counters_t take(void)
{
    pipc__counters_t c;
    pipc__facts_t facts;

    assert_int_equal(pipc__facts_sysfs(&facts, tree, PIPC__LOOK_LINKS, NULL), PIPC_OK);
    assert_int_equal(pipc__counters_take(&facts, tree, &c, NULL), PIPC_OK);
    pipc__facts_free(&facts);
    return c;
}

static const pipc__counter_t *device(const pipc__counters_t *c, const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->dev[i].name, name) == 0)
            return &c->dev[i];
    fail_msg("%s is not there", name);
    return NULL;
}

static void reads_files_of_several_kernels(void **state)
{
    (void)state;
    tree_gpu(1, 16);
    tree_fact(PORT "/" GPU, "aer_dev_correctable",
              "RxErr 3\nBadTLP 2\nBadDLLP 0\nRollover 0\nTimeout 1\nNonFatalErr 7\nCorrIntErr 0\n"
              "HeaderOF 0\nTOTAL_ERR_COR 13\n");
    tree_fact(PORT "/" GPU, "aer_dev_nonfatal",
              "TLP 1\nUnsupReq 4\nCmpltTO 2\nTOTAL_ERR_NONFATAL 7\n");
    tree_fact(PORT, "aer_dev_fatal", "Undefined 0\nDLP 1\nSDES 2\n"); /* and no total */
    tree_fact(PORT, "aer_dev_correctable",
              "RxErr many\n\nBadTLP -1\nTimeout 99999999999999999999\n");
    pipc__counters_t c = take();
    const pipc__counter_t *gpu = device(&c, GPU), *port = device(&c, PORT);
    assert_int_equal(c.n, 2);
    assert_true(gpu->gpu && gpu->link && !port->link);
    assert_int_equal(gpu->width, 16);
    assert_int_equal(gpu->mts, 2500);
    assert_int_equal(gpu->count[PIPC__COUNT_RECEIVER], 3);
    assert_int_equal(gpu->count[PIPC__COUNT_BAD_TLP], 2);
    assert_int_equal(gpu->count[PIPC__COUNT_TIMEOUT], 1);
    assert_int_equal(gpu->count[PIPC__COUNT_UNSUPPORTED], 4);
    assert_int_equal(gpu->count[PIPC__COUNT_NONFATAL], 3);
    assert_int_equal(gpu->count[PIPC__COUNT_FATAL], -1);
    assert_int_equal(port->count[PIPC__COUNT_FATAL], 3);
    assert_int_equal(port->count[PIPC__COUNT_RECEIVER], -1);
    assert_int_equal(port->count[PIPC__COUNT_BAD_TLP], -1);
    assert_false(c.counting);
    pipc__counters_free(&c);
}

/* The kernel was given one root port, and not the other. */
static void each_root_port_counts_or_not(void **state)
{
    (void)state;
    tree_gpu(1, 16);
    tree_gpu(2, 16);
    tree_put("sys/bus/pci_express/drivers/aer/0000:00:02.0:pcie002", "", 0);
    pipc__counters_t c = take();
    assert_true(c.counting);
    assert_false(device(&c, PORT)->counts);
    assert_false(device(&c, GPU)->counts);
    assert_true(device(&c, "0000:00:02.0")->counts);
    assert_true(device(&c, "0000:02:00.0")->counts);
    pipc__counters_free(&c);
}

static void samples_again(void **state)
{
    (void)state;
    tree_gpu(1, 16);
    tree_put("sys/bus/pci_express/drivers/aer/" PORT ":pcie002", "", 0);
    pipc__counters_t c = take();
    assert_true(c.counting);
    tree_fact(PORT "/" GPU, "current_link_width", "8\n"); /* goes before config space */
    tree_fact(PORT "/" GPU, "current_link_speed", "16.0 GT/s PCIe\n");
    pipc__counters_sample(&c, tree);
    assert_int_equal(device(&c, GPU)->width, 8);
    assert_int_equal(device(&c, GPU)->mts, 16000);
    tree_fact(PORT "/" GPU, "power/runtime_status", "suspended\n");
    tree_fact(PORT "/" GPU, "current_link_width", "4\n");
    pipc__counters_sample(&c, tree);
    assert_int_equal(device(&c, GPU)->width, 8); /* it was not asked */
    tree_fact(PORT "/" GPU, "power/runtime_status", "active\n");
    tree_fact(PORT "/" GPU, "current_link_width", "63\n");
    pipc__counters_sample(&c, tree);
    assert_int_equal(device(&c, GPU)->width, -1); /* ones */
    pipc__counters_free(&c);
}

static void json_brings_all_back(void **state)
{
    static const char *const wrong[] = {
        "[]",
        "{\"boot_id\": \"a\", \"uptime\": 1.0, \"time\": 1}",
        "{\"boot_id\": \"a\", \"uptime\": -1.0, \"time\": 1, \"devices\": []}",
        "{\"boot_id\": 7, \"uptime\": 1.0, \"time\": 1, \"devices\": []}",
        "{\"boot_id\": \"a\", \"uptime\": 1.0, \"time\": 1, \"devices\": [{\"name\": \"x\", "
        "\"parent\": 1}]}",
        "{\"boot_id\": \"a\", \"uptime\": 1.0, \"time\": 1, \"devices\": [{\"name\": \"x\", "
        "\"width\": -8}]}",
        "{\"boot_id\": \"a\", \"uptime\": 1.0, \"time\": 1, \"devices\": [{\"name\": \"x\", \"bad "
        "TLP\": 1.5}]}",
        "{\"boot_id\": \"a\", \"uptime\": 1.0, \"time\": 1, \"devices\": [{}]}",
    };

    (void)state;
    tree_gpu(1, 16);
    tree_fact(PORT "/" GPU, "aer_dev_correctable", "BadTLP 2\n");
    pipc__counters_t c = take(), again;
    json_t *json = pipc__counters_to_json(&c);
    assert_true(pipc__counters_from_json(json, &again));
    json_decref(json);
    assert_string_equal(again.boot_id, c.boot_id);
    assert_int_equal(again.time, c.time);
    assert_int_equal(again.n, c.n);
    assert_memory_equal(again.dev, c.dev, sizeof(*c.dev) * (size_t)c.n);
    pipc__counters_free(&again);
    pipc__counters_free(&c);
    for (size_t i = 0; i < COUNT(wrong); i++) {
        json = json_loads(wrong[i], 0, NULL);
        assert_non_null(json);
        if (pipc__counters_from_json(json, &again))
            fail_msg("%s was read", wrong[i]);
        assert_null(again.dev);
        json_decref(json);
    }
}

/* ---- comparing ----------------------------------------------------------------------------- */

#define NONE                                                                                       \
    {                                                                                              \
        -1, -1, -1, -1, -1, -1, -1, -1                                                             \
    }

/* A root port with a GPU and its sound function, as three counters of bad TLPs and one width. */
typedef struct look {
    const char *boot;
    double uptime;
    int port, gpu, sound; /* bad TLPs; -1: no such file */
    int port_width, gpu_width;
    int device;
    bool deaf; /* no AER service */
} look_t;

static void make(pipc__counters_t *c, pipc__counter_t dev[3], const look_t *l)
{
    const int bad[] = {l->port, l->gpu, l->sound};

    memset(c, 0, sizeof(*c));
    snprintf(c->boot_id, sizeof(c->boot_id), "%s", l->boot);
    c->uptime = l->uptime;
    c->counting = !l->deaf;
    c->dev = dev;
    c->n = 3;
    for (int i = 0; i < 3; i++) {
        const pipc__counter_t d = {
            .parent = i ? 0 : -1, .link = i > 0, .gpu = i == 1, .counts = !l->deaf, .count = NONE};
        dev[i] = d;
        snprintf(dev[i].name, sizeof(dev[i].name), "%s",
                 i == 0   ? PORT
                 : i == 1 ? GPU
                          : "0000:01:00.1");
        dev[i].count[PIPC__COUNT_BAD_TLP] = bad[i];
        dev[i].device = i ? l->device : 0;
        dev[i].width = i == 0 ? l->port_width : l->gpu_width;
        dev[i].mts = 2500;
    }
}

static const struct {
    const char *name;
    look_t before, after;
    double seconds;
    int bad, width[2];
} cases[] = {
    {"both ends and all functions are added",
     {"a", 10, 1, 2, 3, 16, 16, 0, false},
     {"a", 70, 2, 4, 7, 16, 16, 0, false},
     60,
     7,
     {16, 16}},
    {"nothing grew",
     {"a", 10, 1, 2, 3, 16, 16, 0, false},
     {"a", 70, 1, 2, 3, 16, 16, 0, false},
     60,
     0,
     {16, 16}},
    {"another boot",
     {"a", 10, 1, 2, 3, 16, 16, 0, false},
     {"b", 70, 9, 9, 9, 16, 16, 0, false},
     0,
     -1,
     {16, 16}},
    {"a boot that is not known",
     {"", 10, 1, 2, 3, 16, 16, 0, false},
     {"", 70, 9, 9, 9, 16, 16, 0, false},
     0,
     -1,
     {16, 16}},
    {"a clock that went back",
     {"a", 70, 1, 2, 3, 16, 16, 0, false},
     {"a", 10, 9, 9, 9, 16, 16, 0, false},
     0,
     -1,
     {16, 16}},
    {"a counter that fell",
     {"a", 10, 1, 2, 3, 16, 16, 0, false},
     {"a", 70, 9, 1, 9, 16, 16, 0, false},
     60,
     -1,
     {16, 16}},
    {"another device",
     {"a", 10, 1, 2, 3, 16, 16, 1, false},
     {"a", 70, 9, 9, 9, 16, 16, 2, false},
     60,
     -1,
     {16, 16}},
    {"no counters",
     {"a", 10, -1, -1, -1, 16, 16, 0, false},
     {"a", 70, -1, -1, -1, 16, 16, 0, false},
     60,
     -1,
     {16, 16}},
    {"those of one end",
     {"a", 10, 1, -1, -1, 16, 16, 0, false},
     {"a", 70, 4, -1, -1, 16, 16, 0, false},
     60,
     3,
     {16, 16}},
    {"0 where nobody counts",
     {"a", 10, 0, 0, 0, 16, 16, 0, true},
     {"a", 70, 0, 0, 0, 16, 16, 0, true},
     60,
     -1,
     {16, 16}},
    {"more than 0 was counted",
     {"a", 10, 0, 0, 0, 16, 16, 0, true},
     {"a", 70, 2, 0, 0, 16, 16, 0, true},
     60,
     2,
     {16, 16}},
    {"lanes lost",
     {"a", 10, 1, 2, 3, 16, 16, 0, false},
     {"a", 70, 1, 2, 3, 8, 8, 0, false},
     60,
     0,
     {16, 8}},
    {"the port's word goes first",
     {"a", 10, 1, 2, 3, 16, 16, 0, false},
     {"a", 70, 1, 2, 3, 16, -1, 0, false},
     60,
     0,
     {16, 16}},
    {"the other end's where it says nothing",
     {"a", 10, 1, 2, 3, -1, 16, 0, false},
     {"a", 70, 1, 2, 3, -1, 8, 0, false},
     60,
     0,
     {16, 8}},
};

static void compares(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__counter_t a[3], b[3];
        pipc__counters_t before, after;
        pipc__deltas_t d;
        make(&before, a, &cases[i].before);
        make(&after, b, &cases[i].after);
        assert_int_equal(pipc__deltas(&before, &after, &d, NULL), PIPC_OK);
        if (d.n != 1 || strcmp(d.link[0].lower, GPU) != 0 || strcmp(d.link[0].upper, PORT) != 0 ||
            d.link[0].count[PIPC__COUNT_BAD_TLP] != cases[i].bad || d.seconds != cases[i].seconds ||
            d.link[0].width[0] != cases[i].width[0] || d.link[0].width[1] != cases[i].width[1])
            fail_msg("%s: %d links, %lld bad TLPs in %g s, x%d to x%d", cases[i].name, d.n,
                     (long long)d.link[0].count[PIPC__COUNT_BAD_TLP], d.seconds, d.link[0].width[0],
                     d.link[0].width[1]);
        pipc__deltas_free(&d);
    }
}

static void a_device_that_was_not_there_before(void **state)
{
    const look_t look = {"a", 10, 1, 2, 3, 16, 16, 0, false},
                 later = {"a", 20, 9, 9, 9, 16, 16, 0, false};
    pipc__counter_t a[3], b[3];
    pipc__counters_t before, after;
    pipc__deltas_t d;

    (void)state;
    make(&before, a, &look);
    make(&after, b, &later);
    before.n = 1; /* the port alone */
    assert_int_equal(pipc__deltas(&before, &after, &d, NULL), PIPC_OK);
    assert_int_equal(d.link[0].width[0], -1);
    assert_int_equal(d.link[0].width[1], 16);
    assert_int_equal(d.link[0].count[PIPC__COUNT_BAD_TLP], -1);
    assert_false(pipc__delta_has_errors(&d.link[0]));
    pipc__deltas_free(&d);
}

static void words_and_sums(void **state)
{
    pipc__delta_t d = {.count = {5, 2, 0, -1, 1, 9, 3, 1}};
    char text[200];

    (void)state;
    assert_int_equal(pipc__delta_sick(&d), 3);
    assert_int_equal(pipc__delta_uncorrected(&d), 4);
    assert_string_equal(pipc__delta_text(d.count, text, sizeof(text)),
                        "5 receiver error, 2 bad TLP, 1 replay timeout, 9 unsupported request, 3 "
                        "nonfatal error, 1 fatal error");
    pipc__delta_text(d.count, text, 12); /* cut */
    assert_string_equal(text, "5 receiver ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_files_of_several_kernels, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(each_root_port_counts_or_not, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(samples_again, tree_make, tree_remove),
        cmocka_unit_test_setup_teardown(json_brings_all_back, tree_make, tree_remove),
        cmocka_unit_test(compares),
        cmocka_unit_test(a_device_that_was_not_there_before),
        cmocka_unit_test(words_and_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
