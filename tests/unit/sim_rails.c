/* tests/unit/sim_rails.c - plans over many nodes, simulated: bytes are exact, NICs that limit are
 * busy, and 1024 nodes take no longer to simulate than two
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/rail/schedule.h"
#include "runtime/sim/simulate.h"

/* Nodes of eight GPUs below two switches, or of @n. */
typedef struct machine {
    pipc__topo_t *topo;
    pipc__costs_t costs;
    pipc__fabric_t *fabric;
    pipc__plan_t *plan;
} machine_t;

static machine_t make(const char *tree, pipc__plan_kind_t kind, int nrails)
{
    machine_t m = {NULL};
    pipc__error_t err = {PIPC_OK, ""};
    pipc__bind_request_t req = {.mode = PIPC__BIND_SWITCH};
    pipc__binding_t binding;
    pipc__shape_t shape;

    pipc__costs_default(&m.costs);
    assert_int_equal(pipc__topo_synthetic(&m.topo, tree, &err), PIPC_OK);
    req.nranks = req.ngpus = pipc__topo_list(m.topo, PIPC__TOPO_GPU, req.gpus, PIPC__BIND_MAX);
    assert_int_equal(pipc__bind(m.topo, &req, &binding, &err), PIPC_OK);
    assert_int_equal(
        pipc__fabric_make(&m.fabric, m.topo, &binding, &m.costs, PIPC__PROFILE_P2P, &err), PIPC_OK);
    pipc__shape_flat(&shape, req.nranks);
    shape.nrails = nrails;
    shape.most = req.nranks;
    if (pipc__plan_make_for(&m.plan, kind, PIPC__ALLREDUCE, &shape, &err))
        fail_msg("%s", err.text);
    return m;
}

static void free_machine(machine_t *m)
{
    pipc__plan_free(m->plan);
    pipc__fabric_free(m->fabric);
    pipc__topo_free(m->topo);
}

static pipc__sim_result_t run(const machine_t *m, pipc__sim_net_t net, size_t bytes)
{
    pipc__sim_call_t call = {.plan = m->plan,
                             .count = bytes / 4,
                             .elem_bytes = 4,
                             .staging_bytes = PIPC__SIM_STAGING,
                             .net = &net};
    pipc__sim_result_t result;
    pipc__error_t err = {PIPC_OK, ""};

    if (pipc__simulate(&result, m->fabric, &call, &err))
        fail_msg("%s", err.text);
    pipc__sim_release(&result);
    return result;
}

#define NEAR(a, b, part)                                                                           \
    do {                                                                                           \
        double a_ = (a), b_ = (b);                                                                 \
        if (a_ < b_ * (1 - (part)) || a_ > b_ * (1 + (part)))                                      \
            fail_msg("%s:%d: %g is not %g", __FILE__, __LINE__, a_, b_);                           \
    } while (0)

static void a_job_goes_the_way_of_the_engine(void **state)
{
    static const struct {
        int nodes;
        double bytes;
        const char *name;
        double steps, nic; /* bytes */
    } table[] = {
        {1, 1000, "nothing", 0, 0},         {2, 8, "doubling", 1, 8},
        {2, 1e9, "halving", 2, 1e9},        {4, 8, "doubling", 2, 16},
        {4, 1e9, "halving", 4, 1.5e9},      {3, 8, "doubling", 3, 16},
        {3, 1e9, "ring", 4, 4e9 / 3},       {8, 1e9, "halving", 6, 1.75e9},
        {6, 8, "doubling", 4, 24},          {1024, 8, "doubling", 10, 80},
        {1000, 8, "doubling", 11, 80},      {1024, 1.024e9, "halving", 20, 2.046e9},
        {3, 65536, "ring", 4, 262144. / 3}, {12, 262144, "halving", 8, 2.75 * 262144},
        {12, 1e9, "ring", 22, 22e9 / 12},   {1000, 1e6, "halving", 20, (2 * 511. / 512 + 1) * 1e6},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const pipc__sim_net_t net = {table[i].nodes, 1e10, 5e-6, 1};
        pipc__sim_way_t way = pipc__sim_way_over(&net, table[i].bytes, 0);
        assert_string_equal(way.name, table[i].name);
        assert_true(way.steps == table[i].steps);
        NEAR(way.bytes + 1, table[i].nic + 1, 1e-9);
    }
}

/* The simulator sees no engine: this test does. */
static void and_that_is_what_the_engine_does(void **state)
{
    static const size_t bytes[] = {8, 4096, 65536, 65537, 262144, 262145, 1 << 20, 64 << 20};

    (void)state;
    for (int nodes = 2; nodes <= PIPC__SIM_NODES_MAX; nodes += nodes < 40 ? 1 : 41)
        for (int i = 0; i < 8; i++) {
            const pipc__sim_net_t net = {nodes, 1e10, 5e-6, 1};
            size_t message = i % 2 ? 0 : bytes[(i * 5 + nodes) % 8]; /* alone, and with others */
            pipc__rail_cut_t cut = pipc__rail_cut(nodes, bytes[i], message);
            pipc__sim_way_t way = pipc__sim_way_over(&net, (double)bytes[i], (double)message);
            assert_string_equal(way.name, pipc__rail_algo_string(cut.algo));
            assert_true(way.steps == pipc__rail_steps(cut.algo, nodes));
        }
}

/* What a NIC sends is what its rails do: S / rails times the way's, however chunks and rounds are
 * cut. */
static void bytes_of_a_nic_are_exact(void **state)
{
    machine_t m = make("2x[sw:4gpu]", PIPC__NODES, 8);
    pipc__sim_net_t net = {2, 1e10, 5e-6, 4};

    (void)state;
    for (size_t bytes = 64 << 20; bytes >= 8 << 20; bytes /= 8)
        for (net.nodes = 2; net.nodes <= 9; net.nodes++) {
            double s = (double)bytes, n = net.nodes;
            NEAR(run(&m, net, bytes).nic_bytes, 2 * (n - 1) / n * s / 2, 1e-9);
        }
    net.nodes = 8; /* 8 KB a job */
    NEAR(run(&m, net, 256 << 10).nic_bytes, 3 * (256 << 10) / 2, 1e-9);
    free_machine(&m);
}

/* Four nodes, 128 KB: by doubling twice the message, else once and a half. */
static void a_lean_plan_sends_least(void **state)
{
    const pipc__sim_net_t net = {4, 1e10, 5e-6, 1};
    machine_t m = make("[sw:1gpu]", PIPC__NODES, 1), lean = make("[sw:1gpu]", PIPC__NODES_LEAN, 1);

    (void)state;
    NEAR(run(&m, net, (size_t)128 << 10).nic_bytes, 256 << 10, 1e-6);
    NEAR(run(&lean, net, (size_t)128 << 10).nic_bytes, 192 << 10, 1e-6);
    assert_int_equal(m.plan->lean, 0);
    free_machine(&m);
    free_machine(&lean);
}

/* Slow NICs are the limit, and then they must hardly ever be idle: that is what chunks are for. */
static void phases_overlap_so_that_a_slow_network_is_busy(void **state)
{
    static const char *const trees[] = {"[sw:2gpu]", "[sw:4gpu]", "2x[sw:4gpu]"};

    (void)state;
    for (int i = 0; i < 3; i++)
        for (int nodes = 2; nodes <= 4; nodes++) {
            machine_t m = make(trees[i], PIPC__NODES, 2 << i);
            const pipc__sim_net_t net = {nodes, 1e9, 20e-6, 8};
            pipc__sim_result_t r = run(&m, net, 64 << 20);
            assert_true(r.nic_busy > 0.9 && r.nic_busy <= 1);
            NEAR(r.usec, r.nic_bytes / r.nic_busy / net.rate * 1e6, 1e-6);
            free_machine(&m);
        }
}

/* One chunk can't overlap with anything: node, network and node again come one after the other. */
static void one_chunk_takes_the_sum_of_its_phases(void **state)
{
    machine_t m = make("[sw:4gpu]", PIPC__NODES_ONE, 1);
    pipc__sim_net_t net = {4, 1e9, 0, 8};

    (void)state;
    double with = run(&m, net, 1 << 20).usec,
           nic = run(&m, net, 1 << 20).nic_bytes / net.rate * 1e6;
    net.rate = 1e15;
    NEAR(with, run(&m, net, 1 << 20).usec + nic, 1e-3);
    net.step = 7e-6;
    NEAR(run(&m, net, 8).usec, run(&m, (pipc__sim_net_t){4, 1e15, 0, 8}, 8).usec + 2 * 7, 1e-3);
    free_machine(&m);
}

static void more_nodes_take_longer_and_the_plan_stays(void **state)
{
    machine_t m = make("2x[sw:4gpu]", PIPC__NODES, 8);

    (void)state;
    for (size_t bytes = 64 << 10; bytes <= 1 << 30; bytes *= 128) {
        double last = 0;
        for (int nodes = 2; nodes <= PIPC__SIM_NODES_MAX; nodes *= 2) {
            const pipc__sim_net_t net = pipc__sim_net(&m.costs, nodes);
            pipc__sim_result_t r = run(&m, net, bytes);
            assert_true(r.usec > 0.85 * last); /* the order of work may suit one number better */
            assert_true(r.nic_busy > 0 && r.nic_busy <= 1);
            last = r.usec;
        }
    }
    free_machine(&m);
}

/* Without the hierarchy every message is one of the network, and a ring has 2 (n - 1) in a row. */
static void flat_plans_are_as_their_formulas(void **state)
{
    const pipc__sim_net_t net = {4, 1e10, 5e-6, 4};
    double nic;

    (void)state;
    NEAR(pipc__sim_flat_ring(&net, 8, 1e12, 32e6, &nic), 62 * 5e-6 + 31e6 / 1e10, 1e-9);
    NEAR(nic, 31e6, 1e-9);
    NEAR(pipc__sim_flat_ring(&net, 8, 1e9, 32e6, &nic), 62 * 5e-6 + 62e6 / 1e9, 1e-9);
    NEAR(pipc__sim_flat_doubling(&net, 8, 1e12, 1e6, &nic), 5 * 5e-6 + 8e6 / 1e10, 1e-9);
    NEAR(nic, 8e6, 1e-9);
}

static void a_plan_over_nodes_needs_their_number(void **state)
{
    machine_t m = make("[sw:2gpu]", PIPC__NODES, 2);
    pipc__sim_call_t call = {.plan = m.plan, .count = 1, .elem_bytes = 4, .staging_bytes = 1 << 20};
    pipc__sim_result_t result;
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__simulate(&result, m.fabric, &call, &err), PIPC_ERR_INVALID);
    assert_string_equal(err.text, "plan nodes is for several nodes; say how many there are");
    free_machine(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_goes_the_way_of_the_engine),
        cmocka_unit_test(and_that_is_what_the_engine_does),
        cmocka_unit_test(bytes_of_a_nic_are_exact),
        cmocka_unit_test(a_lean_plan_sends_least),
        cmocka_unit_test(phases_overlap_so_that_a_slow_network_is_busy),
        cmocka_unit_test(one_chunk_takes_the_sum_of_its_phases),
        cmocka_unit_test(more_nodes_take_longer_and_the_plan_stays),
        cmocka_unit_test(flat_plans_are_as_their_formulas),
        cmocka_unit_test(a_plan_over_nodes_needs_their_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
