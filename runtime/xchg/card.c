/* xchg/card.c - see card.h */
#include "runtime/xchg/card.h"

#include <stdio.h>
#include <string.h>

#define TEXT(field) (int)sizeof(field), field /* texts come from another process: bound them */

void pipc__card_from(pipc__card_t *card, const pipc__record_t *rec, const char *nic)
{
    memset(card, 0, sizeof(*card)); /* all bytes travel */
    card->magic = rec->magic;
    card->bytes = sizeof(*card);
    card->version = rec->version;
    card->status = rec->status;
    snprintf(card->reason, sizeof(card->reason), "%.*s", (int)sizeof(card->reason) - 1,
             rec->reason);
    card->rank = rec->rank;
    card->size = rec->size;
    card->backend = rec->backend;
    card->path = rec->path;
    card->split = rec->split;
    memcpy(card->host, rec->host, sizeof(card->host));
    memcpy(card->boot_id, rec->boot_id, sizeof(card->boot_id));
    snprintf(card->nic, sizeof(card->nic), "%s", nic ? nic : "");
    card->staging_bytes = rec->staging_bytes;
    card->digest = rec->digest;
}

static pipc_status_t judge_one(const pipc__card_t *c, int i, pipc__error_t *err)
{
    if (c->magic != PIPC__RECORD_MAGIC)
        return pipc__fail(
            err, PIPC_ERR_MISMATCH,
            "rank %d sent something that is no pcie-ipc record; run the same pcie-ipc "
            "on every node",
            i);
    if (c->version != PIPC__RECORD_VERSION || c->bytes != sizeof(*c))
        return pipc__fail(err, PIPC_ERR_MISMATCH,
                          "rank %d speaks record version %u of %u bytes, this rank version %d of "
                          "%zu; install the same pcie-ipc on every node",
                          i, c->version, c->bytes, PIPC__RECORD_VERSION, sizeof(*c));
    if (c->status)
        return pipc__fail(err, (pipc_status_t)c->status, "rank %d on %.*s: %.*s", c->rank,
                          TEXT(c->host), TEXT(c->reason));
    return PIPC_OK;
}

static pipc_status_t judge_choice(const pipc__card_t *c, const pipc__card_t *first,
                                  pipc__error_t *err)
{
    const char *what =
        pipc__wishes_differ(c->backend != first->backend, c->staging_bytes != first->staging_bytes,
                            c->path != first->path, c->split != first->split,
                            c->digest != first->digest);

    if (!what)
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_MISMATCH,
                      "ranks %d (on %.*s) and %d (on %.*s) have different %s; give every rank the "
                      "same options and files",
                      first->rank, TEXT(first->host), c->rank, TEXT(c->host), what);
}

pipc_status_t pipc__cards_judge(const pipc__card_t *cards, int n, pipc__error_t *err)
{
    pipc_status_t st = PIPC_OK;

    for (int i = 0; !st && i < n; i++)
        st = judge_one(&cards[i], i, err);
    for (int i = 1; !st && i < n; i++)
        st = judge_choice(&cards[i], &cards[0], err);
    return st;
}
