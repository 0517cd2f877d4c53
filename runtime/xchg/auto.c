/* xchg/auto.c - which exchange: the caller's choice, or the first that works. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "runtime/base/log.h"
#include "runtime/xchg/place.h"
#include "runtime/xchg/xchg.h"

struct pipc__xchg {
    const pipc__xchg_ops_t *ops;
    pipc__xchg_t *inner;
};

static pipc_status_t open_as(pipc__xchg_t *x, const pipc__xchg_ops_t *ops,
                             const pipc__xchg_want_t *want, pipc__group_t *g, pipc__error_t *err)
{
    x->ops = ops;
    return ops->open(&x->inner, want, g, err);
}

static pipc_status_t open_pmix(pipc__xchg_t *x, const pipc__xchg_want_t *want, pipc__group_t *g,
                               pipc__error_t *err)
{
#ifdef HAVE_PMIX
    return open_as(x, &pipc__xchg_pmix, want, g, err);
#else
    (void)x, (void)want, (void)g;
    return pipc__fail(err, PIPC_ERR_UNSUPPORTED, "this pcie-ipc was built without PMIx; configure it "
                      "with --with-pmix");
#endif
}

static int copy_own(void *ctx, const void *mine, size_t bytes, void *all)
{
    (void)ctx;
    memcpy(all, mine, bytes);
    return 0;
}

static pipc_status_t open_alone(pipc__xchg_t *x, pipc__group_t *g, pipc__error_t *err)
{
    static const pipc__xchg_callbacks_t alone = {0, 1, copy_own, NULL};
    static const pipc__xchg_want_t want = {.callbacks = &alone};

    return open_as(x, &pipc__xchg_callbacks, &want, g, err);
}

static pipc_status_t fail_lonely(const pipc__place_t *p, const char *pmix, pipc__error_t *err)
{
    int n = p->job_size > p->launched ? p->job_size : p->launched;
    char ranks[32] = "the ranks";

    if (n > 1)
        snprintf(ranks, sizeof(ranks), "%d ranks", n);
    return pipc__fail(err, PIPC_ERR_EXCHANGE, "nothing here by which %s could meet: start them with "
                      "srun --mpi=pmix, or with srun --pcie-ipc where its plugin is installed (it sets "
                      "PCIE_IPC_DIR), or give callbacks%s%.200s%s", ranks, *pmix ? " (" : "", pmix,
                      *pmix ? ")" : "");
}

/* PMIx by what PMIx_Init says, not by the environment alone: variables of another launcher, or of
 * another version of the library, can be in the way. They only tell whether to ask at all: without
 * them the library would come up alone, as if there were one rank. */
static pipc_status_t open_first(pipc__xchg_t *x, const pipc__xchg_want_t *want, pipc__group_t *g,
                                pipc__error_t *err)
{
    pipc__place_t place;
    pipc__error_t pmix = {PIPC_OK, ""};

    pipc__place_here(&place);
    if (place.pmix && !open_pmix(x, want, g, &pmix))
        return PIPC_OK;
    if (pmix.status)
        pipc__log(PIPC__LOG_INFO, "PMIx is announced but does not answer: %s", pmix.text);
    if (place.dir)
        return open_as(x, &pipc__xchg_socket, want, g, err);
    if (pipc__place_single(&place))
        return open_alone(x, g, err);
    pipc_status_t st = pipc__place_told(&place, err);
    return st ? st : fail_lonely(&place, pmix.text, err);
}

static pipc_status_t open_wanted(pipc__xchg_t *x, const pipc__xchg_want_t *want, pipc__group_t *g,
                                 pipc__error_t *err)
{
    static const pipc__xchg_want_t nothing;
    const pipc__xchg_want_t *w = want ? want : &nothing;

    switch (w->kind) {
    case PIPC__XCHG_AUTO:
        return w->callbacks ? open_as(x, &pipc__xchg_callbacks, w, g, err) : open_first(x, w, g, err);
    case PIPC__XCHG_PMIX:
        return open_pmix(x, w, g, err);
    case PIPC__XCHG_SOCKET:
        return open_as(x, &pipc__xchg_socket, w, g, err);
    case PIPC__XCHG_CALLBACKS:
        return open_as(x, &pipc__xchg_callbacks, w, g, err);
    }
    return pipc__fail(err, PIPC_ERR_INVALID, "exchange %d does not exist", (int)w->kind);
}

static pipc_status_t auto_open(pipc__xchg_t **out, const pipc__xchg_want_t *want, pipc__group_t *g,
                               pipc__error_t *err)
{
    pipc__xchg_t *x = calloc(1, sizeof(*x));

    *out = NULL;
    if (!x)
        return pipc__fail(err, PIPC_ERR_NOMEM, "no memory for the exchange");
    pipc_status_t st = open_wanted(x, want, g, err);
    if (st)
        free(x);
    else
        *out = x;
    return st;
}

static pipc_status_t auto_exchange(pipc__xchg_t *x, const void *mine, size_t bytes, void *all,
                                   pipc__error_t *err)
{
    return x->ops->exchange(x->inner, mine, bytes, all, err);
}

static pipc_status_t auto_pick(pipc__xchg_t *x, const void *mine, size_t bytes, size_t room,
                               const int *whom, int n, bool near, void *out, pipc__error_t *err)
{
    return x->ops->pick(x->inner, mine, bytes, room, whom, n, near, out, err);
}

static void auto_close(pipc__xchg_t *x)
{
    if (!x)
        return;
    x->ops->close(x->inner);
    free(x);
}

const pipc__xchg_ops_t pipc__xchg_auto = {
    .name = "auto",
    .open = auto_open,
    .exchange = auto_exchange,
    .pick = auto_pick,
    .close = auto_close,
};
