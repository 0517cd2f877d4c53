/* prolog/ring.h - a file of fixed size that keeps the newest records: lines of text, each of which
 * carries its number and a checksum
 *
 *     0000000000000012 8c1f03aa w 1764492837123 0000:01:00.0 0000:00:01.0 16 8      ...
 *
 * Record n stands at place n modulo the number of places. A machine that loses its power while one
 * is written leaves that one bad, which readers pass over.
 */
#ifndef PIPC_PROLOG_RING_H
#define PIPC_PROLOG_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/error.h"

#define PIPC__RING_RECORD 128   /* bytes: a divisor of a page and of a sector */
#define PIPC__RING_TEXT_MAX 102 /* bytes of a record's own text, its end included */
#define PIPC__RING_PLACES_MAX 65536

typedef struct pipc__ring {
    int fd;
    uint32_t places;
    uint64_t next; /* the number of the next record */
} pipc__ring_t;

/* Open the ring @name in @dir for writing; it is made, mode 0600, if it is not there, or is no ring
 * of @places. One writer at a time: the caller has a lock. Refused is a link, and what somebody
 * other than @owner owns or can write. */
pipc_status_t pipc__ring_open(int dir, const char *name, uid_t owner, uint32_t places,
                              pipc__ring_t *out, pipc__error_t *err);

/* Append one line, without newline; longer ones are refused. */
pipc_status_t pipc__ring_append(pipc__ring_t *ring, const char *text, pipc__error_t *err);

/* What was appended outlives the machine's end from here on. */
void pipc__ring_flush(const pipc__ring_t *ring);
void pipc__ring_close(pipc__ring_t *ring);

/* Called with each good record, oldest first; false ends it. */
typedef bool pipc__ring_each_t(void *arg, const char *text);

/* Read all of a ring, also while another writes. PIPC_ERR_NOT_FOUND when there is none. */
pipc_status_t pipc__ring_read(int dir, const char *name, uid_t owner, pipc__ring_each_t *each,
                              void *arg, pipc__error_t *err);

/* The same of a ring's @n bytes. False without memory. */
bool pipc__ring_records(const char *bytes, size_t n, pipc__ring_each_t *each, void *arg);

#endif
