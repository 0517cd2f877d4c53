/* rail/ucx_close.c - the last words, and the end. */
#include "runtime/rail/ucx_parts.h"

#include <stdlib.h>
#include <time.h>

#define FAREWELL_MSEC 1000

static void nap(void)
{
    const struct timespec t = {0, 50000};

    nanosleep(&t, NULL);
}

static bool is_flushed(pipc__ucx_peer_t *p)
{
    if (!p || !p->flush || p->net->lib.request_check_status(p->flush) == UCS_INPROGRESS)
        return !p || !p->flush;
    p->net->lib.request_free(p->flush);
    p->flush = NULL;
    return true;
}

static bool all_flushed(pipc__ucx_net_t *net)
{
    bool all = true;

    for (int i = 0; i < net->nodes; i++)
        all &= is_flushed(net->peers[i]);
    return all;
}

/* Until UCX has handed all to the kernel or the adapter, or until @end: a stopped peer's buffers
 * may be full. Each endpoint alone, since one that is broken ends the flush of a worker. */
static void flush(pipc__ucx_net_t *net, int64_t end)
{
    const ucp_request_param_t param = {0};

    for (int i = 0; i < net->nodes; i++) {
        pipc__ucx_peer_t *p = net->peers[i];
        void *r = p && p->ep && !p->broken ? net->lib.ep_flush_nbx(p->ep, &param) : NULL;
        if (UCS_PTR_IS_PTR(r))
            p->flush = r;
    }
    while (!all_flushed(net) && pipc__ucx_now_msec() < end) {
        pipc__ucx_work(&net->data);
        nap();
    }
}

static bool all_know(const pipc__ucx_net_t *net)
{
    for (int i = 0; i < net->nodes; i++) {
        const pipc__ucx_peer_t *p = net->peers[i];
        if (p && p->ep && !p->broken && !p->left && !p->knows)
            return false;
    }
    return true;
}

/* Until all that can have said that they have failed, too, and so have heard why. What is not read
 * yet is lost with the connection: to the kernel, when it closes with unread data, and to UCX, when
 * it sends on what the other has closed. */
static void linger(pipc__ucx_net_t *net, int64_t end)
{
    while (!all_know(net) && pipc__ucx_now_msec() < end) {
        pipc__ucx_work_all(net);
        pipc__ucx_listen(net);
        nap();
    }
}

void pipc__ucx_net_drop(pipc__ucx_net_t *net, void *request)
{
    if (UCS_PTR_IS_PTR(request))
        net->lib.request_cancel(net->data.worker, request);
}

static void free_peers(pipc__ucx_net_t *net)
{
    for (int i = 0; net->peers && i < net->nodes; i++)
        if (net->peers[i]) {
            free(net->peers[i]->name);
            free(net->peers[i]->address);
            free(net->peers[i]);
        }
    free(net->peers);
    net->peers = NULL;
}

static void close_peers(pipc__ucx_net_t *net)
{
    int64_t end = pipc__ucx_now_msec() + FAREWELL_MSEC;

    if (!net->failed.status)
        pipc__ucx_say_to_all(net, PIPC__UCX_BYE, NULL, 0);
    else
        linger(net, end); /* first: a flush of a job's data may take all the time there is */
    flush(net, end);
    for (int i = 0; i < net->nodes; i++)
        if (net->peers[i]) {
            pipc__ucx_drop_endpoint(net, net->peers[i]->ep);
            for (int k = 0; k < PIPC__WATCHES; k++)
                pipc__ucx_drop_endpoint(net, net->peers[i]->watches[k].ep);
        }
    net->deaf = true;
    if (net->control)
        net->lib.request_cancel(net->data.worker, net->control);
    pipc__ucx_work_all(net);
}

void pipc__ucx_net_close(pipc__ucx_net_t *net)
{
    if (net->peers)
        close_peers(net);
    pipc__ucx_side_close(net, &net->data);
    pipc__ucx_side_close(net, &net->watch);
    pipc__ucx_side_close(net, &net->porch); /* after the watch, which uses its context */
    free_peers(net);
}
