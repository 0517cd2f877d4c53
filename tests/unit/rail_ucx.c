/* tests/unit/rail_ucx.c - the rail over UCX, with forked processes as nodes, over tcp on the
 * loopback.
 *
 *     rail_ucx                  the tests
 *     rail_ucx --bench NODES    time of a job by size and algorithm, for the constants of
 * schedule.c
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/rail/schedule.h"
#include "tests/unit/rail_nodes.h"
#include "tests/unit/values.h"

#define MAX_BYTES ((size_t)4 << 20)

/* In a node: end it with the line's number, so that ranks_run() returns it (below 128: lines
 * modulo). */
#define NODE_FAIL(...)                                                                             \
    do {                                                                                           \
        fprintf(stderr, "# node %d, line %d: ", rank, __LINE__);                                   \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fprintf(stderr, "\n");                                                                     \
        return 1;                                                                                  \
    } while (0)
#define NODE_CHECK(is, ...)                                                                        \
    do {                                                                                           \
        if (!(is))                                                                                 \
            NODE_FAIL(__VA_ARGS__);                                                                \
    } while (0)

static uint64_t hash(const void *data, size_t bytes)
{
    const unsigned char *p = data;
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

/* --- right sums ------------------------------------------------------------------------------ */

/* One job: right, and the same bits on every node. */
static int verified(ranks_t *all, int rank, pipc__rail_t *rail, char *data, size_t count,
                    pipc_dtype_t t, pipc_redop_t op)
{
    size_t bytes = count * pipc_dtype_bytes(t), wrong;
    uint64_t mine, every[8];
    pipc__error_t err;

    test_fill(data, count, t, op, rank, (unsigned int)count);
    NODE_CHECK(!rail_job(rail, data, count, t, op, &err), "%s", err.text);
    wrong = test_wrong(data, 0, count, t, op, ranks_size(all), (unsigned int)count, TEST_ANY);
    NODE_CHECK(wrong == count, "%s of %zu %s: element %zu", pipc_redop_string(op), count,
               pipc_dtype_string(t), wrong);
    mine = hash(data, bytes);
    ranks_gather(all, rank, &mine, sizeof(mine), every);
    for (int r = 0; r < ranks_size(all); r++)
        NODE_CHECK(every[r] == mine, "%s of %zu %s: not the bits of node %d", pipc_redop_string(op),
                   count, pipc_dtype_string(t), r);
    return 0;
}

static int all_types(ranks_t *all, int rank, void *arg)
{
    static const size_t counts[] = {0, 1, 61, 5003};
    static char data[MAX_BYTES];
    pipc__rail_t *rail = rail_join(all, rank);
    int ops = ranks_size(all) == 3 ? PIPC_AVG : 1; /* the sum is the same function for all nodes */

    (void)arg;
    for (int t = 0; t < PIPC_DTYPE_COUNT; t++)
        for (int k = 0, op = t % PIPC_AVG; k < ops; k++, op = (op + 1) % PIPC_AVG)
            for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
                if (verified(all, rank, rail, data, counts[i], (pipc_dtype_t)t, (pipc_redop_t)op))
                    return 1;
    for (size_t count = 9000; count <= MAX_BYTES / 4; count = count * 9 + 3)
        if (verified(all, rank, rail, data, count, PIPC_F32, PIPC_SUM))
            return 1;
    pipc__rail_ucx.close(rail);
    return 0;
}

static void test_types_and_sizes(void **state)
{
    (void)state;
    for (int n = 2; n <= 5; n++)
        assert_int_equal(ranks_run(n, all_types, NULL, 60), 0);
}

/* So many nodes that halving has a fold: one node gives a whole piece, and gets one. */
static int folded(ranks_t *all, int rank, void *arg)
{
    static char data[MAX_BYTES];
    pipc__rail_t *rail = rail_join(all, rank);
    size_t count = 50001;

    (void)arg;
    NODE_CHECK(pipc__rail_cut(ranks_size(all), 4 * count, 0).algo == PIPC__RAIL_HALVING,
               "unfolded");
    int bad = verified(all, rank, rail, data, count, PIPC_F32, PIPC_SUM);
    pipc__rail_ucx.close(rail);
    return bad;
}

static void test_many_nodes_fold(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(9, folded, NULL, 60), 0);
}

/* An average is a sum here: the divisor is the world's size, which a rail does not know. */
static int average(ranks_t *all, int rank, void *arg)
{
    pipc__rail_t *rail = rail_join(all, rank);
    int64_t x[3] = {rank, 1, -rank};
    pipc__error_t err;

    (void)arg;
    NODE_CHECK(!rail_job(rail, x, 3, PIPC_I64, PIPC_AVG, &err), "%s", err.text);
    NODE_CHECK(x[0] == 3 && x[1] == 3 && x[2] == -3, "no sum");
    pipc__rail_ucx.close(rail);
    return 0;
}

static void test_average_is_the_sum(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(3, average, NULL, 30), 0);
}

/* --- many jobs ------------------------------------------------------------------------------- */

static size_t size_of(int job)
{
    return job % 9 == 4 ? 70000 : job % 3 == 0 ? 8 : 3000; /* int32 */
}

static int many(ranks_t *all, int rank, void *arg)
{
    static int32_t data[PIPC__RAIL_JOBS_MAX][70000];
    pipc__rail_t *rail = rail_join(all, rank);
    int id[PIPC__RAIL_JOBS_MAX], none, n = ranks_size(all);
    pipc__error_t err;

    (void)arg;
    for (int round = 0; round < 2; round++) {
        for (int j = 0; j < PIPC__RAIL_JOBS_MAX; j++) {
            for (size_t i = 0; i < size_of(j); i++)
                data[j][i] = rank + j + (int32_t)i;
            const pipc__rail_job_t job = {data[j], size_of(j), PIPC_I32, PIPC_SUM, 0};
            NODE_CHECK(!pipc__rail_ucx.start(rail, &job, &id[j], &err), "%s", err.text);
        }
        const pipc__rail_job_t more = {data[0], 1, PIPC_I32, PIPC_SUM, 0};
        NODE_CHECK(pipc__rail_ucx.start(rail, &more, &none, &err) == PIPC_ERR_INVALID,
                   "65 jobs at once");
        for (int j = PIPC__RAIL_JOBS_MAX; j--;) { /* the last first: the order of asking is free */
            NODE_CHECK(!rail_wait(rail, id[j], &err), "%s", err.text);
            for (size_t i = 0; i < size_of(j); i++)
                NODE_CHECK(data[j][i] == n * (n - 1) / 2 + n * (j + (int32_t)i), "job %d", j);
        }
    }
    pipc__rail_ucx.close(rail);
    return 0;
}

static void test_many_jobs_at_once(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(2, many, NULL, 60), 0);
    assert_int_equal(ranks_run(3, many, NULL, 60), 0);
}

/* --- failures -------------------------------------------------------------------------------- */

/* What is printed from here on goes into a file that has no name. */
static int hide_output(void)
{
    FILE *f = tmpfile();

    if (!f || dup2(fileno(f), 1) < 0)
        abort();
    return fileno(f);
}

static int dies(ranks_t *all, int rank, void *arg)
{
    int victim = *(int *)arg, saved = dup(2), file = hide_output();
    struct sigaction before[32], now;
    for (int s = 1; s < 32; s++)
        sigaction(s, NULL, &before[s]); /* cmocka has some */
    pipc__rail_t *rail = rail_join(all, rank);
    static char data[MAX_BYTES];
    char name[32];
    pipc__error_t err, again;
    struct stat st;

    snprintf(name, sizeof(name), "rank %d on n%d", victim, victim);
    NODE_CHECK(!rail_job(rail, data, 5, PIPC_U8, PIPC_SUM, &err), "%s", err.text);
    ranks_gather(all, rank, NULL, 0, NULL);
    if (rank == victim)
        kill(getpid(), SIGKILL);
    dup2(file, 2);
    pipc_status_t is = rail_job(rail, data, MAX_BYTES, PIPC_U8, PIPC_SUM, &err);
    bool same = rail_job(rail, data, 1, PIPC_U8, PIPC_SUM, &again) == is;
    pipc__rail_ucx.close(rail);
    dup2(saved, 2);
    NODE_CHECK(is == PIPC_ERR_PEER_LOST, "status %d", is);
    NODE_CHECK(strstr(err.text, name), "no name in: %s", err.text);
    NODE_CHECK(same && !strcmp(err.text, again.text), "later: %s", again.text);
    NODE_CHECK(!fstat(file, &st) && !st.st_size, "UCX has printed");
    for (int s = 1; s < 32; s++)
        NODE_CHECK(sigaction(s, NULL, &now) || now.sa_sigaction == before[s].sa_sigaction,
                   "UCX catches signal %d", s);
    return 0;
}

/* Of 5 nodes some do not talk to the dead one: they hear its name from those that do. */
static void test_a_dead_node_is_named_on_all(void **state)
{
    (void)state;
    for (int n = 2; n <= 5; n++) {
        int victim = n - 1, exits[5];
        assert_int_equal(ranks_run_each(n, dies, &victim, 30, exits), 0);
        for (int r = 0; r < n; r++)
            assert_int_equal(exits[r], r == victim ? 128 + SIGKILL : 0);
    }
}

/* --- long waits ------------------------------------------------------------------------------ */

/* Those that wait for seconds run beside the other tests, and are judged last. */
enum { STOPPED, CUT_IDLE, CUT_SENDING, LATE_READER, WAITS };

static struct {
    pid_t pid;
    int exit; /* once the pid is 0 */
} waits[WAITS];

static int end_of(int which)
{
    int status = 0;

    if (waits[which].pid) {
        if (waitpid(waits[which].pid, &status, 0) != waits[which].pid)
            return -1;
        waits[which].pid = 0;
        waits[which].exit = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return waits[which].exit;
}

/* Longer than the watch waits for an answer, with full buffers. */
static int stops(ranks_t *all, int rank, void *arg)
{
    size_t bytes = *(size_t *)arg;
    pipc__rail_t *rail = rail_join(all, rank);
    static char data[MAX_BYTES];
    pipc__error_t err;
    bool done = false;
    int id;

    NODE_CHECK(!rail_job(rail, data, 5, PIPC_U8, PIPC_SUM, &err), "%s", err.text);
    ranks_gather(all, rank, NULL, 0, NULL);
    const pipc__rail_job_t job = {data, bytes, PIPC_U8, PIPC_SUM, 0};
    if (rank)
        kill(getpid(), SIGSTOP);
    NODE_CHECK(!pipc__rail_ucx.start(rail, &job, &id, &err), "%s", err.text);
    for (double end = rail_now() + 2.6; !rank && rail_now() < end;) {
        NODE_CHECK(!pipc__rail_ucx.poll(rail, id, &done, &err), "%s", err.text);
        NODE_CHECK(!done, "done without the other");
        pipc__rail_ucx.rest(rail, 10000);
    }
    if (!rank)
        kill(ranks_pid(all, 1), SIGCONT);
    NODE_CHECK(!rail_wait(rail, id, &err), "%s", err.text);
    pipc__rail_ucx.close(rail);
    return 0;
}

static int stopped(void)
{
    size_t bytes = MAX_BYTES;

    return ranks_run(2, stops, &bytes, 30);
}

static void test_a_stopped_node_is_waited_for(void **state)
{
    (void)state;
    assert_int_equal(end_of(STOPPED), 0);
}

static int loopback(bool up)
{
    struct ifreq r = {.ifr_name = "lo"};
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (s < 0)
        return -1;
    r.ifr_flags = up ? IFF_UP | IFF_RUNNING : 0;
    int rc = ioctl(s, SIOCSIFFLAGS, &r);
    close(s);
    return rc;
}

/* The cable is pulled while data is on its way, or while nothing is. */
static int cut(ranks_t *all, int rank, void *arg)
{
    bool sending = *(bool *)arg;
    pipc__rail_t *rail = rail_join(all, rank);
    static char data[MAX_BYTES];
    pipc__error_t err;
    pipc_status_t is;

    NODE_CHECK(!rail_job(rail, data, 5, PIPC_U8, PIPC_SUM, &err), "%s", err.text);
    ranks_gather(all, rank, NULL, 0, NULL);
    if (!rank && loopback(false))
        return 77;
    ranks_gather(all, rank, NULL, 0, NULL);
    /* One with a large job, the other with none yet: what is sent is never acknowledged. */
    is = rail_job(rail, data, sending ? MAX_BYTES : 1, PIPC_U8, PIPC_SUM, &err);
    NODE_CHECK(is == PIPC_ERR_PEER_LOST, "status %d", is);
    NODE_CHECK(strstr(err.text, rank ? "rank 0 on n0" : "rank 1 on n1"), "%s", err.text);
    pipc__rail_ucx.close(rail);
    return 0;
}

/* In a network of its own, with a loopback that may be taken down. */
static int cut_apart(bool sending)
{
    if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
        return 77;
    return loopback(true) ? 77 : ranks_run(2, cut, &sending, 30);
}

static int cut_idle(void)
{
    return cut_apart(false);
}

static int cut_sending(void)
{
    return cut_apart(true);
}

static void test_a_cut_network_is_noticed(void **state)
{
    (void)state;
    if (end_of(CUT_IDLE) == 77)
        skip(); /* no namespaces here */
    assert_int_equal(end_of(CUT_IDLE), 0);
    assert_int_equal(end_of(CUT_SENDING), 0);
}

/* Who did not run while the other told why and left, as on a busy machine, reads it all the same.
 */
static int reads_late(ranks_t *all, int rank, void *arg)
{
    pipc__rail_t *rail = rail_join(all, rank);
    int32_t x = 1;
    pipc__error_t err;

    (void)arg;
    NODE_CHECK(!rail_job(rail, &x, 1, PIPC_I32, PIPC_SUM, &err), "%s", err.text);
    ranks_gather(all, rank, NULL, 0, NULL);
    if (rank) {
        pipc__rail_ucx.tell(rail, PIPC_ERR_ABORTED, "rank 9 on n1 aborted the communicator");
        pipc__rail_ucx.close(rail); /* gives up waiting */
        kill(ranks_pid(all, 0), SIGCONT);
        return 0;
    }
    kill(getpid(), SIGSTOP);
    pipc_status_t st = rail_job(rail, &x, 1, PIPC_I32, PIPC_SUM, &err);
    NODE_CHECK(st == PIPC_ERR_ABORTED, "status %d: %s", st, err.text);
    pipc__rail_ucx.close(rail);
    return 0;
}

static int late_reader(void)
{
    return ranks_run(2, reads_late, NULL, 30);
}

static void test_a_reason_outlasts_who_told_it(void **state)
{
    (void)state;
    assert_int_equal(end_of(LATE_READER), 0);
}

static int start_waits(void **state)
{
    static int (*const body[WAITS])(void) = {
        [STOPPED] = stopped,
        [CUT_IDLE] = cut_idle,
        [CUT_SENDING] = cut_sending,
        [LATE_READER] = late_reader,
    };

    (void)state;
    for (int i = 0; i < WAITS; i++) {
        waits[i].pid = fork();
        if (!waits[i].pid)
            _exit(body[i]());
        if (waits[i].pid < 0)
            return -1;
    }
    return 0;
}

static int end_waits(void **state)
{
    (void)state;
    for (int i = 0; i < WAITS; i++)
        end_of(i);
    return 0;
}

/* --- ends ------------------------------------------------------------------------------------ */

/* Each closes when it is done, which is not the same moment. */
static int goes(ranks_t *all, int rank, void *arg)
{
    static float data[30000];
    int turn = *(int *)arg;
    pipc__error_t err;
    pipc__rail_t *rail = rail_join(all, rank);

    for (int j = 0; j < 10; j++) {
        if ((rank + turn) % ranks_size(all) == 0)
            usleep(2000);
        NODE_CHECK(!rail_job(rail, data, j % 2 ? 30000 : 20, PIPC_F32, PIPC_SUM, &err), "%s",
                   err.text);
    }
    pipc__rail_ucx.close(rail);
    return 0;
}

static void test_close_in_any_order(void **state)
{
    (void)state;
    for (int turn = 0; turn < 4; turn++)
        assert_int_equal(ranks_run(4, goes, &turn, 30), 0);
    pipc__rail_ucx.close(NULL);
}

/* The other has closed in good order; but then a job waits for it. */
static int left(ranks_t *all, int rank, void *arg)
{
    pipc__rail_t *rail = rail_join(all, rank);
    int32_t x = 1;
    pipc__error_t err;

    (void)arg;
    NODE_CHECK(!rail_job(rail, &x, 1, PIPC_I32, PIPC_SUM, &err), "%s", err.text);
    if (rank == 0) {
        pipc_status_t st = rail_job(rail, &x, 1, PIPC_I32, PIPC_SUM, &err);
        NODE_CHECK(st == PIPC_ERR_PEER_LOST, "status %d", st);
        NODE_CHECK(strstr(err.text, "rank 1 on n1"), "%s", err.text);
    }
    pipc__rail_ucx.close(rail);
    return 0;
}

static void test_who_has_closed_is_lost_to_a_job(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(2, left, NULL, 30), 0);
}

static int told(ranks_t *all, int rank, void *arg)
{
    pipc__rail_t *rail = rail_join(all, rank);
    int32_t x = 1;
    pipc__error_t err;

    (void)arg;
    NODE_CHECK(!rail_job(rail, &x, 1, PIPC_I32, PIPC_SUM, &err), "%s", err.text);
    ranks_gather(all, rank, NULL, 0, NULL);
    if (rank == 2)
        pipc__rail_ucx.tell(rail, PIPC_ERR_ABORTED, "rank 9 on n2 aborted the communicator");
    pipc_status_t st = rail_job(rail, &x, 1, PIPC_I32, PIPC_SUM, &err);
    NODE_CHECK(st == PIPC_ERR_ABORTED, "status %d: %s", st, err.text);
    NODE_CHECK(!strcmp(err.text, "rank 9 on n2 aborted the communicator"), "%s", err.text);
    pipc__rail_ucx.close(rail);
    return 0;
}

static void test_a_reason_goes_round(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(3, told, NULL, 30), 0);
    assert_int_equal(ranks_run(5, told, NULL, 30), 0);
}

/* --- wrong use ------------------------------------------------------------------------------- */

static int wrong_use(ranks_t *all, int rank, void *arg)
{
    pipc__rail_t *rail;
    pipc__rail_address_t mine, none = {0};
    const pipc__rail_address_t *peers[] = {&mine, &none};
    const char *names[] = {"rank 0 on n0", "rank 1 on n1"};
    const pipc__rail_job_t job = {NULL, 1, PIPC_F32, PIPC_SUM, 0},
                           bad = {NULL, 1, (pipc_dtype_t)99, PIPC_SUM, 0};
    pipc__error_t err;
    bool done;
    int id;

    (void)all;
    (void)arg;
    NODE_CHECK(!pipc__rail_ucx.open(&rail, &mine, 0, rail_sum, &err), "%s", err.text);
    NODE_CHECK(pipc__rail_ucx.start(rail, &job, &id, &err) == PIPC_ERR_INVALID, "not connected");
    NODE_CHECK(pipc__rail_ucx.connect(rail, 2, 2, peers, names, &err) == PIPC_ERR_INVALID,
               "node 2");
    NODE_CHECK(pipc__rail_ucx.connect(rail, 0, 2, peers, names, &err) == PIPC_ERR_MISMATCH,
               "no address");
    NODE_CHECK(strstr(err.text, "rank 1 on n1"), "%s", err.text);
    pipc__rail_ucx.close(rail);
    rail = rail_join(all, rank);
    NODE_CHECK(pipc__rail_ucx.start(rail, &bad, &id, &err) == PIPC_ERR_INVALID, "type 99");
    NODE_CHECK(pipc__rail_ucx.poll(rail, 3, &done, &err) == PIPC_ERR_INVALID, "no job");
    NODE_CHECK(pipc__rail_ucx.poll(rail, -1, &done, &err) == PIPC_ERR_INVALID, "no job");
    pipc__rail_ucx.close(rail);
    return 0;
}

static void test_wrong_use_is_refused(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(1, wrong_use, NULL, 30), 0);
}

static int no_library(ranks_t *all, int rank, void *arg)
{
    pipc__rail_t *rail;
    pipc__rail_address_t mine;
    pipc__error_t err;

    (void)all;
    (void)arg;
    setenv("PCIE_IPC_UCX", "/none/libucp.so.0", 1);
    pipc_status_t st = pipc__rail_ucx.open(&rail, &mine, 0, rail_sum, &err);
    NODE_CHECK(st == PIPC_ERR_NOT_FOUND, "status %d", st);
    NODE_CHECK(strstr(err.text, "PCIE_IPC_UCX"), "%s", err.text);
    NODE_CHECK(!mine.bytes && !rail, "a rail");
    return 0;
}

/* Shared memory is no network. */
static int no_network(ranks_t *all, int rank, void *arg)
{
    pipc__rail_t *rail;
    pipc__rail_address_t mine;
    const pipc__rail_address_t *peers[] = {&mine, &mine};
    const char *names[] = {"rank 0 on n0", "rank 1 on n1"};
    pipc__error_t err;

    (void)all;
    (void)arg;
    setenv("UCX_NET_DEVICES", "none0", 1);
    pipc_status_t st = pipc__rail_ucx.open(&rail, &mine, 0, rail_sum, &err);
    if (!st)
        st = pipc__rail_ucx.connect(rail, 0, 2, peers, names, &err);
    NODE_CHECK(st == PIPC_ERR_UNREACHABLE, "status %d", st);
    NODE_CHECK(strstr(err.text, "UCX_NET_DEVICES"), "%s", err.text);
    pipc__rail_ucx.close(rail);
    return 0;
}

static void test_without_ucx_or_network(void **state)
{
    (void)state;
    assert_int_equal(ranks_run(1, no_library, NULL, 10), 0);
    assert_int_equal(ranks_run(1, no_network, NULL, 10), 0);
}

/* --- bench ----------------------------------------------------------------------------------- */

static int bench(ranks_t *all, int rank, void *arg)
{
    size_t most = (size_t)16 << 20;
    float *data = calloc(1, most), *copy = malloc(most);
    pipc__rail_t *rail = rail_join(all, rank);
    pipc__error_t err;

    (void)arg;
    NODE_CHECK(data && copy, "memory");
    for (size_t bytes = 64; bytes <= most; bytes *= 4) {
        int times = bytes > 1 << 20 ? 12 : 60;
        double best = 1e9, plain = 1e9;
        for (int i = 0; i < times; i++) {
            ranks_gather(all, rank, NULL, 0, NULL);
            double t = rail_now();
            NODE_CHECK(!rail_job(rail, data, bytes / 4, PIPC_F32, PIPC_SUM, &err), "%s", err.text);
            t = rail_now() - t;
            best = t < best ? t : best;
            t = rail_now();
            memcpy(copy, data, bytes);
            t = rail_now() - t;
            plain = t < plain ? t : plain;
        }
        if (!rank)
            fprintf(stderr, "%9zu B %10.1f us  memcpy %8.1f us  %.3f GB/s\n", bytes, best * 1e6,
                    plain * 1e6, (double)bytes / best * 1e-9);
    }
    pipc__rail_ucx.close(rail);
    free(data);
    free(copy);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_and_sizes),
        cmocka_unit_test(test_many_nodes_fold),
        cmocka_unit_test(test_average_is_the_sum),
        cmocka_unit_test(test_many_jobs_at_once),
        cmocka_unit_test(test_a_dead_node_is_named_on_all),
        cmocka_unit_test(test_close_in_any_order),
        cmocka_unit_test(test_who_has_closed_is_lost_to_a_job),
        cmocka_unit_test(test_a_reason_goes_round),
        cmocka_unit_test(test_wrong_use_is_refused),
        cmocka_unit_test(test_without_ucx_or_network),
        cmocka_unit_test(test_a_reason_outlasts_who_told_it),
        cmocka_unit_test(test_a_stopped_node_is_waited_for),
        cmocka_unit_test(test_a_cut_network_is_noticed),
    };

    setenv("UCX_NET_DEVICES", "lo", 0);
    if (argc == 3 && !strcmp(argv[1], "--bench"))
        return ranks_run(atoi(argv[2]), bench, NULL, 300);
    setenv("UCX_TCP_KEEPCNT", "1", 1); /* the watch gives up after 2 s, not 4 */
    return (argc == 2 ? cmocka_set_test_filter(argv[1]) : (void)0,
            cmocka_run_group_tests(tests, start_waits, end_waits));
}
