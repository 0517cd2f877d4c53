/* nccl/staging.c - see staging.h */
#include "runtime/nccl/staging.h"

#include <stdatomic.h>

#define LARGEST ((size_t)64 << 20)
#define SMALLEST ((size_t)8 << 20) /* less than a communicator on a GPU can do with */

static _Atomic size_t taken;

size_t pipc__staging_offer(size_t left)
{
    size_t offer = LARGEST;

    while (offer > left / 4 && offer > SMALLEST)
        offer /= 2;
    return offer <= left ? offer : 0;
}

size_t pipc__staging_take(void)
{
    size_t have = atomic_load(&taken), offer;

    do
        offer = pipc__staging_offer(PIPC__STAGING_MOST - have);
    while (!atomic_compare_exchange_weak(&taken, &have, have + offer));
    return offer;
}

void pipc__staging_return(size_t bytes)
{
    atomic_fetch_sub(&taken, bytes);
}
