/* xchg/gather.c - see gather.h */
#include "runtime/xchg/gather.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/xchg/meeting.h"

#define STRANGERS 64 /* connections that have not said who they are, at one time */

/* A connection grows from a stranger into a rank: prefix, hello, record. */
typedef struct guest {
    int fd;      /* -1: free */
    size_t got;  /* bytes of hello and record so far */
    bool known;  /* hello is whole and right */
    pipc__hello_t hello;
} guest_t;

typedef struct gathering {
    int listener;
    const pipc__hello_t *own;
    char *all;
    bool *came;
    int left; /* ranks whose record is not whole */
    int nguests;
    guest_t *guest;
    struct pollfd *poll; /* [nguests + 1]; the listener is the last */
} gathering_t;

/* --- bytes ----------------------------------------------------------------------------------- */

bool pipc__send_all(int fd, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = send(fd, (const char *)data + done, bytes - done, MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool pipc__recv_all(int fd, void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = recv(fd, (char *)data + done, bytes - done, 0);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* --- guests ---------------------------------------------------------------------------------- */

static void drop(guest_t *g, const char *why)
{
    pipc__log(PIPC__LOG_WARN, "socket exchange: dropped a connection: %s", why);
    close(g->fd);
    *g = (guest_t){.fd = -1};
}

static guest_t *free_place(gathering_t *w)
{
    for (int i = 0; i < w->nguests; i++)
        if (w->guest[i].fd < 0)
            return &w->guest[i];
    for (int i = 0; i < w->nguests; i++)
        if (!w->guest[i].known) {
            drop(&w->guest[i], "too many that do not say who they are");
            return &w->guest[i];
        }
    return NULL; /* not reached: there are more places than ranks */
}

static pipc_status_t take_guest(gathering_t *w, pipc__error_t *err)
{
    int fd = accept4(w->listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd < 0) /* it may have closed again; no descriptor left is no state to wait in */
        return errno == EMFILE || errno == ENFILE ? pipc__fail_errno(err, "socket exchange: accept")
                                                  : PIPC_OK;
    guest_t *g = free_place(w);
    if (!g) {
        close(fd);
        return PIPC_OK;
    }
    *g = (guest_t){.fd = fd};
    if (!pipc__meeting_same_user(fd, NULL))
        drop(g, "it is another user's");
    return PIPC_OK;
}

static pipc_status_t fail_ended(const guest_t *g, pipc__error_t *err)
{
    char host[64] = "?";

    gethostname(host, sizeof(host) - 1);
    return pipc__fail(err, PIPC_ERR_PEER_LOST, "rank %d (process %d on %s) ended while the ranks were "
                      "meeting", g->hello.job_rank, g->hello.pid, host);
}

static pipc_status_t know(gathering_t *w, guest_t *g, pipc__error_t *err)
{
    pipc_status_t st = pipc__hello_judge(&g->hello, w->own, err);

    if (st)
        return st;
    for (int i = 0; i < w->nguests; i++)
        if (w->guest[i].known && w->guest[i].hello.local_rank == g->hello.local_rank)
            return pipc__fail(err, PIPC_ERR_MISMATCH, "processes %d and %d both say that they are "
                              "local rank %d; start the ranks with srun itself",
                              w->guest[i].hello.pid, g->hello.pid, g->hello.local_rank);
    g->known = true;
    w->came[g->hello.local_rank] = true;
    return PIPC_OK;
}

/* Where the next bytes go, and how many are missing there: never beyond the hello before it is
 * judged, never beyond the record. */
static size_t next_place(gathering_t *w, guest_t *g, char **to)
{
    size_t hello = g->got < PIPC__WIRE_PREFIX ? PIPC__WIRE_PREFIX : sizeof(g->hello);
    size_t record = w->own->record_bytes;

    if (!g->known) {
        *to = (char *)&g->hello + g->got;
        return hello - g->got;
    }
    *to = w->all + (size_t)g->hello.local_rank * record + (g->got - sizeof(g->hello));
    return sizeof(g->hello) + record - g->got;
}

static pipc_status_t grow(gathering_t *w, guest_t *g, pipc__error_t *err)
{
    pipc__error_t why;

    if (g->got == PIPC__WIRE_PREFIX) {
        pipc_status_t st = pipc__hello_begins(&g->hello, &why);
        if (st == PIPC_ERR_MISMATCH)
            return pipc__fail(err, st, "%s", why.text);
        if (st)
            drop(g, why.text);
    } else if (g->got == sizeof(g->hello) && !g->known) {
        return know(w, g, err);
    } else if (g->got == sizeof(g->hello) + w->own->record_bytes) {
        w->left--;
    }
    return PIPC_OK;
}

/* Take what is there, without waiting for more. */
static pipc_status_t hear(gathering_t *w, guest_t *g, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    while (!st && g->fd >= 0) {
        char beyond, *to;
        size_t want = next_place(w, g, &to);
        ssize_t n = recv(g->fd, want ? to : &beyond, want ? want : 1, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return PIPC_OK;
        if (n <= 0 && g->known)
            return fail_ended(g, err);
        if (n <= 0) {
            drop(g, "it closed before it said who it is");
            return PIPC_OK;
        }
        if (!want)
            return pipc__fail(err, PIPC_ERR_MISMATCH, "rank %d (process %d) sent more than its record",
                              g->hello.job_rank, g->hello.pid);
        g->got += (size_t)n;
        st = (size_t)n == want ? grow(w, g, err) : PIPC_OK;
    }
    return st;
}

/* --- all of them ----------------------------------------------------------------------------- */

static pipc_status_t turn(gathering_t *w, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    for (int i = 0; i < w->nguests; i++)
        w->poll[i] = (struct pollfd){w->guest[i].fd, POLLIN, 0};
    w->poll[w->nguests] = (struct pollfd){w->listener, POLLIN, 0};
    if (poll(w->poll, (nfds_t)w->nguests + 1, -1) < 0)
        return errno == EINTR ? PIPC_OK : pipc__fail_errno(err, "socket exchange: poll");
    for (int i = 0; !st && i < w->nguests; i++)
        if (w->poll[i].revents)
            st = hear(w, &w->guest[i], err);
    if (!st && w->poll[w->nguests].revents)
        st = take_guest(w, err);
    return st;
}

/* Strangers are closed, ranks handed to the caller. When the meeting failed, strangers get the
 * answer too: they may be ranks that had not said so yet. */
static void part(gathering_t *w, int *conns, const pipc__error_t *why)
{
    for (int i = 0; i < w->nguests; i++) {
        guest_t *g = &w->guest[i];
        if (g->fd < 0)
            continue;
        if (g->known) {
            conns[g->hello.local_rank] = g->fd;
            continue;
        }
        if (why)
            pipc__gather_answer(&g->fd, 1, why, NULL, 0);
        close(g->fd);
    }
}

pipc_status_t pipc__gather(int listener, const pipc__hello_t *own, void *all, bool *came, int *conns,
                           pipc__error_t *err)
{
    gathering_t w = {.listener = listener, .own = own, .all = all, .came = came};
    pipc_status_t st = PIPC_OK;

    for (int r = 0; r < own->local_size; r++) {
        came[r] = r == 0;
        conns[r] = -1;
    }
    w.left = own->local_size - 1;
    w.nguests = own->local_size + STRANGERS;
    w.guest = calloc((size_t)w.nguests, sizeof(*w.guest));
    w.poll = calloc((size_t)w.nguests + 1, sizeof(*w.poll));
    if (!w.guest || !w.poll) {
        free(w.guest);
        free(w.poll);
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d connections", w.nguests);
    }
    for (int i = 0; i < w.nguests; i++)
        w.guest[i].fd = -1;
    while (!st && w.left)
        st = turn(&w, err);
    part(&w, conns, st ? err : NULL);
    free(w.guest);
    free(w.poll);
    return st;
}

void pipc__gather_answer(const int *conns, int n, const pipc__error_t *why, const void *all,
                         size_t bytes)
{
    pipc__answer_t a = {PIPC__WIRE_MAGIC, sizeof(a), PIPC__WIRE_VERSION, (uint32_t)why->status, ""};

    if (why->status)
        snprintf(a.reason, sizeof(a.reason), "%.*s", (int)sizeof(a.reason) - 1, why->text);
    /* A rank that can't be reached any more has ended; the others find out when they map its
     * memory. */
    for (int i = 0; i < n; i++)
        if (conns[i] >= 0 && pipc__send_all(conns[i], &a, sizeof(a)) && !why->status)
            pipc__send_all(conns[i], all, bytes);
}

void pipc__gather_refuse(int listener, const pipc__error_t *why)
{
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        if (pipc__meeting_same_user(fd, NULL))
            pipc__gather_answer(&fd, 1, why, NULL, 0);
        close(fd);
    }
}
