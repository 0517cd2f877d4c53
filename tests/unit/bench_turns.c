/* tests/unit/bench_turns.c - who takes part in the turns and how often: --time, --drop, --beside;
 * on a device whose times are known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/tools/bench/beside.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define OWN_USEC 10.0 /* a burst, of own calls */
#define ROUNDS 4
#define ITERATIONS 8

static const double variant_usec[] = {20, 29, 31}; /* a burst */
static double elapsed;                             /* of the peer's calls since begin() */
static int bursts;                                 /* that were timed */
static pipc_comm_t *comm;
static int blocks[2]; /* bursts of own calls with a budget of 0, and of 7 blocks */

static pipc_status_t begin(pipc__error_t *err)
{
    (void)err;
    elapsed = 0;
    return PIPC_OK;
}

static pipc_status_t end(double *usec, pipc__error_t *err)
{
    (void)err;
    bursts++;
    if (elapsed == 0)
        blocks[comm->most_blocks == 7]++;
    *usec = elapsed > 0 ? elapsed : OWN_USEC;
    return PIPC_OK;
}

static pipc_status_t allreduce(int v, const void *send, void *recv, size_t count,
                               pipc_dtype_t dtype, pipc_redop_t op, void *stream,
                               pipc__error_t *err)
{
    (void)send, (void)recv, (void)count, (void)dtype, (void)op, (void)stream, (void)err;
    elapsed = variant_usec[v];
    return PIPC_OK;
}

static int variants(void)
{
    return COUNT(variant_usec);
}

static bool usable(int v)
{
    (void)v;
    return true;
}

static int alone(void *ctx, const void *mine, size_t bytes, void *all)
{
    (void)ctx;
    memcpy(all, mine, bytes);
    return 0;
}

/* A lone rank with 1 KB messages, one call a burst. */
static void open_bench(bench_t *b)
{
    static const pipc_callbacks_t callbacks = {sizeof(callbacks), 0, 1, alone, NULL};
    static const bench_peer_t peer = {
        .name = "fake", .variants = variants, .usable = usable, .allreduce = allreduce};
    static float send[256], recv[256];
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;

    memset(b, 0, sizeof(*b));
    config.backend = PIPC_BACKEND_CPU;
    config.callbacks = &callbacks;
    assert_int_equal(pipc_comm_create(&comm, &config), PIPC_OK);
    b->comm = comm;
    b->send = send;
    b->recv = recv;
    b->device = (bench_device_t){.begin = begin, .end = end};
    b->options = (bench_options_t){
        .peer = &peer, .rounds = ROUNDS, .iterations = ITERATIONS, .burst = 1, .plan = "auto"};
    bursts = blocks[0] = blocks[1] = 0;
}

static void a_run_is_as_long_as_it_may(void **state)
{
    static const struct {
        int time_msec;
        double drop;
        int samples[2 + COUNT(variant_usec)]; /* own, beside, variants */
    } cases[] = {
        {0, 0, {32, 32, 32, 32, 32}},
        {0, 3, {32, 32, 32, 32, 1}}, /* 31 is more than 3 times 10 */
        {0, 1.5, {32, 32, 1, 1, 1}}, /* own ways stay, whatever they take */
        {1000, 0, {32, 32, 32, 32, 32}},
        /* a turn of one sample each takes 0.1 ms, and without the last 0.069: 2.5 and 3.6 */
        {1, 0, {8, 8, 8, 8, 8}},
        {1, 3, {12, 12, 12, 12, 1}},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        bench_result_t r = {.count = 256, .dtype = PIPC_F32, .op = PIPC_SUM};
        pipc__error_t err;
        bench_t b;
        open_bench(&b);
        b.options.time_msec = cases[i].time_msec;
        b.options.drop = cases[i].drop;
        b.options.beside = "shipped";
        assert_int_equal(bench_beside_open(&b, &err), PIPC_OK);
        assert_int_equal(bench_measure(&b, &r, &err), PIPC_OK);
        for (int place = 0; place < 2; place++) {
            const bench_cell_t *c = &r.row.cell[place];
            const bench_figures_t *f[] = {&c->own, &c->beside[0], &c->peer[0], &c->peer[1],
                                          &c->peer[2]};
            for (size_t k = 0; k < COUNT(f); k++)
                if (f[k]->samples != cases[i].samples[k])
                    fail_msg("case %zu, party %zu: %d samples", i, k, f[k]->samples);
            for (int v = 0; v < variants(); v++) /* that of the trial, where it was left out */
                assert_true(c->peer[v].usec == variant_usec[v]);
            assert_true(c->own.usec == OWN_USEC && c->beside[0].usec == OWN_USEC);
        }
        pipc_comm_destroy(comm);
    }
}

/* Each way has its budget of blocks, and behind the last sample the communicator is what it was. */
static void ways_take_turns_in_one_communicator(void **state)
{
    bench_result_t r = {.count = 256, .dtype = PIPC_F32, .op = PIPC_SUM};
    pipc__error_t err;
    bench_t b;

    (void)state;
    open_bench(&b);
    b.options.beside = "same,two-shot,one-shot/ll";
    uint64_t digest = pipc__table_digest(&comm->table);
    assert_int_equal(bench_beside_open(&b, &err), PIPC_OK);
    assert_int_equal(b.nways, 4);
    assert_true(pipc__table_digest(&comm->table) == digest);
    b.own[2].most_blocks = 7; /* an executor on CPUs has none, and says nothing to it */
    assert_int_equal(bench_measure(&b, &r, &err), PIPC_OK);
    assert_true(r.row.cell[1].beside[0].usec > 0 && r.row.cell[1].beside[1].usec > 0);
    assert_true(r.row.cell[1].beside[2].usec == 0); /* not possible on CPUs: not timed */
    assert_int_equal(blocks[1], 2 * ROUNDS * ITERATIONS);
    assert_int_equal(blocks[0], 2 * blocks[1]);
    assert_int_equal(comm->most_blocks, 0);
    assert_true(pipc__table_digest(&comm->table) == digest);
    assert_int_equal(bench_beside_choice(&b, BENCH_BESIDE(1), 1024).algo, PIPC__TWO_SHOT);
    pipc_comm_destroy(comm);
}

static void what_needs_gpus_is_refused(void **state)
{
    static const char *const lists[] = {"nccl", "same@16", "shipped@max"};

    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++) {
        pipc__error_t err = {PIPC_OK, ""};
        bench_t b;
        open_bench(&b);
        b.options.beside = lists[i];
        assert_int_equal(bench_beside_open(&b, &err), PIPC_ERR_INVALID);
        assert_non_null(strstr(err.text, "needs GPUs"));
        pipc_comm_destroy(comm);
    }
}

static void large_results_are_not_checked(void **state)
{
    bench_t b = {0};

    (void)state;
    assert_false(bench_checked(&b, 1));
    b.options.check = true;
    assert_true(bench_checked(&b, SIZE_MAX));
    b.options.check_max = 1000;
    assert_true(bench_checked(&b, 1000));
    assert_false(bench_checked(&b, 1001));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_is_as_long_as_it_may),
        cmocka_unit_test(ways_take_turns_in_one_communicator),
        cmocka_unit_test(what_needs_gpus_is_refused),
        cmocka_unit_test(large_results_are_not_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
