/* rail/ucx_side.c - the own end: UCX's contexts and workers, their settings and their address. */
#include "runtime/rail/ucx_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the user has set in the environment stays. An option of the tcp transport is taken by its
 * full name since UCX 1.14, and before without TCP_; the one that a UCX does not know it ignores.
 *
 * A connection is made while the caller goes on (CONN_NB): a call to a dead node would block. Of
 * the watch: 1 s idle and 3 answers missing, a second each, are 4 s; 2 tries to connect are 3 s.
 * Left to the kernel they are 7 and 127 s. UCX up to 1.16 and later takes SYN_CNT for 8 bytes that
 * are 4: it sets the next option to 0, which is TX_MAX_BUFS, so that nothing could be sent. That
 * one has to be put right behind it. */
static const struct option {
    const char *name, *value;
    bool watch; /* for the watch alone */
} options[] = {
    {"TCP_CONN_NB", "y", false}, {"TCP_KEEPIDLE", "1s", true}, {"TCP_KEEPINTVL", "1s", true},
    {"TCP_KEEPCNT", "3", true},  {"TCP_SYN_CNT", "1", true},   {"TCP_TX_MAX_BUFS", "-1", true},
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

void pipc__ucx_side_close(pipc__ucx_net_t *net, pipc__ucx_side_t *side)
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
        pipc__ucx_side_close(net, side);
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
            pipc__ucx_side_close(net, &net->watch);
    }
    return PIPC_OK;
}
