/* tests/unit/bind.c - which rank gets which GPU, cores and NIC, and how tasks see their GPUs */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/bind/bind.h"
#include "tests/unit/topo_text.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Minors as "3 1 2" -> request. "" is no GPU, NULL is all of the tree. */
static pipc__bind_request_t request(const pipc__topo_t *t, int nranks, const char *minors)
{
    pipc__bind_request_t req = {.mode = PIPC__BIND_SWITCH, .nranks = nranks};
    char *end;

    if (!minors) {
        req.ngpus = pipc__topo_list(t, PIPC__TOPO_GPU, req.gpus, PIPC__BIND_MAX);
        return req;
    }
    for (const char *p = minors; *p; p = end + strspn(end, " "))
        req.gpus[req.ngpus++] = pipc__topo_gpu_by_minor(t, (int)strtol(p, &end, 10));
    return req;
}

static pipc__binding_t bind(const pipc__topo_t *t, const pipc__bind_request_t *req)
{
    pipc__binding_t b;
    pipc__error_t err = {PIPC_OK, ""};

    pipc_status_t st = pipc__bind(t, req, &b, &err);
    assert_string_equal(err.text, "");
    assert_int_equal(st, PIPC_OK);
    return b;
}

/* Object indexes as minors: "0 1 2 3". */
static const char *minors_text(const pipc__topo_t *t, const int *gpus, int n)
{
    static char text[512];

    text[0] = '\0';
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d", i ? " " : "",
                 t->objs[gpus[i]].minor);
    return text;
}

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
        pipc__binding_t b = bind(t, &req);
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
        pipc__binding_t b = bind(t, &req);
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
        pipc__binding_t b = bind(t, &req);
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
    pipc__binding_t b = bind(t, &req);
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

/* ---- optimality ------------------------------------------------------------------------------ */

static int up_to(const pipc__topo_t *t, int obj, pipc__topo_kind_t kind)
{
    while (obj >= 0 && t->objs[obj].kind != kind)
        obj = t->objs[obj].parent;
    return obj;
}

static int outermost(const pipc__topo_t *t, int gpu)
{
    int found = gpu;

    for (int g = gpu; (g = pipc__topo_group_above(t, g)) >= 0;)
        found = g;
    return found;
}

/* What a set of GPUs costs, from the definition: outermost switches used, then pairs by the level
 * where their ways part. Written without any of the code under test. */
static long cost(const pipc__topo_t *t, const int *gpus, int n)
{
    long switches = 0, pairs = 0;

    for (int i = 0; i < n; i++) {
        bool seen = false;
        for (int j = 0; j < i; j++) {
            int a = gpus[i], b = gpus[j];
            bool same = outermost(t, a) == outermost(t, b);
            seen |= same;
            if (t->objs[a].numa != t->objs[b].numa)
                pairs += 4096;
            else if (up_to(t, a, PIPC__TOPO_HOST_BRIDGE) != up_to(t, b, PIPC__TOPO_HOST_BRIDGE))
                pairs += 512;
            else if (!same)
                pairs += 256;
        }
        switches += !seen;
    }
    return switches * 1000000000L + pairs;
}

static void no_choice_is_better(const char *machine)
{
    pipc__topo_t *t = synthetic(machine);
    pipc__bind_request_t req = request(t, 1, NULL);

    for (req.nranks = 1; req.nranks <= req.ngpus; req.nranks++) {
        pipc__binding_t b = bind(t, &req);
        long got = cost(t, b.order, req.nranks);
        for (unsigned int set = 0; set < 1u << req.ngpus; set++) {
            int gpus[PIPC__BIND_MAX], n = 0;
            if (__builtin_popcount(set) != req.nranks)
                continue;
            for (int i = 0; i < req.ngpus; i++)
                if (set >> i & 1)
                    gpus[n++] = req.gpus[i];
            if (cost(t, gpus, n) < got)
                fail_msg("%s, %d ranks: %s is worse than set %x", machine, req.nranks,
                         minors_text(t, b.order, req.nranks), set);
        }
    }
    pipc__topo_free(t);
}

static uint32_t seed = 1;

static int roll(int sides)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 16) % (unsigned int)sides);
}

/* A machine of 1 to 3 NUMA nodes with switches, nested ones, GPUs below none, and NICs in some of
 * these places. */
static void random_machine(char *text, size_t cap, int gpus_at_most)
{
    int left = gpus_at_most, n = 0, nodes = 1 + roll(3);

    for (int node = 0; node < nodes && left > 0; node++) {
        n += snprintf(text + n, cap - (size_t)n, "%s[core", node ? "+" : "");
        for (int part = roll(3); part >= 0 && left > 0; part--) {
            int gpus = 1 + roll(left < 4 ? left : 4);
            static const char *const shapes[] = {"+%dgpu", "+[sw:%dgpu]", "+[sw:[sw:%dgpu]+nic]",
                                                 "+[sw:2x[sw:%dgpu]]"};
            int shape = gpus * 2 <= left ? roll(4) : roll(3);
            left -= shape == 3 ? gpus * 2 : gpus;
            n += snprintf(text + n, cap - (size_t)n, shapes[shape], gpus);
        }
        n += snprintf(text + n, cap - (size_t)n, roll(4) ? "]" : "+nic]");
    }
}

static void no_other_choice_uses_fewer_switches_or_crosses_less(void **state)
{
    static const char *const machines[] = {"2x[sw:4gpu]",
                                           "[sw:5gpu]+[sw:3gpu]",
                                           "[sw:3gpu]+[sw:3gpu]+[sw:4gpu]",
                                           "4x[sw:2gpu]",
                                           "2x[2x[sw:2gpu]]",
                                           "2x[sw:2x[sw:2gpu]]",
                                           "[sw:3x[sw:2gpu]]+[sw:4gpu]",
                                           "2x[4gpu]",
                                           "[2gpu+[sw:3gpu]]+[sw:2gpu]",
                                           "[sw:2x[sw:2gpu]+1gpu]+[sw:5gpu]"};

    (void)state;
    for (size_t i = 0; i < COUNT(machines); i++)
        no_choice_is_better(machines[i]);
    for (int i = 0; i < 200; i++) {
        char text[256];
        random_machine(text, sizeof(text), 10);
        no_choice_is_better(text);
    }
}

/* One task that starts a process a GPU itself: each switch's GPUs stand together. */
static void one_task_with_many_gpus_gets_whole_switches(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        char text[256];
        random_machine(text, sizeof(text), 10);
        pipc__topo_t *t = synthetic(text);
        pipc__bind_request_t req = request(t, 1, NULL);
        pipc__binding_t b = bind(t, &req);
        for (int k = 2; k < b.norder; k++)
            for (int j = 0; j < k - 1; j++)
                if (outermost(t, b.order[j]) == outermost(t, b.order[k]))
                    assert_int_equal(outermost(t, b.order[k - 1]), outermost(t, b.order[k]));
        pipc__topo_free(t);
    }
}

static void the_largest_machine_is_quick_to_bind(void **state)
{
    pipc__topo_t *t = synthetic("8x[sw:2x[sw:2x[sw:2gpu]]]");
    pipc__bind_request_t req = request(t, 33, NULL);

    (void)state;
    assert_int_equal(req.ngpus, PIPC__BIND_MAX);
    for (int i = 0; i < 20; i++)
        bind(t, &req);
    pipc__topo_free(t);
}

/* ---- the cost ---------------------------------------------------------------------------------
 */

/* Give the NUMA nodes of @t the CPUs that the text says: "16-31 0-15", "-" for none known. */
static void set_cpus(pipc__topo_t *t, const char *text)
{
    char copy[256], *save = NULL;
    int node = 0;

    snprintf(copy, sizeof(copy), "%s", text);
    for (char *set = strtok_r(copy, " ", &save); set; set = strtok_r(NULL, " ", &save), node++) {
        hwloc_bitmap_zero(t->numas[node].cpus);
        if (*set != '-')
            assert_int_equal(hwloc_bitmap_list_sscanf(t->numas[node].cpus, set), 0);
    }
    assert_int_equal(node, t->nnumas);
}

static const char *cores_text(const pipc__topo_t *t, const pipc__binding_t *b, const char *granted,
                              bool own);

static hwloc_bitmap_t one_set(const char *list)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    assert_int_equal(hwloc_bitmap_list_sscanf(set, list), 0);
    return set;
}

/* "0-3 4-7 ...", a set a rank; returns how many. */
static int rank_sets(const char *text, hwloc_const_bitmap_t *sets)
{
    char copy[256], *save = NULL;
    int n = 0;

    snprintf(copy, sizeof(copy), "%s", text);
    for (char *set = strtok_r(copy, " ", &save); set; set = strtok_r(NULL, " ", &save))
        sets[n++] = one_set(set);
    return n;
}

static void free_sets(hwloc_const_bitmap_t *sets, int n)
{
    for (int i = 0; i < n; i++)
        hwloc_bitmap_free((hwloc_bitmap_t)(uintptr_t)sets[i]);
}

static void what_a_binding_costs(void **state)
{
    static const struct {
        const char *machine, *gpus; /* of ranks 0, 1, ... */
        const char *granted;        /* NULL: not known */
        pipc__bind_cost_t cost;     /* switches, pairs, distance, idle, neighbours, own */
    } cases[] = {
        {"2x[sw:4gpu]", "0 1 2 3", NULL, {1, 6 * 63, 0, 0, 3 * 63, 0}},
        {"2x[sw:4gpu]", "0", NULL, {1, 0, 0, 3 * (256 + 1 + 1), 0, 0}},
        {"2x[sw:4gpu]", "0 4", NULL, {2, 4096, 0, 6 * (256 + 1 + 1), 4096, 0}},
        {"2x[sw:4gpu]", "0 1 4 5", NULL, {2, 2 * 63 + 4 * 4096, 0, 4 * 258, 63 + 4096 + 63, 0}},
        {"2x[sw:4gpu]", "0 4 1 5", NULL, {2, 2 * 63 + 4 * 4096, 0, 4 * 258, 3 * 4096, 0}},
        {"[2x[sw:2gpu]]", "0 1 2 3", NULL, {2, 2 * 63 + 4 * 256, 0, 0, 63 + 256 + 63, 0}},
        {"[2x[sw:2gpu]]", "0 2", NULL, {2, 256, 0, 2 * 258, 256, 0}},
        {"[sw:2x[sw:2gpu]]", "0 1 2 3", NULL, {1, 2 * 62 + 4 * 63, 0, 0, 62 + 63 + 62, 0}},
        {"[sw:2x[sw:2gpu]]", "0", NULL, {1, 0, 0, (2 * 256 + 2) + 2 * (256 + 2), 0, 0}},
        {"[2gpu]+[1gpu]", "0 1", NULL, {2, 256, 0, 0, 256, 0}},
        {"[2gpu]+[1gpu]", "0 2", NULL, {2, 4096, 0, 2, 4096, 0}},
        /* cores, and NICs below the same switch, an outer one, at the host bridge, elsewhere */
        {"2x[sw:2gpu]", "0 2", "0-7", {2, 4096, 10, 2 * 258, 4096, 0}},
        {"2x[sw:2gpu]", "2", "7-8", {1, 0, 0, 258, 0, 0}},
        {"[0core+gpu]+[gpu]", "0", "0-7", {1, 0, 5, 0, 0, 0}},
        {"2x[sw:2gpu+nic]", "0 1", NULL, {1, 63, 0, 0, 63, 0}},
        {"[sw:2x[sw:2gpu]+nic]", "0 1", NULL, {1, 62, 2 * 1, 2 * 258, 62, 0}},
        {"[2gpu+nic]", "0 1", NULL, {2, 256, 2 * 2, 0, 256, 0}},
        {"[2gpu]+[nic]", "0 1", "8", {2, 256, 2 * (4 + 10), 0, 256, 0}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].machine);
        pipc__bind_request_t req = request(t, 1, NULL), ranks = request(t, 1, cases[i].gpus);
        pipc__bind_cost_t got, want = cases[i].cost;
        hwloc_bitmap_t granted = cases[i].granted ? one_set(cases[i].granted) : NULL;
        req.nranks = ranks.ngpus;
        req.granted = granted;
        assert_int_equal(pipc__bind_cost(t, &req, ranks.gpus, ranks.ngpus, &got, NULL), PIPC_OK);
        if (pipc__bind_cost_compare(&got, &want))
            fail_msg("%s, %s: %ld %ld %ld %ld %ld %ld", cases[i].machine, cases[i].gpus,
                     (long)got.switches, (long)got.pairs, (long)got.distance, (long)got.idle,
                     (long)got.neighbours, (long)got.own);
        hwloc_bitmap_free(granted);
        pipc__topo_free(t);
    }
}

static void the_cost_of_own_cpus_and_of_nonsense(void **state)
{
    pipc__topo_t *t = synthetic("2x[sw:2gpu]");
    pipc__bind_request_t req = request(t, 3, "0 1 2");
    int twice[] = {req.gpus[0], req.gpus[0]}, other[] = {0};
    hwloc_const_bitmap_t sets[3];
    pipc__bind_cost_t cost;
    pipc__error_t err;

    (void)state;
    assert_int_equal(rank_sets("0-1 8 7-8", sets), 3);
    req.rank_cpus = sets;
    assert_int_equal(pipc__bind_cost(t, &req, req.gpus, 3, &cost, NULL), PIPC_OK);
    assert_int_equal(cost.own, 2); /* rank 1 has GPU 1, and CPU 8 is at the other node */
    assert_int_equal(pipc__bind_cost(t, &req, req.gpus, 2, &cost, NULL), PIPC_OK);
    assert_int_equal(cost.own, 2); /* rank 2 has GPU 0 again */
    set_cpus(t, "- 8-15");
    assert_int_equal(pipc__bind_cost(t, &req, req.gpus, 3, &cost, NULL), PIPC_OK);
    assert_int_equal(cost.own, 2 * 1);
    assert_int_equal(cost.distance, 2 * 5);
    assert_int_equal(pipc__bind_cost(t, &req, twice, 2, &cost, &err), PIPC_ERR_INVALID);
    assert_int_equal(pipc__bind_cost(t, &req, other, 1, &cost, &err), PIPC_ERR_INVALID);
    assert_int_equal(pipc__bind_cost(t, &req, req.gpus, 0, &cost, &err), PIPC_ERR_INVALID);
    free_sets(sets, 3);
    pipc__topo_free(t);
}

typedef struct search {
    const pipc__topo_t *topo;
    const pipc__bind_request_t *req;
    int gpus[PIPC__BIND_MAX], k;
    pipc__bind_cost_t best;
    bool any;
} search_t;

/* All sets and all orders. */
static void try_all(search_t *s, int place)
{
    pipc__bind_cost_t cost;

    if (place == s->k) {
        assert_int_equal(pipc__bind_cost(s->topo, s->req, s->gpus, s->k, &cost, NULL), PIPC_OK);
        if (!s->any || pipc__bind_cost_compare(&cost, &s->best) < 0)
            s->best = cost;
        s->any = true;
        return;
    }
    for (int i = 0; i < s->req->ngpus; i++) {
        bool used = false;
        for (int j = 0; j < place; j++)
            used |= s->gpus[j] == s->req->gpus[i];
        s->gpus[place] = s->req->gpus[i];
        if (!used)
            try_all(s, place + 1);
    }
}

static void assert_least_cost(const pipc__topo_t *t, const pipc__bind_request_t *req,
                              const char *machine)
{
    int k = req->nranks < req->ngpus ? req->nranks : req->ngpus;
    search_t s = {.topo = t, .req = req, .k = k};
    pipc__binding_t b = bind(t, req);
    pipc__bind_cost_t got;

    assert_int_equal(pipc__bind_cost(t, req, b.order, k, &got, NULL), PIPC_OK);
    try_all(&s, 0);
    if (pipc__bind_cost_compare(&got, &s.best))
        fail_msg("%s, %d ranks: GPUs %s cost %ld %ld %ld %ld %ld %ld, not %ld %ld %ld %ld %ld %ld",
                 machine, req->nranks, minors_text(t, b.order, b.norder), (long)got.switches,
                 (long)got.pairs, (long)got.distance, (long)got.idle, (long)got.neighbours,
                 (long)got.own, (long)s.best.switches, (long)s.best.pairs, (long)s.best.distance,
                 (long)s.best.idle, (long)s.best.neighbours, (long)s.best.own);
}

/* Nodes in another order of CPUs, or with none known; GPUs whose node is not known. */
static void scramble(pipc__topo_t *t)
{
    for (int i = t->nnumas - 1; i > 0; i--) {
        int other = roll(i + 1);
        hwloc_bitmap_t swap = t->numas[i].cpus;
        t->numas[i].cpus = t->numas[other].cpus;
        t->numas[other].cpus = swap;
    }
    if (roll(8) == 0)
        hwloc_bitmap_zero(t->numas[roll(t->nnumas)].cpus);
    for (int i = 0; i < t->nobjs && roll(8) == 0; i++)
        t->objs[i].numa = PIPC__UNKNOWN;
}

static hwloc_bitmap_t random_set(const pipc__topo_t *t)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int node = roll(t->nnumas);

    hwloc_bitmap_set_range(set, (unsigned int)node * 8, node * 8 + roll(12));
    return set;
}

/* A subset of the GPUs, in any order. */
static void random_grant(pipc__bind_request_t *req)
{
    for (int i = req->ngpus - 1; i > 0; i--) {
        int other = roll(i + 1), swap = req->gpus[i];
        req->gpus[i] = req->gpus[other];
        req->gpus[other] = swap;
    }
    req->ngpus = 1 + roll(req->ngpus);
}

/* One random question: a machine, what was granted of it, ranks, their CPUs. */
static void ask_at_random(int gpus_at_most)
{
    hwloc_const_bitmap_t sets[PIPC__BIND_MAX];
    char text[512];

    random_machine(text, sizeof(text), gpus_at_most);
    pipc__topo_t *t = synthetic(text);
    scramble(t);
    pipc__bind_request_t req = request(t, 1, NULL);
    random_grant(&req);
    req.nranks = 1 + roll(req.ngpus + 1);
    req.mode = roll(4) ? PIPC__BIND_SWITCH : PIPC__BIND_NUMA;
    hwloc_bitmap_t granted = roll(2) ? random_set(t) : NULL;
    req.granted = granted;
    for (int r = 0; r < req.nranks; r++)
        sets[r] = random_set(t);
    req.rank_cpus = roll(2) ? sets : NULL;
    assert_least_cost(t, &req, text);
    hwloc_bitmap_free(granted);
    free_sets(sets, req.nranks);
    pipc__topo_free(t);
}

static void no_set_and_no_order_costs_less(void **state)
{
    (void)state;
    for (int i = 0; i < 10000; i++)
        ask_at_random(5);
    for (int i = 0; i < 300; i++)
        ask_at_random(7);
}

/* As many GPUs as are promised: no exchange of two GPUs, and no other set by one GPU, is better. */
static void sixteen_gpus_cannot_be_bettered_by_an_exchange(void **state)
{
    (void)state;
    for (int round = 0; round < 60; round++) {
        hwloc_const_bitmap_t sets[PIPC__BIND_MAX];
        char text[512];
        random_machine(text, sizeof(text), PIPC__BIND_MAX);
        pipc__topo_t *t = synthetic(round ? text : "2x[8gpu]");
        scramble(t);
        pipc__bind_request_t req = request(t, 1, NULL);
        req.ngpus = req.ngpus > 16 ? 16 : req.ngpus;
        req.nranks = 1 + roll(req.ngpus);
        for (int r = 0; r < req.nranks; r++)
            sets[r] = random_set(t);
        req.rank_cpus = sets;
        pipc__binding_t b = bind(t, &req);
        pipc__bind_cost_t best, cost;
        pipc__bind_cost(t, &req, b.order, req.nranks, &best, NULL);
        for (int i = 0; i < req.nranks; i++)
            for (int j = i + 1; j < req.ngpus; j++) {
                int other[PIPC__BIND_MAX];
                memcpy(other, b.order, sizeof(other));
                other[i] = b.order[j];
                other[j] = b.order[i];
                pipc__bind_cost(t, &req, other, req.nranks, &cost, NULL);
                assert_true(pipc__bind_cost_compare(&best, &cost) <= 0);
            }
        free_sets(sets, req.nranks);
        pipc__topo_free(t);
    }
}

/* Whatever the machine and the CPUs: the same set of GPUs, the same binding. And CPUs that are
 * alike for all ranks change nothing. */
static void the_order_of_the_grant_does_not_matter(void **state)
{
    (void)state;
    for (int i = 0; i < 500; i++) {
        hwloc_const_bitmap_t sets[PIPC__BIND_MAX], alike[PIPC__BIND_MAX];
        char text[512];
        random_machine(text, sizeof(text), 10);
        pipc__topo_t *t = synthetic(text);
        scramble(t);
        pipc__bind_request_t req = request(t, 1, NULL);
        req.nranks = 1 + roll(req.ngpus + 2);
        for (int r = 0; r < req.nranks; r++) {
            sets[r] = random_set(t);
            alike[r] = sets[0];
        }
        req.rank_cpus = roll(2) ? sets : NULL;
        pipc__binding_t sorted = bind(t, &req);
        for (int k = req.ngpus - 1; k > 0; k--) {
            int other = roll(k + 1), swap = req.gpus[k];
            req.gpus[k] = req.gpus[other];
            req.gpus[other] = swap;
        }
        pipc__binding_t scrambled = bind(t, &req);
        assert_memory_equal(&sorted, &scrambled, sizeof(sorted));
        if (req.nranks == req.ngpus) { /* else there is a choice of which GPU has two ranks */
            req.rank_cpus = alike;
            sorted = bind(t, &req);
            req.rank_cpus = NULL;
            req.granted = sets[0];
            scrambled = bind(t, &req);
            assert_memory_equal(&sorted, &scrambled, sizeof(sorted));
        }
        free_sets(sets, req.nranks);
        pipc__topo_free(t);
    }
}

/* Negative control: the search finds that a bad binding is one. */
static void the_search_sees_a_bad_order(void **state)
{
    pipc__topo_t *t = synthetic("2x[sw:2gpu]");
    pipc__bind_request_t req = request(t, 4, NULL);
    search_t s = {.topo = t, .req = &req, .k = 4};
    int bad[] = {req.gpus[0], req.gpus[2], req.gpus[1], req.gpus[3]};
    pipc__bind_cost_t cost;

    (void)state;
    pipc__bind_cost(t, &req, bad, 4, &cost, NULL);
    try_all(&s, 0);
    assert_true(pipc__bind_cost_compare(&s.best, &cost) < 0);
    pipc__topo_free(t);
}

/* ---- nearness to cores -------------------------------------------------------------------------
 */

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
        pipc__binding_t b = bind(t, &req);
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
        pipc__binding_t b = bind(t, &req);
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
        pipc__binding_t b = bind(t, &req);
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
    pipc__binding_t b = bind(t, &four);
    assert_string_equal(minors_text(t, b.order, 4), "0 2 1 3");
    for (int r = 0; r < 4; r++)
        assert_true(b.rank[r].group == PIPC__UNKNOWN && b.rank[r].numa == r / 2);
    b = bind(t, &two);
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
    pipc__binding_t b = bind(t, &four);
    assert_string_equal(minors_text(t, b.order, 4), "0 1 2 3");
    assert_string_equal(cores_text(t, &b, "0-7", false), "0-7* 0-7* 0-7* 0-7*");
    assert_int_equal(b.rank[3].numa, PIPC__UNKNOWN);
    b = bind(t, &two);
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
    pipc__binding_t b = bind(t, &req);
    assert_string_equal(minors_text(t, b.order, 4), "0 1 2 3");
    assert_string_equal(cores_text(t, &b, "8-9", true), "8-9* 8-9* 8-9* 8-9*");
    free_sets(sets, 4);
    pipc__topo_free(t);
}

/* ---- bind:map -----------------------------------------------------------------------------------
 */

/* "0 1 2" into numbers; returns how many. */
static int numbers(const char *text, int *out)
{
    char *end;
    int n = 0;

    for (const char *p = text; *p; p = end + strspn(end, " "))
        out[n++] = (int)strtol(p, &end, 10);
    return n;
}

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
    pipc__binding_t b = bind(t, &req);
    for (int r = 0; r < 4; r++)
        gpus[r] = b.rank[r].gpu;
    assert_string_equal(minors_text(t, gpus, 4), "2 3 0 1");
    t->objs[req.gpus[2]].addr.domain = PIPC__UNKNOWN; /* no address: at the end */
    b = bind(t, &req);
    assert_string_equal(minors_text(t, b.order, 4), "3 0 1 2");
    pipc__topo_free(t);
}

/* ---- the way as a text --------------------------------------------------------------------------
 */

static void the_way_of_a_gpu(void **state)
{
    static const struct {
        const char *machine;
        int gpu;
        const char *way;
    } cases[] = {
        {"2x[sw:4gpu+nic]", 0, "numa0/0000:00/0000:01:00.0"},
        {"2x[sw:4gpu+nic]", 7, "numa1/0000:08/0000:09:00.0"},
        {"2x[4gpu]", 5, "numa1/0000:08"},
        {"[sw:gpu]", 0, "numa0/0000:00"}, /* inside a card */
        {"[sw:2x[sw:2gpu]+gpu]", 3, "numa0/0000:00/0000:01:00.0/0000:07:00.0"},
        {"[sw:2x[sw:2gpu]+gpu]", 4, "numa0/0000:00/0000:01:00.0"},
        {"[sw:[sw:2gpu]]", 0, "numa0/0000:00/0000:03:00.0"}, /* the outer one makes no group */
        {"[0core+gpu]", 0, "numa?/0000:00"},                 /* memory only */
    };
    char way[128], small[16];

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].machine);
        int gpu = pipc__topo_gpu_by_minor(t, cases[i].gpu);
        assert_true(pipc__bind_way_text(t, gpu, way, sizeof(way)));
        assert_string_equal(way, cases[i].way);
        pipc__topo_free(t);
    }
    pipc__topo_t *t = synthetic("[sw:2x[sw:2gpu]]");
    int gpu = pipc__topo_gpu_by_minor(t, 0);
    int inner = pipc__topo_switch_of(t, gpu), outer = pipc__topo_group_above(t, inner);
    for (size_t cap = 0; cap <= sizeof("numa0/0000:00/0000:01:00.0/0000:03:00.0"); cap++) {
        memset(way, '!', sizeof(way)); /* whole levels, the inner ones go first, never too long */
        bool whole = pipc__bind_way_text(t, gpu, way, cap);
        assert_int_equal(whole, cap >= sizeof("numa0/0000:00/0000:01:00.0/0000:03:00.0"));
        assert_int_equal(way[cap], '!');
        assert_string_equal(cap ? way : "", cap < 6    ? ""
                                            : cap < 14 ? "numa0"
                                            : cap < 27 ? "numa0/0000:00"
                                            : whole    ? "numa0/0000:00/0000:01:00.0/0000:03:00.0"
                                                       : "numa0/0000:00/0000:01:00.0");
    }
    assert_false(pipc__bind_way_text(t, gpu, small, sizeof(small)));
    assert_string_equal(small, "numa0/0000:00");
    /* names of another source: no character of ours in them */
    strcpy(t->objs[outer].name, "PLX #1/a b,?");
    t->objs[inner].name[0] = '\0';
    assert_true(pipc__bind_way_text(t, gpu, way, sizeof(way)));
    assert_string_equal(way, "numa0/0000:00/PLX__1_a_b__/?");
    for (int i = 0; i < t->nobjs; i++) { /* a source that tells neither */
        t->objs[i].numa = PIPC__UNKNOWN;
        if (t->objs[i].kind == PIPC__TOPO_HOST_BRIDGE)
            t->objs[i].kind = PIPC__TOPO_BRIDGE;
    }
    assert_true(pipc__bind_way_text(t, gpu, way, sizeof(way)));
    assert_string_equal(way, "numa?/?/PLX__1_a_b__/?");
    pipc__topo_free(t);
}

/* ---- NICs ------------------------------------------------------------------------------------ */

static void the_nearest_nic(void **state)
{
    static const struct {
        const char *machine;
        int ranks;
        const char *nics; /* a letter a rank: a is the first NIC of the tree, '-' none */
    } cases[] = {
        {"2x[sw:4gpu]", 2, "--"},
        {"2x[sw:4gpu+1nic]", 8, "aaaabbbb"},
        {"2x[sw:4gpu+2nic]", 8, "ababcdcd"},        /* shared out */
        {"2x[sw:2x[sw:2gpu+1nic]]", 8, "aabbccdd"}, /* the nested switch's own */
        {"2x[sw:2x[sw:2gpu]+1nic]", 8, "aaaabbbb"},
        {"2x[2x[sw:2gpu]+1nic]", 8, "aaaabbbb"},     /* by host bridge */
        {"[sw:4gpu+1nic]+[sw:4gpu]", 8, "aaaaaaaa"}, /* the other socket's, if it is the only */
        {"[nic]+[4gpu]+[nic]", 4, "abab"},           /* equally far: shared out */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].machine);
        pipc__bind_request_t req = request(t, cases[i].ranks, NULL);
        pipc__binding_t b = bind(t, &req);
        int nics[16];
        pipc__topo_list(t, PIPC__TOPO_NIC, nics, 16);
        for (int r = 0; r < b.nranks; r++)
            assert_int_equal(b.rank[r].nic,
                             cases[i].nics[r] == '-' ? -1 : nics[cases[i].nics[r] - 'a']);
        pipc__topo_free(t);
    }
}

static void numa_decides_between_nics_of_other_host_bridges(void **state)
{
    pipc__topo_t *t = synthetic("[4gpu]+[nic]+[nic]");
    int nics[2];

    (void)state;
    pipc__topo_list(t, PIPC__TOPO_NIC, nics, 2);
    t->objs[nics[1]].numa = 0; /* a second host bridge of node 0 */
    pipc__bind_request_t req = request(t, 4, NULL);
    pipc__binding_t b = bind(t, &req);
    for (int r = 0; r < 4; r++)
        assert_int_equal(b.rank[r].nic, nics[1]);
    pipc__topo_free(t);
}

static void a_management_port_is_no_match_for_infiniband(void **state)
{
    pipc__topo_t *t = synthetic("[sw:2gpu+1nic]+[sw:2gpu+1nic]");
    int nics[2];

    (void)state;
    pipc__topo_list(t, PIPC__TOPO_NIC, nics, 2);
    t->objs[nics[0]].rdma = false;
    pipc__bind_request_t req = request(t, 4, NULL);
    pipc__binding_t b = bind(t, &req);
    assert_int_equal(b.rank[0].nic, nics[1]);
    t->objs[nics[1]].rdma = false; /* only Ethernet: then the nearest */
    b = bind(t, &req);
    assert_int_equal(b.rank[0].nic, nics[0]);
    pipc__topo_free(t);
}

/* All that a library may use without a detour, not only the one that the rank was given. */
static void rdma_devices_as_near_as_the_own(void **state)
{
    static const struct {
        const char *machine;
        int gpu;
        const char *near; /* letters: a is the first NIC of the tree */
    } cases[] = {
        {"2x[sw:4gpu+1nic]", 1, "a"},        {"2x[sw:4gpu+2nic]", 5, "cd"},
        {"2x[sw:2x[sw:2gpu+1nic]]", 2, "b"}, {"[4gpu]+[sw:4gpu+1nic]", 0, "a"},
        {"[nic]+[4gpu]+[nic]", 0, "ab"},     {"[4gpu]", 0, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__topo_t *t = synthetic(cases[i].machine);
        char minor[16], text[8] = "";
        int nics[8], near[8];
        snprintf(minor, sizeof(minor), "%d", cases[i].gpu);
        pipc__bind_request_t req = request(t, 1, minor);
        pipc__binding_t b = bind(t, &req);
        int all = pipc__topo_list(t, PIPC__TOPO_NIC, nics, 8);
        int n = pipc__bind_nics_near(t, b.rank[0].gpu, near, 8);
        for (int k = 0; k < n; k++)
            for (int j = 0; j < all; j++)
                if (nics[j] == near[k])
                    text[k] = (char)('a' + j);
        assert_string_equal(text, cases[i].near);
        for (int k = 0; k < all; k++) /* Ethernet is no RDMA device */
            t->objs[nics[k]].rdma = false;
        assert_int_equal(pipc__bind_nics_near(t, b.rank[0].gpu, near, 8), 0);
        pipc__topo_free(t);
    }
}

/* The card's own switch puts the NIC two steps further down, not further away. */
static void a_nic_with_a_switch_inside_is_as_near(void **state)
{
    pipc__topo_t *t = synthetic("[sw:[sw:2gpu+[sw:nic]]+nic]");
    pipc__bind_request_t req = request(t, 1, NULL);
    int nics[2], near[2], inner;

    (void)state;
    pipc__topo_list(t, PIPC__TOPO_NIC, nics, 2);
    inner = pipc__topo_switch_of(t, req.gpus[0]);
    assert_true(nics[0] < pipc__topo_end(t, inner)); /* the one that is below the inner switch */
    assert_int_equal(bind(t, &req).rank[0].nic, nics[0]);
    assert_int_equal(pipc__bind_nics_near(t, req.gpus[0], near, 2), 1);
    assert_int_equal(near[0], nics[0]);
    pipc__topo_free(t);
}

/* Both functions of a card that is the nearest are named, and none of one further up. */
static void both_ports_of_the_nearest_card_are_near(void **state)
{
    pipc__topo_t *t = synthetic("[sw:[sw:2gpu+2nic]+2nic]");
    pipc__bind_request_t req = request(t, 2, NULL);
    int nics[4], near[4];

    (void)state;
    pipc__topo_list(t, PIPC__TOPO_NIC, nics, 4);
    for (int i = 1; i < 4; i += 2) {
        t->objs[nics[i]].addr = t->objs[nics[i - 1]].addr;
        t->objs[nics[i]].addr.function = 1;
    }
    assert_int_equal(pipc__bind_nics_near(t, req.gpus[0], near, 4), 2);
    assert_true(near[0] == nics[0] && near[1] == nics[1]);
    pipc__binding_t b = bind(t, &req);
    assert_true(b.rank[0].nic == nics[0] && b.rank[1].nic == nics[1]);
    pipc__topo_free(t);
}

static void two_ports_of_a_card_come_after_two_cards(void **state)
{
    pipc__topo_t *t = synthetic("[sw:4gpu+4nic]");
    int nics[4];
    static const int expected[] = {0, 2, 1, 3};

    (void)state;
    pipc__topo_list(t, PIPC__TOPO_NIC, nics, 4);
    for (int i = 1; i < 4; i += 2) { /* make functions of one card of each two */
        t->objs[nics[i]].addr = t->objs[nics[i - 1]].addr;
        t->objs[nics[i]].addr.function = 1;
    }
    pipc__bind_request_t req = request(t, 4, NULL);
    pipc__binding_t b = bind(t, &req);
    for (int r = 0; r < 4; r++)
        assert_int_equal(b.rank[r].nic, nics[expected[r]]);
    pipc__topo_free(t);
}

/* ---- cores ----------------------------------------------------------------------------------- */

/* The cores of each rank as "0-3 4-7", '*' after a set that is not near. */
static const char *cores_text(const pipc__topo_t *t, const pipc__binding_t *b, const char *granted,
                              bool own)
{
    static char text[1024];
    hwloc_bitmap_t mask = hwloc_bitmap_alloc(), out = hwloc_bitmap_alloc();

    text[0] = '\0';
    assert_int_equal(hwloc_bitmap_list_sscanf(mask, granted), 0);
    for (int r = 0; r < b->nranks; r++) {
        bool near;
        char one[64];
        assert_int_equal(
            (own ? pipc__bind_own_cores : pipc__bind_cores)(t, b, r, mask, out, &near, NULL),
            PIPC_OK);
        assert_false(hwloc_bitmap_iszero(out));
        hwloc_bitmap_list_snprintf(one, sizeof(one), out);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s", r ? " " : "", one,
                 near ? "" : "*");
    }
    hwloc_bitmap_free(mask);
    hwloc_bitmap_free(out);
    return text;
}

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
        pipc__binding_t b = bind(t, &req);
        assert_string_equal(cores_text(t, &b, cases[i].granted, false), cases[i].cores);
        pipc__topo_free(t);
    }
}

static void a_grant_that_is_the_tasks_own_is_not_shared_out(void **state)
{
    pipc__topo_t *t = synthetic("2x[sw:4gpu]");
    pipc__bind_request_t req = request(t, 4, "0 1 4 5");
    pipc__binding_t b = bind(t, &req);

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
    pipc__binding_t b = bind(t, &two);
    assert_string_equal(cores_text(t, &b, "0-7", false), "0-1,4-5 2-3,6-7");
    assert_string_equal(cores_text(t, &b, "1-2,5-6", false), "1,5 2,6");
    assert_string_equal(cores_text(t, &b, "0,4", false), "0,4 0,4"); /* one core for two ranks */
    b = bind(t, &three);
    assert_string_equal(cores_text(t, &b, "0-7", false), "0,4 1,5 2-3,6-7");
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
        pipc__binding_t b = bind(t, &req);
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
        pipc__binding_t b = bind(t, &req);
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
    pipc__binding_t b = bind(t, &req);
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
        cmocka_unit_test(no_other_choice_uses_fewer_switches_or_crosses_less),
        cmocka_unit_test(the_order_of_the_grant_does_not_matter),
        cmocka_unit_test(one_task_with_many_gpus_gets_whole_switches),
        cmocka_unit_test(the_largest_machine_is_quick_to_bind),
        cmocka_unit_test(what_a_binding_costs),
        cmocka_unit_test(the_cost_of_own_cpus_and_of_nonsense),
        cmocka_unit_test(no_set_and_no_order_costs_less),
        cmocka_unit_test(sixteen_gpus_cannot_be_bettered_by_an_exchange),
        cmocka_unit_test(the_search_sees_a_bad_order),
        cmocka_unit_test(nodes_follow_their_cpus_not_their_gpus),
        cmocka_unit_test(among_equals_gpus_near_granted_cores_and_a_nic),
        cmocka_unit_test(ranks_with_cpus_of_their_own),
        cmocka_unit_test(a_machine_of_single_devices_goes_by_numa_node),
        cmocka_unit_test(a_machine_without_numa_nodes_goes_by_switches),
        cmocka_unit_test(ranks_on_a_package_without_gpus_get_the_others),
        cmocka_unit_test(an_explicit_map),
        cmocka_unit_test(a_map_counts_in_bus_order),
        cmocka_unit_test(the_way_of_a_gpu),
        cmocka_unit_test(the_nearest_nic),
        cmocka_unit_test(a_nic_with_a_switch_inside_is_as_near),
        cmocka_unit_test(both_ports_of_the_nearest_card_are_near),
        cmocka_unit_test(numa_decides_between_nics_of_other_host_bridges),
        cmocka_unit_test(a_management_port_is_no_match_for_infiniband),
        cmocka_unit_test(rdma_devices_as_near_as_the_own),
        cmocka_unit_test(two_ports_of_a_card_come_after_two_cards),
        cmocka_unit_test(cores_near_the_gpu_shared_out),
        cmocka_unit_test(a_grant_that_is_the_tasks_own_is_not_shared_out),
        cmocka_unit_test(cores_around_several_gpus),
        cmocka_unit_test(siblings_stay_together),
        cmocka_unit_test(the_order_of_visible_gpus),
        cmocka_unit_test(programs_land_on_the_bound_gpu),
        cmocka_unit_test(ranks_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
