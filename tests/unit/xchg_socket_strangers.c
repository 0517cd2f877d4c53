/* tests/unit/xchg_socket_strangers.c - the exchange over a socket: directories, files and connections that
 * are not what they should be
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
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
#include "runtime/xchg/wire.h"
#include "tests/unit/ranks.h"
#include "tests/unit/xchg_dir.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_DIR(only_a_directory_of_ones_own_is_entered),
        IN_A_DIR(what_others_put_there_is_not_touched),
        IN_A_DIR(strangers_are_dropped_and_false_ranks_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
