/* xchg/callbacks.c - the exchange over a collective of the caller's: MPI_Allgather, ... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/xchg/record.h"
#include "runtime/xchg/xchg.h"

/* Goes first, so that ranks with another pcie-ipc never give allgather() different lengths: what
 * that does is undefined in MPI. Its own length never changes. */
typedef struct head {
    uint32_t magic, version;
    uint64_t bytes;
} head_t;

struct pipc__xchg {
    pipc__xchg_callbacks_t calls;
};

static pipc_status_t callbacks_open(pipc__xchg_t **out, const pipc__xchg_want_t *want,
                                    pipc__group_t *g, pipc__error_t *err)
{
    const pipc__xchg_callbacks_t *c = want ? want->callbacks : NULL;

    *out = NULL;
    if (!c || !c->allgather)
        return pipc__fail(err, PIPC_ERR_INVALID, "the exchange by callbacks was asked for, but there "
                          "is no allgather; set config.callbacks");
    if (c->size < 1 || c->rank < 0 || c->rank >= c->size)
        return pipc__fail(err, PIPC_ERR_INVALID, "callbacks: rank %d of %d does not exist", c->rank,
                          c->size);
    *g = (pipc__group_t){c->size, c->rank, c->size, c->rank, c->size == 1};
    *out = malloc(sizeof(**out));
    if (!*out)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the exchange");
    (*out)->calls = *c;
    return PIPC_OK;
}

static pipc_status_t gather(pipc__xchg_t *x, const void *mine, size_t bytes, void *all,
                            pipc__error_t *err)
{
    int rc = x->calls.allgather(x->calls.ctx, mine, bytes, all);

    if (!rc)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_EXCHANGE, "rank %d: the caller's allgather of %zu bytes a rank "
                      "returned %d", x->calls.rank, bytes, rc);
}

static pipc_status_t judge_heads(const head_t *head, int n, const head_t *mine, pipc__error_t *err)
{
    for (int r = 0; r < n; r++)
        if (memcmp(&head[r], mine, sizeof(*mine)))
            return pipc__fail(err, PIPC_ERR_MISMATCH, "callbacks: rank %d sent something else than "
                              "this rank's pcie-ipc would; run the same pcie-ipc everywhere, and see "
                              "that allgather() keeps rank order", r);
    return PIPC_OK;
}

static pipc_status_t callbacks_exchange(pipc__xchg_t *x, const void *mine, size_t bytes, void *all,
                                        pipc__error_t *err)
{
    head_t head = {PIPC__RECORD_MAGIC, PIPC__RECORD_VERSION, bytes};
    head_t *heads = calloc((size_t)x->calls.size, sizeof(head));

    if (!heads)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d ranks", x->calls.size);
    pipc_status_t st = gather(x, &head, sizeof(head), heads, err);
    if (!st)
        st = judge_heads(heads, x->calls.size, &head, err);
    free(heads);
    return st ? st : gather(x, mine, bytes, all, err);
}

/* allgather() hands everybody's to everybody: what is picked from it is kept. */
static pipc_status_t callbacks_pick(pipc__xchg_t *x, const void *mine, size_t bytes, size_t room,
                                    const int *whom, int n, bool near, void *out,
                                    pipc__error_t *err)
{
    char *all = calloc((size_t)x->calls.size + 1, room); /* the last one: the own, to give */
    char *own = all ? all + (size_t)x->calls.size * room : NULL;

    (void)near;
    if (!all)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for %d ranks", x->calls.size);
    memcpy(own, mine, bytes);
    pipc_status_t st = gather(x, own, room, all, err);
    for (int i = 0; !st && i < n; i++)
        memcpy((char *)out + (size_t)i * room, all + (size_t)whom[i] * room, room);
    free(all);
    return st;
}

static void callbacks_close(pipc__xchg_t *x)
{
    free(x);
}

const pipc__xchg_ops_t pipc__xchg_callbacks = {
    .name = "callbacks",
    .open = callbacks_open,
    .exchange = callbacks_exchange,
    .pick = callbacks_pick,
    .close = callbacks_close,
};
