/* xchg/wire.h - what goes over the socket exchange, and its judgement. Pure; tested in tables.
 *
 *     rank r -> local rank 0:   hello, record
 *     local rank 0 -> rank r:   answer, then every record in rank order if its status is PIPC_OK
 *
 * Both begin with magic, bytes and version at the same places in every version, so that two versions
 * can tell that they are two.
 */
#ifndef PIPC_XCHG_WIRE_H
#define PIPC_XCHG_WIRE_H

#include <stdint.h>

#include "runtime/base/error.h"

#define PIPC__WIRE_MAGIC 0x4b534950u /* "PISK" in memory on little-endian machines */
#define PIPC__WIRE_VERSION 1
#define PIPC__WIRE_PREFIX 12 /* bytes of magic, bytes, version */

typedef struct pipc__hello {
    uint32_t magic;
    uint32_t bytes; /* sizeof(pipc__hello_t) */
    uint32_t version;
    uint32_t tag, number; /* which exchange: the socket's name has them too */
    int32_t local_rank, local_size, job_rank, pid;
    uint32_t record_bytes; /* of the record that follows */
} pipc__hello_t;

typedef struct pipc__answer {
    uint32_t magic;
    uint32_t bytes;
    uint32_t version;
    uint32_t status; /* pipc_status_t */
    char reason[304]; /* why status is not PIPC_OK */
} pipc__answer_t;

/* Is this the beginning of a hello? PIPC_ERR_INVALID: of nothing that any pcie-ipc sends.
 * PIPC_ERR_MISMATCH: of another version's. PIPC__WIRE_PREFIX bytes of @h are there. */
pipc_status_t pipc__hello_begins(const pipc__hello_t *h, pipc__error_t *err);

/* Does @h belong to the exchange of @own, the hello of local rank 0? Names the rank in the way. */
pipc_status_t pipc__hello_judge(const pipc__hello_t *h, const pipc__hello_t *own,
                                pipc__error_t *err);

/* Is @a an answer, and a good one? Gives the status and the reason in it. */
pipc_status_t pipc__answer_judge(const pipc__answer_t *a, pipc__error_t *err);

#endif
