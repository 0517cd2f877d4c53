/* xchg/notice.h - word of a failed meeting, for the ranks that come too late to be told in person.
 *
 * A regular file: the structure, then a byte for each rank that has read it. The last of them removes
 * it.
 */
#ifndef PIPC_XCHG_NOTICE_H
#define PIPC_XCHG_NOTICE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"
#include "runtime/xchg/wire.h"
#include "runtime/xchg/xchg.h"

typedef struct pipc__notice {
    uint32_t magic, bytes, version;
    uint32_t status;                      /* pipc_status_t */
    uint32_t awaited;                     /* how many bits are set in missing */
    char reason[304];
    uint8_t missing[PIPC__GROUP_MAX / 8]; /* a bit a local rank that had not come */
} pipc__notice_t;

/* False when nobody is missing, so nobody needs one. */
bool pipc__notice_fill(pipc__notice_t *n, const bool *came, int size, const pipc__error_t *why);

bool pipc__notice_write(int dir, const char *name, const pipc__notice_t *n);

/* False when @name is no notice: with errno EINVAL, or open()'s when it could not be opened. */
bool pipc__notice_read(int dir, const char *name, pipc__notice_t *n);

/* PIPC_OK when @n is not for @local_rank: an earlier program's. Else its status, and it is ticked
 * off. */
pipc_status_t pipc__notice_take(int dir, const char *name, const pipc__notice_t *n, int local_rank,
                                pipc__error_t *err);

#endif
