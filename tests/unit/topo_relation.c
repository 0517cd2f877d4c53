/* tests/unit/topo_relation.c - what lies between two devices, and what is near a GPU */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/bind/bind.h"
#include "runtime/topo/build.h"
#include "runtime/topo/files.h"
#include "runtime/topo/relation.h"
#include "tests/unit/topo_text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The relations of the first device, GPUs before NICs, with all others. */
static const char *row(const pipc__topo_t *t, int of)
{
    static char text[512];
    int dev[64], n = pipc__topo_list(t, PIPC__TOPO_GPU, dev, 64);

    n += pipc__topo_list(t, PIPC__TOPO_NIC, dev + n, 64 - n);
    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        char pair[16];
        pipc__topo_pair_name(t, dev[of], dev[i], pair);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "", pair);
        assert_int_equal(pipc__topo_relation(t, dev[of], dev[i]),
                         pipc__topo_relation(t, dev[i], dev[of]));
    }
    return text;
}

static void relations(void **state)
{
    static const struct {
        const char *text;
        int of;
        const char *row;
    } cases[] = {
        {"[sw:2gpu+1nic]", 0, "X PIX PIX"},
        {"2x[sw:2gpu+1nic]", 0, "X PIX SYS SYS PIX SYS"},
        {"[2x[sw:2gpu]+1nic]", 0, "X PIX PHB PHB PHB"},
        {"[sw:2x[sw:2gpu]+nic]", 0, "X PIX PXB PXB PXB"},
        {"[sw:2x[sw:2gpu]+nic]", 4, "PXB PXB PXB PXB X"},
        {"[sw:[sw:2gpu]]", 0, "X PIX"},  /* the outer switch adds nothing */
        {"[sw:2x[sw:gpu]]", 0, "X PIX"}, /* the inner ones are parts of the cards */
        {"[sw:2x[sw:gpu]+nic]", 0, "X PIX PIX"},
        {"[sw:[sw:2gpu]+gpu]", 2, "PXB PXB X"},
        {"[2gpu]", 0, "X PHB"},
        {"[0core+gpu]+[gpu]", 0, "X ?"}, /* GPU memory is no place to be near to */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].text);
        assert_string_equal(row(t, cases[i].of), cases[i].row);
        pipc__topo_free(t);
    }
}

/* A tree by hand: two host bridges, each with a GPU right below or below a port. */
static pipc__topo_t *two_bridges(bool port, int numa_a, int numa_b, bool one_bridge)
{
    pipc__topo_t *t;
    int numas[2] = {numa_a, numa_b}, bridge = 0, above;

    assert_int_equal(pipc__topo_new(&t, "test", NULL), PIPC_OK);
    assert_non_null(pipc__topo_add_numa(t, 0));
    assert_non_null(pipc__topo_add_numa(t, 1));
    for (int i = 0; i < 2; i++) {
        if (i == 0 || !one_bridge) {
            bridge = pipc__topo_add(t, 0, PIPC__TOPO_HOST_BRIDGE);
            pipc__topo_set_addr(&t->objs[bridge], (pipc__pci_addr_t){i, 0, PIPC__UNKNOWN, -1});
        }
        above = bridge;
        if (port) {
            above = pipc__topo_add(t, bridge, PIPC__TOPO_BRIDGE);
            pipc__topo_set_addr(&t->objs[above], (pipc__pci_addr_t){i, 0, 1, i});
        }
        int gpu = pipc__topo_add(t, above, PIPC__TOPO_GPU);
        pipc__topo_set_addr(&t->objs[gpu], (pipc__pci_addr_t){i, port ? i + 1 : 0, i + 5, 0});
        t->objs[gpu].numa = numas[i];
    }
    return t;
}

static void what_can_not_be_told_is_not_claimed(void **state)
{
    static const struct {
        bool port, one_bridge;
        int numa_a, numa_b;
        const char *row;
    } cases[] = {
        {true, false, 0, 0, "X NODE"},
        {true, false, 0, 1, "X SYS"},
        {true, false, 0, PIPC__UNKNOWN, "X ?"},
        {true, false, PIPC__UNKNOWN, PIPC__UNKNOWN, "X ?"},
        {true, true, 0, 1, "X PHB"},
        /* A virtual machine: nothing above, one bus or one domain a device. */
        {false, true, 0, 0, "X ?"},
        {false, false, 0, 0, "X ?"},
        {false, false, 0, 1, "X SYS"},
        {false, true, PIPC__UNKNOWN, PIPC__UNKNOWN, "X ?"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t =
            two_bridges(cases[i].port, cases[i].numa_a, cases[i].numa_b, cases[i].one_bridge);
        assert_string_equal(row(t, 0), cases[i].row);
        pipc__topo_free(t);
    }
}

static void functions_of_a_card(void **state)
{
    pipc__topo_t *t = synthetic("[gpu+2nic]");
    int nic[2];

    (void)state;
    pipc__topo_list(t, PIPC__TOPO_NIC, nic, 2);
    assert_int_equal(pipc__topo_relation(t, nic[0], nic[1]), PIPC__REL_PHB);
    t->objs[nic[1]].parent = t->objs[nic[0]].parent;
    t->objs[nic[1]].addr = t->objs[nic[0]].addr;
    t->objs[nic[1]].addr.function = 1;
    assert_int_equal(pipc__topo_relation(t, nic[0], nic[1]), PIPC__REL_PIX);
    pipc__topo_free(t);
}

/* A card's own switch is not counted; one that only a matrix told of is no card's. */
static void switches_without_an_address_count(void **state)
{
    pipc__topo_t *t = synthetic("[sw:2x[sw:gpu]]");

    (void)state;
    assert_string_equal(row(t, 0), "X PIX");
    t->objs[t->objs[pipc__topo_gpu_by_minor(t, 1)].parent].addr.domain = PIPC__UNKNOWN;
    assert_string_equal(row(t, 0), "X PXB");
    pipc__topo_free(t);
}

static void nvlinks_stand_before_the_relation(void **state)
{
    pipc__topo_t *t = synthetic("[sw:3gpu+nic]");
    int gpu[3];

    (void)state;
    pipc__topo_list(t, PIPC__TOPO_GPU, gpu, 3);
    assert_int_equal(pipc__topo_nvlinks(t, gpu[0], gpu[1]), PIPC__UNKNOWN);
    assert_true(pipc__topo_set_nvlinks(t, gpu[1], gpu[0], 4));
    assert_true(pipc__topo_set_nvlinks(t, gpu[0], gpu[2], 0));
    assert_int_equal(pipc__topo_nvlinks(t, gpu[0], gpu[1]), 4);
    assert_int_equal(pipc__topo_nvlinks(t, gpu[1], gpu[2]), PIPC__UNKNOWN);
    assert_string_equal(row(t, 0), "X NV4 PIX PIX");
    pipc__topo_free(t);
}

/* A file with @lines, tabs for blanks, as nvidia-smi writes it; read it. */
static pipc__topo_t *read_matrix(const char *const *names, const char *const *lines, int n)
{
    char path[] = "/tmp/pipc-matrix-XXXXXX";
    pipc__error_t err = {PIPC_OK, ""};
    pipc__topo_t *t;
    FILE *f = fdopen(mkstemp(path), "w");

    assert_non_null(f);
    for (int i = 0; i < n; i++)
        fprintf(f, "\t%s", names[i]);
    for (int i = 0; i < n; i++) {
        fprintf(f, "\n%s\t", names[i]);
        for (const char *p = lines[i]; *p; p++)
            fputc(*p == ' ' ? '\t' : *p, f);
    }
    fputc('\n', f);
    fclose(f);
    pipc_status_t st = pipc__topo_matrix(&t, path, &err);
    unlink(path);
    assert_string_equal(err.text, "");
    assert_int_equal(st, PIPC_OK);
    return t;
}

/* The matrix as nvidia-smi prints it, read and printed again. */
static void a_matrix_comes_back_as_it_was(void **state)
{
    static const char *const names[] = {"GPU0", "GPU1", "GPU2", "GPU3"};
    static const char *const matrices[][4] = {
        {"X PIX NODE SYS", "PIX X NODE SYS", "NODE NODE X SYS", "SYS SYS SYS X"},
        {"X PIX PXB PXB", "PIX X PXB PXB", "PXB PXB X PIX", "PXB PXB PIX X"},
        {"X PHB NODE NODE", "PHB X NODE NODE", "NODE NODE X PHB", "NODE NODE PHB X"},
        {"X NV2 SYS SYS", "NV2 X SYS SYS", "SYS SYS X NV4", "SYS SYS NV4 X"},
        {"X PIX PXB SYS", "PIX X PXB SYS", "PXB PXB X SYS", "SYS SYS SYS X"},
    };

    (void)state;
    for (size_t m = 0; m < COUNT(matrices); m++) {
        pipc__topo_t *t = read_matrix(names, matrices[m], 4);
        for (int i = 0; i < 4; i++)
            assert_string_equal(row(t, i), matrices[m][i]);
        pipc__topo_free(t);
    }
}

/* The matrix of each shape makes a tree with the same matrix. */
static void the_matrix_of_a_tree_comes_back(void **state)
{
    static const char *const shapes[] = {
        "[2gpu]",
        "[4gpu+2nic]",
        "[sw:4gpu+1nic]",
        "2x[sw:2gpu+1nic]",
        "[sw:3gpu+1nic]+[sw:2gpu+nic]",
        "[sw:2x[sw:2gpu]+nic]",
        "[sw:2x[sw:2gpu+nic]]+[2gpu+nic]",
        "[2x[sw:2gpu]+gpu+nic]",
        "2x[2x[sw:2x[sw:2gpu]]]",
        "[sw:[sw:2gpu+nic]+gpu]+[gpu]",
    };

    (void)state;
    for (size_t s = 0; s < COUNT(shapes); s++) {
        pipc__topo_t *t = synthetic(shapes[s]);
        const char *names[64], *lines[64];
        char text[64][16], *copies[64];
        int gpus = pipc__topo_list(t, PIPC__TOPO_GPU, NULL, 0);
        int n = gpus + pipc__topo_list(t, PIPC__TOPO_NIC, NULL, 0);
        for (int i = 0; i < n; i++) {
            snprintf(text[i], sizeof(text[i]), "%s%d", i < gpus ? "GPU" : "NIC",
                     i < gpus ? i : i - gpus);
            names[i] = text[i];
            lines[i] = copies[i] = strdup(row(t, i));
        }
        pipc__topo_t *again = read_matrix(names, lines, n);
        for (int i = 0; i < n; i++) {
            if (strcmp(row(again, i), lines[i]))
                fail_msg("%s: %s: %s, was %s", shapes[s], names[i], row(again, i), lines[i]);
            free(copies[i]);
        }
        pipc__topo_free(again);
        pipc__topo_free(t);
    }
}

/* What a reader is told to be near is what the binding takes. */
static void near_nics_are_those_of_the_binding(void **state)
{
    static const char *const texts[] = {"[sw:2gpu+2nic]+[sw:2gpu]", "2x[sw:2x[sw:2gpu+nic]+nic]",
                                        "[2gpu+2nic]+[nic]", "[gpu]+[gpu+nic]", "[4gpu]"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        pipc__topo_t *t = synthetic(texts[i]);
        for (int g = 0; g < t->nobjs; g++) {
            int near[16], bound[16];
            if (t->objs[g].kind != PIPC__TOPO_GPU)
                continue;
            int n = pipc__topo_nics_near(t, g, near, 16);
            int m = pipc__bind_nics_near(t, g, bound, 16);
            if (n == 0) { /* the binding takes what is far rather than nothing */
                for (int k = 0; k < m; k++)
                    assert_int_equal(pipc__topo_relation(t, g, bound[k]), PIPC__REL_SYS);
                continue;
            }
            assert_int_equal(n, m);
            assert_memory_equal(near, bound, sizeof(int) * (size_t)n);
        }
        pipc__topo_free(t);
    }
}

static void short_names(void **state)
{
    pipc__topo_t *t = synthetic("[sw:2gpu+2nic]");
    char name[PIPC__NAME_MAX];
    int gpu[2], nic[2];

    (void)state;
    pipc__topo_list(t, PIPC__TOPO_GPU, gpu, 2);
    pipc__topo_list(t, PIPC__TOPO_NIC, nic, 2);
    pipc__topo_short_name(t, gpu[1], name);
    assert_string_equal(name, "gpu1");
    t->objs[gpu[1]].minor = PIPC__UNKNOWN;
    pipc__topo_short_name(t, gpu[1], name);
    assert_string_equal(name, "04:00.0");
    t->objs[gpu[1]].addr.domain = 0x10000;
    strcpy(t->objs[gpu[1]].name, "10000:04:00.0");
    pipc__topo_short_name(t, gpu[1], name);
    assert_string_equal(name, "10000:04:00.0");
    strcpy(t->objs[nic[0]].netdev, "mlx5_0");
    pipc__topo_short_name(t, nic[0], name);
    assert_string_equal(name, "mlx5_0");
    t->objs[nic[1]].addr.domain = PIPC__UNKNOWN;
    strcpy(t->objs[nic[1]].name, "NIC1");
    pipc__topo_short_name(t, nic[1], name);
    assert_string_equal(name, "NIC1");
    pipc__topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relations),
        cmocka_unit_test(what_can_not_be_told_is_not_claimed),
        cmocka_unit_test(functions_of_a_card),
        cmocka_unit_test(switches_without_an_address_count),
        cmocka_unit_test(nvlinks_stand_before_the_relation),
        cmocka_unit_test(a_matrix_comes_back_as_it_was),
        cmocka_unit_test(the_matrix_of_a_tree_comes_back),
        cmocka_unit_test(near_nics_are_those_of_the_binding),
        cmocka_unit_test(short_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
