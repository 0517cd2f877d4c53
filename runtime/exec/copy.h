/* exec/copy.h - copies whose destination nobody reads soon.
 */
#ifndef PIPC_EXEC_COPY_H
#define PIPC_EXEC_COPY_H

#include <stddef.h>

/* As memcpy(), but past the caches where the processor can: the destination's lines are not read
 * before they are written, and push nothing out. Any alignment. Complete, and ordered before all
 * that the thread stores later, when it returns. */
void pipc__copy_past_caches(void *dst, const void *src, size_t n);

/* Bytes of the caches that the ranks of a machine share: a guess where it does not say. */
size_t pipc__copy_cache_bytes(void);

#endif
