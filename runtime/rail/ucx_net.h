/* rail/ucx_net.h - the rail's other nodes as UCX endpoints, and how one hears that a node is gone.
 *
 * A node's end has three UCX workers:
 *
 *     data     carries the jobs, by whatever transports UCX chooses
 *     watch    tcp alone: connects to the porch of each peer that data reaches by tcp, several
 *              times; idle then (silence.h)
 *     porch    tcp alone: where the watches of others connect to
 *
 * The death of a process closes its connections: noticed at once. A node or cable that is gone is
 * silent. On InfiniBand and RoCE the adapters notice. On tcp the kernel's keepalive does, since it
 * is answered by the other kernel, even for a process that is stopped or busy, for any time - but
 * only on a connection on which nothing is on its way; with data on its way the kernel tries for 15
 * minutes. Hence the idle ones. (TCP_USER_TIMEOUT would end a connection to a stopped process, too,
 * once its buffers are full; so would a heartbeat of our own.)
 */
#ifndef PIPC_RAIL_UCX_NET_H
#define PIPC_RAIL_UCX_NET_H

#include <stdint.h>

#include "runtime/rail/rail.h"
#include "runtime/rail/silence.h"
#include "runtime/rail/ucx_library.h"

/* Bit 63 of a tag: not a job's. */
#define PIPC__UCX_CONTROL (UINT64_C(1) << 63)

typedef struct pipc__ucx_net pipc__ucx_net_t;

/* An idle connection, there to break. */
typedef struct pipc__ucx_watch {
    ucp_ep_h ep;         /* NULL: to be laid */
    ucs_status_t broken; /* UCS_OK */
    int64_t laid;        /* msec */
} pipc__ucx_watch_t;

/* A node that this one may talk to. */
typedef struct pipc__ucx_peer {
    pipc__ucx_net_t *net;
    int node;
    char *name;
    pipc__rail_address_t *address;
    ucp_ep_h ep;         /* NULL: none */
    ucs_status_t broken; /* why it is of no use any more; UCS_OK */
    pipc__ucx_watch_t watches[PIPC__WATCHES];
    pipc__silence_t silence;
    bool watched;   /* by tcp, to a node that has a porch */
    bool left;      /* it has said that it needs nothing any more */
    bool knows;     /* that a job failed, and why */
    bool silent;    /* broken because its node does not answer */
    int64_t heard;  /* msec of the monotonic clock */
    int64_t missed; /* since when a job waits for it in vain; 0: none */
    void *flush;    /* request, when closing */
} pipc__ucx_peer_t;

typedef struct pipc__ucx_side {
    ucp_context_h context;
    ucp_worker_h worker; /* NULL: there is no such side */
    int fd;              /* readable when the worker, armed, has something to do */
    pipc__ucx_net_t *net;
} pipc__ucx_side_t;

struct pipc__ucx_net {
    pipc__ucx_library_t lib;
    pipc__ucx_side_t data, watch, porch; /* watch and porch share a context, the porch's */
    int self, nodes;
    pipc__ucx_peer_t **peers; /* by node; NULL for those never talked to */
    bool stirred;         /* an endpoint broke, or somebody told something, since the last look */
    pipc__error_t failed; /* status PIPC_OK while all is well */
    pipc__error_t told;   /* what another node said */
    char last_words[PIPC__ERROR_MAX];
    unsigned int turns, busy;
    unsigned int fresh;  /* turns in which the watches, which have just been laid, have work */
    int unlaid;          /* watches that are to be laid */
    pipc__looks_t looks; /* at the watches */
    bool read;     /* data had nothing left to do in the last turn: all that had come was taken */
    void *control; /* the receive that waits for a control message */
    bool deaf;     /* none waits any more */
    char text[PIPC__ERROR_MAX];
    ucp_tag_recv_info_t info;
};

pipc_status_t pipc__ucx_net_open(pipc__ucx_net_t *net, pipc__rail_address_t *address,
                                 pipc__error_t *err);
pipc_status_t pipc__ucx_net_connect(pipc__ucx_net_t *net, int self, int nodes,
                                    const pipc__rail_address_t *const *peers,
                                    const char *const *names, pipc__error_t *err);

/* Something came from it. */
void pipc__ucx_net_heard(pipc__ucx_peer_t *peer);

/* Let UCX work, and look after the endpoints. */
void pipc__ucx_net_progress(pipc__ucx_net_t *net);

/* A job waits for @peer, which is broken. It is lost, unless somebody soon says a better reason: it
 * may have gone because it lost another one. */
void pipc__ucx_net_missed(pipc__ucx_peer_t *peer);

/* net->failed becomes this, unless it is set; all nodes that are connected are told. */
void pipc__ucx_net_tell(pipc__ucx_net_t *net, pipc_status_t status, const char *text);

void pipc__ucx_net_rest(pipc__ucx_net_t *net, int usec);

/* The job's receives must have been cancelled. Says good-bye to the others, or what failed; waits
 * at most a second for the own words to be sent, for nobody's answer. */
void pipc__ucx_net_close(pipc__ucx_net_t *net);

/* @request has ended, or will have soon: free it, with its receive taken back. NULL and errors are
 * allowed. */
void pipc__ucx_net_drop(pipc__ucx_net_t *net, void *request);

#endif
