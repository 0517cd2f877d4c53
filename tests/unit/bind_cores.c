/* tests/unit/bind_cores.c - GPUs near cores, and cores near GPUs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/bind_text.h"

static void nodes_follow_their_cpus_not_their_gpus(void **state)
{
    static const struct {
        pipc__bind_mode_t mode;
        const char *machine, *cpus;
        int ranks;
        const char *granted, *order;
    } cases[] = {
        /* the last GPUs are at the first cores, and so on */
        {PIPC__BIND_SWITCH, "4x[2gpu]", "48-63 16-31 0-15 32-47", 8, NULL, "4 5 2 3 6 7 0 1"},
        {PIPC__BIND_SWITCH, "4x[2gpu]", "48-63 16-31 0-15 32-47", 8, "1 0 3 2 7 6 5 4",
         "4 5 2 3 6 7 0 1"},
        {PIPC__BIND_NUMA, "4x[2gpu]", "48-63 16-31 0-15 32-47", 8, NULL, "4 5 2 3 6 7 0 1"},
        {PIPC__BIND_SPREAD, "4x[2gpu]", "48-63 16-31 0-15 32-47", 8, NULL, "4 2 6 0 5 3 7 1"},
        {PIPC__BIND_SWITCH, "4x[2gpu]", "48-63 16-31 0-15 32-47", 4, NULL, "4 5 2 3 6 7 0 1"},
        {PIPC__BIND_SWITCH, "4x[2gpu]", "48-63 16-31 0-15 32-47", 4, "0 1 6 7", "6 7 0 1"},
        {PIPC__BIND_SWITCH, "2x[sw:4gpu]", "8-15 0-7", 8, NULL, "4 5 6 7 0 1 2 3"},
        /* numbers that alternate */
        {PIPC__BIND_SWITCH, "2x[sw:2gpu]", "1,3,5,7 0,2,4,6", 4, NULL, "2 3 0 1"},
        /* no CPUs known: behind the others, then by the first GPU */
        {PIPC__BIND_SWITCH, "3x[sw:2gpu]", "- - 0-7", 6, NULL, "4 5 0 1 2 3"},
        {PIPC__BIND_SWITCH, "3x[sw:2gpu]", "- - -", 6, NULL, "0 1 2 3 4 5"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].machine);
        set_cpus(t, cases[i].cpus);
        pipc__bind_request_t req = request(t, cases[i].ranks, cases[i].granted);
        req.mode = cases[i].mode;
        pipc__binding_t b = binding_of(t, &req);
        assert_string_equal(minors_text(t, b.order, b.norder), cases[i].order);
        pipc__topo_free(t);
    }
}

static void among_equals_gpus_near_granted_cores_and_a_nic(void **state)
{
    static const struct {
        const char *machine, *granted;
        int ranks;
        const char *order;
    } cases[] = {
        {"2x[sw:4gpu]", "8-15", 2, "4 5 6 7 0 1 2 3"},
        {"2x[sw:4gpu]", "4-9", 2, "0 1 2 3 4 5 6 7"}, /* both are near */
        {"2x[sw:4gpu]", "8-15", 5, "0 4 5 6 7 1 2 3"},
        {"[sw:4gpu]+[sw:2gpu]", "0-7", 2, "0 1 2 3 4 5"}, /* before idle ones */
        {"[sw:2gpu]+[sw:4gpu]", "0-7", 4, "2 3 4 5 0 1"}, /* crossings come first */
        {"[2gpu]+[sw:2gpu]", "0-7", 2, "2 3 0 1"},        /* so do switches */
        {"[sw:2gpu]+[sw:2gpu+nic]", NULL, 2, "2 3 0 1"},  /* a NIC below the switch */
        {"[sw:2gpu]+[sw:2gpu+nic]", "0-7", 2, "0 1 2 3"}, /* cores weigh more */
        {"[sw:2x[sw:2gpu]+[sw:2gpu+nic]]", NULL, 2, "4 5 0 1 2 3"},
        {"[sw:2gpu+[sw:2gpu]+nic]", NULL, 1, "0 1 2 3"}, /* not one more switch down */
        {"[sw:2gpu+[sw:2gpu]+nic]", NULL, 2, "2 3 0 1"}, /* but pairs come first */
        {"2x[sw:4gpu]", "", 2, "0 1 2 3 4 5 6 7"},       /* no core at all: all are far */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].machine);
        pipc__bind_request_t req = request(t, cases[i].ranks, NULL);
        hwloc_bitmap_t granted = cases[i].granted ? one_set(cases[i].granted) : NULL;
        req.granted = granted;
        pipc__binding_t b = binding_of(t, &req);
        assert_string_equal(minors_text(t, b.order, b.norder), cases[i].order);
        hwloc_bitmap_free(granted);
        pipc__topo_free(t);
    }
}

static void ranks_with_cpus_of_their_own(void **state)
{
    static const struct {
        const char *machine, *sets, *granted, *order;
    } cases[] = {
        /* whole parts change places */
        {"2x[2gpu]", "8 9 0 1", NULL, "2 3 0 1"},
        {"2x[2gpu]", "0 1 8 9", NULL, "0 1 2 3"},
        {"2x[2gpu]", "0-15 0-15 0-15 0-15", NULL, "0 1 2 3"},
        {"2x[sw:4gpu]", "8 9 10 11 0 1 2 3", NULL, "4 5 6 7 0 1 2 3"},
        {"[2x[sw:2gpu]]+[2x[sw:2gpu]]", "8 8 8 8 0 0 0 0", NULL, "4 5 6 7 0 1 2 3"},
        /* never at the price of a crossing: cyclic CPUs, and groups stay together */
        {"2x[2gpu]", "0 8 0 8", NULL, "0 1 2 3"},
        /* the set as well: two of the one node, one of the other */
        {"2x[2gpu]", "0 0 8", NULL, "0 1 2 3"},
        {"2x[2gpu]", "0 8 8", NULL, "0 2 3 1"},
        {"2x[2gpu]", "8 0 0", NULL, "2 0 1 3"},
        {"3x[2gpu]", "16 16 0", NULL, "4 5 0 1 2 3"},
        /* more ranks than GPUs: rank r has the GPU of rank r mod n */
        {"2x[gpu]", "8 0 8 0", NULL, "1 0"},
        {"2x[gpu]", "8 8 0 8", NULL, "0 1"}, /* two far, two near, in either order */
        /* unlike parts */
        {"[sw:3gpu]+[sw:gpu+nic]", "8 0 0 0", NULL, "3 0 1 2"},
        {"[sw:3gpu]+[sw:2gpu]", "8 8 0 0 0", "1 0 4 3 2", "3 4 0 1 2"},
        /* too many GPUs for this: the order of the nodes */
        {"[16gpu]+[gpu]", "8 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", NULL,
         "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"},
        {"[15gpu]+[gpu]", "8 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", NULL,
         "15 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        hwloc_const_bitmap_t sets[PIPC__BIND_MAX];
        pipc__topo_t *t = synthetic(cases[i].machine);
        pipc__bind_request_t req = request(t, rank_sets(cases[i].sets, sets), cases[i].granted);
        req.rank_cpus = sets;
        pipc__binding_t b = binding_of(t, &req);
        assert_string_equal(minors_text(t, b.order, b.norder), cases[i].order);
        free_sets(sets, req.nranks);
        pipc__topo_free(t);
    }
}

/* A virtual machine: each device is the root of a domain of its own, and only NUMA nodes tell. */
static void a_machine_of_single_devices_goes_by_numa_node(void **state)
{
    pipc__topo_t *t = synthetic("4x[gpu]");
    pipc__bind_request_t four = request(t, 4, NULL), two = request(t, 2, "1 2 3");

    (void)state;
    for (int i = 0; i < t->nobjs; i++)
        if (t->objs[i].numa >= 0)
            t->objs[i].numa %= 2;
    pipc__binding_t b = binding_of(t, &four);
    assert_string_equal(minors_text(t, b.order, 4), "0 2 1 3");
    for (int r = 0; r < 4; r++)
        assert_true(b.rank[r].group == PIPC__UNKNOWN && b.rank[r].numa == r / 2);
    b = binding_of(t, &two);
    assert_string_equal(minors_text(t, b.order, 3), "1 3 2");
    pipc__topo_free(t);
}

static void a_machine_without_numa_nodes_goes_by_switches(void **state)
{
    pipc__topo_t *t = synthetic("2x[sw:2gpu]");
    pipc__bind_request_t four = request(t, 4, "3 1 0 2"), two = request(t, 2, "0 3 2");
    hwloc_bitmap_t granted = one_set("0-7");

    (void)state;
    for (int i = 0; i < t->nobjs; i++)
        t->objs[i].numa = PIPC__UNKNOWN;
    four.granted = two.granted = granted;
    pipc__binding_t b = binding_of(t, &four);
    assert_string_equal(minors_text(t, b.order, 4), "0 1 2 3");
    assert_string_equal(cores_text(t, &b, "0-7", false), "0-7* 0-7* 0-7* 0-7*");
    assert_int_equal(b.rank[3].numa, PIPC__UNKNOWN);
    b = binding_of(t, &two);
    assert_string_equal(minors_text(t, b.order, 3), "2 3 0");
    hwloc_bitmap_free(granted);
    pipc__topo_free(t);
}

/* Slurm put half of the ranks on a package that has no GPU: far, but none goes without. */
static void ranks_on_a_package_without_gpus_get_the_others(void **state)
{
    pipc__topo_t *t = synthetic("[sw:4gpu+nic]+[nic]");
    pipc__bind_request_t req = request(t, 4, NULL);
    hwloc_const_bitmap_t sets[4];

    (void)state;
    rank_sets("8 9 0 1", sets);
    req.rank_cpus = sets;
    pipc__binding_t b = binding_of(t, &req);
    assert_string_equal(minors_text(t, b.order, 4), "0 1 2 3");
    assert_string_equal(cores_text(t, &b, "8-9", true), "8-9* 8-9* 8-9* 8-9*");
    free_sets(sets, 4);
    pipc__topo_free(t);
}

/* ---- cores ----------------------------------------------------------------------------------- */

static void cores_near_the_gpu_shared_out(void **state)
{
    static const struct {
        const char *machine;
        int ranks;
        const char *gpus, *granted, *cores;
    } cases[] = {
        {"2x[sw:4gpu]", 8, NULL, "0-15", "0-1 2-3 4-5 6-7 8-9 10-11 12-13 14-15"},
        {"2x[sw:4gpu]", 2, NULL, "0-15", "0-3 4-7"},
        {"2x[sw:4gpu]", 2, "0 4", "0-15", "0-7 8-15"},
        {"2x[sw:4gpu]", 3, NULL, "0-15", "0-1 2-4 5-7"}, /* 8 cores in three */
        {"2x[sw:4gpu]", 2, "0 4", "4-9", "4-7 8-9"},     /* cut to the grant */
        {"2x[sw:4gpu]", 2, "0 1", "2,5,8-15", "2 5"},
        {"2x[sw:4gpu]", 2, "0 4", "8-15", "8-15* 8-15"}, /* none is near rank 0: keep the grant */
        {"2x[sw:4gpu]", 4, NULL, "0-1", "0-1 0-1 0-1 0-1"}, /* too few: share, never empty */
        {"2x[sw:4gpu]", 1, NULL, "0-15", "0-15"},           /* torchrun: all of it */
        {"2x[sw:4gpu]", 1, "5", "0-15", "8-15"},
        {"2x[sw:4gpu]", 16, NULL, "0-15",
         "0 1 2 3 8 9 10 11 4 5 6 7 12 13 14 15"}, /* two ranks a GPU */
        {"2x[4gpu]", 4, "0 1 4 5", "0-15", "0-3 4-7 8-11 12-15"},
        {"[0core+gpu]+[gpu]", 2, NULL, "0-7", "0-7 0-7*"},    /* memory only: nowhere near, last */
        {"[nic]+[nic]", 4, "", "0-15", "0-3 4-7 8-11 12-15"}, /* no GPU: NUMA nodes in blocks */
        {"[nic]+[nic]", 3, "", "0-15", "0-3 4-7 8-15"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].machine);
        pipc__bind_request_t req = request(t, cases[i].ranks, cases[i].gpus);
        pipc__binding_t b = binding_of(t, &req);
        assert_string_equal(cores_text(t, &b, cases[i].granted, false), cases[i].cores);
        pipc__topo_free(t);
    }
}

static void a_grant_that_is_the_tasks_own_is_not_shared_out(void **state)
{
    pipc__topo_t *t = synthetic("2x[sw:4gpu]");
    pipc__bind_request_t req = request(t, 4, "0 1 4 5");
    pipc__binding_t b = binding_of(t, &req);

    (void)state;
    assert_string_equal(cores_text(t, &b, "2-3", true), "2-3 2-3 2-3* 2-3*");
    assert_string_equal(cores_text(t, &b, "6-9", true), "6-7 6-7 8-9 8-9");
    pipc__topo_free(t);
}

/* One task, several GPUs: all cores near all of them. */
static void cores_around_several_gpus(void **state)
{
    static const struct {
        const char *machine, *gpus, *granted, *cores;
    } cases[] = {
        {"4x[sw:2gpu]", "0 1", "0-31", "0-7"},       {"4x[sw:2gpu]", "0 4", "0-31", "0-7,16-23"},
        {"4x[sw:2gpu]", "0 4", "4-17", "4-7,16-17"}, {"4x[sw:2gpu]", "0 4", "8-15", "8-15*"},
        {"[0core+gpu]+[gpu]", "0 1", "0-7", "0-7"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].machine);
        pipc__bind_request_t req = request(t, 1, cases[i].gpus);
        hwloc_bitmap_t granted = hwloc_bitmap_alloc(), out = hwloc_bitmap_alloc();
        char text[64];
        bool near;
        hwloc_bitmap_list_sscanf(granted, cases[i].granted);
        assert_int_equal(pipc__bind_cores_around(t, req.gpus, req.ngpus, granted, out, &near, NULL),
                         PIPC_OK);
        hwloc_bitmap_list_snprintf(text, sizeof(text) - 1, out);
        strcat(text, near ? "" : "*");
        assert_string_equal(text, cases[i].cores);
        hwloc_bitmap_free(granted);
        hwloc_bitmap_free(out);
        pipc__topo_free(t);
    }
}

/* Linux numbers the siblings of CPU 0..3 as 4..7: a core must not be cut in two. */
static void siblings_stay_together(void **state)
{
    pipc__topo_t *t = synthetic("[sw:3gpu]");

    (void)state;
    for (int i = 0; i < t->ncores; i++)
        hwloc_bitmap_free(t->cores[i]);
    t->ncores = 4;
    for (int i = 0; i < 4; i++) {
        t->cores[i] = hwloc_bitmap_alloc();
        hwloc_bitmap_set(t->cores[i], (unsigned int)i);
        hwloc_bitmap_set(t->cores[i], (unsigned int)i + 4);
    }
    pipc__bind_request_t two = request(t, 2, "0 1"), three = request(t, 3, NULL);
    pipc__binding_t b = binding_of(t, &two);
    assert_string_equal(cores_text(t, &b, "0-7", false), "0-1,4-5 2-3,6-7");
    assert_string_equal(cores_text(t, &b, "1-2,5-6", false), "1,5 2,6");
    assert_string_equal(cores_text(t, &b, "0,4", false), "0,4 0,4"); /* one core for two ranks */
    b = binding_of(t, &three);
    assert_string_equal(cores_text(t, &b, "0-7", false), "0,4 1,5 2-3,6-7");
    pipc__topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_follow_their_cpus_not_their_gpus),
        cmocka_unit_test(among_equals_gpus_near_granted_cores_and_a_nic),
        cmocka_unit_test(ranks_with_cpus_of_their_own),
        cmocka_unit_test(a_machine_of_single_devices_goes_by_numa_node),
        cmocka_unit_test(a_machine_without_numa_nodes_goes_by_switches),
        cmocka_unit_test(ranks_on_a_package_without_gpus_get_the_others),
        cmocka_unit_test(cores_near_the_gpu_shared_out),
        cmocka_unit_test(a_grant_that_is_the_tasks_own_is_not_shared_out),
        cmocka_unit_test(cores_around_several_gpus),
        cmocka_unit_test(siblings_stay_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
