/* rail/ucx_net.c - see ucx_net.h */
#include "runtime/rail/ucx_net.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/rail/schedule.h"

#define FRESH_MSEC 2000 /* who was heard since is there, whatever became of an idle connection */
#define FAREWELL_MSEC 1000
#define REASON_MSEC 100 /* how long a better reason than a closed connection is waited for */
#define AT_ONCE 4
#define WATCH_TURNS 256 /* calls of progress per look at the watch: it is no hurry */

enum control { HELLO = 1, BYE, FAILED }; /* bits 32 on of a control tag, above the node's number */

static int64_t now_msec(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void pipc__ucx_net_heard(pipc__ucx_peer_t *peer)
{
    peer->heard = now_msec();
}

/* --- open ------------------------------------------------------------------------------------ */

/* What the user has set in the environment stays. An option of the tcp transport is taken by its
 * full name since UCX 1.14, and before without TCP_ (bare); the one that a UCX does not know it
 * ignores. Bare SYN_CNT would overwrite the sizes of 1.13's buffers.
 *
 * A connection is made while the caller goes on (CONN_NB): a call to a dead node would block. Of
 * the watch: 1 s idle and 3 answers missing, a second each, are 4 s; 3 tries to connect are 7 s. */
static const struct option {
    const char *name, *value;
    bool bare, watch; /* for the watch alone */
} options[] = {
    {"TCP_CONN_NB", "y", true, false},   {"TCP_KEEPIDLE", "1s", true, true},
    {"TCP_KEEPINTVL", "1s", true, true}, {"TCP_KEEPCNT", "3", true, true},
    {"TCP_SYN_CNT", "2", false, true},
};

static void configure(const pipc__ucx_library_t *lib, ucp_config_t *config, bool watch)
{
    char variable[64];

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        const struct option *o = &options[i];
        snprintf(variable, sizeof(variable), "UCX_%s", o->name);
        if (getenv(variable) || (o->watch && !watch))
            continue;
        lib->config_modify(config, o->name, o->value);
        if (o->bare)
            lib->config_modify(config, o->name + strlen("TCP_"), o->value);
    }
    if (watch) {
        lib->config_modify(config, "TLS", "tcp");
        lib->config_modify(config, "KEEPALIVE_INTERVAL", "inf"); /* UCX's own sends: not idle */
        return;
    }
    if (!getenv("UCX_KEEPALIVE_INTERVAL"))
        lib->config_modify(config, "KEEPALIVE_INTERVAL", "1s");
    /* Over tcp a rendezvous saves no copy and costs a message each way: no message of a job is as
     * long. With an adapter that reads memory itself it does, and UCX knows from which size on. */
    if (!getenv("UCX_RNDV_THRESH") && access("/sys/class/infiniband", F_OK))
        lib->config_modify(config, "RNDV_THRESH", "256k");
}

static ucs_status_t open_context(pipc__ucx_net_t *net, pipc__ucx_side_t *side)
{
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME,
                                 .features = UCP_FEATURE_TAG | UCP_FEATURE_WAKEUP,
                                 .name = "pcie-ipc"};
    ucp_config_t *config;
    ucs_status_t st = net->lib.config_read(NULL, NULL, &config);

    if (st)
        return st;
    configure(&net->lib, config, side == &net->porch);
    st = net->lib.init_version(1, 11, &params, config, &side->context);
    net->lib.config_release(config);
    return st;
}

static ucs_status_t open_worker(pipc__ucx_net_t *net, pipc__ucx_side_t *side)
{
    const ucp_worker_params_t params = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                                        .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    ucs_status_t st = net->lib.worker_create(side->context, &params, &side->worker);

    return st ? st : net->lib.worker_get_efd(side->worker, &side->fd);
}

/* Append length and bytes of the side's address. Of networks alone: nodes that are namespaces of
 * one host are no less apart. */
static ucs_status_t add_address(pipc__ucx_net_t *net, pipc__ucx_side_t *side,
                                pipc__rail_address_t *to)
{
    ucp_worker_attr_t attr = {.field_mask = UCP_WORKER_ATTR_FIELD_ADDRESS |
                                            UCP_WORKER_ATTR_FIELD_ADDRESS_FLAGS,
                              .address_flags = UCP_WORKER_ADDRESS_FLAG_NET_ONLY};
    ucs_status_t st = net->lib.worker_query(side->worker, &attr);
    uint16_t length = (uint16_t)attr.address_length;

    if (st)
        return st;
    if (attr.address_length + sizeof(length) > sizeof(to->data) - to->bytes) {
        st = UCS_ERR_BUFFER_TOO_SMALL;
    } else {
        memcpy(to->data + to->bytes, &length, sizeof(length));
        memcpy(to->data + to->bytes + sizeof(length), attr.address, length);
        to->bytes += (uint32_t)sizeof(length) + length;
    }
    net->lib.worker_release_address(side->worker, attr.address);
    return st;
}

static void close_side(pipc__ucx_net_t *net, pipc__ucx_side_t *side)
{
    if (side->worker)
        net->lib.worker_destroy(side->worker);
    if (side->context && side != &net->watch)
        net->lib.cleanup(side->context);
    side->worker = NULL;
    side->context = NULL;
}

static ucs_status_t open_side(pipc__ucx_net_t *net, pipc__ucx_side_t *side,
                              pipc__rail_address_t *address)
{
    side->net = net;
    ucs_status_t st = open_context(net, side);
    if (!st)
        st = open_worker(net, side);
    if (!st)
        st = add_address(net, side, address);
    if (st)
        close_side(net, side);
    return st;
}

/* Without tcp there is no watch, and none is needed. */
pipc_status_t pipc__ucx_net_open(pipc__ucx_net_t *net, pipc__rail_address_t *address,
                                 pipc__error_t *err)
{
    address->bytes = 0;
    pipc_status_t st = pipc__ucx_open(&net->lib, err);
    if (st)
        return st;
    ucs_status_t us = open_side(net, &net->data, address);
    if (us == UCS_ERR_BUFFER_TOO_SMALL)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "UCX's address takes more than %zu bytes; name one or two devices in "
                          "UCX_NET_DEVICES",
                          sizeof(address->data));
    if (us)
        return pipc__fail(err, PIPC_ERR_UNSUPPORTED,
                          "UCX finds no network to use (%s); look at UCX_NET_DEVICES and UCX_TLS, "
                          "and at what ucx_info -d says",
                          net->lib.status_string(us));
    if (!open_side(net, &net->porch, address)) {
        net->watch.net = net;
        net->watch.context = net->porch.context;
        if (open_worker(net, &net->watch))
            close_side(net, &net->watch);
    }
    return PIPC_OK;
}

/* --- control messages ------------------------------------------------------------------------ */

static ucp_tag_t control_tag(const pipc__ucx_net_t *net, enum control what)
{
    return PIPC__UCX_CONTROL | (uint64_t)what << 32 | (uint32_t)net->self;
}

static void sent(void *request, ucs_status_t status, void *arg)
{
    pipc__ucx_net_t *net = arg;

    (void)status; /* the endpoint's error handler says it, too */
    net->lib.request_free(request);
}

static void say(pipc__ucx_net_t *net, ucp_ep_h ep, enum control what, const void *text,
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
    enum control what = (enum control)(net->info.sender_tag >> 32 & 0xff);
    pipc__ucx_peer_t *peer = node < (uint32_t)net->nodes ? net->peers[node] : NULL;

    if (!peer)
        return;
    pipc__ucx_net_heard(peer);
    if (what == BYE)
        peer->left = true;
    if (what == FAILED) {
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

/* A receive that waits. Its request is freed by listen_on(), not in its callback, which is called
 * before the call that begins the receive has returned if the message is there (NO_IMM_CMPL;
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
static void listen_on(pipc__ucx_net_t *net)
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

/* --- peers ----------------------------------------------------------------------------------- */

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

    if (ep == p->watch)
        p->unwatched = status;
    else
        p->broken = status;
    p->net->stirred = true;
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
static void watch(pipc__ucx_peer_t *p)
{
    p->unwatched = UCS_OK;
    if (p->net->watch.worker && part_of(p->address, true) && by_tcp(p))
        endpoint(p, &p->net->watch, &p->watch);
}

/* All that this node may talk to, a dozen of a thousand: who can't be reached is known at once. */
static void connect_peer(pipc__ucx_peer_t *p)
{
    char text[PIPC__ERROR_MAX];

    pipc__ucx_net_heard(p);
    ucs_status_t st = endpoint(p, &p->net->data, &p->ep);
    if (!st) {
        say(p->net, p->ep, HELLO, NULL, 0); /* connects it, whoever sends first later */
        watch(p);
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

/* --- failures -------------------------------------------------------------------------------- */

/* For every connected peer that can still be talked to. */
static void say_to_all(pipc__ucx_net_t *net, enum control what, const void *text, size_t bytes)
{
    for (int i = 0; i < net->nodes; i++) {
        pipc__ucx_peer_t *p = net->peers[i];
        if (p && p->ep && !p->broken && !p->left)
            say(net, p->ep, what, text, bytes);
    }
}

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
        say_to_all(net, FAILED, net->last_words,
                   sizeof(number) + strlen(net->last_words + sizeof(number)));
}

void pipc__ucx_net_lost(pipc__ucx_peer_t *peer)
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

void pipc__ucx_net_missed(pipc__ucx_peer_t *peer)
{
    int64_t now = now_msec();

    if (!peer->missed)
        peer->missed = now;
    if (peer->silent || now - peer->missed >= REASON_MSEC)
        pipc__ucx_net_lost(peer);
}

static void drop_endpoint(pipc__ucx_net_t *net, ucp_ep_h ep)
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

/* The watch's connection broke. If the peer was heard since it was a bad moment: another one. */
static void unwatched(pipc__ucx_net_t *net, pipc__ucx_peer_t *p)
{
    ucs_status_t why = p->unwatched;

    drop_endpoint(net, p->watch);
    p->watch = NULL;
    p->unwatched = UCS_OK;
    if (p->broken || p->left)
        return;
    if (now_msec() - p->heard < FRESH_MSEC) {
        watch(p);
        return;
    }
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
        if (net->peers[i] && net->peers[i]->unwatched)
            unwatched(net, net->peers[i]);
}

/* --- turns ----------------------------------------------------------------------------------- */

/* Not for ever: what has come must be added up, too. */
static void work(pipc__ucx_side_t *side)
{
    if (!side->worker)
        return;
    for (int i = 0; i < AT_ONCE && side->net->lib.worker_progress(side->worker); i++)
        ;
}

static void work_all(pipc__ucx_net_t *net)
{
    work(&net->data);
    work(&net->watch);
    work(&net->porch);
}

void pipc__ucx_net_progress(pipc__ucx_net_t *net)
{
    if (net->turns++ % WATCH_TURNS == 0)
        work_all(net);
    else
        work(&net->data);
    listen_on(net);
    if (net->stirred)
        look(net);
}

/* UCS_OK: asleep until its fd is readable; UCS_ERR_BUSY: there is something to do already. Those
 * for the watch are asked last, and work first, so that they do not keep one awake. */
static ucs_status_t arm(pipc__ucx_net_t *net)
{
    ucs_status_t st = net->lib.worker_arm(net->data.worker);

    work(&net->watch);
    work(&net->porch);
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

/* --- close ----------------------------------------------------------------------------------- */

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
    while (!all_flushed(net) && now_msec() < end) {
        work(&net->data);
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
    while (!all_know(net) && now_msec() < end) {
        work_all(net);
        listen_on(net);
        nap();
    }
}

void pipc__ucx_net_drop(pipc__ucx_net_t *net, void *request)
{
    if (request)
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
    int64_t end = now_msec() + FAREWELL_MSEC;

    if (!net->failed.status)
        say_to_all(net, BYE, NULL, 0);
    flush(net, end);
    if (net->failed.status)
        linger(net, end);
    for (int i = 0; i < net->nodes; i++)
        if (net->peers[i]) {
            drop_endpoint(net, net->peers[i]->ep);
            drop_endpoint(net, net->peers[i]->watch);
        }
    net->deaf = true;
    if (net->control)
        net->lib.request_cancel(net->data.worker, net->control);
    work_all(net);
}

void pipc__ucx_net_close(pipc__ucx_net_t *net)
{
    if (net->peers)
        close_peers(net);
    close_side(net, &net->data);
    close_side(net, &net->watch);
    close_side(net, &net->porch); /* after the watch, which uses its context */
    free_peers(net);
}
