/* tests/nccl/stand_in.c - a library with NCCL's names that works in host memory, between processes
 * and threads that share a file. hook.t builds it under several names and versions.
 *
 *     STAND_IN_DIR   where the files lie
 *     STAND_IN_LOG   a file that gets a line a call: VERSION RANK CALL
 *     -DVERSION=N    what ncclGetVersion() says;  -DOLD: without what came after 2.14
 */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/nccl/stand_in.h"

#ifndef VERSION
#define VERSION 23203
#endif
#define RANKS 20
#define PART 4096
#define CALLS 64

typedef struct shared {
    _Atomic int arrived, generation, children;
    char data[RANKS][PART];
} shared_t;

typedef struct comm {
    shared_t *shared;
    char name[120];
    int rank, size, busy, splits, nonblocking;
    _Atomic int aborted, revoked, inside;
} comm_t;

typedef struct call {
    char kind; /* 'r', 's' */
    const void *send;
    void *recv;
    size_t count;
    int type, op;
    comm_t *comm;
    void *stream;
    int color, key;
    ncclComm_t *child;
} call_t;

static _Thread_local int depth, ncalls;
static _Thread_local call_t calls[CALLS];

static void note(int rank, const char *what)
{
    const char *path = getenv("STAND_IN_LOG");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
    char line[80];

    if (fd < 0)
        return;
    int n = snprintf(line, sizeof(line), "%d %d %s\n", VERSION, rank, what);
    if (write(fd, line, (size_t)n) != n)
        abort();
    close(fd);
}

_Atomic int stand_in_pause_at, stand_in_paused;

/* A call's first look at its communicator, and its last. ncclCommAbort() ends the calls that are in
 * it and takes the memory away, so none may begin any more. */
static _Thread_local int within; /* a call of another one is a part of that */

static void enter(comm_t *c)
{
    if (within++)
        return;
    c->inside++;
    if (c->aborted) {
        fprintf(stderr, "a call begins on a communicator that is being aborted\n");
        abort();
    }
    if (stand_in_pause_at && !--stand_in_pause_at) {
        stand_in_paused = 1;
        usleep(50000);
    }
}

static int leave(comm_t *c, int rc)
{
    c->inside -= !--within;
    return rc;
}

static int meet(comm_t *c)
{
    int generation = c->shared->generation;

    if (atomic_fetch_add(&c->shared->arrived, 1) + 1 == c->size) {
        c->shared->arrived = 0;
        c->shared->generation = generation + 1;
    }
    while (c->shared->generation == generation) {
        if (c->aborted)
            return ncclInternalError;
        sched_yield();
    }
    return 0;
}

static comm_t *join(const char *name, int rank, int size)
{
    comm_t *c = mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[400];

    snprintf(path, sizeof(path), "%s/%s", getenv("STAND_IN_DIR"), name);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (c == MAP_FAILED || fd < 0 || ftruncate(fd, sizeof(shared_t)))
        abort();
    c->shared = mmap(NULL, sizeof(shared_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (c->shared == MAP_FAILED)
        abort();
    close(fd);
    snprintf(c->name, sizeof(c->name), "%s", name);
    c->rank = rank;
    c->size = size;
    return c;
}

ncclResult_t ncclGetVersion(int *version)
{
    *version = VERSION;
    return 0;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    static _Atomic int n;

    memset(id, 0, sizeof(*id));
    snprintf(id->internal, sizeof(id->internal), "id-%d-%d", getpid(), n++);
    return 0;
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int n, ncclUniqueId id, int rank)
{
    *out = join(id.internal, rank, n);
    note(rank, "init");
    return meet(*out);
}

/* As NCCL does: the call goes through the linker's table, and to who stands in front of it. */
static int ask_itself(ncclComm_t comm)
{
    ncclResult_t async = ncclSuccess, rc = ncclCommGetAsyncError(comm, &async);

    return rc ? rc : async;
}

ncclResult_t ncclCommCount(ncclComm_t comm, int *n)
{
    comm_t *c = comm;

    enter(c);
    *n = c->size;
    return leave(c, ask_itself(comm));
}

ncclResult_t ncclCommUserRank(ncclComm_t comm, int *rank)
{
    comm_t *c = comm;

    enter(c);
    *rank = c->rank;
    return leave(c, ask_itself(comm));
}

ncclResult_t ncclCommCuDevice(ncclComm_t comm, int *device)
{
    comm_t *c = comm;

    enter(c);
    *device = c->rank;
    return leave(c, ask_itself(comm));
}

static int gather(comm_t *c, const void *mine, size_t bytes, char *all)
{
    for (size_t at = 0; at < bytes; at += PART) {
        size_t n = bytes - at < PART ? bytes - at : PART;
        memcpy(c->shared->data[c->rank], (const char *)mine + at, n);
        if (meet(c))
            return ncclInternalError;
        for (int r = 0; r < c->size; r++)
            memcpy(all + (size_t)r * bytes + at, c->shared->data[r], n);
        if (meet(c))
            return ncclInternalError;
    }
    return 0;
}

static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, int type, ncclComm_t comm,
                           ncclStream_t stream)
{
    comm_t *c = comm;
    size_t bytes = count * sizes[type];
    char *mine = malloc(bytes);

    (void)stream;
    enter(c);
    if (!mine || c->busy)
        abort();
    memcpy(mine, send, bytes); /* in place */
    note(c->rank, "allgather");
    int rc = gather(c, mine, bytes, recv);
    free(mine);
    return leave(c, rc);
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, int type, int root,
                           ncclComm_t comm, ncclStream_t stream)
{
    comm_t *c = comm;
    size_t bytes = count * sizes[type];
    char *all = malloc(bytes * (size_t)c->size);

    (void)stream;
    note(c->rank, "broadcast");
    int rc = gather(c, send, bytes, all);
    memcpy(recv, all + (size_t)root * bytes, bytes);
    free(all);
    return rc;
}

/* Sums of floats; of other types the greatest byte at each place. */
static int reduce(const call_t *k)
{
    size_t bytes = k->count * sizes[k->type];

    enter(k->comm);
    char *all = malloc(bytes * (size_t)k->comm->size + 1);
    note(k->comm->rank, "allreduce");
    if (k->comm->revoked)
        return leave(k->comm, ncclInvalidUsage);
    int rc = gather(k->comm, k->send, bytes, all);
    if (!rc && k->type == ncclFloat32) {
        for (size_t i = 0; i < k->count; i++) {
            float sum = 0;
            for (int r = 0; r < k->comm->size; r++)
                sum += ((float *)(void *)all)[(size_t)r * k->count + i];
            ((float *)k->recv)[i] = sum;
        }
    } else if (!rc) {
        for (size_t i = 0; i < bytes; i++) {
            ((char *)k->recv)[i] = all[i];
            for (int r = 1; r < k->comm->size; r++)
                if (all[(size_t)r * bytes + i] > ((char *)k->recv)[i])
                    ((char *)k->recv)[i] = all[(size_t)r * bytes + i];
        }
    }
    free(all);
    return leave(k->comm, rc);
}

static int split(const call_t *k)
{
    struct {
        int color, key;
    } mine = {k->color, k->key}, all[RANKS];
    char name[sizeof(k->comm->name) + 40];
    int rank = 0, size = 0, rc = gather(k->comm, &mine, sizeof(mine), (char *)all);

    *k->child = NULL;
    note(k->comm->rank, "split");
    for (int r = 0; r < k->comm->size; r++) {
        size += all[r].color == k->color;
        rank += all[r].color == k->color &&
                (all[r].key < k->key || (all[r].key == k->key && r < k->comm->rank));
    }
    snprintf(name, sizeof(name), "%.60s-%d-%d", k->comm->name, k->comm->splits++, k->color);
    if (!rc && k->color >= 0)
        *k->child = join(name, rank, size);
    return rc;
}

static int later(call_t k)
{
    if (ncalls == CALLS)
        abort();
    calls[ncalls++] = k;
    return 0;
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, int type, int op,
                           ncclComm_t comm, ncclStream_t stream)
{
    comm_t *c = comm;
    call_t k = {'r', send, recv, count, type, op, c, stream, 0, 0, NULL};

    if (c->busy)
        return ncclInvalidArgument;
    return depth ? later(k) : reduce(&k);
}

ncclResult_t pncclAllReduce(const void *send, void *recv, size_t count, int type, int op,
                            ncclComm_t comm, ncclStream_t stream)
{
    call_t k = {'r', send, recv, count, type, op, comm, stream, 0, 0, NULL};

    return reduce(&k);
}

ncclResult_t ncclGroupStart(void)
{
    depth++;
    return 0;
}

ncclResult_t ncclGroupEnd(void)
{
    int rc = 0;

    if (!depth)
        return ncclInvalidUsage;
    if (--depth)
        return 0;
    for (int i = 0; i < ncalls && !rc; i++)
        rc = calls[i].kind == 'r' ? reduce(&calls[i]) : split(&calls[i]);
    ncalls = 0;
    return rc;
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info)
{
    (void)info;
    depth--;
    ncalls = 0;
    return 0;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *async)
{
    comm_t *c = comm;

    enter(c);
    *async = c->busy ? ncclInProgress : ncclSuccess;
    c->busy -= c->busy > 0;
    return leave(c, 0);
}

static int end(comm_t *c, const char *how)
{
    note(c->rank, how);
    munmap(c->shared, sizeof(shared_t));
    munmap(c, sizeof(*c));
    return 0;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    return end(comm, "destroy");
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    comm_t *c = comm;

    c->aborted = 1;
    while (c->inside)
        sched_yield();
    return end(c, "abort");
}

const char *ncclGetErrorString(ncclResult_t rc)
{
    return rc ? "stand-in's error" : "no error";
}

#ifndef OLD
/* Three questions later it is there. */
ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int n, ncclUniqueId id, int rank,
                                    ncclConfig_t *config)
{
    comm_t *c = join(id.internal, rank, n);

    *out = c;
    note(rank, "init");
    if (config->blocking)
        return meet(c);
    c->nonblocking = 1;
    c->busy = 3;
    return ncclInProgress;
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t *out, int n, int rank, int nids, ncclUniqueId *ids,
                                      ncclConfig_t *config)
{
    (void)nids, (void)config;
    return ncclCommInitRank(out, n, ids[0], rank);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int n, const int *devices)
{
    ncclUniqueId id;

    (void)devices;
    ncclGetUniqueId(&id);
    for (int r = 0; r < n; r++)
        comms[r] = join(id.internal, r, n);
    return 0;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child,
                           ncclConfig_t *config)
{
    call_t k = {'s', NULL, NULL, 0, 0, 0, comm, NULL, color, key, child};

    (void)config;
    return depth ? later(k) : split(&k);
}

/* The ranks that stay call it. */
ncclResult_t ncclCommShrink(ncclComm_t comm, int *without, int nwithout, ncclComm_t *child,
                            ncclConfig_t *config, int flags)
{
    comm_t *c = comm;
    char name[sizeof(c->name) + 40];
    int rank = c->rank;

    (void)config, (void)flags;
    for (int i = 0; i < nwithout; i++)
        rank -= without[i] < c->rank;
    snprintf(name, sizeof(name), "%.60s-without-%d", c->name, c->splits++);
    note(c->rank, "shrink");
    *child = join(name, rank, c->size - nwithout);
    return 0;
}

ncclResult_t ncclCommGrow(ncclComm_t comm, int n, const ncclUniqueId *id, int rank,
                          ncclComm_t *grown, ncclConfig_t *config)
{
    (void)config;
    *grown = join(id->internal, rank < 0 ? ((comm_t *)comm)->rank : rank, n);
    return 0;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    comm_t *c = comm;
    int rc = ask_itself(comm);

    if (rc)
        return rc;
    note(c->rank, "finalize");
    if (!c->nonblocking)
        return 0;
    c->busy = 2;
    return ncclInProgress;
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags)
{
    comm_t *c = comm;

    (void)flags;
    c->revoked = 1;
    note(c->rank, "revoke");
    return 0;
}

ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags)
{
    (void)comm, (void)flags;
    return 0;
}

ncclResult_t ncclCommResume(ncclComm_t comm)
{
    (void)comm;
    return 0;
}

/* Of 4096 bytes and more; else there are no symmetric kernels. */
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t bytes,
                                    ncclWindow_t *window, int flags)
{
    (void)comm, (void)flags;
    *window = bytes >= 4096 ? buffer : NULL;
    return 0;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
    (void)window;
    note(((comm_t *)comm)->rank, "deregister");
    return 0;
}
#endif
