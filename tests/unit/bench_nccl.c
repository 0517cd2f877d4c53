/* tests/unit/bench_nccl.c - NCCL's variants: what --peer takes, the environment of each
 * communicator, variants that are not there or give wrong sums; with a library that answers as NCCL
 * does, and buffers in host memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "runtime/tools/bench/measure.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define BYTES 65536

static const bench_peer_t *const peer = &bench_peer_nccl;
static char fake[512], spec[600];
static int *alive;
static char *made; /* the fake's log */

static int alone(void *ctx, const void *mine, size_t bytes, void *all)
{
    (void)ctx;
    memcpy(all, mine, bytes);
    return 0;
}

static pipc_comm_t *lone_rank(void)
{
    static const pipc_callbacks_t calls = {sizeof(calls), 0, 1, alone, NULL};
    pipc_comm_config_t config = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm;

    config.backend = PIPC_BACKEND_CPU;
    config.callbacks = &calls;
    assert_int_equal(pipc_comm_create(&comm, &config), PIPC_OK);
    return comm;
}

/* A benchmark whose peer is the fake with @variant. */
static pipc_status_t open_peer(bench_t *b, const char *variant, bool nvlink, pipc__error_t *err)
{
    memset(b, 0, sizeof(*b));
    snprintf(spec, sizeof(spec), "%s:%s", variant, fake);
    assert_true(peer->parse(spec));
    unsetenv("NCCL_P2P_DISABLE");
    peer->start();
    b->comm = lone_rank();
    b->comm->shape.nvlink = nvlink;
    b->device = bench_cpu;
    b->options = (bench_options_t){.peer = peer, .iterations = 3, .warmup = 1, .check = true};
    b->send = malloc(BYTES);
    b->recv = malloc(BYTES);
    b->host = malloc(BYTES);
    made[0] = '\0';
    return peer->open(b->comm, &b->device, BYTES, err);
}

static void close_peer(bench_t *b)
{
    peer->close();
    assert_int_equal(*alive, 0);
    pipc_comm_destroy(b->comm);
    free(b->send);
    free(b->recv);
    free(b->host);
}

static void what_peer_takes(void **state)
{
    static const struct {
        const char *spec;
        bool good;
    } cases[] = {
        {NULL, true},
        {"best", true},
        {"ring-ll", true},
        {"ring-ll128", true},
        {"host", true},
        {"tree:/x/libnccl.so", true},
        {"/x/libnccl.so.2", true},
        {"libnccl.so.2", true},
        {"host-tree", true},
        {"host-best:/x", true},
        {"host:/x", true},
        {"", false},
        {"moon", false},
        {"ring", false},
        {"ring-ll:", false},
        {"hosttree", false},
        {"host-", false},
        {"host-symmetric", false},
        {"host-ring-ll128", false},
        {"bestx", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (peer->parse(cases[i].spec) != cases[i].good)
            fail_msg("%s", cases[i].spec ? cases[i].spec : "(none)");
}

/* Each communicator is made in its own environment, and the user's is there again afterwards. */
static void environments(void **state)
{
    static const struct {
        const char *variant, *algo, *proto; /* of the user */
        bool nvlink;
        const char *made;
    } cases[] = {
        {"default", NULL, NULL, false, "-/-/- "},
        {"default", "Tree", "LL", false, "Tree/LL/- "},
        {"ring-ll", "Tree", NULL, false, "Ring/LL/- "},
        {"ring-ll128", NULL, NULL, false,
         "Ring/LL128/- "}, /* asked for by name: even without NVLink */
        {"tree", NULL, "LL", false, "Tree/-/- "},
        {"best", NULL, NULL, true, "-/-/- Ring/LL/- Ring/LL128/- Ring/Simple/- Tree/-/- -/-/- "},
        {"best", NULL, NULL, false, "-/-/- Ring/LL/- Ring/Simple/- Tree/-/- -/-/- "},
        {"host", NULL, NULL, true, "-/-/1 Ring/LL/1 Ring/Simple/1 Tree/-/1 "},
        {"host-ring-ll", NULL, NULL, false, "Ring/LL/1 "},
    };

    (void)state;
    unsetenv("FAKE_NCCL");
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__error_t err;
        bench_t b;
        const char *value[2] = {cases[i].algo, cases[i].proto};
        const char *const name[2] = {"NCCL_ALGO", "NCCL_PROTO"};
        for (int k = 0; k < 2; k++)
            value[k] ? setenv(name[k], value[k], 1) : unsetenv(name[k]);
        assert_int_equal(open_peer(&b, cases[i].variant, cases[i].nvlink, &err), PIPC_OK);
        assert_string_equal(made, cases[i].made);
        for (int k = 0; k < 2; k++)
            value[k] ? assert_string_equal(getenv(name[k]), value[k])
                     : assert_null(getenv(name[k]));
        close_peer(&b);
        unsetenv("NCCL_ALGO");
        unsetenv("NCCL_PROTO");
    }
}

static void what_is_not_there_is_noted(void **state)
{
    static const struct {
        const char *amiss, *variant, *missing,
            *why; /* missing NULL: open() itself fails with why */
        int usable;
    } cases[] = {
        {"", "best", "none", "", 6},
        {"no-ll128", "best", "ring-ll128", "ncclAllReduce: invalid usage", 5},
        {"no-windows", "best", "symmetric", "NCCL takes no symmetric windows here", 5},
        {"no-windows", "symmetric", NULL,
         "NCCL 2.28.9 symmetric: NCCL takes no symmetric windows here", 0},
        {"no-ll128", "ring-ll128", NULL, "NCCL 2.28.9 ring-ll128: ncclAllReduce: invalid usage", 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        pipc__error_t err = {PIPC_OK, ""};
        bench_t b;
        setenv("FAKE_NCCL", cases[i].amiss, 1);
        pipc_status_t st = open_peer(&b, cases[i].variant, true, &err);
        assert_int_equal(st == PIPC_OK, cases[i].missing != NULL);
        if (st)
            assert_string_equal(err.text, cases[i].why);
        assert_int_equal(bench_peer_usable(peer), cases[i].usable);
        for (int v = 0; !st && v < peer->variants(); v++) {
            if (strcmp(peer->variant(v), cases[i].missing))
                assert_null(peer->why_not(v));
            else
                assert_string_equal(peer->why_not(v), cases[i].why);
        }
        close_peer(&b);
    }
    unsetenv("FAKE_NCCL");
}

/* A variant with wrong sums has no time; the others have, and the best is one of them. */
static void wrong_sums_are_not_timed(void **state)
{
    pipc__error_t err;
    bench_t b;

    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        bench_result_t r = {.count = 1000, .dtype = PIPC_F32, .op = PIPC_SUM};
        setenv("FAKE_NCCL", wrong ? "wrong-ll" : "", 1);
        assert_int_equal(open_peer(&b, "best", true, &err), PIPC_OK);
        b.comm->recs[0].rank = 1; /* so that it says nothing */
        assert_int_equal(bench_measure(&b, &r, &err), PIPC_OK);
        for (int i = 0; i < 2; i++) {
            const bench_cell_t *c = &r.row.cell[i];
            assert_int_equal(c->wrong, 0);
            assert_true(c->own.usec > 0 && bench_best(c) >= 0);
            for (int v = 0; v < peer->variants(); v++) {
                bool ll = !strcmp(peer->variant(v), "ring-ll");
                assert_int_equal(c->peer[v].usec > 0, !(ll && wrong));
            }
        }
        close_peer(&b);
    }
    unsetenv("FAKE_NCCL");
}

static void a_library_that_is_none(void **state)
{
    pipc__error_t err = {PIPC_OK, ""};
    pipc_comm_t *comm = lone_rank();

    (void)state;
    assert_true(peer->parse("/nowhere/libnccl.so.2"));
    peer->start();
    assert_int_equal(peer->open(comm, &bench_cpu, BYTES, &err), PIPC_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nowhere/libnccl.so.2"));
    peer->close();
    pipc_comm_destroy(comm);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_peer_takes),
        cmocka_unit_test(environments),
        cmocka_unit_test(what_is_not_there_is_noted),
        cmocka_unit_test(wrong_sums_are_not_timed),
        cmocka_unit_test(a_library_that_is_none), /* the last one: it is not forgotten */
    };
    const char *slash = strrchr(argv[0], '/');
    int folder = slash ? (int)(slash - argv[0]) : 0;

    (void)argc;
    snprintf(fake, sizeof(fake), "%.*s/.libs/bench_nccl_fake.so", folder, argv[0]);
    void *lib = dlopen(fake, RTLD_NOW);
    if (!lib) {
        snprintf(fake, sizeof(fake), "%.*s/bench_nccl_fake.so", folder,
                 argv[0]); /* in .libs already */
        lib = dlopen(fake, RTLD_NOW);
    }
    if (!lib)
        return 1;
    alive = dlsym(lib, "fake_nccl_alive");
    made = dlsym(lib, "fake_nccl_log");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
