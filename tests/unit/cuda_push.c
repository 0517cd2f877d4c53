/* tests/unit/cuda_push.c - what of protocol push can be tested without a GPU: where flags and slots
 * lie in the ranks' memory, and how a message is cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernels/push.h"

#define KB ((size_t)1 << 10)
#define MB ((size_t)1 << 20)
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* --- memory ---------------------------------------------------------------------------------- */

/* What layout.h gives to push at the least and by default, and what lies between. */
static const size_t regions[] = {MB, 3 * MB, 15 * MB, 30 * MB, 15 * MB + 65536, 255 * MB};
static const uint32_t slot_bytes[] = {PIPC__PUSH_SLOT_BYTES, PIPC__PUSH_HOST_SLOT_BYTES};

static void slots_share_the_staging(void **state)
{
    static const struct {
        size_t region;
        int nranks;
        uint32_t nslots, by_host;
    } table[] = {
        {MB, 2, 60, 28},       {MB, 3, 28, 12},         {MB, 9, 4, 0},
        {2 * MB, 16, 8, 4},    {15 * MB, 2, 952, 476},  {15 * MB, 3, 476, 236},
        {15 * MB, 9, 116, 56}, {30 * MB, 2, 1904, 956}, {15 * MB, 1, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        uint32_t n = pipc__push_slots(table[i].region, table[i].nranks, slot_bytes[0]);
        uint32_t h = pipc__push_slots(table[i].region, table[i].nranks, slot_bytes[1]);
        if (n != table[i].nslots || h != table[i].by_host)
            fail_msg("row %zu: %u and %u slots", i, n, h);
    }
}

/* A call begins at a multiple of four slots, so that none of its chunks is cut by the ring's end.
 */
static void chunks_take_slots_in_a_row(void **state)
{
    static const struct {
        uint32_t chunk, slot, nchunks, span, moves;
    } table[] = {
        {4 * KB, 16 * KB, 1, 1, 4},  {16 * KB, 16 * KB, 4, 1, 4},  {16 * KB, 16 * KB, 5, 1, 8},
        {32 * KB, 16 * KB, 3, 2, 8}, {64 * KB, 16 * KB, 3, 4, 12}, {32 * KB, 32 * KB, 3, 1, 4},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        uint32_t span = pipc__push_span(table[i].chunk, table[i].slot);
        assert_int_equal(span, table[i].span);
        assert_int_equal(pipc__push_moves(table[i].nchunks, span), table[i].moves);
    }
}

typedef struct part {
    size_t begin, end;
} part_t;

/* What a rank's region holds: of each other rank its arrivals, its acknowledgements, its ring. */
static int lay_out(part_t part[], uint32_t nslots, uint32_t slot, int nranks)
{
    const size_t flags = (size_t)nslots * PIPC__FLAG_BYTES;
    int n = 0;

    for (int i = 0; i < nranks - 1; i++) {
        size_t arrivals = pipc__push_arrivals(nslots, i);
        size_t acks = pipc__push_acks(nslots, nranks, i);
        size_t ring = pipc__push_ring(nslots, slot, nranks, i);
        part[n++] = (part_t){arrivals, arrivals + flags};
        part[n++] = (part_t){acks, acks + flags};
        part[n++] = (part_t){ring, ring + (size_t)nslots * slot};
        assert_int_equal(ring % 16, 0); /* bulk copies go there */
    }
    return n;
}

static void check_region(size_t region, uint32_t slot, int nranks)
{
    part_t part[3 * PIPC__RANKS_MAX];
    uint32_t nslots = pipc__push_slots(region, nranks, slot);
    int n = nslots ? lay_out(part, nslots, slot, nranks) : 0;

    assert_int_equal(nslots % PIPC__PUSH_SPAN, 0);
    for (int a = 0; a < n; a++) {
        assert_true(part[a].begin < part[a].end && part[a].end <= region);
        assert_int_equal(part[a].begin % PIPC__FLAG_BYTES, 0);
        for (int b = 0; b < a; b++)
            assert_true(part[a].end <= part[b].begin || part[b].end <= part[a].begin);
    }
}

static void flags_and_slots_fit_and_share_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(regions); i++)
        for (int nranks = 2; nranks <= PIPC__RANKS_MAX; nranks++)
            for (size_t k = 0; k < COUNT(slot_bytes); k++)
                check_region(regions[i], slot_bytes[k], nranks);
}

/* In a rank's region the others have numbers of their own, all of 0 .. nranks - 2. */
static void others_are_numbered_without_gaps(void **state)
{
    (void)state;
    for (int nranks = 2; nranks <= PIPC__RANKS_MAX; nranks++)
        for (int owner = 0; owner < nranks; owner++)
            for (int other = 0, next = 0; other < nranks; other++)
                if (other != owner)
                    assert_int_equal(pipc__push_index(owner, other), next++);
}

/* --- how a message is cut -------------------------------------------------------------------- */

/* A block of sm_90 and of sm_100 has more shared memory than the window; of sm_120 it has less. */
#define SHARED_90 (128 * KB)
#define SHARED_120 (97 * KB)

static void windows_fill_the_link(void **state)
{
    static const struct {
        int blocks;
        size_t window;
    } table[] = {{0, 128 * KB}, {1, 128 * KB}, {16, 128 * KB}, {32, 128 * KB}, {33, 128 * KB},
                 {48, 64 * KB}, {66, 64 * KB}, {100, 32 * KB}, {132, 32 * KB}, {1000, 32 * KB}};

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        assert_int_equal(pipc__push_window(table[i].blocks), table[i].window);
}

static void chunks_and_streams_are_as_measured(void **state)
{
    static const struct {
        size_t bytes;
        int blocks;
        uint32_t chunk, streams, streams_120;
    } table[] = {
        {1, 16, 8 * KB, 8, 8},         {1, 132, 8 * KB, 4, 4},
        {256 * KB, 16, 16 * KB, 8, 6}, {256 * KB, 33, 8 * KB, 8, 8},
        {256 * KB, 132, 8 * KB, 4, 4}, {MB, 16, 16 * KB, 8, 6},
        {MB, 33, 16 * KB, 8, 6},       {MB, 132, 8 * KB, 4, 4},
        {4 * MB, 16, 16 * KB, 8, 6},   {4 * MB, 33, 16 * KB, 8, 6},
        {4 * MB, 132, 16 * KB, 2, 2},  {16 * MB, 16, 64 * KB, 2, 1},
        {16 * MB, 33, 32 * KB, 4, 3},  {16 * MB, 132, 16 * KB, 2, 2},
        {64 * MB, 16, 64 * KB, 2, 1},  {64 * MB, 33, 64 * KB, 2, 1},
        {64 * MB, 132, 16 * KB, 2, 2}, {256 * MB, 16, 64 * KB, 2, 1},
        {256 * MB, 33, 64 * KB, 2, 1}, {256 * MB, 132, 16 * KB, 2, 2},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        uint32_t chunk = pipc__push_chunk(table[i].bytes, false, table[i].blocks);
        assert_int_equal(chunk, table[i].chunk);
        assert_int_equal(pipc__push_streams(chunk, table[i].blocks, SHARED_90), table[i].streams);
        assert_int_equal(pipc__push_streams(chunk, table[i].blocks, SHARED_120),
                         table[i].streams_120);
        assert_int_equal(pipc__push_streams(chunk, table[i].blocks, 0), 0);
    }
}

/* The blocks, which come from the table of choices, do not matter there. */
static void chunks_through_host_memory_are_by_size_alone(void **state)
{
    static const struct {
        size_t bytes;
        uint32_t chunk;
    } table[] = {{1, 4 * KB},   {256 * KB, 4 * KB}, {384 * KB, 4 * KB}, {385 * KB, 8 * KB},
                 {MB, 16 * KB}, {2 * MB, 32 * KB},  {256 * MB, 32 * KB}};

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++)
        for (int blocks = 1; blocks <= 132; blocks += 131)
            assert_int_equal(pipc__push_chunk(table[i].bytes, true, blocks), table[i].chunk);
}

/* What the kernel relies on, for whatever a caller may ask. */
static void check_cut(size_t bytes, bool host, int blocks)
{
    static const size_t shared[] = {0, 46 * KB, SHARED_120, SHARED_90};
    uint32_t chunk = pipc__push_chunk(bytes, host, blocks);

    assert_true(chunk >= PIPC__PUSH_CHUNK_LEAST &&
                chunk <= (host ? PIPC__PUSH_HOST_SLOT_BYTES : PIPC__PUSH_CHUNK_MOST));
    assert_int_equal(chunk & (chunk - 1), 0); /* so that chunks begin at whole packs and lines */
    for (size_t i = 0; i < COUNT(shared); i++) {
        uint32_t streams = pipc__push_streams(chunk, blocks, shared[i]);
        assert_true(streams <= PIPC__PUSH_STREAMS);
        assert_true(streams * chunk <= shared[i] && streams * chunk <= pipc__push_window(blocks));
        assert_true(streams || shared[i] < chunk);
    }
}

static void no_chunk_is_longer_than_its_slots(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes < (size_t)1 << 43; bytes = bytes * 3 + 1)
        for (int blocks = 0; blocks < 300; blocks = blocks * 5 / 4 + 1)
            for (int host = 0; host < 2; host++)
                check_cut(bytes, host, blocks);
    assert_true(PIPC__PUSH_STREAMS * 32 <= PIPC__PUSH_PUSHERS * PIPC__PUSH_GROUP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_share_the_staging),
        cmocka_unit_test(chunks_take_slots_in_a_row),
        cmocka_unit_test(flags_and_slots_fit_and_share_nothing),
        cmocka_unit_test(others_are_numbered_without_gaps),
        cmocka_unit_test(windows_fill_the_link),
        cmocka_unit_test(chunks_and_streams_are_as_measured),
        cmocka_unit_test(chunks_through_host_memory_are_by_size_alone),
        cmocka_unit_test(no_chunk_is_longer_than_its_slots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
