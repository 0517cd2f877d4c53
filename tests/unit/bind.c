/* tests/unit/bind.c - which rank gets which GPU, and how tasks see their GPUs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/bind_text.h"

static void ranks_fill_one_switch_before_the_next(void **state)
{
    static const struct {
        const char *machine;
        int ranks;
        const char *granted; /* minors, NULL: all */
        const char *order;   /* minors: the ranks' GPUs, then the idle ones */
    } cases[] = {
        /* as many ranks as GPUs: tree order, however Slurm listed them */
        {"2x[sw:4gpu]", 8, NULL, "0 1 2 3 4 5 6 7"},
        {"2x[sw:4gpu]", 8, "7 0 6 1 5 2 4 3", "0 1 2 3 4 5 6 7"},
        {"2x[sw:4gpu]", 4, "6 1 3 4", "1 3 4 6"},
        /* fewer: under one switch if one holds them */
        {"2x[sw:4gpu]", 1, NULL, "0 1 2 3 4 5 6 7"},
        {"2x[sw:4gpu]", 3, NULL, "0 1 2 3 4 5 6 7"},
        {"2x[sw:4gpu]", 4, NULL, "0 1 2 3 4 5 6 7"},
        {"2x[sw:4gpu]", 2, "0 4 5", "4 5 0"},
        {"2x[sw:4gpu]", 3, "0 1 4 5 6", "4 5 6 0 1"},
        /* the one that leaves the fewest idle */
        {"[sw:4gpu]+[sw:2gpu]", 2, NULL, "4 5 0 1 2 3"},
        {"[sw:4gpu]+[sw:3gpu]+[sw:2gpu]", 3, NULL, "4 5 6 0 1 2 3 7 8"},
        /* more than one holds: whole switches, largest first, and the rest where it fits best */
        {"2x[sw:4gpu]", 5, NULL, "0 1 2 3 4 5 6 7"},
        {"[sw:2gpu]+[sw:4gpu]", 5, NULL, "0 2 3 4 5 1"},
        {"[sw:4gpu]+[sw:3gpu]+[sw:2gpu]", 5, NULL, "0 1 2 3 7 8 4 5 6"},
        {"[sw:3gpu]+[sw:3gpu]+[sw:4gpu]", 7, NULL, "0 1 2 6 7 8 9 3 4 5"},
        /* nested: the upper switch counts before the lower ones */
        {"2x[sw:2x[sw:2gpu]]", 2, "0 2 4 5", "4 5 0 2"},
        {"2x[sw:2x[sw:2gpu]]", 4, NULL, "0 1 2 3 4 5 6 7"},
        {"[sw:2x[sw:2gpu]]+[sw:2x[sw:2gpu]]", 3, "0 2 4 5 6", "4 5 6 0 2"},
        {"[sw:3x[sw:2gpu]]+2x[sw:4gpu]", 6, NULL, "0 1 2 3 4 5 6 7 8 9 10 11 12 13"},
        /* two switches of one NUMA node before one of each of two */
        {"2x[2x[sw:2gpu]]", 4, "0 1 4 5 6 7", "4 5 6 7 0 1"},
        /* no switches: NUMA nodes take their place */
        {"2x[4gpu]", 4, NULL, "0 1 2 3 4 5 6 7"},
        {"2x[4gpu]", 2, "3 4 5", "4 5 3"},
        {"[4gpu]+[2gpu]", 2, NULL, "4 5 0 1 2 3"},
        /* a pair under a switch before two that share nothing */
        {"[4gpu+[sw:2gpu]]", 2, NULL, "4 5 0 1 2 3"},
        /* in-card switches are none */
        {"[4x[sw:gpu]]+[sw:4x[sw:gpu]]", 4, NULL, "4 5 6 7 0 1 2 3"},
        {"[sw:gpu]", 1, NULL, "0"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].machine);
        pipc__bind_request_t req = request(t, cases[i].ranks, cases[i].granted);
        pipc__binding_t b = binding_of(t, &req);
        assert_string_equal(minors_text(t, b.order, b.norder), cases[i].order);
        for (int r = 0; r < b.nranks; r++) {
            assert_int_equal(b.rank[r].gpu, b.order[r]);
            assert_int_equal(b.rank[r].group, pipc__topo_switch_of(t, b.order[r]));
            assert_false(b.rank[r].shared);
        }
        pipc__topo_free(t);
    }
}

/* Orders that are made in another way, and the first ranks' part of each. */
static void spread_takes_places_in_turn_and_numa_is_blind_to_switches(void **state)
{
    static const struct {
        pipc__bind_mode_t mode;
        const char *machine;
        int ranks;
        const char *granted, *order;
    } cases[] = {
        {PIPC__BIND_SPREAD, "2x[sw:4gpu]", 8, NULL, "0 4 1 5 2 6 3 7"},
        {PIPC__BIND_SPREAD, "2x[sw:4gpu]", 2, NULL, "0 4 1 5 2 6 3 7"}, /* ranks change nothing */
        {PIPC__BIND_SPREAD, "2x[sw:4gpu]", 4, "7 6 5 4 1", "1 4 5 6 7"},
        {PIPC__BIND_SPREAD, "2x[sw:4gpu]", 4, "1 4 7 5 6", "1 4 5 6 7"}, /* stable */
        {PIPC__BIND_SPREAD, "[sw:5gpu]+[sw:3gpu]", 8, NULL, "0 5 1 6 2 7 3 4"},
        {PIPC__BIND_SPREAD, "2x[2x[sw:2gpu]]", 8, NULL, "0 4 2 6 1 5 3 7"}, /* nodes, switches */
        {PIPC__BIND_SPREAD, "[sw:2x[sw:2gpu]]", 4, NULL, "0 2 1 3"},        /* nested */
        {PIPC__BIND_SPREAD, "[sw:2x[sw:2gpu]+1gpu]+[sw:2gpu]", 7, NULL, "0 5 2 6 4 1 3"},
        {PIPC__BIND_SPREAD, "[3x[sw:2gpu]]+[sw:2gpu]", 8, NULL, "0 6 2 7 4 1 3 5"},
        {PIPC__BIND_SPREAD, "[2gpu+[sw:2gpu]]", 4, NULL,
         "0 1 2 3"}, /* a GPU below none is a part */
        {PIPC__BIND_SPREAD, "2x[4gpu]", 4, NULL, "0 4 1 5 2 6 3 7"},
        {PIPC__BIND_SPREAD, "[sw:gpu]", 1, NULL, "0"},
        {PIPC__BIND_NUMA, "2x[sw:4gpu]", 8, "7 0 6 1 5 2 4 3", "0 1 2 3 4 5 6 7"},
        {PIPC__BIND_NUMA, "[2x[sw:2gpu]]", 2, "1 2 3", "1 2 3"}, /* SWITCH takes 2 3 first */
        {PIPC__BIND_NUMA, "2x[2x[sw:2gpu]]", 2, "1 4 6", "4 6 1"},
        {PIPC__BIND_NUMA, "[4gpu]+[2gpu]", 2, NULL, "4 5 0 1 2 3"},
        {PIPC__BIND_NUMA, "[4gpu+[sw:2gpu]]", 2, NULL, "0 1 2 3 4 5"},
        {PIPC__BIND_NUMA, "[2gpu]+[3gpu]", 4, NULL, "0 2 3 4 1"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].machine);
        pipc__bind_request_t req = request(t, cases[i].ranks, cases[i].granted);
        req.mode = cases[i].mode;
        pipc__binding_t b = binding_of(t, &req);
        assert_string_equal(minors_text(t, b.order, b.norder), cases[i].order);
        for (int r = 0; r < b.nranks; r++) {
            assert_int_equal(b.rank[r].gpu, b.order[r]);
            assert_int_equal(b.rank[r].numa, pipc__topo_numa_of(t, b.order[r]));
        }
        pipc__topo_free(t);
    }
}

static void more_ranks_than_gpus_share_them_round_robin(void **state)
{
    static const struct {
        int ranks, gpus;
        const char *shared; /* a letter a rank */
    } cases[] = {
        {16, 8, "yyyyyyyyyyyyyyyy"},
        {9, 8, "ynnnnnnny"},
        {3, 1, "yyy"},
        {64, 8, NULL},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic("2x[sw:4gpu]");
        pipc__bind_request_t req = request(t, cases[i].ranks, cases[i].gpus == 1 ? "5" : NULL);
        pipc__binding_t b = binding_of(t, &req);
        assert_int_equal(b.norder, cases[i].gpus); /* none is listed twice */
        for (int r = 0; r < b.nranks; r++) {
            assert_int_equal(b.rank[r].gpu, b.order[r % cases[i].gpus]);
            assert_int_equal(b.rank[r].shared, !cases[i].shared || cases[i].shared[r] == 'y');
        }
        pipc__topo_free(t);
    }
}

static void wrong_requests(void **state)
{
    pipc__topo_t *t = synthetic("2x[sw:4gpu+1nic]");
    pipc__bind_request_t good = request(t, 8, NULL), req;
    pipc__binding_t b;
    pipc__error_t err;

    (void)state;
    for (int i = 0; i < 7; i++) {
        req = good;
        if (i == 0)
            req.nranks = 0;
        else if (i == 1)
            req.nranks = PIPC__BIND_MAX + 1;
        else if (i == 2)
            req.ngpus = -1;
        else if (i == 3)
            req.gpus[3] = 0; /* the machine */
        else if (i == 4)
            req.gpus[3] = t->nobjs;
        else if (i == 5)
            req.gpus[3] = PIPC__UNKNOWN;
        else
            req.gpus[3] = req.gpus[2]; /* twice */
        assert_int_equal(pipc__bind(t, &req, &b, &err), PIPC_ERR_INVALID);
        assert_true(strncmp(err.text, "binding: ", 9) == 0);
    }
    pipc__topo_free(t);
}

static void bind_none_decides_nothing(void **state)
{
    pipc__topo_t *t = synthetic("2x[sw:4gpu+1nic]");
    pipc__bind_request_t req = request(t, 4, "6 1 4 3");
    int list[] = {9, 8, 7};
    hwloc_bitmap_t granted = hwloc_bitmap_alloc(), out = hwloc_bitmap_alloc();
    bool near = true;

    (void)state;
    req.mode = PIPC__BIND_NONE;
    pipc__binding_t b = binding_of(t, &req);
    assert_string_equal(minors_text(t, b.order, b.norder), "6 1 4 3");
    for (int r = 0; r < 4; r++)
        assert_true(b.rank[r].gpu < 0 && b.rank[r].nic < 0 && b.rank[r].numa < 0);
    hwloc_bitmap_set_range(granted, 0, 3);
    assert_int_equal(pipc__bind_cores(t, &b, 1, granted, out, &near, NULL), PIPC_OK);
    assert_true(hwloc_bitmap_isequal(out, granted));
    assert_false(near);
    assert_int_equal(pipc__bind_visible(&b, 1, PIPC__SHOW_SAME, list, 3, NULL), PIPC_OK);
    assert_true(list[0] == 9 && list[1] == 8 && list[2] == 7);
    hwloc_bitmap_free(granted);
    hwloc_bitmap_free(out);
    pipc__topo_free(t);
}

/* ---- bind:map -----------------------------------------------------------------------------------
 */

static void an_explicit_map(void **state)
{
    static const struct {
        const char *machine, *granted, *map;
        int ranks;
        const char *gpus;  /* minors of the ranks; NULL: refused */
        const char *order; /* or what the refusal says */
        bool crossed;
    } cases[] = {
        {"2x[sw:4gpu]", NULL, "4 5 2 3 6 7 0 1", 8, "4 5 2 3 6 7 0 1", "4 5 2 3 6 7 0 1", false},
        {"2x[sw:4gpu]", NULL, "7 0", 2, "7 0", "7 0 1 2 3 4 5 6", false},
        {"2x[sw:4gpu]", NULL, "7 0 99", 2, "7 0", "7 0 1 2 3 4 5 6", false}, /* not used */
        /* places among those granted, however they are listed */
        {"2x[sw:4gpu]", "6 1 3 4", "3 0", 2, "6 1", "6 1 3 4", false},
        {"2x[sw:4gpu]", "4 3 1 6", "3 0", 2, "6 1", "6 1 3 4", false},
        /* too short a list is gone through again */
        {"2x[sw:4gpu]", NULL, "3", 2, "3 3", "3 0 1 2 4 5 6 7", true},
        {"2x[sw:4gpu]", NULL, "1 0", 4, "1 0 1 0", "1 0 2 3 4 5 6 7", true},
        {"2x[gpu]", NULL, "1 0", 4, "1 0 1 0", "1 0", false}, /* in step with the GPUs */
        {"2x[gpu]", NULL, "0 0 1 1", 4, "0 0 1 1", "0 1", true},
        {"3x[gpu]", NULL, "2 0", 3, "2 0 2", "2 0 1", true},
        /* one rank hands all of its GPUs on */
        {"2x[sw:2gpu]", NULL, "2 3 0 1", 1, "2", "2 3 0 1", false},
        {"2x[sw:2gpu]", NULL, "2 2 1", 1, "2", "2 1 0 3", false},
        {"2x[sw:2gpu]", NULL, "2 4", 1, NULL, "no GPU 4; the step has 4 here, counted from 0 to 3",
         false},
        {"2x[sw:2gpu]", NULL, "4", 2, NULL, "no GPU 4", false},
        {"2x[sw:2gpu]", "3", "1", 2, NULL, "no GPU 1; the step has 1 here, counted from 0 to 0",
         false},
        {"2x[sw:2gpu]", NULL, "-1", 2, NULL, "no GPU -1", false},
        {"2x[sw:2gpu]", NULL, "", 2, NULL, "0 entries; 1 to 64 can be given", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].machine);
        pipc__bind_request_t req = request(t, cases[i].ranks, cases[i].granted);
        pipc__binding_t b;
        pipc__error_t err = {PIPC_OK, ""};
        int gpus[PIPC__BIND_MAX], visible[PIPC__BIND_MAX];
        req.mode = PIPC__BIND_MAP;
        req.nmap = numbers(cases[i].map, req.map);
        pipc_status_t st = pipc__bind(t, &req, &b, &err);
        assert_int_equal(st, cases[i].gpus ? PIPC_OK : PIPC_ERR_INVALID);
        if (st) {
            if (!strstr(err.text, cases[i].order))
                fail_msg("%s", err.text);
            pipc__topo_free(t);
            continue;
        }
        for (int r = 0; r < b.nranks; r++)
            gpus[r] = b.rank[r].gpu;
        assert_string_equal(minors_text(t, gpus, b.nranks), cases[i].gpus);
        assert_string_equal(minors_text(t, b.order, b.norder), cases[i].order);
        assert_int_equal(b.crossed, cases[i].crossed);
        /* programs that take device LOCALID mod n land there */
        for (int r = 0; r < b.nranks; r++) {
            memcpy(visible, req.gpus, sizeof(visible));
            assert_int_equal(pipc__bind_visible(&b, r, PIPC__SHOW_SAME, visible, req.ngpus, NULL),
                             PIPC_OK);
            assert_int_equal(visible[r % req.ngpus], b.rank[r].gpu);
            if (!b.crossed)
                assert_memory_equal(visible, b.order, sizeof(int) * (size_t)b.norder);
            bool shared = false;
            for (int o = 0; o < b.nranks; o++)
                shared |= o != r && gpus[o] == gpus[r];
            assert_int_equal(b.rank[r].shared, shared);
        }
        pipc__topo_free(t);
    }
}

/* The tree goes by NUMA node; a map counts as nvidia-smi does. */
static void a_map_counts_in_bus_order(void **state)
{
    pipc__topo_t *t = synthetic("2x[2gpu]");
    pipc__bind_request_t req = request(t, 4, NULL);
    int gpus[4];

    (void)state;
    for (int i = 0; i < 4; i++) /* the second node has the lower domain */
        t->objs[req.gpus[i]].addr.domain = i < 2 ? 1 : 0;
    req.mode = PIPC__BIND_MAP;
    req.nmap = numbers("0 1 2 3", req.map);
    pipc__binding_t b = binding_of(t, &req);
    for (int r = 0; r < 4; r++)
        gpus[r] = b.rank[r].gpu;
    assert_string_equal(minors_text(t, gpus, 4), "2 3 0 1");
    t->objs[req.gpus[2]].addr.domain = PIPC__UNKNOWN; /* no address: at the end */
    b = binding_of(t, &req);
    assert_string_equal(minors_text(t, b.order, 4), "3 0 1 2");
    pipc__topo_free(t);
}

/* ---- what a task sees ------------------------------------------------------------------------ */

static void the_order_of_visible_gpus(void **state)
{
    static const struct {
        const char *machine;
        int ranks;
        const char *job;
        int rank;
        pipc__show_t show;
        const char *list, *ordered; /* NULL: refused, the list stays */
    } cases[] = {
        /* SAME: entry r is rank r's, whoever asks */
        {"2x[sw:4gpu]", 4, "6 1 3 4", 0, PIPC__SHOW_SAME, "6 1 3 4", "1 3 4 6"},
        {"2x[sw:4gpu]", 4, "6 1 3 4", 3, PIPC__SHOW_SAME, "1 3 4 6", "1 3 4 6"},
        {"2x[sw:4gpu]", 2, "0 4 5", 1, PIPC__SHOW_SAME, "0 4 5", "4 5 0"}, /* then the idle */
        {"2x[sw:4gpu]", 16, NULL, 11, PIPC__SHOW_SAME, "7 6 5 4 3 2 1 0", "0 1 2 3 4 5 6 7"},
        {"2x[sw:4gpu]", 2, "0 4", 0, PIPC__SHOW_SAME, "7 4 3 0", "0 4 7 3"}, /* not of the job */
        {"2x[sw:4gpu]", 2, "0 4", 0, PIPC__SHOW_SAME, "4", NULL}, /* entry 0 would be rank 1's */
        /* OWN: the own first */
        {"2x[sw:4gpu]", 4, "6 1 3 4", 2, PIPC__SHOW_OWN, "6 1 3 4", "4 1 3 6"},
        {"2x[sw:4gpu]", 4, "6 1 3 4", 0, PIPC__SHOW_OWN, "1", "1"},
        {"2x[sw:4gpu]", 4, "6 1 3 4", 3, PIPC__SHOW_OWN, "4 6", "6 4"},
        {"2x[sw:4gpu]", 4, "6 1 3 4", 0, PIPC__SHOW_OWN, "3", NULL},
        /* ONE: switch order */
        {"2x[sw:4gpu]", 1, NULL, 0, PIPC__SHOW_ONE, "7 0 6 1 5 2 4 3", "0 1 2 3 4 5 6 7"},
        {"[sw:4gpu]+[sw:2gpu]", 1, NULL, 0, PIPC__SHOW_ONE, "0 4 1 5 2 3", "4 5 0 1 2 3"},
        {"2x[sw:4gpu]", 1, "3", 0, PIPC__SHOW_ONE, "", ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].machine);
        pipc__bind_request_t req = request(t, cases[i].ranks, cases[i].job);
        pipc__bind_request_t list = request(t, 1, cases[i].list);
        pipc__binding_t b = binding_of(t, &req);
        pipc__error_t err = {PIPC_OK, ""};
        pipc_status_t st =
            pipc__bind_visible(&b, cases[i].rank, cases[i].show, list.gpus, list.ngpus, &err);
        assert_int_equal(st, cases[i].ordered ? PIPC_OK : PIPC_ERR_NOT_FOUND);
        assert_string_equal(minors_text(t, list.gpus, list.ngpus),
                            cases[i].ordered ? cases[i].ordered : cases[i].list);
        pipc__topo_free(t);
    }
}

/* What programs do with the list: device 0, device LOCALID, device LOCALID mod count. */
static void programs_land_on_the_bound_gpu(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        char text[256];
        random_machine(text, sizeof(text), 10);
        pipc__topo_t *t = synthetic(text);
        pipc__bind_request_t req = request(t, 1, NULL);
        req.nranks = 1 + roll(2 * req.ngpus);
        pipc__binding_t b = binding_of(t, &req);
        for (int r = 0; r < b.nranks; r++) {
            pipc__bind_request_t same = request(t, 1, NULL), own = same;
            pipc__bind_visible(&b, r, PIPC__SHOW_SAME, same.gpus, same.ngpus, NULL);
            assert_int_equal(same.gpus[r % same.ngpus], b.rank[r].gpu);
            pipc__bind_visible(&b, r, PIPC__SHOW_OWN, own.gpus, own.ngpus, NULL);
            assert_int_equal(own.gpus[0], b.rank[r].gpu);
        }
        pipc__topo_free(t);
    }
}

static void ranks_out_of_range(void **state)
{
    pipc__topo_t *t = synthetic("2x[sw:4gpu]");
    pipc__bind_request_t req = request(t, 2, NULL);
    pipc__binding_t b = binding_of(t, &req);
    hwloc_bitmap_t out = hwloc_bitmap_alloc();
    bool near;

    (void)state;
    for (int r = -1; r <= 2; r += 3) {
        assert_int_equal(pipc__bind_cores(t, &b, r, t->numas[0].cpus, out, &near, NULL),
                         PIPC_ERR_INVALID);
        assert_int_equal(pipc__bind_visible(&b, r, PIPC__SHOW_SAME, req.gpus, 8, NULL),
                         PIPC_ERR_INVALID);
    }
    hwloc_bitmap_free(out);
    pipc__topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_fill_one_switch_before_the_next),
        cmocka_unit_test(spread_takes_places_in_turn_and_numa_is_blind_to_switches),
        cmocka_unit_test(more_ranks_than_gpus_share_them_round_robin),
        cmocka_unit_test(wrong_requests),
        cmocka_unit_test(bind_none_decides_nothing),
        cmocka_unit_test(an_explicit_map),
        cmocka_unit_test(a_map_counts_in_bus_order),
        cmocka_unit_test(the_order_of_visible_gpus),
        cmocka_unit_test(programs_land_on_the_bound_gpu),
        cmocka_unit_test(ranks_out_of_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
