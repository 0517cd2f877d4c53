/* rail/ucx_net.c - turns of UCX's work, rest, and what becomes of an endpoint that broke. */
#include "runtime/rail/ucx_parts.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define REASON_MSEC 100 /* how long a better reason than a closed connection is waited for */
#define AT_ONCE 4
#define WATCH_TURNS 256 /* calls of progress per look at the watch: it is no hurry */

int64_t pipc__ucx_now_msec(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void pipc__ucx_net_heard(pipc__ucx_peer_t *peer)
{
    peer->heard = pipc__ucx_now_msec();
}

/* --- failures -------------------------------------------------------------------------------- */

void pipc__ucx_net_tell(pipc__ucx_net_t *net, pipc_status_t status, const char *text)
{
    int32_t number = (int32_t)status;

    if (net->failed.status)
        return;
    pipc__fail(&net->failed, status, "%s", text);
    memcpy(net->last_words, &number, sizeof(number));
    snprintf(net->last_words + sizeof(number), sizeof(net->last_words) - sizeof(number), "%s",
             text);
    if (net->peers)
        pipc__ucx_say_to_all(net, PIPC__UCX_FAILED, net->last_words,
                             sizeof(number) + strlen(net->last_words + sizeof(number)));
}

/* net->failed becomes: @peer, which is broken, is lost; the others are told. */
static void lost(pipc__ucx_peer_t *peer)
{
    pipc__ucx_net_t *net = peer->net;
    char text[PIPC__ERROR_MAX];

    snprintf(text, sizeof(text), "%s %s (UCX: %s)", peer->name,
             peer->left     ? "has closed its rail, and a job waits for it"
             : peer->silent ? "is lost: its node does not answer"
                            : "is lost: its process has ended, or the connection to it",
             net->lib.status_string(peer->broken));
    pipc__ucx_net_tell(net, PIPC_ERR_PEER_LOST, text);
}

/* By the clock alone a process that did not run meanwhile would give no time at all: the reason is
 * in the kernel's buffers then. */
void pipc__ucx_net_missed(pipc__ucx_peer_t *peer)
{
    int64_t now = pipc__ucx_now_msec();

    if (!peer->missed)
        peer->missed = now;
    if (peer->silent || (peer->net->read && now - peer->missed >= REASON_MSEC))
        lost(peer);
}

/* What broke of the watches is dropped, to be laid anew, and the node may be silent by now. */
static void unwatched(pipc__ucx_net_t *net, pipc__ucx_peer_t *p)
{
    int64_t now = pipc__ucx_now_msec();
    ucs_status_t why = UCS_OK;

    for (int i = 0; i < PIPC__WATCHES; i++) {
        pipc__ucx_watch_t *w = &p->watches[i];
        if (!w->ep || !w->broken)
            continue;
        why = w->broken;
        pipc__ucx_drop_endpoint(net, w->ep);
        w->ep = NULL;
        net->unlaid++;
        pipc__silence_broke(&p->silence, i, &net->looks, now);
    }
    if (!why || p->broken || p->left || !pipc__is_silent(&p->silence, p->heard, now))
        return;
    p->broken = why;
    p->silent = true;
}

/* What is broken matters to a job that waits for it, and is left to that. */
static void look(pipc__ucx_net_t *net)
{
    net->stirred = false;
    if (net->told.status)
        pipc__ucx_net_tell(net, net->told.status, net->told.text);
    for (int i = 0; i < net->nodes; i++)
        if (net->peers[i])
            unwatched(net, net->peers[i]);
}

/* One a rest, not all at creation: each takes a millisecond, and a dozen peers have four. Who never
 * waits needs none; who waits for a node that is gone lays them in no time, and in vain. */
static void lay_one(pipc__ucx_net_t *net)
{
    for (int i = 0; i < net->nodes; i++) {
        pipc__ucx_peer_t *p = net->peers[i];
        if (p && !p->broken && !p->left && pipc__ucx_watch(p))
            return;
    }
}

/* --- turns ----------------------------------------------------------------------------------- */

/* Not for ever: what has come must be added up, too. */
void pipc__ucx_work(pipc__ucx_side_t *side)
{
    bool more = true;

    if (!side->worker)
        return;
    for (int i = 0; more && i < AT_ONCE; i++)
        more = side->net->lib.worker_progress(side->worker);
    if (side == &side->net->data)
        side->net->read = !more;
}

void pipc__ucx_work_all(pipc__ucx_net_t *net)
{
    pipc__ucx_work(&net->data);
    pipc__ucx_work(&net->watch);
    pipc__ucx_work(&net->porch);
}

/* What broke is found in here alone, so that its age is known. */
static void work_on_watches(pipc__ucx_net_t *net)
{
    pipc__looks_at(&net->looks, pipc__ucx_now_msec());
    net->fresh -= net->fresh > 0;
    pipc__ucx_work(&net->watch);
    pipc__ucx_work(&net->porch);
}

void pipc__ucx_net_progress(pipc__ucx_net_t *net)
{
    pipc__ucx_work(&net->data);
    if (net->turns++ % WATCH_TURNS == 0 || net->fresh)
        work_on_watches(net);
    pipc__ucx_listen(net);
    if (net->stirred)
        look(net);
}

/* UCS_OK: asleep until its fd is readable; UCS_ERR_BUSY: there is something to do already. Those
 * for the watch are asked last, and work first, so that they do not keep one awake. */
static ucs_status_t arm(pipc__ucx_net_t *net)
{
    ucs_status_t st = net->lib.worker_arm(net->data.worker);

    work_on_watches(net);
    if (net->unlaid > 0)
        lay_one(net);
    if (!st && net->watch.worker)
        st = net->lib.worker_arm(net->watch.worker);
    if (!st && net->porch.worker)
        st = net->lib.worker_arm(net->porch.worker);
    return net->stirred ? UCS_ERR_BUSY : st;
}

void pipc__ucx_net_rest(pipc__ucx_net_t *net, int usec)
{
    struct pollfd fds[3];
    const pipc__ucx_side_t *sides[] = {&net->data, &net->watch, &net->porch};
    const struct timespec t = {usec / 1000000, (long)(usec % 1000000) * 1000};
    ucs_status_t st = arm(net);
    nfds_t n = 0;

    if (st == UCS_ERR_BUSY && net->busy++ < 16)
        return;
    net->busy = 0;
    for (int i = 0; i < 3; i++)
        if (sides[i]->worker)
            fds[n++] = (struct pollfd){.fd = sides[i]->fd, .events = POLLIN};
    if (st)
        nanosleep(&t, NULL);
    else
        ppoll(fds, n, &t, NULL);
    net->turns = 0; /* look at the watch next */
}
