/* exec/nccl.c - see nccl.h
 *
 * NCCL's kernels know nothing of our abort word, and a program may sit in a synchronisation where
 * no call of ours could help it. So a thread watches the word, and aborts NCCL's communicator when
 * it is set. Over several nodes it also asks NCCL: nothing else here can see that another node is
 * lost, and the ranks beside this one must hear of it.
 */
#include "runtime/exec/nccl.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WATCH_MSEC 20

struct pipc__nccl {
    pipc__nccl_comm_t *comm;
    pipc__control_t *ctl;
    int rank, size; /* of the node: as @ctl has them */
    bool given;     /* comm is the program's */
    bool spans;     /* it has ranks of other nodes, by ticket */
    pipc__nccl_ticket_t ticket;
    char others[PIPC__NCCL_OTHERS]; /* of @spans: nodes that other ranks are on */
    pthread_mutex_t lock;           /* of stop */
    pthread_cond_t wake;
    pthread_t watcher;
    bool watching, stop;
};

pipc_status_t pipc__nccl_find(const char *path, char version[PIPC__NCCL_VERSION_TEXT],
                              pipc__error_t *err)
{
    pipc__nccl_comm_t *c;
    pipc_status_t st = pipc__nccl_comm_open(&c, path, NULL, err);

    if (!st)
        snprintf(version, PIPC__NCCL_VERSION_TEXT, "%s", pipc__nccl_comm_version(c));
    pipc__nccl_comm_close(c);
    return st;
}

const char *pipc__nccl_version(const pipc__nccl_t *n)
{
    return pipc__nccl_comm_version(n->comm);
}

static bool is_dead(void *ctl)
{
    return pipc__control_state(ctl, NULL);
}

/* NCCL's own @st, with whom it may have lost. */
static pipc_status_t name_others(const pipc__nccl_t *n, pipc_status_t st, pipc__error_t *err)
{
    pipc__error_t why = *err;

    if (st != PIPC_ERR_PEER_LOST || !n->spans)
        return st;
    return pipc__fail(err, st, "a rank on %s: %s", n->others, why.text);
}

/* @st as NCCL gave it; where the ranks have given up, what became of them. */
static pipc_status_t explain(const pipc__nccl_t *n, pipc_status_t st, pipc__error_t *err)
{
    char cause[PIPC__CAUSE_MAX];
    pipc_status_t dead = st ? pipc__control_state(n->ctl, NULL) : PIPC_OK;

    if (!dead)
        return name_others(n, st, err);
    return pipc__fail(err, dead, "%s; NCCL's communicator was aborted",
                      pipc__control_cause(n->ctl, cause, sizeof(cause)));
}

/* --- create ---------------------------------------------------------------------------------- */

/* What a rank says in each of the two steps. */
typedef struct ballot {
    int32_t status, given;
    char version[PIPC__NCCL_VERSION_TEXT];
    pipc__nccl_id_t id; /* of rank 0 */
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
static pipc_status_t prepare(pipc__nccl_t *n, const char *path, void *given, pipc__nccl_id_t *id,
                             pipc__error_t *err)
{
    ballot_t mine = {.given = n->given}, all[PIPC__RANKS_MAX];
    pipc_status_t st = pipc__nccl_comm_open(&n->comm, path, given, err);

    if (!st && !n->given && n->rank == 0)
        st = pipc__nccl_comm_id(n->comm, &mine.id, err);
    if (n->comm)
        snprintf(mine.version, sizeof(mine.version), "%s", pipc__nccl_version(n));
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

/* --- the watcher ----------------------------------------------------------------------------- */

/* What NCCL says of the other nodes, for the ranks of this one. */
static void look_abroad(pipc__nccl_t *n)
{
    pipc__error_t err;

    if (!n->spans || !name_others(n, pipc__nccl_comm_poll(n->comm, &err), &err) || is_dead(n->ctl))
        return;
    pipc__control_abort_why(
        n->ctl, err.status == PIPC_ERR_PEER_LOST ? err.status : PIPC_ERR_ABORTED, err.text);
}

/* The abort word of every rank comes first: a kernel of NCCL's that is ended leaves nonsense, and
 * who looks for errors before using a result must find one there. */
static void end_comm(pipc__nccl_t *n)
{
    int who = n->rank;
    pipc_status_t st = pipc__control_state(n->ctl, &who);

    pipc__control_abort(n->ctl, st, who);
    pipc__nccl_comm_abort(n->comm);
}

static void *watch(void *arg)
{
    pipc__nccl_t *n = arg;
    struct timespec t;

    pthread_mutex_lock(&n->lock);
    while (!n->stop && !is_dead(n->ctl)) {
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += WATCH_MSEC * 1000000L;
        t.tv_sec += t.tv_nsec / 1000000000L;
        t.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&n->wake, &n->lock, &t);
        look_abroad(n);
    }
    bool stop = n->stop;
    pthread_mutex_unlock(&n->lock);
    if (!stop)
        end_comm(n);
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

/* --- life ------------------------------------------------------------------------------------ */

static pipc__nccl_t *new_nccl(pipc__control_t *ctl, int rank, int size, void *given)
{
    pipc__nccl_t *n = calloc(1, sizeof(*n));

    if (!n)
        return NULL;
    n->ctl = ctl;
    n->rank = rank;
    n->size = size;
    n->given = given != NULL;
    pthread_mutex_init(&n->lock, NULL);
    pthread_cond_init(&n->wake, NULL);
    return n;
}

static pipc_status_t init(pipc__nccl_t *n, const pipc__nccl_id_t *id, int rank, int size,
                          pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    if (!n->given)
        st = pipc__nccl_comm_init(n->comm, id, rank, size, is_dead, n->ctl, err);
    st = explain(n, st, err);
    return st ? st : start_watcher(n, err);
}

pipc_status_t pipc__nccl_create(pipc__nccl_t **out, pipc__control_t *ctl, int rank, int size,
                                const char *path, void *given, pipc__error_t *err)
{
    pipc__nccl_t *n = new_nccl(ctl, rank, size, given);
    pipc__nccl_t none = {.ctl = ctl, .rank = rank, .size = size};
    ballot_t mine = {0}, all[PIPC__RANKS_MAX];
    pipc__nccl_id_t id;

    *out = NULL;
    if (!n) { /* the others must hear of it */
        pipc_status_t st = pipc__fail(err, PIPC_ERR_NOMEM, "no memory for NCCL's communicator");
        return vote(&none, &mine, st, all, err);
    }
    pipc_status_t st = prepare(n, path, given, &id, err);
    if (!st) {
        st = init(n, &id, rank, size, err);
        st = vote(n, &mine, st, all, err);
    }
    if (st)
        pipc__nccl_close(n, false);
    else
        *out = n;
    return st;
}

static pipc_status_t judge_ticket(const pipc__nccl_t *n, pipc__error_t *err)
{
    const pipc__nccl_ticket_t *t = &n->ticket;

    if (strncmp(pipc__nccl_version(n), t->version, sizeof(t->version)))
        return pipc__fail(err, PIPC_ERR_MISMATCH,
                          "rank 0 has NCCL %.15s and rank %d has %s; give every rank the same "
                          "library",
                          t->version, t->rank, pipc__nccl_version(n));
    if (n->given != (t->given != 0))
        return pipc__fail(err, PIPC_ERR_MISMATCH,
                          "of ranks 0 and %d one gave an NCCL communicator and one did not; set "
                          "config.nccl_comm on every rank, or on none",
                          t->rank);
    return PIPC_OK;
}

pipc_status_t pipc__nccl_open(pipc__nccl_t **out, pipc__control_t *ctl, const char *path,
                              void *given, const pipc__nccl_ticket_t *ticket, const char *others,
                              pipc__error_t *err)
{
    pipc__nccl_t *n = new_nccl(ctl, ticket->local_rank, 0, given);

    *out = NULL;
    if (!n)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for NCCL's communicator");
    n->spans = true;
    n->ticket = *ticket;
    snprintf(n->others, sizeof(n->others), "%s", others);
    pipc_status_t st = pipc__nccl_comm_open(&n->comm, path, given, err);
    if (!st)
        st = judge_ticket(n, err);
    if (st)
        pipc__nccl_close(n, false);
    else
        *out = n;
    return st;
}

pipc_status_t pipc__nccl_join(pipc__nccl_t *n, pipc__error_t *err)
{
    return init(n, &n->ticket.id, n->ticket.rank, n->ticket.size, err);
}

pipc_status_t pipc__nccl_ticket(pipc__nccl_ticket_t *ticket, const char *path, void *given,
                                pipc__error_t *err)
{
    pipc__nccl_comm_t *c;
    pipc_status_t st = pipc__nccl_comm_open(&c, path, given, err);

    if (st)
        return st;
    if (!given)
        st = pipc__nccl_comm_id(c, &ticket->id, err);
    ticket->given = given != NULL;
    snprintf(ticket->version, sizeof(ticket->version), "%s", pipc__nccl_comm_version(c));
    pipc__nccl_comm_close(c);
    return st;
}

void pipc__nccl_close(pipc__nccl_t *n, bool alive)
{
    int saved = errno;

    if (!n)
        return;
    stop_watcher(n);
    if (alive)
        pipc__nccl_comm_finish(n->comm, is_dead, n->ctl);
    pipc__nccl_comm_close(n->comm);
    pthread_cond_destroy(&n->wake);
    pthread_mutex_destroy(&n->lock);
    free(n);
    errno = saved;
}

/* --- calls ----------------------------------------------------------------------------------- */

pipc_status_t pipc__nccl_allreduce(void *nccl, const pipc__exec_call_t *call, pipc__error_t *err)
{
    pipc__nccl_t *n = nccl;
    const pipc__nccl_sum_t sum = {call->send, call->recv, call->count, call->dtype, call->op};

    return explain(n, pipc__nccl_comm_sum(n->comm, &sum, 1, call->stream, is_dead, n->ctl, err),
                   err);
}

/* Over nodes the others of this one hear of a loss first, with its name: the caller may tell them
 * no more than that this rank gives up. */
pipc_status_t pipc__nccl_poll(pipc__nccl_t *n, pipc__error_t *err)
{
    look_abroad(n);
    return explain(n, pipc__nccl_comm_poll(n->comm, err), err);
}
