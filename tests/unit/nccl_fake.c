/* tests/unit/nccl_fake.c - a library with NCCL's names, for what NCCL may answer. FAKE_NCCL says
 * what it does, separated by commas: "rank-R:WORD" for one rank, WORD for all.
 *
 *     no-id, init-fails, slow (in progress for a while), never (in progress for good), call-fails,
 *     call-slow, async (ncclCommGetAsyncError tells a failure after the first call), old (2.7.8)
 *
 * "Sums" are what one rank would get alone. FAKE_NCCL_LOG names a file that gets a line a call.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct id {
    char internal[128];
} id_t_;
typedef struct config {
    size_t size;
    unsigned int magic, version;
    int blocking, unset;
} config_t;
typedef struct comm {
    int rank, size, busy, calls;
} comm_t;

EXPORT int ncclGetVersion(int *v);
EXPORT int ncclGetUniqueId(id_t_ *id);
EXPORT int ncclCommInitRank(void **out, int size, id_t_ id, int rank);
EXPORT int ncclCommInitRankConfig(void **out, int size, id_t_ id, int rank, config_t *config);
EXPORT int ncclAllReduce(const void *send, void *recv, size_t count, int dtype, int op, void *comm,
                         void *stream);
EXPORT int ncclCommGetAsyncError(void *comm, int *state);
EXPORT int ncclCommAbort(void *comm);
EXPORT int ncclCommDestroy(void *comm);
EXPORT int ncclCommFinalize(void *comm);
EXPORT const char *ncclGetErrorString(int rc);
EXPORT int ncclGroupStart(void);
EXPORT int ncclGroupEnd(void);

static struct {
    int open, calls, busy; /* a group is one line of the log */
} group;

static int does(int rank, const char *word)
{
    const char *text = getenv("FAKE_NCCL");
    char mine[64];

    snprintf(mine, sizeof(mine), "rank-%d:%s", rank, word);
    for (text = text ? text : ""; *text; text += strcspn(text, ","), text += *text == ',') {
        size_t n = strcspn(text, ",");
        if ((n == strlen(word) && !strncmp(text, word, n)) ||
            (n == strlen(mine) && !strncmp(text, mine, n)))
            return 1;
    }
    return 0;
}

static void note(const char *what, int rank)
{
    const char *path = getenv("FAKE_NCCL_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;

    if (!f)
        return;
    fprintf(f, "%d %s\n", rank, what);
    fclose(f);
}

int ncclGetVersion(int *v)
{
    *v = does(-1, "old") ? 2708 : 22809;
    return 0;
}

int ncclGetUniqueId(id_t_ *id)
{
    memset(id, 'i', sizeof(*id));
    return does(0, "no-id") ? 2 : 0;
}

int ncclCommInitRank(void **out, int size, id_t_ id, int rank)
{
    comm_t *c = calloc(1, sizeof(*c));

    *out = c;
    if (!c || id.internal[0] != 'i' || id.internal[127] != 'i')
        return 5;
    c->rank = rank;
    c->size = size;
    note("init", rank);
    return 0;
}

int ncclCommInitRankConfig(void **out, int size, id_t_ id, int rank, config_t *config)
{
    if (config->size != 24 || config->magic != 0xcafebeef || config->version != 21400 ||
        config->blocking)
        return 4;
    if (does(rank, "init-fails"))
        return 3;
    int rc = ncclCommInitRank(out, size, id, rank);
    comm_t *c = *out;
    c->busy = does(rank, "slow") ? 20 : does(rank, "never") ? -1 : 0;
    return rc ? rc : c->busy ? 7 : 0;
}

int ncclAllReduce(const void *send, void *recv, size_t count, int dtype, int op, void *comm,
                  void *stream)
{
    static const size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    comm_t *c = comm;

    (void)op, (void)stream;
    if (!group.open || !group.calls++)
        note("allreduce", c->rank);
    c->calls++;
    if (does(c->rank, "call-fails"))
        return 3;
    memmove(recv, send, count * bytes[dtype]);
    c->busy = does(c->rank, "call-slow") ? 5 : does(c->rank, "call-never") ? -1 : 0;
    return c->busy ? 7 : 0;
}

int ncclGroupStart(void)
{
    group.open = 1;
    group.calls = group.busy = 0;
    return 0;
}

int ncclGroupEnd(void)
{
    group.open = 0;
    return group.busy ? 7 : 0;
}

int ncclCommGetAsyncError(void *comm, int *state)
{
    comm_t *c = comm;

    *state = c->busy ? 7 : c->calls && does(c->rank, "async") ? 6 : 0;
    c->busy -= c->busy > 0;
    return 0;
}

int ncclCommAbort(void *comm)
{
    comm_t *c = comm;

    note("abort", c->rank);
    free(c);
    return 0;
}

int ncclCommDestroy(void *comm)
{
    comm_t *c = comm;

    note("destroy", c->rank);
    free(c);
    return 0;
}

int ncclCommFinalize(void *comm)
{
    comm_t *c = comm;

    note("finalize", c->rank);
    c->busy = 3;
    return 7;
}

const char *ncclGetErrorString(int rc)
{
    return rc == 2   ? "unhandled system error"
           : rc == 6 ? "remote process exited"
                     : "internal error";
}
