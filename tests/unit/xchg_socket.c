/* tests/unit/xchg_socket.c - the exchange over a socket: ranks that meet, come late, die; directories,
 * files and connections that are not what they should be
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/log.h"
#include "runtime/xchg/notice.h"
#include "runtime/xchg/wire.h"
#include "runtime/xchg/xchg.h"
#include "tests/unit/ranks.h"

#define RECORD 700 /* bytes of a record in these tests */

#define MUST(cond)                                                                                 \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "# process %d, line %d: %s\n", getpid(), __LINE__, #cond);             \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

/* --- a step's directory --------------------------------------------------------------------------- */

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/pcie-ipc-xchg.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char command[192];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s' '%s.done'", dir, dir);
    return system(command);
}

static int entries(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)))
        n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    if (d)
        closedir(d);
    return n;
}

static void set_int(const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", value);
    setenv(name, text, 1);
}

/* This process is rank @rank of @n; the node's first rank is rank 10 of the job. */
static void be(const char *path, int rank, int n)
{
    setenv("PCIE_IPC_DIR", path, 1);
    setenv("SLURMD_NODENAME", "n/1", 1);
    set_int("PCIE_IPC_LOCAL_RANK", rank);
    set_int("PCIE_IPC_LOCAL_SIZE", n);
    setenv("SLURM_STEP_ID", "0", 1);
    set_int("SLURM_PROCID", 10 + rank);
    set_int("SLURM_STEP_NUM_TASKS", 10 + n);
    unsetenv("PMI_SIZE");
    unsetenv("OMPI_COMM_WORLD_SIZE");
}

static unsigned char byte_of(int rank, size_t i, int round)
{
    return (unsigned char)((size_t)rank * 31 + i * 7 + (size_t)round * 13);
}

static pipc_status_t exchange_in(unsigned int tag, int round, bool *right, pipc__error_t *err)
{
    pipc__xchg_want_t want = {.scope = PIPC__SCOPE_NODE, .tag = tag};
    unsigned char mine[RECORD], all[16 * RECORD];
    pipc__group_t g;
    pipc__xchg_t *x;
    pipc_status_t st = pipc__xchg_socket.open(&x, &want, &g, err);

    *right = false;
    if (st)
        return st;
    for (size_t i = 0; i < RECORD; i++)
        mine[i] = byte_of(g.self, i, round);
    st = pipc__xchg_socket.exchange(x, mine, RECORD, all, err);
    pipc__xchg_socket.close(x);
    *right = !st && g.job_rank == 10 + g.self;
    for (int r = 0; !st && r < g.size; r++)
        for (size_t i = 0; i < RECORD; i++)
            *right &= all[(size_t)r * RECORD + i] == byte_of(r, i, round);
    return st;
}

static pipc_status_t exchange(pipc__error_t *err)
{
    bool right;
    pipc_status_t st = exchange_in(0, 0, &right, err);

    if (st)
        return st;
    return right ? st : pipc__fail(err, PIPC_ERR_INTERNAL, "wrong data");
}

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

/* --- directories and files that are not what they should be ---------------------------------------- */

struct refusal {
    const char *path, *words;
};

static int is_refused(ranks_t *all, int rank, void *arg)
{
    const struct refusal *k = arg;
    pipc__error_t err = {PIPC_OK, ""};

    be(k->path, rank, ranks_size(all));
    pipc_status_t st = exchange(&err);
    if (st == PIPC_ERR_EXCHANGE && strstr(err.text, k->words) && strstr(err.text, k->path))
        return 0;
    fprintf(stderr, "# rank %d: %d %s, not: %s\n", rank, st, err.text, k->words);
    return 1;
}

static void refused(const char *path, const char *words)
{
    struct refusal k = {path, words};

    assert_int_equal(ranks_run(2, is_refused, &k, 5), 0);
}

static void only_a_directory_of_ones_own_is_entered(void **state)
{
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/absent", dir);
    refused(path, "No such file");
    refused("tmp", "no absolute path");
    snprintf(path, sizeof(path), "%s/file", dir);
    close(open(path, O_CREAT | O_WRONLY, 0700));
    refused(path, "is no directory");
    snprintf(path, sizeof(path), "%s/link", dir);
    assert_int_equal(symlink(dir, path), 0);
    refused(path, "links are not followed");
    strcat(path, "/"); /* would follow it */
    refused(path, "links are not followed");
    assert_int_equal(chmod(dir, 0755), 0);
    refused(dir, "mode 0755");
    assert_int_equal(chmod(dir, 0710), 0);
    refused(dir, "mode 0710");
    assert_int_equal(chmod(dir, 0700), 0);
    if (geteuid() == 0) {
        assert_int_equal(chown(dir, 65534, 65534), 0);
        refused(dir, "belongs to user 65534");
        assert_int_equal(chown(dir, 0, 0), 0);
    }
}

static void what_others_put_there_is_not_touched(void **state)
{
    char path[128];
    struct stat before, after;

    (void)state;
    snprintf(path, sizeof(path), "%s/meet.n_1.0.0", dir);
    for (int kind = 0; kind < 4; kind++) {
        if (kind == 0)
            close(open(path, O_CREAT | O_WRONLY, 0600));
        else if (kind == 1)
            assert_int_equal(mkdir(path, 0700), 0);
        else if (kind == 2)
            assert_int_equal(mkfifo(path, 0600), 0);
        else
            assert_int_equal(symlink("/etc/passwd", path), 0);
        assert_int_equal(lstat(path, &before), 0);
        refused(dir, "was not made by pcie-ipc");
        assert_int_equal(lstat(path, &after), 0);
        assert_int_equal(before.st_ino, after.st_ino);
        remove(path);
    }
}

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

/* --- strange connections ---------------------------------------------------------------------------- */

static int lines;
static char last_line[1024];

static void keep_line(void *arg, pipc__log_level_t level, const char *line)
{
    (void)arg, (void)level;
    lines++;
    snprintf(last_line, sizeof(last_line), "%s", line);
}

static pipc__hello_t hello_of(int rank, int n)
{
    return (pipc__hello_t){PIPC__WIRE_MAGIC, sizeof(pipc__hello_t), PIPC__WIRE_VERSION, 0, 0, rank, n,
                           10 + rank, getpid(), RECORD};
}

static int connect_there(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(a.sun_path, sizeof(a.sun_path), "%s/meet.n_1.0.0", dir);
    for (int i = 0; connect(fd, (const struct sockaddr *)&a, sizeof(a)); i++) {
        if (i > 2000)
            abort();
        usleep(1000);
    }
    return fd;
}

/* What a stranger does; what it leaves open is closed when it ends. */
static void says_nothing(void) { close(connect_there()); }
static void stays_silent(void) { connect_there(); }
static void sends(const void *data, size_t bytes, bool stays)
{
    int fd = connect_there();

    if (send(fd, data, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        abort();
    if (!stays)
        close(fd);
}
static void sends_garbage(void)
{
    char x[3000];

    memset(x, 'x', sizeof(x));
    sends(x, sizeof(x), false);
}
static void sends_a_byte(void) { sends("P", 1, false); }
static void sends_half_a_hello(void)
{
    pipc__hello_t h = hello_of(1, 3);

    sends(&h, sizeof(h) / 2, false);
}
static void sends_half_a_hello_and_stays(void)
{
    pipc__hello_t h = hello_of(1, 3);

    sends(&h, sizeof(h) / 2, true);
}
static void floods(void)
{
    for (int i = 0; i < 200; i++)
        stays_silent();
}
static void is_another_user(void)
{
    /* The kernel notes the effective user; the file system's user lets it into the directory. */
    if (seteuid(65534))
        abort();
    setfsuid(0);
    pipc__hello_t h = hello_of(1, 3);
    int fd = connect_there();
    send(fd, &h, sizeof(h), MSG_NOSIGNAL); /* it may be closed already */
}

static void sends_as(pipc__hello_t h, size_t more)
{
    char x[sizeof(h) + 2 * RECORD] = {0};

    memcpy(x, &h, sizeof(h));
    sends(x, sizeof(h) + more, true);
}
static void has_another_version(void)
{
    pipc__hello_t h = hello_of(1, 3);

    h.version++;
    h.bytes += 16;
    sends(&h, PIPC__WIRE_PREFIX, true);
}
static void has_another_size(void) { sends_as(hello_of(1, 4), RECORD); }
static void has_another_record(void)
{
    pipc__hello_t h = hello_of(1, 3);

    h.record_bytes = RECORD + 8;
    sends_as(h, RECORD);
}
static void is_rank_0(void) { sends_as(hello_of(0, 3), RECORD); }
static void is_rank_9(void) { sends_as(hello_of(9, 3), RECORD); }
static void is_negative(void) { sends_as(hello_of(-1, 3), RECORD); }
static void is_rank_1_too(void) { sends_as(hello_of(1, 3), RECORD); }
static void sends_too_much(void) { sends_as(hello_of(1, 3), RECORD + 5); }
static void sends_half_a_record(void)
{
    pipc__hello_t h = hello_of(1, 3);
    char x[sizeof(h) + RECORD / 2] = {0};

    memcpy(x, &h, sizeof(h));
    sends(x, sizeof(x), false);
}
static void sends_all_and_closes(void)
{
    pipc__hello_t h = hello_of(1, 3);
    char x[sizeof(h) + RECORD] = {0};

    memcpy(x, &h, sizeof(h));
    sends(x, sizeof(x), false);
}

static const struct stranger {
    void (*acts)(void);
    pipc_status_t status; /* PIPC_OK: the ranks meet all the same */
    const char *words;    /* of the error, or of rank 0's log */
    bool root;            /* only root can try */
    bool replaces;        /* is rank 1, there is no other */
} strangers[] = {
    {says_nothing, PIPC_OK, "before it said who it is", false, false},
    {stays_silent, PIPC_OK, NULL, false, false},
    {sends_a_byte, PIPC_OK, "before it said who it is", false, false},
    {sends_garbage, PIPC_OK, "no rank of pcie-ipc", false, false},
    {sends_half_a_hello, PIPC_OK, "before it said who it is", false, false},
    {sends_half_a_hello_and_stays, PIPC_OK, NULL, false, false},
    {floods, PIPC_OK, "too many", false, false},
    {is_another_user, PIPC_OK, "another user's", true, false},
    {has_another_version, PIPC_ERR_MISMATCH, "version 2 of the socket exchange", false, false},
    {has_another_size, PIPC_ERR_MISMATCH, "knows of 4 ranks on this node", false, false},
    {has_another_record, PIPC_ERR_MISMATCH, "a record of 708 bytes", false, false},
    {is_rank_0, PIPC_ERR_MISMATCH, "says that it is local rank 0 of 3", false, false},
    {is_rank_9, PIPC_ERR_MISMATCH, "says that it is local rank 9 of 3", false, false},
    {is_negative, PIPC_ERR_MISMATCH, "says that it is local rank -1 of 3", false, false},
    {is_rank_1_too, PIPC_ERR_MISMATCH, "both say that they are local rank 1", false, false},
    {sends_too_much, PIPC_ERR_MISMATCH, "rank 11 (process", false, true},
    {sends_half_a_record, PIPC_ERR_PEER_LOST, "rank 11 (process", false, true},
    {sends_all_and_closes, PIPC_ERR_PEER_LOST, "rank 11 (process", false, true},
};

/* Ranks 0 to 2 are the ranks, 3 is the stranger, who comes after rank 0 and before ranks 1 and 2. */
static int meet_a_stranger(ranks_t *all, int rank, void *arg)
{
    const struct stranger *k = arg;
    pipc__error_t err = {PIPC_OK, ""};

    if (rank == 3)
        k->acts();
    if (rank == 1 && k->replaces)
        return 0;
    if (rank) {
        usleep(rank == 3 ? 50 * 1000 : 0);
        /* Rank 0 is in the exchange: the others meet without it. */
        char done[96];
        snprintf(done, sizeof(done), "%s.done", dir);
        if (rank == 3)
            close(open(done, O_CREAT | O_WRONLY, 0600));
        for (int i = 0; rank != 3 && access(done, F_OK) && i < 5000; i++)
            usleep(1000);
        if (rank == 2) /* a false rank 1 must meet the right one, not take its place */
            usleep(100 * 1000);
    }
    if (rank == 3) {
        usleep(300 * 1000); /* keeps its connections while the ranks meet */
        return 0;
    }
    (void)all;
    pipc__log_set(keep_line, NULL);
    be(dir, rank, 3);
    pipc_status_t st = exchange(&err);
    const char *said = st ? err.text : last_line;
    if (st != k->status || ((st || rank == 0) && k->words && !strstr(said, k->words))) {
        fprintf(stderr, "# rank %d: %d \"%s\", not %d \"%s\"\n", rank, st, said, k->status, k->words);
        return 1;
    }
    return 0;
}

static void strangers_are_dropped_and_false_ranks_refused(void **state)
{
    char done[96];

    (void)state;
    snprintf(done, sizeof(done), "%s.done", dir);
    for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
        struct stranger k = strangers[i];
        if (k.root && geteuid())
            continue;
        unlink(done);
        if (ranks_run(4, meet_a_stranger, &k, 10))
            fail_msg("case %zu", i);
        /* A false rank can leave word for a rank that it pretended to be: it goes with the step. */
        char name[96];
        snprintf(name, sizeof(name), "%s/meet.n_1.0.0", dir);
        if (k.status)
            unlink(name);
        assert_int_equal(entries(dir), 0);
    }
    unlink(done);
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

#define IN_A_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_DIR(ranks_meet_again_and_again),
        IN_A_DIR(threads_meet_by_tags),
        IN_A_DIR(late_is_not_dead),
        IN_A_DIR(names_longer_than_an_address_holds),
        IN_A_DIR(only_a_directory_of_ones_own_is_entered),
        IN_A_DIR(what_others_put_there_is_not_touched),
        IN_A_DIR(nodes_do_not_meet_in_a_directory_they_share),
        IN_A_DIR(what_an_earlier_program_left_is_replaced),
        IN_A_DIR(a_second_local_rank_0_is_refused),
        IN_A_DIR(two_local_ranks_0_never_share_a_name),
        IN_A_DIR(strangers_are_dropped_and_false_ranks_refused),
        IN_A_DIR(a_rank_that_dies_is_named_to_those_who_came_and_to_those_who_come),
        IN_A_DIR(without_a_place_to_meet_there_is_a_clear_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
