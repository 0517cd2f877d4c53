/* tests/unit/spank_place.c - what becomes of a task: lists, ways of showing GPUs, cores, facts */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spank/cpulist.h"
#include "spank/gpulist.h"
#include "spank/place.h"

#define ALL8 0xff
#define EIGHT "2x[sw:4gpu+1nic]"

static pipc__topo_t *tree(const char *text)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc__topo_t *topo;

    if (pipc__topo_synthetic(&topo, text, &err))
        fail_msg("%s", err.text);
    return topo;
}

/* Minors in the order that a driver may have found the cards in, against the bus. */
static void reverse_minors(pipc__topo_t *topo, int n)
{
    for (int i = 0; i < topo->nobjs; i++)
        if (topo->objs[i].kind == PIPC__TOPO_GPU)
            topo->objs[i].minor = n - 1 - topo->objs[i].minor;
}

static void name_uuids(pipc__topo_t *topo)
{
    for (int i = 0; i < topo->nobjs; i++)
        if (topo->objs[i].kind == PIPC__TOPO_GPU)
            snprintf(topo->objs[i].uuid, sizeof(topo->objs[i].uuid), "GPU-%da%d",
                     topo->objs[i].minor / 4, topo->objs[i].minor);
}

static pipc__view_t view(uint64_t minors, const char *list)
{
    pipc__view_t v = {.minors = minors, .listed = list != NULL};

    snprintf(v.list, sizeof(v.list), "%s", list ? list : "");
    return v;
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

static const struct place_case {
    const char *what, *topology;
    int rank, nranks;
    uint64_t step_minors;
    const char *step_list;
    uint64_t task_minors;
    const char *task_list;
    bool none; /* bind:none */
    pipc__shown_t shown;
    int ngpus, hidden;
    const char *list;  /* the new one, "" for unchanged; "*": idle GPUs in any order */
    const char *minor; /* the task's GPU, "" for none */
} place_cases[] = {
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

static void fill(const struct place_case *c, pipc__place_in_t *in)
{
    memset(in, 0, sizeof(*in));
    in->bind = !c->none;
    in->rank = c->rank;
    in->nranks = c->nranks;
    in->step = view(c->step_minors, c->step_list);
    in->task = view(c->task_minors, c->task_list);
    in->cpus.word[0] = 0xffff;
    in->cpus_shared = true;
}

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

static void cores_only_ever_get_fewer(void **state)
{
    static const struct {
        const char *what, *step_list, *task_list;
        int rank, nranks;
        bool shared, near;
        unsigned long granted, cores;
    } cases[] = {
        {"shared out", "0,1,2,3", "0,1,2,3", 1, 4, true, true, 0xffff, 0x000c},
        {"the task's own are cut, not shared out", "0,1,2,3", "0,1,2,3", 1, 4, false, true, 0x00f0,
         0x00f0},
        {"... to those near", "0,1,2,3", "0,1,2,3", 1, 4, false, true, 0xfff0, 0x00f0},
        {"none near: as granted", "0,1,2,3", "0,1,2,3", 1, 4, false, false, 0xf000, 0xf000},
        {"nothing known of the cores", "0,1,2,3", "0,1,2,3", 1, 4, true, false, 0, 0},
        {"one task keeps all", "0,1,4,5", "0,1,4,5", 0, 1, true, true, 0xffff, 0xffff},
        {"one task, one GPU", "4", "4", 0, 1, true, true, 0xffff, 0xff00},
        {"own list: shared out among peers by Slurm's rule", "0,1,2,3", "1", 1, 4, true, true,
         0xffff, 0x000c},
        {"own list of two", "0,1,2,3,4,5,6,7", "2,3", 1, 4, true, true, 0xffff, 0x00f0},
        {"own list that no rule explains: all near", "0,1,2,3", "3", 0, 2, true, true, 0xffff,
         0x00ff},
        {"own GPUs on both nodes: the cores near either", "0,4,1,5", "0,4", 0, 2, true, true,
         0xffff, 0xffff},
        {"... none near: as granted", "0,4,1,5", "0,4", 0, 2, true, false, 0xf0000, 0xf0000},
        {"no GPU", NULL, NULL, 0, 2, true, false, 0xffff, 0xffff},
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
        in.cpus_shared = cases[i].shared;
        in.cpus.word[0] = cases[i].granted;
        assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
        if (out.cpus.word[0] != cases[i].cores || out.near != cases[i].near ||
            out.narrowed != (cases[i].cores != cases[i].granted))
            fail_msg("%s: cores %lx, near %d", cases[i].what, out.cpus.word[0], out.near);
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

/* --- CPUs of the tasks ----------------------------------------------------------------------- */

static void cpu_lists_as_slurm_writes_them(void **state)
{
    static const struct {
        const char *list;
        int nranks;
        const char *sets; /* as hwloc lists; NULL: unknown */
    } cases[] = {
        {"mask_cpu:0x1,0x2", 2, "0 1"},
        {"mask_cpu:0x00F0,f", 2, "4-7 0-3"},
        {"threads,mask_cpu:0x8000000000000001", 1, "0,63"},
        {"mask_cpu:0x10000000000000000", 1, "64"},
        {"mask_cpu:0x1,0x2", 3, "0 1 0"}, /* gone through again */
        {"mask_cpu:0x1,0x2,0x4", 2, "0 1"},
        {"map_cpu:8,0", 2, "8 0"},
        {"map_cpu:8191", 1, "8191"},
        {"", 2, NULL},
        {"0x1,0x2", 2, NULL},
        {"rank", 2, NULL},
        {"mask_cpu:", 1, NULL},
        {"mask_cpu:0x", 1, NULL},
        {"mask_cpu:0x0,0x1", 2, NULL}, /* no CPU at all */
        {"mask_cpu:0x1,,0x2", 3, NULL},
        {"mask_cpu:0x1,", 2, NULL},
        {"mask_cpu:0x1g", 1, NULL},
        {"mask_cpu:-1", 1, NULL},
        {"map_cpu:8192", 1, NULL},
        {"map_cpu:99999999999", 1, NULL},
        {"map_cpu:0*2", 1, NULL},
        {"map_cpu:1,x", 2, NULL},
        {"mask_ldom:0x1", 1, NULL},
        {"mask_cpu:0x1", 65, NULL}, /* more than can be bound */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static pipc__place_in_t in;
        pipc__cpu_sets_t sets;
        char text[256] = "";
        in.nranks = cases[i].nranks;
        in.step_cpus.word[1] = 1;
        snprintf(in.cpu_list, sizeof(in.cpu_list), "%s", cases[i].list);
        assert_int_equal(pipc__cpu_sets(&in, &sets, NULL), PIPC_OK);
        for (int r = 0; r < sets.nranks; r++) {
            size_t used = strlen(text);
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", r ? " " : "");
            hwloc_bitmap_list_snprintf(text + used, sizeof(text) - used, sets.rank[r]);
        }
        if (strcmp(text, cases[i].sets ? cases[i].sets : ""))
            fail_msg("\"%s\": %s", cases[i].list, text);
        assert_int_equal(hwloc_bitmap_first(sets.step), 64);
        pipc__cpu_sets_free(&sets);
        assert_int_equal(sets.nranks, 0);
    }
}

static void endless_cpu_masks_are_unknown(void **state)
{
    static pipc__place_in_t in;
    pipc__cpu_sets_t sets;

    (void)state;
    in.nranks = 1;
    memset(in.cpu_list, 'f', sizeof(in.cpu_list) - 1);
    memcpy(in.cpu_list, "mask_cpu:", strlen("mask_cpu:"));
    assert_int_equal(pipc__cpu_sets(&in, &sets, NULL), PIPC_OK);
    assert_int_equal(sets.nranks, 0);
    assert_null(sets.step); /* an empty mask is none that a process can have */
    pipc__cpu_sets_free(&sets);
    in.cpu_list[strlen("mask_cpu:") + PIPC__CPUS_MAX / 4] = '\0'; /* the longest */
    assert_int_equal(pipc__cpu_sets(&in, &sets, NULL), PIPC_OK);
    assert_int_equal(sets.nranks, 1);
    assert_int_equal(hwloc_bitmap_weight(sets.rank[0]), PIPC__CPUS_MAX);
    pipc__cpu_sets_free(&sets);
}

/* All tasks come to one binding, whatever each knows of itself alone. */
static void tasks_agree_whatever_their_own_mask_is(void **state)
{
    pipc__topo_t *topo = tree(EIGHT);
    uint64_t seen = 0;

    (void)state;
    for (int r = 0; r < 4; r++) {
        struct place_case c = {.rank = r,
                               .nranks = 4,
                               .step_minors = ALL8,
                               .task_minors = ALL8,
                               .step_list = "0,1,2,3,4,5,6,7",
                               .task_list = "0,1,2,3,4,5,6,7"};
        pipc__place_in_t in;
        pipc__place_out_t out;
        fill(&c, &in);
        in.step_cpus.word[0] = 0xff00; /* the second node's */
        in.cpus.word[0] = 1ul << (r % 2 ? 0 : 8);
        in.cpus_shared = r == 3;
        assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
        assert_string_equal(out.list, "4,5,6,7,0,1,2,3");
        seen |= (uint64_t)1 << atoi(out.minor);
    }
    assert_int_equal(seen, 0xf0);
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

/* As firmware that tells no NUMA nodes. */
static void forget_numa(pipc__topo_t *topo)
{
    for (int i = 0; i < topo->nobjs; i++)
        topo->objs[i].numa = PIPC__UNKNOWN;
}

/* Who has no core near, who tells of it, and where memory is to come from. */
static void far_cores_and_memory(void **state)
{
    static const struct {
        const char *what, *step_list, *task_list;
        int rank, nranks;
        bool shared, keep_cpus;
        unsigned long granted;
        int far, mem_node;
    } cases[] = {
        {"all near", "0,1,4,5", "0,1,4,5", 0, 4, true, false, 0xffff, 0, 0},
        {"the first counts for all", "0,1,4,5", "0,1,4,5", 0, 4, true, false, 0x00ff, 2, 0},
        {"the others for themselves", "0,1,4,5", "0,1,4,5", 3, 4, true, false, 0x00ff, 1, -1},
        {"own cores", "0,1,4,5", "0,1,4,5", 0, 4, false, false, 0xff00, 1, -1},
        {"the user's own wish", "0,1,4,5", "0,1,4,5", 0, 4, true, true, 0x00ff, 0, 0},
        {"one task, two nodes", "0,4", "0,4", 0, 1, true, false, 0xffff, 0, -1},
        {"one task, two GPUs of a node", "4,5", "4,5", 0, 1, true, false, 0xffff, 0, 1},
        {"one task, two GPUs, none near", "4,5", "4,5", 0, 1, true, false, 0x00ff, 1, -1},
        {"own list of two nodes", "0,4,1,5", "0,4", 0, 2, true, false, 0xffff, 0, -1},
        {"no GPU", NULL, NULL, 0, 2, true, false, 0xffff, 0, -1},
        {"a node that is not known", "6,7", "6,7", 0, 1, true, false, 0xffff, 0, -1},
        {"... of one of many tasks", "6,7", "6,7", 0, 2, true, false, 0xffff, 0, -1},
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
        if (strstr(cases[i].what, "not known"))
            forget_numa(topo);
        fill(&c, &in);
        in.cpus.word[0] = cases[i].granted;
        in.cpus_shared = cases[i].shared;
        in.keep_cpus = cases[i].keep_cpus;
        assert_int_equal(pipc__place(topo, &in, &out, NULL), PIPC_OK);
        if (out.far != cases[i].far || out.mem_node != cases[i].mem_node)
            fail_msg("%s: %d far, memory of %d", cases[i].what, out.far, out.mem_node);
    }
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
        cmocka_unit_test(lists_as_cuda_reads_them),
        cmocka_unit_test(endless_lists_stay_opaque),
        cmocka_unit_test(numbers_count_in_bus_order_not_in_minors),
        cmocka_unit_test(lists_that_do_not_fit_are_not_cut),
        cmocka_unit_test(every_way_of_showing_gpus),
        cmocka_unit_test(entry_r_is_rank_rs_gpu),
        cmocka_unit_test(facts_of_a_bound_task),
        cmocka_unit_test(cores_only_ever_get_fewer),
        cmocka_unit_test(orders_and_wishes),
        cmocka_unit_test(maps),
        cmocka_unit_test(cpu_lists_as_slurm_writes_them),
        cmocka_unit_test(endless_cpu_masks_are_unknown),
        cmocka_unit_test(tasks_agree_whatever_their_own_mask_is),
        cmocka_unit_test(long_ways_are_cut_and_said_to_be),
        cmocka_unit_test(far_cores_and_memory),
        cmocka_unit_test(rdma_devices_by_name),
        cmocka_unit_test(rdma_devices_of_nested_switches),
        cmocka_unit_test(mixed_models_have_no_facts_unbound),
        cmocka_unit_test(what_cannot_be_bound_is_left_alone),
        cmocka_unit_test(notes_say_why_devices_were_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
