/* nccl/staging.h - how the process's communicators share the memory that we take of the GPU.
 *
 * Programs make process groups by the dozen and keep the GPU's memory for themselves, so all
 * together take PIPC__STAGING_MOST. Each is offered a quarter of what is left, as a power of two,
 * 64 MB at most and 8 MB at least: 64, 32, 32, 32, 16, 16, 16 and six times 8. Ranks may have
 * different ones left, so they take the smallest offer (hello.h).
 */
#ifndef PIPC_NCCL_STAGING_H
#define PIPC_NCCL_STAGING_H

#include <stddef.h>

#define PIPC__STAGING_MOST ((size_t)256 << 20)

/* What a communicator is offered where @left bytes are; 0: too little. Pure. */
size_t pipc__staging_offer(size_t left);

/* Take an offer, and give back what was not used of it. */
size_t pipc__staging_take(void);
void pipc__staging_return(size_t bytes);

#endif
