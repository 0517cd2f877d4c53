/* tests/unit/comm.c - the communicator: create by consensus, arguments, errors that stay, abort */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/comm/comm.h"
#include "tests/unit/ranks.h"

/* --- the ranks meet over the test's own memory --------------------------------------------------- */

static ranks_t *the_ranks;
static int the_rank;
static void (*spoil)(pipc__record_t *mine); /* a fault in the own record */

static int allgather(void *ctx, const void *mine, size_t bytes, void *all)
{
    pipc__record_t rec;

    if (spoil && bytes == sizeof(rec)) {
        memcpy(&rec, mine, sizeof(rec));
        spoil(&rec);
        mine = &rec;
    }
    ranks_gather(ctx, the_rank, mine, bytes, all);
    return 0;
}

static const pipc_comm_config_t defaults = PIPC_COMM_CONFIG_INIT;

static pipc_status_t create(pipc_comm_t **comm, const pipc_comm_config_t *config, pipc__error_t *err)
{
    pipc_callbacks_t calls = {sizeof(calls), the_rank, ranks_size(the_ranks), allgather, the_ranks};
    pipc_comm_config_t c = config ? *config : defaults;

    c.callbacks = &calls;
    return pipc__comm_create(comm, &c, &pipc__xchg_auto, err);
}

static void enter(ranks_t *all, int rank)
{
    the_ranks = all;
    the_rank = rank;
    spoil = NULL;
}

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "# rank %d, line %d: %s [%s]\n", the_rank, __LINE__, #cond,            \
                    pipc_last_error());                                                            \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* --- all goes well ------------------------------------------------------------------------------ */

static int sums(ranks_t *all, int rank, void *arg)
{
    pipc_comm_t *comm;
    pipc_status_t async;
    pipc__error_t err;
    float x[1000], y[1000];

    (void)arg;
    enter(all, rank);
    MUST(!create(&comm, NULL, &err));
    MUST(pipc_comm_rank(comm) == rank && pipc_comm_size(comm) == ranks_size(all));
    for (int i = 0; i < 1000; i++)
        x[i] = (float)(i + rank);
    MUST(!pipc_allreduce(comm, x, y, 1000, PIPC_F32, PIPC_SUM, NULL));
    MUST(!pipc_allreduce(comm, NULL, NULL, 0, PIPC_F32, PIPC_SUM, NULL));
    for (int i = 0; i < 1000; i++)
        MUST(y[i] == (float)(i * ranks_size(all) + ranks_size(all) * (ranks_size(all) - 1) / 2));
    MUST(!pipc_comm_async_error(comm, &async) && async == PIPC_OK);
    MUST(!pipc_comm_destroy(comm));
    return 0;
}

static void ranks_sum(void **state)
{
    (void)state;
    for (int n = 1; n <= 4; n++)
        assert_int_equal(ranks_run(n, sums, NULL, 20), 0);
}

static int count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (d && readdir(d))
        n++;
    closedir(d);
    return n;
}

static int many_lives(ranks_t *all, int rank, void *arg)
{
    pipc_comm_t *comm;
    pipc__error_t err;
    int fds = 0;

    (void)arg;
    enter(all, rank);
    for (int i = 0; i < 100; i++) {
        MUST(!create(&comm, NULL, &err));
        MUST(!pipc_comm_destroy(comm));
        if (i == 0)
            fds = count_fds();
    }
    MUST(count_fds() == fds);
    return 0;
}

static void nothing_grows_over_many_lives(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(3, many_lives, NULL, 60), 0);
}

/* --- arguments ----------------------------------------------------------------------------------- */

static int wrong_arguments(ranks_t *all, int rank, void *arg)
{
    pipc_comm_t *comm, *none;
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc__error_t err;
    float x[8] = {0};

    (void)arg;
    enter(all, rank);
    MUST(!create(&comm, NULL, &err));
    MUST(pipc_allreduce(NULL, x, x, 1, PIPC_F32, PIPC_SUM, NULL) == PIPC_ERR_INVALID);
    MUST(pipc_allreduce(comm, NULL, x, 1, PIPC_F32, PIPC_SUM, NULL) == PIPC_ERR_INVALID);
    MUST(pipc_allreduce(comm, x, x + 1, 4, PIPC_F32, PIPC_SUM, NULL) == PIPC_ERR_INVALID);
    MUST(strstr(pipc_last_error(), "overlap"));
    MUST(pipc_allreduce(comm, x, x, 1, PIPC_DTYPE_COUNT, PIPC_SUM, NULL) == PIPC_ERR_INVALID);
    MUST(pipc_allreduce(comm, x, x, 1, PIPC_F32, (pipc_redop_t)-1, NULL) == PIPC_ERR_INVALID);
    MUST(pipc_allreduce(comm, x, x, SIZE_MAX / 2, PIPC_F32, PIPC_SUM, NULL) == PIPC_ERR_INVALID);
    MUST(!pipc_allreduce(comm, x, x + 4, 4, PIPC_F32, PIPC_SUM, NULL)); /* touching is no overlap */
    MUST(pipc_comm_async_error(comm, NULL) == PIPC_ERR_INVALID);
    MUST(pipc_comm_abort(NULL) == PIPC_ERR_INVALID);
    MUST(!pipc_comm_destroy(comm) && !pipc_comm_destroy(NULL));
    MUST(pipc_comm_rank(NULL) == -1 && pipc_comm_size(NULL) == -1);

    c.struct_bytes = sizeof(c) + 8; /* built for a newer library */
    MUST(create(&none, &c, &err) == PIPC_ERR_INVALID && !none);
    c = defaults;
    c.backend = (pipc_backend_t)9;
    MUST(create(&none, &c, &err) == PIPC_ERR_INVALID && !none);
    c = defaults;
    c.scope = (pipc_scope_t)9;
    MUST(create(&none, &c, &err) == PIPC_ERR_INVALID && !none);
    c = defaults;
    c.plan = "moon";
    MUST(create(&none, &c, &err) == PIPC_ERR_INVALID && strstr(err.text, "two-shot"));
    return 0;
}

static void arguments_are_judged(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(1, wrong_arguments, NULL, 10), 0);
    assert_int_equal(pipc_comm_create(NULL, NULL), PIPC_ERR_INVALID);
    assert_non_null(strstr(pipc_last_error(), "comm is NULL"));
}

/* --- all or none ----------------------------------------------------------------------------------- */

static void another_table(pipc__record_t *r) { r->digest ^= 1; }
static void a_dead_control_page(pipc__record_t *r) { r->control[12] ^= 0x55; } /* its descriptor */
static void a_dead_memory(pipc__record_t *r) { r->memory[12] ^= 0x55; }

static const struct consensus {
    void (*spoil)(pipc__record_t *);
    size_t staging; /* of every rank; 0: default */
    const char *plan;
    pipc_status_t status;
    const char *words; /* what the ranks other than 1 say */
} consensus[] = {
    {another_table, 0, NULL, PIPC_ERR_MISMATCH, "different plans"},
    /* Whose page is missing first depends on who gives up first: any rank may be the one named. */
    {a_dead_control_page, 0, NULL, PIPC_ERR_UNREACHABLE, "(process"},
    {a_dead_memory, 0, NULL, PIPC_ERR_UNREACHABLE, "rank 1 (process"},
    {NULL, 4096, NULL, PIPC_ERR_INVALID, "staging of"},
    {NULL, 0, "moon", PIPC_ERR_INVALID, "moon"},
};

/* Rank 1's record is spoiled: every rank must fail, and soon. */
static int fail_together(ranks_t *all, int rank, void *arg)
{
    const struct consensus *k = arg;
    pipc_comm_config_t c = PIPC_COMM_CONFIG_INIT;
    pipc_comm_t *comm;
    pipc__error_t err = {PIPC_OK, ""};

    enter(all, rank);
    if (rank == 1)
        spoil = k->spoil;
    c.staging_bytes = k->staging;
    c.plan = k->plan;
    pipc_status_t st = create(&comm, &c, &err);
    MUST(!comm && st);
    if (rank != 1 && (st != k->status || !strstr(err.text, k->words))) {
        fprintf(stderr, "# rank %d: %d %s\n", rank, st, err.text);
        return 2;
    }
    return 0;
}

static void create_fails_on_all_ranks_or_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(consensus) / sizeof(consensus[0]); i++) {
        struct consensus k = consensus[i];
        if (ranks_run(3, fail_together, &k, 10))
            fail_msg("case %zu", i);
    }
}

/* --- errors stay, abort ------------------------------------------------------------------------------ */

static int dead_stays_dead(ranks_t *all, int rank, void *arg)
{
    pipc_comm_t *comm;
    pipc_status_t async = PIPC_OK;
    pipc__error_t err;
    float x[4] = {0};

    (void)arg;
    enter(all, rank);
    MUST(!create(&comm, NULL, &err));
    if (rank == 1)
        _exit(0); /* no destroy: a loss */
    MUST(pipc_allreduce(comm, x, x, 4, PIPC_F32, PIPC_SUM, NULL) == PIPC_ERR_PEER_LOST);
    MUST(strstr(pipc_last_error(), "rank 1 (process"));
    MUST(pipc_allreduce(comm, x, x, 4, PIPC_F32, PIPC_SUM, NULL) == PIPC_ERR_PEER_LOST);
    MUST(!pipc_comm_async_error(comm, &async) && async == PIPC_ERR_PEER_LOST);
    MUST(strstr(pipc_last_error(), "rank 1 (process"));
    MUST(pipc_comm_destroy(comm) == PIPC_ERR_PEER_LOST); /* waits for nobody */
    return 0;
}

static void a_dead_communicator_stays_dead(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(3, dead_stays_dead, NULL, 5), 0);
}

static int idle_learns_of_loss(ranks_t *all, int rank, void *arg)
{
    pipc_comm_t *comm;
    pipc_status_t async = PIPC_OK;
    pipc__error_t err;

    (void)arg;
    enter(all, rank);
    MUST(!create(&comm, NULL, &err));
    if (rank == 1)
        _exit(0);
    for (int ms = 0; !async && ms < 2000; ms += 10) {
        usleep(10000);
        MUST(!pipc_comm_async_error(comm, &async));
    }
    MUST(async == PIPC_ERR_PEER_LOST && strstr(pipc_last_error(), "rank 1 (process"));
    pipc_comm_destroy(comm);
    return 0;
}

static void a_rank_that_is_not_in_a_call_learns_of_a_loss_too(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(3, idle_learns_of_loss, NULL, 5), 0);
}

static void *abort_soon(void *comm)
{
    usleep(200 * 1000);
    pipc_comm_abort(comm);
    return NULL;
}

static int abort_from_a_thread(ranks_t *all, int rank, void *arg)
{
    pipc_comm_t *comm;
    pipc__error_t err;
    pthread_t t;
    float x[4] = {0};

    (void)arg;
    enter(all, rank);
    MUST(!create(&comm, NULL, &err));
    if (rank == 1) { /* never calls: only the abort can end rank 0's wait */
        pthread_create(&t, NULL, abort_soon, comm);
        pthread_join(t, NULL);
    } else {
        MUST(pipc_allreduce(comm, x, x, 4, PIPC_F32, PIPC_SUM, NULL) == PIPC_ERR_ABORTED);
        MUST(strstr(pipc_last_error(), "rank 1 (process") && strstr(pipc_last_error(), "aborted"));
    }
    ranks_gather(all, rank, NULL, 0, NULL);
    MUST(pipc_comm_destroy(comm) == PIPC_ERR_ABORTED);
    return 0;
}

static void abort_works_from_any_thread(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(2, abort_from_a_thread, NULL, 5), 0);
}

static int destroy_without_one(ranks_t *all, int rank, void *arg)
{
    pipc_comm_t *comm;
    pipc__error_t err;

    (void)arg;
    enter(all, rank);
    MUST(!create(&comm, NULL, &err));
    if (rank == 1) {
        usleep(100 * 1000); /* the others wait in destroy by now */
        _exit(0);
    }
    MUST(pipc_comm_destroy(comm) == PIPC_ERR_PEER_LOST);
    MUST(strstr(pipc_last_error(), "rank 1 (process"));
    return 0;
}

static void a_loss_ends_the_wait_in_destroy(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(3, destroy_without_one, NULL, 5), 0);
}

/* --- a forked child ----------------------------------------------------------------------------- */

static int use_as_child(pipc_comm_t *comm)
{
    pipc_status_t async;
    int pending;
    float x[4] = {0};

    MUST(pipc_allreduce(comm, x, x, 4, PIPC_F32, PIPC_SUM, NULL) == PIPC_ERR_INVALID);
    MUST(strstr(pipc_last_error(), "child"));
    MUST(pipc_comm_async_error(comm, &async) == PIPC_ERR_INVALID);
    MUST(pipc_comm_pending(comm, &pending) == PIPC_ERR_INVALID);
    MUST(pipc_comm_abort(comm) == PIPC_ERR_INVALID);
    MUST(!pipc_comm_destroy(comm));
    return 0;
}

static int have_a_child(ranks_t *all, int rank, void *arg)
{
    pipc_comm_t *comm;
    pipc__error_t err;
    float x[4] = {1, 1, 1, 1};
    int status;

    (void)arg;
    enter(all, rank);
    MUST(!create(&comm, NULL, &err));
    pid_t pid = rank == 1 ? fork() : 0;
    if (rank == 1 && !pid) {
        alarm(5); /* one that hangs ends by itself */
        _exit(use_as_child(comm));
    }
    if (pid) {
        MUST(waitpid(pid, &status, 0) == pid && !status);
    }
    ranks_gather(all, rank, NULL, 0, NULL);
    MUST(!pipc_allreduce(comm, x, x, 4, PIPC_F32, PIPC_SUM, NULL) && x[3] == 3);
    MUST(!pipc_comm_destroy(comm));
    return 0;
}

static void a_child_leaves_its_parent_s_alone(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(3, have_a_child, NULL, 10), 0);
}

/* --- table ------------------------------------------------------------------------------------------ */

static void the_table_covers_every_size(void **state)
{
    (void)state;
    for (int n = 1; n <= PIPC__RANKS_MAX; n++)
        for (int gpu = 0; gpu < 2; gpu++) {
            pipc__shape_t shape;
            pipc__shape_flat(&shape, n);
            pipc__table_t t = pipc__table_default(&shape, gpu, 32);
            assert_true(t.nrows >= 1);
            assert_true(t.row[t.nrows - 1].max_bytes == SIZE_MAX);
            for (int i = 1; i < t.nrows; i++)
                assert_true(t.row[i].max_bytes > t.row[i - 1].max_bytes);
            assert_int_equal(pipc__table_choose(&t, 0, false).algo, t.row[0].eager.algo);
            assert_int_equal(pipc__table_choose(&t, t.row[0].max_bytes, true).algo, t.row[0].graph.algo);
            assert_int_equal(pipc__table_choose(&t, SIZE_MAX, false).algo,
                             t.row[t.nrows - 1].eager.algo);
        }
    pipc__table_t a = pipc__table_fixed(PIPC__ONE_SHOT), b = pipc__table_fixed(PIPC__TWO_SHOT);
    assert_true(pipc__table_digest(&a) != pipc__table_digest(&b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_sum),
        cmocka_unit_test(nothing_grows_over_many_lives),
        cmocka_unit_test(arguments_are_judged),
        cmocka_unit_test(create_fails_on_all_ranks_or_none),
        cmocka_unit_test(a_dead_communicator_stays_dead),
        cmocka_unit_test(a_rank_that_is_not_in_a_call_learns_of_a_loss_too),
        cmocka_unit_test(abort_works_from_any_thread),
        cmocka_unit_test(a_loss_ends_the_wait_in_destroy),
        cmocka_unit_test(a_child_leaves_its_parent_s_alone),
        cmocka_unit_test(the_table_covers_every_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
