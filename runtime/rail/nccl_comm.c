/* rail/nccl_comm.c - see nccl_comm.h
 *
 * A lock stands around every use of NCCL's communicator, since ncclCommAbort() frees it. The
 * communicator is non-blocking, so that no use keeps the lock while NCCL waits for a peer.
 */
#include "runtime/rail/nccl_comm.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/rail/nccl_library.h"

#define INIT_SECONDS 60
#define SPIN_USEC 1000 /* of a wait for NCCL, before it pauses between looks */

struct pipc__nccl_comm {
    pipc__nccl_library_t lib;
    char version[PIPC__NCCL_VERSION_TEXT];
    bool given;            /* comm is the program's */
    void *comm;            /* NULL: not made yet, or aborted */
    bool aborted;          /* for good */
    _Atomic bool finished; /* its end is no error any more */
    pthread_mutex_t lock;  /* of comm */
};

pipc_status_t pipc__nccl_comm_open(pipc__nccl_comm_t **out, const char *path, void *given,
                                   pipc__error_t *err)
{
    pipc__nccl_comm_t *c = calloc(1, sizeof(*c));

    *out = NULL;
    if (!c)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for NCCL's communicator");
    pipc_status_t st = pipc__nccl_library_open(&c->lib, path, c->version, err);
    if (st) {
        free(c);
        return st;
    }
    pthread_mutex_init(&c->lock, NULL);
    c->given = given != NULL;
    c->comm = given;
    *out = c;
    return PIPC_OK;
}

const char *pipc__nccl_comm_version(const pipc__nccl_comm_t *c)
{
    return c->version;
}

static pipc_status_t check(const pipc__nccl_comm_t *c, int rc, const char *what, pipc__error_t *err)
{
    if (rc == PIPC__NCCL_SUCCESS)
        return PIPC_OK;
    return pipc__fail(err, rc == PIPC__NCCL_REMOTE_ERROR ? PIPC_ERR_PEER_LOST : PIPC_ERR_CUDA,
                      "%s of NCCL %s: %s; NCCL_DEBUG=WARN tells more", what, c->version,
                      c->lib.GetErrorString(rc));
}

/* Is it no more than still in progress? */
static bool goes_on(int rc)
{
    return rc == PIPC__NCCL_SUCCESS || rc == PIPC__NCCL_IN_PROGRESS;
}

pipc_status_t pipc__nccl_comm_id(const pipc__nccl_comm_t *c, pipc__nccl_id_t *id,
                                 pipc__error_t *err)
{
    return check(c, c->lib.GetUniqueId(id), "ncclGetUniqueId", err);
}

/* --- waiting for NCCL ------------------------------------------------------------------------ */

static pipc_status_t aborted(pipc__error_t *err)
{
    return pipc__fail(err, PIPC_ERR_ABORTED, "NCCL's communicator was aborted");
}

/* What NCCL says of its communicator now: success, in progress or a failure. */
static pipc_status_t ask(pipc__nccl_comm_t *c, int *state, pipc__error_t *err)
{
    int rc = PIPC__NCCL_SUCCESS;

    *state = PIPC__NCCL_SUCCESS;
    pthread_mutex_lock(&c->lock);
    bool gone = !c->comm;
    if (!gone)
        rc = c->lib.CommGetAsyncError(c->comm, state);
    pthread_mutex_unlock(&c->lock);
    return gone ? aborted(err) : check(c, rc, "ncclCommGetAsyncError", err);
}

static int64_t usec_since(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - start->tv_sec) * (int64_t)1000000 + (now.tv_nsec - start->tv_nsec) / 1000;
}

/* A call that is in progress is so because NCCL enqueues it in a thread of its own, some ten
 * microseconds; a pause takes a hundred, and every eager call took that. */
static void pause_for(int64_t spent_usec)
{
    const struct timespec pause = {0, 50000};

    if (spent_usec < SPIN_USEC)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

/* Until NCCL is done with @what, or @seconds (0: no limit) are over, or it is given up. */
static pipc_status_t settle(pipc__nccl_comm_t *c, const char *what, int seconds,
                            pipc__nccl_gone_t *gone, void *arg, pipc__error_t *err)
{
    struct timespec start;
    int state;

    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        pipc_status_t st = ask(c, &state, err);
        if (st || state != PIPC__NCCL_IN_PROGRESS)
            return st ? st : check(c, state, what, err);
        if (gone(arg))
            return aborted(err);
        int64_t spent = usec_since(&start);
        if (seconds && spent > seconds * (int64_t)1000000)
            return pipc__fail(err, PIPC_ERR_CUDA,
                              "%s of NCCL %s took more than %d seconds; "
                              "NCCL_DEBUG=INFO tells what it waits for",
                              what, c->version, seconds);
        pause_for(spent);
    }
}

/* --- life ------------------------------------------------------------------------------------ */

/* Under the lock: an abort meanwhile must find the communicator, or none. */
static int begin_init(pipc__nccl_comm_t *c, const pipc__nccl_id_t *id, int rank, int size)
{
    pipc__nccl_config_t config = {sizeof(config), PIPC__NCCL_MAGIC, 2 * 10000 + 14 * 100, 0,
                                  INT_MIN};

    if (c->lib.CommInitRankConfig)
        return c->lib.CommInitRankConfig(&c->comm, size, *id, rank, &config);
    return c->lib.CommInitRank(&c->comm, size, *id, rank);
}

pipc_status_t pipc__nccl_comm_init(pipc__nccl_comm_t *c, const pipc__nccl_id_t *id, int rank,
                                   int size, pipc__nccl_gone_t *gone, void *arg, pipc__error_t *err)
{
    const char *what = c->lib.CommInitRankConfig ? "ncclCommInitRankConfig" : "ncclCommInitRank";
    int rc = PIPC__NCCL_SUCCESS;

    pthread_mutex_lock(&c->lock);
    bool over = c->aborted;
    if (!over)
        rc = begin_init(c, id, rank, size);
    pthread_mutex_unlock(&c->lock);
    if (over)
        return aborted(err);
    if (!goes_on(rc))
        return check(c, rc, what, err);
    return settle(c, what, INIT_SECONDS, gone, arg, err);
}

void pipc__nccl_comm_abort(pipc__nccl_comm_t *c)
{
    pthread_mutex_lock(&c->lock);
    if (c->comm && !c->given)
        c->lib.CommAbort(c->comm);
    c->comm = NULL;
    c->aborted = true;
    pthread_mutex_unlock(&c->lock);
}

/* Finalising flushes what NCCL's own threads still do; a non-blocking communicator asks for it. */
void pipc__nccl_comm_finish(pipc__nccl_comm_t *c, pipc__nccl_gone_t *gone, void *arg)
{
    pipc__error_t why;
    int rc = PIPC__NCCL_SUCCESS;

    pthread_mutex_lock(&c->lock);
    bool mine = c->comm && !c->given;
    c->finished = true;
    if (mine && c->lib.CommFinalize)
        rc = c->lib.CommFinalize(c->comm);
    pthread_mutex_unlock(&c->lock);
    if (!mine || !goes_on(rc) || settle(c, "ncclCommFinalize", 0, gone, arg, &why))
        return;
    pthread_mutex_lock(&c->lock);
    if (c->comm)
        c->lib.CommDestroy(c->comm);
    c->comm = NULL;
    pthread_mutex_unlock(&c->lock);
}

void pipc__nccl_comm_close(pipc__nccl_comm_t *c)
{
    int saved = errno;

    if (!c)
        return;
    pipc__nccl_comm_abort(c);
    pthread_mutex_destroy(&c->lock);
    free(c);
    errno = saved;
}

/* --- calls ----------------------------------------------------------------------------------- */

static pipc_status_t judge(const pipc__nccl_sum_t *s, pipc__error_t *err)
{
    if (pipc__nccl_dtype(s->dtype) >= 0 && pipc__nccl_redop(s->op) >= 0)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "NCCL has no %s of %s", pipc_redop_string(s->op),
                      pipc_dtype_string(s->dtype));
}

static int enqueue(const pipc__nccl_comm_t *c, const pipc__nccl_sum_t *sum, int n, void *stream)
{
    bool group = n > 1 && c->lib.GroupStart && c->lib.GroupEnd;
    int rc = group ? c->lib.GroupStart() : PIPC__NCCL_SUCCESS, end = rc;

    for (int i = 0; goes_on(rc) && i < n; i++)
        rc =
            c->lib.AllReduce(sum[i].send, sum[i].recv, sum[i].count, pipc__nccl_dtype(sum[i].dtype),
                             pipc__nccl_redop(sum[i].op), c->comm, stream);
    if (group && goes_on(end))
        end = c->lib.GroupEnd(); /* also after a failure: groups are the thread's */
    return goes_on(rc) && group ? end : rc;
}

pipc_status_t pipc__nccl_comm_sum(pipc__nccl_comm_t *c, const pipc__nccl_sum_t *sum, int n,
                                  void *stream, pipc__nccl_gone_t *gone, void *arg,
                                  pipc__error_t *err)
{
    int rc = PIPC__NCCL_SUCCESS;

    for (int i = 0; i < n; i++)
        if (judge(&sum[i], err))
            return PIPC_ERR_UNSUPPORTED;
    pthread_mutex_lock(&c->lock);
    bool over = !c->comm;
    if (!over)
        rc = enqueue(c, sum, n, stream);
    pthread_mutex_unlock(&c->lock);
    if (over)
        return aborted(err);
    /* The first calls may still make connections, in a thread of NCCL's own. What it enqueues then
     * is not there yet: whoever enqueues behind it must wait for that. */
    return rc == PIPC__NCCL_IN_PROGRESS ? settle(c, "ncclAllReduce", 0, gone, arg, err)
                                        : check(c, rc, "ncclAllReduce", err);
}

pipc_status_t pipc__nccl_comm_poll(pipc__nccl_comm_t *c, pipc__error_t *err)
{
    int state;

    if (c->finished)
        return PIPC_OK;
    pipc_status_t st = ask(c, &state, err);
    return st || state == PIPC__NCCL_IN_PROGRESS ? st : check(c, state, "NCCL's communicator", err);
}
