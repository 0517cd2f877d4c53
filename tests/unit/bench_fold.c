/* tests/unit/bench_fold.c - what ranks of the benchmark tell each other, on one node and on
 * several: the same answer everywhere, by memory of the device, since a GPU's kernels reach no
 * stack.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config.h"
#include "runtime/tools/bench/fold.h"
#include "tests/unit/split.h"

#define RANKS 4
#define LONG 150 /* values, more than one call takes */

/* The CPU's, with its copies counted. */
static uint64_t copied_in, copied_out;

static pipc_status_t counted_write(void *dst, const void *host, size_t bytes, pipc__error_t *err)
{
    copied_in++;
    return bench_cpu.write(dst, host, bytes, err);
}

static pipc_status_t counted_read(void *host, const void *src, size_t bytes, pipc__error_t *err)
{
    copied_out++;
    return bench_cpu.read(host, src, bytes, err);
}

static int greatest(pipc_comm_t *c, int rank, pipc__error_t *err)
{
    double v[LONG];

    for (int i = 0; i < LONG; i++)
        v[i] = i % RANKS == rank ? 100.5 + i : -i;
    MUST(!bench_greatest(c, v, LONG, err));
    for (int i = 0; i < LONG; i++)
        MUST(v[i] == 100.5 + i);
    return 0;
}

static int sum(pipc_comm_t *c, int rank, pipc__error_t *err)
{
    uint64_t total = 77;

    MUST(!bench_sum(c, 10 + (uint64_t)rank, &total, err));
    MUST(total == 10 * RANKS + RANKS * (RANKS - 1) / 2);
    return 0;
}

/* The last rank's second value is another one; everybody hears of that one alone. */
static int compare(pipc_comm_t *c, int rank, pipc__error_t *err)
{
    uint64_t v[3] = {1, rank == RANKS - 1, UINT64_MAX};
    bool differs[3] = {true, false, true};

    MUST(!bench_compare(c, v, 3, differs, err));
    MUST(!differs[0] && differs[1] && !differs[2]);
    return 0;
}

/* As NCCL's id: any bytes, of a length that no word divides. */
static int give(pipc_comm_t *c, int rank, pipc__error_t *err)
{
    unsigned char id[125];

    for (size_t i = 0; i < sizeof(id); i++)
        id[i] = rank ? 0xee : (unsigned char)(200 + i);
    MUST(!bench_give(c, id, sizeof(id), err));
    for (size_t i = 0; i < sizeof(id); i++)
        MUST(id[i] == (unsigned char)(200 + i));
    return 0;
}

static int fold(ranks_t *all, int rank, void *nodes)
{
    static int (*const parts[])(pipc_comm_t *, int, pipc__error_t *) = {greatest, sum, compare,
                                                                        give};
    bench_device_t device = bench_cpu;
    split_t s = {all, rank, 0, -1};
    pipc__error_t err = {PIPC_OK, ""};
    pipc_comm_t *c;

    device.write = counted_write;
    device.read = counted_read;
    MUST(!split_create(&s, nodes, false, &c));
    MUST(!bench_fold_open(c, &device, &err));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        MUST(!parts[i](c, rank, &err));
    MUST(!bench_meet(c, &err));
    uint64_t calls = split_calls(c, 0, PIPC__PLAN_KINDS);
    MUST(copied_in == calls && copied_out == calls && (calls > 0) == pipc__rails_needed(&c->rails));
    bench_fold_close();
    MUST(!pipc_comm_destroy(c));
    return 0;
}

static void every_rank_has_the_answer(void **state)
{
    static const char *const nodes[] = {
        "auto",
#ifdef HAVE_UCX
        "split:2",
        "split:3",
        "split",
#endif
    };

    (void)state;
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        if (ranks_run(RANKS, fold, (void *)(uintptr_t)nodes[i], 60))
            fail_msg("%s", nodes[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_rank_has_the_answer)};

    split_alone();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
