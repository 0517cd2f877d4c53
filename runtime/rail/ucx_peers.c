/* rail/ucx_peers.c - the other nodes' ends, and what is said to them beside the jobs. */
#include "runtime/rail/ucx_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/rail/schedule.h"

#define AGAIN_MSEC 250  /* at most as often a watch is laid: who refuses it does so at once */
#define FRESH_TURNS 256 /* of connecting */

/* --- messages -------------------------------------------------------------------------------- */

static ucp_tag_t control_tag(const pipc__ucx_net_t *net, enum pipc__ucx_control what)
{
    return PIPC__UCX_CONTROL | (uint64_t)what << 32 | (uint32_t)net->self;
}

static void sent(void *request, ucs_status_t status, void *arg)
{
    pipc__ucx_net_t *net = arg;

    (void)status; /* the endpoint's error handler says it, too */
    net->lib.request_free(request);
}

static void say(pipc__ucx_net_t *net, ucp_ep_h ep, enum pipc__ucx_control what, const void *text,
                size_t bytes)
{
    const ucp_request_param_t param = {.op_attr_mask =
                                           UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
                                       .cb.send = sent,
                                       .user_data = net};

    net->lib.tag_send_nbx(ep, text, bytes, control_tag(net, what), &param);
}

/* The text is the sender's: any bytes, of which the first are the status. */
static void take_failure(pipc__ucx_net_t *net, const char *text, size_t bytes)
{
    int32_t status;

    if (net->told.status || bytes <= sizeof(status) || bytes > PIPC__ERROR_MAX)
        return;
    memcpy(&status, text, sizeof(status));
    pipc__fail(&net->told, status > 0 ? (pipc_status_t)status : PIPC_ERR_INTERNAL, "%.*s",
               (int)(bytes - sizeof(status)), text + sizeof(status));
    net->stirred = true;
}

static void take(pipc__ucx_net_t *net)
{
    uint32_t node = (uint32_t)net->info.sender_tag;
    enum pipc__ucx_control what = (enum pipc__ucx_control)(net->info.sender_tag >> 32 & 0xff);
    pipc__ucx_peer_t *peer = node < (uint32_t)net->nodes ? net->peers[node] : NULL;

    if (!peer)
        return;
    pipc__ucx_net_heard(peer);
    if (what == PIPC__UCX_BYE)
        peer->left = true;
    if (what == PIPC__UCX_FAILED) {
        peer->knows = true;
        take_failure(net, net->text, net->info.length);
    }
}

static void note(void *request, ucs_status_t status, const ucp_tag_recv_info_t *info, void *arg)
{
    pipc__ucx_net_t *net = arg;

    (void)request;
    if (!status)
        net->info = *info;
}

/* A receive that waits. Its request is freed by pipc__ucx_listen(), not in its callback, which is
 * called before the call that begins the receive has returned if the message is there (NO_IMM_CMPL;
 * without it UCX 1.13 would not say which message it was). */
static void receive_control(pipc__ucx_net_t *net)
{
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                                                       UCP_OP_ATTR_FIELD_USER_DATA |
                                                       UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                       .cb.recv = note,
                                       .user_data = net};

    net->control = net->lib.tag_recv_nbx(net->data.worker, net->text, sizeof(net->text),
                                         PIPC__UCX_CONTROL, PIPC__UCX_CONTROL, &param);
    if (!UCS_PTR_IS_PTR(net->control)) {
        net->control = NULL;
        net->deaf = true;
    }
}

/* Take what has come, until a receive is left that waits. */
void pipc__ucx_listen(pipc__ucx_net_t *net)
{
    while (!net->deaf) {
        ucs_status_t st = net->lib.request_check_status(net->control);
        if (st == UCS_INPROGRESS)
            return;
        net->lib.request_free(net->control);
        if (!st)
            take(net);
        receive_control(net);
    }
}

/* For every connected peer that can still be talked to. */
void pipc__ucx_say_to_all(pipc__ucx_net_t *net, enum pipc__ucx_control what, const void *text,
                          size_t bytes)
{
    for (int i = 0; i < net->nodes; i++) {
        pipc__ucx_peer_t *p = net->peers[i];
        if (p && p->ep && !p->broken && !p->left)
            say(net, p->ep, what, text, bytes);
    }
}

/* --- endpoints ------------------------------------------------------------------------------- */

static pipc__ucx_peer_t *new_peer(pipc__ucx_net_t *net, int node,
                                  const pipc__rail_address_t *address, const char *name)
{
    pipc__ucx_peer_t *p = calloc(1, sizeof(*p));
    size_t bytes = offsetof(pipc__rail_address_t, data) + address->bytes;

    if (!p)
        return NULL;
    p->net = net;
    p->node = node;
    p->name = strdup(name);
    p->address = malloc(bytes);
    if (!p->name || !p->address) {
        free(p->name);
        free(p->address);
        free(p);
        return NULL;
    }
    memcpy(p->address, address, bytes);
    return p;
}

/* The address of one side within @address; NULL when there is none. */
static const void *part_of(const pipc__rail_address_t *address, bool watch)
{
    uint16_t length;
    size_t at = 0;

    for (int i = 0; at + sizeof(length) <= address->bytes; i++) {
        memcpy(&length, address->data + at, sizeof(length));
        at += sizeof(length);
        if (length > address->bytes - at)
            return NULL;
        if (i == watch)
            return address->data + at;
        at += length;
    }
    return NULL;
}

/* Nodes are many, those that one talks to are few. */
static pipc_status_t keep(pipc__ucx_net_t *net, int node, const pipc__rail_address_t *const *peers,
                          const char *const *names, pipc__error_t *err)
{
    if (node < 0 || net->peers[node])
        return PIPC_OK;
    if (peers[node]->bytes > PIPC__RAIL_ADDRESS_MAX || !part_of(peers[node], false))
        return pipc__fail(err, PIPC_ERR_MISMATCH, "%s has no UCX address; install UCX on its node",
                          names[node]);
    net->peers[node] = new_peer(net, node, peers[node], names[node]);
    if (!net->peers[node])
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the rail to %s", names[node]);
    return PIPC_OK;
}

static void broke(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    pipc__ucx_peer_t *p = arg;

    p->net->stirred = true;
    for (int i = 0; i < PIPC__WATCHES; i++)
        if (ep == p->watches[i].ep) {
            p->watches[i].broken = status;
            return;
        }
    p->broken = status;
}

static ucs_status_t endpoint(pipc__ucx_peer_t *p, pipc__ucx_side_t *side, ucp_ep_h *ep)
{
    const ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = part_of(p->address, side == &p->net->watch),
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = broke, .arg = p},
    };
    ucs_status_t st = p->net->lib.ep_create(side->worker, &params, ep);

    if (st)
        *ep = NULL;
    return st;
}

static bool by_tcp(pipc__ucx_peer_t *p)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    if (!f)
        return true;
    p->net->lib.ep_print_info(p->ep, f);
    bool tcp = !fclose(f) && strstr(text, "tcp/");
    free(text);
    return tcp;
}

/* UCX connects when the endpoint is made. Nothing is ever sent over it: a greeting could be on its
 * way when the cable goes. */
bool pipc__ucx_watch(pipc__ucx_peer_t *p)
{
    pipc__ucx_net_t *net = p->net;
    int64_t now = pipc__ucx_now_msec();

    for (int i = 0; p->watched && i < PIPC__WATCHES; i++) {
        pipc__ucx_watch_t *w = &p->watches[i];
        if (w->ep || (w->laid && now - w->laid < AGAIN_MSEC))
            continue;
        w->laid = now;
        w->broken = UCS_OK;
        net->fresh = FRESH_TURNS;
        net->unlaid--;
        if (endpoint(p, &net->watch, &w->ep)) {
            net->unlaid++;
            pipc__silence_broke(&p->silence, i, &net->looks, now);
        }
        return true;
    }
    return false;
}

void pipc__ucx_drop_endpoint(pipc__ucx_net_t *net, ucp_ep_h ep)
{
    const ucp_request_param_t force = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS |
                                                       UCP_OP_ATTR_FIELD_CALLBACK |
                                                       UCP_OP_ATTR_FIELD_USER_DATA,
                                       .flags = UCP_EP_CLOSE_FLAG_FORCE,
                                       .cb.send = sent,
                                       .user_data = net};

    if (ep)
        net->lib.ep_close_nbx(ep, &force);
}

/* All that this node may talk to, a dozen of a thousand: who can't be reached is known at once. */
static void connect_peer(pipc__ucx_peer_t *p)
{
    char text[PIPC__ERROR_MAX];

    pipc__ucx_net_heard(p);
    ucs_status_t st = endpoint(p, &p->net->data, &p->ep);
    if (!st) {
        say(p->net, p->ep, PIPC__UCX_HELLO, NULL, 0); /* connects it, whoever sends first later */
        p->watched = p->net->watch.worker && part_of(p->address, true) && by_tcp(p);
        p->net->unlaid += p->watched ? PIPC__WATCHES : 0;
        pipc__ucx_watch(p);
        return;
    }
    snprintf(text, sizeof(text), "UCX has no way to %s (%s); look at UCX_NET_DEVICES and UCX_TLS",
             p->name, p->net->lib.status_string(st));
    pipc__ucx_net_tell(p->net, PIPC_ERR_UNREACHABLE, text);
}

pipc_status_t pipc__ucx_net_connect(pipc__ucx_net_t *net, int self, int nodes,
                                    const pipc__rail_address_t *const *peers,
                                    const char *const *names, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    net->peers = calloc((size_t)nodes, sizeof(net->peers[0]));
    if (!net->peers)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d nodes", nodes);
    net->self = self;
    net->nodes = nodes;
    for (int a = 0; a < PIPC__RAIL_ALGO_COUNT; a++)
        for (int i = 0; !st && i < pipc__rail_steps((pipc__rail_algo_t)a, nodes); i++) {
            pipc__rail_step_t s = pipc__rail_step((pipc__rail_algo_t)a, nodes, self, i);
            st = keep(net, s.to, peers, names, err);
            if (!st)
                st = keep(net, s.from, peers, names, err);
        }
    if (st)
        return st;
    receive_control(net);
    for (int i = 0; i < nodes && !net->failed.status; i++)
        if (net->peers[i])
            connect_peer(net->peers[i]);
    if (net->failed.status)
        return pipc__fail(err, net->failed.status, "%s", net->failed.text);
    return PIPC_OK;
}
