/* tests/unit/cuda_lanes.c - what of the CUDA executor can be tested without a GPU: how many lanes a
 * call takes, that every lane's part fits its slot, and the packing of a stall.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/allreduce.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_grow_with_the_size_up_to_the_most),
        cmocka_unit_test(every_part_fits_its_slot),
        cmocka_unit_test(stages_share_the_blocks),
        cmocka_unit_test(a_stall_survives_its_packing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
