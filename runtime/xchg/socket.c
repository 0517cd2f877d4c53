/* xchg/socket.c - the exchange over a socket in the step's directory: for the ranks of one node, where
 * there is no PMIx.
 *
 *     local rank 0   listen -> gather -> remove the name -> answer
 *     the others     connect (wait until there is somebody) -> hello, record -> answer
 *
 * Late is not dead: nobody waits with a limit. Who came and whose connection closes has died, and
 * everybody is told its name.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/xchg/gather.h"
#include "runtime/xchg/meeting.h"
#include "runtime/xchg/place.h"
#include "runtime/xchg/wire.h"
#include "runtime/xchg/xchg.h"

struct pipc__xchg {
    pipc__group_t group;
    pipc__meeting_t meeting;
    pipc__hello_t hello;
    char dir[]; /* for messages */
};

/* --- which exchange -------------------------------------------------------------------------- */

/* The n-th exchange of a tag on one rank meets the n-th of that tag on the others. */
static unsigned int next_number(unsigned int tag)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct count {
        struct count *next;
        unsigned int tag, number;
    } *first;
    unsigned int number = 0;

    pthread_mutex_lock(&lock);
    struct count *c = first;
    while (c && c->tag != tag)
        c = c->next;
    if (!c && (c = calloc(1, sizeof(*c)))) {
        *c = (struct count){first, tag, 0};
        first = c; /* kept as long as the process: numbers must never start anew */
    }
    if (c)
        number = c->number++;
    pthread_mutex_unlock(&lock);
    return number;
}

static pipc_status_t find_place(pipc__place_t *place, const pipc__xchg_want_t *want,
                                pipc__group_t *g, pipc__error_t *err)
{
    pipc__place_here(place);
    pipc_status_t st = pipc__place_told(place, err);
    if (st)
        return st;
    if (!place->dir && pipc__place_single(place))
        place->local_rank = 0, place->local_size = 1;
    else if (!place->dir)
        return pipc__fail(err, PIPC_ERR_EXCHANGE, "PCIE_IPC_DIR is not set, so the ranks can't meet "
                          "over a socket; start them with srun --pcie-ipc, whose plugin sets it, or "
                          "use srun --mpi=pmix");
    return pipc__place_group(place, want ? want->scope : PIPC__SCOPE_JOB, g, err);
}

static pipc_status_t socket_open(pipc__xchg_t **out, const pipc__xchg_want_t *want, pipc__group_t *g,
                                 pipc__error_t *err)
{
    unsigned int tag = want ? want->tag : 0, number = next_number(tag);
    pipc__place_t place;
    pipc_status_t st = find_place(&place, want, g, err);

    *out = NULL;
    if (st)
        return st;
    const char *dir = place.dir ? place.dir : "";
    pipc__xchg_t *x = calloc(1, sizeof(*x) + strlen(dir) + 1);
    if (!x)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the exchange");
    memcpy(x->dir, dir, strlen(dir) + 1);
    x->group = *g;
    x->meeting.dir = -1;
    if (g->size > 1)
        st = pipc__meeting_open(&x->meeting, x->dir, place.node, tag, number, err);
    if (st) {
        free(x);
        return st;
    }
    x->hello = (pipc__hello_t){PIPC__WIRE_MAGIC, sizeof(x->hello), PIPC__WIRE_VERSION, tag, number,
                               g->self, g->size, g->job_rank, getpid(), 0};
    *out = x;
    return PIPC_OK;
}

/* --- exchange -------------------------------------------------------------------------------- */

static pipc_status_t serve(pipc__xchg_t *x, const void *mine, char *all, bool *came, int *conns,
                           pipc__error_t *err)
{
    pipc__error_t good = {PIPC_OK, ""};
    size_t bytes = x->hello.record_bytes;
    int listener, n = x->group.size;
    pipc_status_t st = pipc__meeting_listen(&x->meeting, &listener, err);

    if (st)
        return st;
    memcpy(all, mine, bytes);
    st = pipc__gather(listener, &x->hello, all, came, conns, err);
    if (st) {
        pipc__meeting_failed(&x->meeting, came, n, err);
        pipc__gather_refuse(listener, err);
    } else {
        pipc__meeting_over(&x->meeting);
    }
    pipc__gather_answer(conns, n, st ? err : &good, all, (size_t)n * bytes);
    for (int r = 0; r < n; r++)
        if (conns[r] >= 0)
            close(conns[r]);
    close(listener);
    return st;
}

static pipc_status_t lead(pipc__xchg_t *x, const void *mine, void *all, pipc__error_t *err)
{
    size_t n = (size_t)x->group.size;
    bool *came = calloc(n, sizeof(*came));
    int *conns = calloc(n, sizeof(*conns));
    pipc_status_t st = came && conns
                           ? serve(x, mine, all, came, conns, err)
                           : pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %zu connections", n);

    free(came);
    free(conns);
    return st;
}

static pipc_status_t fail_without_answer(int pid, pipc__error_t *err)
{
    char host[64] = "?";

    gethostname(host, sizeof(host) - 1);
    return pipc__fail(err, PIPC_ERR_PEER_LOST, "local rank 0 (process %d on %s) ended while the ranks "
                      "were meeting", pid, host);
}

static pipc_status_t follow(pipc__xchg_t *x, const void *mine, void *all, pipc__error_t *err)
{
    size_t bytes = x->hello.record_bytes;
    pipc__answer_t a;
    int fd, pid;
    pipc_status_t st = pipc__meeting_join(&x->meeting, x->group.self, &fd, &pid, err);

    if (st)
        return st;
    /* That sending fails says nothing yet: the answer, why, may be there to read. */
    if (pipc__send_all(fd, &x->hello, sizeof(x->hello)))
        pipc__send_all(fd, mine, bytes);
    if (!pipc__recv_all(fd, &a, sizeof(a)))
        st = fail_without_answer(pid, err);
    else
        st = pipc__answer_judge(&a, err);
    if (!st && !pipc__recv_all(fd, all, (size_t)x->group.size * bytes))
        st = fail_without_answer(pid, err);
    close(fd);
    return st;
}

static pipc_status_t socket_exchange(pipc__xchg_t *x, const void *mine, size_t bytes, void *all,
                                     pipc__error_t *err)
{
    x->hello.record_bytes = (uint32_t)bytes;
    if (x->group.size == 1) {
        memcpy(all, mine, bytes);
        return PIPC_OK;
    }
    return x->group.self == 0 ? lead(x, mine, all, err) : follow(x, mine, all, err);
}

/* Each meeting has a name of its own: ranks that are through with the last one may be here while
 * others still leave it. */
static pipc_status_t meet_again(pipc__xchg_t *x, pipc__error_t *err)
{
    pipc__place_t place;

    pipc__place_here(&place);
    pipc__meeting_over(&x->meeting);
    pipc__meeting_close(&x->meeting);
    x->hello.number = next_number(x->hello.tag);
    return pipc__meeting_open(&x->meeting, x->dir, place.node, x->hello.tag, x->hello.number, err);
}

/* For ranks of one node that are to be taken as several: rare, so everybody gets everybody's. */
static pipc_status_t socket_pick(pipc__xchg_t *x, const void *mine, size_t bytes, size_t room,
                                 const int *whom, int n, bool near, void *out, pipc__error_t *err)
{
    size_t size = (size_t)x->group.size;
    char *all = calloc(size + 1, room), *own = all ? all + size * room : NULL; /* to give */
    pipc_status_t st = PIPC_OK;

    (void)near;
    if (!all)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %zu ranks", size);
    memcpy(own, mine, bytes);
    if (size > 1)
        st = meet_again(x, err);
    if (!st)
        st = socket_exchange(x, own, room, all, err);
    for (int i = 0; !st && i < n; i++)
        memcpy((char *)out + (size_t)i * room, all + (size_t)whom[i] * room, room);
    free(all);
    return st;
}

static void socket_close(pipc__xchg_t *x)
{
    if (!x)
        return;
    pipc__meeting_over(&x->meeting);
    pipc__meeting_close(&x->meeting);
    free(x);
}

const pipc__xchg_ops_t pipc__xchg_socket = {
    .name = "socket",
    .open = socket_open,
    .exchange = socket_exchange,
    .pick = socket_pick,
    .close = socket_close,
};
