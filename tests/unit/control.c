/* tests/unit/control.c - pages of ranks: who is lost, who has only left, and what is said of it
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/file.h"
#include "runtime/exec/control.h"
#include "runtime/exec/watchdog.h"
#include "tests/unit/ranks.h"

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "# line %d: %s [%s]\n", __LINE__, #cond, err.text);                    \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static pipc__error_t err;

/* All are connected and have met once. */
static pipc__control_t *join(ranks_t *all, int rank)
{
    pipc__segment_handle_t mine, handle[PIPC__RANKS_MAX];
    pipc__peer_name_t name[PIPC__RANKS_MAX];
    pipc__control_t *ctl;

    if (pipc__control_create(&ctl, &mine, &err))
        return NULL;
    ranks_gather(all, rank, &mine, sizeof(mine), handle);
    for (int r = 0; r < ranks_size(all); r++)
        name[r] = (pipc__peer_name_t){.rank = r, .pid = ranks_pid(all, r), .host = "here"};
    if (pipc__control_connect(ctl, rank, ranks_size(all), handle, name, &err) ||
        pipc__control_gather(ctl, NULL, 0, NULL, &err))
        return NULL;
    return ctl;
}

/* --- the last gather -------------------------------------------------------------------------- */

/* Rank 1 ends when it has said that it leaves, and has been (*arg) in the last gather or not. */
static int end_in_destroy(ranks_t *all, int rank, void *arg)
{
    pipc__control_t *ctl = join(all, rank);
    const bool *met = arg;

    MUST(ctl);
    if (rank == 1) {
        usleep(100 * 1000); /* the others sleep by now */
        pipc__control_leave(ctl);
        if (*met) /* but rang nobody */
            atomic_store(&pipc__control_page(ctl)->gathered, 2);
        _exit(0);
    }
    pipc__control_leave(ctl);
    pipc_status_t st = pipc__control_gather(ctl, NULL, 0, NULL, &err);
    if (*met)
        MUST(!st);
    else
        MUST(st == PIPC_ERR_PEER_LOST && strstr(err.text, "rank 1 (process"));
    pipc__control_destroy(ctl);
    return 0;
}

static void who_ends_before_the_last_gather_is_lost(void **state)
{
    bool met = false;

    (void)state;
    assert_int_equal(ranks_run(3, end_in_destroy, &met, 5), 0);
}

static void who_ends_in_the_last_gather_has_left(void **state)
{
    bool met = true;

    (void)state;
    assert_int_equal(ranks_run(3, end_in_destroy, &met, 5), 0);
}

static int meet_after_the_end(ranks_t *all, int rank, void *arg)
{
    pipc__control_t *ctl = join(all, rank);
    int mine = rank, got[PIPC__RANKS_MAX];

    (void)arg;
    MUST(ctl);
    if (rank == 0) {
        pipc__control_abort_why(ctl, PIPC_ERR_ABORTED, "that is why");
        for (int i = 0; i < 3; i++) {
            MUST(pipc__control_gather(ctl, &mine, sizeof(mine), got, &err) == PIPC_ERR_ABORTED);
            MUST(strstr(err.text, "that is why"));
        }
        MUST(atomic_load(&pipc__control_page(ctl)->gathered) == 1);
    }
    ranks_gather(all, rank, NULL, 0, NULL);
    pipc__control_destroy(ctl);
    return 0;
}

static void who_has_failed_publishes_no_more(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(2, meet_after_the_end, NULL, 5), 0);
}

/* --- without pidfds --------------------------------------------------------------------------- */

static void *go_on(void *arg)
{
    (void)arg;
    pause();
    return NULL;
}

/* A process whose first thread has ended, with another one or not. */
static pid_t start_zombie(bool others)
{
    pid_t pid = fork();
    pthread_t t;

    if (pid)
        return pid;
    if (others && !pthread_create(&t, NULL, go_on, NULL))
        pthread_exit(NULL);
    _exit(0);
}

static void wait_for_zombie(pid_t pid)
{
    char text[256] = "";

    for (int i = 0; i < 2000 && !strstr(text, ") Z "); i++) {
        usleep(1000);
        assert_true(pipc__file_read(NULL, text, sizeof(text), NULL, "proc/%d/stat", pid));
    }
    assert_non_null(strstr(text, ") Z "));
}

/* What is seen of the process by /proc alone. */
static void watch_polling(pipc__watched_t *w, pid_t pid)
{
    assert_int_equal(pipc__watched_open(w, pid, &err), PIPC_OK);
    if (w->pidfd >= 0)
        close(w->pidfd);
    w->pidfd = -1;
}

static void a_process_goes_on_with_any_thread(void **state)
{
    pipc__watched_t w;

    (void)state;
    for (int others = 0; others < 2; others++) {
        pid_t pid = start_zombie(others);
        wait_for_zombie(pid);
        watch_polling(&w, pid);
        bool alive = pipc__watched_alive(&w);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        assert_int_equal(alive, others);
        assert_false(pipc__watched_alive(&w));
    }
}

static void what_can_not_be_read_has_not_ended(void **state)
{
    struct rlimit none, old;
    pipc__watched_t w;

    (void)state;
    watch_polling(&w, getpid());
    assert_true(pipc__watched_alive(&w));
    getrlimit(RLIMIT_NOFILE, &old);
    none = (struct rlimit){0, old.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    bool alive = pipc__watched_alive(&w);
    setrlimit(RLIMIT_NOFILE, &old);
    assert_true(alive);
    w.start++; /* another process has its number by now */
    assert_false(pipc__watched_alive(&w));
}

/* --- what the program has not ----------------------------------------------------------------- */

static int live_without_standard_files(ranks_t *all, int rank, void *arg)
{
    (void)arg;
    for (int fd = 0; rank == 1 && fd < 3; fd++)
        close(fd);
    pipc__control_t *ctl = join(all, rank);
    MUST(ctl);
    for (int fd = 0; rank == 1 && fd < 3; fd++)
        MUST(fcntl(fd, F_GETFD) < 0);
    pipc__control_leave(ctl);
    MUST(!pipc__control_gather(ctl, NULL, 0, NULL, &err));
    pipc__control_destroy(ctl);
    return 0;
}

static void standard_files_that_are_closed_stay_so(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(3, live_without_standard_files, NULL, 5), 0);
}

/* --- abort words ------------------------------------------------------------------------------ */

static int read_nonsense(ranks_t *all, int rank, void *arg)
{
    pipc__control_t *ctl = join(all, rank);
    char cause[PIPC__CAUSE_MAX];
    const uint64_t *word = arg;
    int who = -1;

    MUST(ctl);
    atomic_store(&pipc__control_page(ctl)->abort, *word);
    MUST(pipc__control_state(ctl, &who) == PIPC_ERR_ABORTED && who == rank);
    MUST(strstr(pipc__control_cause(ctl, cause, sizeof(cause)), "aborted"));
    pipc__control_destroy(ctl);
    return 0;
}

static void nonsense_in_an_abort_word_is_an_abort(void **state)
{
    uint64_t words[] = {PIPC__ABORT_WORD(PIPC_ERR_ABORTED, 12345),
                        PIPC__ABORT_WORD(PIPC_ERR_ABORTED, -1), PIPC__ABORT_WORD(0, 12345)};

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        assert_int_equal(ranks_run(1, read_nonsense, &words[i], 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_ends_before_the_last_gather_is_lost),
        cmocka_unit_test(who_ends_in_the_last_gather_has_left),
        cmocka_unit_test(who_has_failed_publishes_no_more),
        cmocka_unit_test(a_process_goes_on_with_any_thread),
        cmocka_unit_test(what_can_not_be_read_has_not_ended),
        cmocka_unit_test(standard_files_that_are_closed_stay_so),
        cmocka_unit_test(nonsense_in_an_abort_word_is_an_abort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
