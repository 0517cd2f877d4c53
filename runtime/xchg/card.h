/* xchg/card.h - the little that every rank tells every rank of a group that may span nodes: who it
 * is, on which node, and what it wants. Records (record.h) then go to the ranks of the own node.
 *
 * It is the first thing that travels, so another version is found by it, before anything else is
 * exchanged. Retained by nobody: a group of 8192 ranks hands about 2 MB of them through a rank.
 */
#ifndef PIPC_XCHG_CARD_H
#define PIPC_XCHG_CARD_H

#include "runtime/xchg/record.h"

#define PIPC__CARD_NIC 32

/* Fixed widths, no padding, as record.h says. */
typedef struct pipc__card {
    uint32_t magic;
    uint32_t bytes;     /* sizeof(pipc__card_t) */
    uint32_t version;   /* PIPC__RECORD_VERSION */
    uint32_t status;    /* pipc_status_t of what was asked for */
    char reason[112];   /* why status is not PIPC_OK */
    int32_t rank, size; /* in the job */
    uint32_t backend, path;
    uint32_t split, reserved; /* as in the record; 0 */
    char host[64];
    char boot_id[40];
    char nic[PIPC__CARD_NIC]; /* of UCX_NET_DEVICES, GPUs: NCCL_IB_HCA; "" where any may be used */
    uint64_t staging_bytes;
    uint64_t digest; /* of every wish that decides a plan */
} pipc__card_t;

/* What @rec says, for everybody. @nic NULL: none. */
void pipc__card_from(pipc__card_t *card, const pipc__record_t *rec, const char *nic);

/* Can these ranks form a communicator, wherever they are? Statuses and texts as those of
 * pipc__records_judge(), without what is of one node. Pure; every rank comes to the same status. */
pipc_status_t pipc__cards_judge(const pipc__card_t *cards, int n, pipc__error_t *err);

#endif
