/* tests/unit/cuda_lanes.c - what of the CUDA executor can be tested without a GPU: how many lanes a
 * call takes, that every lane's part fits its slot, the packing of a stall, LL's layout and how
 * staging is cut among protocols.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/allreduce.h"
#include "kernels/ll.h"
#include "kernels/ll128.h"
#include "runtime/exec/layout.h"
#include "runtime/exec/ll.h"
#include "runtime/plan/generate.h"

static void lanes_grow_with_the_size_up_to_the_most(void **state)
{
    static const struct {
        size_t count, elem_bytes;
        int most, lanes;
    } table[] = {
        {1, 4, 32, 1},    {2048, 4, 32, 1},   {2049, 4, 32, 2},           {4096, 2, 32, 1},
        {4097, 2, 32, 2}, {65536, 4, 32, 32}, {65536, 4, 11, 11},         {SIZE_MAX / 4, 4, 32, 32},
        {0, 4, 32, 1},    {100000, 4, 1, 1},  {31 * 2048 + 1, 4, 32, 32}, {31 * 2048, 4, 32, 31},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_int_equal(pipc__lanes(table[i].count, table[i].elem_bytes, table[i].most),
                         table[i].lanes);
}

/* The parts of all lanes and chunks, one after the other, are the whole round; none is longer than
 * its slot; none begins off a cache line. */
static void check_round(size_t count, size_t elem_bytes, int nchunks, int lanes, size_t slot_bytes)
{
    pipc__split_t s = pipc__split(count, elem_bytes, nchunks, lanes);
    size_t next = 0;

    for (int c = 0; c < nchunks; c++)
        for (int l = 0; l < lanes; l++) {
            size_t first, n = pipc__split_part(s, count, c, l, &first);
            if (!n)
                continue;
            assert_int_equal(first, next);
            assert_int_equal(first * elem_bytes % PIPC__SPLIT_BYTES, 0);
            assert_true(n * elem_bytes <= slot_bytes);
            next = first + n;
        }
    assert_int_equal(next, count);
}

static void every_part_fits_its_slot(void **state)
{
    static const size_t areas[] = {4096 * 37, 917504, 4063232, 33423360};

    (void)state;
    for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++)
        for (int lanes = 1; lanes <= PIPC__LANES_MAX; lanes = lanes * 2 - lanes / 3)
            for (int nchunks = 1; nchunks <= 5; nchunks++) {
                size_t slot = pipc__lane_slot_bytes(areas[i], 2 * nchunks, lanes);
                size_t most = pipc__round_elems(slot, 4, nchunks, lanes);
                if (!slot)
                    continue;
                check_round(most, 4, nchunks, lanes, slot);
                check_round(most - 1, 4, nchunks, lanes, slot);
                check_round(most / 2 + 1, 4, nchunks, lanes, slot);
                check_round(2 * most, 2, nchunks, lanes, slot);
                check_round(1, 2, nchunks, lanes, slot);
            }
}

/* The stages of a plan share the blocks of a launch. */
static void stages_share_the_blocks(void **state)
{
    static const struct {
        int blocks, nstages, lanes;
    } table[] = {{32, 1, 32}, {32, 4, 8}, {32, 3, 10}, {3, 4, 1}, {1, 1, 1}, {1, 4, 1}, {4, 4, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_int_equal(pipc__most_lanes(table[i].blocks, table[i].nstages), table[i].lanes);
}

static void a_stall_survives_its_packing(void **state)
{
    (void)state;
    for (int stage = 0; stage < PIPC__STAGES_MAX; stage++)
        for (int step = 0; step < 700; step += 7) {
            uint64_t stall = PIPC__STALL(31, stage, step);
            assert_true(stall);
            assert_int_equal(PIPC__STALL_PLAN(stall), 31);
            assert_int_equal(PIPC__STALL_STAGE(stall), stage);
            assert_int_equal(PIPC__STALL_STEP(stall), step);
        }
    assert_true(PIPC__STALL(0, 0, 0));
}

/* --- LL --------------------------------------------------------------------------------------- */

static void slots_of_ll_fit_their_area(void **state)
{
    (void)state;
    for (int n = 2; n <= PIPC__RANKS_MAX; n++) {
        size_t slot = pipc__ll_slot_bytes(n);
        assert_true(slot * (size_t)(n - 1) <= PIPC__LL_AREA_BYTES);
        assert_int_equal(slot % PIPC__LL_TILE_BYTES, 0);
        assert_int_equal(pipc__ll_bytes_max(n), slot / 2);
        for (int r = 0; r < n; r++) /* each sender has a slot of its own, in rank order */
            for (int q = 0, next = 0; q < n; q++)
                if (q != r)
                    assert_int_equal(pipc__ll_slot(r, q), next++);
    }
    assert_int_equal(pipc__ll_bytes_max(2), 1 << 20);
}

static void slots_of_ll128_fit_their_area(void **state)
{
    static const struct {
        int nranks;
        size_t most;
    } table[] = {{2, 8847360}, {3, 983040}, {4, 654720}, {8, 280320}, {16, 130560}};

    (void)state;
    for (int n = 2; n <= PIPC__RANKS_MAX; n++) {
        size_t slot = pipc__ll128_slot_bytes(n);
        assert_true(slot * (size_t)(n - 1) <= pipc__ll128_area_bytes(n));
        assert_int_equal(slot % PIPC__LL128_TILE_BYTES, 0);
    }
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        assert_int_equal(pipc__ll128_bytes_max(table[i].nranks), table[i].most);
    assert_int_equal(PIPC__LL128_UNITS * 16, PIPC__LL128_TILE_DATA);
}

/* A tile of 960 bytes a warp; from the second tile of a warp on, more warps a block. */
static void grids_of_ll128_have_more_warps_for_more_tiles(void **state)
{
    static const struct {
        size_t bytes;
        int most;
        unsigned int blocks, threads;
    } table[] = {{1, 33, 1, 512},
                 {16 * 960, 33, 1, 512},
                 {16 * 960 + 1, 33, 2, 512},
                 {33 * 16 * 960, 33, 33, 512},
                 {33 * 16 * 960 + 1, 33, 30, 576},
                 {33 * 18 * 960 + 1, 33, 33, 576},
                 {8847360, 33, 33, 576},
                 {1 << 20, 132, 69, 512},
                 {2 << 20, 132, 122, 576}};

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        pipc__ll_grid_t g = pipc__ll128_grid(table[i].bytes, table[i].most);
        assert_int_equal(g.blocks, table[i].blocks);
        assert_int_equal(g.threads, table[i].threads);
    }
}

static void grids_of_ll_grow_with_the_message(void **state)
{
    static const struct {
        size_t bytes;
        int most;
        unsigned int blocks, threads;
    } table[] = {
        {1, 32, 1, 32},        {512, 32, 1, 32},       {513, 32, 1, 64},      {8192, 32, 1, 512},
        {8193, 32, 3, 256},    {65536, 32, 16, 256},   {131072, 32, 32, 256}, {131073, 32, 17, 512},
        {262144, 32, 32, 512}, {1 << 20, 32, 32, 512}, {1 << 20, 1, 1, 512},  {16384, 1, 1, 512},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        pipc__ll_grid_t g = pipc__ll_grid(table[i].bytes, table[i].most);
        assert_int_equal(g.blocks, table[i].blocks);
        assert_int_equal(g.threads, table[i].threads);
    }
}

/* Every packet that a message leaves alone is written once in PIPC__LL_SCRUB_CALLS calls; none that
 * it writes is. @written: a bit an area. */
static void check_scrub(int n, uint32_t units, uint64_t first)
{
    static uint8_t written[PIPC__LL_AREA_BYTES / PIPC__LL_PACKET];
    uint32_t slot = (uint32_t)pipc__ll_slot_bytes(n);

    memset(written, 0, sizeof(written));
    for (uint64_t call = first; call < first + PIPC__LL_SCRUB_CALLS; call++)
        written[pipc__ll_scrub_at(call) / PIPC__LL_PACKET] |= (uint8_t)(1u << call % 2);
    for (size_t i = 0; i < sizeof(written); i++)
        assert_int_equal(written[i], 3);
    /* What senders write, unit by unit, is what covers() says. */
    memset(written, 0, sizeof(written));
    for (uint32_t s = 0; s < (uint32_t)n - 1; s++)
        for (uint32_t u = 0; u < units; u++)
            for (uint32_t half = 0; half < 2; half++)
                written[(s * slot + u / 32 * 1024 + half * 512 + u % 32 * 16) / 16] = 1;
    for (uint32_t i = 0; i < sizeof(written); i++)
        assert_int_equal(pipc__ll_covers(i * 16, slot, (uint32_t)n - 1, units), written[i]);
}

static void no_packet_of_ll_grows_old(void **state)
{
    (void)state;
    check_scrub(2, 1, 1);
    check_scrub(2, 65536, 4711);
    check_scrub(3, 33, ((uint64_t)1 << 32) - 100);
    check_scrub(16, 4352, 12);
}

/* Which plans LL can run, and where each pair meets. */
static void ll_takes_one_shots_alone(void **state)
{
    pipc__ll_wiring_t w;
    pipc__shape_t shape;
    pipc__plan_t *p;

    (void)state;
    for (int n = 2; n <= PIPC__RANKS_MAX; n++)
        for (int kind = 0; kind < PIPC__PLAN_KINDS_LOCAL; kind++) {
            pipc__shape_flat(&shape, n);
            shape.reach[0] = 1; /* rank 0 writes nobody's device memory */
            assert_int_equal(
                pipc__plan_make_for(&p, (pipc__plan_kind_t)kind, PIPC__ALLREDUCE, &shape, NULL),
                PIPC_OK);
            for (int r = 0; r < n; r++)
                assert_int_equal(pipc__ll_wire(&w, p, r), kind == PIPC__ONE_SHOT);
            if (kind == PIPC__ONE_SHOT && pipc__ll_wire(&w, p, 1)) {
                assert_int_equal(w.from[0], PIPC__HOST);
                assert_int_equal(w.to[0], PIPC__SLOT);
                assert_int_equal(p->program[1][0].ops[w.wait_step[0]].kind, PIPC__WAIT);
                assert_int_equal(p->program[1][0].ops[w.wait_step[0]].peer, 0);
            }
            pipc__plan_free(p);
        }
    assert_int_equal(pipc__plan_make(&p, PIPC__ONE_SHOT, 1, NULL), PIPC_OK);
    assert_false(pipc__ll_wire(&w, p, 0));
    pipc__plan_free(p);
}

#define MB(n) ((size_t)(n) << 20)
#define RING (MB(8) + (64 << 10)) /* 512 slots with their flags */

static void protocols_share_no_staging(void **state)
{
    static const struct {
        size_t staging;
        int nranks;
        size_t simple, push, ce, all;
    } table[] = {
        {MB(64), 2, MB(45 - 18) - RING, RING, MB(15), MB(64)}, /* the default */
        {MB(64), 3, MB(30), MB(15) - MB(4), MB(15), MB(64)},
        {MB(64), 16, MB(30), MB(15) - MB(4), MB(15), MB(64)},
        {MB(58), 2, MB(54) * 3 / 4 - MB(18) - RING, RING, MB(54) / 4, MB(58)},
        {MB(56), 2, MB(52) * 3 / 4 - RING, RING, MB(52) / 4, MB(56)}, /* no room for LL128 */
        {MB(40) + 1, 2, MB(38) * 3 / 4 - RING, RING, MB(38) / 4, MB(42)},
        {MB(8), 2, MB(2), MB(1), MB(1), MB(8)},
        {1, 2, MB(2), MB(1), MB(1), MB(8)}, /* the least */
        {1, 8, MB(2), MB(1), MB(1), MB(8)},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        pipc__layout_t l = pipc__layout(table[i].staging, table[i].nranks);
        assert_int_equal(l.simple_bytes, table[i].simple);
        assert_int_equal(l.push_bytes, table[i].push);
        assert_int_equal(l.ce_bytes, table[i].ce);
        assert_int_equal(l.bytes, table[i].all);
        assert_true(PIPC__FLAGS_BYTES + PIPC__BUFFERS * l.area_bytes <= l.simple_bytes);
        assert_true(l.simple_bytes <= l.push_at && l.push_at + l.push_bytes <= l.ll128_at);
        assert_true(l.ll128_at + l.ll128_bytes <= l.ce_at && l.ll128_at % 128 == 0);
        assert_true(l.ce_at + l.ce_bytes <= l.ll_at && l.ll_at + PIPC__LL_BYTES <= l.bytes);
        assert_int_equal(pipc__layout(l.bytes, table[i].nranks).push_bytes, l.push_bytes);
        assert_int_equal(pipc__layout(table[i].staging, 0).ll_at, l.ll_at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_grow_with_the_size_up_to_the_most),
        cmocka_unit_test(every_part_fits_its_slot),
        cmocka_unit_test(protocols_share_no_staging),
        cmocka_unit_test(stages_share_the_blocks),
        cmocka_unit_test(a_stall_survives_its_packing),
        cmocka_unit_test(slots_of_ll_fit_their_area),
        cmocka_unit_test(slots_of_ll128_fit_their_area),
        cmocka_unit_test(grids_of_ll128_have_more_warps_for_more_tiles),
        cmocka_unit_test(grids_of_ll_grow_with_the_message),
        cmocka_unit_test(no_packet_of_ll_grows_old),
        cmocka_unit_test(ll_takes_one_shots_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
