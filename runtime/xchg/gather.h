/* xchg/gather.h - local rank 0's part of the socket exchange: take everybody's record, give
 * everybody all of them.
 */
#ifndef PIPC_XCHG_GATHER_H
#define PIPC_XCHG_GATHER_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/error.h"
#include "runtime/xchg/wire.h"

/* Wait, without limit, until the own->local_size - 1 other ranks have come to the socket @listener,
 * with records into all[local_size * record_bytes] (the own one is there). came[local_size] tells who
 * has. conns[local_size] gets the connections, -1 for none; the caller closes them, also on failure.
 *   PIPC_ERR_PEER_LOST  a rank came and its process ended
 *   PIPC_ERR_MISMATCH   a rank that can't belong to this exchange came
 * What is no rank at all (another user's, garbage, silence) is dropped with a line in the log: it
 * must not keep the ranks from meeting. */
pipc_status_t pipc__gather(int listener, const pipc__hello_t *own, void *all, bool *came, int *conns,
                           pipc__error_t *err);

/* Give every rank in conns[n] the answer: all[bytes] when @why is PIPC_OK, else its text. */
void pipc__gather_answer(const int *conns, int n, const pipc__error_t *why, const void *all,
                         size_t bytes);

/* The meeting failed and its name is gone: tell those who had connected and were not let in yet. */
void pipc__gather_refuse(int listener, const pipc__error_t *why);

/* send() and recv() of all of it; false when the other end has closed. */
bool pipc__send_all(int fd, const void *data, size_t bytes);
bool pipc__recv_all(int fd, void *data, size_t bytes);

#endif
