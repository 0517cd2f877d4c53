/* tests/unit/bench_nccl_fake.c - a library with NCCL's names for bench_nccl.c: there is no GPU for
 * the real one. It remembers the environment in which each communicator was made, and sums for one
 * rank. FAKE_NCCL says what is amiss: no-ll128 (not among the algorithms), no-windows, wrong-ll.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef struct id {
    char internal[128];
} id_t_;

typedef struct comm {
    char algo[16], proto[16];
    void *window[2];
    int windows;
} comm_t;

EXPORT int fake_nccl_alive;      /* communicators, buffers and windows that were not released */
EXPORT char fake_nccl_log[1024]; /* "ALGO/PROTO/P2P_DISABLE " a communicator */

EXPORT int ncclGetVersion(int *version);
EXPORT int ncclGetUniqueId(id_t_ *id);
EXPORT int ncclCommInitRank(void **comm, int size, id_t_ id, int rank);
EXPORT int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm,
                         void *stream);
EXPORT int ncclCommDestroy(void *comm);
EXPORT const char *ncclGetErrorString(int rc);
EXPORT int ncclMemAlloc(void **p, size_t bytes);
EXPORT int ncclMemFree(void *p);
EXPORT int ncclCommWindowRegister(void *comm, void *p, size_t bytes, void **window, int flags);
EXPORT int ncclCommWindowDeregister(void *comm, void *window);

static bool amiss(const char *what)
{
    const char *all = getenv("FAKE_NCCL");

    return all && strstr(all, what);
}

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "-";
}

int ncclGetVersion(int *version)
{
    *version = 22809;
    return 0;
}

int ncclGetUniqueId(id_t_ *id)
{
    memset(id, 1, sizeof(*id));
    return 0;
}

int ncclCommInitRank(void **comm, int size, id_t_ id, int rank)
{
    comm_t *c = calloc(1, sizeof(*c));
    size_t used = strlen(fake_nccl_log);

    if (!c || size != 1 || rank || id.internal[127] != 1)
        abort();
    snprintf(c->algo, sizeof(c->algo), "%s", env("NCCL_ALGO"));
    snprintf(c->proto, sizeof(c->proto), "%s", env("NCCL_PROTO"));
    snprintf(fake_nccl_log + used, sizeof(fake_nccl_log) - used, "%s/%s/%s ", c->algo, c->proto,
             env("NCCL_P2P_DISABLE"));
    fake_nccl_alive++;
    *comm = c;
    return 0;
}

/* Of floats alone; with windows both buffers must be in them. */
int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm,
                  void *stream)
{
    comm_t *c = comm;

    (void)op, (void)stream;
    if (type != 7)
        return 4;
    if (!strcmp(c->proto, "LL128") && amiss("no-ll128"))
        return 5;
    if (c->windows && (recv != c->window[1] || (send != c->window[0] && send != recv)))
        abort();
    memmove(recv, send, count * 4);
    if (!strcmp(c->proto, "LL") && amiss("wrong-ll") && count > 1)
        memset(recv, 0x7f, 4);
    return 0;
}

int ncclCommDestroy(void *comm)
{
    free(comm);
    fake_nccl_alive--;
    return 0;
}

const char *ncclGetErrorString(int rc)
{
    return rc == 5 ? "invalid usage" : "invalid argument";
}

int ncclMemAlloc(void **p, size_t bytes)
{
    *p = calloc(1, bytes);
    fake_nccl_alive++;
    return *p ? 0 : 1;
}

int ncclMemFree(void *p)
{
    free(p);
    fake_nccl_alive--;
    return 0;
}

int ncclCommWindowRegister(void *comm, void *p, size_t bytes, void **window, int flags)
{
    comm_t *c = comm;

    if (flags != 1 || bytes < 4096)
        return 4;
    *window = NULL;
    if (amiss("no-windows"))
        return 0;
    fake_nccl_alive++;
    *window = c->window[c->windows++] = p;
    return 0;
}

int ncclCommWindowDeregister(void *comm, void *window)
{
    (void)comm, (void)window;
    fake_nccl_alive--;
    return 0;
}
