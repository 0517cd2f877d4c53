/* tools/bench/check.c - see check.h */
#include "runtime/tools/bench/check.h"

#include <string.h>

#include "runtime/base/hash.h"
#include "runtime/tools/bench/data.h"
#include "runtime/tools/bench/fold.h"

#define PEER_BYTES_MAX ((size_t)64 << 20)

/* Fill, poison, call, read the output back into b->host. */
static pipc_status_t one_result(bench_t *b, const bench_message_t *m, int who,
                                bench_pattern_t pattern, pipc__error_t *err)
{
    bench_burst_t one = {0};
    bench_sample_t unused;
    void *send, *recv;

    bench_buffers(b, who, &send, &recv);
    memset(b->host, 0xa5, m->bytes);
    pipc_status_t st = b->device.write(recv, b->host, m->bytes, err);
    bench_fill(b->host, m->count, m->dtype, m->op, pattern, b->comm->rank, b->comm->size);
    if (!st)
        st = b->device.write(m->in_place ? recv : send, b->host, m->bytes, err);
    if (!st)
        st = bench_burst_single(b, m, who, b->options.graph > 0, &one, err);
    if (!st)
        st = bench_burst_sample(b, m, &one, &unused, err);
    bench_burst_close(b, &one);
    return st ? st : b->device.read(b->host, recv, m->bytes, err);
}

#define BLOCKS                                                                                     \
    64 /* the output is hashed in this many parts, so that #wrong says how much differs */

/* Parts of the output that differ from other ranks', in elements. */
static pipc_status_t compare_ranks(bench_t *b, const bench_message_t *m, uint64_t *wrong,
                                   pipc__error_t *err)
{
    uint64_t mine[BLOCKS];
    bool differs[BLOCKS];
    size_t elem = pipc_dtype_bytes(m->dtype), part = (m->count + BLOCKS - 1) / BLOCKS;

    for (size_t i = 0; i < BLOCKS; i++) {
        size_t at = i * part, n = at >= m->count ? 0 : m->count - at < part ? m->count - at : part;
        mine[i] = pipc__hash(PIPC__HASH_INIT, b->host + at * elem, n * elem);
    }
    pipc_status_t st = bench_compare(b->comm, mine, BLOCKS, differs, err);
    for (int i = 0; !st && i < BLOCKS; i++)
        *wrong += differs[i] ? part : 0;
    return st;
}

static uint64_t count_wrong(const bench_t *b, const bench_message_t *m)
{
    return bench_count_wrong(b->host, m->count, m->dtype, m->op, b->comm->size);
}

pipc_status_t bench_check(bench_t *b, const bench_message_t *m, int who, uint64_t *wrong,
                          pipc__error_t *err)
{
    uint64_t mine = 0;
    pipc_status_t st = one_result(b, m, who, BENCH_EXACT, err);

    if (!st) {
        mine = count_wrong(b, m);
        st = one_result(b, m, who, BENCH_RANDOM, err);
    }
    if (!st)
        st = compare_ranks(b, m, &mine, err);
    return st ? st : bench_sum(b->comm, mine, wrong, err);
}

static bool is_float(pipc_dtype_t t)
{
    return t == PIPC_F32 || t == PIPC_F64 || t == PIPC_F16 || t == PIPC_BF16;
}

pipc_status_t bench_check_peer(bench_t *b, const bench_message_t *m, int variant, bool *right,
                               pipc__error_t *err)
{
    uint64_t wrong = 0;

    *right = true;
    if (m->bytes > PEER_BYTES_MAX || (m->op == PIPC_AVG && is_float(m->dtype)))
        return PIPC_OK;
    pipc_status_t st = one_result(b, m, variant, BENCH_EXACT, err);
    if (!st)
        st = bench_sum(b->comm, count_wrong(b, m), &wrong, err);
    *right = !wrong;
    return st;
}
