/* exec/layout.c - see layout.h */
#include "runtime/exec/layout.h"

#include "kernels/allreduce.h"
#include "kernels/ll.h"

#define SIMPLE_LEAST ((size_t)2 << 20) /* flags take a half of it */
#define RING_LEAST ((size_t)1 << 20)
#define RING_UNIT ((size_t)64 << 10)

pipc__layout_t pipc__layout(size_t staging_bytes)
{
    size_t rest = staging_bytes > PIPC__LL_BYTES ? staging_bytes - PIPC__LL_BYTES : 0;
    size_t ring = rest / 4 / RING_UNIT * RING_UNIT;
    pipc__layout_t l;

    if (ring < RING_LEAST)
        ring = RING_LEAST;
    l.simple_bytes = rest > 2 * ring ? (rest - 2 * ring) / RING_UNIT * RING_UNIT : 0;
    if (l.simple_bytes < SIMPLE_LEAST)
        l.simple_bytes = SIMPLE_LEAST;
    l.area_bytes = (l.simple_bytes - PIPC__FLAGS_BYTES) / PIPC__BUFFERS / PIPC__SPLIT_BYTES *
                   PIPC__SPLIT_BYTES;
    l.ll_at = l.simple_bytes;
    l.push_at = l.ll_at + PIPC__LL_BYTES;
    l.push_bytes = l.ce_bytes = ring;
    l.ce_at = l.push_at + l.push_bytes;
    l.bytes =
        (l.ce_at + l.ce_bytes + PIPC__LAYOUT_BLOCK - 1) / PIPC__LAYOUT_BLOCK * PIPC__LAYOUT_BLOCK;
    return l;
}
