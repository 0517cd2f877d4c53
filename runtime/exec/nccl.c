/* exec/nccl.c - see nccl.h
 *
 * The few declarations that are needed stand here, so that nothing builds against NCCL's header;
 * names and values are those of nccl.h (NCCL 2.x: ncclCommInitRankConfig() since 2.14).
 *
 * NCCL's kernels know nothing of our abort word, and a program may sit in a synchronisation where
 * no call of ours could help it. So a thread watches the word, and aborts NCCL's communicator when
 * it is set. Hence a lock around every use of it: ncclCommAbort() frees it. The communicator is
 * made non-blocking, so that no use keeps the lock while NCCL waits for a peer.
 */
#include "runtime/exec/nccl.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/base/log.h"

#define NCCL_SUCCESS 0
#define NCCL_IN_PROGRESS 7
#define NCCL_MAGIC 0xcafebeefu
#define WATCH_MSEC 20
#define INIT_SECONDS                                                                               \
    60 /* all ranks are in the same step: who takes that long has failed elsewhere */

typedef struct nccl_id {
    char internal[128]; /* NCCL_UNIQUE_ID_BYTES */
} nccl_id_t;

/* ncclConfig_t as of 2.14; later versions add fields and go by size and version. The last field
 * fills what was padding then, with the value that says "not set" to those that read it. */
typedef struct nccl_config {
    size_t size;
    unsigned int magic, version;
    int blocking, unset;
} nccl_config_t;

typedef struct library {
    void *handle;
    int (*GetVersion)(int *);
    int (*GetUniqueId)(nccl_id_t *);
    int (*CommInitRank)(void **, int, nccl_id_t, int);
    int (*AllReduce)(const void *, void *, size_t, int, int, void *, void *);
    int (*CommGetAsyncError)(void *, int *);
    int (*CommAbort)(void *);
    int (*CommDestroy)(void *);
    const char *(*GetErrorString)(int);
    /* Since 2.14; NULL without. */
    int (*CommInitRankConfig)(void **, int, nccl_id_t, int, nccl_config_t *);
    int (*CommFinalize)(void *);
} library_t;

struct pipc__nccl {
    library_t lib;
    char version[PIPC__NCCL_VERSION_TEXT];
    pipc__control_t *ctl;
    int rank, size;
    bool given;           /* comm is the program's */
    void *comm;           /* NULL once it is aborted */
    pthread_mutex_t lock; /* of comm */
    pthread_cond_t wake;
    pthread_t watcher;
    bool watching, stop;
};

/* --- the library ----------------------------------------------------------------------------- */

static const struct symbol {
    const char *name;
    size_t offset; /* of the member in library_t */
    bool newer;    /* may be absent */
} symbols[] = {
#define SYMBOL(member, newer)                                                                      \
    {                                                                                              \
        "nccl" #member, offsetof(library_t, member), newer                                         \
    }
    SYMBOL(GetVersion, false),  SYMBOL(GetUniqueId, false),       SYMBOL(CommInitRank, false),
    SYMBOL(AllReduce, false),   SYMBOL(CommGetAsyncError, false), SYMBOL(CommAbort, false),
    SYMBOL(CommDestroy, false), SYMBOL(GetErrorString, false),    SYMBOL(CommInitRankConfig, true),
    SYMBOL(CommFinalize, true),
#undef SYMBOL
};

/* dlopen() by the bare name finds the library that the program has loaded already, wherever it
 * lies: a communicator that the program gives must not meet a second NCCL. */
static pipc_status_t open_library(library_t *lib, const char *path, pipc__error_t *err)
{
    path = path ? path : "libnccl.so.2";
    lib->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib->handle) {
        const char *why = dlerror();
        return pipc__fail(err, PIPC_ERR_NOT_FOUND,
                          "%s; install NCCL, or set PCIE_IPC_NCCL to its path", why ? why : path);
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *f = dlsym(lib->handle, symbols[i].name);
        if (!f && !symbols[i].newer)
            return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                              "%s has no %s; NCCL 2.4 or newer is needed", path, symbols[i].name);
        memcpy((char *)lib + symbols[i].offset, &f, sizeof(f));
    }
    return PIPC_OK;
}

/* 2.28.9 is 22809; before 2.9 the last two parts had one digit each less. */
static void write_version(int v, char text[PIPC__NCCL_VERSION_TEXT])
{
    unsigned int u = v > 0 ? (unsigned int)v : 0;

    if (u < 10000)
        snprintf(text, PIPC__NCCL_VERSION_TEXT, "%u.%u.%u", u / 1000, u / 100 % 10, u % 100);
    else
        snprintf(text, PIPC__NCCL_VERSION_TEXT, "%u.%u.%u", u / 10000 % 1000, u / 100 % 100,
                 u % 100);
}

/* The library stays open for good: it keeps threads and exit handlers of its own. */
static pipc_status_t load(library_t *lib, const char *path, char version[PIPC__NCCL_VERSION_TEXT],
                          pipc__error_t *err)
{
    int v = 0;
    pipc_status_t st = open_library(lib, path, err);

    if (st)
        return st;
    if (lib->GetVersion(&v))
        return pipc__fail(err, PIPC_ERR_CUDA, "ncclGetVersion failed; reinstall NCCL");
    write_version(v, version);
    return PIPC_OK;
}

pipc_status_t pipc__nccl_find(const char *path, char version[PIPC__NCCL_VERSION_TEXT],
                              pipc__error_t *err)
{
    library_t lib = {0};

    return load(&lib, path, version, err);
}

const char *pipc__nccl_version(const pipc__nccl_t *n)
{
    return n->version;
}

static pipc_status_t check(const pipc__nccl_t *n, int rc, const char *what, pipc__error_t *err)
{
    if (rc == NCCL_SUCCESS)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_CUDA, "%s of NCCL %s: %s; NCCL_DEBUG=WARN tells more", what,
                      n->version, n->lib.GetErrorString(rc));
}

/* --- waiting for NCCL ------------------------------------------------------------------------ */

static pipc_status_t aborted(const pipc__nccl_t *n, pipc__error_t *err)
{
    char name[128];
    int who = n->rank;
    pipc_status_t st = pipc__control_state(n->ctl, &who);

    return pipc__fail(err, st ? st : PIPC_ERR_ABORTED, "%s %s; NCCL's communicator was aborted",
                      pipc__control_name(n->ctl, who, name, sizeof(name)),
                      st == PIPC_ERR_PEER_LOST ? "has ended" : "aborted the communicator");
}

/* What NCCL says of its communicator now: NCCL_SUCCESS, NCCL_IN_PROGRESS or a failure. */
static pipc_status_t ask(pipc__nccl_t *n, int *state, pipc__error_t *err)
{
    int rc = NCCL_SUCCESS;

    *state = NCCL_SUCCESS;
    pthread_mutex_lock(&n->lock);
    bool gone = !n->comm;
    if (!gone)
        rc = n->lib.CommGetAsyncError(n->comm, state);
    pthread_mutex_unlock(&n->lock);
    if (gone)
        return aborted(n, err);
    return check(n, rc, "ncclCommGetAsyncError", err);
}

/* Until NCCL is done with @what, or @seconds (0: no limit) are over, or the ranks gave up. */
static pipc_status_t settle(pipc__nccl_t *n, const char *what, int seconds, pipc__error_t *err)
{
    const struct timespec pause = {0, 50000};
    struct timespec now, start;
    int state;

    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        pipc_status_t st = ask(n, &state, err);
        if (st || state != NCCL_IN_PROGRESS)
            return st ? st : check(n, state, what, err);
        if (pipc__control_state(n->ctl, NULL))
            return aborted(n, err);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (seconds && now.tv_sec - start.tv_sec > seconds)
            return pipc__fail(err, PIPC_ERR_CUDA,
                              "%s of NCCL %s took more than %d seconds; "
                              "NCCL_DEBUG=INFO tells what it waits for",
                              what, n->version, seconds);
        nanosleep(&pause, NULL);
    }
}

/* --- create ---------------------------------------------------------------------------------- */

/* What a rank says in each of the two steps. */
typedef struct ballot {
    int32_t status, given;
    char version[PIPC__NCCL_VERSION_TEXT];
    nccl_id_t id; /* of rank 0 */
    char reason[240];
} ballot_t;

_Static_assert(sizeof(ballot_t) <= PIPC__GATHER_MAX, "a ballot fits a gather");

/* Everybody's ballots in all[n->size]; this rank's @own status and text go with it. The first rank
 * that failed is named on every rank alike. */
static pipc_status_t vote(pipc__nccl_t *n, ballot_t *mine, pipc_status_t own, ballot_t *all,
                          pipc__error_t *err)
{
    char name[128];

    mine->status = own;
    if (own)
        snprintf(mine->reason, sizeof(mine->reason), "%.*s", (int)sizeof(mine->reason) - 1,
                 err->text);
    pipc_status_t st = pipc__control_gather(n->ctl, mine, sizeof(*mine), all, err);
    for (int r = 0; !st && r < n->size; r++)
        if (all[r].status)
            st = pipc__fail(err, (pipc_status_t)all[r].status, "%s: %.*s",
                            pipc__control_name(n->ctl, r, name, sizeof(name)),
                            (int)sizeof(all[r].reason) - 1, all[r].reason);
    return st;
}

/* Step 1: the library, the same one, and rank 0's id. */
static pipc_status_t prepare(pipc__nccl_t *n, const char *path, nccl_id_t *id, pipc__error_t *err)
{
    ballot_t mine = {.given = n->given}, all[PIPC__RANKS_MAX];
    pipc_status_t st = load(&n->lib, path, n->version, err);

    if (!st && !n->given && n->rank == 0)
        st = check(n, n->lib.GetUniqueId(&mine.id), "ncclGetUniqueId", err);
    memcpy(mine.version, n->version, sizeof(mine.version));
    st = vote(n, &mine, st, all, err);
    for (int r = 1; !st && r < n->size; r++) {
        if (strncmp(all[r].version, all[0].version, sizeof(all[r].version)))
            st = pipc__fail(err, PIPC_ERR_MISMATCH,
                            "ranks 0 and %d have NCCL %.15s and %.15s; give "
                            "every rank the same library",
                            r, all[0].version, all[r].version);
        else if (all[r].given != all[0].given)
            st = pipc__fail(err, PIPC_ERR_MISMATCH,
                            "of ranks 0 and %d one gave an NCCL communicator "
                            "and one did not; set config.nccl_comm on every rank, or on none",
                            r);
    }
    *id = all[0].id;
    return st;
}

static pipc_status_t init(pipc__nccl_t *n, nccl_id_t id, pipc__error_t *err)
{
    nccl_config_t config = {sizeof(config), NCCL_MAGIC, 2 * 10000 + 14 * 100, 0, INT_MIN};
    int rc;

    if (!n->lib.CommInitRankConfig) {
        rc = n->lib.CommInitRank(&n->comm, n->size, id, n->rank);
        return check(n, rc, "ncclCommInitRank", err);
    }
    rc = n->lib.CommInitRankConfig(&n->comm, n->size, id, n->rank, &config);
    if (rc != NCCL_IN_PROGRESS && rc != NCCL_SUCCESS)
        return check(n, rc, "ncclCommInitRankConfig", err);
    return settle(n, "ncclCommInitRankConfig", INIT_SECONDS, err);
}

static void abort_now(pipc__nccl_t *n)
{
    pthread_mutex_lock(&n->lock);
    if (n->comm && !n->given)
        n->lib.CommAbort(n->comm);
    n->comm = NULL;
    pthread_mutex_unlock(&n->lock);
}

/* --- the watcher ----------------------------------------------------------------------------- */

static void *watch(void *arg)
{
    pipc__nccl_t *n = arg;
    struct timespec t;

    pthread_mutex_lock(&n->lock);
    while (!n->stop && !pipc__control_state(n->ctl, NULL)) {
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += WATCH_MSEC * 1000000L;
        t.tv_sec += t.tv_nsec / 1000000000L;
        t.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&n->wake, &n->lock, &t);
    }
    bool stop = n->stop;
    pthread_mutex_unlock(&n->lock);
    if (!stop)
        abort_now(n);
    return NULL;
}

static pipc_status_t start_watcher(pipc__nccl_t *n, pipc__error_t *err)
{
    int rc = n->given ? 0 : pthread_create(&n->watcher, NULL, watch, n);

    if (rc)
        return pipc__fail(err, PIPC_ERR_SYSTEM, "cannot start the thread that watches NCCL: %s",
                          strerror(rc));
    n->watching = !n->given;
    return PIPC_OK;
}

static void stop_watcher(pipc__nccl_t *n)
{
    if (!n->watching)
        return;
    pthread_mutex_lock(&n->lock);
    n->stop = true;
    pthread_cond_signal(&n->wake);
    pthread_mutex_unlock(&n->lock);
    pthread_join(n->watcher, NULL);
    n->watching = false;
}

pipc_status_t pipc__nccl_create(pipc__nccl_t **out, pipc__control_t *ctl, int rank, int size,
                                const char *path, void *given, pipc__error_t *err)
{
    pipc__nccl_t *n = calloc(1, sizeof(*n)), none = {.ctl = ctl, .rank = rank, .size = size};
    ballot_t mine = {0}, all[PIPC__RANKS_MAX];
    nccl_id_t id;

    *out = NULL;
    if (!n) { /* the others must hear of it */
        pipc_status_t st = pipc__fail(err, PIPC_ERR_NOMEM, "no memory for NCCL's communicator");
        return vote(&none, &mine, st, all, err);
    }
    *n = none;
    n->given = given != NULL;
    n->comm = given;
    pthread_mutex_init(&n->lock, NULL);
    pthread_cond_init(&n->wake, NULL);
    pipc_status_t st = prepare(n, path, &id, err);
    if (!st) {
        st = n->given ? PIPC_OK : init(n, id, err);
        if (!st)
            st = start_watcher(n, err);
        st = vote(n, &mine, st, all, err);
    }
    if (st)
        pipc__nccl_close(n, false);
    else
        *out = n;
    return st;
}

/* --- calls ----------------------------------------------------------------------------------- */

/* ncclRedOp_t, by nccl-tests' names, which are ours. */
static int redop_number(pipc_redop_t op)
{
    static const char *const names[] = {"sum", "prod", "max", "min", "avg"};
    const char *name = pipc_redop_string(op);

    for (int i = 0; i < 5; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

/* ncclDataType_t. */
static int dtype_number(pipc_dtype_t dtype)
{
    static const char *const names[] = {"int8",   "uint8", "int32", "uint32", "int64",
                                        "uint64", "half",  "float", "double", "bfloat16"};
    const char *name = pipc_dtype_string(dtype);

    for (int i = 0; i < 10; i++)
        if (!strcmp(names[i], name))
            return i;
    return -1;
}

pipc_status_t pipc__nccl_allreduce(void *nccl, const pipc__exec_call_t *call, pipc__error_t *err)
{
    pipc__nccl_t *n = nccl;
    int dtype = dtype_number(call->dtype), op = redop_number(call->op), rc = NCCL_SUCCESS;

    if (dtype < 0 || op < 0)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "NCCL has no %s of %s",
                          pipc_redop_string(call->op), pipc_dtype_string(call->dtype));
    pthread_mutex_lock(&n->lock);
    bool gone = !n->comm;
    if (!gone)
        rc =
            n->lib.AllReduce(call->send, call->recv, call->count, dtype, op, n->comm, call->stream);
    pthread_mutex_unlock(&n->lock);
    if (gone)
        return aborted(n, err);
    /* The first calls may still make connections, in a thread of NCCL's own. */
    return rc == NCCL_IN_PROGRESS ? settle(n, "ncclAllReduce", 0, err)
                                  : check(n, rc, "ncclAllReduce", err);
}

pipc_status_t pipc__nccl_poll(pipc__nccl_t *n, pipc__error_t *err)
{
    int state;
    pipc_status_t st = ask(n, &state, err);

    return st || state == NCCL_IN_PROGRESS ? st : check(n, state, "NCCL's communicator", err);
}

/* Finalising flushes what NCCL's own threads still do; a non-blocking communicator asks for it. */
static void destroy(pipc__nccl_t *n)
{
    pipc__error_t why;
    int rc = n->lib.CommFinalize ? n->lib.CommFinalize(n->comm) : NCCL_SUCCESS;

    if (rc == NCCL_IN_PROGRESS || rc == NCCL_SUCCESS)
        rc = settle(n, "ncclCommFinalize", 0, &why) ? -1 : NCCL_SUCCESS;
    if (rc != NCCL_SUCCESS) {
        abort_now(n);
        return;
    }
    n->lib.CommDestroy(n->comm);
    n->comm = NULL;
}

void pipc__nccl_close(pipc__nccl_t *n, bool alive)
{
    int saved = errno;

    if (!n)
        return;
    stop_watcher(n);
    if (alive && n->comm && !n->given)
        destroy(n);
    else
        abort_now(n);
    pthread_cond_destroy(&n->wake);
    pthread_mutex_destroy(&n->lock);
    free(n);
    errno = saved;
}
