/* tests/unit/ce.c - what of protocol CE can be tested without a GPU: how a message is cut into
 * chunks and where they lie in the rings, the thread that ends what streams wait for, and the NUMA
 * node of host memory.
 */
#include <linux/mempolicy.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernels/ce.h"
#include "runtime/exec/release.h"
#include "tests/unit/rank_exec.h"

#define KB ((size_t)1 << 10)
#define MB ((size_t)1 << 20)
#define CHUNKS_MAX 4096

static const size_t ce_bytes[] = {MB, 15 * MB, 64 * KB * 33, 240 * MB, (size_t)3 << 30};
static const size_t sizes[] = {1,           15,       4095,      4096,           4097,
                               8192,        100001,   512 * KB,  MB - 1,         MB,
                               MB + 1,      4 * MB,   5000011,   15 * MB - 8192, 16 * MB + 3,
                               64 * MB + 5, 256 * MB, 777777777, (size_t)1 << 30};
#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* For each ring, cut and size of the tables, and some numbers of ranks. */
typedef void each_t(size_t bytes, size_t ring, pipc__ce_cut_t cut);

static void for_each(each_t *f)
{
    for (int n = 2; n <= PIPC__RANKS_MAX; n += n < 4 ? 1 : 4)
        for (size_t i = 0; i < COUNT(ce_bytes); i++)
            for (size_t k = 0; k < COUNT(sizes); k++)
                for (int host = 0; host < 2; host++) {
                    size_t ring = pipc__ce_ring_bytes(ce_bytes[i], n);
                    f(sizes[k], ring, pipc__ce_cut(sizes[k], ring, host));
                }
}

static void check_chunks(size_t bytes, size_t ring, pipc__ce_cut_t cut)
{
    size_t left = bytes, chunk = 0;

    assert_true(cut.most % PIPC__CE_UNIT == 0 && cut.most > 0 && 4 * cut.most <= ring);
    assert_true(2 * cut.least <= cut.most);
    for (; left; left -= chunk) {
        assert_int_equal((bytes - left) % PIPC__CE_UNIT, 0);
        chunk = pipc__ce_chunk(left, cut.most, cut.least);
        assert_true(chunk > 0 && chunk <= left && chunk <= cut.most);
    }
    assert_true(chunk <= 2 * cut.least || chunk <= PIPC__CE_UNIT);
}

static void chunks_make_up_the_message(void **state)
{
    (void)state;
    for_each(check_chunks);
}

/* The tail of a message is what nothing overlaps with, and every chunk costs the host some time. */
static void chunks_are_few_and_the_last_one_is_short(void **state)
{
    static const struct {
        size_t bytes, most, last;
        bool host;
        int chunks;
    } table[] = {
        {4 * MB, MB, 512 * KB, false, 5},           {MB, MB, 512 * KB, false, 2},
        {256 * KB, MB, 256 * KB, false, 1},         {16 * MB, 3836 * KB, 608 * KB, false, 7},
        {256 * MB, 3836 * KB, 640 * KB, false, 71}, {4 * MB, 512 * KB, 128 * KB, true, 10},
        {64 * MB, 3836 * KB, 128 * KB, true, 22},   {256 * MB, 3836 * KB, 160 * KB, true, 73},
    };
    const size_t ring = pipc__ce_ring_bytes(15 * MB, 2);

    (void)state;
    for (size_t i = 0; i < COUNT(table); i++) {
        pipc__ce_cut_t cut = pipc__ce_cut(table[i].bytes, ring, table[i].host);
        size_t chunk = 0;
        int chunks = 0;
        for (size_t left = table[i].bytes; left; left -= chunk, chunks++)
            chunk = pipc__ce_chunk(left, cut.most, cut.least);
        assert_int_equal(cut.most, table[i].most);
        assert_int_equal(chunk, table[i].last);
        assert_int_equal(chunks, table[i].chunks);
    }
}

/* Chunks of three calls in a row; returns how many. */
static int lay_out(size_t bytes, size_t ring, uint64_t begin[], uint64_t end[])
{
    uint64_t at = 0;
    int n = 0;

    for (int call = 0; call < 3; call++) {
        size_t size = call == 1 ? bytes / 3 + 1 : bytes, chunk;
        pipc__ce_cut_t cut = pipc__ce_cut(size, ring, false);
        for (size_t left = size; left && n < CHUNKS_MAX; left -= chunk, n++) {
            chunk = pipc__ce_chunk(left, cut.most, cut.least);
            begin[n] = pipc__ce_begin(at, chunk, ring);
            at = end[n] = pipc__ce_end(begin[n], chunk);
            assert_true(begin[n] % ring + chunk <= ring);
            assert_true(end[n] - begin[n] >= chunk);
        }
    }
    return n;
}

/* Who waits until a flag says @end - ring meets no chunk that has not been read, whatever the flag,
 * which is the end of some chunk; and no two chunks in a ring share a counter. */
static void check_room(size_t bytes, size_t ring, pipc__ce_cut_t cut)
{
    static uint64_t begin[CHUNKS_MAX], end[CHUNKS_MAX];
    int n = lay_out(bytes, ring, begin, end), old = 0;

    (void)cut;
    for (int k = 0; k < n; k++) {
        assert_true(k == 0 || begin[k] >= end[k - 1]);
        while (old < k && end[k] > ring && end[old] < end[k] - ring)
            old++; /* chunk old is the first whose end lets chunk k go */
        assert_true(old < k || end[k] <= ring || k == 0);
        int unread = end[k] > ring ? old + 1 : 0;
        for (int i = unread; i < k; i++) {
            uint64_t to = begin[k] % ring + (end[k] - begin[k]);
            uint64_t i_to = begin[i] % ring + (end[i] - begin[i]);
            assert_true(begin[k] % ring >= i_to || begin[i] % ring >= to);
        }
        assert_true(k - unread < PIPC__CE_COUNTERS);
    }
}

static void chunks_wait_for_those_that_they_overwrite(void **state)
{
    (void)state;
    for_each(check_room);
}

static void flags_of_the_head_lie_apart(void **state)
{
    (void)state;
    for (int r = 0; r < PIPC__RANKS_MAX; r++)
        assert_int_equal(PIPC__CE_CAME(r, 0), PIPC__CE_CAME(0, 0) + PIPC__CE_FLAG(r));
    assert_int_equal(PIPC__CE_CAME(PIPC__RANKS_MAX, 0), PIPC__CE_CAME(0, 1));
    assert_int_equal(PIPC__CE_CAME(0, PIPC__CE_LANES), PIPC__CE_GONE(0, 0));
    assert_int_equal(PIPC__CE_GONE(0, PIPC__CE_LANES), PIPC__CE_COUNTERS_AT);
    assert_true(PIPC__CE_COUNTERS_AT + PIPC__CE_COUNTERS * sizeof(uint32_t) <= PIPC__CE_HEAD);
    for (int n = 2; n <= PIPC__RANKS_MAX; n++)
        assert_true(PIPC__CE_HEAD + pipc__ce_ring_bytes(MB, n) * (size_t)(n - 1) <= MB);
}

static void blocks_grow_with_the_message(void **state)
{
    (void)state;
    assert_int_equal(pipc__ce_blocks(1, 16), 1);
    assert_int_equal(pipc__ce_blocks(16 * KB, 16), 1);
    assert_int_equal(pipc__ce_blocks(16 * KB + 1, 16), 2);
    assert_int_equal(pipc__ce_blocks((size_t)1 << 40, 16), 16);
    assert_int_equal(pipc__ce_blocks(MB, 1), 1);
}

/* --- waits of streams ------------------------------------------------------------------------ */

/* As a stream compares (cuda.h, CU_STREAM_WAIT_VALUE_GEQ). */
static bool lets_go(uint64_t flag, uint64_t value)
{
    return (int64_t)(flag - value) >= 0;
}

static void what_is_released_exceeds_every_place(void **state)
{
    (void)state;
    assert_true(lets_go(PIPC__RELEASED, 0));
    assert_true(lets_go(PIPC__RELEASED, (uint64_t)1 << 61));
    assert_false(lets_go(UINT64_MAX, 1)); /* which is why it is not that */
}

static bool all_set(const pipc__page_t *page)
{
    for (int kind = 0; kind < PIPC__FRONTS; kind++)
        for (int q = 0; q < PIPC__RANKS_MAX; q++)
            if (__atomic_load_n(&page->front[kind][q].value, __ATOMIC_ACQUIRE) != PIPC__RELEASED)
                return false;
    return true;
}

static bool set_soon(const pipc__page_t *page)
{
    for (int msec = 0; msec < 10000 && !all_set(page); msec++)
        usleep(1000);
    return all_set(page);
}

/* Rank 1 dies or aborts; rank 0 has the thread; rank 2, if any, hears of it through rank 0. */
static int release_body(ranks_t *all, int rank, void *arg)
{
    const bool aborts = *(const bool *)arg;
    pipc__release_t *release = NULL;
    pipc__error_t err;
    rank_exec_t re;
    int bad = 0;

    rank_exec_open(&re, &pipc__exec_cpu, 64 << 10, (rank_plans_t){NULL, 0}, all, rank);
    pipc__page_t *page = pipc__control_page(re.ctl);
    if (rank == 0 && pipc__release_start(&release, re.ctl, rank, &err))
        return 2;
    usleep(20000);
    for (int kind = 0; kind < PIPC__FRONTS; kind++)
        bad |= page->front[kind][1].value != 0;
    ranks_gather(all, rank, NULL, 0, NULL);
    if (rank == 1 && !aborts)
        _exit(9);
    if (rank == 1)
        pipc__control_abort(re.ctl, PIPC_ERR_ABORTED, 1);
    if (rank)
        return bad;
    bad |= set_soon(page) ? 0 : 4;
    page->front[PIPC__FRONT_FREE][1].value = 5; /* a peer's GPU is late */
    bad |= set_soon(page) ? 0 : 8;
    for (int r = 0; r < ranks_size(all); r++)
        bad |= atomic_load(&pipc__control_page_of(re.ctl, r)->abort) ? 0 : 16;
    pipc__release_stop(release);
    return bad;
}

static void streams_are_let_go_when_the_communicator_dies(void **state)
{
    int exits[PIPC__RANKS_MAX];

    (void)state;
    for (int aborts = 0; aborts < 2; aborts++)
        for (int n = 2; n <= 3; n++) {
            bool arg = aborts;
            assert_int_equal(ranks_run_each(n, release_body, &arg, 60, exits), 0);
            for (int r = 0; r < n; r++)
                assert_int_equal(exits[r], r == 1 && !aborts ? 9 : 0);
        }
}

static int stop_body(ranks_t *all, int rank, void *arg)
{
    pipc__release_t *release;
    pipc__error_t err;
    rank_exec_t re;

    (void)arg;
    rank_exec_open(&re, &pipc__exec_cpu, 64 << 10, (rank_plans_t){NULL, 0}, all, rank);
    if (pipc__release_start(&release, re.ctl, rank, &err))
        return 2;
    usleep(rank * 20000); /* at once, and when it sleeps */
    pipc__release_stop(release);
    int bad = pipc__control_page(re.ctl)->front[0][0].value != 0;
    rank_exec_close(&re);
    return bad;
}

static void the_thread_ends_when_it_is_told(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(2, stop_body, NULL, 60), 0);
    pipc__release_stop(NULL);
}

/* --- host memory ----------------------------------------------------------------------------- */

#ifndef MPOL_F_ADDR
#define MPOL_F_ADDR 2
#endif

static int policy_at(const char *p)
{
    unsigned long nodes[16] = {0};
    int mode = -1;

    return syscall(SYS_get_mempolicy, &mode, nodes, 1025, p, MPOL_F_ADDR) || !(nodes[0] & 1) ? -1
                                                                                             : mode;
}

static void a_segment_takes_pages_where_its_owner_says(void **state)
{
    pipc__segment_handle_t h;
    pipc__segment_t own;
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__segment_create(&own, 64 << 10, &h, &err), PIPC_OK);
    assert_false(pipc__segment_prefer_node(&own, -1));
    assert_false(pipc__segment_prefer_node(&own, 1 << 20));
    assert_int_equal(policy_at(own.base + PIPC__SEGMENT_HEAD), -1);
    if (pipc__segment_prefer_node(&own, 0)) /* refused in some containers */
        assert_int_equal(policy_at(own.base + PIPC__SEGMENT_HEAD), MPOL_PREFERRED);
    pipc__segment_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_make_up_the_message),
        cmocka_unit_test(chunks_are_few_and_the_last_one_is_short),
        cmocka_unit_test(chunks_wait_for_those_that_they_overwrite),
        cmocka_unit_test(flags_of_the_head_lie_apart),
        cmocka_unit_test(blocks_grow_with_the_message),
        cmocka_unit_test(what_is_released_exceeds_every_place),
        cmocka_unit_test(streams_are_let_go_when_the_communicator_dies),
        cmocka_unit_test(the_thread_ends_when_it_is_told),
        cmocka_unit_test(a_segment_takes_pages_where_its_owner_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
