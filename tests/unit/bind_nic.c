/* tests/unit/bind_nic.c - the way to a GPU, and the NICs near it */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/bind_text.h"

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
        pipc__binding_t b = binding_of(t, &req);
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
    pipc__binding_t b = binding_of(t, &req);
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
    pipc__binding_t b = binding_of(t, &req);
    assert_int_equal(b.rank[0].nic, nics[1]);
    t->objs[nics[1]].rdma = false; /* only Ethernet: then the nearest */
    b = binding_of(t, &req);
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
        pipc__binding_t b = binding_of(t, &req);
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
    assert_int_equal(binding_of(t, &req).rank[0].nic, nics[0]);
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
    pipc__binding_t b = binding_of(t, &req);
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
    pipc__binding_t b = binding_of(t, &req);
    for (int r = 0; r < 4; r++)
        assert_int_equal(b.rank[r].nic, nics[expected[r]]);
    pipc__topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_way_of_a_gpu),
        cmocka_unit_test(the_nearest_nic),
        cmocka_unit_test(a_nic_with_a_switch_inside_is_as_near),
        cmocka_unit_test(both_ports_of_the_nearest_card_are_near),
        cmocka_unit_test(numa_decides_between_nics_of_other_host_bridges),
        cmocka_unit_test(a_management_port_is_no_match_for_infiniband),
        cmocka_unit_test(rdma_devices_as_near_as_the_own),
        cmocka_unit_test(two_ports_of_a_card_come_after_two_cards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
