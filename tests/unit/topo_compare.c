/* tests/unit/topo_compare.c - what moved between two trees: each kind of change, and nothing else
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/topo/build.h"
#include "runtime/topo/compare.h"
#include "tests/unit/topo_text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int gpu(const pipc__topo_t *t, int minor)
{
    return pipc__topo_gpu_by_minor(t, minor);
}

/* "gone 0000:03:00.0; width 0000:04:00.0 x16>x8" */
static const char *differences(const pipc__topo_t *a, const pipc__topo_t *b)
{
    static char text[4096];
    pipc__change_t *list;
    int n;

    text[0] = '\0';
    assert_int_equal(pipc__topo_compare(a, b, &list, &n, NULL), PIPC_OK);
    for (int i = 0; i < n; i++) {
        size_t used = strlen(text);
        const pipc__change_t *c = &list[i];
        bool one = c->kind == PIPC__CHANGE_GONE || c->kind == PIPC__CHANGE_NEW;
        snprintf(text + used, sizeof(text) - used, "%s%s %s%s%s%s%s", i ? "; " : "",
                 pipc__change_name(c->kind), c->device, one ? "" : " ", one ? "" : c->was,
                 one ? "" : ">", one ? "" : c->now);
        assert_non_null(pipc__change_words(c->kind));
    }
    free(list);
    return text;
}

static void with_uuids(pipc__topo_t *t)
{
    for (int i = 0; i < t->nobjs; i++)
        if (t->objs[i].kind == PIPC__TOPO_GPU)
            snprintf(t->objs[i].uuid, PIPC__NAME_MAX, "GPU-%d", t->objs[i].minor);
}

static void equal_trees_differ_in_nothing(void **state)
{
    static const char *const shapes[] = {"[gpu]", "[4gpu+2nic]", "2x[sw:4gpu+1nic]",
                                         "4x[sw:2x[sw:2gpu+1nic]]", "[0core+gpu]"};

    (void)state;
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int uuids = 0; uuids < 3; uuids++) { /* in none, the first, both */
            pipc__topo_t *a = synthetic(shapes[i]), *b = synthetic(shapes[i]);
            if (uuids > 0)
                with_uuids(a);
            if (uuids > 1)
                with_uuids(b);
            assert_string_equal(differences(a, b), "");
            assert_string_equal(differences(b, a), "");
            pipc__topo_free(a);
            pipc__topo_free(b);
        }
}

/* One fact is changed in B. */
static void set_minor(pipc__topo_t *t)
{
    t->objs[gpu(t, 3)].minor = 9;
}

static void set_numa(pipc__topo_t *t)
{
    t->objs[gpu(t, 0)].numa = 1;
}

static void set_width(pipc__topo_t *t)
{
    t->objs[gpu(t, 1)].link.width = 8;
}

static void set_max_width(pipc__topo_t *t)
{
    t->objs[gpu(t, 1)].link.max_width = 8;
}

static void set_max_speed(pipc__topo_t *t)
{
    t->objs[gpu(t, 1)].link.max_speed_mts = 2500;
}

static void set_idle(pipc__topo_t *t)
{
    t->objs[gpu(t, 1)].link.speed_mts = 2500;
}

static void forget_link(pipc__topo_t *t)
{
    t->objs[gpu(t, 1)].link = (pipc__link_t){-1, -1, -1, -1};
}

static void set_switch_width(pipc__topo_t *t)
{
    t->objs[t->objs[gpu(t, 0)].parent].link.width = 4;
}

static void set_port_width(pipc__topo_t *t)
{
    t->objs[t->objs[t->objs[gpu(t, 0)].parent].parent].link.max_width = 4;
}

static void set_netdev(pipc__topo_t *t)
{
    strcpy(t->objs[t->nobjs - 1].netdev, "mlx5_7");
}

static void set_cpus(pipc__topo_t *t)
{
    hwloc_bitmap_clr(t->numas[1].cpus, 8);
}

static void forget_cpus(pipc__topo_t *t)
{
    hwloc_bitmap_zero(t->numas[1].cpus);
}

static void set_nvlinks(pipc__topo_t *t)
{
    assert_true(pipc__topo_set_nvlinks(t, gpu(t, 0), gpu(t, 1), 2));
}

static void replace(pipc__topo_t *t)
{
    strcpy(t->objs[gpu(t, 2)].uuid, "GPU-other");
}

static void other_model(pipc__topo_t *t)
{
    t->objs[t->nobjs - 1].device = 0x1021;
}

static void swap(pipc__topo_t *t) /* two cards change places */
{
    strcpy(t->objs[gpu(t, 0)].uuid, "GPU-5");
    strcpy(t->objs[gpu(t, 5)].uuid, "GPU-0");
}

static void one_change_is_one_line(void **state)
{
    static const struct {
        void (*change)(pipc__topo_t *);
        const char *says;
    } cases[] = {
        {set_minor, "minor 0000:06:00.0 3>9"},
        {set_numa, "numa 0000:03:00.0 0>1"},
        {set_width, "width 0000:04:00.0 x16>x8"},
        {set_max_width, "max_width 0000:04:00.0 x16>x8"},
        {set_max_speed, "max_speed 0000:04:00.0 32 GT/s>2.5 GT/s"},
        {set_idle, ""},
        {forget_link, ""}, /* not told is no difference */
        {set_switch_width, "width 0000:01:00.0 x16>x4"},
        {set_port_width, "max_width 0000:00:01.0 x16>x4"},
        {set_netdev, "netdev 0000:0f:00.0 mlx5_1>mlx5_7"},
        {set_cpus, "cpus NUMA 1 8-15>9-15"},
        {forget_cpus, ""},
        {set_nvlinks, "nvlinks 0000:03:00.0 4>2"},
        {replace, "gone 0000:05:00.0; new 0000:05:00.0"},
        {other_model, "gone 0000:0f:00.0; new 0000:0f:00.0"},
        {swap,
         "moved 0000:03:00.0 0000:03:00.0>0000:0c:00.0; minor 0000:03:00.0 0>5; numa 0000:03:00.0 "
         "0>1; switch 0000:03:00.0 0000:01:00.0>0000:09:00.0; moved 0000:0c:00.0 "
         "0000:0c:00.0>0000:03:00.0; minor 0000:0c:00.0 5>0; numa 0000:0c:00.0 1>0; switch "
         "0000:0c:00.0 0000:09:00.0>0000:01:00.0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t[2];
        for (int k = 0; k < 2; k++) {
            t[k] = synthetic("2x[sw:4gpu+1nic]");
            with_uuids(t[k]);
            for (int j = 1; j < t[k]->nobjs; j++) {
                t[k]->objs[j].link = (pipc__link_t){16, 16, 32000, 32000};
                t[k]->objs[j].vendor = 0x10de;
                t[k]->objs[j].device = 0x2330;
            }
            strcpy(t[k]->objs[t[k]->nobjs - 1].netdev, "mlx5_1");
            assert_true(pipc__topo_set_nvlinks(t[k], gpu(t[k], 0), gpu(t[k], 1), 4));
        }
        cases[i].change(t[1]);
        if (strcmp(differences(t[0], t[1]), cases[i].says))
            fail_msg("case %zu: %s", i, differences(t[0], t[1]));
        pipc__topo_free(t[0]);
        pipc__topo_free(t[1]);
    }
}

/* Trees of another shape. Without UUIDs cards of one model are told by their places alone. */
static void other_shapes(void **state)
{
    static const struct {
        const char *a, *b;
        bool uuids;
        const char *says;
    } cases[] = {
        {"[sw:3gpu]", "[sw:2gpu]", true, "gone 0000:05:00.0"},
        {"[sw:3gpu]", "[sw:2gpu]", false, "gone 0000:05:00.0"},
        {"[sw:2gpu]", "[sw:3gpu]", true, "new 0000:05:00.0"},
        {"[sw:2gpu]", "[sw:2gpu+nic]", true, "new 0000:05:00.0"},
        /* One card out of the first switch: the three that stay have not moved. */
        {"[sw:4gpu]+[sw:2gpu]", "[sw:3gpu]+[sw:3gpu]", true,
         "moved 0000:06:00.0 0000:06:00.0>0000:0b:00.0; numa 0000:06:00.0 0>1; switch 0000:06:00.0 "
         "0000:01:00.0>0000:09:00.0; moved 0000:0b:00.0 0000:0b:00.0>0000:0c:00.0; moved "
         "0000:0c:00.0 0000:0c:00.0>0000:0d:00.0"},
        /* A switch goes in between: the cards have new addresses, the group is the same. */
        {"[sw:2gpu]", "[sw:[sw:2gpu]]", true,
         "moved 0000:03:00.0 0000:03:00.0>0000:05:00.0; depth 0000:03:00.0 1>2; moved 0000:04:00.0 "
         "0000:04:00.0>0000:06:00.0; depth 0000:04:00.0 1>2"},
        {"[sw:2gpu]", "[2gpu]", true,
         "moved 0000:03:00.0 0000:03:00.0>0000:01:00.0; switch 0000:03:00.0 0000:01:00.0>none; "
         "moved 0000:04:00.0 0000:04:00.0>0000:02:00.0; switch "
         "0000:04:00.0 0000:01:00.0>none"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *a = synthetic(cases[i].a), *b = synthetic(cases[i].b);
        if (cases[i].uuids) {
            with_uuids(a);
            with_uuids(b);
        }
        if (strcmp(differences(a, b), cases[i].says))
            fail_msg("%s, %s: %s", cases[i].a, cases[i].b, differences(a, b));
        pipc__topo_free(a);
        pipc__topo_free(b);
    }
}

/* A firmware numbers the buses anew: every address is another, nothing else has changed. */
static void renumbered_buses_move_nobody(void **state)
{
    pipc__topo_t *a = synthetic("2x[sw:2x[sw:2gpu]+nic]"), *b = synthetic("2x[sw:2x[sw:2gpu]+nic]");
    pipc__change_t *list;
    int n;

    (void)state;
    for (int i = 1; i < b->nobjs; i++) {
        pipc__pci_addr_t addr = b->objs[i].addr;
        addr.bus += 0x40;
        pipc__topo_set_addr(&b->objs[i], addr);
        a->objs[i].vendor = b->objs[i].vendor = 0x10de;
        a->objs[i].device = b->objs[i].device = 0x2330;
    }
    assert_int_equal(pipc__topo_compare(a, b, &list, &n, NULL), PIPC_OK);
    assert_int_equal(n, 10);
    for (int i = 0; i < n; i++)
        assert_int_equal(list[i].kind, PIPC__CHANGE_MOVED);
    free(list);
    /* One less without UUIDs: which one, nobody can tell. */
    b->nobjs--;
    assert_int_equal(pipc__topo_compare(a, b, &list, &n, NULL), PIPC_OK);
    int gone = 0, new = 0;
    for (int i = 0; i < n; i++) {
        gone += list[i].kind == PIPC__CHANGE_GONE;
        new += list[i].kind == PIPC__CHANGE_NEW;
    }
    assert_int_equal(gone, 2); /* both NICs */
    assert_int_equal(new, 1);
    free(list);
    pipc__topo_free(a);
    pipc__topo_free(b);
}

/* A matrix knows names: the first GPU of it is the first one of a tree with addresses. */
static void names_in_place_of_addresses(void **state)
{
    pipc__topo_t *a = synthetic("[sw:2gpu]+[sw:2gpu]"), *b = synthetic("[sw:3gpu]+[gpu]");
    int names = 0;

    (void)state;
    for (int i = 1; i < a->nobjs; i++) {
        a->objs[i].addr.domain = PIPC__UNKNOWN;
        if (a->objs[i].kind == PIPC__TOPO_GPU)
            snprintf(a->objs[i].name, PIPC__NAME_MAX, "GPU%d", names++);
    }
    assert_string_equal(differences(a, b),
                        "numa GPU2 1>0; switch GPU2 0000:09:00.0>0000:01:00.0; switch GPU3 "
                        "0000:09:00.0>none");
    pipc__topo_free(b);
    b = synthetic("[sw:2gpu]+[sw:2gpu]");
    assert_string_equal(differences(a, b), "");
    pipc__topo_free(a);
    pipc__topo_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_trees_differ_in_nothing),
        cmocka_unit_test(one_change_is_one_line),
        cmocka_unit_test(other_shapes),
        cmocka_unit_test(renumbered_buses_move_nobody),
        cmocka_unit_test(names_in_place_of_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
