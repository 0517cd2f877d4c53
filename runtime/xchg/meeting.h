/* xchg/meeting.h - the place in the file system where the ranks of a node meet once: a name in the
 * step's directory.
 *
 *     (nothing)       local rank 0 has not come yet, or all have met
 *     socket          local rank 0 listens. Nobody listens: its process has ended
 *     regular file    the meeting failed, with the reason, for the ranks that had not come yet
 *
 * Each appears by rename(), so no half-made one is ever met. What an earlier process of the same
 * step left is told from what this one's peers left, and replaced.
 *
 * The directory belongs to the user alone (owner and mode are checked, links are not followed), so
 * whatever lies in it is the user's own doing. Paths go through /proc/self/fd: a socket's address
 * holds 107 characters, a directory's name may have 4095, and a library must not chdir().
 */
#ifndef PIPC_XCHG_MEETING_H
#define PIPC_XCHG_MEETING_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/xchg/xchg.h"

typedef struct pipc__meeting {
    int dir;            /* O_PATH; -1: none */
    const char *path;   /* of the directory, for messages; the caller's */
    char name[80];      /* in it: "meet.NODE.TAG.NUMBER" */
    bool made;          /* the name is ours to remove */
} pipc__meeting_t;

/* Open and check the directory. PIPC_ERR_EXCHANGE names it and what is wrong. @node keeps nodes apart
 * where the directory should be local and is not. It is Slurm's name, not the host's: containers of
 * one node have several of those. */
pipc_status_t pipc__meeting_open(pipc__meeting_t *m, const char *path, const char *node,
                                 unsigned int tag, unsigned int number, pipc__error_t *err);

/* For local rank 0: a socket that listens under the name. */
pipc_status_t pipc__meeting_listen(pipc__meeting_t *m, int *fd, pipc__error_t *err);

/* For the others: a connection to who listens there, waiting without limit until somebody does.
 * *pid gets whose it is. @local_rank: the own one. PIPC_ERR_PEER_LOST or the status that was left
 * there when the meeting has failed already. */
pipc_status_t pipc__meeting_join(pipc__meeting_t *m, int local_rank, int *fd, int *pid,
                                 pipc__error_t *err);

/* All have come: remove the name. NULL-safe in so far as a meeting that made nothing removes none. */
void pipc__meeting_over(pipc__meeting_t *m);

/* The meeting has failed: leave word for the ranks that came[rank] does not mark. */
void pipc__meeting_failed(pipc__meeting_t *m, const bool *came, int size, const pipc__error_t *why);

void pipc__meeting_close(pipc__meeting_t *m);

/* Who is at the other end? False, with errno, when that can't be told; *pid may be NULL. */
bool pipc__meeting_same_user(int fd, int *pid);

#endif
