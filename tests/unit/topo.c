/* tests/unit/topo.c - addresses, the synthetic language, switch groups, distances, output */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "tests/unit/topo_text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void addresses(void **state)
{
    static const struct {
        const char *text, *formatted; /* NULL: refused */
    } cases[] = {
        {"0000:41:00.0", "0000:41:00.0"},
        {"41:00.0", "0000:41:00.0"},
        {"0:1.7", "0000:00:01.7"},
        {"00000000:C1:1F.7", "0000:c1:1f.7"}, /* as the NVIDIA driver writes it */
        {"10000:e1:00.0", "10000:e1:00.0"},   /* below Intel VMD */
        {"0000:41:20.0", NULL},               /* devices end at 1f */
        {"0000:41:00.8", NULL},
        {"0000:41:00", NULL},
        {"0000:41:00.0 ", NULL},
        {" 41:00.0", NULL},
        {"-1:00.0", NULL},
        {"0x1:00.0", NULL},
        {"0000:141:00.0", NULL},
        {"ffffffff:41:00.0", NULL}, /* does not fit */
        {"123456789:41:00.0", NULL},
        {"1:41:00.0", NULL},
        {"a:b:c:d", NULL},
        {"pci0000:41", NULL},
        {":", NULL},
        {"", NULL},
        {NULL, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__pci_addr_t a = {7, 7, 7, 7};
        char out[PIPC__NAME_MAX];
        assert_int_equal(pipc__pci_parse(cases[i].text, &a), cases[i].formatted != NULL);
        if (!cases[i].formatted) {
            assert_int_equal(a.domain, 7); /* untouched */
            continue;
        }
        pipc__pci_format(a, out);
        assert_string_equal(out, cases[i].formatted);
    }
}

static void synthetic_texts(void **state)
{
    static const struct {
        const char *text;
        int gpus, nics, numas, cores;
        const char *groups;
    } cases[] = {
        {"[gpu]", 1, 0, 1, 8, ""},
        {"[numa:2gpu+16core]", 2, 0, 1, 16, ""}, /* a host bridge is no switch */
        {"[sw:4gpu]", 4, 0, 1, 8, "[03 04 05 06]"},
        {"[sw:gpu]", 1, 0, 1, 8, ""}, /* alone: nothing shares */
        {"[sw:gpu+nic]", 1, 1, 1, 8, "[03 | 04]"},
        {"[sw:2nic]", 0, 2, 1, 8, ""}, /* a group needs a GPU */
        {"2x[sw:4gpu+1nic]", 8, 2, 2, 16, "[03 04 05 06 | 07] [0b 0c 0d 0e | 0f]"},
        {" 2 x [ sw: 2 gpu ] ", 4, 0, 2, 16, "[03 04] [0b 0c]"},
        {"[sw:3gpu]+[sw:1gpu]", 4, 0, 2, 16, "[03 04 05]"},
        {"[2x[sw:2gpu]+1nic]", 4, 1, 1, 8, "[03 04] [07 08]"},
        {"[sw:2x[sw:2gpu]]", 4, 0, 1, 8, "[05 06 09 0a [05 06] [09 0a]]"},
        {"[sw:2x[sw:2gpu]+nic]", 4, 1, 1, 8, "[05 06 09 0a | 0b [05 06] [09 0a]]"},
        {"[sw:[sw:2gpu]]", 2, 0, 1, 8, "[05 06]"},  /* the outer switch adds nothing */
        {"[sw:2x[sw:gpu]]", 2, 0, 1, 8, "[05 08]"}, /* the inner ones are parts of the cards */
        {"[sw:[sw:gpu]+nic]", 1, 1, 1, 8, "[05 | 06]"},
        {"[0core+gpu]+[3core]", 1, 0, 2, 3, ""},
        {"[[sw:2gpu]+4core+[sw:2gpu]+4core]", 4, 0, 1, 8, "[03 04] [07 08]"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].text);
        assert_int_equal(pipc__topo_list(t, PIPC__TOPO_GPU, NULL, 0), cases[i].gpus);
        assert_int_equal(pipc__topo_list(t, PIPC__TOPO_NIC, NULL, 0), cases[i].nics);
        assert_int_equal(t->nnumas, cases[i].numas);
        assert_int_equal(t->ncores, cases[i].cores);
        assert_string_equal(groups_text(t), cases[i].groups);
        pipc__topo_free(t);
    }
}

static void wrong_synthetic_texts_name_the_place(void **state)
{
    static const struct {
        const char *text;
        int place;
    } cases[] = {
        {"", 1},
        {NULL, 1},
        {"4gpu", 2},
        {"[", 2},
        {"[]", 2},
        {"[4gpu", 6},
        {"[4gpu+]", 7},
        {"[4cpu]", 3},
        {"[sx:4gpu]", 2},
        {"[sw4gpu]", 2},
        {"2[gpu]", 2},
        {"0x[gpu]", 1},
        {"1025x[gpu]", 1},
        {"99999999999999999999x[gpu]", 1},
        {"[99999999999gpu]", 2},
        {"[0gpu]", 2},
        {"[gpu]]", 6},
        {"[gpu] [gpu]", 7},
        {"[2x[gpu]]", 5}, /* a group in a group is a switch */
        {"[gpu]+", 7},
        {"[300gpu]", 8},
        {"300x[gpu]", 6},
        {"1024x[1024x[sw:1024gpu]]", 0},
        {"[sw:[sw:[sw:[sw:[sw:[sw:[sw:[sw:[sw:gpu]]]]]]]]]", 33},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = (pipc__topo_t *)&t;
        pipc__error_t err = {PIPC_OK, ""};
        char place[32];
        assert_int_equal(pipc__topo_synthetic(&t, cases[i].text, &err), PIPC_ERR_INVALID);
        assert_null(t);
        snprintf(place, sizeof(place), "character %d: ", cases[i].place);
        if (cases[i].place && !strstr(err.text, place))
            fail_msg("%s: not at %s", err.text, place);
    }
}

/* Whatever the text: an answer, at once, without a fault. Make it large to fuzz by hand. */
static void random_synthetic_texts(void **state)
{
    static const char *const words[] = {"[", "]", "[sw:", "numa:", "gpu", "nic", "core", "+",
                                        "x", "2", "0",    "17",    " ",   "sw",  ":",    "99"};
    uint32_t seed = 1;

    (void)state;
    for (int run = 0; run < 20000; run++) {
        char text[256] = "";
        for (int i = 0; i < 12; i++) {
            seed = seed * 1664525u + 1013904223u;
            strcat(text, words[seed >> 28]);
        }
        pipc__topo_t *t;
        pipc__error_t err;
        if (pipc__topo_synthetic(&t, text, &err) == PIPC_OK)
            assert_well_formed(t);
        pipc__topo_free(t);
    }
}

static void synthetic_devices_can_be_found(void **state)
{
    pipc__topo_t *t = synthetic("2x[sw:2gpu+1nic]");
    pipc__pci_addr_t addr;
    int gpus[2] = {-7, -7};

    (void)state;
    assert_int_equal(pipc__topo_list(t, PIPC__TOPO_GPU, gpus, 2), 4); /* says how many, fills 2 */
    for (int minor = 0; minor < 4; minor++) {
        int g = pipc__topo_gpu_by_minor(t, minor);
        assert_int_equal(t->objs[g].minor, minor);
        assert_int_equal(pipc__topo_by_addr(t, t->objs[g].addr), g);
        assert_int_equal(t->objs[g].numa, minor / 2);
        if (minor < 2)
            assert_int_equal(gpus[minor], g);
    }
    assert_int_equal(pipc__topo_gpu_by_minor(t, 4), PIPC__UNKNOWN);
    assert_int_equal(pipc__topo_gpu_by_minor(t, PIPC__UNKNOWN), PIPC__UNKNOWN);
    assert_true(pipc__pci_parse("ff:1f.7", &addr));
    assert_int_equal(pipc__topo_by_addr(t, addr), PIPC__UNKNOWN);
    addr.domain = PIPC__UNKNOWN; /* "no address" finds nothing, not the machine */
    assert_int_equal(pipc__topo_by_addr(t, addr), PIPC__UNKNOWN);
    pipc__topo_free(t);
    pipc__topo_free(NULL);
}

static void distances(void **state)
{
    pipc__topo_t *t = synthetic("2x[sw:2x[sw:2gpu]+1nic]");
    int g[8], nic[2];

    (void)state;
    pipc__topo_list(t, PIPC__TOPO_GPU, g, 8);
    pipc__topo_list(t, PIPC__TOPO_NIC, nic, 2);
    assert_int_equal(pipc__topo_distance(t, g[0], g[0]), 0);
    assert_int_equal(pipc__topo_distance(t, g[0], g[1]), 2); /* one switch */
    assert_int_equal(pipc__topo_distance(t, g[0], g[2]), 4); /* through the upper one */
    assert_int_equal(pipc__topo_distance(t, g[0], nic[0]), 3);
    assert_int_equal(pipc__topo_distance(t, nic[0], g[0]), 3);
    assert_true(pipc__topo_distance(t, g[0], g[4]) >= 1000); /* another host bridge */
    pipc__topo_free(t);
    t = synthetic("[2x[sw:1gpu+1nic]]");
    pipc__topo_list(t, PIPC__TOPO_GPU, g, 2);
    assert_in_range(pipc__topo_distance(t, g[0], g[1]), 100, 199); /* same host bridge */
    pipc__topo_free(t);
}

static void memory_only_nodes_are_no_place_for_ranks(void **state)
{
    pipc__topo_t *t = synthetic("[0core+gpu]+[gpu]");
    int g[2];

    (void)state;
    pipc__topo_list(t, PIPC__TOPO_GPU, g, 2);
    assert_true(t->numas[0].memory_only);
    assert_false(t->numas[1].memory_only);
    assert_int_equal(pipc__topo_numa_of(t, g[0]), PIPC__UNKNOWN);
    assert_int_equal(pipc__topo_numa_of(t, g[1]), 1);
    pipc__topo_free(t);
}

/* What a printer wrote, as a string to free. */
static char *printed(const pipc__topo_t *t,
                     pipc_status_t (*print)(const pipc__topo_t *, FILE *, pipc__error_t *))
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);

    assert_non_null(f);
    assert_int_equal(print(t, f, NULL), PIPC_OK);
    fclose(f);
    return text;
}

static void text_for_people(void **state)
{
    pipc__topo_t *t = synthetic("[sw:2gpu+1nic]");
    pipc__link_t narrow = {8, 16, 2500, 16000};

    (void)state;
    t->objs[pipc__topo_gpu_by_minor(t, 1)].link = narrow;
    strcpy(t->objs[t->nobjs - 1].netdev, "mlx5_0");
    char *text = printed(t, pipc__topo_print);
    assert_string_equal(text,
                        "machine (synthetic): GPUs 2, NICs 1, NUMA nodes 1\n"
                        "NUMA 0: CPUs 0-7\n"
                        "0000:00 host bridge                             NUMA 0\n"
                        "  0000:00:01.0 root port                        NUMA 0\n"
                        "    0000:01:00.0 switch                         NUMA 0\n"
                        "      0000:03:00.0 gpu 0                        NUMA 0\n"
                        "      0000:04:00.0 gpu 1  x16 16 GT/s (now x8)  NUMA 0\n"
                        "      0000:05:00.0 nic                          NUMA 0  mlx5_0\n"
                        "group 0000:01:00.0: gpus 0000:03:00.0 0000:04:00.0; nics 0000:05:00.0\n"
                        "near gpu0: NUMA 0, CPUs 0-7; nics mlx5_0\n"
                        "near gpu1: NUMA 0, CPUs 0-7; nics mlx5_0\n"
                        "        gpu0  gpu1  mlx5_0\n"
                        "gpu0    X     PIX   PIX\n"
                        "gpu1    PIX   X     PIX\n"
                        "mlx5_0  PIX   PIX   X\n"
                        "  PIX   same switch or same card\n");
    free(text);
    pipc__topo_free(t);
}

static void no_groups_says_why(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"[nic]", "no switch groups: no GPU was found"},
        {"[4gpu]", "no switch groups: no GPU shares a switch"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].text);
        char *text = printed(t, pipc__topo_print);
        assert_non_null(strstr(text, cases[i].says));
        free(text);
        pipc__topo_free(t);
    }
}

static const char *string_at(json_t *array, size_t i)
{
    return json_string_value(json_array_get(array, i));
}

static void json_for_programs(void **state)
{
    pipc__topo_t *t = synthetic("[sw:2x[sw:2gpu]+1nic]+[0core+gpu]");
    char *text = printed(t, pipc__topo_print_json);
    json_error_t why;
    json_t *all = json_loads(text, 0, &why), *outer, *inner, *gpus;

    (void)state;
    assert_non_null(all);
    assert_string_equal(json_string_value(json_object_get(all, "source")), "synthetic");
    assert_int_equal(json_array_size(json_object_get(all, "groups")), 1);
    outer = json_array_get(json_object_get(all, "groups"), 0);
    assert_int_equal(json_array_size(json_object_get(outer, "gpus")), 4);
    assert_string_equal(string_at(json_object_get(outer, "nics"), 0), "0000:0b:00.0");
    assert_int_equal(json_array_size(json_object_get(outer, "children")), 2);
    inner = json_array_get(json_object_get(outer, "children"), 1);
    assert_string_equal(string_at(json_object_get(inner, "gpus"), 0), "0000:09:00.0");
    assert_int_equal(json_array_size(json_object_get(inner, "nics")), 0);
    assert_int_equal(json_array_size(json_object_get(inner, "children")), 0);

    gpus = json_object_get(all, "gpus");
    assert_int_equal(json_array_size(gpus), 5);
    json_t *last = json_array_get(gpus, 4);
    assert_int_equal(json_integer_value(json_object_get(last, "minor")), 4);
    assert_true(json_is_null(json_object_get(last, "switch")));
    assert_true(json_is_null(json_object_get(last, "uuid"))); /* unknown is null, not "" or 0 */
    assert_true(json_is_null(json_object_get(json_object_get(last, "link"), "max_width")));
    assert_int_equal(json_array_size(json_object_get(all, "nics")), 1);
    json_t *memory = json_array_get(json_object_get(all, "numa_nodes"), 1);
    assert_true(json_is_true(json_object_get(memory, "memory_only")));
    json_decref(all);
    free(text);
    pipc__topo_free(t);
}

static void a_full_disk_is_an_error(void **state)
{
    pipc__topo_t *t = synthetic("2x[sw:4gpu]");
    pipc__error_t err;

    (void)state;
    for (int json = 0; json < 2; json++) {
        FILE *f = fopen("/dev/full", "w");
        assert_non_null(f);
        setvbuf(f, NULL, _IONBF, 0);
        assert_int_equal((json ? pipc__topo_print_json : pipc__topo_print)(t, f, &err),
                         PIPC_ERR_SYSTEM);
        fclose(f);
    }
    pipc__topo_free(t);
}

static void the_live_machine_is_well_formed(void **state)
{
    pipc__topo_t *t, *again;
    pipc__error_t err = {PIPC_OK, ""};

    (void)state;
    assert_int_equal(pipc__topo_live(&t, &err), PIPC_OK);
    assert_string_equal(t->source, "live");
    assert_well_formed(t);
    assert_true(t->nnumas > 0);
    assert_false(hwloc_bitmap_iszero(t->numas[0].cpus));
    assert_int_equal(pipc__topo_live(&again, &err), PIPC_OK);
    assert_int_equal(again->nobjs, t->nobjs);
    pipc__topo_free(again);
    pipc__topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(synthetic_texts),
        cmocka_unit_test(wrong_synthetic_texts_name_the_place),
        cmocka_unit_test(random_synthetic_texts),
        cmocka_unit_test(synthetic_devices_can_be_found),
        cmocka_unit_test(distances),
        cmocka_unit_test(memory_only_nodes_are_no_place_for_ranks),
        cmocka_unit_test(text_for_people),
        cmocka_unit_test(no_groups_says_why),
        cmocka_unit_test(json_for_programs),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(the_live_machine_is_well_formed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
