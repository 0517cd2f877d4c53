/* tests/nccl/program.c - programs that use NCCL and know nothing of pcie-ipc, one a word on the
 * command line: program WORD [RANKS]. Ranks are forked processes. hook.t runs them with and without
 * the hook and reads the stand-in's log. Exit status 0: all sums were right and all errors as they
 * should be.
 *
 * Built with -DPLUGIN it is a library with run(), for programs that open it.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/nccl/stand_in.h"

#define COUNT 3000
#define NEED(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            fprintf(stderr, "line %d: not %s\n", __LINE__, #x);                                    \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static ncclUniqueId *ids; /* shared by the ranks */
static _Atomic int *gate; /* ranks that came this far, for programs that must wait for each other */
static int rank, size;

static ncclComm_t make(int which)
{
    ncclComm_t c = NULL;

    return ncclCommInitRank(&c, size, ids[which], rank) ? NULL : c;
}

static void fill(float *x, int r, int salt)
{
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)((i * 7 + r * 13 + salt) % 1000);
}

/* One call over ranks @first, @first + step, ... of all, checked. */
static int call_on(ncclComm_t c, int first, int step, int n, int salt, void *stream)
{
    float x[COUNT], y[COUNT], z[COUNT];

    fill(x, rank, salt);
    memset(z, 0, sizeof(z));
    for (int r = 0; r < n; r++) {
        fill(y, first + r * step, salt);
        for (int i = 0; i < COUNT; i++)
            z[i] += y[i];
    }
    memset(y, 0, sizeof(y));
    NEED(!ncclAllReduce(x, y, COUNT, ncclFloat32, ncclSum, c, stream));
    NEED(!memcmp(y, z, sizeof(y)));
    return 0;
}

static int call(ncclComm_t c, int n)
{
    for (int i = 0; i < n; i++)
        NEED(!call_on(c, 0, 1, size, i, NULL));
    return 0;
}

static void wait_for(int n)
{
    while (*gate < n)
        usleep(1000);
}

/* --- the programs ---------------------------------------------------------------------------- */

static int plain(void)
{
    ncclComm_t c = make(0);

    NEED(c && !call(c, 5));
    NEED(!ncclCommDestroy(c));
    return 0;
}

static int once(void)
{
    ncclComm_t c = make(0);

    NEED(c && !call(c, 1));
    NEED(!ncclCommDestroy(c));
    return 0;
}

/* Each is one group, and in groups NCCL does it all. */
static int groups(void)
{
    ncclComm_t c = make(0);
    float x[4] = {1, 2, 3, 4}, y[4] = {0};

    for (int i = 0; i < 4; i++) {
        NEED(!ncclGroupStart() && !ncclGroupStart());
        NEED(!ncclAllReduce(x, y, 4, ncclFloat32, ncclSum, c, NULL));
        NEED(!ncclGroupEnd() && y[0] == 0 && !ncclGroupEnd());
        NEED(y[3] == 4 * (float)size);
        y[0] = y[3] = 0;
    }
    NEED(ncclGroupEnd() == ncclInvalidUsage); /* and the depth is no less than none */
    NEED(!ncclGroupStart() && !ncclGroupSimulateEnd(NULL));
    NEED(!call(c, 5));
    NEED(!ncclCommDestroy(c));
    return 0;
}

static int types(void)
{
    ncclComm_t c = make(0);
    char x[8] = {1, 2, 3}, y[8] = {0};

    NEED(!call(c, 2));
    NEED(!ncclAllReduce(x, y, 8, 10, ncclMax, c, NULL) && y[2] == 3); /* float8e4m3 */
    NEED(!ncclAllReduce(x, y, 1, ncclInt64, 5, c, NULL));             /* PreMulSum */
    NEED(!ncclAllReduce(x, y, 8, ncclInt8, ncclMax, c, NULL) && y[2] == 3);
    NEED(!ncclAllReduce(x, y, 0, ncclInt8, ncclMax, c, NULL));
    NEED(!ncclAllReduce(x, x, 8, ncclUint8, ncclMax, c, NULL) && x[1] == 2);
    NEED(!ncclCommDestroy(c));
    return 0;
}

static int capture(void)
{
    ncclComm_t c = make(0);
    int captures = 1;

    NEED(!call(c, 1));
    for (int i = 0; i < 3; i++) /* at none of these, and none of them counts */
        NEED(!call_on(c, 0, 1, size, i, &captures));
    NEED(!call(c, 1));
    NEED(!call_on(c, 0, 1, size, 9, &captures));
    NEED(!ncclCommDestroy(c));
    return 0;
}

/* To deregister is local: each rank does it when it likes. */
static int windows(void)
{
    static float memory[2048];
    ncclWindow_t w = NULL;
    ncclComm_t c = make(0);

    NEED(!call(c, 3));
    NEED(!ncclCommWindowRegister(c, memory, sizeof(memory), &w, 1) && w);
    NEED(!call(c, 2));
    NEED(rank || !ncclCommWindowDeregister(c, w));
    NEED(!call(c, 2));
    NEED(!rank || !ncclCommWindowDeregister(c, w));
    NEED(!call(c, 1));
    NEED(!ncclCommDestroy(c));
    return 0;
}

/* All ranks try, one of them in a group, and none gets a window. */
static int no_window(void)
{
    static float memory[4];
    ncclWindow_t none = NULL;
    ncclComm_t c = make(0);

    NEED(!call(c, 3));
    NEED(rank || !ncclGroupStart());
    NEED(!ncclCommWindowRegister(c, memory, sizeof(memory), &none, 1));
    NEED(rank || !ncclGroupEnd());
    NEED(!none && !call(c, 2));
    NEED(!ncclCommDestroy(c));
    return 0;
}

static int suspended(void)
{
    ncclComm_t c = make(0);

    NEED(!call(c, 3));
    NEED(!ncclCommSuspend(c, 1) && !call(c, 1) && !ncclCommResume(c));
    NEED(!call(c, 1));
    NEED(!ncclCommDestroy(c));
    return 0;
}

/* Four ranks: even and odd ones, then all but the last, which gets no child. */
static int splits(void)
{
    ncclComm_t c = make(0), half = NULL, most = NULL, few = NULL;
    int last = size - 1;

    NEED(!ncclCommSplit(c, rank % 2, rank, &half, NULL) && half);
    for (int i = 0; i < 4; i++)
        NEED(!call_on(half, rank % 2, 2, size / 2, i, NULL));
    NEED(!ncclGroupStart());
    NEED(!ncclCommSplit(c, rank == last ? -1 : 0, rank, &most, NULL) && !most); /* it comes late */
    NEED(!ncclGroupEnd() && !most == (rank == last));
    for (int i = 0; i < 4 && most; i++)
        NEED(!call_on(most, 0, 1, last, i, NULL));
    NEED(!call(c, 3));
    if (rank != last)
        NEED(!ncclCommShrink(c, &last, 1, &few, NULL, 0));
    for (int i = 0; i < 3 && few; i++)
        NEED(!call_on(few, 0, 1, last, i, NULL));
    NEED(!few || !ncclCommDestroy(few));
    NEED(!most || !ncclCommDestroy(most));
    NEED(!ncclCommDestroy(half) && !ncclCommDestroy(c));
    return 0;
}

static int is_well(ncclComm_t c)
{
    ncclResult_t async = -1;

    return !ncclCommGetAsyncError(c, &async) && !async;
}

/* Rank 0 is through and aborts, as PyTorch does at its end; others are behind and hear nothing. */
static int aborts_idle(void)
{
    ncclComm_t c = make(0);

    NEED(!call(c, 4));
    if (rank) {
        wait_for(1);
        usleep(300000);
        NEED(is_well(c));
        NEED(!ncclCommAbort(c));
        return 0;
    }
    NEED(!ncclCommAbort(c));
    ++*gate;
    usleep(400000);
    return 0;
}

static void *abort_soon(void *c)
{
    usleep(200000);
    return ncclCommAbort(c) ? c : NULL;
}

/* At the end of a process: UCX's workers, which have an epoll each, are closed. One that a thread
 * still closes when the library's destructor has run is the end by SIGABRT. */
static void needs_no_worker(void)
{
    char path[64], is[64];

    for (int fd = 0; fd < 1024; fd++) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, is, sizeof(is));
        if (n > 0 && !strncmp(is, "anon_inode:[eventpoll]", (size_t)n)) {
            fprintf(stderr, "the process ends, and fd %d is still open: %.*s\n", fd, (int)n, is);
            _exit(1);
        }
    }
}

/* Rank 0 waits in a call for one who does not come, until its watchdog aborts it; the other hears
 * of that. Both end at once then. */
static int aborts_waiting(void)
{
    ncclResult_t async = 0;
    ncclComm_t c = make(0);
    float x[4] = {0}, y[4];
    pthread_t t;

    NEED(!atexit(needs_no_worker)); /* called after what is registered later */
    NEED(!call(c, 4));
    if (!rank) {
        NEED(!pthread_create(&t, NULL, abort_soon, c));
        NEED(ncclAllReduce(x, y, 4, ncclFloat32, ncclSum, c, NULL) == ncclRemoteError);
        NEED(!pthread_join(t, NULL));
        return 0;
    }
    while (!async)
        NEED(!ncclCommGetAsyncError(c, &async));
    NEED(async == ncclRemoteError);
    NEED(ncclAllReduce(x, y, 4, ncclFloat32, ncclSum, c, NULL) == ncclRemoteError);
    NEED(!ncclCommDestroy(c)); /* waits for nobody */
    return 0;
}

/* Set up, or about to be, when a watchdog aborts. */
static int aborts_setup(void)
{
    ncclComm_t c = make(0);
    float x[4] = {0}, y[4];
    pthread_t t;

    NEED(!call(c, 1));
    if (rank) {
        usleep(600000);
        return 0;
    }
    NEED(!pthread_create(&t, NULL, abort_soon, c));
    NEED(ncclAllReduce(x, y, 4, ncclFloat32, ncclSum, c, NULL));
    NEED(!pthread_join(t, NULL));
    return 0;
}

static _Atomic int turn, over;

static void *abort_in_turn(void *c)
{
    while (rank ? *gate < turn : !stand_in_paused && !over)
        usleep(100);
    if (ncclCommAbort(c))
        return c;
    *gate += !rank;
    return NULL;
}

/* A watchdog aborts in one of the calls that the set-up makes, each in turn: no other may follow.
 * Then the other rank's does so, since it may wait. */
static int aborts_between(void)
{
    float x[4] = {0}, y[4];
    void *failed;
    pthread_t t;

    for (int n = 1; n < 16; n++) {
        ncclComm_t c = make(n);
        NEED(!call(c, 1));
        turn = n;
        over = stand_in_paused = 0;
        stand_in_pause_at = rank ? 0 : n;
        NEED(!pthread_create(&t, NULL, abort_in_turn, c));
        ncclAllReduce(x, y, 4, ncclFloat32, ncclSum, c, NULL); /* may have been in time */
        over = 1;
        NEED(!pthread_join(t, &failed) && !failed);
    }
    return 0;
}

/* In a call that is NCCL's. */
static int aborts_first(void)
{
    ncclComm_t c = make(0);
    float x[4] = {0}, y[4];
    pthread_t t;

    if (rank) {
        usleep(600000);
        return 0;
    }
    NEED(!pthread_create(&t, NULL, abort_soon, c));
    NEED(ncclAllReduce(x, y, 4, ncclFloat32, ncclSum, c, NULL));
    NEED(!pthread_join(t, NULL));
    return 0;
}

/* Waits in ncclCommFinalize() for one that does not come before this rank's watchdog aborts. */
static int aborts_finalize(void)
{
    ncclComm_t c = make(0);
    pthread_t t;

    NEED(!call(c, 4));
    if (rank) {
        wait_for(1);
        NEED(is_well(c)); /* nothing was under way, and it hears of nothing */
        return 0;
    }
    NEED(!pthread_create(&t, NULL, abort_soon, c));
    NEED(ncclCommFinalize(c));
    NEED(!pthread_join(t, NULL));
    ++*gate;
    return 0;
}

static int killed(void)
{
    ncclResult_t async = 0;
    ncclComm_t c = make(0);
    float x[4] = {0}, y[4];

    NEED(!call(c, 3));
    if (rank == size - 1)
        raise(SIGKILL);
    NEED(ncclAllReduce(x, y, 4, ncclFloat32, ncclSum, c, NULL) == ncclRemoteError);
    NEED(!ncclCommGetAsyncError(c, &async) && async == ncclRemoteError);
    NEED(!ncclCommAbort(c));
    return 0;
}

static int revoked(void)
{
    ncclComm_t c = make(0), d = NULL;
    float x[4] = {0}, y[4];

    NEED(!call(c, 3));
    NEED(!ncclCommRevoke(c, 0));
    NEED(ncclAllReduce(x, y, 4, ncclFloat32, ncclSum, c, NULL) == ncclInvalidUsage);
    NEED(is_well(c));
    NEED(!ncclCommSplit(c, 0, rank, &d, NULL));
    NEED(!call(d, 3));
    NEED(!ncclCommDestroy(c) && !ncclCommDestroy(d));
    return 0;
}

static int ready(ncclComm_t c)
{
    ncclResult_t async = ncclInProgress;

    while (async == ncclInProgress) {
        NEED(!ncclCommGetAsyncError(c, &async));
        usleep(1000);
    }
    return async;
}

static int nonblocking(void)
{
    ncclConfig_t config = {sizeof(config), 0xcafebeef, 23203, 0};
    ncclComm_t c = NULL;
    float x[4] = {0}, y[4];

    NEED(ncclCommInitRankConfig(&c, size, ids[0], rank, &config) == ncclInProgress && c);
    for (int i = 0; i <= rank; i++) /* each a number of its own: none of them counts */
        NEED(ncclAllReduce(x, y, 4, ncclFloat32, ncclSum, c, NULL) == ncclInvalidArgument);
    NEED(!ready(c) && !call(c, 4));
    NEED(ncclCommFinalize(c) == ncclInProgress);
    NEED(!ready(c) && !ncclCommDestroy(c));
    return 0;
}

/* One that is late there is waited for. */
static int finalize(void)
{
    ncclComm_t c = make(0);

    NEED(!call(c, 4));
    if (rank) {
        usleep(700000);
        ++*gate;
    }
    NEED(!ncclCommFinalize(c) && *gate == size - 1);
    NEED(is_well(c) && !ncclCommDestroy(c));
    return 0;
}

static int late(void)
{
    ncclComm_t c = make(0);

    NEED(!call(c, 1));
    if (rank)
        usleep(700000);
    NEED(!call(c, 2));
    if (!rank)
        usleep(700000);
    NEED(!call(c, 2) && is_well(c));
    NEED(!ncclCommDestroy(c));
    return 0;
}

static int ten(void)
{
    ncclComm_t c[10];

    for (int i = 0; i < 10; i++)
        NEED((c[i] = make(i)) && !call(c[i], 3));
    for (int i = 0; i < 10; i++)
        NEED(!call(c[9 - i], 2));
    for (int i = 0; i < 10; i++)
        NEED(!ncclCommDestroy(c[i]));
    return 0;
}

/* More than there is memory for, one after the other: what was released comes back. */
static int many(void)
{
    for (int i = 0; i < 16; i++) {
        ncclComm_t c = make(i);
        NEED(c && !call(c, 3));
        NEED(!(i % 2 ? ncclCommAbort(c) : ncclCommDestroy(c)));
    }
    return 0;
}

/* Nobody releases anything; the last rank stays longest. */
static int leaves(void)
{
    ncclComm_t c = make(0);

    NEED(c && !call(c, 4));
    usleep((unsigned int)rank * 100000);
    return 0;
}

/* The others end as in leaves(). Rank 0 hears of it where it asks, and NCCL, which asks itself in
 * each of these, does not. */
static int left_behind(void)
{
    ncclResult_t async = 0;
    ncclComm_t c = make(0);
    int r = -1, n = -1;

    NEED(c && !call(c, 4));
    while (!rank && !async)
        NEED(!ncclCommGetAsyncError(c, &async));
    NEED(rank || async == ncclRemoteError);
    NEED(rank || (!ncclCommUserRank(c, &r) && !r && !ncclCommCount(c, &n) && n == size));
    NEED(rank || (!ncclCommFinalize(c) && !ncclCommDestroy(c)));
    return 0;
}

/* Ranks as threads of one process, each with a device of its own. */
static void *thread(void *arg)
{
    ncclComm_t c = NULL;
    int r = *(int *)arg, n = size;
    float x[4] = {1, 2, 3, (float)r}, y[4] = {0};

    if (ncclCommInitRank(&c, n, ids[0], r))
        return arg;
    for (int i = 0; i < 5; i++) {
        if (ncclAllReduce(x, y, 4, ncclFloat32, ncclSum, c, NULL) || y[0] != (float)n ||
            y[3] != (float)(n * (n - 1) / 2))
            return arg;
    }
    return ncclCommDestroy(c) ? arg : NULL;
}

static int run_threads(void *(*body)(void *))
{
    pthread_t t[16];
    int r[16], rc = 0;
    void *failed;

    if (rank)
        return 0;
    for (int i = 0; i < size; i++) {
        r[i] = i;
        NEED(!pthread_create(&t[i], NULL, body, &r[i]));
    }
    for (int i = 0; i < size; i++)
        rc |= pthread_join(t[i], &failed) || failed;
    return rc;
}

static int threads(void)
{
    return run_threads(thread);
}

/* What one thread ends for all, one after the other: no end may wait for the next one. */
static ncclComm_t kept[2][16];

static void *thread_that_keeps(void *arg)
{
    int r = *(int *)arg;
    float x[4] = {1, 2, 3, (float)r}, y[4] = {0};

    for (int which = 0; which < 2; which++) {
        if (ncclCommInitRank(&kept[which][r], size, ids[which], r))
            return arg;
        for (int i = 0; i < 5; i++)
            if (ncclAllReduce(x, y, 4, ncclFloat32, ncclSum, kept[which][r], NULL) ||
                y[0] != (float)size)
                return arg;
    }
    return NULL;
}

static int one_ends(void)
{
    int rc = run_threads(thread_that_keeps);

    for (int r = 0; !rank && !rc && r < size; r++)
        for (int which = 0; which < 2; which++)
            NEED(!ncclCommDestroy(kept[which][r]));
    return rc;
}

static int versions(void)
{
    int v = 0;

    NEED(!ncclGetVersion(&v));
    printf("%d\n", v);
    return 0;
}

/* --- running them ---------------------------------------------------------------------------- */

static const struct program {
    const char *name;
    int (*run)(void);
} programs[] = {{"plain", plain},
                {"once", once},
                {"groups", groups},
                {"types", types},
                {"capture", capture},
                {"windows", windows},
                {"no-window", no_window},
                {"suspended", suspended},
                {"splits", splits},
                {"aborts-idle", aborts_idle},
                {"aborts-waiting", aborts_waiting},
                {"aborts-setup", aborts_setup},
                {"aborts-between", aborts_between},
                {"aborts-first", aborts_first},
                {"aborts-finalize", aborts_finalize},
                {"killed", killed},
                {"revoked", revoked},
                {"nonblocking", nonblocking},
                {"finalize", finalize},
                {"late", late},
                {"ten", ten},
                {"many", many},
                {"leaves", leaves},
                {"left-behind", left_behind},
                {"threads", threads},
                {"one-ends", one_ends},
                {"version", versions}};

int run(const char *name, int n);
int run(const char *name, int n)
{
    int (*body)(void) = NULL;
    int failed = 0, status;

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
        if (!strcmp(programs[i].name, name))
            body = programs[i].run;
    char *shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!body || shared == MAP_FAILED)
        return 2;
    ids = (ncclUniqueId *)(void *)shared;
    gate = (_Atomic int *)(void *)(shared + 4096);
    for (int i = 0; i < 16; i++)
        if (ncclGetUniqueId(&ids[i]))
            return 2;
    size = n;
    fflush(stdout);
    for (rank = 0; rank < n; rank++)
        if (!fork()) {
            alarm(20);
            exit(body());
        }
    for (int r = 0; r < n; r++) {
        wait(&status);
        failed |= status && !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    return failed;
}

#ifndef PLUGIN
int main(int argc, char **argv)
{
    return run(argc > 1 ? argv[1] : "plain", argc > 2 ? atoi(argv[2]) : 2);
}
#endif
