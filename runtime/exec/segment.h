/* exec/segment.h - memory that the ranks of a node share: made by one, mapped by its peers.
 *
 * A memfd, opened by the peers as /proc/PID/fd/N: it has no name in /dev/shm, is private to the
 * user (the kernel checks ptrace read access), needs no size of /dev/shm, and is gone with the last
 * process that maps it, however that process dies. A random nonce at its head proves that the
 * process behind PID is still the one that sent the handle. The peers must see the owner's PID
 * namespace; records.h finds out before this is tried.
 */
#ifndef PIPC_EXEC_SEGMENT_H
#define PIPC_EXEC_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/error.h"

#define PIPC__SEGMENT_HEAD 4096 /* bytes at the start that belong to the segment itself */

/* What a peer needs to map it; travels in the exchange record as it is. */
typedef struct pipc__segment_handle {
    uint64_t bytes; /* the whole mapping, head included */
    int32_t pid, fd;
    uint8_t nonce[16];
} pipc__segment_handle_t;

typedef struct pipc__segment {
    char *base; /* user data begins at base + PIPC__SEGMENT_HEAD; NULL: not mapped */
    size_t bytes;
    int fd; /* the owner's; -1 in a peer's mapping */
} pipc__segment_t;

/* Ranks that are threads of one process share the owner's mapping: it goes with its last user. */

/* Make a segment with @bytes for the user (rounded up to pages; zeroed; pages are taken on first
 * touch). Fills @handle. */
pipc_status_t pipc__segment_create(pipc__segment_t *seg, size_t bytes,
                                   pipc__segment_handle_t *handle, pipc__error_t *err);

/* Have its pages taken on NUMA node @node, whoever touches them first. False where that is refused:
 * in containers without the right to, and for nodes that are not there. */
bool pipc__segment_prefer_node(const pipc__segment_t *seg, int node);

/* Map a peer's. PIPC_ERR_UNREACHABLE when the process is gone, hidden, or another one. */
pipc_status_t pipc__segment_open(pipc__segment_t *seg, const pipc__segment_handle_t *handle,
                                 pipc__error_t *err);

/* Was it made in this process, by this rank or another one? Then its owner's memory needs no
 * mapping. The nonce tells a process of the same number elsewhere. */
bool pipc__segment_is_own(const pipc__segment_handle_t *handle);

/* Unmap, and for the owner close. A zeroed or closed segment is allowed. */
void pipc__segment_close(pipc__segment_t *seg);

#endif
