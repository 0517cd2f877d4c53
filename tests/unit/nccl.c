/* tests/unit/nccl.c - NCCL inside, against a library that answers as told: all ranks or none, waits
 * that end with the ranks, errors that are told
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/exec/nccl.h"
#include "tests/unit/rank_exec.h"

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "# line %d: %s [%s]\n", __LINE__, #cond, err.text);                    \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static const char *fake; /* the library */

typedef struct scene {
    const char *does; /* FAKE_NCCL */
    const char *path; /* of the library; NULL: the fake one */
    int given;        /* ranks that give a communicator, a bit each */
    pipc_status_t status;
    const char *words; /* of the error on every rank; or what the log must hold, "R what" a line */
} scene_t;

static char log_path[] = "/tmp/pipc-nccl-XXXXXX";

static int logged(int rank, const char *what)
{
    char line[64], want[64];
    int n = 0;
    FILE *f = fopen(log_path, "r");

    snprintf(want, sizeof(want), "%d %s\n", rank, what);
    while (f && fgets(line, sizeof(line), f))
        n += !strcmp(line, want);
    if (f)
        fclose(f);
    return n;
}

static void open_rank(rank_exec_t *re, ranks_t *all, int rank, const scene_t *s)
{
    static const rank_plan_t one = {PIPC__ONE_SHOT, PIPC__ALLREDUCE, SHAPE_FLAT};

    setenv("FAKE_NCCL", s->does, 1);
    setenv("FAKE_NCCL_LOG", log_path, 1);
    rank_exec_open(re, &pipc__exec_cpu, 1 << 20, (rank_plans_t){&one, 1}, all, rank);
}

static pipc_status_t call(pipc__nccl_t *n, float *in, float *out, pipc__error_t *err)
{
    pipc__exec_call_t k = {.send = in, .recv = out, .count = 3, .dtype = PIPC_F32, .op = PIPC_SUM};

    return pipc__nccl_allreduce(n, &k, err);
}

/* Made, or not, on all ranks alike. */
static int make(ranks_t *all, int rank, void *arg)
{
    const scene_t *s = arg;
    pipc__error_t err = {PIPC_OK, ""};
    float in[3] = {1, 2, 3}, out[3] = {0};
    rank_exec_t re;
    pipc__nccl_t *n;

    open_rank(&re, all, rank, s);
    void *given = s->given >> rank & 1 ? calloc(1, 64) : NULL;
    pipc_status_t st =
        pipc__nccl_create(&n, re.ctl, rank, ranks_size(all), s->path ? s->path : fake, given, &err);
    MUST(st == s->status);
    if (st) {
        MUST(!n && strstr(err.text, s->words));
    } else {
        MUST(!strcmp(pipc__nccl_version(n), strstr(s->does, "old") ? "2.7.8" : "2.28.9"));
        MUST(!call(n, in, out, &err) && !memcmp(in, out, sizeof(in)));
        MUST(!pipc__nccl_poll(n, &err));
        pipc__nccl_close(n, true);
        MUST(logged(rank, "allreduce") == (given ? 0 : 1) || given);
        MUST(logged(rank, "destroy") == !given && logged(rank, "abort") == 0);
    }
    rank_exec_close(&re);
    free(given);
    return 0;
}

static void all_ranks_get_it_or_none(void **state)
{
    static const scene_t scenes[] = {
        {"", NULL, 0, PIPC_OK, NULL},
        {"slow", NULL, 0, PIPC_OK, NULL},
        {"rank-1:slow", NULL, 0, PIPC_OK, NULL},
        {"call-slow", NULL, 0, PIPC_OK, NULL},
        {"old", NULL, 0, PIPC_OK, NULL},
        {"", "/nowhere/libnccl.so.2", 0, PIPC_ERR_NOT_FOUND, "rank 0"},
        {"", "libm.so.6", 0, PIPC_ERR_UNSUPPORTED, "has no ncclGetVersion"},
        {"no-id", NULL, 0, PIPC_ERR_CUDA, "rank 0"},
        {"rank-1:init-fails", NULL, 0, PIPC_ERR_CUDA, "rank 1"},
        {"init-fails", NULL, 0, PIPC_ERR_CUDA, "ncclCommInitRankConfig of NCCL 2.28.9"},
        {"", NULL, 3, PIPC_OK, NULL},
        {"", NULL, 2, PIPC_ERR_MISMATCH, "config.nccl_comm"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        scene_t s = scenes[i];
        assert_int_equal(truncate(log_path, 0), 0);
        if (ranks_run(2, make, &s, 20))
            fail_msg("scene %zu: %s", i, s.does);
    }
}

/* Rank 1 gives up, by abort or by its end, while rank 0 has NCCL in flight: NCCL is aborted
 * although rank 0 makes no call, and later calls say why. */
static int lose(ranks_t *all, int rank, void *arg)
{
    const scene_t *s = arg;
    const struct timespec msec = {0, 1000000};
    pipc__error_t err = {PIPC_OK, ""};
    float x[3] = {1, 2, 3};
    rank_exec_t re;
    pipc__nccl_t *n;

    open_rank(&re, all, rank, s);
    MUST(!pipc__nccl_create(&n, re.ctl, rank, 2, fake, NULL, &err));
    ranks_gather(all, rank, NULL, 0, NULL);
    if (rank == 1 && s->status == PIPC_ERR_PEER_LOST)
        _Exit(0);
    if (rank == 1)
        pipc__control_abort(re.ctl, PIPC_ERR_ABORTED, 1);
    if (rank == 0 && *s->does) /* in a call: it returns */
        MUST(call(n, x, x, &err) == s->status);
    while (rank == 0 && !logged(0, "abort"))
        nanosleep(&msec, NULL);
    if (rank == 0) {
        MUST(call(n, x, x, &err) == s->status && strstr(err.text, "rank 1"));
        MUST(pipc__nccl_poll(n, &err) == s->status);
    }
    pipc__nccl_close(n, false);
    MUST(rank || (logged(0, "abort") == 1 && !logged(0, "destroy")));
    if (s->status == PIPC_ERR_PEER_LOST)
        _Exit(0);
    _Exit(0); /* the control can't meet any more */
}

static void a_loss_aborts_nccl(void **state)
{
    static const scene_t scenes[] = {
        {"", NULL, 0, PIPC_ERR_PEER_LOST, NULL},
        {"", NULL, 0, PIPC_ERR_ABORTED, NULL},
        {"rank-0:call-never", NULL, 0, PIPC_ERR_PEER_LOST, NULL},
        {"rank-0:call-never", NULL, 0, PIPC_ERR_ABORTED, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        scene_t s = scenes[i];
        assert_int_equal(truncate(log_path, 0), 0);
        if (ranks_run(2, lose, &s, 20))
            fail_msg("scene %zu: %s", i, s.does);
    }
}

/* A peer that ends while NCCL connects ends that wait, too. */
static int lose_in_init(ranks_t *all, int rank, void *arg)
{
    pipc__error_t err = {PIPC_OK, ""};
    rank_exec_t re;
    pipc__nccl_t *n;

    open_rank(&re, all, rank, arg);
    ranks_gather(all, rank, NULL, 0, NULL);
    if (rank == 1)
        _Exit(0);
    MUST(pipc__nccl_create(&n, re.ctl, rank, 2, fake, NULL, &err) == PIPC_ERR_PEER_LOST && !n);
    _Exit(0);
}

static void a_loss_ends_the_wait_for_nccl(void **state)
{
    scene_t s = {"never", NULL, 0, PIPC_OK, NULL};

    (void)state;
    assert_int_equal(ranks_run(2, lose_in_init, &s, 20), 0);
}

static int fail_later(ranks_t *all, int rank, void *arg)
{
    const scene_t *s = arg;
    pipc__error_t err = {PIPC_OK, ""};
    float x[3] = {1, 2, 3};
    rank_exec_t re;
    pipc__nccl_t *n;

    open_rank(&re, all, rank, s);
    MUST(!pipc__nccl_create(&n, re.ctl, rank, 2, fake, NULL, &err));
    MUST(!pipc__nccl_poll(n, &err));
    pipc_status_t st = call(n, x, x, &err);
    if (!st)
        st = pipc__nccl_poll(n, &err);
    MUST(st == s->status && strstr(err.text, s->words));
    pipc__nccl_close(n, false);
    rank_exec_close(&re);
    return 0;
}

static void what_nccl_says_is_told(void **state)
{
    static const scene_t scenes[] = {
        {"async", NULL, 0, PIPC_ERR_PEER_LOST, "remote process exited"},
        {"call-fails", NULL, 0, PIPC_ERR_CUDA, "ncclAllReduce of NCCL 2.28.9: internal error"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        scene_t s = scenes[i];
        if (ranks_run(2, fail_later, &s, 20))
            fail_msg("scene %zu", i);
    }
}

static void the_version_needs_no_ranks(void **state)
{
    char version[PIPC__NCCL_VERSION_TEXT];
    pipc__error_t err;

    (void)state;
    assert_int_equal(pipc__nccl_find(fake, version, &err), PIPC_OK);
    assert_string_equal(version, "2.28.9");
    assert_int_equal(pipc__nccl_find("/nowhere", version, &err), PIPC_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "PCIE_IPC_NCCL"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_version_needs_no_ranks),
        cmocka_unit_test(all_ranks_get_it_or_none),
        cmocka_unit_test(a_loss_aborts_nccl),
        cmocka_unit_test(a_loss_ends_the_wait_for_nccl),
        cmocka_unit_test(what_nccl_says_is_told),
    };
    const char *folder = getenv("PIPC_BUILDDIR");
    char path[4096];
    int fd = mkstemp(log_path);

    snprintf(path, sizeof(path), "%s/tests/unit/.libs/nccl_fake.so", folder ? folder : ".");
    fake = path;
    int failed = fd < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
    unlink(log_path);
    return failed;
}
