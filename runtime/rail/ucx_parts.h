/* rail/ucx_parts.h - what the files behind ucx_net.h have from each other:
 *
 *     ucx_net.c      turns of work, rest, failures      uses all below
 *     ucx_close.c    last words and the end             uses all
 *     ucx_peers.c    endpoints, control messages
 *     ucx_side.c     the own workers and address
 */
#ifndef PIPC_RAIL_UCX_PARTS_H
#define PIPC_RAIL_UCX_PARTS_H

#include "runtime/rail/ucx_net.h"

int64_t pipc__ucx_now_msec(void);

/* --- ucx_side.c --- */

void pipc__ucx_side_close(pipc__ucx_net_t *net, pipc__ucx_side_t *side);

/* --- ucx_peers.c --- */

/* Bits 32 on of a control tag, above the node's number. */
enum pipc__ucx_control { PIPC__UCX_HELLO = 1, PIPC__UCX_BYE, PIPC__UCX_FAILED };

/* To every connected peer that can still be talked to. @text must stay until it is sent. */
void pipc__ucx_say_to_all(pipc__ucx_net_t *net, enum pipc__ucx_control what, const void *text,
                          size_t bytes);

/* Take what control messages have come. */
void pipc__ucx_listen(pipc__ucx_net_t *net);

/* Lay one of the idle connections that are missing beside @peer's, if that is by tcp. False: none
 * is, or it was tried just now. */
bool pipc__ucx_watch(pipc__ucx_peer_t *peer);

/* At once, whatever is on its way. NULL is allowed. */
void pipc__ucx_drop_endpoint(pipc__ucx_net_t *net, ucp_ep_h ep);

/* --- ucx_net.c --- */

/* Let a side's worker, or all, do what there is to do, but not for ever. */
void pipc__ucx_work(pipc__ucx_side_t *side);
void pipc__ucx_work_all(pipc__ucx_net_t *net);

#endif
