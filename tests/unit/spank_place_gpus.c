/* tests/unit/spank_place_gpus.c - the GPUs of a task: lists as CUDA reads them, every way of
 * showing GPUs, orders, maps
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spank/gpulist.h"
#include "tests/unit/place_case.h"

/* Minors in the order that a driver may have found the cards in, against the bus. */
static void reverse_minors(pipc__topo_t *topo, int n)
{
    for (int i = 0; i < topo->nobjs; i++)
        if (topo->objs[i].kind == PIPC__TOPO_GPU)
            topo->objs[i].minor = n - 1 - topo->objs[i].minor;
}

/* --- lists ---------------------------------------------------------------------------------- */

static void lists_as_cuda_reads_them(void **state)
{
    static const struct {
        const char *text;
        uint64_t minors;
        pipc__gpulist_kind_t kind;
        int count;
        const char *minors_read; /* KNOWN: in order */
    } cases[] = {
        {NULL, ALL8, PIPC__LIST_ABSENT, 0, NULL},
        {"", ALL8, PIPC__LIST_NONE, 0, NULL},
        {"NoDevFiles", ALL8, PIPC__LIST_NONE, 0, NULL},
        {"-1", ALL8, PIPC__LIST_NONE, 0, NULL},
        {"0", ALL8, PIPC__LIST_KNOWN, 1, "0"},
        {"4,5,6,7", ALL8, PIPC__LIST_KNOWN, 4, "4 5 6 7"},
        {"7,0", ALL8, PIPC__LIST_KNOWN, 2, "7 0"},
        {"0,1", 0x30, PIPC__LIST_KNOWN, 2, "4 5"}, /* relative: the cgroup grants 4 and 5 */
        {"0", 0x20, PIPC__LIST_KNOWN, 1, "5"},
        {"1", 0x20, PIPC__LIST_OPAQUE, 1, NULL}, /* beyond what is granted */
        {"0,1", 0, PIPC__LIST_OPAQUE, 2, NULL},
        {"8", ALL8, PIPC__LIST_OPAQUE, 1, NULL},
        {"0,0", ALL8, PIPC__LIST_OPAQUE, 2, NULL}, /* CUDA shows nothing at all then */
        {"0,00", ALL8, PIPC__LIST_OPAQUE, 2, NULL},
        {"0,", ALL8, PIPC__LIST_OPAQUE, 2, NULL},
        {",0", ALL8, PIPC__LIST_OPAQUE, 2, NULL},
        {" 0", ALL8, PIPC__LIST_OPAQUE, 1, NULL},
        {"+1", ALL8, PIPC__LIST_OPAQUE, 1, NULL},
        {"0x1", ALL8, PIPC__LIST_OPAQUE, 1, NULL},
        {"1,-1,2", ALL8, PIPC__LIST_OPAQUE, 3, NULL},
        {"99999999999999999999", ALL8, PIPC__LIST_OPAQUE, 1, NULL},
        {"0\n1", ALL8, PIPC__LIST_OPAQUE, 1, NULL},
        {"0;rm", ALL8, PIPC__LIST_OPAQUE, 1, NULL},
        {"GPU-1a6,GPU-0a2", ALL8, PIPC__LIST_KNOWN, 2, "6 2"},
        {"GPU-1a7", 0x80, PIPC__LIST_KNOWN, 1, "7"},
        {"GPU-1a7", 0x01, PIPC__LIST_OPAQUE, 1, NULL}, /* another job's */
        {"GPU-1", 0x81, PIPC__LIST_KNOWN, 1, "7"},     /* the first part is enough if one has it */
        {"GPU-1", ALL8, PIPC__LIST_OPAQUE, 1, NULL},
        {"GPU-", 0x01, PIPC__LIST_OPAQUE, 1, NULL},
        {"GPU-1a77", ALL8, PIPC__LIST_OPAQUE, 1, NULL},
        {"GPU-0a0,1", ALL8, PIPC__LIST_OPAQUE, 2, NULL}, /* mixed */
        {"1,GPU-0a0", ALL8, PIPC__LIST_OPAQUE, 2, NULL},
        {"MIG-GPU-0a0/1/0", ALL8, PIPC__LIST_OPAQUE, 1, NULL},
        {"MIG-0a0,MIG-1a1", ALL8, PIPC__LIST_OPAQUE, 2, NULL},
        {"0,1", 0x300, PIPC__LIST_OPAQUE, 2, NULL}, /* granted, but not in the tree */
        {"0", 0x101, PIPC__LIST_OPAQUE, 1, NULL},   /* an unknown one may stand before it */
    };
    pipc__topo_t *topo = tree(EIGHT);

    (void)state;
    name_uuids(topo);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pipc__view_t v = view(cases[i].minors, cases[i].text);
        pipc__gpulist_t list;
        char read[64] = "";
        pipc__gpulist_read(topo, &v, &list);
        if (list.kind != cases[i].kind || list.count != cases[i].count)
            fail_msg("\"%s\": kind %d, count %d", v.list, (int)list.kind, list.count);
        for (int e = 0; list.kind == PIPC__LIST_KNOWN && e < list.count; e++)
            snprintf(read + strlen(read), sizeof(read) - strlen(read), "%s%d", e ? " " : "",
                     topo->objs[list.gpu[e]].minor);
        if (list.kind == PIPC__LIST_KNOWN)
            assert_string_equal(read, cases[i].minors_read);
    }
    pipc__topo_free(topo);
}

static void endless_lists_stay_opaque(void **state)
{
    pipc__topo_t *topo = tree(EIGHT);
    pipc__view_t v = view(ALL8, "");
    pipc__gpulist_t list;

    (void)state;
    memset(v.list, ',', sizeof(v.list) - 1);
    v.list[sizeof(v.list) - 1] = '\0';
    pipc__gpulist_read(topo, &v, &list);
    assert_int_equal(list.kind, PIPC__LIST_OPAQUE);
    for (int i = 0; i < 65; i++)
        memcpy(v.list + 2 * i, "0,", 3);
    v.list[129] = '\0';
    pipc__gpulist_read(topo, &v, &list);
    assert_int_equal(list.kind, PIPC__LIST_OPAQUE);
    assert_int_equal(list.count, 65);
    pipc__topo_free(topo);
}

static void numbers_count_in_bus_order_not_in_minors(void **state)
{
    pipc__topo_t *topo = tree("[sw:4gpu]");
    pipc__view_t v = view(0xf, "0,1");
    pipc__gpulist_t list;

    (void)state;
    reverse_minors(topo, 4);
    pipc__gpulist_read(topo, &v, &list);
    assert_int_equal(topo->objs[list.gpu[0]].minor, 3);
    assert_int_equal(topo->objs[list.gpu[1]].minor, 2);
    v = view(0x3, "0,1"); /* the two granted are the last two on the bus */
    pipc__gpulist_read(topo, &v, &list);
    assert_int_equal(topo->objs[list.gpu[0]].minor, 1);
    assert_int_equal(topo->objs[list.gpu[1]].minor, 0);
    pipc__topo_free(topo);
}

static void lists_that_do_not_fit_are_not_cut(void **state)
{
    pipc__topo_t *topo = tree(EIGHT);
    pipc__view_t v = view(ALL8, "0,1,2");
    pipc__gpulist_t list;
    char buf[6];
    int order[3];

    (void)state;
    pipc__gpulist_read(topo, &v, &list);
    order[0] = list.gpu[2], order[1] = list.gpu[0], order[2] = list.gpu[1];
    assert_true(pipc__gpulist_write(&list, order, buf, 6));
    assert_string_equal(buf, "2,0,1");
    assert_false(pipc__gpulist_write(&list, order, buf, 5));
    assert_string_equal(buf, "");
    order[1] = 0; /* no GPU of the list */
    assert_false(pipc__gpulist_write(&list, order, buf, 6));
    pipc__topo_free(topo);
}

/* --- one task ------------------------------------------------------------------------------- */

static const struct place_case place_cases[] = {
    /* --gpus-per-node, --gres */
    {"same list", EIGHT, 5, 8, ALL8, "0,1,2,3,4,5,6,7", ALL8, "0,1,2,3,4,5,6,7", false,
     PIPC__SHOWN_SAME, 8, 0, "", "5"},
    {"a pair under one switch first", EIGHT, 0, 2, ALL8, "3,4,5", ALL8, "3,4,5", false,
     PIPC__SHOWN_SAME, 3, 0, "4,5,3", "4"},
    {"... for every rank alike", EIGHT, 1, 2, ALL8, "3,4,5", ALL8, "3,4,5", false, PIPC__SHOWN_SAME,
     3, 0, "4,5,3", "5"},
    {"the same, constrained: numbers stay relative", EIGHT, 0, 2, 0x38, "0,1,2", 0x38, "0,1,2",
     false, PIPC__SHOWN_SAME, 3, 0, "1,2,0", "4"},
    {"the same, constrained, cgroup v2: slurmstepd opens all", EIGHT, 0, 2, ALL8, "0,1,2", 0x38,
     "0,1,2", false, PIPC__SHOWN_SAME, 3, 0, "1,2,0", "4"},
    {"the second half of a node", EIGHT, 3, 4, ALL8, "4,5,6,7", ALL8, "4,5,6,7", false,
     PIPC__SHOWN_SAME, 4, 0, "", "7"},
    {"more ranks than GPUs", EIGHT, 5, 6, 0x3, "0,1", 0x3, "0,1", false, PIPC__SHOWN_SAME, 2, 0, "",
     "1"},
    {"the larger switch holds all ranks", "[sw:3gpu]+[sw:5gpu]", 0, 4, ALL8, "0,1,2,3,4,5,6,7",
     ALL8, "0,1,2,3,4,5,6,7", false, PIPC__SHOWN_SAME, 8, 0, "3,4,5,6,*", "3"},
    {"UUIDs stay UUIDs", EIGHT, 0, 2, ALL8, "GPU-0a3,GPU-1a4,GPU-1a5", ALL8,
     "GPU-0a3,GPU-1a4,GPU-1a5", false, PIPC__SHOWN_SAME, 3, 0, "GPU-1a4,GPU-1a5,GPU-0a3", "4"},
    /* --gpus-per-task */
    {"own list, not constrained", EIGHT, 2, 4, ALL8, "0,1,2,3", ALL8, "2", false, PIPC__SHOWN_OWN,
     1, 0, "", "2"},
    {"own list, constrained", EIGHT, 2, 4, 0xf, "0,1,2,3", 0x4, "0", false, PIPC__SHOWN_OWN, 1, 3,
     "", "2"},
    {"own list, constrained, cgroup v2", EIGHT, 2, 4, ALL8, "0,1,2,3", 0x40, "0", false,
     PIPC__SHOWN_OWN, 1, 3, "", "6"},
    {"two each, constrained", EIGHT, 1, 2, 0xf, "0,1,2,3", 0xc, "0,1", false, PIPC__SHOWN_OWN, 2, 2,
     "", "2"},
    {"two each, across switches", "4x[sw:2gpu]", 0, 2, ALL8, "0,1,2,3", ALL8, "0,3", false,
     PIPC__SHOWN_OWN, 2, 0, "", "0"},
    {"mapped by the user", EIGHT, 0, 2, ALL8, "0,1,2,3", ALL8, "3", false, PIPC__SHOWN_OWN, 1, 0,
     "", "3"},
    {"two tasks a GPU", EIGHT, 3, 4, 0x3, "0,1", 0x2, "0", false, PIPC__SHOWN_OWN, 1, 1, "", "1"},
    {"two tasks, one and the same GPU", EIGHT, 1, 2, 0x1, "0", 0x1, "0", false, PIPC__SHOWN_SAME, 1,
     0, "", "0"},
    /* one task: torchrun */
    {"one task, all GPUs: no GPU of its own", EIGHT, 0, 1, ALL8, "0,1,2,3,4,5,6,7", ALL8,
     "0,1,2,3,4,5,6,7", false, PIPC__SHOWN_ONE, 8, 0, "", ""},
    {"one task: switch order", EIGHT, 0, 1, ALL8, "4,1,5,0", ALL8, "4,1,5,0", false,
     PIPC__SHOWN_ONE, 4, 0, "0,1,4,5", ""},
    {"one task, one GPU", EIGHT, 0, 1, ALL8, "6", ALL8, "6", false, PIPC__SHOWN_ONE, 1, 0, "", "6"},
    {"one task hides nobody's", EIGHT, 0, 1, 0xf, "0,1,2,3", 0x2, "0", false, PIPC__SHOWN_ONE, 1, 0,
     "", "1"},
    /* --gpu-bind=none */
    {"no list, not constrained: the step's, not the node's", EIGHT, 1, 2, ALL8, "4,5,6", ALL8, NULL,
     false, PIPC__SHOWN_SAME, 3, 0, "4,5,6", "5"},
    {"no list, constrained", EIGHT, 1, 2, 0x38, "0,1,2", 0x38, NULL, false, PIPC__SHOWN_SAME, 3, 0,
     "1,2,0", "5"},
    {"no list, constrained, cgroup v2", EIGHT, 1, 2, ALL8, "0,1,2", 0x38, NULL, false,
     PIPC__SHOWN_SAME, 3, 0, "1,2,0", "5"},
    {"Slurm's own numbers (no_gpu_env), constrained", EIGHT, 1, 2, 0x38, "3,4,5", 0x38, NULL, false,
     PIPC__SHOWN_SAME, 3, 0, "1,2,0", "5"},
    {"Slurm's own numbers, constrained, one each: the peer's is not known", EIGHT, 1, 2, 0x30,
     "4,5", 0x20, NULL, false, PIPC__SHOWN_OWN, 0, 0, "", ""},
    /* nothing to bind, or nothing understood */
    {"no GPU granted, though all can be opened", EIGHT, 0, 2, ALL8, NULL, ALL8, NULL, false,
     PIPC__SHOWN_SAME, 0, 0, "", ""},
    {"an empty list", EIGHT, 0, 2, ALL8, "", ALL8, "", false, PIPC__SHOWN_SAME, 0, 0, "", ""},
    {"MIG", EIGHT, 0, 2, 0x1, "MIG-1,MIG-2", 0x1, "MIG-1", false, PIPC__SHOWN_OWN, 0, 0, "", ""},
    {"GPUs that the tree does not hold", "[sw:2gpu]", 0, 2, 0xf, "0,1,2,3", 0xf, "0,1,2,3", false,
     PIPC__SHOWN_SAME, 0, 0, "", ""},
    {"a list of another job's GPUs", EIGHT, 0, 2, 0x3, "0,1", 0x3, "4,5", false, PIPC__SHOWN_SAME,
     0, 0, "", ""},
    /* bind:none: facts only */
    {"none, same list", EIGHT, 1, 2, ALL8, "3,4,5", ALL8, "3,4,5", true, PIPC__SHOWN_SAME, 3, 0, "",
     "4"},
    {"none, own list", EIGHT, 1, 2, 0x3, "0,1", 0x2, "0", true, PIPC__SHOWN_OWN, 1, 1, "", "1"},
    {"none, one task", EIGHT, 0, 1, ALL8, "4,1", ALL8, "4,1", true, PIPC__SHOWN_ONE, 2, 0, "", ""},
    {"none, more tasks than can be bound", EIGHT, 99, 100, 0x3, "0,1", 0x3, "0,1", true,
     PIPC__SHOWN_SAME, 2, 0, "", "1"},
};

static bool is_list(const char *got, const char *wanted)
{
    size_t fixed = strcspn(wanted, "*");

    return wanted[fixed] ? !strncmp(got, wanted, fixed) : !strcmp(got, wanted);
}

static void every_way_of_showing_gpus(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(place_cases) / sizeof(place_cases[0]); i++) {
        const struct place_case *c = &place_cases[i];
        pipc__topo_t *topo = tree(c->topology);
        pipc__error_t err = {PIPC_OK, ""};
        pipc__place_in_t in;
        pipc__place_out_t out;
        name_uuids(topo);
        fill(c, &in);
        if (pipc__place(topo, &in, &out, &err))
            fail_msg("%s: %s", c->what, err.text);
        if (out.shown != c->shown || out.ngpus != c->ngpus || out.hidden != c->hidden ||
            !is_list(out.list, c->list) || strcmp(out.minor, c->minor))
            fail_msg("%s: shown %d, %d GPUs, %d hidden, list \"%s\", minor \"%s\"", c->what,
                     (int)out.shown, out.ngpus, out.hidden, out.list, out.minor);
        if (c->none)
            assert_false(out.narrowed);
        pipc__topo_free(topo);
    }
}

/* What a program that takes device LOCALID gets is what the facts say, for every rank. */
static void entry_r_is_rank_rs_gpu(void **state)
{
    pipc__topo_t *topo = tree("[sw:3gpu]+[sw:5gpu]");

    (void)state;
    for (int r = 0; r < 5; r++) {
        struct place_case c = {.rank = r,
                               .nranks = 5,
                               .step_minors = ALL8,
                               .task_minors = ALL8,
                               .step_list = "0,1,2,3,4,5,6,7",
                               .task_list = "0,1,2,3,4,5,6,7"};
        pipc__place_in_t in;
        pipc__place_out_t out;
        pipc__view_t again;
        pipc__gpulist_t list;
        fill(&c, &in);
        assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
        again = view(ALL8, out.list);
        pipc__gpulist_read(topo, &again, &list);
        assert_int_equal(list.kind, PIPC__LIST_KNOWN);
        assert_int_equal(topo->objs[list.gpu[r]].minor, atoi(out.minor));
    }
    pipc__topo_free(topo);
}

/* The order is the option's, the list and the cores are the user's where he has said so. */
static void orders_and_wishes(void **state)
{
    static const struct {
        const char *what, *step_list, *task_list;
        int rank, nranks;
        pipc__order_t order;
        bool keep_list, keep_cpus;
        const char *list, *minor;
        unsigned long cores; /* of 16, 8 a NUMA node */
    } cases[] = {
        {"spread", "0,1,4,5", "0,1,4,5", 1, 4, PIPC__ORDER_SPREAD, false, false, "0,4,1,5", "4",
         0x0f00},
        {"spread, fewer ranks: the same order", "0,1,4,5", "0,1,4,5", 1, 2, PIPC__ORDER_SPREAD,
         false, false, "0,4,1,5", "4", 0xff00},
        {"spread, more ranks", "0,4", "0,4", 3, 4, PIPC__ORDER_SPREAD, false, false, "", "4",
         0xf000},
        {"spread, one task: its workers", "0,1,4,5", "0,1,4,5", 0, 1, PIPC__ORDER_SPREAD, false,
         false, "0,4,1,5", "", 0xffff},
        {"numa", "4,1,5,0", "4,1,5,0", 2, 4, PIPC__ORDER_NUMA, false, false, "0,1,4,5", "4",
         0x0f00},
        {"the user's list, the same for all", "1,0", "1,0", 0, 2, PIPC__ORDER_SWITCH, true, false,
         "", "1", 0x00ff},
        {"the user's list, own", "0,1,4,5", "5,1", 0, 2, PIPC__ORDER_SWITCH, true, false, "", "5",
         0xff00},
        {"the user's list, one task", "5,0", "5,0", 0, 1, PIPC__ORDER_SWITCH, true, false, "", "",
         0xffff},
        {"the user's cores", "0,1", "0,1", 1, 2, PIPC__ORDER_SWITCH, false, true, "", "1", 0xffff},
    };
    pipc__topo_t *topo = tree(EIGHT);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct place_case c = {.rank = cases[i].rank,
                               .nranks = cases[i].nranks,
                               .step_minors = ALL8,
                               .task_minors = ALL8,
                               .step_list = cases[i].step_list,
                               .task_list = cases[i].task_list};
        pipc__place_in_t in;
        pipc__place_out_t out;
        fill(&c, &in);
        in.order = cases[i].order;
        in.keep_list = cases[i].keep_list;
        in.keep_cpus = cases[i].keep_cpus;
        assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
        if (strcmp(out.list, cases[i].list) || strcmp(out.minor, cases[i].minor) ||
            out.cpus.word[0] != cases[i].cores || out.narrowed != (cases[i].cores != 0xffff))
            fail_msg("%s: list \"%s\", minor \"%s\", cores %lx", cases[i].what, out.list, out.minor,
                     out.cpus.word[0]);
    }
    pipc__topo_free(topo);
}

static void maps(void **state)
{
    static const struct {
        const char *what, *list, *task_list;
        int rank, nranks;
        bool keep_list;
        int map[3], nmap;
        const char *new_list, *minor; /* new_list NULL: refused */
    } cases[] = {
        {"places among the granted", "3,4,5", "3,4,5", 0, 2, false, {2, 0}, 2, "5,3,4", "5"},
        {"two on one GPU, the first", "3,4,5", "3,4,5", 0, 2, false, {2, 2}, 2, "5,3,4", "5"},
        {"... and the second", "3,4,5", "3,4,5", 1, 2, false, {2, 2}, 2, "3,5,4", "5"},
        {"more tasks than GPUs", "0,1", "0,1", 3, 4, false, {1, 0}, 2, "1,0", "0"},
        {"one task", "0,1,2", "0,1,2", 0, 1, false, {2, 0, 1}, 3, "2,0,1", ""},
        {"too far", "0,1,2", "0,1,2", 0, 2, false, {2, 3}, 2, NULL, ""},
        {"own lists", "0,1", "1", 1, 2, false, {0, 1}, 2, NULL, ""},
        {"the user's own list", "0,1", "1", 1, 2, true, {0, 1}, 2, "", "1"},
    };
    pipc__topo_t *topo = tree(EIGHT);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct place_case c = {.rank = cases[i].rank,
                               .nranks = cases[i].nranks,
                               .step_minors = ALL8,
                               .task_minors = ALL8,
                               .step_list = cases[i].list,
                               .task_list = cases[i].task_list};
        pipc__place_in_t in;
        pipc__place_out_t out;
        fill(&c, &in);
        in.order = PIPC__ORDER_MAP;
        in.keep_list = cases[i].keep_list;
        memcpy(in.map, cases[i].map, sizeof(cases[i].map));
        in.nmap = cases[i].nmap;
        pipc_status_t st = pipc__place(topo, &in, &out, NULL);
        if (!st != !!cases[i].new_list || strcmp(out.minor, cases[i].minor) ||
            strcmp(out.list, st ? "" : cases[i].new_list))
            fail_msg("%s: status %d, list \"%s\", minor \"%s\"", cases[i].what, (int)st, out.list,
                     out.minor);
    }
    pipc__topo_free(topo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_as_cuda_reads_them),
        cmocka_unit_test(endless_lists_stay_opaque),
        cmocka_unit_test(numbers_count_in_bus_order_not_in_minors),
        cmocka_unit_test(lists_that_do_not_fit_are_not_cut),
        cmocka_unit_test(every_way_of_showing_gpus),
        cmocka_unit_test(entry_r_is_rank_rs_gpu),
        cmocka_unit_test(orders_and_wishes),
        cmocka_unit_test(maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
