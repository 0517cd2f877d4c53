/* xchg/wire.c - see wire.h */
#include "runtime/xchg/wire.h"

#define SAME "; run the same pcie-ipc in every rank"

pipc_status_t pipc__hello_begins(const pipc__hello_t *h, pipc__error_t *err)
{
    if (h->magic != PIPC__WIRE_MAGIC)
        return pipc__fail(err, PIPC_ERR_INVALID, "something that is no rank of pcie-ipc");
    if (h->version == PIPC__WIRE_VERSION && h->bytes == sizeof(*h))
        return PIPC_OK;
    return pipc__fail(err, PIPC_ERR_MISMATCH, "a rank speaks version %u of the socket exchange, with "
                      "%u bytes, local rank 0 version %d with %zu" SAME, h->version, h->bytes,
                      PIPC__WIRE_VERSION, sizeof(*h));
}

pipc_status_t pipc__hello_judge(const pipc__hello_t *h, const pipc__hello_t *own,
                                pipc__error_t *err)
{
    pipc_status_t st = pipc__hello_begins(h, err);

    if (st)
        return st;
    if (h->tag != own->tag || h->number != own->number)
        return pipc__fail(err, PIPC_ERR_MISMATCH, "rank %d (process %d) came for exchange %u.%u to "
                          "exchange %u.%u; create communicators in the same order on every rank",
                          h->job_rank, h->pid, h->tag, h->number, own->tag, own->number);
    if (h->local_size != own->local_size)
        return pipc__fail(err, PIPC_ERR_MISMATCH, "rank %d (process %d) knows of %d ranks on this "
                          "node, rank %d (process %d) of %d; give both the same PCIE_IPC_LOCAL_SIZE",
                          h->job_rank, h->pid, h->local_size, own->job_rank, own->pid,
                          own->local_size);
    if (h->local_rank < 1 || h->local_rank >= h->local_size)
        return pipc__fail(err, PIPC_ERR_MISMATCH, "rank %d (process %d) says that it is local rank %d "
                          "of %d; see its PCIE_IPC_LOCAL_RANK", h->job_rank, h->pid, h->local_rank,
                          h->local_size);
    if (h->record_bytes != own->record_bytes)
        return pipc__fail(err, PIPC_ERR_MISMATCH, "rank %d (process %d) sends a record of %u bytes, "
                          "rank %d one of %u" SAME, h->job_rank, h->pid, h->record_bytes,
                          own->job_rank, own->record_bytes);
    return PIPC_OK;
}

pipc_status_t pipc__answer_judge(const pipc__answer_t *a, pipc__error_t *err)
{
    if (a->magic != PIPC__WIRE_MAGIC || a->version != PIPC__WIRE_VERSION || a->bytes != sizeof(*a))
        return pipc__fail(err, PIPC_ERR_MISMATCH, "local rank 0 does not speak version %d of the "
                          "socket exchange" SAME, PIPC__WIRE_VERSION);
    if (!a->status)
        return PIPC_OK;
    return pipc__fail(err, (pipc_status_t)a->status, "%.*s", (int)sizeof(a->reason) - 1, a->reason);
}
