/* tests/unit/xchg_socket.c - the exchange over a socket: ranks that meet, come late, come twice, die; who
 * else is in their directory, or that there is none
 */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/xchg/notice.h"
#include "tests/unit/ranks.h"
#include "tests/unit/xchg_dir.h"

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "# process %d, line %d: %s\n", getpid(), __LINE__, #cond);             \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* --- all goes well --------------------------------------------------------------------------------- */

static int meet_often(ranks_t *all, int rank, void *arg)
{
    pipc__error_t err = {PIPC_OK, ""};
    bool right;

    be(arg, rank, ranks_size(all));
    for (int i = 0; i < 30; i++) {
        pipc_status_t st = exchange_in(0, i, &right, &err);
        if (st || !right) {
            fprintf(stderr, "# rank %d: round %d: %d %s\n", rank, i, st, err.text);
            return 1;
        }
    }
    return 0;
}

static void ranks_meet_again_and_again(void **state)
{
    (void)state;
    for (int n = 1; n <= 5; n++)
        assert_int_equal(ranks_run(n, meet_often, dir, 30), 0);
    assert_int_equal(entries(dir), 0);
}

static void *meet_in_a_tag(void *arg)
{
    unsigned int tag = *(unsigned int *)arg;
    pipc__error_t err;
    bool right;

    for (int i = 0; i < 20; i++)
        if (exchange_in(tag, (int)tag * 100 + i, &right, &err) || !right)
            return "failed";
    return NULL;
}

static int meet_in_threads(ranks_t *all, int rank, void *arg)
{
    unsigned int tags[] = {1, 2, 3};
    pthread_t t[3];
    void *failed;
    int rc = 0;

    (void)arg;
    be(dir, rank, ranks_size(all));
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, meet_in_a_tag, &tags[i]);
    for (int i = 0; i < 3; i++) {
        pthread_join(t[i], &failed);
        rc |= failed != NULL;
    }
    return rc;
}

static void threads_meet_by_tags(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(3, meet_in_threads, NULL, 30), 0);
    assert_int_equal(entries(dir), 0);
}

static int one_is_late(ranks_t *all, int rank, void *arg)
{
    pipc__error_t err = {PIPC_OK, ""};

    be(dir, rank, ranks_size(all));
    if (rank == *(int *)arg)
        usleep(400 * 1000);
    MUST(!exchange(&err));
    return 0;
}

static void late_is_not_dead(void **state)
{
    (void)state;
    for (int late = 0; late < 3; late++)
        assert_int_equal(ranks_run(3, one_is_late, &late, 10), 0);
}

static void names_longer_than_an_address_holds(void **state)
{
    char deep[512];
    size_t n = (size_t)snprintf(deep, sizeof(deep), "%s", dir);

    (void)state;
    while (n < 300) {
        n += (size_t)snprintf(deep + n, sizeof(deep) - n, "/a-folder-with-a-name-of-forty-characters");
        assert_int_equal(mkdir(deep, 0700), 0);
    }
    assert_int_equal(ranks_run(3, meet_often, deep, 30), 0);
    strcat(deep, "//");
    assert_int_equal(ranks_run(2, meet_often, deep, 30), 0);
}

/* --- others in the same directory ------------------------------------------------------------------ */

static int listen_there(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(a.sun_path, sizeof(a.sun_path), "%s/meet.n_1.0.0", dir);
    assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(fd, 5), 0);
    return fd;
}

/* Ranks 0 and 1 are node a's, 2 and 3 node b's: the directory is one by mistake. */
static int meet_on_two_nodes(ranks_t *all, int rank, void *arg)
{
    pipc__error_t err = {PIPC_OK, ""};

    (void)all, (void)arg;
    be(dir, rank % 2, 2);
    setenv("SLURMD_NODENAME", rank < 2 ? "a" : "b", 1);
    for (int i = 0; i < 20; i++) {
        bool right;
        MUST(!exchange_in(0, i + 100 * (rank / 2), &right, &err) && right);
    }
    return 0;
}

static void nodes_do_not_meet_in_a_directory_they_share(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(4, meet_on_two_nodes, NULL, 10), 0);
}

static void what_an_earlier_program_left_is_replaced(void **state)
{
    static const bool came[3] = {true, true, true};
    static const pipc__error_t why = {PIPC_ERR_PEER_LOST, "an earlier program's"};
    pipc__notice_t notice;
    int late = 0;

    (void)state;
    close(listen_there()); /* its local rank 0 was killed; ours comes last */
    usleep(100 * 1000); /* clearly before the ranks begin */
    assert_int_equal(ranks_run(3, one_is_late, &late, 10), 0);
    assert_int_equal(entries(dir), 0);

    int fd = open(dir, O_PATH | O_CLOEXEC);
    assert_true(pipc__notice_fill(&notice, came, 3, &why) == false);
    notice.missing[1] = 0x80; /* for local rank 15 */
    notice.awaited = 1;
    assert_true(pipc__notice_write(fd, "meet.n_1.0.0", &notice));
    close(fd);
    assert_int_equal(ranks_run(3, one_is_late, &late, 10), 0);
    assert_int_equal(entries(dir), 0);
}

static int second_of_a_kind(ranks_t *all, int rank, void *arg)
{
    pipc__error_t err = {PIPC_OK, ""};

    (void)all, (void)rank, (void)arg;
    be(dir, 0, 2);
    MUST(exchange(&err) == PIPC_ERR_EXCHANGE && strstr(err.text, "two processes say"));
    return 0;
}

static void a_second_local_rank_0_is_refused(void **state)
{
    int fd = listen_there();

    (void)state;
    assert_int_equal(ranks_run(1, second_of_a_kind, NULL, 5), 0);
    close(fd);
}

/* Both come at the same time and find nothing. Their peer comes when one was refused, however slow
 * the machine: before that the other one must not be able to finish and leave. */
static int two_of_a_kind(ranks_t *all, int rank, void *arg)
{
    pipc__error_t err = {PIPC_OK, ""};
    char refused[PATH_MAX];
    int failed[3], mine;

    (void)arg;
    snprintf(refused, sizeof(refused), "%s.refused", dir);
    be(dir, rank == 2, 2);
    ranks_gather(all, rank, NULL, 0, NULL);
    while (rank == 2 && access(refused, F_OK))
        usleep(1000);
    mine = exchange(&err) != PIPC_OK;
    MUST(!mine || strstr(err.text, "two processes say"));
    if (mine)
        close(open(refused, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ranks_gather(all, rank, &mine, sizeof(mine), failed);
    if (mine)
        unlink(refused);
    MUST(failed[0] + failed[1] == 1 && !failed[2]);
    return 0;
}

static void two_local_ranks_0_never_share_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++)
        assert_int_equal(ranks_run(3, two_of_a_kind, NULL, 30), 0);
    assert_int_equal(entries(dir), 0);
}

/* --- ranks that die ---------------------------------------------------------------------------------- */

/* Rank *arg dies while it meets, killed by rank 3, who comes when the others have heard of it. */
static int one_dies(ranks_t *all, int rank, void *arg)
{
    int victim = *(int *)arg;
    pipc__error_t err = {PIPC_OK, ""};
    char words[64];

    be(dir, rank, 4);
    ranks_gather(all, rank, NULL, 0, NULL);
    snprintf(words, sizeof(words), "rank %d (process %d on ", victim ? 10 + victim : 0,
             ranks_pid(all, victim));
    if (rank == 3) {
        usleep(200 * 1000);
        kill(ranks_pid(all, victim), SIGKILL);
        usleep(200 * 1000);
    }
    pipc_status_t st = exchange(&err);
    if (rank == 3 && victim == 0)
        snprintf(words, sizeof(words), "local rank 0 ended");
    if (st != PIPC_ERR_PEER_LOST || !strstr(err.text, words)) {
        fprintf(stderr, "# rank %d: %d %s, not: %s\n", rank, st, err.text, words);
        return 1;
    }
    return 0;
}

static void a_rank_that_dies_is_named_to_those_who_came_and_to_those_who_come(void **state)
{
    int exits[4];

    (void)state;
    for (int victim = 0; victim < 3; victim++) {
        assert_int_equal(ranks_run_each(4, one_dies, &victim, 10, exits), 0);
        for (int r = 0; r < 4; r++)
            if (exits[r] != (r == victim ? 128 + SIGKILL : 0))
                fail_msg("victim %d, rank %d: %d", victim, r, exits[r]);
        /* Who is killed leaves its socket; in every other case the last one to know tidies up. */
        assert_int_equal(entries(dir), victim == 0);
    }
}

/* --- where there is no directory --------------------------------------------------------------------- */

static int elsewhere(ranks_t *all, int rank, void *arg)
{
    pipc__xchg_want_t want = {.kind = PIPC__XCHG_SOCKET};
    pipc__error_t err = {PIPC_OK, ""};
    pipc__group_t g;
    pipc__xchg_t *x;
    char mine = 'm', got = 0;

    (void)all, (void)arg;
    be(dir, rank, 2);
    unsetenv("PMIX_NAMESPACE");
    MUST(pipc__xchg_auto.open(&x, &want, &g, &err) == PIPC_ERR_UNSUPPORTED); /* 12 ranks, 2 here */
    MUST(strstr(err.text, "12 ranks, 2 of them") && strstr(err.text, "--per-node") && !x);
    unsetenv("PCIE_IPC_DIR");
    MUST(pipc__xchg_auto.open(&x, &want, &g, &err) == PIPC_ERR_EXCHANGE);
    MUST(strstr(err.text, "PCIE_IPC_DIR") && strstr(err.text, "--mpi=pmix"));
    MUST(pipc__xchg_auto.open(&x, NULL, &g, &err) == PIPC_ERR_EXCHANGE);
    MUST(strstr(err.text, "12 ranks") && strstr(err.text, "srun --mpi=pmix") &&
         strstr(err.text, "srun --pcie-ipc"));
    setenv("PMIX_NAMESPACE", "slurm.pmix.of.another.job", 1); /* announced, and nobody there */
    MUST(pipc__xchg_auto.open(&x, NULL, &g, &err) == PIPC_ERR_EXCHANGE && strstr(err.text, "12 ranks"));
    set_int("PCIE_IPC_LOCAL_SIZE", 1);
    set_int("PCIE_IPC_LOCAL_RANK", 0);
    set_int("SLURM_STEP_NUM_TASKS", 1);
    for (want.kind = PIPC__XCHG_AUTO; want.kind <= PIPC__XCHG_SOCKET; want.kind += 2) {
        MUST(!pipc__xchg_auto.open(&x, &want, &g, &err) && g.size == 1 && g.self == 0);
        MUST(!pipc__xchg_auto.exchange(x, &mine, 1, &got, &err) && got == 'm');
        pipc__xchg_auto.close(x);
    }
    want.kind = (pipc__xchg_kind_t)7;
    MUST(pipc__xchg_auto.open(&x, &want, &g, &err) == PIPC_ERR_INVALID);
    pipc__xchg_auto.close(NULL);
    pipc__xchg_socket.close(NULL);
    pipc__xchg_callbacks.close(NULL);
    return 0;
}

static void without_a_place_to_meet_there_is_a_clear_error(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(1, elsewhere, NULL, 20), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_DIR(ranks_meet_again_and_again),
        IN_A_DIR(threads_meet_by_tags),
        IN_A_DIR(late_is_not_dead),
        IN_A_DIR(names_longer_than_an_address_holds),
        IN_A_DIR(nodes_do_not_meet_in_a_directory_they_share),
        IN_A_DIR(what_an_earlier_program_left_is_replaced),
        IN_A_DIR(a_second_local_rank_0_is_refused),
        IN_A_DIR(two_local_ranks_0_never_share_a_name),
        IN_A_DIR(a_rank_that_dies_is_named_to_those_who_came_and_to_those_who_come),
        IN_A_DIR(without_a_place_to_meet_there_is_a_clear_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
