/* tests/unit/sim_by_hand.c - the simulator: exact bytes, times that can be computed by hand, and
 * what each flow gets of what they share
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/plan/traffic.h"
#include "runtime/sim/share.h"
#include "tests/unit/sim_machine.h"

/* ---- bytes ----------------------------------------------------------------------------------- */

/* S is 16 MB; every expected figure is in S, and exact. */
static void bytes_over_links(void **state)
{
    static const struct {
        const char *tree;
        pipc__plan_kind_t kind;
        const char *link;
        double up, down;
    } cases[] = {
        {"2x[sw:4gpu]", PIPC__ISLAND, "uplink of switch 0000:01:00.0", 1, 1},
        {"2x[sw:4gpu]", PIPC__ISLAND, "uplink of switch 0000:09:00.0", 1, 1},
        {"2x[sw:4gpu]", PIPC__ISLAND, "socket link between NUMA nodes 0 and 1", 1, 1},
        {"2x[sw:4gpu]", PIPC__ISLAND, "link of GPU 0000:03:00.0", 1.75, 1.75},
        {"2x[sw:4gpu]", PIPC__RING, "uplink of switch 0000:01:00.0", 1.75, 1.75},
        {"2x[sw:4gpu]", PIPC__RING, "socket link between NUMA nodes 0 and 1", 1.75, 1.75},
        {"2x[sw:4gpu]", PIPC__RING, "link of GPU 0000:05:00.0", 1.75, 1.75},
        {"2x[sw:4gpu]", PIPC__TWO_SHOT, "uplink of switch 0000:01:00.0", 4, 4},
        {"2x[sw:4gpu]", PIPC__TWO_SHOT, "link of GPU 0000:03:00.0", 1.75, 1.75},
        {"2x[sw:4gpu]", PIPC__PERMUTED, "socket link between NUMA nodes 0 and 1", 4, 4},
        {"2x[sw:4gpu]", PIPC__ONE_SHOT, "uplink of switch 0000:01:00.0", 16, 16},
        {"2x[sw:4gpu]", PIPC__ONE_SHOT, "link of GPU 0000:03:00.0", 7, 7},
        {"[sw:8gpu]", PIPC__RING, "uplink of switch 0000:01:00.0", 0, 0},
        {"[sw:8gpu]", PIPC__TWO_SHOT, "link of GPU 0000:03:00.0", 1.75, 1.75},
        {"2x[sw:2gpu]", PIPC__ISLAND, "uplink of switch 0000:01:00.0", 1, 1},
        {"2x[sw:2gpu]", PIPC__ISLAND, "link of GPU 0000:03:00.0", 1.5, 1.5},
    };
    const size_t bytes = 16 << 20;
    pipc__costs_t costs;

    (void)state;
    pipc__costs_default(&costs);
    for (size_t i = 0; i < COUNT(cases); i++) {
        machine_t m;
        put_on(&m, cases[i].tree, 0, &costs, false);
        pipc__plan_t *plan = plan_for(&m, cases[i].kind);
        pipc__sim_result_t r = run(&m, plan, bytes / 4, false);
        const pipc__sim_link_t *l = &m.fabric->links[link_named(&m, cases[i].link)];
        double up = (double)r.load[l->resource[0]].bytes / (double)bytes;
        double down = (double)r.load[l->resource[1]].bytes / (double)bytes;
        if (up != cases[i].up || down != cases[i].down)
            fail_msg("%s, %s, %s: %g and %g S", cases[i].tree, plan->name, cases[i].link, up, down);
        pipc__sim_release(&r);
        pipc__plan_free(plan);
        take_off(&m);
    }
}

/* In host memory every byte is written once and read once; nothing goes from switch to switch but
 * through it. */
static void bytes_through_the_host(void **state)
{
    const size_t bytes = 1 << 20;
    pipc__costs_t costs;
    machine_t m;

    (void)state;
    pipc__costs_default(&costs);
    put_on(&m, "[sw:4gpu]", 0, &costs, true);
    pipc__plan_t *plan = plan_for(&m, PIPC__TWO_SHOT);
    pipc__sim_result_t r = run(&m, plan, bytes / 4, false);
    const pipc__sim_link_t *up = &m.fabric->links[link_named(&m, "uplink of switch 0000:01:00.0")];
    const pipc__sim_link_t *mem = &m.fabric->links[link_named(&m, "memory of NUMA node 0")];
    assert_int_equal(r.load[up->resource[0]].bytes, 6 * bytes); /* 4 ranks send 2 * 3/4 S each */
    assert_int_equal(r.load[up->resource[1]].bytes, 6 * bytes);
    assert_int_equal(r.load[mem->resource[0]].bytes, 12 * bytes);
    pipc__sim_release(&r);
    pipc__plan_free(plan);
    take_off(&m);
}

/* The generators' own count of what each rank sends and gets is what crosses its link. */
static void bytes_as_the_plans_count(void **state)
{
    static const char *const some[] = {"2x[sw:4gpu]", "[sw:5gpu]+[sw:3gpu]", "2x[2x[sw:2gpu]]",
                                       "[sw:3gpu]+[1gpu]", "16x[1gpu]"};
    pipc__costs_t costs;

    (void)state;
    pipc__costs_default(&costs);
    for (size_t t = 0; t < COUNT(some); t++) {
        machine_t m;
        put_on(&m, some[t], 0, &costs, false);
        for (int k = 0; k < PIPC__PLAN_KINDS_LOCAL; k++) {
            pipc__plan_t *plan = plan_for(&m, (pipc__plan_kind_t)k);
            if (!plan)
                continue;
            size_t count = (size_t)plan->nchunks * 4096; /* equal chunks, one round */
            pipc__sim_result_t r = run(&m, plan, count, false);
            pipc__traffic_t traffic;
            pipc__plan_traffic(&traffic, plan, &m.shape, 4.0 * (double)count);
            for (int q = 0; q < plan->nranks; q++) {
                char name[80];
                snprintf(name, sizeof(name), "link of GPU %s",
                         m.topo->objs[m.binding.rank[q].gpu].name);
                const pipc__sim_link_t *l = &m.fabric->links[link_named(&m, name)];
                NEAR((double)r.load[l->resource[0]].bytes, traffic.sent[q], 1e-9);
                NEAR((double)r.load[l->resource[1]].bytes, traffic.received[q], 1e-9);
            }
            pipc__sim_release(&r);
            pipc__plan_free(plan);
        }
        take_off(&m);
    }
}

/* ---- times by hand --------------------------------------------------------------------------- */

typedef struct copy {
    int from, to;
} copy_t;

/* A plan in which each rank copies its input to slots of others, as listed, one after the other and
 * without any flag. It is no right all-reduce, and the simulator does not mind. */
static pipc__plan_t *copies(int nranks, const copy_t *list, int n, int nstages)
{
    pipc__plan_t *p = calloc(1, sizeof(*p));

    strcpy(p->name, "copies");
    p->nranks = nranks;
    p->nchunks = p->nflags = 1;
    p->nslots = PIPC__RANKS_MAX;
    p->nstages = nstages;
    for (int i = 0; i < n; i++) {
        int stage = nstages > 1 ? i % nstages : 0;
        pipc__program_t *prog = &p->program[list[i].from][stage];
        if (!prog->ops)
            prog->ops = calloc((size_t)n, sizeof(pipc__op_t));
        prog->ops[prog->nops++] =
            (pipc__op_t){.kind = PIPC__COPY,
                         .nsrc = 1,
                         .dst = {PIPC__SLOT, (uint8_t)list[i].to, (uint16_t)list[i].from},
                         .src = {{PIPC__INPUT, (uint8_t)list[i].from, 0}}};
    }
    return p;
}

/* How long copies of 1 MB take on links of 16 GB/s a direction, in times of one copy. */
static void times_by_hand(void **state)
{
    static const struct {
        const char *what, *tree;
        copy_t list[4];
        int n, nstages;
        double duplex, crowd, p2p, times;
    } cases[] = {
        {"one", "[sw:4gpu]", {{0, 1}}, 1, 1, 1, 1, 1, 1},
        {"one after the other", "[sw:4gpu]", {{0, 1}, {0, 2}}, 2, 1, 1, 1, 1, 2},
        {"two share the way out", "[sw:4gpu]", {{0, 1}, {0, 2}}, 2, 2, 1, 1, 1, 2},
        {"two share the way in", "[sw:4gpu]", {{0, 2}, {1, 2}}, 2, 1, 1, 1, 1, 2},
        {"opposite ways don't", "[sw:4gpu]", {{0, 1}, {1, 0}}, 2, 1, 1, 1, 1, 1},
        {"but for the duplex", "[sw:4gpu]", {{0, 1}, {1, 0}}, 2, 1, 0.8, 1, 1, 1.25},
        {"strangers don't", "[sw:4gpu]", {{0, 1}, {2, 3}}, 2, 1, 1, 1, 1, 1},
        {"a crowd", "[sw:4gpu]", {{0, 2}, {1, 2}}, 2, 1, 1, 0.5, 1, 4},
        {"max-min: the third takes what is left",
         "[sw:4gpu]",
         {{0, 1}, {0, 2}, {3, 2}},
         3,
         2,
         1,
         1,
         1,
         2},
        {"root ports", "[2gpu]", {{0, 1}}, 1, 1, 1, 1, 0.5, 2},
        {"below a switch not", "[sw:2gpu]", {{0, 1}}, 1, 1, 1, 1, 0.5, 1},
        {"an uplink is shared", "2x[sw:2gpu]", {{0, 2}, {1, 3}}, 2, 1, 1, 1, 1, 2},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__costs_t costs;
        machine_t m;
        ideal(&costs);
        costs.speed_gts = 8.125; /* 16.25 GB/s, 16 of them data */
        costs.socket_gbps = 1e5;
        costs.duplex = cases[i].duplex;
        costs.crowd = costs.crowd_least = cases[i].crowd;
        costs.root_p2p = cases[i].p2p;
        put_on(&m, cases[i].tree, 0, &costs, false);
        pipc__plan_t *plan = copies(m.binding.nranks, cases[i].list, cases[i].n, cases[i].nstages);
        double one = (1 << 20) / 16e9 * 1e6, usec = usec_of(&m, plan, (1 << 20) / 4);
        if (usec < one * cases[i].times * 0.999 || usec > one * cases[i].times * 1.001)
            fail_msg("%s: %g us, not %g times %g", cases[i].what, usec, cases[i].times, one);
        pipc__plan_free(plan);
        take_off(&m);
    }
}

/* Latencies of the ring by hand: a call, then 2 (n - 1) steps, of each rank 1 + 3 (n - 1) ops in a
 * row that begin something, but the last n - 1 copies of all but the last step overlap with others'
 * steps. For n = 2: push, wait, sum, push, wait, copy. */
static void latencies_by_hand(void **state)
{
    pipc__costs_t costs;
    machine_t m;

    (void)state;
    ideal(&costs);
    costs.exec[PIPC__PROFILE_P2P].call_usec = 1000;
    costs.exec[PIPC__PROFILE_P2P].op_usec = 10;
    costs.exec[PIPC__PROFILE_P2P].step_usec = 100;
    put_on(&m, "[sw:2gpu]", 0, &costs, false);
    pipc__plan_t *plan = plan_for(&m, PIPC__RING);
    NEAR(usec_of(&m, plan, 64), 1000 + 2 * 100 + 4 * 10, 1e-3);
    assert_true(usec_of(&m, plan, 0) == 1000); /* nothing to move: no round */
    pipc__plan_free(plan);
    plan = plan_for(&m, PIPC__ONE_SHOT);
    NEAR(usec_of(&m, plan, 64), 1000 + 100 + 2 * 10, 1e-3);
    pipc__plan_free(plan);
    take_off(&m);
    costs.root_usec = 7;
    costs.socket_usec = 5;
    put_on(&m, "2x[1gpu]", 0, &costs, false);
    plan = plan_for(&m, PIPC__ONE_SHOT);
    NEAR(usec_of(&m, plan, 64), 1000 + 112 + 2 * 10, 1e-3);
    pipc__plan_free(plan);
    take_off(&m);
}

/* A copy by an engine, a sum of two sources by its speed of reading, a memory that both use. */
static void engines_by_hand(void **state)
{
    pipc__costs_t costs;
    machine_t m;
    const double bytes = 1 << 20;

    (void)state;
    ideal(&costs);
    costs.speed_gts = 256;
    costs.width = 32;
    pipc__exec_costs_t *e = &costs.exec[PIPC__PROFILE_P2P];
    e->copy_gbps.value[0] = 4;
    e->reduce_gbps.value[0] = 2;
    put_on(&m, "[sw:2gpu]", 0, &costs, false);
    pipc__plan_t *plan = plan_for(&m, PIPC__ONE_SHOT);
    NEAR(usec_of(&m, plan, (1 << 20) / 4), bytes / 4e3 + 2 * bytes / 2e3, 1e-3);
    take_off(&m);
    e->copy_gbps.value[0] = e->reduce_gbps.value[0] = 1e6;
    e->memory_gbps =
        1; /* copies read one's own and write the other's; a sum reads two, writes one */
    put_on(&m, "[sw:2gpu]", 0, &costs, false);
    NEAR(usec_of(&m, plan, (1 << 20) / 4), 2 * bytes / 1e3 + 3 * bytes / 1e3, 1e-3);
    pipc__plan_free(plan);
    take_off(&m);
    /* Two stages at full speed, or one at a time. */
    static const copy_t list[] = {{0, 1}, {0, 1}};
    e->memory_gbps = 1e6;
    e->copy_gbps.value[0] = 1;
    plan = copies(2, list, 2, 2);
    for (int engines = 1; engines <= 2; engines++) {
        e->engines = engines;
        put_on(&m, "[sw:2gpu]", 0, &costs, false);
        NEAR(usec_of(&m, plan, (1 << 20) / 4), 2 * bytes / 1e3 / engines, 1e-3);
        take_off(&m);
    }
    pipc__plan_free(plan);
}

/* Rounds of two halves that use different things: in step they take one after the other, and with
 * all drift there is only the first round in which nothing overlaps. */
static void drift_by_hand(void **state)
{
    const double half = (1 << 20) / 16e9 * 1e6; /* of a round of 1 MB: the link's, and the sum's */
    pipc__costs_t costs;
    machine_t m;

    (void)state;
    ideal(&costs);
    costs.speed_gts = 8.125;
    pipc__exec_costs_t *e = &costs.exec[PIPC__PROFILE_P2P];
    e->reduce_gbps.value[0] = 32;
    for (int rounds = 1; rounds <= 64; rounds *= 4)
        for (int drift = 0; drift <= 2; drift++) {
            pipc__sim_result_t r;
            pipc__error_t err;
            e->drift = drift / 2.0;
            put_on(&m, "[sw:2gpu]", 0, &costs, false);
            pipc__plan_t *plan = plan_for(&m, PIPC__ONE_SHOT);
            pipc__sim_call_t call = {plan, ((size_t)rounds << 20) / 4, 4, 4 << 20, false, NULL};
            assert_int_equal(pipc__simulate(&r, m.fabric, &call, &err), PIPC_OK);
            assert_int_equal(r.rounds, rounds);
            NEAR(r.usec, half * (2 * rounds - e->drift * (rounds - 1)), 1e-2);
            pipc__sim_release(&r);
            pipc__plan_free(plan);
            take_off(&m);
        }
}

/* What each flow gets when several things are full. */
static void shares(void **state)
{
    pipc__sim_resource_t res[] = {{.rate = 10e9}, {.rate = 6e9}, {.rate = 100e9}};
    const pipc__fabric_t f = {.resources = res, .nresources = 3, .crowd = 1, .crowd_least = 1};
    const pipc__hop_t both[] = {{0, 1, 1}, {1, 1, 1}}, first[] = {{0, 1, 1}}, twice[] = {{1, 1, 2}};
    pipc__flow_t a = {both, 2, 1e12, 0}, b = {first, 1, 1e12, 0}, c = {twice, 1, 1e12, 0};
    pipc__flow_t d = {first, 1, 1e9, 0};
    pipc__flow_t *flows[] = {&a, &b, &c, &d};
    pipc__share_room_t room;

    (void)state;
    assert_true(pipc__share_room(&room, &f));
    pipc__share(&f, flows, 4, &room);
    NEAR(d.rate, 1e9, 1e-6); /* its own limit */
    NEAR(a.rate, 2e9, 1e-6); /* with c: x + 2x = 6 */
    NEAR(c.rate, 2e9, 1e-6);
    NEAR(b.rate, 7e9, 1e-6);              /* what is left */
    pipc__share(&f, flows + 1, 1, &room); /* and nothing is left over from the last time */
    NEAR(b.rate, 10e9, 1e-6);
    pipc__share_release(&room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_over_links),
        cmocka_unit_test(bytes_through_the_host),
        cmocka_unit_test(bytes_as_the_plans_count),
        cmocka_unit_test(times_by_hand),
        cmocka_unit_test(latencies_by_hand),
        cmocka_unit_test(engines_by_hand),
        cmocka_unit_test(drift_by_hand),
        cmocka_unit_test(shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
