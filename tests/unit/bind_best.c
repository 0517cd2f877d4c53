/* tests/unit/bind_best.c - no other set of GPUs and no other order of ranks costs less */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/bind_text.h"

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
        pipc__binding_t b = binding_of(t, &req);
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
        pipc__binding_t b = binding_of(t, &req);
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
        binding_of(t, &req);
    pipc__topo_free(t);
}

/* ---- the cost ---------------------------------------------------------------------------------
 */

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
    pipc__binding_t b = binding_of(t, req);
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
        pipc__binding_t b = binding_of(t, &req);
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
        pipc__binding_t sorted = binding_of(t, &req);
        for (int k = req.ngpus - 1; k > 0; k--) {
            int other = roll(k + 1), swap = req.gpus[k];
            req.gpus[k] = req.gpus[other];
            req.gpus[other] = swap;
        }
        pipc__binding_t scrambled = binding_of(t, &req);
        assert_memory_equal(&sorted, &scrambled, sizeof(sorted));
        if (req.nranks == req.ngpus) { /* else there is a choice of which GPU has two ranks */
            req.rank_cpus = alike;
            sorted = binding_of(t, &req);
            req.rank_cpus = NULL;
            req.granted = sets[0];
            scrambled = binding_of(t, &req);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_other_choice_uses_fewer_switches_or_crosses_less),
        cmocka_unit_test(the_order_of_the_grant_does_not_matter),
        cmocka_unit_test(one_task_with_many_gpus_gets_whole_switches),
        cmocka_unit_test(the_largest_machine_is_quick_to_bind),
        cmocka_unit_test(what_a_binding_costs),
        cmocka_unit_test(the_cost_of_own_cpus_and_of_nonsense),
        cmocka_unit_test(no_set_and_no_order_costs_less),
        cmocka_unit_test(sixteen_gpus_cannot_be_bettered_by_an_exchange),
        cmocka_unit_test(the_search_sees_a_bad_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
