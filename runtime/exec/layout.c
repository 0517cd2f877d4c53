/* exec/layout.c - see layout.h */
#include "runtime/exec/layout.h"

#include <stdint.h>

#include "kernels/allreduce.h"
#include "kernels/ll.h"
#include "kernels/push.h"

#define LEAST ((size_t)8 << 20)
#define SIMPLE_LEAST ((size_t)2 << 20) /* flags take a half of it */
#define UNIT ((size_t)64 << 10)

static size_t area_bytes(size_t simple_bytes)
{
    return (simple_bytes - PIPC__FLAGS_BYTES) / PIPC__BUFFERS / PIPC__SPLIT_BYTES *
           PIPC__SPLIT_BYTES;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t push_most(int nranks)
{
    return nranks < 2 ? SIZE_MAX : (pipc__push_bytes_most(nranks) + UNIT - 1) / UNIT * UNIT;
}

pipc__layout_t pipc__layout(size_t staging_bytes, int nranks)
{
    size_t all = staging_bytes > LEAST ? staging_bytes : LEAST;
    pipc__layout_t l;

    l.bytes = (all + PIPC__LAYOUT_BLOCK - 1) / PIPC__LAYOUT_BLOCK * PIPC__LAYOUT_BLOCK;
    l.ll_at = l.bytes - PIPC__LL_BYTES;
    l.ce_bytes = l.ll_at / 4 / UNIT * UNIT;
    l.push_bytes = nranks == 2 ? 2 * l.ce_bytes : l.ce_bytes;
    if (l.ll_at - l.push_bytes - l.ce_bytes < SIMPLE_LEAST)
        l.push_bytes = l.ce_bytes = (l.ll_at - SIMPLE_LEAST) / 2 / UNIT * UNIT;
    l.ll128_bytes = nranks > 1 ? 2 * pipc__ll128_area_bytes(nranks) : 0;
    if (l.ll128_bytes + least(l.push_bytes / 2, push_most(nranks)) > l.push_bytes)
        l.ll128_bytes = 0;
    l.push_bytes = least(l.push_bytes - l.ll128_bytes, push_most(nranks));
    l.simple_bytes = l.ll_at - l.push_bytes - l.ll128_bytes - l.ce_bytes;
    l.area_bytes = area_bytes(l.simple_bytes);
    l.push_at = l.simple_bytes;
    l.ll128_at = l.push_at + l.push_bytes;
    l.ce_at = l.ll128_at + l.ll128_bytes;
    return l;
}

pipc__layout_t pipc__layout_simple(size_t staging_bytes)
{
    pipc__layout_t l = {.bytes = pipc__layout(staging_bytes, 0).bytes};

    l.simple_bytes = l.push_at = l.ll128_at = l.ce_at = l.ll_at = l.bytes;
    l.area_bytes = area_bytes(l.simple_bytes);
    return l;
}
