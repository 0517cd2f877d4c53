/* tests/unit/spank_place_facts.c - what a task is told of its place: the GPU, its way, RDMA devices
 * near it; no facts, and a note, where a place can't be told
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/place_case.h"

static void facts_of_a_bound_task(void **state)
{
    struct place_case c = {.rank = 5,
                           .nranks = 8,
                           .step_minors = ALL8,
                           .task_minors = ALL8,
                           .step_list = "0,1,2,3,4,5,6,7",
                           .task_list = "0,1,2,3,4,5,6,7"};
    pipc__topo_t *topo = tree(EIGHT);
    pipc__place_in_t in;
    pipc__place_out_t out;
    int gpu = pipc__topo_gpu_by_minor(topo, 5);

    (void)state;
    name_uuids(topo);
    fill(&c, &in);
    assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
    assert_string_equal(out.bdf, topo->objs[gpu].name);
    assert_string_equal(out.uuid, "GPU-1a5");
    assert_string_equal(out.numa, "1");
    assert_string_equal(out.sw, topo->objs[pipc__topo_switch_of(topo, gpu)].name);
    assert_string_not_equal(out.nic, "");
    assert_string_equal(out.source, "synthetic");
    /* 8 cores a node, four ranks each: the second pair of node 1 */
    assert_true(out.narrowed);
    assert_true(out.near);
    assert_int_equal(out.cpus.word[0], 0x0c00);
    pipc__topo_free(topo);
}

static void long_ways_are_cut_and_said_to_be(void **state)
{
    struct place_case c = {
        .nranks = 2, .step_minors = 3, .task_minors = 3, .step_list = "0,1", .task_list = "0,1"};
    pipc__topo_t *topo = tree("[sw:[sw:[sw:2gpu]+nic]+nic]");
    pipc__place_in_t in;
    pipc__place_out_t out;

    (void)state;
    fill(&c, &in);
    assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
    assert_string_equal(out.way, "numa0/0000:00/0000:01:00.0/0000:03:00.0/0000:05:00.0");
    assert_false(out.way_cut);
    for (int i = 0; i < topo->nobjs; i++)
        if (topo->objs[i].kind == PIPC__TOPO_SWITCH)
            memset(topo->objs[i].name, 'a', PIPC__NAME_MAX - 1);
    assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
    assert_true(out.way_cut);
    assert_int_equal(strlen(out.way), strlen("numa0/0000:00") + 2 * PIPC__NAME_MAX);
    pipc__topo_free(topo);
}

static void rdma_devices_by_name(void **state)
{
    static const struct {
        const char *what, *list;
        int rank, nranks;
        bool keep_list;
        const char *own, *node;
    } cases[] = {
        {"as near as the own, and all of the node", "0,4", 1, 2, false, "mlx2,mlx3",
         "mlx0,mlx1,mlx2,mlx3"},
        {"one side only", "0,1", 1, 2, false, "mlx0,mlx1", "mlx0,mlx1"},
        {"one task: one list for all its workers", "0,4", 0, 1, false, "mlx0,mlx1,mlx2,mlx3",
         "mlx0,mlx1,mlx2,mlx3"},
        {"peers not known: nothing for the node", "0,4", 0, 2, true, "mlx0,mlx1", ""},
    };
    pipc__topo_t *topo = tree("2x[sw:4gpu+2nic]");
    int n = 0;

    (void)state;
    for (int i = 0; i < topo->nobjs; i++)
        if (topo->objs[i].kind == PIPC__TOPO_NIC)
            snprintf(topo->objs[i].netdev, sizeof(topo->objs[i].netdev), "mlx%d", n++);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct place_case c = {.rank = cases[i].rank,
                               .nranks = cases[i].nranks,
                               .step_minors = ALL8,
                               .task_minors = ALL8,
                               .step_list = cases[i].list,
                               .task_list = cases[i].list};
        pipc__place_in_t in;
        pipc__place_out_t out;
        fill(&c, &in);
        in.keep_list = cases[i].keep_list;
        assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
        if (strcmp(out.rdma, cases[i].own) || strcmp(out.rdma_node, cases[i].node))
            fail_msg("%s: \"%s\", \"%s\"", cases[i].what, out.rdma, out.rdma_node);
        in.bind = false;
        assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
        assert_string_equal(out.rdma, "");
    }
    for (int i = 0; i < topo->nobjs; i++) /* one without a name: half a list is none */
        if (!strcmp(topo->objs[i].netdev, "mlx1"))
            topo->objs[i].netdev[0] = '\0';
    struct place_case c = {0,
                           .nranks = 2,
                           .step_minors = ALL8,
                           .task_minors = ALL8,
                           .step_list = "0,4",
                           .task_list = "0,4"};
    pipc__place_in_t in;
    pipc__place_out_t out;
    fill(&c, &in);
    assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
    assert_string_equal(out.rdma, "");
    assert_string_equal(out.rdma_node, "");
    pipc__topo_free(topo);
}

/* The inner switch's own, for the node those of all that have a task; none of the outer switch. */
static void rdma_devices_of_nested_switches(void **state)
{
    pipc__topo_t *topo = tree("[sw:2x[sw:2gpu+1nic]+1nic]+[sw:4gpu+1nic]");
    struct place_case c = {.rank = 2,
                           .nranks = 4,
                           .step_minors = ALL8,
                           .task_minors = ALL8,
                           .step_list = "0,1,2,3",
                           .task_list = "0,1,2,3"};
    pipc__place_in_t in;
    pipc__place_out_t out;
    int n = 0;

    (void)state;
    for (int i = 0; i < topo->nobjs; i++)
        if (topo->objs[i].kind == PIPC__TOPO_NIC)
            snprintf(topo->objs[i].netdev, sizeof(topo->objs[i].netdev), "mlx%d", n++);
    fill(&c, &in);
    assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
    assert_string_equal(out.nic, "mlx1");
    assert_string_equal(out.rdma, "mlx1");
    assert_string_equal(out.rdma_node, "mlx0,mlx1");
    pipc__topo_free(topo);
}

/* CUDA's default order puts the faster model first; without binding nobody tells it otherwise. */
static void mixed_models_have_no_facts_unbound(void **state)
{
    struct place_case c = {.rank = 1,
                           .nranks = 2,
                           .step_minors = 0xf,
                           .task_minors = 0xf,
                           .step_list = "0,1",
                           .task_list = "0,1",
                           .none = true};
    pipc__topo_t *topo = tree("[sw:4gpu]");
    pipc__place_in_t in;
    pipc__place_out_t out;

    (void)state;
    topo->objs[pipc__topo_gpu_by_minor(topo, 3)].device = 0x1234;
    fill(&c, &in);
    assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
    assert_string_equal(out.bdf, "");
    in.bus_order = true;
    assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
    assert_string_equal(out.minor, "1");
    in.bus_order = false, in.bind = true;
    assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
    assert_string_equal(out.minor, "1");
    pipc__topo_free(topo);
}

static void what_cannot_be_bound_is_left_alone(void **state)
{
    struct place_case c = {.rank = 1,
                           .nranks = 65,
                           .step_minors = ALL8,
                           .task_minors = ALL8,
                           .step_list = "3,4,5",
                           .task_list = "3,4,5"};
    pipc__topo_t *topo = tree(EIGHT);
    pipc__error_t err = {PIPC_OK, ""};
    pipc__place_in_t in;
    pipc__place_out_t out;

    (void)state;
    fill(&c, &in);
    assert_int_equal(pipc__place(topo, &in, &out, &err), PIPC_ERR_INVALID);
    assert_non_null(strstr(err.text, "bind:none"));
    assert_string_equal(out.list, "");
    assert_string_equal(out.bdf, "");
    assert_false(out.narrowed);
    assert_int_equal(out.cpus.word[0], 0xffff);
    pipc__topo_free(topo);
}

static void notes_say_why_devices_were_left(void **state)
{
    struct place_case mig = {.nranks = 2,
                             .step_minors = 1,
                             .task_minors = 1,
                             .step_list = "MIG-1",
                             .task_list = "MIG-1"};
    struct place_case small = {.nranks = 2,
                               .step_minors = ALL8,
                               .task_minors = ALL8,
                               .step_list = "0,1",
                               .task_list = "0,1"};
    pipc__topo_t *topo = tree("[sw:2gpu]");
    pipc__place_in_t in;
    pipc__place_out_t out;

    (void)state;
    fill(&mig, &in);
    assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
    assert_non_null(strstr(out.note, "MIG"));
    fill(&small, &in);
    assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
    assert_non_null(strstr(out.note, "the topology (synthetic) does not hold every GPU"));
    pipc__topo_free(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_of_a_bound_task),
        cmocka_unit_test(long_ways_are_cut_and_said_to_be),
        cmocka_unit_test(rdma_devices_by_name),
        cmocka_unit_test(rdma_devices_of_nested_switches),
        cmocka_unit_test(mixed_models_have_no_facts_unbound),
        cmocka_unit_test(what_cannot_be_bound_is_left_alone),
        cmocka_unit_test(notes_say_why_devices_were_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
